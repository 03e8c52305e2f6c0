//! The other end of the link on an engine in this process (F1).
//!
//! Wishes come in at [`serve_link`]. What is looked up is a task of its own each; what ends or answers
//! something goes straight to the session that runs; everything else goes one after the other
//! through the controller, who opens, takes up and gives back. Nothing is opened before it is needed: a
//! face that was only looked at leaves nothing behind.
//!
//! Reading order: `course`, `settled_start`, `shown_session`, `context`, `controller`, `say`, `change`, `letters`,
//! `steering`; then what is looked up: `about`, `earlier`, `lists`, `files`, `shell`, `back`, `reports`,
//! `export`.
//! Not here: the same at a server (`super::remote`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_core::ids::SessionId;
use weir_tui::link::{BackendChannel, NoticeTone, SessionTarget, UiCommand, UiUpdate, WISHES_MAX};

mod about;
mod back;
mod change;
mod context;
mod controller;
mod course;
mod decisions;
mod earlier;
mod export;
mod files;
mod letters;
mod lists;
mod lookup;
mod pause_watch;
mod reports;
mod say;
mod settled_start;
mod shell;
mod shown_session;
mod steering;
#[cfg(test)]
mod tests;

use context::LocalContext;
use controller::{ControllerRequest, SessionController};
use steering::LocalSessions;
use weir_install::context::InstallationContext;
use weir_install::wiring::SessionOverrides;

/// How the person who sits here is called where they answer, as `weir run` does.
const PERSON: &str = "person";
/// What this process is called where it holds a session.
const LABEL: &str = "weir";

/// How long what was answered may still take when the face goes.
const STEER_WAIT: Duration = Duration::from_secs(1);

/// What is opened first, and how.
pub struct FirstSession {
    /// Which session.
    pub which: SessionTarget,
    /// The flags. They count for new sessions and for the first that is opened.
    pub flags: SessionOverrides,
    /// The first that is opened is chosen from the list.
    pub picks: FirstSessionPicker,
    /// The name of the first new session, where the face gave it one before there was one; `None`: one is
    /// made.
    pub name: Option<SessionId>,
    /// Which fact of a session that is opened is told first.
    pub told_from: FirstTold,
}

/// Which fact of a session that is opened is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstTold {
    /// The first of all.
    FirstFact,
    /// The first after a settled place, where a long session has one. Those before it are told when they are
    /// wished for.
    SettledPlace,
}

/// Whether the person chooses what is opened first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstSessionPicker {
    /// No: it was named.
    Nothing,
    /// Yes.
    Session,
}

/// Serves the face until it goes; gives the session back. `remarks`: what the program would print, had
/// the face not the terminal.
pub async fn serve_link(
    cx: InstallationContext,
    begin: FirstSession,
    remarks: &mut mpsc::Receiver<String>,
    far: BackendChannel,
) {
    let BackendChannel { mut wishes, news } = far;
    let history = super::message_history_file(&cx);
    let shared = LocalContext::new(cx, begin.flags, news.clone());
    let context = match shared.map(|context| context.with_name(begin.name)) {
        Ok(context) => Arc::new(context),
        Err(error) => {
            let _ = news.send(UiUpdate::Over(Some(format!("{error:#}")))).await;
            return;
        }
    };
    context.send_update(UiUpdate::History(history)).await;
    // Looked at before anything is opened: what changes from now on is told.
    let pause = about::describe_pause(&context.cx).await.ok().flatten();
    let (line, waiting) = mpsc::channel(WISHES_MAX);
    let controller = SessionController::new(context.clone(), begin.picks, begin.told_from);
    let controller = tokio::spawn(controller.run(begin.which, waiting));
    let watcher = tokio::spawn(lookup::watch_pause(context.clone(), pause));
    let (steering, steered) = mpsc::channel(WISHES_MAX);
    let sessions = LocalSessions { context: context.clone(), controller: line.clone() };
    let mut steers = tokio::spawn(steering::steer_sessions(sessions, steered));
    loop {
        let wish = tokio::select! {
            biased;
            wish = wishes.recv() => wish,
            Some(text) = remarks.recv() => {
                context.send_notice(NoticeTone::Quiet, text).await;
                continue;
            }
        };
        let Some(wish) = wish else { break };
        if wish == UiCommand::Leave {
            break;
        }
        if let Some(wish) = lookup::dispatch_command(&context, wish, &steering).await
            && line.send(ControllerRequest::Command(wish)).await.is_err()
        {
            break;
        }
    }
    drop(steering);
    // What was answered before the face went is answered still.
    let _ = tokio::time::timeout(STEER_WAIT, &mut steers).await;
    steers.abort();
    context.leaving.cancel();
    watcher.abort();
    let (over, ()) = tokio::join!(controller, context.shells.end_all());
    let over = over.err().map(|error| format!("giving the session back failed: {error}"));
    context.send_update(UiUpdate::Over(over)).await;
}
