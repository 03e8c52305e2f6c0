//! The standard streams of a server as a transport: a message a line, bounded. Not here: who starts
//! the process, what the messages mean.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, watch};

/// Longest message of a server.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// Where an answer says what it is.
const HEAD_BYTES: usize = 200;

/// What went wrong with what a server sends, so that calls that wait need not wait in vain. Counts
/// up with each trouble.
#[derive(Debug, Clone)]
pub(crate) struct ProtocolErrors {
    said: Arc<watch::Sender<(u64, String)>>,
}

impl Default for ProtocolErrors {
    fn default() -> ProtocolErrors {
        ProtocolErrors { said: Arc::new(watch::Sender::new((0, String::new()))) }
    }
}

impl ProtocolErrors {
    fn report_error(&self, why: String) {
        tracing::debug!(why, "a message of a server was dropped");
        self.said.send_modify(|said| *said = (said.0 + 1, why));
    }

    /// What comes from now on.
    pub(crate) fn subscribe_errors(&self) -> watch::Receiver<(u64, String)> {
        self.said.subscribe()
    }
}

type ServerOutput = Box<dyn AsyncRead + Send + Sync + Unpin>;
type ServerInput = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Standard output and input of a server.
pub(crate) struct ServerStreams {
    output: BufReader<ServerOutput>,
    /// What was read of the line that is coming. Kept here because `receive` may be dropped while it
    /// waits.
    line: Vec<u8>,
    /// The line that is coming was too long already.
    skipping: bool,
    input: Arc<Mutex<Option<ServerInput>>>,
    trouble: ProtocolErrors,
}

enum LineStatus {
    Whole,
    TooLong,
    End,
}

impl ServerStreams {
    pub(crate) fn new(
        output: ServerOutput,
        input: ServerInput,
        trouble: ProtocolErrors,
    ) -> ServerStreams {
        ServerStreams {
            output: BufReader::with_capacity(64 << 10, output),
            line: Vec::new(),
            skipping: false,
            input: Arc::new(Mutex::new(Some(input))),
            trouble,
        }
    }

