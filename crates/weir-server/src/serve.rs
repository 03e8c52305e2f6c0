//! Listens, answers, and ends in good order: accepts no more, lets what is under way finish for a
//! bounded time, then closes it where it is.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::middleware::{from_fn, from_fn_with_state};
use futures::{Stream, StreamExt};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::timeout::RequestBodyTimeoutLayer;
use weir_install::maintenance::HealthLevel;

use crate::app::App;
use crate::limits::ConnectionSlot;
use crate::peer::ClientAddress;
use crate::tls::{ServerCertificate, TlsError, check_certificate};
use crate::{guard, headers, health, live, mail, mcp, person_news, route, routes, schedule};

/// How long a client may take to say what it wants, and may keep a connection without asking.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long a client may take to agree on a key.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long the next bytes of a body may take.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How often HTTP/2 connections are asked whether they are there.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Bytes of all headers of a request.
const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Headers of a request.
const HEADERS_MAX: usize = 100;
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// Answers below this size stay as they are.
const COMPRESS_ABOVE: u16 = 1024;
/// Wait after the system gave no connection: too many files are open.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(50);

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address.
    #[error("cannot listen on {address}: {source}; choose another with --bind")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens.
pub struct HttpServer {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

impl HttpServer {
    /// Takes the address and reads the certificate. Nothing is answered yet.
    ///
    /// # Errors
    /// The address is taken, or the certificate cannot be used.
    pub async fn bind(app: App) -> Result<HttpServer, ServeError> {
        let tls = match &app.options.tls {
            Some((chain, key)) => {
                let certificate = ServerCertificate::read_files(chain, key)?;
                let acceptor = certificate.tls_acceptor()?;
                app.certificate.get_or_init(|| certificate);
                Some(acceptor)
            }
            None => None,
        };
        let address = app.options.bind;
        let wrong = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(HttpServer { app, listener, address, tls })
    }

    /// Where it listens: the real port, also where any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What whoever starts it should know: a certificate that has ended or soon will.
    pub fn startup_warning(&self) -> Option<String> {
        let certificate = self.app.certificate.get()?;
        let found = check_certificate(certificate.ends_at(), self.app.current_time());
        (found.health != HealthLevel::Good).then_some(found.says)
    }

    /// Answers until the first signal; then no more is accepted, and what is under way may finish
    /// for a bounded time. The second signal ends it at once.
    pub async fn run(self, signals: impl Stream<Item = ()> + Send) {
        let mut signals = pin!(signals);
        let certificate = self.app.certificate.get().cloned();
        let follow = async move {
            match certificate {
                Some(certificate) => certificate.follow_files().await,
                None => std::future::pending().await,
            }
        };
        let mut follow = pin!(follow);
        let line = HttpConnectionContext {
            router: server_router(&self.app),
            app: self.app.clone(),
            tls: self.tls,
        };
        let line = Arc::new(line);
        let mut connections = JoinSet::new();
        self.app.sessions.watchers.spawn(live::recovery::run_recovery_watch(self.app.clone()));
        self.app.sessions.watchers.spawn(schedule::run(self.app.clone()));
        self.app.sessions.watchers.spawn(person_news::watch_people(self.app.clone()));
        self.app.sessions.watchers.spawn(mcp::watch_people(self.app.clone()));
        tokio::spawn(mail::watch::watch_mail_accounts(self.app.clone()));
        loop {
            tokio::select! {
                biased;
                Some(()) = signals.next() => break,
                () = self.app.stop.cancelled() => break,
                () = &mut follow => (),
                Some(ended) = connections.join_next(), if !connections.is_empty() => log_connection_end(ended),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => line.accept_connection(&mut connections, stream, peer),
                    Err(error) => {
                        tracing::warn!(%error, "no connection could be accepted");
                        tokio::time::sleep(PAUSE_AFTER_REFUSAL).await;
                    }
                }
            }
        }
        drop(self.listener);
        self.app.stop.cancel();
        tracing::info!(connections = connections.len(), "ending: nothing more is accepted");
        let all = async {
            // Calls of programs end first: their answers are what connections wait for.
            self.app.mcp.close_all().await;
            while connections.join_next().await.is_some() {}
            // Sockets say why they end: their tasks are not those that were joined.
            self.app.connections.wait_until_empty().await;
            // Runs are closed where they are, and their sessions given back.
            self.app.sessions.wait_until_drained().await;
        };
        let time = Duration::from_millis(self.app.options.limits.drain_ms_max);
        tokio::select! {
            () = all => tracing::info!("everything under way has finished"),
            () = tokio::time::sleep(time) => tracing::warn!("what is still under way is cut off"),
            Some(()) = signals.next() => tracing::warn!("asked again: what is under way is cut off"),
        }
        connections.shutdown().await;
    }
}

