//! `weir pause --session` and `weir release --session`: the run of one session is paused, and goes on (R5).
//! It reaches the session as an answer does. Not here: the kill switch (`command::pause`).

use std::process::ExitCode;

use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;
use weir_core::session::child;
use weir_engine::family;
use weir_engine::host::SessionState;
use weir_install::context::InstallationContext;
use weir_install::session_ids;

use super::deliver::{AnswerDelivery, AnswerDeliveryOutcome};
use super::fold::{self, FoldedSession};
use crate::command::sessions::single_visible_line;
use crate::failure::{exit, usage};
use crate::terminal::{err_message, out_line};

/// Pauses the run of a session, named by its id or the beginning of it.
pub(crate) async fn pause_run(cx: &InstallationContext, session: &str) -> anyhow::Result<ExitCode> {
    let mut folded = find_session_of_run(cx, session).await?;
    let (session, run) = (folded.session.id().clone(), folded.state.run);
    if run.is_none() {
        return Err(usage(format!("session {session} has no run that could be paused")));
    }
    let delivery = AnswerDelivery::new(cx, PersonCommand::Pause)?;
    let settled = |state: &SessionState| state.run != run || state.paused.is_some();
    if let AnswerDeliveryOutcome::Waits(holder) = delivery.deliver(&mut folded, settled).await? {
        return report_waiting_command(&holder, &session);
    }
    let Some(by) = &folded.state.paused else {
        err_message(&format!("the run of session {session} ends; nothing is paused"));
        return Ok(ExitCode::from(exit::FAILED));
    };
    let by = single_visible_line(by);
    out_line(&format!(
        "Session {session} is paused by {by}; `weir release --session {session}` lets it go on."
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Lets the run of a session go on that was paused.
pub(crate) async fn resume_run(
    cx: &InstallationContext,
    session: &str,
) -> anyhow::Result<ExitCode> {
    let mut folded = find_session_of_run(cx, session).await?;
    let (session, run) = (folded.session.id().clone(), folded.state.run);
    if folded.state.paused.is_none() {
        out_line(&format!("Session {session} was not paused."))?;
        return Ok(ExitCode::SUCCESS);
    }
    let delivery = AnswerDelivery::new(cx, PersonCommand::Resume)?;
    let settled = |state: &SessionState| state.run != run || state.paused.is_none();
    match delivery.deliver(&mut folded, settled).await? {
        AnswerDeliveryOutcome::Waits(holder) => report_waiting_command(&holder, &session),
        AnswerDeliveryOutcome::Settled { at_rest } => {
            out_line(&format!("Session {session} goes on."))?;
            if at_rest {
                out_line(&format!(
                    "It is not running; `weir run --resume {session}` continues it."
                ))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The session that `text` names. One of a sub-agent is paused with the session that started it.
async fn find_session_of_run(
    cx: &InstallationContext,
    text: &str,
) -> anyhow::Result<FoldedSession> {
    let store = cx.local_store()?;
    let session = session_ids::find_session_id(store.as_ref(), text).await?;
    if child::parent_of(&session).is_some() {
        let top = family::root_session(&session);
        return Err(usage(format!(
            "{session} is a sub-agent, which pauses with the session that started it: {top}"
        )));
    }
    fold::load_folded_session(store.as_ref(), &session).await
}

fn report_waiting_command(holder: &str, session: &SessionId) -> anyhow::Result<ExitCode> {
    err_message(&format!(
        "{holder} is running session {session} and has not read this yet; it counts once it is read"
    ));
    Ok(ExitCode::from(exit::FAILED))
}
