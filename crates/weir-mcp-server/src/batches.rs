//! Batches: several messages as one array, and the answers to its requests as one array, which the revision
//! 2025-03-26 of the protocol has and no later one. Not here: bytes (`lines`), and what a message means.

use std::collections::HashSet;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::Value;

use crate::messages::{INTERNAL_ERROR, INVALID_REQUEST, ReadMessage, read_entry, refusal_of};

/// Messages of one batch.
const MESSAGES_MAX: usize = 100;
/// Batches whose requests are not all answered, at once.
pub(crate) const BATCHES_MAX: usize = 100;
/// Bytes that are kept for all of them: answers that wait for others, and names of requests.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The batches whose requests are not all answered.
pub(crate) struct OpenBatches {
    open: Vec<OpenBatch>,
    kept_bytes_max: usize,
}

#[derive(Default)]
struct OpenBatch {
    /// Its requests that are not answered.
    waiting: HashSet<RequestId>,
    /// The answers until now, as JSON.
    answers: Vec<String>,
}

/// What a batch leads to at once.
pub(crate) struct BegunBatch {
    /// What is to be done, in the order of the batch.
    pub(crate) messages: Vec<RxJsonRpcMessage<RoleServer>>,
    /// The answer as JSON, where nothing is left to wait for.
    pub(crate) answer: Option<String>,
}

/// Where the answer to a request goes.
pub(crate) enum AnswerPlace {
    /// It is a line of its own.
    OwnLine,
    /// Its batch waits for others.
    Waits,
    /// It was the last of its batch: the whole array, as JSON.
    Whole(String),
}

/// Why a batch of so many messages is refused; `None`: it is not.
pub(crate) fn describe_wrong_size(count: usize) -> Option<String> {
    match count {
        0 => Some("Invalid request: a batch has at least one message".to_owned()),
        many if many > MESSAGES_MAX => {
            Some(format!("Invalid request: a batch has at most {MESSAGES_MAX} messages"))
        }
        _ => None,
    }
}

/// Why no batch more is begun.
pub(crate) fn describe_too_many() -> String {
    format!("Invalid request: {BATCHES_MAX} batches are not answered yet; wait for one of them")
}

impl Default for OpenBatches {
    fn default() -> OpenBatches {
        OpenBatches { open: Vec::new(), kept_bytes_max: KEPT_BYTES_MAX }
    }
}

impl OpenBatches {
    /// Takes the messages of a batch apart.
    pub(crate) fn begin_batch(&mut self, entries: Vec<Value>) -> BegunBatch {
        if let Some(why) = describe_wrong_size(entries.len()) {
            return BegunBatch::refuse_whole(&why);
        }
        if self.open.len() >= BATCHES_MAX {
            return BegunBatch::refuse_whole(&describe_too_many());
        }
        let mut batch = OpenBatch::default();
        let mut messages = Vec::new();
        for entry in entries {
            match read_entry(&entry) {
                ReadMessage::Message(message) => {
                    match self.refuse_message(&mut batch, &message, &entry) {
                        Some(answer) => batch.answers.push(answer.to_string()),
                        None => messages.push(*message),
                    }
                }
                ReadMessage::Refused(answer) => batch.answers.push(answer.to_string()),
                ReadMessage::Nothing | ReadMessage::Batch(_) => {}
            }
        }
        if self.kept_bytes() + batch.kept_bytes() > self.kept_bytes_max {
            let why =
                "Invalid request: too much waits for the ends of batches; wait for one of them";
            return BegunBatch::refuse_whole(why);
        }
        let answer = match batch.waiting.is_empty() {
            true => batch.into_answer(),
            false => {
                self.open.push(batch);
                None
            }
        };
        BegunBatch { messages, answer }
    }