    async fn next_line(&mut self) -> LineStatus {
        loop {
            let Ok(bytes) = self.output.fill_buf().await else { return LineStatus::End };
            if bytes.is_empty() {
                return LineStatus::End;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(bytes.len(), |at| at + 1);
            let too_long = !self.skipping && self.line.len() + count > MESSAGE_BYTES_MAX;
            if too_long {
                self.line = Vec::new();
                self.skipping = true;
            } else if !self.skipping {
                self.line.extend_from_slice(&bytes[..count]);
            }
            self.output.consume(count);
            if end.is_some() && std::mem::take(&mut self.skipping) && !too_long {
                continue;
            }
            match (too_long, end) {
                (true, _) => return LineStatus::TooLong,
                (false, Some(_)) => return LineStatus::Whole,
                (false, None) => {}
            }
        }
    }
}

impl Transport<RoleClient> for ServerStreams {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = self.input.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let Some(input) = input.as_mut() else {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "the server has ended"));
            };
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.next_line().await {
                LineStatus::End => return None,
                LineStatus::TooLong => {
                    let max = MESSAGE_BYTES_MAX >> 20;
                    self.trouble.report_error(format!("it sent a message of more than {max} MiB"));
                }
                LineStatus::Whole => {
                    let line = std::mem::take(&mut self.line);
                    if let Some(message) = parse_message(&line, &self.trouble) {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A server ends when its input does.
        if let Some(mut input) = self.input.lock().await.take() {
            let _ = input.shutdown().await;
        }
        Ok(())
    }
}

/// The message on a line. What is none is dropped: many servers write words for people there. What
/// may have been an answer is told, since nothing else would end the wait for it.
fn parse_message(line: &[u8], trouble: &ProtocolErrors) -> Option<RxJsonRpcMessage<RoleClient>> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if !text.starts_with('{') {
        if !text.is_empty() {
            tracing::debug!(bytes = line.len(), "a server wrote something that is no message");
        }
        return None;
    }
    let error = match serde_json::from_str(text) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    // Lines of a log may be JSON too; only what may have been an answer is worth a word.
    let may_answer = match serde_json::from_str::<Value>(text) {
        Ok(value) => value.get("id").is_some() && value.get("method").is_none(),
        Err(_) => text.get(..text.len().min(HEAD_BYTES)).is_some_and(|t| t.contains("\"jsonrpc\"")),
    };
    if may_answer {
        let why = match error.to_string() {
            why if why.contains("recursion limit") => "it is nested too deeply".to_owned(),
            why if why.contains("did not match any variant") => "it has no known form".to_owned(),
            why => why,
        };
        trouble.report_error(format!("it sent a message that cannot be understood: {why}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use tokio::io::ReadBuf;

    use super::*;

    fn streams(bytes: Vec<u8>) -> ServerStreams {
        ServerStreams::new(
            Box::new(io::Cursor::new(bytes)),
            Box::new(tokio::io::sink()),
            ProtocolErrors::default(),
        )
    }

    #[tokio::test]
    async fn f4_what_is_no_message_is_passed_over() {
        let pong = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let mut bytes = b"Server running on stdio\n\n\xff\xfe\x00rubbish\n[1,2]\n".to_vec();
        bytes.extend(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":7}\r\n");
        bytes.extend(pong.as_bytes());
        bytes.extend(b"\n");
        let mut streams = streams(bytes);
        let said = streams.trouble.subscribe_errors();
        let mut count = 0;
        while let Some(message) = streams.receive().await {
            count += 1;
            let text = serde_json::to_string(&message).unwrap();
            if text.contains("result") {
                break;
            }
        }
        assert!(count >= 1);
        assert_eq!(said.borrow().0, 0, "{}", said.borrow().1);
    }

    #[tokio::test]
    async fn f4_invalid_utf8_inside_a_message_is_replaced() {
        let mut bytes = br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"#.to_vec();
        bytes.extend([0xff, 0xfe]);
        bytes.extend(b"b\"}}\n");
        let message = streams(bytes).receive().await.expect("it is a message");
        assert!(serde_json::to_string(&message).unwrap().contains("a\u{fffd}\u{fffd}b"));
    }

    #[tokio::test]
    async fn f4_an_answer_that_is_too_deep_is_told() {
        let mut line = br#"{"jsonrpc":"2.0","id":1,"result":"#.to_vec();
        line.extend(b"[".repeat(100_000));
        line.extend(b"]".repeat(100_000));
        line.extend(b"}\n");
        let mut streams = streams(line);
        let said = streams.trouble.subscribe_errors();
        assert!(streams.receive().await.is_none());
        assert!(said.borrow().1.contains("too deeply"), "{}", said.borrow().1);
    }

    /// A gigabyte without a line's end, then a message.
    struct Endless {
        left: usize,
        after: io::Cursor<Vec<u8>>,
        held_max: Arc<AtomicUsize>,
    }

    impl AsyncRead for Endless {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.left == 0 {
                return std::pin::Pin::new(&mut self.after).poll_read(cx, buf);
            }
            let count = buf.remaining().min(self.left);
            buf.initialize_unfilled_to(count).fill(b'x');
            buf.advance(count);
            self.left -= count;
            self.held_max.fetch_max(count, Ordering::Relaxed);
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn f4_a_gigabyte_without_a_line_end_is_not_held() {
        let after = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_vec();
        let source =
            Endless { left: 1 << 30, after: io::Cursor::new(after), held_max: Arc::default() };
        let mut streams = ServerStreams::new(
            Box::new(source),
            Box::new(tokio::io::sink()),
            ProtocolErrors::default(),
        );
        let said = streams.trouble.subscribe_errors();
        assert!(streams.receive().await.is_some(), "what follows is heard");
        assert_eq!(said.borrow().0, 1);
        assert!(said.borrow().1.contains("16 MiB"));
        assert!(streams.line.capacity() <= MESSAGE_BYTES_MAX);
    }
}
