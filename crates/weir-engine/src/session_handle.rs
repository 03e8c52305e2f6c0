//! The handle by which faces and other sessions steer a session that runs. Not here: opening one
//! (`engine`), and running it (`session_loop`).

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use weir_core::event::{CancelCause, CheckpointRestored, Decision, InputAddition};
use weir_core::ids::{ApprovalId, InputId, QuestionId, Seq, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand, PersonMessage, SessionCommand};
use weir_core::message::MessageBlock;

use crate::blobs::{StagedBlobs, decode_blob};
use crate::command_channel::LoopMessage;
use crate::error::EngineError;
use crate::hub::{UpdateHub, UpdateSubscription};
use crate::ports::{Blobs, Store};
use crate::submit::InputSubmission;

/// What a session that has stopped reading commands may still take to answer the last one: it has left
/// its loop by then, and whatever it answers is there.
const LAST_ANSWER: Duration = Duration::from_secs(1);

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
    pub(crate) sender: mpsc::Sender<LoopMessage>,
    pub(crate) hub: Arc<UpdateHub>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) blobs: Arc<StagedBlobs>,
    pub(crate) submit: InputSubmission,
    pub(crate) ended: watch::Receiver<Option<Ended>>,
    pub(crate) task: Option<JoinHandle<Result<(), EngineError>>>,
}

impl SessionHandle {
    /// Id of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Listens from the fact after `after` on.
    pub fn listen_to_updates(&self, after: Seq) -> UpdateSubscription {
        self.hub.listen(self.id.clone(), self.store.clone(), after)
    }

    /// Listens to facts alone, from the one after `after` on: nothing that is streamed wakes it.
    pub fn listen_to_facts(&self, after: Seq) -> UpdateSubscription {
        self.hub.listen_to_facts(self.id.clone(), self.store.clone(), after)
    }

    /// The newest fact that whoever listens may have heard of.
    pub(crate) fn published(&self) -> Seq {
        self.hub.last_published()
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
    pub async fn send_command(&self, command: SessionCommand) -> Result<(), EngineError> {
        self.ask_loop(command).await
    }

    /// The same. Boxed, as what people do: so it is compiled here, and not by each crate that awaits it (Q23).
    fn ask_loop(&self, command: SessionCommand) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let (done, answered) = oneshot::channel();
            let message = LoopMessage::Command(Box::new(command), done);
            self.sender.send(message).await.map_err(|_| self.hub.silence_reason())?;
            let answer = tokio::select! {
                biased;
                answer = answered => answer.ok(),
                () = self.silence_after_its_end() => None,
            };
            answer.ok_or_else(|| self.hub.silence_reason())?
        })
    }

    /// Returns a while after nobody reads commands any more. A command that is sent just while its
    /// reader goes away lies in the channel as long as this handle does, and is never answered.
    async fn silence_after_its_end(&self) {
        self.sender.closed().await;
        tokio::time::sleep(LAST_ANSWER).await;
    }

    /// Says something, with the text of the command that it names (M3), unless a `UserPromptSubmit`
    /// hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`]; the command cannot be used; a hook refused it, with its words.
    pub async fn submit_input(
        &self,
        content: Vec<MessageBlock>,
        by: &str,
    ) -> Result<(), EngineError> {
        self.tell_session(by, PersonMessage { content, ..PersonMessage::default() }.into()).await
    }

    /// Tells the session what a person wants; returns when it is durable. What is said goes with the
    /// text of the command that it names (M3), unless a `UserPromptSubmit` hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`]; what is said cannot be used, or a hook refused it.
    pub async fn tell_session(&self, by: &str, command: PersonCommand) -> Result<(), EngineError> {
        self.send_person_command(by, command).await
    }

    fn send_person_command<'a>(
        &'a self,
        by: &'a str,
        command: PersonCommand,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let command = match command {
                PersonCommand::Say(mut message) => {
                    for blob in std::mem::take(&mut message.blobs) {
                        let bytes = decode_blob(&blob);
                        let bytes =
                            bytes.map_err(|error| EngineError::Refused(error.to_string()))?;
                        self.blobs.put(&self.id, bytes);
                    }
                    message.added.extend(self.collect_added_text(&message.content).await?);
                    PersonCommand::Say(message)
                }
                other => other,
            };
            self.ask_loop(command.sent_by(by)).await
        })
    }

    /// What goes with an input beside the person's words.
    pub(crate) fn collect_added_text<'a>(
        &'a self,
        content: &'a [MessageBlock],
    ) -> BoxFuture<'a, Result<Vec<InputAddition>, EngineError>> {
        self.submit.collect_added_text(content)
    }

    /// Takes back a queued input.
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`]; it was delivered already.
    pub async fn withdraw_input(&self, input: InputId) -> Result<(), EngineError> {
        self.send_command(PersonCommand::Withdraw { input }.sent_by(String::new())).await
    }

    /// Answers an approval; the first answer wins.
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`].
    pub async fn decide_approval(
        &self,
        approval: ApprovalId,
        decision: Decision,
        by: &str,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let answer = ApprovalAnswer { approval, decision, reason, terms: None };
        self.send_command(PersonCommand::Decide(answer).sent_by(by)).await
    }

    /// Answers a question.
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`].
    pub async fn answer_question(
        &self,
        question: QuestionId,
        answer: String,
        by: &str,
    ) -> Result<(), EngineError> {
        self.send_command(PersonCommand::Reply { question, answer }.sent_by(by)).await
    }

    /// Ends the run now.
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`].
    pub async fn cancel_run(&self, cause: CancelCause, by: &str) -> Result<(), EngineError> {
        self.send_command(SessionCommand::Cancel { cause, by: by.into() }).await
    }

    /// Notes that a person took changes back.
    ///
    /// # Errors
    /// As [`SessionHandle::send_command`].
    pub async fn record_restore(&self, restored: CheckpointRestored) -> Result<(), EngineError> {
        self.send_command(SessionCommand::Restored(restored)).await
    }

    /// Stops the session if no run of it is on and nothing waits to be delivered, once what is under way
    /// between runs is done; otherwise it changes nothing. What is said to it in the same moment may come too late:
    /// [`EngineError::Stopped`], and it is to be taken up again.
    pub async fn stop_if_idle(&self) {
        let _ = self.sender.send(LoopMessage::Rest).await;
    }

    /// Stops the session where it is, as [`SessionHandle::close`] does, and does not wait for it.
    pub async fn request_stop(&self) {
        let _ = self.sender.send(LoopMessage::Close).await;
    }

    /// Whether the session goes down or is down: it takes nothing and tells nothing any more.
    pub fn is_closed(&self) -> bool {
        self.hub.is_closed()
    }

    /// Waits until the session has gone down and others can have it.
    pub async fn wait_until_ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        // A sender that is gone without a word met a bug after the loop's own end.
        let over = ended.wait_for(Option::is_some).await;
        over.ok().and_then(|over| *over).unwrap_or(Ended::Crashed)
    }

    /// Waits until the session went down by itself.
    ///
    /// # Errors
    /// Why it did: the store refused, or the engine crashed in it.
    pub async fn wait_for_failure(&mut self) -> Result<(), EngineError> {
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
        let _ = self.sender.send(LoopMessage::Close).await;
        match self.task.take() {
            Some(task) => task.await.map_err(|_| EngineError::Stopped)?,
            None => Ok(()),
        }
    }
}
