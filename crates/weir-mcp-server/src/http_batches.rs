//! Batches over HTTP: what each message of one leads to, and the answer to all of them, which is one stream of
//! events. Not here: which clients may send them (`http`), and those on one line (`batches`).

use std::collections::HashSet;

use http::response::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use rmcp::model::{ClientRequest, JsonRpcMessage};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::http_bodies::{AnswerBody, WholeBody};
use crate::messages::{INTERNAL_ERROR, INVALID_REQUEST, ReadMessage, read_entry, refusal_of};
use crate::params::INITIALIZE;

/// The revision that has batches.
const WITH_BATCHES: &str = "2025-03-26";

/// What is to be done with a message of a batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BatchEntry {
    /// A request: it is answered.
    Ask(Value),
    /// A notification, or an answer of the client: it is not.
    Tell(Value),
    /// It can be no part of it, and this answers it.
    Refuse(Value),
}

/// Whether a request has several messages, or is no JSON.
pub(crate) fn is_batch(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'[')
}

/// The messages of a request that has several; `None`: it is no JSON.
pub(crate) fn read_batch(body: &[u8]) -> Option<Vec<Value>> {
    serde_json::from_slice(body).ok()
}

/// Whether a client begins with the revision that has batches.
pub(crate) fn begins_with_batches(body: &[u8]) -> bool {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    said["method"] == INITIALIZE && said["params"]["protocolVersion"] == WITH_BATCHES
}

/// What is to be done with each message, in the order of the batch.
pub(crate) fn split_batch(entries: Vec<Value>) -> Vec<BatchEntry> {
    let mut ids = HashSet::new();
    let mut split = Vec::new();
    for entry in entries {
        let message = match read_entry(&entry) {
            ReadMessage::Message(message) => *message,
            ReadMessage::Refused(answer) => {
                split.push(BatchEntry::Refuse(answer));
                continue;
            }
            ReadMessage::Nothing | ReadMessage::Batch(_) => continue,
        };
        let JsonRpcMessage::Request(request) = message else {
            split.push(BatchEntry::Tell(entry));
            continue;
        };
        let why = match request.request {
            ClientRequest::InitializeRequest(_) => "initialize is no part of a batch",
            _ if ids.insert(request.id.clone()) => {
                split.push(BatchEntry::Ask(entry));
                continue;
            }
            _ => "two requests of the batch have the same id",
        };
        let why = format!("Invalid request: {why}");
        split.push(BatchEntry::Refuse(refusal_of(&entry["id"], INVALID_REQUEST, &why)));
    }
    split
}

/// The answers to the messages of a batch, until all of them were given on.
#[derive(Default)]
pub(crate) struct BatchAnswers {
    /// Something of the batch was given on.
    has_begun: bool,
    /// How the first stream of events begins.
    head: Option<Parts>,
    streams: AnswerBody,
    refusals: Vec<Value>,
}

impl BatchAnswers {
    /// A message that is answered with this at once.
    pub(crate) fn add_refusal(&mut self, answer: Value) {
        self.refusals.push(answer);
    }

    /// What comes of giving a message on. What those before it say meanwhile is read: a connection takes nothing
    /// while what it has to say finds no reader, and the client reads nothing before the batch is given on.
    pub(crate) async fn read_during<T>(&mut self, given_on: impl Future<Output = T>) -> T {
        self.streams.read_during(given_on).await
    }

    /// A message was given on and answered so. `asked`: the id of what is a request. Gives the answer to the
    /// batch where the first one was not taken: nothing of it is done then.
    pub(crate) fn add_answer(
        &mut self,
        answer: Response<AnswerBody>,
        asked: Option<&Value>,
    ) -> Option<Response<AnswerBody>> {
        let status = answer.status();
        if !status.is_success() && !self.has_begun {
            return Some(answer);
        }
        self.has_begun = true;
        let id = asked?;
        if status.is_success() {
            let (head, stream) = answer.into_parts();
            self.head.get_or_insert(head);
            self.streams.add(stream);
        } else {
            let why = format!("the message was not taken: {status}");
            self.add_refusal(refusal_of(id, INTERNAL_ERROR, &why));
        }
        None
    }

