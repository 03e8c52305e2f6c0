//! What a client can be asked while it waits, and how: its person (a form), its model, which folders it has
//! open. A client that named no ability for something is not asked it. Not here: what a call makes of an answer
//! (`following`, `prompting`).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitationCapability, ErrorData, InputRequest,
    ProtocolVersion, RootsCapabilities, SamplingCapability, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, ServiceError};
use rmcp::{Peer, RoleServer};
use serde_json::Value;

use crate::agent::{CallAnswer, CallQuestion, FoldersAnswer, ModelAnswer, PersonAnswer};
use crate::translate::{answer_of, folders_of, model_answer_of, request_of};

/// Questions of one call that are open at its client at once.
pub(crate) const QUESTIONS_AT_ONCE_MAX: usize = 16;

/// How a client is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskingWay {
    /// By a request of the server.
    ByRequest,
    /// By an answer that says what is missing; the client comes back with it.
    ByComingBack,
}

/// Of which kind a question is, and so its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    Person,
    Model,
    Folders,
}

/// A question that a client has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedQuestion {
    pub(crate) name: String,
    pub(crate) kind: QuestionKind,
}

impl AskedQuestion {
    pub(crate) fn of(question: &CallQuestion) -> AskedQuestion {
        AskedQuestion { name: question.name().to_owned(), kind: kind_of(question) }
    }
}

fn kind_of(question: &CallQuestion) -> QuestionKind {
    match question {
        CallQuestion::Person(_) => QuestionKind::Person,
        CallQuestion::Model(_) => QuestionKind::Model,
        CallQuestion::Folders(_) => QuestionKind::Folders,
    }
}

/// What a client can be asked with this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAbilities {
    pub(crate) way: AskingWay,
    forms: bool,
    model: bool,
    folders: bool,
}

impl ClientAbilities {
    pub(crate) fn of_request(context: &RequestContext<RoleServer>) -> ClientAbilities {
        let able = context.client_capabilities().unwrap_or_default();
        // A client that names no kind has forms.
        let has_forms = |able: &ElicitationCapability| able.form.is_some() || able.url.is_none();
        let way = match is_newest(context) {
            true => AskingWay::ByComingBack,
            false => AskingWay::ByRequest,
        };
        ClientAbilities {
            way,
            forms: able.elicitation.as_ref().is_some_and(has_forms),
            model: able.sampling.is_some(),
            folders: able.roots.is_some(),
        }
    }

    pub(crate) fn can_be_asked(self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Person => self.forms,
            QuestionKind::Model => self.model,
            QuestionKind::Folders => self.folders,
        }
    }
}

/// Whether a request is of the revision without a handshake.
pub(crate) fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    let newest = ProtocolVersion::V_2026_07_28;
    context.protocol_version().is_some_and(|version| version.as_str() >= newest.as_str())
}

/// A question that was sent to a client and waits for its answer.
pub(crate) struct SentQuestion {
    pub(crate) asked: AskedQuestion,
    pub(crate) handle: RequestHandle<RoleServer>,
}

/// Sends a question; `None`: it cannot be asked after all.
pub(crate) async fn send_question(
    peer: &Peer<RoleServer>,
    question: &CallQuestion,
) -> Option<SentQuestion> {
    let request = match request_of(question)? {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return None,
    };
    let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    match sent {
        Ok(handle) => Some(SentQuestion { asked: AskedQuestion::of(question), handle }),
        Err(error) => {
            tracing::debug!(%error, "the client could not be asked");
            None
        }
    }
}

/// What a client answered to something that was sent to it.
pub(crate) type SentAnswer = Result<Result<ClientResult, ServiceError>, ()>;

/// Waits until one of them is answered: which, and how. For ever where there is none. Cancel-safe: nothing is
/// taken before it is returned.
pub(crate) async fn next_answer(sent: &mut [SentQuestion]) -> (usize, SentAnswer) {
    poll_fn(|cx| {
        for (at, question) in sent.iter_mut().enumerate() {
            if let Poll::Ready(answer) = Pin::new(&mut question.handle.rx).poll(cx) {
                return Poll::Ready((at, answer.map_err(drop)));
            }
        }
        Poll::Pending
    })
    .await
}

