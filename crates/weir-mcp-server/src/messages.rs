//! What a line of a client, or a message of a batch, says, and the answer to what is no message. Not here:
//! bytes (`lines`), and what a message means.

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage, JsonRpcRequest};
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

use crate::params::{INITIALIZE, describe_wrong_params};

/// The line is not JSON.
const PARSE_ERROR: i64 = -32700;
/// It is JSON and no message.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// It is a request whose parameters are not those of its method.
const INVALID_PARAMS: i64 = -32602;
/// It was done, and what came of it cannot be told.
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// What a line, or a message of a batch, says.
pub(crate) enum ReadMessage {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Several messages.
    Batch(Vec<Value>),
    /// A notification that nobody knows, or nothing.
    Nothing,
    /// No message: what answers it.
    Refused(Value),
}

/// What a line says. Some programs begin their lines with a byte order mark.
pub(crate) fn read_line(line: &[u8]) -> ReadMessage {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ReadMessage::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return judge_message(message);
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Array(entries)) => ReadMessage::Batch(entries),
        Ok(value) => read_unusual(&value),
        Err(_) => {
            let why = "Parse error: the line is not JSON";
            ReadMessage::Refused(refusal_of(&Value::Null, PARSE_ERROR, why))
        }
    }
}

/// What a message of a batch says.
pub(crate) fn read_entry(entry: &Value) -> ReadMessage {
    match serde_json::from_value(entry.clone()) {
        Ok(message) => judge_message(message),
        Err(_) => read_unusual(entry),
    }
}

/// A message as it is, but for the beginning with parameters that cannot be read: what is behind this knows
/// nothing to say of it.
fn judge_message(message: RxJsonRpcMessage<RoleServer>) -> ReadMessage {
    if let JsonRpcMessage::Request(JsonRpcRequest {
        id,
        request: ClientRequest::CustomRequest(request),
        ..
    }) = &message
        && request.method == INITIALIZE
        && let Some(why) = describe_wrong_params(INITIALIZE, request.params.as_ref())
    {
        let id = id.clone().into_json_value();
        return ReadMessage::Refused(refusal_of(&id, INVALID_PARAMS, &why));
    }
    ReadMessage::Message(Box::new(message))
}

/// What JSON says that is no message for the SDK.
fn read_unusual(value: &Value) -> ReadMessage {
    if let Some(answer) = read_answer_without_error(value) {
        return ReadMessage::Message(Box::new(answer));
    }
    let method = value.get("method").and_then(Value::as_str);
    let has_answer = ["result", "error"].iter().any(|part| value.get(part).is_some());
    // An answer has an id of ours, which may be one of theirs too.
    let is_answer = method.is_none() && has_answer;
    let id = value.get("id").filter(|id| !is_answer && (id.is_string() || id.is_number()));
    // A notification is never answered, and one that nobody knows means nothing.
    if method.is_some() && value.get("id").is_none() {
        return ReadMessage::Nothing;
    }
    // A request in every other respect.
    let is_whole = value["jsonrpc"] == "2.0" && !has_answer;
    let named = method.filter(|_| is_whole).zip(id.filter(|id| id.is_string() || id.is_i64()));
    if let Some((method, id)) = named
        && let Some(why) = describe_wrong_params(method, value.get("params"))
    {
        return ReadMessage::Refused(refusal_of(id, INVALID_PARAMS, &why));
    }
    let why = "Invalid request: write one JSON object with \"jsonrpc\": \"2.0\", an id, a method \
               and params";
    ReadMessage::Refused(refusal_of(id.unwrap_or(&Value::Null), INVALID_REQUEST, why))
}

/// An answer that says `"error": null` beside its result, as some programs write it.
fn read_answer_without_error(value: &Value) -> Option<RxJsonRpcMessage<RoleServer>> {
    let fields = value.as_object()?;
    let is_answer = fields.contains_key("result") && !fields.contains_key("method");
    if !is_answer || !fields.get("error")?.is_null() {
        return None;
    }
    let mut fields = fields.clone();
    fields.remove("error");
    serde_json::from_value(Value::Object(fields)).ok()
}

/// The answer to what is no request.
pub(crate) fn refusal_of(id: &Value, code: i64, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a line that is no message.
    fn refusal(line: &str) -> Option<Value> {
        match read_line(line.as_bytes()) {
            ReadMessage::Refused(answer) => Some(answer),
            ReadMessage::Message(_) | ReadMessage::Batch(_) | ReadMessage::Nothing => None,
        }
    }

    #[test]
    fn r2_a_line_that_is_no_message_is_answered_by_what_it_is() {
        for (line, id, code) in [
            ("not json", Value::Null, PARSE_ERROR),
            ("{\"jsonrpc\":\"2.0\",", Value::Null, PARSE_ERROR),
            ("42", Value::Null, INVALID_REQUEST),
            ("{\"a\":1}", Value::Null, INVALID_REQUEST),
            ("{\"jsonrpc\":\"2.0\",\"id\":7}", json!(7), INVALID_REQUEST),
            ("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":5}", json!("x"), INVALID_REQUEST),
            // An answer to us: its id says nothing about a request of theirs.
            (
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
                Value::Null,
                INVALID_REQUEST,
            ),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}", Value::Null, INVALID_REQUEST),
            ("{\"id\":1,\"result\":{},\"error\":null}", Value::Null, INVALID_REQUEST),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":[]}",
                json!(3),
                INVALID_PARAMS,
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"initialize\",\"params\":{}}",
                json!(4),
                INVALID_PARAMS,
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/sing\",\"params\":[]}",
                json!(5),
                INVALID_REQUEST,
            ),
        ] {
            let answer = refusal(line).unwrap_or_else(|| panic!("{line}: no answer"));
            assert_eq!(answer["jsonrpc"], "2.0", "{line}");
            assert!(answer.get("id").is_some_and(|named| *named == id), "{line}: {answer}");
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        }
        for line in [
            "",
            " \r",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
            "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":[]}",
        ] {
            assert_eq!(refusal(line), None, "{line}");
        }
    }

    #[test]
    fn r2_an_answer_with_an_error_that_is_null_is_an_answer() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}";
        let ReadMessage::Message(message) = read_line(line) else { panic!("it is a message") };
        let written = serde_json::to_value(&message).expect("it can be written");
        assert_eq!(written["id"], 1, "{written}");
        assert!(written.get("error").is_none() && written.get("result").is_some(), "{written}");
    }
}
