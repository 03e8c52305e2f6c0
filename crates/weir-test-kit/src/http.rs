//! A server of a test's own that stands in for one of the world: it answers as it is told, and
//! remembers what it was asked. Not here: what a vendor says on the wire (`weir-scripted-model`).

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::wait::PATIENCE;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// Its first line and its headers.
    pub head: String,
    /// What came with it.
    pub body: String,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// As in `200`.
    pub status: u16,
    /// More headers than the length: names and values.
    pub headers: Vec<(&'static str, String)>,
    /// What goes with it.
    pub body: String,
}

/// A server that listens until the tests of this process end.
pub struct HttpStandIn {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<HttpRequest>>>,
}

impl HttpRequest {
    /// The address that was asked for, as its first line has it.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// All of it.
    pub fn text(&self) -> String {
        format!("{}\r\n\r\n{}", self.head, self.body)
    }
}

impl HttpAnswer {
    /// An answer of this media type.
    pub fn new(status: u16, media: &str, body: impl Into<String>) -> HttpAnswer {
        let headers = vec![("content-type", media.to_owned())];
        HttpAnswer { status, headers, body: body.into() }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: &Value) -> HttpAnswer {
        HttpAnswer::new(status, "application/json", body.to_string())
    }

    /// Nothing but a status.
    pub fn empty(status: u16) -> HttpAnswer {
        HttpAnswer { status, headers: Vec::new(), body: String::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} x\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = self.body.len();
        format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n{}", self.body).into()
    }
}

impl HttpStandIn {
    /// Starts it. `answer` is told the request, and how many came before it.
    pub fn start(
        answer: impl Fn(&HttpRequest, usize) -> HttpAnswer + Send + Sync + 'static,
    ) -> HttpStandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let heard: Arc<Mutex<Vec<HttpRequest>>> = Arc::default();
        let (kept, answer) = (heard.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                std::thread::spawn(move || serve_one(stream, &kept, &*answer));
            }
        });
        HttpStandIn { address, heard }
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it was asked until now, in order.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve_one(
    mut stream: TcpStream,
    heard: &Mutex<Vec<HttpRequest>>,
    answer: &dyn Fn(&HttpRequest, usize) -> HttpAnswer,
) {
    let Some(request) = read_request(&mut stream) else { return };
    // Before the answer: whoever has that looks at what was heard.
    let before = {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(request.clone());
        heard.len() - 1
    };
    // Whoever asked may be gone already.
    let _ = stream.write_all(&answer(&request, before).bytes());
}

/// A whole request; `None`: the other side went before it was there.
fn read_request(stream: &mut TcpStream) -> Option<HttpRequest> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(HttpRequest { head: head.to_owned(), body: body.to_owned() });
            }
        }
        match stream.read(&mut part) {
            Ok(count @ 1..) => bytes.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
}