    /// The answer to the batch: a stream of events where something was asked, an array where all of that was
    /// refused, and nothing where nothing was asked.
    pub(crate) fn into_answer(self, permit: OwnedSemaphorePermit) -> Response<AnswerBody> {
        let BatchAnswers { head, mut streams, refusals, .. } = self;
        let Some(head) = head else {
            return match refusals.is_empty() {
                true => answer_with(StatusCode::ACCEPTED, String::new()),
                false => answer_with(StatusCode::OK, Value::Array(refusals).to_string()),
            };
        };
        if !refusals.is_empty() {
            let event = |refusal: &Value| format!("event: message\ndata: {refusal}\n\n");
            let events: Vec<String> = refusals.iter().map(event).collect();
            streams.add(AnswerBody::of_one(WholeBody::new(events.concat())));
        }
        Response::from_parts(head, streams.with_permit(permit))
    }
}

/// That a batch is refused as a whole.
pub(crate) fn refuse_batch(why: &str) -> Response<AnswerBody> {
    let refusal = refusal_of(&Value::Null, INVALID_REQUEST, why);
    answer_with(StatusCode::BAD_REQUEST, refusal.to_string())
}

/// Why whoever agreed on another revision sends no batch.
pub(crate) fn describe_no_batches() -> String {
    format!(
        "Invalid request: batches are of the revision {WITH_BATCHES} alone, and this client did not begin with \
         it; send one message a request"
    )
}

/// An answer with this JSON; empty: with nothing.
pub(crate) fn answer_with(status: StatusCode, json: String) -> Response<AnswerBody> {
    let has_text = !json.is_empty();
    let mut answer = Response::new(AnswerBody::of_one(WholeBody::new(json)));
    *answer.status_mut() = status;
    if has_text {
        let kind = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    answer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ping(id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    #[test]
    fn r2_a_batch_over_http_is_known_by_its_first_byte() {
        assert_eq!(read_batch(b" \n[1, 2]"), Some(vec![json!(1), json!(2)]));
        assert_eq!(read_batch(b"[]"), Some(Vec::new()));
        for (body, is_one) in [(" \n[1, 2]", true), ("[", true), ("", false), ("{}", false)] {
            assert_eq!(is_batch(body.as_bytes()), is_one, "{body}");
        }
        for body in ["", "{}", "[1", "x[1]"] {
            assert_eq!(read_batch(body.as_bytes()), None, "{body}");
        }
        let begin = |revision: &str| {
            let params = json!({ "protocolVersion": revision });
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
                .to_string()
        };
        assert!(begins_with_batches(begin(WITH_BATCHES).as_bytes()));
        for body in [begin("2025-06-18"), "[]".to_owned(), String::new()] {
            assert!(!begins_with_batches(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn r2_each_message_of_a_batch_over_http_is_taken_by_what_it_is() {
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let begin = json!({
            "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
                "protocolVersion": WITH_BATCHES, "capabilities": {},
                "clientInfo": { "name": "a", "version": "1" }
            }
        });
        let (one, two) = (ping(&json!(1)), ping(&json!("b")));
        let entries = vec![one.clone(), told.clone(), json!(5), two.clone(), one.clone(), begin];
        let split = split_batch(entries);
        assert_eq!(split[..2], [BatchEntry::Ask(one), BatchEntry::Tell(told)]);
        assert_eq!(split[3], BatchEntry::Ask(two));
        let refused = |entry: &BatchEntry| match entry {
            BatchEntry::Refuse(answer) => answer["id"].clone(),
            BatchEntry::Ask(_) | BatchEntry::Tell(_) => panic!("it is refused: {entry:?}"),
        };
        let ids: Vec<Value> = [2, 4, 5].iter().map(|at| refused(&split[*at])).collect();
        assert_eq!(ids, [Value::Null, json!(1), json!(3)]);
        assert_eq!(split.len(), 6);
    }

    #[test]
    fn r2_a_batch_of_which_nothing_is_taken_is_answered_as_its_first_message_is() {
        let failure = || answer_with(StatusCode::NOT_ACCEPTABLE, String::new());
        let success = || answer_with(StatusCode::OK, "{}".into());
        let mut answers = BatchAnswers::default();
        assert!(answers.add_answer(failure(), Some(&json!(1))).is_some());
        assert!(answers.add_answer(success(), None).is_none());
        assert!(answers.add_answer(failure(), Some(&json!(2))).is_none(), "the others are done");
        assert_eq!(answers.refusals.len(), 1);
        assert_eq!(answers.refusals[0]["id"], 2);
    }
}
