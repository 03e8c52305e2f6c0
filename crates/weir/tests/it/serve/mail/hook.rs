//! An address that is called: answers with given statuses, and keeps what it was told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Listens until the test ends.
pub(crate) struct Hook {
    port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Hook {
    /// Answers the first call with the first status, and so on; the last one stays.
    pub(crate) fn start(statuses: &[u16]) -> Hook {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let (kept, statuses) = (calls.clone(), statuses.to_vec());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|n| n > 0)
                    && !head.ends_with("\r\n\r\n")
                {}
                let length = head.to_lowercase().lines().find_map(|line| {
                    line.strip_prefix("content-length: ").and_then(|n| n.trim().parse().ok())
                });
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).expect("the body");
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let status = statuses.get(kept.len()).or(statuses.last()).copied().unwrap_or(200);
                kept.push(Call { head, body: String::from_utf8_lossy(&body).into_owned() });
                drop(kept);
                let answer = format!(
                    "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                );
                // Whoever called may be gone already.
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Hook { port, calls }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// All calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
