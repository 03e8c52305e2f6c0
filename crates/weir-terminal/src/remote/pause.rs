//! The kill switch of a server: thrown and released from here, and seen whoever does so. A session's
//! journal says nothing of it while nothing runs, so the server is asked now and then. Not here:
//! other changes (`change`).

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::controller::{RequestContext, UiCommandOutcome};
use super::http::{ApiResult, ServerClient};

/// How often the server is asked.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How the switch stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct PauseState {
    /// One's own sessions are paused.
    paused: bool,
    /// Everybody's are.
    all: bool,
    by: Option<String>,
    reason: String,
}

impl PauseState {
    fn is_thrown(&self) -> bool {
        self.paused || self.all
    }

    /// What is said of it; `None`: everything may run.
    pub(super) fn pause_text(&self) -> Option<String> {
        let whose = match (self.all, self.paused) {
            (true, _) => "everybody's sessions on the server are paused",
            (false, true) => "your sessions on the server are paused",
            (false, false) => return None,
        };
        let by = self.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let why = match self.reason.trim() {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        let how = match self.all {
            true => "an admin releases that in the browser",
            false => "`/release` lets runs start again",
        };
        Some(format!("{whose}{by}{why}: no run starts; {how}"))
    }
}

/// How it stands now.
pub(super) async fn fetch_pause_state(http: &ServerClient) -> ApiResult<PauseState> {
    http.get(&["pause"], &[]).await
}

/// Throws it for one's own sessions. That it was thrown is told by who watches it.
pub(super) async fn pause_sessions(
    context: &RequestContext,
    reason: String,
) -> ApiResult<UiCommandOutcome> {
    let _told: Value = context.http.post_json(&["pause"], &json!({ "reason": reason })).await?;
    context.look.notify_one();
    Ok(UiCommandOutcome::default())
}

/// Lets runs start again.
pub(super) async fn release_sessions(context: &RequestContext) -> ApiResult<UiCommandOutcome> {
    if !fetch_pause_state(&context.http).await?.is_thrown() {
        return Ok(UiCommandOutcome::from_notice(
            NoticeTone::Quiet,
            "your sessions on the server were not paused",
        ));
    }
    let _told: Value = context.http.post_json(&["release"], &json!({})).await?;
    context.look.notify_one();
    Ok(UiCommandOutcome::default())
}

/// Says when it is thrown or released, by whomever. How it stands when a session is opened is said
/// there.
pub(super) async fn watch_pause_state(
    http: Arc<ServerClient>,
    news: Sender<UiUpdate>,
    look: Arc<Notify>,
) {
    let mut known = fetch_pause_state(&http).await.unwrap_or_default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => (),
            () = look.notified() => (),
            () = news.closed() => return,
        }
        // That the server cannot be reached is told by who follows the session.
        let Ok(now) = fetch_pause_state(&http).await else { continue };
        if let Some(one) = pause_change_update(&known, &now)
            && news.send(one).await.is_err()
        {
            return;
        }
        known = now;
    }
}

/// What is told when it stood like `before` and stands like `now`.
fn pause_change_update(before: &PauseState, now: &PauseState) -> Option<UiUpdate> {
    let notice = |tone, text| Some(UiUpdate::Notice { tone, text });
    match (before.pause_text(), now.pause_text()) {
        (Some(_), None) => notice(NoticeTone::Good, "Released: runs may start again.".into()),
        (before, Some(now)) if before.as_ref() != Some(&now) => notice(NoticeTone::Bad, now),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_attach_what_changed_about_the_switch_is_said_once() {
        let free = PauseState::default();
        let mine = PauseState {
            paused: true,
            by: Some("ann".into()),
            reason: "lunch".into(),
            ..PauseState::default()
        };
        let all = PauseState { paused: true, all: true, ..PauseState::default() };
        let thrown = "your sessions on the server are paused by ann (lunch): no run starts; \
                      `/release` lets runs start again";
        let everybody = "everybody's sessions on the server are paused: no run starts; an admin \
                         releases that in the browser";
        for (before, now, expected) in [
            (&free, &free, None),
            (&free, &mine, Some((NoticeTone::Bad, thrown))),
            (&mine, &mine, None),
            (&mine, &all, Some((NoticeTone::Bad, everybody))),
            (&all, &free, Some((NoticeTone::Good, "Released: runs may start again."))),
        ] {
            let expected =
                expected.map(|(tone, text)| UiUpdate::Notice { tone, text: text.into() });
            assert_eq!(pause_change_update(before, now), expected, "{before:?} {now:?}");
        }
    }
}
