//! Turns of the editor: what it said, whether the model was told, and how the turn ended.

use weir_core::event::{RunFinished, RunStatus};
use weir_core::ids::InputId;
use weir_core::input::PersonCommand;
use weir_core::model::StopReason;
use weir_core::view::told::FactTone;
use weir_install::wiring;
use weir_tui::link::UiCommand;

use super::EditorSession;
use crate::prompt::PromptMessage;
use crate::rpc::{RequestId, RpcError};
use crate::wire::{ContentBlock, PromptResult, TurnEnd};

/// Turns that may be under way at once: one is on, the others wait.
const PROMPTS_MAX: usize = 16;

/// A turn that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingPrompt {
    /// The request.
    pub(super) request: RequestId,
    /// The name under which it was said.
    client_id: String,
    state: PromptState,
    /// The editor wants it to end.
    is_unwanted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptState {
    /// On its way.
    Sent,
    /// It waits for the next turn of a run that is on.
    Queued(InputId),
    /// The model is told it in this run.
    Told,
}

impl EditorSession {
    /// Says a prompt. Where the agent waits for an answer in words, it is that answer.
    pub(super) async fn say_prompt(&mut self, request: RequestId, blocks: Vec<ContentBlock>) {
        if let Err(error) = self.try_say(&request, blocks).await {
            self.peer.send_answer::<PromptResult>(&request, Err(error)).await;
        }
    }

    async fn try_say(
        &mut self,
        request: &RequestId,
        blocks: Vec<ContentBlock>,
    ) -> Result<(), RpcError> {
        if self.prompts.len() >= PROMPTS_MAX {
            return Err(RpcError::internal_error("too many prompts wait already"));
        }
        let root = std::path::Path::new(self.render.workspace_root());
        let message = PromptMessage::of_blocks(blocks, root).await?;
        let question = match self.render.transcript().is_running() {
            true => self.question_in_words(),
            false => None,
        };
        let client_id = wiring::new_session_id().to_string();
        let (wish, state) = match question {
            Some(_) if !message.attached.is_empty() => {
                let why =
                    "the agent waits for an answer to its question: words, without attachments";
                return Err(RpcError::invalid_params(why));
            }
            Some(question) => {
                let answer = PersonCommand::Reply { question, answer: message.text };
                (UiCommand::Tell(answer), PromptState::Told)
            }
            None => {
                self.render.note_own_input(&client_id);
                let PromptMessage { text, attached } = message;
                let client_id = client_id.clone();
                (UiCommand::Say { text, attached, client_id }, PromptState::Sent)
            }
        };
        self.send_wish(wish)?;
        // From here on a turn is wanted, whatever was ended before.
        self.is_cancelling = false;
        let request = request.clone();
        self.prompts.push(PendingPrompt { request, client_id, state, is_unwanted: false });
        Ok(())
    }

    /// Ends what is on. What waits is taken back first: it must not begin the next turn.
    pub(super) fn cancel_turn(&mut self) {
        self.is_cancelling = true;
        let mut queued = Vec::new();
        for prompt in &mut self.prompts {
            prompt.is_unwanted = true;
            if let PromptState::Queued(input) = prompt.state {
                queued.push(input);
            }
        }
        for input in queued {
            self.tell_session(PersonCommand::Withdraw { input });
        }
        self.tell_session(PersonCommand::Cancel);
    }

    /// Tells the session something that ends or answers. There is always room for it: an editor does not
    /// answer faster than the session asks.
    pub(super) fn tell_session(&self, command: PersonCommand) {
        if let Err(error) = self.send_wish(UiCommand::Tell(command)) {
            tracing::warn!(%error, "an order of the editor was lost");
        }
    }

    fn find_prompt(&mut self, client_id: Option<&str>) -> Option<&mut PendingPrompt> {
        let client_id = client_id?;
        self.prompts.iter_mut().find(|prompt| prompt.client_id == client_id)
    }

    /// The model is told it.
    pub(super) fn prompt_was_told(&mut self, client_id: Option<&str>) {
        let Some(prompt) = self.find_prompt(client_id) else { return };
        prompt.state = PromptState::Told;
        if prompt.is_unwanted {
            // It was on its way when the turn was ended.
            self.tell_session(PersonCommand::Cancel);
        }
    }

