//! Other settings, a shorter context. Settings of a session change between its runs, its permission
//! mode at once; those of one that does not exist yet wait for it. Not here: the kill switch (`pause`).

use serde_json::{Value, json};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::controller::{OutcomeFollowUp, RequestContext, UiCommandOutcome};
use super::follow::{self, FollowedState};
use super::http::{ApiResult, RequestError};
use super::opening::SessionDraft;

async fn change_settings(
    context: &RequestContext,
    draft: SessionDraft,
) -> ApiResult<UiCommandOutcome> {
    let Some(session) = &context.session else {
        return Ok(UiCommandOutcome { news: Vec::new(), then: OutcomeFollowUp::Draft(draft) });
    };
    // What came of it is told by the session itself.
    match context.http.patch_json::<Value>(&["sessions", session.as_str()], &draft).await {
        Ok(_) => Ok(UiCommandOutcome::default()),
        Err(trouble) => Ok(report_unchanged(&follow::lock_followed_state(&context.seen), &trouble)),
    }
}

/// Nothing was changed: why, and what holds, since a face may have shown the change already.
fn report_unchanged(seen: &FollowedState, trouble: &RequestError) -> UiCommandOutcome {
    let why = UiUpdate::Notice { tone: NoticeTone::Bad, text: trouble.to_string() };
    let news = std::iter::once(why).chain(seen.settings_update()).collect();
    UiCommandOutcome { news, then: OutcomeFollowUp::Nothing }
}

/// What is changed, beside what was chosen for a new session.
fn starting_draft(context: &RequestContext) -> SessionDraft {
    match &context.session {
        Some(_) => SessionDraft::default(),
        None => context.draft.clone(),
    }
}

/// Another permission mode.
pub(super) async fn change_permission_mode(
    context: &RequestContext,
    mode: PermissionMode,
) -> ApiResult<UiCommandOutcome> {
    change_settings(context, SessionDraft { permission: Some(mode), ..starting_draft(context) })
        .await
}

/// How much the model thinks.
pub(super) async fn change_thinking(
    context: &RequestContext,
    thinking: Thinking,
) -> ApiResult<UiCommandOutcome> {
    change_settings(context, SessionDraft { thinking: Some(thinking), ..starting_draft(context) })
        .await
}

/// Another model.
pub(super) async fn change_model(
    context: &RequestContext,
    model: String,
) -> ApiResult<UiCommandOutcome> {
    change_settings(context, SessionDraft { model: Some(model), ..starting_draft(context) }).await
}

/// Another profile.
pub(super) async fn change_profile(
    context: &RequestContext,
    profile: String,
) -> ApiResult<UiCommandOutcome> {
    change_settings(context, SessionDraft { profile: Some(profile), ..starting_draft(context) })
        .await
}

/// Makes the context shorter. `words`: what the summary must keep.
pub(super) async fn condense_context(
    context: &RequestContext,
    words: &str,
) -> ApiResult<UiCommandOutcome> {
    let parts = ["sessions", context.require_session()?.as_str(), "condense"];
    let keep = Some(words.trim()).filter(|words| !words.is_empty());
    let body = keep.map_or_else(|| json!({}), |keep| json!({ "keep": keep }));
    let () = context.http.post_json(&parts, &body).await?;
    Ok(UiCommandOutcome::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_a_change_that_failed_leaves_what_holds_on_the_screen() {
        let trouble =
            RequestError::Refused { status: 409, code: String::new(), why: "a run is on".into() };
        let notice = UiUpdate::Notice { tone: NoticeTone::Bad, text: "a run is on".into() };
        assert_eq!(
            report_unchanged(&FollowedState::default(), &trouble).news,
            std::slice::from_ref(&notice),
            "nothing known yet"
        );
        let seen = FollowedState {
            model: "a/b".into(),
            profile: "code".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::default(),
            ..FollowedState::default()
        };
        let holds = UiUpdate::Settings {
            model: "a/b".into(),
            profile: "code".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::default(),
        };
        assert_eq!(report_unchanged(&seen, &trouble).news, [notice, holds]);
    }
}
