//! A server that remembers every byte that reached it, connection by connection.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `hello` to every request, after a moment in which more could come.
    Http,
    /// What it hears.
    Echo,
    /// It speaks first.
    Greets,
    /// Nothing.
    Silent,
}

type Heard = Arc<Mutex<Vec<Vec<u8>>>>;

pub(crate) struct Witness {
    port: u16,
    heard: Heard,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Witness {
    pub(crate) async fn start(manner: Manner) -> Witness {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        let all = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let at = {
                    let mut all = all.lock().unwrap();
                    all.push(Vec::new());
                    all.len() - 1
                };
                open.spawn(answer(stream, manner, Arc::clone(&all), at));
            }
        });
        Witness { port, heard, task }
    }
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
    pub(crate) fn heard_bytes(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }
    pub(crate) fn heard(&self) -> Vec<String> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        self.heard_bytes().into_iter().map(text).collect()
    }
}

async fn answer(mut stream: TcpStream, manner: Manner, all: Heard, at: usize) {
    if manner == Manner::Greets {
        let _ = stream.write_all(b"220 ready\r\n").await;
    }
    let mut piece = [0_u8; 4096];
    loop {
        let patience = match manner {
            // Long enough for what a proxy could send after the first request.
            Manner::Http => std::time::Duration::from_millis(50),
            Manner::Echo | Manner::Greets | Manner::Silent => std::time::Duration::from_secs(60),
        };
        match tokio::time::timeout(patience, stream.read(&mut piece)).await {
            Ok(Ok(count)) if count > 0 => {
                all.lock().unwrap()[at].extend_from_slice(&piece[..count]);
                if manner == Manner::Echo && stream.write_all(&piece[..count]).await.is_err() {
                    return;
                }
            }
            Ok(_) => return,
            Err(_) if all.lock().unwrap()[at].is_empty() => {}
            Err(_) => break,
        }
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    let _ = stream.shutdown().await;
}
