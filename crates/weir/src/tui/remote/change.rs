//! Other settings, a shorter context. Settings of a session change between its runs, its permission
//! mode at once; those of one that does not exist yet wait for it. Not here: the kill switch (`pause`).

use serde_json::{Value, json};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::desk::{OutcomeFollowUp, RequestContext, UiCommandOutcome};
use super::follow::{self, FollowedState};
use super::http::{ApiResult, RequestError};
use super::opening::SessionDraft;

async fn change_settings(
    ground: &RequestContext,
    draft: SessionDraft,
) -> ApiResult<UiCommandOutcome> {
    let Some(session) = &ground.session else {
        return Ok(UiCommandOutcome { news: Vec::new(), then: OutcomeFollowUp::Draft(draft) });
    };
    // What came of it is told by the session itself.
    match ground.http.patch::<Value>(&["sessions", session.as_str()], &draft).await {
        Ok(_) => Ok(UiCommandOutcome::default()),
        Err(trouble) => Ok(report_unchanged(&follow::lock_followed_state(&ground.seen), &trouble)),
    }
}

/// Nothing was changed: why, and what holds, since a face may have shown the change already.
fn report_unchanged(seen: &FollowedState, trouble: &RequestError) -> UiCommandOutcome {
    let why = UiUpdate::Notice { tone: NoticeTone::Bad, text: trouble.to_string() };
    let news = std::iter::once(why).chain(seen.settings_update()).collect();
    UiCommandOutcome { news, then: OutcomeFollowUp::Nothing }
}

/// What is changed, beside what was chosen for a new session.
fn starting_draft(ground: &RequestContext) -> SessionDraft {
    match &ground.session {
        Some(_) => SessionDraft::default(),
        None => ground.draft.clone(),
    }
}

/// Another permission mode.
pub(super) async fn change_permission_mode(
    ground: &RequestContext,
    mode: PermissionMode,
) -> ApiResult<UiCommandOutcome> {
    change_settings(ground, SessionDraft { permission: Some(mode), ..starting_draft(ground) }).await
}

/// How much the model thinks.
pub(super) async fn change_thinking(
    ground: &RequestContext,
    thinking: Thinking,
) -> ApiResult<UiCommandOutcome> {
    change_settings(ground, SessionDraft { thinking: Some(thinking), ..starting_draft(ground) })
        .await
}

/// Another model.
pub(super) async fn change_model(
    ground: &RequestContext,
    model: String,
) -> ApiResult<UiCommandOutcome> {
    change_settings(ground, SessionDraft { model: Some(model), ..starting_draft(ground) }).await
}

/// Another profile.
pub(super) async fn change_profile(
    ground: &RequestContext,
    profile: String,
) -> ApiResult<UiCommandOutcome> {
    change_settings(ground, SessionDraft { profile: Some(profile), ..starting_draft(ground) }).await
}

/// Makes the context shorter. `words`: what the summary must keep.
pub(super) async fn condense_context(
    ground: &RequestContext,
    words: &str,
) -> ApiResult<UiCommandOutcome> {
    let parts = ["sessions", ground.require_session()?.as_str(), "condense"];
    let keep = Some(words.trim()).filter(|words| !words.is_empty());
    let body = keep.map_or_else(|| json!({}), |keep| json!({ "keep": keep }));
    let () = ground.http.post(&parts, &body).await?;
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
