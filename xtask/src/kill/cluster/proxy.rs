//! A line between a replica and its database that can be bad: slow, silent, cut, cut in the middle of a piece.
//! Nothing here knows the protocol; when the line is bad, `fault` says.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes that are carried at once.
const PIECE: usize = 16 * 1024;

/// What the line is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// How long each piece takes.
    pub(super) delay: Duration,
    /// Nothing arrives, and nobody is told.
    pub(super) is_silent: bool,
    /// How often all its connections were cut.
    pub(super) cuts: u64,
    /// How often the next piece of each connection was to be its last, and half of it.
    pub(super) halves: u64,
}

/// A proxy. Dropping it ends its connections.
pub(super) struct Proxy {
    /// Where it listens.
    pub(super) address: SocketAddr,
    line: watch::Sender<Line>,
    accepting: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.line.send_modify(|line| line.cuts += 1);
    }
}

impl Proxy {
    /// Listens on a port of this machine, for `upstream`: `HOST:PORT`.
    ///
    /// # Errors
    /// There is no port.
    pub(super) async fn listen(upstream: String) -> anyhow::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening as a proxy")?;
        let address = listener.local_addr()?;
        let (line, watched) = watch::channel(Line::default());
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(connect(near, upstream.clone(), watched.clone()));
            }
        });
        Ok(Proxy { address, line, accepting })
    }

    /// Changes what the line is like.
    pub(super) fn change(&self, change: impl FnOnce(&mut Line)) {
        self.line.send_modify(change);
    }
}

async fn connect(near: TcpStream, upstream: String, line: watch::Receiver<Line>) {
    // Where the database is not there, the connection ends: so it is without a proxy.
    let Ok(far) = TcpStream::connect(&upstream).await else { return };
    // A proxy that waits for more before it sends would be a slow line of its own.
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    // Whichever side ends takes the other with it.
    tokio::select! {
        () = carry(near_read, far_write, line.clone()) => {}
        () = carry(far_read, near_write, line) => {}
    }
}

/// Carries one direction until it ends or the line is cut.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut line: watch::Receiver<Line>) {
    let begun = *line.borrow_and_update();
    let mut piece = vec![0; PIECE];
    loop {
        let count = tokio::select! {
            read = from.read(&mut piece) => match read {
                Ok(count) if count > 0 => count,
                _ => return,
            },
            changed = line.changed() => match changed {
                Ok(()) if line.borrow().cuts == begun.cuts => continue,
                _ => return,
            },
        };
        let bytes = &piece[..count];
        if line.borrow().halves != begun.halves {
            // It ends here either way.
            let _ = to.write_all(&bytes[..count / 2]).await;
            return;
        }
        while line.borrow().is_silent {
            if line.changed().await.is_err() || line.borrow().cuts != begun.cuts {
                return;
            }
        }
        let delay = line.borrow().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if line.borrow().cuts != begun.cuts || to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy before a server that says everything again, and a connection to it.
    async fn connected() -> (Proxy, TcpStream) {
        let echo = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = echo.local_addr().expect("it listens");
        tokio::spawn(async move {
            while let Ok((socket, _)) = echo.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = socket.into_split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        let proxy = Proxy::listen(address.to_string()).await.expect("a port");
        let mut socket = TcpStream::connect(proxy.address).await.expect("it listens");
        socket.write_all(b"hello").await.expect("it is open");
        let mut heard = [0; 5];
        socket.read_exact(&mut heard).await.expect("it is carried");
        assert_eq!(&heard, b"hello");
        (proxy, socket)
    }

    #[tokio::test]
    async fn d7_a_line_is_cut_whole_and_half_way() {
        let (proxy, mut socket) = connected().await;
        proxy.change(|line| line.halves += 1);
        socket.write_all(b"12345678").await.expect("it is open");
        let mut heard = Vec::new();
        // Half of it may arrive at the echo, and none of that comes back: the line is gone.
        let ended = socket.read_to_end(&mut heard).await;
        assert!(ended.is_err() || heard.len() <= 4, "{heard:?}");
        let (proxy, mut socket) = connected().await;
        proxy.change(|line| line.cuts += 1);
        let ended = socket.read(&mut [0; 8]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }

    #[tokio::test]
    async fn d7_what_a_silent_line_held_back_arrives_when_it_speaks_again() {
        let (proxy, mut socket) = connected().await;
        proxy.change(|line| line.is_silent = true);
        socket.write_all(b"later").await.expect("it is open");
        let mut heard = [0; 5];
        let short = Duration::from_millis(100);
        let early = tokio::time::timeout(short, socket.read_exact(&mut heard)).await;
        assert!(early.is_err(), "nothing arrives");
        proxy.change(|line| line.is_silent = false);
        socket.read_exact(&mut heard).await.expect("it is carried");
        assert_eq!(&heard, b"later");
    }
}
