//! Tokens of many streams, each written when it is due, by one thread: what a model costs here is taken from the
//! cores that the server is measured on. Not here: who streams, and what stands around the tokens (`model`).

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::model::{DIGITS, now_us};

/// How exactly tokens are due: what is due within such a step is written together.
const STEP: Duration = Duration::from_millis(1);
/// A token that is later than this puts off those after it: no model writes in heaps to make up for it.
const LATE: Duration = Duration::from_millis(5);

/// A stream that is written to from now on.
pub(super) struct PacedStream {
    pub(super) stream: TcpStream,
    /// Tokens that are to come.
    pub(super) left: u32,
    /// When the next one is due.
    pub(super) due: Instant,
    /// Gets the stream back after the last one; dropped when it broke.
    pub(super) done: oneshot::Sender<TcpStream>,
}

/// Starts the thread; it ends with the last sender.
pub(super) fn start_writer(between: Duration) -> io::Result<Sender<PacedStream>> {
    let (sender, begun) = channel();
    thread::Builder::new()
        .name("model".to_owned())
        .spawn(move || write_streams(&begun, between))?;
    Ok(sender)
}

fn write_streams(begun: &Receiver<PacedStream>, between: Duration) {
    let mut waiting: VecDeque<PacedStream> = VecDeque::new();
    let mut token = TokenChunk::new();
    loop {
        if waiting.is_empty() {
            let Ok(first) = begun.recv() else { return };
            waiting.push_back(first);
        }
        loop {
            match begun.try_recv() {
                Ok(stream) => put_in_order(&mut waiting, stream),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let now = Instant::now();
        while waiting.front().is_some_and(|stream| stream.due <= now) {
            let Some(mut stream) = waiting.pop_front() else { break };
            // One that broke is a server that was killed.
            if stream.stream.write_all(token.at(now_us())).is_err() {
                continue;
            }
            stream.left = stream.left.saturating_sub(1);
            if stream.left == 0 {
                // Who waited for it may be gone.
                let _ = stream.done.send(stream.stream);
                continue;
            }
            stream.due = next_due(stream.due, now, between);
            put_in_order(&mut waiting, stream);
        }
        thread::sleep(STEP);
    }
}

fn next_due(due: Instant, now: Instant, between: Duration) -> Instant {
    if now.duration_since(due) > LATE { now + between } else { due + between }
}

/// The one that is due first stands first. Most are put at the end.
fn put_in_order(waiting: &mut VecDeque<PacedStream>, stream: PacedStream) {
    let at = waiting.partition_point(|other| other.due <= stream.due);
    waiting.insert(at, stream);
}

/// The chunk of one token. Written by hand: the load must not cost what is to be measured.
struct TokenChunk {
    bytes: Vec<u8>,
    /// Where its digits stand.
    digits: usize,
}

impl TokenChunk {
    fn new() -> TokenChunk {
        let head = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                    \"delta\":{\"type\":\"text_delta\",\"text\":\"T";
        let zeros = "0".repeat(DIGITS);
        let event = format!("{head}{zeros};\"}}}}\n\n");
        let length = format!("{:x}\r\n", event.len());
        let digits = length.len() + head.len();
        TokenChunk { bytes: format!("{length}{event}\r\n").into_bytes(), digits }
    }

    /// The bytes of the one that left at this microsecond.
    fn at(&mut self, us: u64) -> &[u8] {
        let mut rest = us;
        for digit in self.bytes[self.digits..self.digits + DIGITS].iter_mut().rev() {
            *digit = b"0123456789"[(rest % 10) as usize];
            rest /= 10;
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q19_a_token_of_the_bench_is_the_moment_at_which_it_left() {
        let mut token = TokenChunk::new();
        token.at(u64::MAX);
        let text = String::from_utf8(token.at(1_234_567_890_123_456).to_vec()).expect("ASCII");
        let event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                     \"delta\":{\"type\":\"text_delta\",\"text\":\"T1234567890123456;\"}}\n\n";
        assert_eq!(text, format!("{:x}\r\n{event}\r\n", event.len()));
    }

    #[test]
    fn q19_a_model_of_the_bench_keeps_its_pace_and_makes_up_for_nothing() {
        let (due, between) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(next_due(due, due + STEP, between), due + between);
        let late = due + LATE * 2;
        assert_eq!(next_due(due, late, between), late + between);
    }
}
