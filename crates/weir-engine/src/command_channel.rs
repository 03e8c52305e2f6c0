//! The way to the loop of a session: what is sent, and sending a command from within it. Not here: what
//! a command does (`session_loop`), and what people send it with (`session_handle`).

use tokio::sync::{mpsc, oneshot};
use weir_core::ids::CallId;
use weir_core::input::SessionCommand;

use crate::error::EngineError;
use crate::ports::ProgramStep;

/// What faces send.
pub(crate) enum LoopMessage {
    /// A command, and where to say that it is durable. Apart: the channel of each session has room for many
    /// messages from the start (Q19).
    Command(Box<SessionCommand>, oneshot::Sender<Result<(), EngineError>>),
    /// A program wants steps made, and where to say that they were recorded or why not.
    Steps(CallId, Vec<ProgramStep>, oneshot::Sender<Result<(), String>>),
    /// Stop, if nothing is under way and nothing waits.
    Rest,
    /// Stop after what is known is durable.
    Close,
}

/// Sends commands to the session that a worker belongs to. Weak: it keeps no session open.
#[derive(Clone)]
pub(crate) struct CommandSender(mpsc::WeakSender<LoopMessage>);

impl CommandSender {
    /// To the session that listens to `sender`.
    pub(crate) fn to_session(sender: &mpsc::Sender<LoopMessage>) -> CommandSender {
        CommandSender(sender.downgrade())
    }

    /// Sends a command; returns when it is durable.
    ///
    /// # Errors
    /// The session has stopped, the store refused, or the command answers nothing that is open.
    pub(crate) async fn send_command(&self, command: SessionCommand) -> Result<(), EngineError> {
        let sender = self.0.upgrade().ok_or(EngineError::Stopped)?;
        let (done, durable) = oneshot::channel();
        let sent = sender.send(LoopMessage::Command(Box::new(command), done)).await;
        sent.map_err(|_| EngineError::Stopped)?;
        drop(sender);
        durable.await.map_err(|_| EngineError::Stopped)?
    }

    /// Asks for steps of a program; returns when they are recorded. It waits for no disk: a step that
    /// is lost with the program is asked for again.
    ///
    /// # Errors
    /// Why the program may not ask for one: the program is to be ended.
    pub(crate) async fn propose_steps(
        &self,
        of: CallId,
        steps: Vec<ProgramStep>,
    ) -> Result<(), String> {
        let stopped = || "its session has stopped".to_owned();
        let sender = self.0.upgrade().ok_or_else(stopped)?;
        let (done, recorded) = oneshot::channel();
        let sent = sender.send(LoopMessage::Steps(of, steps, done)).await;
        sent.map_err(|_| stopped())?;
        drop(sender);
        recorded.await.map_err(|_| stopped())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q19_a_message_that_waits_for_a_session_is_small() {
        let bytes = size_of::<LoopMessage>();
        assert!(bytes <= 64, "{bytes} bytes for each of those that may wait");
    }
}