    /// Where this message, which is to be sent, goes.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub(crate) fn place_answer(
        &mut self,
        message: &TxJsonRpcMessage<RoleServer>,
    ) -> serde_json::Result<AnswerPlace> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some((at, id)) = id.and_then(|id| Some((self.position_of(id)?, id))) else {
            return Ok(AnswerPlace::OwnLine);
        };
        let mut answer = serde_json::to_string(message)?;
        // The last one is not kept: it goes out at once with the others.
        let is_kept = self.open[at].waiting.len() > 1;
        if is_kept && self.kept_bytes() + answer.len() > self.kept_bytes_max {
            let why = "the answer is too large to wait for the end of its batch; ask for it alone";
            answer = refusal_of(&id.clone().into_json_value(), INTERNAL_ERROR, why).to_string();
        }
        self.open[at].answers.push(answer);
        Ok(match self.give_up(at, id) {
            Some(whole) => AnswerPlace::Whole(whole),
            None => AnswerPlace::Waits,
        })
    }

    /// The answers to all batches as they are, each as JSON: the connection ends. What was not done until then
    /// is an error, so that nothing that was done is lost with it.
    pub(crate) fn end_all(&mut self) -> Vec<String> {
        let why = "the connection ended before this was done; look whether it had begun";
        let ended = std::mem::take(&mut self.open).into_iter().filter_map(|mut batch| {
            for id in std::mem::take(&mut batch.waiting) {
                let answer = refusal_of(&id.into_json_value(), INTERNAL_ERROR, why);
                batch.answers.push(answer.to_string());
            }
            batch.into_answer()
        });
        ended.collect()
    }

    /// Has a batch wait for the answer to a request; the refusal of one that can be no part of it.
    fn refuse_message(
        &self,
        batch: &mut OpenBatch,
        message: &RxJsonRpcMessage<RoleServer>,
        entry: &Value,
    ) -> Option<Value> {
        let JsonRpcMessage::Request(request) = message else { return None };
        let why = match &request.request {
            ClientRequest::InitializeRequest(_) => "initialize is no part of a batch",
            // Of two at once the SDK answers one: the other batch would never be whole.
            _ if self.position_of(&request.id).is_some() => {
                "a request of another batch has the same id and is not answered yet"
            }
            _ if batch.waiting.insert(request.id.clone()) => return None,
            _ => "two requests of the batch have the same id",
        };
        let why = format!("Invalid request: {why}");
        Some(refusal_of(&entry["id"], INVALID_REQUEST, &why))
    }

    /// Forgets a request that this message takes back: it is never answered. Returns the answer to its batch,
    /// where it was the last one that was waited for.
    pub(crate) fn note_cancelled(
        &mut self,
        message: &RxJsonRpcMessage<RoleServer>,
    ) -> Option<String> {
        let JsonRpcMessage::Notification(told) = message else { return None };
        let ClientNotification::CancelledNotification(cancelled) = &told.notification else {
            return None;
        };
        let id = cancelled.params.request_id.as_ref()?;
        let at = self.position_of(id)?;
        self.give_up(at, id)
    }

    fn kept_bytes(&self) -> usize {
        self.open.iter().map(OpenBatch::kept_bytes).sum()
    }

    fn position_of(&self, id: &RequestId) -> Option<usize> {
        self.open.iter().position(|batch| batch.waiting.contains(id))
    }

    /// Waits no longer for the answer to a request of the batch at this place.
    fn give_up(&mut self, at: usize, id: &RequestId) -> Option<String> {
        self.open[at].waiting.remove(id);
        match self.open[at].waiting.is_empty() {
            true => self.open.remove(at).into_answer(),
            false => None,
        }
    }
}

impl BegunBatch {
    /// Nothing of it is done.
    fn refuse_whole(why: &str) -> BegunBatch {
        let answer = refusal_of(&Value::Null, INVALID_REQUEST, why);
        BegunBatch { messages: Vec::new(), answer: Some(answer.to_string()) }
    }
}

