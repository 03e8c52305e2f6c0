//! Witnesses: servers on loopback that keep every byte that reaches them. What they saw decides
//! whether a goal was reached; what the engine says about itself does not.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes of one connection that are looked at.
const BYTES_MAX: usize = 64 * 1024;
/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_millis(300);

/// A port of this machine at which nobody listens now: another one each time. Below those that the
/// system gives out by itself, so that nobody takes it before the program for which it is.
///
/// # Errors
/// There is no free port.
pub(crate) fn free_port() -> std::io::Result<u16> {
    const FIRST: u32 = 15_000;
    const COUNT: u32 = 15_000;
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    let from = std::process::id().wrapping_mul(37).wrapping_add(asked);
    let ports = (0..COUNT).map(|n| FIRST + from.wrapping_add(n) % COUNT);
    let mut ports = ports.filter_map(|port| u16::try_from(port).ok());
    ports
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .ok_or_else(|| std::io::Error::other("no port of this machine is free"))
}

/// What a witness answers.
pub(crate) type Answer = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

#[derive(Default)]
struct Kept {
    seen: Mutex<String>,
    ended: AtomicBool,
}

/// A server that remembers.
pub struct Witness {
    kept: Arc<Kept>,
    port: u16,
    thread: Option<JoinHandle<()>>,
}

impl Witness {
    /// A web server: `answer` is given the path and gives head and body; by default a short page.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) fn http(answer: Answer) -> std::io::Result<Witness> {
        Witness::http_with(|_| answer)
    }

    /// The same for an answer that names its own port.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) fn http_with(answer: impl FnOnce(u16) -> Answer) -> std::io::Result<Witness> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let answer = answer(port);
        let kept = Arc::new(Kept::default());
        let shared = kept.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.ended.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, answer) = (shared.clone(), answer.clone());
                // A silent visitor must not hide the next one.
                std::thread::spawn(move || serve(stream, &shared, &answer));
            }
        });
        Ok(Witness { kept, port, thread: Some(thread) })
    }

    /// A socket for datagrams, as name servers have one.
    ///
    /// # Errors
    /// There is no free port.
    pub fn datagrams() -> std::io::Result<Witness> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = socket.local_addr()?.port();
        let kept = Arc::new(Kept::default());
        let shared = kept.clone();
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while let Ok((count, _)) = socket.recv_from(&mut bytes) {
                if shared.ended.load(Ordering::SeqCst) {
                    return;
                }
                note(&shared, &bytes[..count]);
            }
        });
        Ok(Witness { kept, port, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything that has come so far.
    pub fn seen(&self) -> String {
        self.kept.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what has come.
    pub fn forget(&self) {
        self.kept.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.kept.ended.store(true, Ordering::SeqCst);
        // Both kinds wake by a visit.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
            let _ = socket.send_to(&[0], (Ipv4Addr::LOCALHOST, self.port));
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn note(kept: &Kept, bytes: &[u8]) {
    let mut seen = kept.seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.push_str(&String::from_utf8_lossy(bytes));
    seen.push('\n');
}

fn serve(mut stream: TcpStream, kept: &Kept, answer: &Answer) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < BYTES_MAX && !is_whole(&bytes) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    // A visit without a word is a visit.
    note(kept, if bytes.is_empty() { b"(connected)" } else { &bytes });
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/");
    let text = answer(path).unwrap_or_else(|| page("text/plain", "nothing here"));
    let _ = stream.write_all(text.as_bytes());
}

/// Whether a request has come to its end, body included. What is no request ends by itself.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let body = &bytes[end + 4..];
    match length.and_then(|length| length.trim().parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => !head.contains("transfer-encoding: chunked") || body.ends_with(b"0\r\n\r\n"),
    }
}

/// A whole answer with this body.
pub(crate) fn page(media_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{body}",
        body.len()
    )
}

/// A whole answer that points elsewhere.
pub(crate) fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}
