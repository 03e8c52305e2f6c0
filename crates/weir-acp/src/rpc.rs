//! JSON-RPC 2.0 as the protocol uses it: one message a line. Reading lines with a bound, and telling
//! requests, notifications and answers apart. Not here: what methods mean, and sending (`peer`).

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

mod peer;

pub(crate) use peer::{EditorPeer, PeerRequest, write_lines};

/// Longest line that is read, in bytes: a message with its attachments in base64.
pub(crate) const LINE_BYTES_MAX: usize = 128 << 20;

/// A line that is no JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON that is no message.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// A method that nobody here knows.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters that do not fit the method.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// What was asked for cannot be done.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// No model can be asked yet.
pub(crate) const AUTH_REQUIRED: i64 = -32000;
/// There is no such session or file.
pub(crate) const NOT_FOUND: i64 = -32002;

/// The name of a request, as its sender chose it: a number, a text, or null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct RequestId(Value);

impl RequestId {
    /// The name of nothing: of an answer to what could not be read.
    pub(crate) fn null_id() -> RequestId {
        RequestId(Value::Null)
    }

    fn of_value(value: &Value) -> Option<RequestId> {
        let fits = match value {
            Value::Null | Value::String(_) => true,
            Value::Number(number) => number.is_i64() || number.is_u64(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        fits.then(|| RequestId(value.clone()))
    }

    /// The request that the parameters of `$/cancel_request` name.
    pub(crate) fn of_params(params: &Value) -> Option<RequestId> {
        RequestId::of_value(params.get("requestId")?)
    }

    /// The number, where it is one of those that are given out here.
    pub(crate) fn as_number(&self) -> Option<u64> {
        self.0.as_u64()
    }
}

/// Why a request is not answered with a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct RpcError {
    /// One of the constants above, or the editor's own.
    pub(crate) code: i64,
    /// What, why, and what to do.
    pub(crate) message: String,
}

impl RpcError {
    /// One with these words.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into() }
    }

    /// What was asked for cannot be done: why.
    pub(crate) fn internal_error(message: impl Into<String>) -> RpcError {
        RpcError::new(INTERNAL_ERROR, message)
    }

    /// The parameters do not fit: why.
    pub(crate) fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }

    fn of_value(value: &Value) -> RpcError {
        let code = value.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
        let message = value.get("message").and_then(Value::as_str).unwrap_or("no reason was given");
        RpcError::new(code, message)
    }

    /// As it stands in an answer.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

/// One line, understood.
#[derive(Debug, PartialEq)]
pub(crate) enum IncomingMessage {
    /// Something that is to be answered.
    Request {
        /// Its name.
        id: RequestId,
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// Something that is not answered.
    Notification {
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// The answer to a request of ours.
    Answer {
        /// The name of the request.
        id: RequestId,
        /// What came of it.
        outcome: Result<Value, RpcError>,
    },
    /// No message: why, under the name that it has, if any.
    Invalid {
        /// For the answer.
        id: RequestId,
        /// For the answer.
        error: RpcError,
    },
}

impl IncomingMessage {
    /// Reads a line.
    pub(crate) fn parse_line(line: &[u8]) -> IncomingMessage {
        let invalid = |id: RequestId, code, why: &str| {
            let error = RpcError::new(code, why);
            IncomingMessage::Invalid { id, error }
        };
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return invalid(RequestId::null_id(), PARSE_ERROR, "the line is not JSON");
        };
        let Value::Object(mut fields) = message else {
            return invalid(RequestId::null_id(), INVALID_REQUEST, "a message is one JSON object");
        };
        let id = match fields.get("id") {
            None => None,
            Some(value) => match RequestId::of_value(value) {
                Some(id) => Some(id),
                None => {
                    let why = "an id is a number, a text, or null";
                    return invalid(RequestId::null_id(), INVALID_REQUEST, why);
                }
            },
        };
        let method = fields.get("method").map(|method| method.as_str().map(str::to_owned));
        let mut taken = |name: &str| fields.remove(name);
        match (method, id) {
            (Some(Some(method)), id) => {
                let params = taken("params").unwrap_or(Value::Null);
                match id {
                    Some(id) => IncomingMessage::Request { id, method, params },
                    None => IncomingMessage::Notification { method, params },
                }
            }
            (Some(None), id) => {
                let id = id.unwrap_or_else(RequestId::null_id);
                invalid(id, INVALID_REQUEST, "the method is not a text")
            }
            (None, Some(id)) => match (taken("result"), taken("error")) {
                (_, Some(error)) => {
                    IncomingMessage::Answer { id, outcome: Err(RpcError::of_value(&error)) }
                }
                (Some(result), None) => IncomingMessage::Answer { id, outcome: Ok(result) },
                (None, None) => {
                    invalid(id, INVALID_REQUEST, "there is neither a method nor a result")
                }
            },
            (None, None) => invalid(
                RequestId::null_id(),
                INVALID_REQUEST,
                "there is neither a method nor an id",
            ),
        }
    }
}

/// What was read.
#[derive(Debug, PartialEq)]
pub(crate) enum ReadLine {
    /// A line without its end, and not empty.
    Line(Vec<u8>),
    /// One that was longer than [`LINE_BYTES_MAX`]: nothing of it is kept.
    TooLong,
    /// There is no more.
    End,
}

/// Reads lines with a bound. What was read of a line stays where the waiting is given up.
pub(crate) struct LineReader<R> {
    input: R,
    kept: Vec<u8>,
    bytes_max: usize,
    is_too_long: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// One that reads lines of at most so many bytes.
    pub(crate) fn new(input: R, bytes_max: usize) -> LineReader<R> {
        LineReader { input, kept: Vec::new(), bytes_max, is_too_long: false }
    }

    /// The next line that is not empty.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub(crate) async fn next_line(&mut self) -> std::io::Result<ReadLine> {
        loop {
            let part = self.input.fill_buf().await?;
            let is_over = part.is_empty();
            let end = part.iter().position(|byte| *byte == b'\n');
            let fresh = &part[..end.unwrap_or(part.len())];
            match self.kept.len() + fresh.len() > self.bytes_max {
                true => self.is_too_long = true,
                false if !self.is_too_long => self.kept.extend_from_slice(fresh),
                false => (),
            }
            let used = end.map_or(part.len(), |end| end + 1);
            self.input.consume(used);
            if self.is_too_long {
                self.kept = Vec::new();
            }
            if end.is_none() && !is_over {
                continue;
            }
            let line = std::mem::take(&mut self.kept);
            if std::mem::take(&mut self.is_too_long) {
                return Ok(ReadLine::TooLong);
            }
            if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(ReadLine::Line(line));
            }
            if is_over {
                return Ok(ReadLine::End);
            }
        }
    }
}

#[cfg(test)]
mod tests;
