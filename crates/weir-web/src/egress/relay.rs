//! Moves bytes between a command and a host: tunnels, and bodies of plain requests. Every byte is
//! counted, nothing is kept.

use std::io::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt};

use super::EgressState;
use super::head::BodyFraming;
use super::hello::{ClientHello, HelloPeek, peek_client_hello};

/// Longest line of a chunked body: a size, an extension, a trailer.
const LINE_BYTES_MAX: usize = 4 * 1024;
/// Most lines after the last chunk.
const TRAILERS_MAX: usize = 100;

/// Counts what passes, and knows when something last did.
pub(super) struct TrafficMeter<'a> {
    shared: &'a EgressState,
    begun: Instant,
    last_ms: AtomicU64,
}

impl<'a> TrafficMeter<'a> {
    pub(super) fn new(shared: &'a EgressState) -> TrafficMeter<'a> {
        TrafficMeter { shared, begun: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn count_bytes(&self, bytes: usize) -> Result<()> {
        self.last_ms.store(self.elapsed_ms(), Ordering::Relaxed);
        if self.shared.spend_bytes(bytes as u64) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::QuotaExceeded, "the command has used up its network"))
    }

    /// Returns once nothing has passed for the idle time.
    pub(super) async fn wait_until_idle(&self) {
        let allowed =
            u64::try_from(self.shared.bounds.idle_timeout.as_millis()).unwrap_or(u64::MAX);
        loop {
            let silent = self.elapsed_ms().saturating_sub(self.last_ms.load(Ordering::Relaxed));
            if silent >= allowed {
                return;
            }
            tokio::time::sleep(Duration::from_millis(allowed - silent)).await;
        }
    }
}

/// All of `from` to `to`, then the end of it.
pub(super) async fn copy_stream<R, W>(
    from: &mut R,
    to: &mut W,
    meter: &TrafficMeter<'_>,
) -> Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let count = {
            let piece = from.fill_buf().await?;
            if piece.is_empty() {
                return to.shutdown().await;
            }
            meter.count_bytes(piece.len())?;
            to.write_all(piece).await?;
            piece.len()
        };
        to.flush().await?;
        from.consume(count);
    }
}

/// A text that was read before.
pub(super) async fn send_bytes<W>(to: &mut W, bytes: &[u8], meter: &TrafficMeter<'_>) -> Result<()>
where
    W: AsyncWrite + Unpin,
{
    meter.count_bytes(bytes.len())?;
    to.write_all(bytes).await?;
    to.flush().await
}

/// What a client says first, as far as it can be told.
pub(super) enum FirstMessage {
    /// A TLS client's message.
    Tls(ClientHello),
    Other,
    /// Nothing that can be let through.
    Broken,
}

/// Reads until it is known what the client speaks; the bytes stay in `said`.
pub(super) async fn read_first_message<R>(from: &mut R, said: &mut Vec<u8>) -> Result<FirstMessage>
where
    R: AsyncBufRead + Unpin,
{
    loop {
        let piece = from.fill_buf().await?;
        let count = piece.len();
        said.extend_from_slice(piece);
        from.consume(count);
        match peek_client_hello(said) {
            HelloPeek::More if count == 0 => return Ok(FirstMessage::Broken),
            HelloPeek::More => {}
            HelloPeek::Hello(hello) => return Ok(FirstMessage::Tls(hello)),
            HelloPeek::Other => return Ok(FirstMessage::Other),
            HelloPeek::Broken(_) => return Ok(FirstMessage::Broken),
        }
    }
}

/// The body of one request and not a byte more.
pub(super) async fn copy_body<R, W>(
    from: &mut R,
    to: &mut W,
    body: BodyFraming,
    meter: &TrafficMeter<'_>,
) -> Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match body {
        BodyFraming::None => {}
        BodyFraming::Length(length) => copy_exactly(from, to, length, meter).await?,
        BodyFraming::Chunked => copy_chunks(from, to, meter).await?,
    }
    to.flush().await
}

async fn copy_exactly<R, W>(
    from: &mut R,
    to: &mut W,
    length: u64,
    meter: &TrafficMeter<'_>,
) -> Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut left = length;
    while left > 0 {
        let count = {
            let piece = from.fill_buf().await?;
            let room = usize::try_from(left).unwrap_or(usize::MAX);
            let piece = &piece[..piece.len().min(room)];
            if piece.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            meter.count_bytes(piece.len())?;
            to.write_all(piece).await?;
            piece.len()
        };
        from.consume(count);
        left -= count as u64;
    }
    Ok(())
}

/// Chunks are read and written anew, so that both sides agree where the body ends.
async fn copy_chunks<R, W>(from: &mut R, to: &mut W, meter: &TrafficMeter<'_>) -> Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let size = chunk_size(&read_chunk_line(from, meter).await?)?;
        if size == 0 {
            break;
        }
        to.write_all(format!("{size:x}\r\n").as_bytes()).await?;
        copy_exactly(from, to, size, meter).await?;
        if !read_chunk_line(from, meter).await?.is_empty() {
            return Err(invalid_data_error("a chunk longer than it says"));
        }
        to.write_all(b"\r\n").await?;
        to.flush().await?;
    }
    for _ in 0..TRAILERS_MAX {
        if read_chunk_line(from, meter).await?.is_empty() {
            return to.write_all(b"0\r\n\r\n").await;
        }
    }
    Err(invalid_data_error("too many trailers"))
}

fn chunk_size(line: &[u8]) -> Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = digits.trim_ascii_end();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    if text.is_empty() || text.len() > 15 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(invalid_data_error("a chunk without a size"));
    }
    u64::from_str_radix(text, 16).map_err(|_| invalid_data_error("a chunk without a size"))
}

/// One line without its end.
async fn read_chunk_line<R>(from: &mut R, meter: &TrafficMeter<'_>) -> Result<Vec<u8>>
where
    R: AsyncBufRead + Unpin,
{
    let mut line = Vec::new();
    loop {
        let piece = from.fill_buf().await?;
        if piece.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let count = end.unwrap_or(piece.len());
        line.extend_from_slice(&piece[..count]);
        from.consume(count);
        meter.count_bytes(count)?;
        if line.len() > LINE_BYTES_MAX {
            return Err(invalid_data_error("a line too long"));
        }
        if end.is_some() {
            return match line.strip_suffix(b"\r\n") {
                Some(text) if !text.contains(&b'\r') => Ok(text.to_vec()),
                Some(_) | None => Err(invalid_data_error("a line that ends in two ways")),
            };
        }
    }
}

fn invalid_data_error(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

/// A host's side as a buffered reader.
pub(super) fn buffered_reader<R: AsyncRead>(from: R) -> tokio::io::BufReader<R> {
    tokio::io::BufReader::with_capacity(16 * 1024, from)
}