fn log_connection_end(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended badly");
    }
}

/// The routes with what is around all of them. The first layer written is the innermost.
fn server_router(app: &App) -> Router {
    let table = routes::all_routes();
    let not_pictures = NotForContentType::const_new("image/p")
        .and(NotForContentType::const_new("image/j"))
        .and(NotForContentType::const_new("image/g"))
        .and(NotForContentType::const_new("image/w"))
        .and(NotForContentType::const_new("text/event-stream"))
        .and(NotForContentType::const_new("application/gzip"))
        .and(NotForContentType::const_new("application/pdf"));
    let big = SizeAbove::new(COMPRESS_ABOVE).and(not_pictures);
    let panics = {
        let app = app.clone();
        CatchPanicLayer::custom(move |cause: Box<dyn std::any::Any + Send>| {
            headers::after_panic(&app, cause.as_ref())
        })
    };
    route::build_router(app, &table)
        .merge(health::health_routes())
        .fallback(headers::nothing_here)
        .method_not_allowed_fallback(headers::wrong_method)
        .with_state(app.clone())
        .layer(RequestBodyTimeoutLayer::new(BODY_TIME))
        .layer(panics)
        .layer(from_fn(headers::unify_errors))
        .layer(CompressionLayer::new().compress_when(big))
        .layer(from_fn_with_state(app.clone(), guard::per_address))
        .layer(from_fn_with_state(app.clone(), headers::wrap_request))
}

/// What every connection needs.
struct HttpConnectionContext {
    app: App,
    router: Router,
    tls: Option<TlsAcceptor>,
}

impl HttpConnectionContext {
    /// Begins to serve a connection, if there is a place for it.
    fn accept_connection(
        self: &Arc<HttpConnectionContext>,
        all: &mut JoinSet<()>,
        stream: TcpStream,
        peer: SocketAddr,
    ) {
        let limits = &self.app.options.limits;
        let counted = self.counted_address(peer.ip().to_canonical());
        let (max, per_address) = (limits.connections_max, limits.connections_per_address_max);
        match self.app.connections.claim_slot(counted, max, per_address) {
            Some(place) => {
                // In a box: the place of a task, which is aligned, is used again by no other task with the
                // allocator of older systems, and each WebSocket began as one of these (Q18).
                all.spawn(Box::pin(self.clone().serve_connection(stream, peer, place)));
            }
            None => tracing::warn!(%peer, "too many connections: this one is closed"),
        }
    }

    /// Whose connections are counted by address.
    fn counted_address(&self, ip: IpAddr) -> Option<IpAddr> {
        let is_proxy = self.app.options.proxies.iter().any(|proxy| proxy.to_canonical() == ip);
        (!ip.is_loopback() && !is_proxy).then_some(ip)
    }

    async fn serve_connection(
        self: Arc<HttpConnectionContext>,
        stream: TcpStream,
        peer: SocketAddr,
        place: ConnectionSlot,
    ) {
        // Streamed text comes in small pieces: none waits for the next.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no-delay");
        }
        // A place is kept as long as the socket: also one that was turned into a WebSocket, whose
        // task goes on when this one has ended.
        let stream = CountedStream { stream, _place: place };
        let Some(tls) = self.tls.clone() else {
            return self.serve_http(stream, peer).await;
        };
        match tokio::time::timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.serve_http(stream, peer).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS came about"),
            Err(_) => tracing::debug!(%peer, "no TLS in time"),
        }
    }

    async fn serve_http<S>(&self, stream: S, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tls = self.tls.is_some();
        let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
            let mut request = request.map(Body::new);
            let proxies = &self.app.options.proxies;
            let address = ClientAddress::from_peer(peer, tls, proxies, request.headers());
            request.extensions_mut().insert(address);
            self.router.clone().oneshot(request)
        });
        let builder = http_builder();
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let stop: &CancellationToken = &self.app.stop;
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "a connection broke");
        }
    }
}

/// HTTP/1.1 and HTTP/2 with bounds on everything that a client could let us wait for or keep.
fn http_builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX as u32)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(HEADER_TIME);
    builder
}

/// A socket with its place among the connections.
struct CountedStream {
    stream: TcpStream,
    _place: ConnectionSlot,
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
