//! Messages as lines of two streams: what is read, what is written, and the answer to a line that is no
//! message. Not here: what a message means.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Longest line of a client, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;
/// So long nothing more is read after a line that was refused: whoever sends back what it is answered must
/// not keep both sides busy.
const REFUSED_REST: Duration = Duration::from_millis(20);

/// The line is not JSON.
const PARSE_ERROR: i64 = -32700;
/// It is JSON and no message.
const INVALID_REQUEST: i64 = -32600;

/// A client at two streams. One line is one message.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// What was read of a line: it stays where the waiting for the rest is given up.
    kept: Vec<u8>,
    is_too_long: bool,
    /// The answer to a line that is no message, until it stands among what is to be written.
    refused: Option<Vec<u8>>,
    /// Such an answer is not written whole yet.
    is_answering: bool,
    rests_until: Option<Instant>,
    output: Arc<Mutex<LineOutput<W>>>,
}

/// Where lines are written, one after the other.
struct LineOutput<W> {
    /// `None`: closed.
    stream: Option<W>,
    /// What is to be written and is not: a sender that is given up leaves no half line.
    left: Vec<u8>,
}

/// What a line says.
enum ReadMessage {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// A notification that nobody knows, or nothing.
    Nothing,
    /// No message: the line that answers it.
    Refused(Vec<u8>),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    pub(crate) fn new(input: R, output: W) -> LineTransport<R, W> {
        LineTransport {
            input: BufReader::new(input),
            kept: Vec::new(),
            is_too_long: false,
            refused: None,
            is_answering: false,
            rests_until: None,
            output: Arc::new(Mutex::new(LineOutput { stream: Some(output), left: Vec::new() })),
        }
    }

    /// The next whole line; `None`: there is no more, or it cannot be read. Can be given up at any time.
    async fn read_message(&mut self) -> Option<ReadMessage> {
        loop {
            let part = self.input.fill_buf().await.ok()?;
            if part.is_empty() {
                return None;
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let fresh = &part[..end.unwrap_or(part.len())];
            if self.is_too_long || self.kept.len() + fresh.len() > LINE_BYTES_MAX {
                self.is_too_long = true;
                self.kept.clear();
            } else {
                self.kept.extend_from_slice(fresh);
            }
            let used = end.map_or(part.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.kept);
            if std::mem::take(&mut self.is_too_long) {
                let why = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                return Some(refuse_line(&Value::Null, INVALID_REQUEST, &why));
            }
            return Some(read_line(&line));
        }
    }

    /// Writes the answer to a line that was no message; `None`: nobody reads it.
    async fn answer_refused(&mut self) -> Option<()> {
        let mut output = self.output.lock().await;
        if let Some(line) = self.refused.take() {
            output.left.extend(line);
        }
        output.write_left().await.ok()?;
        self.is_answering = false;
        Some(())
    }
}

impl<W: AsyncWrite + Unpin> LineOutput<W> {
    async fn write_left(&mut self) -> std::io::Result<()> {
        let closed = || std::io::Error::new(std::io::ErrorKind::NotConnected, "it is closed");
        let stream = self.stream.as_mut().ok_or_else(closed)?;
        while !self.left.is_empty() {
            match stream.write(&self.left).await? {
                0 => return Err(std::io::ErrorKind::WriteZero.into()),
                written => drop(self.left.drain(..written)),
            }
        }
        stream.flush().await
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.left.append(&mut line);
            output.write_left().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.is_answering {
                self.answer_refused().await?;
            }
            if let Some(until) = self.rests_until {
                tokio::time::sleep_until(until).await;
                self.rests_until = None;
            }
            match self.read_message().await? {
                ReadMessage::Message(message) => return Some(*message),
                ReadMessage::Nothing => {}
                ReadMessage::Refused(line) => {
                    self.refused = Some(line);
                    self.is_answering = true;
                    self.rests_until = Some(Instant::now() + REFUSED_REST);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.stream = None;
        Ok(())
    }
}

/// What a line says. Some programs begin their lines with a byte order mark.
fn read_line(line: &[u8]) -> ReadMessage {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ReadMessage::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return ReadMessage::Message(Box::new(message));
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return refuse_line(&Value::Null, PARSE_ERROR, "Parse error: the line is not JSON");
    };
    if let Some(answer) = read_answer_without_error(&value) {
        return ReadMessage::Message(Box::new(answer));
    }
    let is_named = value.get("method").is_some_and(Value::is_string);
    // An answer has an id of ours, which may be one of theirs too.
    let is_answer = !is_named && ["result", "error"].iter().any(|part| value.get(part).is_some());
    let id = value.get("id").filter(|id| !is_answer && (id.is_string() || id.is_number()));
    match (id, is_named) {
        // A notification is never answered, and one that nobody knows means nothing.
        (None, true) if value.get("id").is_none() => ReadMessage::Nothing,
        (id, _) => {
            let why = "Invalid request: write one JSON object with \"jsonrpc\": \"2.0\", an id, a \
                       method and params";
            refuse_line(id.unwrap_or(&Value::Null), INVALID_REQUEST, why)
        }
    }
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

fn refuse_line(id: &Value, code: i64, why: &str) -> ReadMessage {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } });
    ReadMessage::Refused(format!("{answer}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a line that is no message.
    fn refusal(line: &str) -> Option<Value> {
        match read_line(line.as_bytes()) {
            ReadMessage::Refused(answer) => serde_json::from_slice(&answer).ok(),
            ReadMessage::Message(_) | ReadMessage::Nothing => None,
        }
    }

    #[test]
    fn r2_a_line_that_is_no_message_is_answered_by_what_it_is() {
        for (line, id, code) in [
            ("not json", Value::Null, PARSE_ERROR),
            ("{\"jsonrpc\":\"2.0\",", Value::Null, PARSE_ERROR),
            ("42", Value::Null, INVALID_REQUEST),
            ("[]", Value::Null, INVALID_REQUEST),
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
