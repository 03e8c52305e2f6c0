//! A small HTTP server on the loopback address that answers by path.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    /// Heads of all requests, in lower case.
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            let mut answers = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                answers.spawn(answer(stream, at.port(), Arc::clone(&kept)));
            }
        });
        Server { at, connections, requests, task }
    }
    /// How many requests contained `text`.
    pub(crate) fn with(&self, text: &str) -> usize {
        let text = text.to_lowercase();
        self.requests.lock().unwrap().iter().filter(|request| request.contains(&text)).count()
    }
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }
}

async fn answer(mut stream: TcpStream, port: u16, requests: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut piece = [0_u8; 1024];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(n) if n > 0 => request.extend_from_slice(&piece[..n]),
            _ => return,
        }
        // A TLS client: this server speaks none.
        if request.first() == Some(&0x16) {
            let _ = stream.write_all(b"HTTP/1.1 400 x\r\n\r\n").await;
            return;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    requests.lock().unwrap().push(request.to_lowercase());
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let to = |location: &str| head(302, &[("location", location)], 0);
    let reply = match path.as_str() {
        "/plain" => body(&[("content-type", "Text/Plain; Charset=\"UTF-8\"")], b"hello"),
        "/echo" => body(&[], request.as_bytes()),
        "/missing" => [head(404, &[], 4), b"gone".to_vec()].concat(),
        "/big" => body(&[], &vec![b'x'; 1_000_000]),
        "/bomb" => body(&[("content-encoding", "gzip")], &bomb(100_000_000)),
        "/cut" => [head(200, &[], 1000), b"only this".to_vec()].concat(),
        "/here" => to("/plain"),
        "/round" => to("/round"),
        "/away" => to("http://elsewhere.example/x"),
        "/port" => to("http://127.0.0.1:8/x"),
        "/inside" => to("http://169.254.169.254/latest/meta-data/"),
        "/scheme" => to("file:///etc/passwd"),
        "/named" => to(&format!("http://site.test:{port}/plain")),
        "/to-echo" => to("/echo"),
        "/to-other" => to(&format!("http://other.test:{port}/echo")),
        "/to-sub" => to(&format!("http://sub.site.test:{port}/echo")),
        "/to-secure" => to("https://site.test/echo"),
        "/tell" => {
            let value = request.split("Bearer ").nth(1).and_then(|rest| rest.split('\r').next());
            to(&format!("http://elsewhere.example/?{}", value.unwrap_or_default()))
        }
        "/silent" => {
            std::future::pending::<()>().await;
            return;
        }
        _ => body(&[], b""),
    };
    let _ = stream.write_all(&reply).await;
    let _ = stream.shutdown().await;
}

fn head(status: u16, headers: &[(&str, &str)], length: usize) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("connection: close\r\n\r\n");
    text.into_bytes()
}

fn body(headers: &[(&str, &str)], bytes: &[u8]) -> Vec<u8> {
    [head(200, headers, bytes.len()), bytes.to_vec()].concat()
}

/// A gzip stream of `size` zeros: one literal, then matches of 258 bytes, 13 bits each.
fn bomb(size: usize) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], used: 8 };
    bits.put(0b1, 1); // the last block
    bits.put(0b01, 2); // with the fixed code
    bits.code(0x30, 8); // literal 0
    for _ in 0..size / 258 {
        bits.code(0b1100_0101, 8); // length 258
        bits.code(0, 5); // distance 1
    }
    bits.code(0, 7); // end of block
    bits.bytes
}

struct Bits {
    bytes: Vec<u8>,
    /// Bits used of the last byte.
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for i in 0..count {
            if self.used == 8 {
                self.bytes.push(0);
                self.used = 0;
            }
            let bit = u8::try_from((value >> i) & 1).unwrap();
            *self.bytes.last_mut().unwrap() |= bit << self.used;
            self.used += 1;
        }
    }
    /// Code words come with their first bit first.
    fn code(&mut self, value: u32, count: u32) {
        for i in (0..count).rev() {
            self.put((value >> i) & 1, 1);
        }
    }
}
