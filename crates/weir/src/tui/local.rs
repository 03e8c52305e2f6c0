//! The other end of the link on an engine in this process (F1).
//!
//! Wishes come in at [`serve_link`]. What is looked up is a task of its own each; what ends or answers
//! something goes straight to the session that runs; everything else goes one after the other
//! through the keeper, who opens, takes up and gives back. Nothing is opened before it is needed: a
//! face that was only looked at leaves nothing behind.
//!
//! Reading order: `course`, `room`, `desk`, `keeper`, `say`, `change`, `letters`; then what is looked
//! up: `about`, `lists`, `files`, `shell`, `back`, `reports`, `export`. Not here: the same at a
//! server (`super::remote`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_tui::link::{BackendChannel, NoticeTone, SessionTarget, UiCommand, UiUpdate, WISHES_MAX};

use crate::terminal;

mod about;
mod back;
mod change;
mod course;
mod desk;
mod export;
mod files;
mod keeper;
mod letters;
mod lists;
mod lookup;
mod reports;
mod room;
mod say;
mod shell;
#[cfg(test)]
mod tests;

use desk::LocalContext;
use keeper::SessionController;
use weir_install::cx::Cx;
use weir_install::wiring::SessionOverrides;

/// How the person who sits here is called where they answer, as `weir run` does.
const PERSON: &str = "person";
/// What this process is called where it holds a session.
const LABEL: &str = "weir";

/// How long what was answered may still take when the face goes.
const STEER_WAIT: Duration = Duration::from_secs(1);

/// What is opened first, and how.
pub(crate) struct FirstSession {
    /// Which session.
    pub(crate) which: SessionTarget,
    /// The flags. They count for new sessions and for the first that is opened.
    pub(crate) flags: SessionOverrides,
    /// The first that is opened is chosen from the list.
    pub(crate) picks: FirstSessionPicker,
}

/// Whether the person chooses what is opened first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstSessionPicker {
    /// No: it was named.
    Nothing,
    /// Yes.
    Session,
}

/// Serves the face until it goes; gives the session back.
pub(crate) async fn serve_link(cx: Cx, begin: FirstSession, far: BackendChannel) {
    let BackendChannel { mut wishes, news } = far;
    // What would be printed must not fall into what the face draws.
    let mut remarks = terminal::gather_remarks();
    let history = super::message_history_file(&cx);
    let desk = match LocalContext::new(cx, begin.flags, news.clone()) {
        Ok(desk) => Arc::new(desk),
        Err(error) => {
            let _ = news.send(UiUpdate::Over(Some(format!("{error:#}")))).await;
            return;
        }
    };
    desk.send_update(UiUpdate::History(history)).await;
    let (line, waiting) = mpsc::channel(WISHES_MAX);
    let keeper = SessionController::new(desk.clone(), begin.picks);
    let keeper = tokio::spawn(keeper.run(begin.which, waiting));
    let watcher = tokio::spawn(lookup::watch_pause(desk.clone()));
    let (steering, steered) = mpsc::channel(WISHES_MAX);
    let mut steers = tokio::spawn(lookup::steer_sessions(desk.clone(), steered, line.clone()));
    loop {
        let wish = tokio::select! {
            biased;
            wish = wishes.recv() => wish,
            Some(text) = remarks.next() => {
                desk.send_notice(NoticeTone::Quiet, text).await;
                continue;
            }
        };
        let Some(wish) = wish else { break };
        if wish == UiCommand::Leave {
            break;
        }
        if let Some(wish) = lookup::dispatch_command(&desk, wish, &steering).await
            && line.send(wish).await.is_err()
        {
            break;
        }
    }
    drop(steering);
    // What was answered before the face went is answered still.
    let _ = tokio::time::timeout(STEER_WAIT, &mut steers).await;
    steers.abort();
    desk.leaving.cancel();
    watcher.abort();
    let (over, ()) = tokio::join!(keeper, desk.shells.end_all());
    let over = over.err().map(|error| format!("giving the session back failed: {error}"));
    desk.send_update(UiUpdate::Over(over)).await;
}
