//! One connection of a command: one request is read, judged, and carried out or refused.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    ReadHalf, WriteHalf,
};
use tokio::net::TcpStream;
use url::Host;

use super::EgressState;
use super::head::{self, BodyFraming, ProxyRequest, ProxyRequestKind};
use super::hello::ClientHello;
use super::hosts::{HostGrant, host_and_port};
use super::relay::{self, FirstMessage, TrafficMeter, buffered_reader, copy_stream};
use crate::address::{host_text, parse_host};
use crate::pin::{PinError, pin_host};

/// The port at which a tunnel must speak TLS.
const HTTPS: u16 = 443;
/// The port of plain HTTP, which needs no tunnel.
const HTTP: u16 = 80;
/// A TLS client is told that nobody here has this name (alert `unrecognized_name`).
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];
/// How long an answer is left to be read before the connection is cut.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes that a refused client may still send.
const LINGER_BYTES_MAX: u64 = 256 * 1024;

/// How a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionSource {
    /// By the socket, which only the command sees.
    Unix,
    /// By the port, which everybody on this machine sees: the word is asked for.
    Tcp,
}

/// An answer of the proxy itself.
struct ProxyResponse {
    status: u16,
    text: String,
}

impl ProxyResponse {
    fn new(status: u16, text: impl Into<String>) -> ProxyResponse {
        ProxyResponse { status, text: text.into() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            400 => "Bad Request",
            403 => "Forbidden",
            407 => "Proxy Authentication Required",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            504 => "Gateway Timeout",
            _ => "Bad Gateway",
        };
        let ask = match self.status {
            407 => "proxy-authenticate: Basic realm=\"weir\"\r\n",
            _ => "",
        };
        let body = format!("weir: {}\n", self.text);
        format!(
            "HTTP/1.1 {} {reason}\r\n{ask}content-type: text/plain; charset=utf-8\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.status,
            body.len()
        )
        .into_bytes()
    }
}

/// A command's connection, split.
struct CommandConnection<S> {
    from: BufReader<ReadHalf<S>>,
    to: WriteHalf<S>,
}

/// Serves one connection to its end. What goes wrong is the client's to see, and nobody's to log.
pub(super) async fn serve_connection<S>(stream: S, side: ConnectionSource, shared: Arc<EgressState>)
where
    S: AsyncRead + AsyncWrite + Send,
{
    let (from, to) = tokio::io::split(stream);
    let mut client = CommandConnection { from: BufReader::new(from), to };
    if let Err(answer) = handle_request(&mut client, side, &shared).await {
        send_refusal(&mut client, &answer).await;
    }
}

