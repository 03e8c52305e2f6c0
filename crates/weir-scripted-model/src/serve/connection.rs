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
pub(super) struct ScriptListener {
    listener: TcpListener,
    shutdown: CancellationToken,
}

impl ScriptListener {
    pub(super) fn new(listener: TcpListener, shutdown: CancellationToken) -> ScriptListener {
        ScriptListener { listener, shutdown }
    }
}

impl Listener for ScriptListener {
    type Io = BreakableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (BreakableStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small writes must not wait for each other: this is the peer of measurements.
        let _ = stream.set_nodelay(true);
        let token = self.shutdown.child_token();
        let broken = Box::pin(token.clone().cancelled_owned());
        (BreakableStream { stream, token, broken }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

pub(super) struct BreakableStream {
    stream: TcpStream,
    token: CancellationToken,
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// The handler's hold on its connection.
#[derive(Clone)]
pub(super) struct ConnectionBreaker(CancellationToken);

impl ConnectionBreaker {
    /// Breaks the connection; nothing more is read or written.
    pub(super) fn break_connection(&self) {
        self.0.cancel();
    }
}

impl Connected<IncomingStream<'_, ScriptListener>> for ConnectionBreaker {
    fn connect_info(stream: IncomingStream<'_, ScriptListener>) -> ConnectionBreaker {
        ConnectionBreaker(stream.io().token.clone())
    }
}

fn connection_reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

impl AsyncRead for BreakableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.broken.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(connection_reset()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for BreakableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(connection_reset()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.token.is_cancelled() {
            return Poll::Ready(Err(connection_reset()));
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