impl OpenBatch {
    /// Bytes that are kept for it.
    fn kept_bytes(&self) -> usize {
        let name = |id: &RequestId| match id {
            RequestId::Number(_) => 0,
            RequestId::String(name) => name.len(),
        };
        let answers: usize = self.answers.iter().map(String::len).sum();
        answers + self.waiting.iter().map(name).sum::<usize>()
    }

    /// Nothing is said where nothing was asked.
    fn into_answer(self) -> Option<String> {
        (!self.answers.is_empty()).then(|| format!("[{}]", self.answers.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ErrorData, ServerResult};
    use serde_json::json;

    use super::*;

    fn answer(id: RequestId) -> TxJsonRpcMessage<RoleServer> {
        JsonRpcMessage::response(ServerResult::empty(()), id)
    }

    fn ping(id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    fn read_json(text: &str) -> Value {
        serde_json::from_str(text).expect("it is JSON")
    }

    /// The answers of a batch that is whole by this one.
    fn whole(place: AnswerPlace) -> Vec<Value> {
        let AnswerPlace::Whole(text) = place else { panic!("it was the last") };
        read_json(&text).as_array().expect("an array").clone()
    }

    #[test]
    fn r2_the_answers_to_a_batch_are_one_array_when_the_last_of_them_is_there() {
        let mut batches = OpenBatches::default();
        let silent = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let entries = vec![ping(&json!(1)), silent, json!(5), ping(&json!("b")), ping(&json!(1))];
        let begun = batches.begin_batch(entries);
        assert_eq!((begun.messages.len(), begun.answer), (3, None), "two pings and what is told");
        let place = batches.place_answer(&answer(RequestId::Number(9))).expect("JSON");
        assert!(matches!(place, AnswerPlace::OwnLine), "it is of no batch");
        let place = batches.place_answer(&answer(RequestId::Number(1))).expect("JSON");
        assert!(matches!(place, AnswerPlace::Waits));
        let place = batches.place_answer(&answer(RequestId::String("b".into()))).expect("JSON");
        let all = whole(place);
        let ids: Vec<&Value> = all.iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, [&Value::Null, &json!(1), &json!(1), &json!("b")], "{all:?}");
        assert_eq!(all[0]["error"]["code"], INVALID_REQUEST);
        assert_eq!(all[1]["error"]["code"], INVALID_REQUEST, "the second of that id");
        let place = batches.place_answer(&answer(RequestId::Number(1))).expect("JSON");
        assert!(matches!(place, AnswerPlace::OwnLine), "the batch is over");
    }

    #[test]
    fn r2_a_request_of_a_batch_that_is_taken_back_is_not_waited_for() {
        let mut batches = OpenBatches::default();
        let begun = batches.begin_batch(vec![ping(&json!(1)), ping(&json!(2))]);
        assert_eq!(begun.messages.len(), 2);
        let taken_back = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": 2 }
        });
        let ReadMessage::Message(taken_back) = read_entry(&taken_back) else {
            panic!("it is a message")
        };
        assert_eq!(batches.note_cancelled(&taken_back), None, "one is waited for");
        let place = batches.place_answer(&answer(RequestId::Number(1))).expect("JSON");
        assert!(matches!(place, AnswerPlace::Whole(_)));
    }

    #[test]
    fn r2_two_batches_that_name_a_request_alike_are_both_answered() {
        let mut batches = OpenBatches::default();
        assert_eq!(batches.begin_batch(vec![ping(&json!(1))]).answer, None);
        let begun = batches.begin_batch(vec![ping(&json!(1)), ping(&json!(2))]);
        assert_eq!((begun.messages.len(), begun.answer), (1, None), "the first is refused");
        let first = batches.place_answer(&answer(RequestId::Number(1))).expect("JSON");
        assert_eq!(whole(first).len(), 1);
        let second = batches.place_answer(&answer(RequestId::Number(2))).expect("JSON");
        let second = whole(second);
        assert_eq!(second[0]["error"]["code"], INVALID_REQUEST, "{second:?}");
        assert_eq!((&second[0]["id"], &second[1]["id"]), (&json!(1), &json!(2)));
    }