async fn send_refusal<S: AsyncRead + AsyncWrite>(
    client: &mut CommandConnection<S>,
    answer: &ProxyResponse,
) {
    // Cut at once, the answer would be lost with what the client still sends.
    let linger = async {
        client.to.write_all(&answer.to_bytes()).await?;
        client.to.shutdown().await?;
        let mut rest = (&mut client.from).take(LINGER_BYTES_MAX);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(LINGER, linger).await;
}

async fn handle_request<S>(
    client: &mut CommandConnection<S>,
    side: ConnectionSource,
    shared: &EgressState,
) -> Result<(), ProxyResponse>
where
    S: AsyncRead + AsyncWrite + Send,
{
    let bounds = &shared.bounds;
    let head = tokio::time::timeout(
        bounds.head_timeout,
        read_head(&mut client.from, bounds.head_bytes_max),
    );
    let head =
        head.await.map_err(|_| ProxyResponse::new(408, "the request did not come in time"))??;
    let request = head::parse_request_head(&head).map_err(|why| ProxyResponse::new(400, why))?;
    if side == ConnectionSource::Tcp && !knows_word(request.credentials.as_deref(), &shared.word) {
        return Err(ProxyResponse::new(407, "this proxy belongs to another command"));
    }
    let ProxyRequest { host, port, wants, .. } = request;
    let upstream = connect_if_granted(shared, &host, port, &wants).await?;
    match wants {
        ProxyRequestKind::Tunnel => relay_tunnel(client, upstream, &host, port, shared).await,
        ProxyRequestKind::Plain { head, body } => {
            relay_exchange(client, upstream, &head, body, shared).await
        }
    }
}

/// The head with its empty line. Nothing behind it is taken.
async fn read_head<R: AsyncBufRead + Unpin>(
    from: &mut R,
    max: usize,
) -> Result<Vec<u8>, ProxyResponse> {
    const END: &[u8] = b"\r\n\r\n";
    let cut = || ProxyResponse::new(400, "the request broke off");
    let mut head: Vec<u8> = Vec::new();
    loop {
        let piece = from.fill_buf().await.map_err(|_| cut())?;
        if piece.is_empty() {
            return Err(cut());
        }
        let (before, count) = (head.len(), piece.len());
        head.extend_from_slice(piece);
        let searched = before.saturating_sub(END.len() - 1);
        let end = head[searched..].windows(END.len()).position(|window| window == END);
        let end = end.map(|at| searched + at + END.len());
        from.consume(end.map_or(count, |end| end - before));
        if end.unwrap_or(head.len()) > max {
            return Err(ProxyResponse::new(
                431,
                format!("the request's head has more than {max} bytes"),
            ));
        }
        if let Some(end) = end {
            head.truncate(end);
            return Ok(head);
        }
    }
}

/// Whether the user name is the line's word, compared without telling by time how much of it is.
fn knows_word(credentials: Option<&str>, word: &str) -> bool {
    let Some(Ok(given)) = credentials.map(|text| STANDARD.decode(text)) else { return false };
    let user = given.split(|byte| *byte == b':').next().unwrap_or_default();
    let differs = user.iter().zip(word.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    user.len() == word.len() && differs == 0
}

/// The connection to a host that is granted and may be reached.
async fn connect_if_granted(
    shared: &EgressState,
    host: &Host<String>,
    port: u16,
    wants: &ProxyRequestKind,
) -> Result<TcpStream, ProxyResponse> {
    let place = host_and_port(host, port);
    let grant = shared.hosts.grant_for(host, port);
    if grant == HostGrant::None {
        shared.record_refused_host(&place);
        let name = host_text(host);
        let asked = if matches!(port, HTTP | HTTPS) { &name } else { &place };
        return Err(ProxyResponse::new(
            403,
            format!("this command may not reach {place}; ask for it: network: [{asked:?}]"),
        ));
    }
    if *wants == ProxyRequestKind::Tunnel && port == HTTP && grant != HostGrant::Port {
        shared.record_refused_host(&place);
        return Err(ProxyResponse::new(
            403,
            format!(
                "{place} is reached with plain requests, not with a tunnel; if it must be one, \
                 ask for it: network: [{place:?}]"
            ),
        ));
    }
    if shared.is_spent() {
        return Err(ProxyResponse::new(403, "this command has used up its network"));
    }
    let pinned = pin_host(shared.address_guard(), host).await.map_err(|error| match error {
        PinError::Refused(why) => {
            // It was granted: only who reads the reason knows that asking again does not help.
            shared.record_refused_host(&format!("{place} ({why})"));
            ProxyResponse::new(403, why)
        }
        PinError::Failed(why) => ProxyResponse::new(502, why),
    })?;
    let dialled = tokio::time::timeout(
        shared.bounds.connect_timeout,
        connect_to_any(&pinned.addresses, port),
    );
    match dialled.await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(why)) => {
            Err(ProxyResponse::new(502, format!("{place} could not be reached: {why}")))
        }
        Err(_) => Err(ProxyResponse::new(504, format!("{place} did not answer in time"))),
    }
}

async fn connect_to_any(addresses: &[IpAddr], port: u16) -> std::io::Result<TcpStream> {
    let mut last = ErrorKind::AddrNotAvailable.into();
    for ip in addresses {
        match TcpStream::connect(SocketAddr::new(*ip, port)).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(why) => last = why,
        }
    }
    Err(last)
}

