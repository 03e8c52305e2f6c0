//! A model that writes at a fixed pace, and writes the time into what it says: each token is the
//! moment at which it left. One thread writes the tokens of all streams (`pace`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::pace::{self, PacedStream};

/// Digits of a token: microseconds since 1970.
pub(super) const DIGITS: usize = 16;

/// Moments between two tokens at which streams begin.
const STEPS: usize = 997;

/// The model, for as long as it is kept.
pub(super) struct PacedModel {
    /// `127.0.0.1:PORT`.
    pub(super) address: String,
    /// Requests that came.
    pub(super) asked: Arc<AtomicUsize>,
    may_write: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// How a model writes.
#[derive(Clone)]
struct Pace {
    /// Tokens a second.
    rate: u32,
    seconds: u32,
    /// Whether it may write: until then it has answered and thinks.
    may_write: watch::Receiver<bool>,
    /// Who writes its tokens.
    writer: Sender<PacedStream>,
}

impl Drop for PacedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Microseconds since 1970.
pub(super) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

impl PacedModel {
    /// Listens on any port.
    pub(super) async fn start(rate: u32, seconds: u32) -> anyhow::Result<PacedModel> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let may_write = watch::Sender::new(false);
        let writer = pace::start_writer(Duration::from_secs(1) / rate)?;
        let pace = Pace { rate, seconds, may_write: may_write.subscribe(), writer };
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (counter, pace) = (counter.clone(), pace.clone());
                // A request that breaks off is a server that was killed.
                tokio::spawn(async move {
                    let _ended = talk(stream, &counter, pace).await;
                });
            }
        });
        Ok(PacedModel { address, asked, may_write, task })
    }

    /// Lets all who asked, and whoever asks from now on, be written to.
    pub(super) fn begin_writing(&self) {
        self.may_write.send_replace(true);
    }

    /// Whoever asks from now on waits again.
    pub(super) fn hold_writing(&self) {
        self.may_write.send_replace(false);
    }
}

async fn talk(mut stream: TcpStream, asked: &AtomicUsize, mut pace: Pace) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let Pace { rate, seconds, .. } = pace;
    let tokens = rate * seconds;
    let between = Duration::from_secs(1) / rate;
    loop {
        read_request(&mut stream).await?;
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        let message = json!({ "id": "m", "type": "message", "role": "assistant", "model": "bench",
            "content": [], "stop_reason": null,
            "usage": { "input_tokens": 10, "output_tokens": 0 } });
        event(&mut stream, &json!({ "type": "message_start", "message": message })).await?;
        let block = json!({ "type": "text", "text": "" });
        let begin = json!({ "type": "content_block_start", "index": 0, "content_block": block });
        event(&mut stream, &begin).await?;
        pace.may_write.wait_for(|may| *may).await?;
        // Models do not write in step.
        let after = between.mul_f64((number % STEPS) as f64 / STEPS as f64);
        let (done, written) = oneshot::channel();
        let own = stream.into_std()?;
        own.set_nonblocking(false)?;
        let paced = PacedStream { stream: own, left: tokens, due: Instant::now() + after, done };
        pace.writer.send(paced).ok().context("nobody writes")?;
        let own = written.await.context("the stream broke")?;
        own.set_nonblocking(true)?;
        stream = TcpStream::from_std(own)?;
        event(&mut stream, &json!({ "type": "content_block_stop", "index": 0 })).await?;
        let usage = json!({ "output_tokens": tokens });
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": usage });
        event(&mut stream, &end).await?;
        event(&mut stream, &json!({ "type": "message_stop" })).await?;
        stream.write_all(b"0\r\n\r\n").await?;
    }
}

async fn event(stream: &mut TcpStream, data: &Value) -> anyhow::Result<()> {
    let kind = data["type"].as_str().unwrap_or_default();
    let text = format!("event: {kind}\ndata: {data}\n\n");
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    let head = loop {
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "closed");
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.context("a length")?.trim().parse()?;
    while bytes.len() < head + length {
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "closed");
    }
    Ok(())
}
