//! What goes out over one connection: whole messages, one after the other, whoever of the
//! connection's tasks has something to say. Not here: what is said.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::{Sink, SinkExt as _};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Utf8Bytes};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

/// Bytes of text in one frame. A longer message goes out in several (RFC 6455, 5.4), which whoever
/// receives it joins: each connection keeps a buffer as large as the largest frame that it ever
/// sent, and most are idle (Q18).
const FRAME_TEXT_BYTES: usize = 2 << 10;
/// How long a message may wait for a client that does not read.
const SEND_WAIT: Duration = Duration::from_secs(30);
/// How long an end may take to be told.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// Why a connection ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum CloseReason {
    /// The client has gone: there is nobody to tell.
    Gone,
    /// Code and words for the client.
    Told(CloseCode, &'static str),
}

/// The outgoing half of a connection. Who has nothing to do with each other's messages sends over it
/// side by side: each goes out whole, in the order in which they were begun.
pub(super) struct SocketWriter<S>(Mutex<OutgoingMessages<S>>);

struct OutgoingMessages<S> {
    sink: S,
    /// What of the message under way has not gone out.
    rest: Bytes,
    /// Some of it has.
    is_begun: bool,
    /// Why nothing goes out any more: whoever waits for a turn is told at once.
    failed: Option<CloseReason>,
}

impl<S> SocketWriter<S>
where
    S: Sink<Message, Error = SocketError> + Unpin,
{
    pub(super) fn new(sink: S) -> SocketWriter<S> {
        SocketWriter(Mutex::new(OutgoingMessages {
            sink,
            rest: Bytes::new(),
            is_begun: false,
            failed: None,
        }))
    }

    /// Sends a message, and waits for a client that is slow: what is streamed meanwhile is joined
    /// where it comes from, and no session waits for it. Whoever gives up waiting takes nothing
    /// back: the next message goes out after the rest of this one.
    ///
    /// # Errors
    /// Why the connection ends: the client has gone, or reads nothing.
    pub(super) async fn send_text(&self, text: String) -> Result<(), CloseReason> {
        self.0.lock().await.send_in_time(text).await
    }

    /// The same, unless `is_over` by the time that it has its turn; whether it was sent. So that
    /// nothing of a subscription comes after the word that it has ended.
    ///
    /// # Errors
    /// As [`SocketWriter::send_text`].
    pub(super) async fn send_unless(
        &self,
        is_over: &AtomicBool,
        text: String,
    ) -> Result<bool, CloseReason> {
        let mut outgoing = self.0.lock().await;
        if is_over.load(Ordering::Acquire) {
            return Ok(false);
        }
        outgoing.send_in_time(text).await.map(|()| true)
    }

    /// Asks the other side whether it is there. It may come between the frames of a message.
    ///
    /// # Errors
    /// As [`SocketWriter::send_text`].
    pub(super) async fn send_ping(&self) -> Result<(), CloseReason> {
        let mut outgoing = self.0.lock().await;
        if let Some(reason) = outgoing.failed {
            return Err(reason);
        }
        let sent = in_time(outgoing.sink.send(Message::Ping(Bytes::new()))).await;
        outgoing.failed = sent.as_ref().err().copied();
        sent
    }

    /// Says why the connection ends, to a client that still reads.
    pub(super) async fn close(&self, reason: CloseReason) {
        let CloseReason::Told(code, words) = reason else { return };
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(words) };
        let said = async {
            let mut outgoing = self.0.lock().await;
            // A client that is gone is told nothing.
            let _ = outgoing.sink.send(Message::Close(Some(frame))).await;
            let _ = outgoing.sink.close().await;
        };
        let _ = timeout(CLOSE_WAIT, said).await;
    }
}

async fn in_time(sent: impl Future<Output = Result<(), SocketError>>) -> Result<(), CloseReason> {
    let mut sent = pin!(sent);
    // Most of what is sent goes out at once: no timer is made for a token that waits for nobody (Q19).
    if let Poll::Ready(sent) = futures::poll!(&mut sent) {
        return sent.map_err(|_| CloseReason::Gone);
    }
    match timeout(SEND_WAIT, sent).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(CloseReason::Gone),
        Err(_) => Err(CloseReason::Told(CloseCode::Policy, "you read nothing")),
    }
}

