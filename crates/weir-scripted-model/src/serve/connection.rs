//! Connections that can be broken from inside: a script says when, and the server's end does.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A listener whose connections end when the server does.
pub(super) struct Door {
    listener: TcpListener,
    shutdown: CancellationToken,
}

impl Door {
    pub(super) fn new(listener: TcpListener, shutdown: CancellationToken) -> Door {
        Door { listener, shutdown }
    }
}

impl Listener for Door {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small writes must not wait for each other: this is the peer of measurements.
        let _ = stream.set_nodelay(true);
        let token = self.shutdown.child_token();
        let broken = Box::pin(token.clone().cancelled_owned());
        (Wire { stream, token, broken }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

pub(super) struct Wire {
    stream: TcpStream,
    token: CancellationToken,
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// The handler's hold on its connection.
#[derive(Clone)]
pub(super) struct Link(CancellationToken);

impl Link {
    /// Breaks the connection; nothing more is read or written.
    pub(super) fn cut(&self) {
        self.0.cancel();
    }
}

impl Connected<IncomingStream<'_, Door>> for Link {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Link {
        Link(stream.io().token.clone())
    }
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.broken.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(reset()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(reset()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(reset()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
