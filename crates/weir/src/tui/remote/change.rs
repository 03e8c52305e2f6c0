//! Other settings, a shorter context. Settings of a session change between its runs, its permission
//! mode at once; those of one that does not exist yet wait for it. Not here: the kill switch (`pause`).

use serde_json::{Value, json};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{News, Tone};

use super::desk::{Done, Ground, Then};
use super::follow::{self, Seen};
use super::http::{Answer, Trouble};
use super::opening::Draft;

async fn changed(ground: &Ground, draft: Draft) -> Answer<Done> {
    let Some(session) = &ground.session else {
        return Ok(Done { news: Vec::new(), then: Then::Draft(draft) });
    };
    // What came of it is told by the session itself.
    match ground.http.patch::<Value>(&["sessions", session.as_str()], &draft).await {
        Ok(_) => Ok(Done::default()),
        Err(trouble) => Ok(kept(&follow::seen(&ground.seen), &trouble)),
    }
}

/// Nothing was changed: why, and what holds, since a face may have shown the change already.
fn kept(seen: &Seen, trouble: &Trouble) -> Done {
    let why = News::Notice { tone: Tone::Bad, text: trouble.to_string() };
    let news = std::iter::once(why).chain(seen.settings()).collect();
    Done { news, then: Then::Nothing }
}

/// What is changed, beside what was chosen for a new session.
fn draft(ground: &Ground) -> Draft {
    match &ground.session {
        Some(_) => Draft::default(),
        None => ground.draft.clone(),
    }
}

/// Another permission mode.
pub(super) async fn mode(ground: &Ground, mode: PermissionMode) -> Answer<Done> {
    changed(ground, Draft { permission: Some(mode), ..draft(ground) }).await
}

/// How much the model thinks.
pub(super) async fn thinking(ground: &Ground, thinking: Thinking) -> Answer<Done> {
    changed(ground, Draft { thinking: Some(thinking), ..draft(ground) }).await
}

/// Another model.
pub(super) async fn model(ground: &Ground, model: String) -> Answer<Done> {
    changed(ground, Draft { model: Some(model), ..draft(ground) }).await
}

/// Another profile.
pub(super) async fn profile(ground: &Ground, profile: String) -> Answer<Done> {
    changed(ground, Draft { profile: Some(profile), ..draft(ground) }).await
}

/// Makes the context shorter. `words`: what the summary must keep.
pub(super) async fn condense(ground: &Ground, words: &str) -> Answer<Done> {
    let parts = ["sessions", ground.session()?.as_str(), "condense"];
    let keep = Some(words.trim()).filter(|words| !words.is_empty());
    let body = keep.map_or_else(|| json!({}), |keep| json!({ "keep": keep }));
    let () = ground.http.post(&parts, &body).await?;
    Ok(Done::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_a_change_that_failed_leaves_what_holds_on_the_screen() {
        let trouble =
            Trouble::Refused { status: 409, code: String::new(), why: "a run is on".into() };
        let notice = News::Notice { tone: Tone::Bad, text: "a run is on".into() };
        assert_eq!(
            kept(&Seen::default(), &trouble).news,
            std::slice::from_ref(&notice),
            "nothing known yet"
        );
        let seen = Seen {
            model: "a/b".into(),
            profile: "code".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::default(),
            ..Seen::default()
        };
        let holds = News::Settings {
            model: "a/b".into(),
            profile: "code".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::default(),
        };
        assert_eq!(kept(&seen, &trouble).news, [notice, holds]);
    }
}