    /// It waits for the next turn of the run that is on.
    pub(super) fn prompt_was_queued(&mut self, client_id: Option<&str>, input: InputId) {
        let Some(prompt) = self.find_prompt(client_id) else { return };
        prompt.state = PromptState::Queued(input);
        if prompt.is_unwanted {
            self.tell_session(PersonCommand::Withdraw { input });
        }
    }

    /// It will not be told.
    pub(super) async fn prompt_was_withdrawn(&mut self, client_id: Option<&str>) {
        let Some(client_id) = client_id else { return };
        if let Some(at) = self.prompts.iter().position(|prompt| prompt.client_id == client_id) {
            let prompt = self.prompts.remove(at);
            self.answer_prompt(&prompt, Ok(TurnEnd::Cancelled)).await;
        }
    }

    /// It did not arrive.
    pub(super) async fn refuse_prompt(&mut self, client_id: &str, why: String) {
        if let Some(at) = self.prompts.iter().position(|prompt| prompt.client_id == client_id) {
            let prompt = self.prompts.remove(at);
            self.answer_prompt(&prompt, Err(RpcError::internal_error(why))).await;
        }
    }

    /// A run came to rest, and with it the turns of which the model was told.
    pub(super) async fn run_ended(&mut self, end: &RunFinished) {
        let outcome = turn_end(end, self.last_stop.take());
        let before = self.prompts.len();
        self.end_told_prompts(&outcome).await;
        // Where nobody waits for the end of the turn, what went wrong is said.
        if let (Err(error), true) = (&outcome, self.is_open && before == self.prompts.len()) {
            self.tell_remark(FactTone::Bad, &error.message).await;
        }
        self.is_cancelling = false;
    }

    /// The agent waits for words: the turn is over, and the next one is the answer.
    pub(super) async fn wait_for_words(&mut self) {
        self.end_told_prompts(&Ok(TurnEnd::EndTurn)).await;
    }

    async fn end_told_prompts(&mut self, outcome: &Result<TurnEnd, RpcError>) {
        let all = std::mem::take(&mut self.prompts);
        for prompt in all {
            match prompt.state {
                PromptState::Told => self.answer_prompt(&prompt, outcome.clone()).await,
                PromptState::Sent | PromptState::Queued(_) => self.prompts.push(prompt),
            }
        }
    }

    /// Nothing more comes of any turn: why.
    pub(super) async fn fail_prompts(&mut self, why: String) {
        for prompt in std::mem::take(&mut self.prompts) {
            self.answer_prompt(&prompt, Err(RpcError::internal_error(why.clone()))).await;
        }
    }

    /// The session is given back: every turn is ended.
    pub(super) async fn end_prompts(&mut self) {
        for prompt in std::mem::take(&mut self.prompts) {
            self.answer_prompt(&prompt, Ok(TurnEnd::Cancelled)).await;
        }
    }

    async fn answer_prompt(&self, prompt: &PendingPrompt, outcome: Result<TurnEnd, RpcError>) {
        let result = outcome.map(|stop_reason| PromptResult { stop_reason });
        self.peer.send_answer(&prompt.request, result).await;
    }
}

/// How a turn ended, by how its run did.
fn turn_end(end: &RunFinished, last_stop: Option<StopReason>) -> Result<TurnEnd, RpcError> {
    match end.status {
        RunStatus::Completed => Ok(match last_stop {
            Some(StopReason::MaxTokens) => TurnEnd::MaxTokens,
            Some(StopReason::Refusal) => TurnEnd::Refusal,
            Some(StopReason::End | StopReason::Calls | StopReason::Interrupted) | None => {
                TurnEnd::EndTurn
            }
        }),
        RunStatus::NeedsInput | RunStatus::Paused => Ok(TurnEnd::EndTurn),
        RunStatus::Denied => Ok(TurnEnd::Refusal),
        RunStatus::Limit | RunStatus::Budget => Ok(TurnEnd::MaxTurnRequests),
        RunStatus::Cancelled | RunStatus::Interrupted => Ok(TurnEnd::Cancelled),
        RunStatus::Failed => {
            let why = end.error.clone();
            Err(RpcError::internal_error(why.unwrap_or_else(|| "the run failed".into())))
        }
    }
}
