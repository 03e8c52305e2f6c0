//! Questions of the session to the person at the editor: asked, answered, and taken back where somebody
//! else was quicker.

use serde_json::json;
use tokio::task::AbortHandle;
use weir_core::event::Decision;
use weir_core::ids::QuestionId;
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::transcript::PendingAsk;

use super::EditorSession;
use crate::permission::{PermissionReply, permission_question, question_text, read_reply};
use crate::wire::{ContentBlock, MessageChunk, SessionUpdate};

/// A question that the editor was asked.
#[derive(Debug)]
pub(super) struct AskedQuestion {
    ask: PendingAsk,
    /// Our request, and who waits for its answer; `None`: it is answered in words.
    request: Option<AskedRequest>,
}

#[derive(Debug)]
struct AskedRequest {
    id: u64,
    waiting: AbortHandle,
}

impl EditorSession {
    /// Asks what waits for a person.
    pub(super) async fn open_ask(&mut self, ask: PendingAsk) {
        let name = ask.name().to_owned();
        if self.asked.contains_key(&name) {
            return;
        }
        let (view, root) = (self.render.transcript(), self.render.workspace_root());
        let Some(params) = permission_question(self.id.as_str(), &ask, view, root) else {
            return self.ask_in_words(ask).await;
        };
        let request = match self.peer.send_request("session/request_permission", &params).await {
            Ok(request) => request,
            Err(error) => {
                self.asked.insert(name.clone(), AskedQuestion { ask, request: None });
                let unable = PermissionReply::Unable(error.message);
                return self.take_reply(&name, unable).await;
            }
        };
        let id = request.id;
        let asked = name.clone();
        let waiting =
            self.answers.spawn(async move { (asked, read_reply(request.wait_for_answer().await)) });
        let request = Some(AskedRequest { id, waiting });
        self.asked.insert(name, AskedQuestion { ask, request });
    }

    /// It was settled, here or elsewhere: an editor that still asks is told so.
    pub(super) async fn close_ask(&mut self, name: &str) {
        let Some(request) = self.asked.remove(name).and_then(|asked| asked.request) else { return };
        request.waiting.abort();
        let params = json!({ "requestId": request.id });
        self.peer.send_notification("$/cancel_request", &params).await;
    }

    /// The editor answered.
    pub(super) async fn take_reply(&mut self, name: &str, reply: PermissionReply) {
        let Some(asked) = self.asked.remove(name) else { return };
        let ask = asked.ask;
        if let Some(question) = ask.question() {
            let chosen = match &reply {
                PermissionReply::Chosen(number) => question.options.get(*number).cloned(),
                PermissionReply::Decided(_)
                | PermissionReply::Nothing
                | PermissionReply::Unable(_) => None,
            };
            match chosen {
                Some(answer) => {
                    let question = question.question.clone();
                    self.tell_session(PersonCommand::Reply { question, answer });
                }
                None if self.is_cancelling => (),
                None => self.ask_in_words(ask).await,
            }
            return;
        }
        let (decision, reason) = match reply {
            PermissionReply::Decided(decision) => (decision, None),
            // The end of the run settles it.
            PermissionReply::Nothing if self.is_cancelling => return,
            // No answer is a no.
            PermissionReply::Nothing | PermissionReply::Chosen(_) => (Decision::Deny, None),
            PermissionReply::Unable(why) => {
                (Decision::Deny, Some(format!("the editor could not ask: {why}")))
            }
        };
        let Some(approval) = ask.request().map(|request| request.approval.clone()) else { return };
        let answer = ApprovalAnswer { approval, decision, reason, terms: None };
        self.tell_session(PersonCommand::Decide(answer));
    }

    /// Puts a question in a message: the next prompt is the answer.
    async fn ask_in_words(&mut self, ask: PendingAsk) {
        let Some(question) = ask.question() else { return };
        let content = ContentBlock::text_block(format!("\n\n{}\n\n", question_text(question)));
        let message_id = Some(ask.name().to_owned());
        let message = MessageChunk { content, message_id };
        self.send_update(SessionUpdate::AgentMessageChunk(message)).await;
        self.asked.insert(ask.name().to_owned(), AskedQuestion { ask, request: None });
        self.wait_for_words().await;
    }

    /// The question that waits for words, where one does.
    pub(super) fn question_in_words(&self) -> Option<QuestionId> {
        let mut in_words = self.asked.values().filter(|asked| asked.request.is_none());
        in_words.find_map(|asked| asked.ask.question().map(|question| question.question.clone()))
    }
}
