//! The handle by which faces and other sessions steer a session that runs. Not here: opening one
//! (`engine`), and running it (`session_loop`).

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use weir_core::event::{Added, CancelCause, CheckpointRestored, Decision};
use weir_core::ids::{ApprovalId, InputId, QuestionId, Seq, SessionId};
use weir_core::input::{ApprovalAnswer, Command, PersonCommand, PersonMessage};
use weir_core::message::Block;

use crate::blobs::{StagedBlobs, decode_blob};
use crate::command_channel::Message;
use crate::error::EngineError;
use crate::hub::{Hub, Updates};
use crate::ports::{Blobs, Store};
use crate::submit::Submit;

/// How a session went down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was closed.
    Well,
    /// The store refused.
    Failed,
    /// The engine met a bug of its own.
    Crashed,
}

/// A running session. Dropping it lets the session come to rest where it is and stops it.
pub struct SessionHandle {
    pub(crate) id: SessionId,
    pub(crate) sender: mpsc::Sender<Message>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) blobs: Arc<StagedBlobs>,
    pub(crate) submit: Submit,
    pub(crate) ended: watch::Receiver<Option<Ended>>,
    pub(crate) task: Option<JoinHandle<Result<(), EngineError>>>,
}

impl SessionHandle {
    /// Its name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Listens from the fact after `after` on.
    pub fn updates(&self, after: Seq) -> Updates {
        self.hub.listen(self.id.clone(), self.store.clone(), after)
    }

    /// Listens to facts alone, from the one after `after` on: nothing that is streamed wakes it.
    pub fn facts(&self, after: Seq) -> Updates {
        self.hub.listen_to_facts(self.id.clone(), self.store.clone(), after)
    }

    /// The newest fact that whoever listens may have heard of.
    pub(crate) fn published(&self) -> Seq {
        self.hub.published()
    }

    /// The store of its journal.
    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Where attachments are put before they are said.
    pub fn blobs(&self) -> &dyn Blobs {
        self.blobs.as_ref()
    }

    /// Sends a command; returns when it is durable.
    ///
    /// # Errors
    /// The session has stopped, the store refused, or the command answers nothing that is open.
    pub async fn command(&self, command: Command) -> Result<(), EngineError> {
        let (done, answered) = oneshot::channel();
        let message = Message::Command(command, done);
        self.sender.send(message).await.map_err(|_| self.hub.silence())?;
        answered.await.map_err(|_| self.hub.silence())?
    }

    /// Says something, with the text of the command that it names (M3), unless a `UserPromptSubmit`
    /// hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; the command cannot be used; a hook refused it, with its words.
    pub async fn say(&self, content: Vec<Block>, by: &str) -> Result<(), EngineError> {
        self.tell_session(by, PersonMessage { content, ..PersonMessage::default() }.into()).await
    }

    /// Tells the session what a person wants; returns when it is durable. What is said goes with the
    /// text of the command that it names (M3), unless a `UserPromptSubmit` hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; what is said cannot be used, or a hook refused it.
    pub async fn tell_session(&self, by: &str, command: PersonCommand) -> Result<(), EngineError> {
        let command = match command {
            PersonCommand::Say(mut message) => {
                for blob in std::mem::take(&mut message.blobs) {
                    let bytes = decode_blob(&blob);
                    let bytes = bytes.map_err(|error| EngineError::Refused(error.to_string()))?;
                    self.blobs.put(&self.id, bytes);
                }
                message.added.extend(self.submitted(&message.content).await?);
                PersonCommand::Say(message)
            }
            other => other,
        };
        self.command(command.sent_by(by)).await
    }

    /// What goes with an input beside the person's words.
    pub(crate) async fn submitted(&self, content: &[Block]) -> Result<Vec<Added>, EngineError> {
        self.submit.added(content).await
    }

    /// Takes back a queued input.
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; it was delivered already.
    pub async fn withdraw(&self, input: InputId) -> Result<(), EngineError> {
        self.command(PersonCommand::Withdraw { input }.sent_by(String::new())).await
    }

    /// Answers an approval; the first answer wins.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: Decision,
        by: &str,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let answer = ApprovalAnswer { approval, decision, reason, terms: None };
        self.command(PersonCommand::Decide(answer).sent_by(by)).await
    }

    /// Answers a question.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn reply(
        &self,
        question: QuestionId,
        answer: String,
        by: &str,
    ) -> Result<(), EngineError> {
        self.command(PersonCommand::Reply { question, answer }.sent_by(by)).await
    }

    /// Ends the run now.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn cancel(&self, cause: CancelCause, by: &str) -> Result<(), EngineError> {
        self.command(Command::Cancel { cause, by: by.into() }).await
    }

    /// Notes that a person took changes back.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn restored(&self, restored: CheckpointRestored) -> Result<(), EngineError> {
        self.command(Command::Restored(restored)).await
    }

    /// Stops the session if nothing of it is under way and nothing waits to be delivered; otherwise
    /// it changes nothing. What is said to it in the same moment may come too late:
    /// [`EngineError::Stopped`], and it is to be taken up again.
    pub async fn rest(&self) {
        let _ = self.sender.send(Message::Rest).await;
    }

    /// Stops the session where it is, as [`SessionHandle::close`] does, and does not wait for it.
    pub async fn stop(&self) {
        let _ = self.sender.send(Message::Close).await;
    }

    /// Whether the session goes down or is down: it takes nothing and tells nothing any more.
    pub fn is_closed(&self) -> bool {
        self.hub.is_closed()
    }

    /// Waits until the session has gone down and others can have it.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        // A sender that is gone without a word met a bug after the loop's own end.
        let over = ended.wait_for(Option::is_some).await;
        over.ok().and_then(|over| *over).unwrap_or(Ended::Crashed)
    }

    /// Waits until the session went down by itself.
    ///
    /// # Errors
    /// Why it did: the store refused, or the engine crashed in it.
    pub async fn down(&mut self) -> Result<(), EngineError> {
        let Some(task) = &mut self.task else { return Err(EngineError::Stopped) };
        let ended = task.await;
        self.task = None;
        ended.map_err(|_| EngineError::Stopped)?
    }

    /// Stops the session where it is: what is known is made durable, what is in flight ends.
    ///
    /// # Errors
    /// Why the session went down before.
    pub async fn close(mut self) -> Result<(), EngineError> {
        let _ = self.sender.send(Message::Close).await;
        match self.task.take() {
            Some(task) => task.await.map_err(|_| EngineError::Stopped)?,
            None => Ok(()),
        }
    }
}