/// A pipe. At port 443 it carries TLS for the host that was asked for; at a port that was granted
/// by number it carries anything, and TLS only for that host.
async fn relay_tunnel<S>(
    client: &mut CommandConnection<S>,
    upstream: TcpStream,
    host: &Host<String>,
    port: u16,
    shared: &EgressState,
) -> Result<(), ProxyResponse>
where
    S: AsyncRead + AsyncWrite + Send,
{
    let opened = b"HTTP/1.1 200 Connection established\r\n\r\n";
    if client.to.write_all(opened).await.is_err() || client.to.flush().await.is_err() {
        return Ok(());
    }
    let (from_host, mut to_host) = upstream.into_split();
    let mut from_host = buffered_reader(from_host);
    let meter = TrafficMeter::new(shared);
    let CommandConnection { from, to } = client;
    let mut said = Vec::new();
    if port == HTTPS {
        let first = tokio::time::timeout(
            shared.bounds.head_timeout,
            relay::read_first_message(from, &mut said),
        );
        let first = first.await.unwrap_or(Ok(FirstMessage::Broken));
        if !is_for(first.as_ref().ok(), host, port) {
            shared.record_refused_host(&host_and_port(host, port));
            let _ = to.write_all(&UNRECOGNIZED_NAME).await;
            let _ = to.shutdown().await;
            return Ok(());
        }
    }
    let up = async {
        if port != HTTPS {
            // The host may speak first here, so the pipe is open the other way meanwhile.
            let first = relay::read_first_message(from, &mut said).await?;
            if !said.is_empty() && !is_for(Some(&first), host, port) {
                shared.record_refused_host(&host_and_port(host, port));
                return Err(ErrorKind::PermissionDenied.into());
            }
        }
        relay::send_bytes(&mut to_host, &said, &meter).await?;
        copy_stream(from, &mut to_host, &meter).await
    };
    let down = copy_stream(&mut from_host, to, &meter);
    tokio::select! {
        _ = async { tokio::try_join!(up, down) } => {}
        () = meter.wait_until_idle() => {}
    }
    Ok(())
}

/// Whether a client's first message may go to `host`.
fn is_for(first: Option<&FirstMessage>, host: &Host<String>, port: u16) -> bool {
    match first {
        Some(FirstMessage::Tls(ClientHello { is_encrypted: true, .. }))
        | Some(FirstMessage::Broken)
        | None => false,
        Some(FirstMessage::Tls(ClientHello { name: Some(name), .. })) => {
            parse_host(name).as_ref() == Ok(host)
        }
        // A client that wants an address has no name to give.
        Some(FirstMessage::Tls(ClientHello { name: None, .. })) => !matches!(host, Host::Domain(_)),
        Some(FirstMessage::Other) => port != HTTPS,
    }
}

/// One plain request and its answer.
async fn relay_exchange<S>(
    client: &mut CommandConnection<S>,
    upstream: TcpStream,
    head: &str,
    body: BodyFraming,
    shared: &EgressState,
) -> Result<(), ProxyResponse>
where
    S: AsyncRead + AsyncWrite + Send,
{
    let (from_host, mut to_host) = upstream.into_split();
    let mut from_host = buffered_reader(from_host);
    let meter = TrafficMeter::new(shared);
    let CommandConnection { from, to } = client;
    let up = async {
        relay::send_bytes(&mut to_host, head.as_bytes(), &meter).await?;
        relay::copy_body(from, &mut to_host, body, &meter).await
    };
    let down = copy_stream(&mut from_host, to, &meter);
    let both = async {
        tokio::pin!(up, down);
        // A host may answer before it has read everything; its answer is the end either way.
        let sent = tokio::select! {
            answered = &mut down => return answered,
            sent = &mut up => sent,
        };
        match sent {
            Ok(()) => down.await,
            // The host took no more: it may have said why.
            Err(why)
                if matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                down.await
            }
            // Broken off, damaged, or over the bound.
            Err(why) => Err(why),
        }
    };
    tokio::select! {
        _ = both => {}
        () = meter.wait_until_idle() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