impl<S> OutgoingMessages<S>
where
    S: Sink<Message, Error = SocketError> + Unpin,
{
    async fn send_in_time(&mut self, text: String) -> Result<(), CloseReason> {
        if let Some(reason) = self.failed {
            return Err(reason);
        }
        let sent = in_time(self.send_text(text)).await;
        self.failed = sent.as_ref().err().copied();
        sent
    }

    async fn send_text(&mut self, text: String) -> Result<(), SocketError> {
        self.send_rest().await?;
        self.rest = Bytes::from(text);
        self.is_begun = false;
        self.send_rest().await
    }

    /// Sends what is left of the message under way. Giving up in the middle loses none of it.
    async fn send_rest(&mut self) -> Result<(), SocketError> {
        while !self.rest.is_empty() {
            poll_fn(|cx| self.sink.poll_ready_unpin(cx)).await?;
            let frame = next_frame(&mut self.rest, self.is_begun);
            self.is_begun = true;
            self.sink.start_send_unpin(Message::Frame(frame))?;
            self.sink.flush().await?;
        }
        Ok(())
    }
}

/// Cuts the next frame off a text, between two characters. `is_begun`: frames of it went before.
fn next_frame(rest: &mut Bytes, is_begun: bool) -> Frame {
    let is_inside = |at: usize| rest.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let mut end = rest.len().min(FRAME_TEXT_BYTES);
    while end > 0 && is_inside(end) {
        end -= 1;
    }
    let text = rest.split_to(end);
    let code = if is_begun { Data::Continue } else { Data::Text };
    Frame::message(text, OpCode::Data(code), rest.is_empty())
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use futures::stream::SplitSink;
    use tokio::io::DuplexStream;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

    use super::*;

    type Socket = WebSocketStream<DuplexStream>;

    /// Both ends of a connection on which so many bytes fit.
    async fn connected(bytes: usize) -> (SocketWriter<SplitSink<Socket, Message>>, Socket) {
        let (near, far) = tokio::io::duplex(bytes);
        let config = WebSocketConfig::default().write_buffer_size(0);
        let server = WebSocketStream::from_raw_socket(near, Role::Server, Some(config)).await;
        let client = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        (SocketWriter::new(server.split().0), client)
    }

    async fn next_text(client: &mut Socket) -> String {
        let message = client.next().await.expect("it is open").expect("a message");
        message.into_text().expect("text").as_str().to_owned()
    }

    #[test]
    fn q18_a_long_message_is_cut_between_characters_into_small_frames() {
        for text in ["x".repeat(FRAME_TEXT_BYTES), "aä€🦓".repeat(2_000), "{}".to_owned()] {
            let mut rest = Bytes::from(text.clone());
            let mut joined = String::new();
            while !rest.is_empty() {
                let frame = next_frame(&mut rest, !joined.is_empty());
                assert!(frame.payload().len() <= FRAME_TEXT_BYTES);
                let code = if joined.is_empty() { Data::Text } else { Data::Continue };
                assert_eq!(frame.header().opcode, OpCode::Data(code));
                assert_eq!(frame.header().is_final, rest.is_empty());
                joined.push_str(frame.to_text().expect("whole characters"));
            }
            assert_eq!(joined, text);
        }
    }

    #[tokio::test]
    async fn s3_a_message_that_nobody_waits_for_any_more_arrives_whole_before_the_next() {
        let (writer, mut client) = connected(1_000).await;
        let long = "aä€🦓".repeat(4_000);
        {
            let mut given_up = std::pin::pin!(writer.send_text(long.clone()));
            assert!(futures::poll!(&mut given_up).is_pending(), "it does not fit");
        }
        let over = AtomicBool::new(true);
        let open = AtomicBool::new(false);
        let sent = async {
            assert!(matches!(writer.send_unless(&over, "late".to_owned()).await, Ok(false)));
            assert!(matches!(writer.send_unless(&open, "next".to_owned()).await, Ok(true)));
            writer.send_ping().await.is_ok()
        };
        let heard = async {
            let told = [next_text(&mut client).await, next_text(&mut client).await];
            (told, client.next().await)
        };
        let (sent, (told, ping)) = tokio::join!(sent, heard);
        assert!(sent);
        assert_eq!(told, [long, "next".to_owned()]);
        assert!(matches!(ping, Some(Ok(Message::Ping(_)))), "{ping:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn s3_a_client_that_reads_nothing_is_not_waited_for_without_end() {
        let (writer, client) = connected(1_000).await;
        let ended = writer.send_text("x".repeat(100_000)).await;
        assert!(matches!(ended, Err(CloseReason::Told(CloseCode::Policy, "you read nothing"))));
        // Nor for its goodbye.
        writer.close(CloseReason::Told(CloseCode::Away, "over")).await;
        drop(client);
        assert!(writer.send_text("x".to_owned()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn s3_all_who_send_to_a_client_that_reads_nothing_end_together() {
        let (writer, client) = connected(1_000).await;
        let began = tokio::time::Instant::now();
        let long = || writer.send_text("x".repeat(100_000));
        let (first, second, ping) = tokio::join!(long(), long(), writer.send_ping());
        assert!(first.is_err() && second.is_err() && ping.is_err());
        assert!(began.elapsed() < SEND_WAIT * 2, "{:?}", began.elapsed());
        drop(client);
    }
}