    #[test]
    fn r2_what_was_done_of_a_batch_is_told_where_the_connection_ends() {
        let mut batches = OpenBatches::default();
        batches.begin_batch(vec![ping(&json!(1)), ping(&json!("b"))]);
        batches.begin_batch(vec![ping(&json!(3))]);
        batches.place_answer(&answer(RequestId::Number(1))).expect("JSON");
        let ended: Vec<Value> = batches.end_all().iter().map(|text| read_json(text)).collect();
        assert_eq!(ended.len(), 2, "{ended:?}");
        assert!(ended[0][0]["id"] == 1 && ended[0][0]["result"].is_object(), "{ended:?}");
        for (all, at, id) in [(&ended[0], 1, json!("b")), (&ended[1], 0, json!(3))] {
            assert_eq!((&all[at]["id"], &all[at]["error"]["code"]), (&id, &json!(INTERNAL_ERROR)));
        }
        assert!(batches.end_all().is_empty(), "once");
    }

    #[test]
    fn r2_what_is_kept_until_a_batch_is_whole_is_bounded() {
        let mut batches = OpenBatches { kept_bytes_max: 1_000, ..OpenBatches::default() };
        let large = |id: i64| -> TxJsonRpcMessage<RoleServer> {
            let error = ErrorData::internal_error("x".repeat(900), None);
            JsonRpcMessage::error(error, Some(RequestId::Number(id)))
        };
        batches.begin_batch(vec![ping(&json!(1)), ping(&json!(2)), ping(&json!(3))]);
        for id in [1, 2] {
            let place = batches.place_answer(&large(id)).expect("JSON");
            assert!(matches!(place, AnswerPlace::Waits));
        }
        // Names of requests are kept too, and a batch of such is refused before anything of it is done.
        let begun = batches.begin_batch(vec![ping(&json!("n".repeat(900)))]);
        assert!(begun.messages.is_empty());
        let refused = read_json(&begun.answer.expect("it is refused"));
        assert_eq!(refused["error"]["code"], INVALID_REQUEST, "{refused}");
        let all = whole(batches.place_answer(&large(3)).expect("JSON"));
        let told: Vec<usize> =
            all.iter().map(|one| one["error"]["message"].as_str().map_or(0, str::len)).collect();
        assert!(told[0] == 900 && told[1] < 200 && told[2] == 900, "{told:?}");
        assert_eq!(all[1]["id"], 2);
        let again = batches.begin_batch(vec![ping(&json!("n".repeat(900)))]);
        assert_eq!(again.messages.len(), 1, "there is room again");
    }

    #[test]
    fn r2_a_batch_of_nothing_or_of_too_much_is_refused_and_one_that_asks_nothing_is_not_answered() {
        let mut batches = OpenBatches::default();
        for entries in [Vec::new(), vec![ping(&json!(1)); MESSAGES_MAX + 1]] {
            let begun = batches.begin_batch(entries);
            let answer = read_json(&begun.answer.expect("it is refused"));
            assert!(begun.messages.is_empty() && answer["id"].is_null(), "{answer}");
            assert_eq!(answer["error"]["code"], INVALID_REQUEST, "{answer}");
        }
        let silent = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let begun = batches.begin_batch(vec![silent]);
        assert_eq!((begun.messages.len(), begun.answer), (1, None));
        let beginning = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-03-26", "capabilities": {},
                "clientInfo": { "name": "a", "version": "1" }
            }
        });
        let begun = batches.begin_batch(vec![beginning]);
        assert!(begun.messages.is_empty(), "it is no part of a batch");
        assert_eq!(read_json(&begun.answer.expect("it is refused"))[0]["id"], 1);
    }
}