/// Takes a question back that a client still has.
pub(crate) async fn withdraw_question(sent: SentQuestion, why: &str) {
    // A client that has gone asks nobody.
    let _ = sent.handle.cancel(Some(why.to_owned())).await;
}

/// What an answer to something that was sent means. Whatever is no answer of this kind is none.
pub(crate) fn read_answer(kind: QuestionKind, answer: SentAnswer) -> CallAnswer {
    match (kind, answer) {
        (QuestionKind::Person, Ok(Ok(ClientResult::ElicitResult(result)))) => {
            CallAnswer::Person(answer_of(result))
        }
        (QuestionKind::Model, Ok(Ok(ClientResult::CreateMessageResult(result)))) => {
            CallAnswer::Model(model_answer_of(*result))
        }
        (QuestionKind::Folders, Ok(Ok(ClientResult::ListRootsResult(result)))) => {
            CallAnswer::Folders(folders_of(result))
        }
        (kind, _) => no_answer(kind),
    }
}

/// What a client brought when it came back. Whatever is no answer of this kind is none.
pub(crate) fn read_brought(kind: QuestionKind, brought: Option<Value>) -> CallAnswer {
    let Some(brought) = brought else { return no_answer(kind) };
    let answer = match kind {
        QuestionKind::Person => {
            serde_json::from_value(brought).ok().map(|result| CallAnswer::Person(answer_of(result)))
        }
        QuestionKind::Model => serde_json::from_value(brought)
            .ok()
            .map(|result| CallAnswer::Model(model_answer_of(result))),
        QuestionKind::Folders => serde_json::from_value(brought)
            .ok()
            .map(|result| CallAnswer::Folders(folders_of(result))),
    };
    answer.unwrap_or_else(|| no_answer(kind))
}

/// A person who chose nothing can still be asked elsewhere; a model and folders cannot.
pub(crate) fn no_answer(kind: QuestionKind) -> CallAnswer {
    let why = || "the client gave no answer that can be understood".to_owned();
    match kind {
        QuestionKind::Person => CallAnswer::Person(PersonAnswer::Dismissed),
        QuestionKind::Model => CallAnswer::Model(ModelAnswer::Failed(why())),
        QuestionKind::Folders => CallAnswer::Folders(FoldersAnswer::Failed(why())),
    }
}

/// Said to a client that would have to be asked this, and cannot be.
pub(crate) fn cannot_ask(kind: QuestionKind) -> ErrorData {
    let mut needed = ClientCapabilities::default();
    match kind {
        QuestionKind::Person => needed.elicitation = Some(ElicitationCapability::new()),
        QuestionKind::Model => needed.sampling = Some(SamplingCapability::default()),
        QuestionKind::Folders => needed.roots = Some(RootsCapabilities::default()),
    }
    ErrorData::missing_required_client_capability(needed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r2_an_answer_of_another_kind_than_its_question_is_none() {
        let form = json!({"action": "accept", "content": {"decision": "allow"}});
        let words = json!({
            "role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"
        });
        let folders = json!({"roots": [{"uri": "file:///srv"}]});
        let kinds = [QuestionKind::Person, QuestionKind::Model, QuestionKind::Folders];
        for (at, kind) in kinds.into_iter().enumerate() {
            for (of, brought) in [&form, &words, &folders].into_iter().enumerate() {
                let read = read_brought(kind, Some(brought.clone()));
                assert_eq!(read != no_answer(kind), at == of, "{kind:?}: {brought}");
            }
            for none in [json!(null), json!("allow"), json!([form.clone()]), json!({})] {
                assert_eq!(read_brought(kind, Some(none.clone())), no_answer(kind), "{none}");
            }
            assert_eq!(read_brought(kind, None), no_answer(kind));
        }
    }
}
