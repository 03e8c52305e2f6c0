//! Questions of the session to the person at the editor: asked, answered, and taken back where somebody
//! else was quicker.

use serde_json::json;
use tokio::task::AbortHandle;
use weir_core::event::Decision;
use weir_core::ids::QuestionId;
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::transcript::PendingAsk;

use super::EditorSession;
use crate::elicitation::{elicitation_question, read_elicitation};
use crate::permission::{PermissionReply, permission_question, question_text, read_reply};
use crate::rpc::{PeerRequest, RpcError};
use crate::wire::{ContentBlock, ElicitationMode, MessageChunk, SessionUpdate};

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
    way: QuestionWay,
}

/// How a question is put to the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QuestionWay {
    /// As answers to choose from.
    Choice,
    /// As a form.
    Form,
    /// As a page that the person opens: its name.
    Page(String),
}

/// A question on its way to the editor.
struct SentQuestion {
    sent: Result<PeerRequest, RpcError>,
    way: QuestionWay,
}

impl EditorSession {
    /// Asks what waits for a person.
    pub(super) async fn open_ask(&mut self, ask: PendingAsk) {
        let name = ask.name().to_owned();
        if self.asked.contains_key(&name) {
            return;
        }
        let Some(question) = self.send_question(&ask).await else {
            return self.ask_in_words(ask).await;
        };
        let way = question.way;
        let request = match question.sent {
            Ok(request) => request,
            Err(error) => {
                self.asked.insert(name.clone(), AskedQuestion { ask, request: None });
                let unable = PermissionReply::Unable(error.message);
                return self.take_reply(&name, unable).await;
            }
        };
        let id = request.id;
        let (asked, question) = (name.clone(), ask.clone());
        let is_choice = way == QuestionWay::Choice;
        let waiting = self.answers.spawn(async move {
            let answer = request.wait_for_answer().await;
            let reply = match question.question().filter(|_| !is_choice) {
                Some(question) => read_elicitation(question, answer),
                None => read_reply(answer),
            };
            (asked, reply)
        });
        let request = Some(AskedRequest { id, waiting, way });
        self.asked.insert(name, AskedQuestion { ask, request });
    }

    /// Sends a question as this editor can ask it; `None`: it is one that is answered in words.
    async fn send_question(&self, ask: &PendingAsk) -> Option<SentQuestion> {
        if let Some(params) = elicitation_question(self.id.as_str(), ask, self.able) {
            let way = match &params.mode {
                ElicitationMode::Url { elicitation_id, .. } => {
                    QuestionWay::Page(elicitation_id.clone())
                }
                ElicitationMode::Form { .. } => QuestionWay::Form,
            };
            let sent = self.peer.send_request("elicitation/create", &params).await;
            return Some(SentQuestion { sent, way });
        }
        let (view, root) = (self.render.transcript(), self.render.workspace_root());
        let params = permission_question(self.id.as_str(), ask, view, root)?;
        let sent = self.peer.send_request("session/request_permission", &params).await;
        Some(SentQuestion { sent, way: QuestionWay::Choice })
    }

    /// A question is settled: of one about a page the editor is told so.
    async fn complete_page(&self, way: &QuestionWay) {
        if let QuestionWay::Page(name) = way {
            let params = json!({ "elicitationId": name });
            self.peer.send_notification("elicitation/complete", &params).await;
        }
    }

    /// It was settled, here or elsewhere: an editor that still asks is told so.
    pub(super) async fn close_ask(&mut self, name: &str) {
        let Some(request) = self.asked.remove(name).and_then(|asked| asked.request) else { return };
        request.waiting.abort();
        let params = json!({ "requestId": request.id });
        self.peer.send_notification("$/cancel_request", &params).await;
        self.complete_page(&request.way).await;
    }

    /// The editor answered.
    pub(super) async fn take_reply(&mut self, name: &str, reply: PermissionReply) {
        let Some(asked) = self.asked.remove(name) else { return };
        let ask = asked.ask;
        if let Some(question) = ask.question() {
            let chosen = match &reply {
                PermissionReply::Chosen(number) => question.options.get(*number).cloned(),
                PermissionReply::Said(answer) => Some(answer.clone()),
                PermissionReply::Decided(_)
                | PermissionReply::Nothing
                | PermissionReply::Unable(_) => None,
            };
            match chosen {
                Some(answer) => {
                    let question = question.question.clone();
                    self.tell_session(PersonCommand::Reply { question, answer });
                    if let Some(request) = &asked.request {
                        self.complete_page(&request.way).await;
                    }
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
            PermissionReply::Nothing | PermissionReply::Chosen(_) | PermissionReply::Said(_) => {
                (Decision::Deny, None)
            }
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
