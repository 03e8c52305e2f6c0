//! A model over HTTP that answers at once and notes when: the Anthropic dialect, as much of HTTP/1.1
//! as one client needs. It notes the first byte of each request, which no other server would tell.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// What the model does for its n-th request, counted from 0.
pub(super) type Script = Arc<dyn Fn(usize) -> Reply + Send + Sync>;

/// One reply.
pub(super) enum Reply {
    /// Text, and the run ends.
    Text(String),
    /// A call of `read_file`.
    Read(String),
    /// Calls of any tools.
    Calls(Vec<(&'static str, Value)>),
}

/// A request and its answer.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) first_byte: Instant,
    /// Just before the reply was handed to the kernel.
    pub(super) answered: Instant,
    pub(super) body: Vec<u8>,
}

/// The server; it ends when it is dropped.
pub(super) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Script,
    count: AtomicUsize,
    over: AtomicBool,
    /// `None`: they are not noted, since those of a long session fill the memory.
    exchanges: Option<Mutex<Vec<Exchange>>>,
}

impl Model {
    /// Listens on a free port.
    ///
    /// # Errors
    /// There is no port.
    pub(super) fn start(script: Script) -> io::Result<Model> {
        Model::listen(script, Some(Mutex::default()))
    }

    /// The same, and nothing of what was asked is kept.
    ///
    /// # Errors
    /// There is no port.
    pub(super) fn start_forgetful(script: Script) -> io::Result<Model> {
        Model::listen(script, None)
    }

    fn listen(script: Script, exchanges: Option<Mutex<Vec<Exchange>>>) -> io::Result<Model> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            count: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            exchanges,
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if own.over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&own);
                // A connection ends with its client; what went wrong shows in the run.
                thread::spawn(move || drop(shared.talk(stream)));
            }
        });
        Ok(Model { address, shared })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far, where it is noted.
    pub(super) fn exchanges(&self) -> Vec<Exchange> {
        let Some(exchanges) = &self.shared.exchanges else { return Vec::new() };
        exchanges.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the listener; when that fails it is gone already.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn talk(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut received = Vec::new();
        loop {
            let Some((first_byte, body)) = request(&mut stream, &mut received)? else {
                return Ok(());
            };
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            let events = events(number, &(self.script)(number));
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n\
                 {events}",
                events.len()
            );
            if let Some(exchanges) = &self.exchanges {
                let exchange = Exchange { first_byte, answered: Instant::now(), body };
                exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
            }
            stream.write_all(reply.as_bytes())?;
        }
    }
}

/// Reads one request: when its first byte came, and its body. `None` at the end of the connection.
pub(super) fn request(
    stream: &mut TcpStream,
    received: &mut Vec<u8>,
) -> io::Result<Option<(Instant, Vec<u8>)>> {
    let mut chunk = vec![0; 64 * 1024];
    let mut first_byte = (!received.is_empty()).then(Instant::now);
    loop {
        if let Some(head) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let length = content_length(&received[..head]);
            let whole = head + 4 + length;
            while received.len() < whole {
                let read = stream.read(&mut chunk)?;
                if read == 0 {
                    return Ok(None);
                }
                received.extend_from_slice(&chunk[..read]);
            }
            let body = received[head + 4..whole].to_vec();
            received.drain(..whole);
            return Ok(first_byte.map(|at| (at, body)));
        }
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(None);
        }
        first_byte = first_byte.or_else(|| Some(Instant::now()));
        received.extend_from_slice(&chunk[..read]);
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// A block of a reply, and what fills it.
struct StreamedBlock {
    start: Value,
    delta: Value,
}

impl StreamedBlock {
    fn call(id: &str, name: &str, input: &Value) -> StreamedBlock {
        StreamedBlock {
            start: json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            delta: json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        }
    }
}

/// A reply as the vendor streams it.
fn events(number: usize, reply: &Reply) -> String {
    let id = |at: usize| format!("toolu_bench_{number}_{at}");
    let (blocks, stop) = match reply {
        Reply::Text(text) => {
            let start = json!({"type": "text", "text": ""});
            let delta = json!({"type": "text_delta", "text": text});
            (vec![StreamedBlock { start, delta }], "end_turn")
        }
        Reply::Read(path) => {
            (vec![StreamedBlock::call(&id(0), "read_file", &json!({ "path": path }))], "tool_use")
        }
        Reply::Calls(calls) => {
            let calls = calls.iter().enumerate();
            let blocks = calls.map(|(at, (name, input))| StreamedBlock::call(&id(at), name, input));
            (blocks.collect(), "tool_use")
        }
    };
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": format!("msg_bench_{number}"), "type": "message", "role": "assistant",
        "model": "bench", "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 1}}})];
    for (at, StreamedBlock { start, delta }) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": at, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": at, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": at}));
    }
    events.push(json!({"type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 20}}));
    events.push(json!({"type": "message_stop"}));
    let lines = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_on_one_connection_are_noted() {
        let script: Script = Arc::new(|number| Reply::Text(format!("answer {number}")));
        let model = Model::start(script).expect("a port");
        let mut stream = TcpStream::connect(model.address).expect("it listens");
        for number in 0..2 {
            let body = format!("{{\"n\":{number}}}");
            let head =
                format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
            let mut text = String::new();
            let mut chunk = [0; 4096];
            while !text.contains("message_stop\"}") {
                let read = stream.read(&mut chunk).expect("it answers");
                assert!(read > 0, "the connection stays open");
                text.push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
            assert!(text.contains(&format!("answer {number}")), "{text}");
        }
        let exchanges = model.exchanges();
        assert_eq!(exchanges.len(), 2);
        assert_eq!(exchanges[1].body, b"{\"n\":1}");
        assert!(exchanges[0].answered >= exchanges[0].first_byte);
    }
}
