//! Messages as lines of two streams: what is read, what is written, and when. Not here: what a line says
//! (`messages`), and which answers belong together (`batches`).

use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, JsonRpcResponse, ProtocolVersion, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::batches::{AnswerPlace, OpenBatches};
use crate::messages::{INVALID_REQUEST, ReadMessage, read_line, refusal_of};

/// Longest line of a client, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;
/// So long nothing more is read after a line that was refused: whoever sends back what it is answered must
/// not keep both sides busy.
const REFUSED_REST: Duration = Duration::from_millis(20);
/// So long what is left to be said is written when the connection ends, by whoever writes then: who closed its
/// input and reads no more would hold the program for ever. Whoever reads at all needs far less.
const LAST_WORDS_WAIT: Duration = Duration::from_secs(2);

/// A client at two streams. One line is one message.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// What was read of a line: it stays where the waiting for the rest is given up.
    kept: Vec<u8>,
    is_too_long: bool,
    /// What was read and is not done yet: a batch has several.
    read: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// Lines of our own, such as the answer to one that is no message, until they stand among what is to be
    /// written.
    own_lines: Vec<u8>,
    /// Such a line is not written whole yet.
    is_answering: bool,
    /// The revision that was agreed on has batches.
    takes_batches: bool,
    batches: OpenBatches,
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

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    pub(crate) fn new(input: R, output: W) -> LineTransport<R, W> {
        LineTransport {
            input: BufReader::new(input),
            kept: Vec::new(),
            is_too_long: false,
            read: VecDeque::new(),
            own_lines: Vec::new(),
            is_answering: false,
            takes_batches: false,
            batches: OpenBatches::default(),
            rests_until: None,
            output: Arc::new(Mutex::new(LineOutput { stream: Some(output), left: Vec::new() })),
        }
    }

    /// The next line; `None`: there is no more, or it cannot be read. The last one may end without a line feed.
    /// Can be given up at any time.
    async fn read_message(&mut self) -> Option<ReadMessage> {
        loop {
            let part = self.input.fill_buf().await.ok()?;
            if part.is_empty() {
                let is_line = self.is_too_long || !self.kept.is_empty();
                return is_line.then(|| self.take_line());
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
            return Some(self.take_line());
        }
    }

    /// What the line says that was read.
    fn take_line(&mut self) -> ReadMessage {
        let line = std::mem::take(&mut self.kept);
        if std::mem::take(&mut self.is_too_long) {
            let why = format!("the line is longer than {LINE_BYTES_MAX} bytes");
            return ReadMessage::Refused(refusal_of(&Value::Null, INVALID_REQUEST, &why));
        }
        read_line(&line)
    }

    /// What a line said is to be done, or answered.
    fn take_message(&mut self, message: ReadMessage) {
        match message {
            ReadMessage::Message(message) => self.queue_message(*message),
            ReadMessage::Nothing => {}
            ReadMessage::Batch(entries) if self.takes_batches => {
                let begun = self.batches.begin_batch(entries);
                if let Some(answer) = begun.answer {
                    self.add_refusal(&answer);
                }
                begun.messages.into_iter().for_each(|message| self.queue_message(message));
            }
            ReadMessage::Batch(_) => {
                let why = "Invalid request: batches are of the revision 2025-03-26 alone; write \
                           one message a line";
                self.add_refusal(&refusal_of(&Value::Null, INVALID_REQUEST, why));
            }
            ReadMessage::Refused(answer) => self.add_refusal(&answer),
        }
    }

    fn queue_message(&mut self, message: RxJsonRpcMessage<RoleServer>) {
        if let Some(answer) = self.batches.note_cancelled(&message) {
            self.add_own_line(&answer);
        }
        self.read.push_back(message);
    }

    /// Answers what was no request, and reads nothing more for a moment.
    fn add_refusal(&mut self, answer: &impl Display) {
        self.add_own_line(answer);
        self.rests_until = Some(Instant::now() + REFUSED_REST);
    }

    fn add_own_line(&mut self, line: &impl Display) {
        self.own_lines.extend_from_slice(format!("{line}\n").as_bytes());
        self.is_answering = true;
    }

    /// Writes the lines of our own; `None`: nobody reads them.
    async fn write_own_lines(&mut self) -> Option<()> {
        let mut output = self.output.lock().await;
        output.left.append(&mut self.own_lines);
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
        if let JsonRpcMessage::Response(JsonRpcResponse {
            result: ServerResult::InitializeResult(begun),
            ..
        }) = &item
        {
            self.takes_batches = begun.protocol_version == ProtocolVersion::V_2025_03_26;
        }
        let place = self.batches.place_answer(&item);
        let output = Arc::clone(&self.output);
        async move {
            let mut line = match place? {
                AnswerPlace::OwnLine => serde_json::to_vec(&item)?,
                AnswerPlace::Waits => return Ok(()),
                AnswerPlace::Whole(answers) => answers.into_bytes(),
            };
            line.push(b'\n');
            let mut output = output.lock().await;
            output.left.append(&mut line);
            output.write_left().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.is_answering {
                self.write_own_lines().await?;
            }
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            if let Some(until) = self.rests_until {
                tokio::time::sleep_until(until).await;
                self.rests_until = None;
            }
            let message = self.read_message().await?;
            self.take_message(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        let until = Instant::now() + LAST_WORDS_WAIT;
        let ended = self.batches.end_all();
        if !ended.is_empty() {
            let last_words = async {
                let mut output = self.output.lock().await;
                for answers in ended {
                    output.left.extend_from_slice(format!("{answers}\n").as_bytes());
                }
                output.write_left().await
            };
            // Who closed both ends hears of nothing any more.
            if !matches!(tokio::time::timeout_at(until, last_words).await, Ok(Ok(()))) {
                tracing::debug!("the client did not hear what was done of its last batch");
            }
        }
        // Who still writes then has it, and lets go of it when the connection is given up.
        if let Ok(mut output) = tokio::time::timeout_at(until, self.output.lock()).await {
            output.stream = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;
    use serde_json::json;
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::messages::INTERNAL_ERROR;

    #[tokio::test]
    async fn r2_what_was_done_of_a_batch_is_written_before_the_connection_is_closed() {
        let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let input = format!("{}\n", json!([ping(1), ping(2)])).into_bytes();
        let (output, mut client) = tokio::io::duplex(4_096);
        let mut lines = LineTransport::new(std::io::Cursor::new(input), output);
        lines.takes_batches = true;
        assert!(lines.receive().await.is_some() && lines.receive().await.is_some());
        assert!(lines.receive().await.is_none(), "the client closed its input");
        let done = JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
        lines.send(done).await.expect("it waits for the other");
        lines.close().await.expect("it is closed");
        let mut said = String::new();
        client.read_to_string(&mut said).await.expect("text");
        let answers: Value = serde_json::from_str(&said).expect("one line of JSON");
        assert!(answers[0]["id"] == 1 && answers[0]["result"].is_object(), "{answers}");
        assert!(
            answers[1]["id"] == 2 && answers[1]["error"]["code"] == INTERNAL_ERROR,
            "{answers}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn r2_a_client_that_reads_no_more_does_not_hold_the_end_of_its_connection() {
        let (output, _unread) = tokio::io::duplex(8);
        let mut lines = LineTransport::new(tokio::io::empty(), output);
        let done = JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
        let writing = tokio::spawn(lines.send(done));
        tokio::task::yield_now().await;
        assert!(lines.output.try_lock().is_err(), "the answer is written, and nobody reads it");
        let begun = Instant::now();
        let closed = tokio::time::timeout(10 * LAST_WORDS_WAIT, lines.close()).await;
        closed.expect("it waits no longer").expect("it is closed");
        assert!(begun.elapsed() < 2 * LAST_WORDS_WAIT, "{:?}", begun.elapsed());
        writing.abort();
    }
}
