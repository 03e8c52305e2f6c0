//! The browser's side of one WebSocket (RFC 6455), as far as it listens to a server: made by hand, since what
//! browsers cost here is taken from the cores that the server is measured on. It blocks. Not here: what is
//! said and measured (`sockets`).

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::served::person::Person;

/// Longest wait for a server that opens a socket.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a message's beginning in which its kind stands.
const HEAD_BYTES: usize = 256;
/// Sixteen bytes in base64; the server says that it has seen them.
const KEY: &str = "d2Vpci1iZW5jaC1zb2NrZQ==";

/// Kinds of frames.
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// In the first byte of a frame: it is the last one of its message. In the second: it is masked.
const TOP_BIT: u8 = 0x80;

/// A socket that listens to a session.
pub(super) struct Socket {
    stream: TcpStream,
    inbox: Inbox,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Socket {
    /// Opens one; the server has said that it listens to the session.
    pub(super) fn open(address: &str, person: &Person, session: &str) -> anyhow::Result<Socket> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let cookie = &person.cookie;
        let request = format!(
            "GET /api/v1/ws HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\ncookie: {cookie}\r\n\
             upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: {KEY}\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let mut more = [0; 1024];
            let count = stream.read(&mut more)?;
            ensure!(count > 0, "closed before it was open");
            bytes.extend_from_slice(&more[..count]);
        };
        let answer = String::from_utf8_lossy(&bytes[..head]);
        ensure!(answer.starts_with("HTTP/1.1 101"), "no WebSocket came about: {answer}");
        let mut socket = Socket { stream, inbox: Inbox::default() };
        let mut hello = Vec::new();
        socket.inbox.take_in(&bytes[head..], &mut |heard| hello.extend(heard.kind()))?;
        if hello.is_empty() {
            hello = socket.wait_for_kinds()?;
        }
        ensure!(hello.iter().any(|kind| kind == "hello"), "{hello:?} and no hello");
        socket.send_json(&json!({ "type": "subscribe", "session": session, "after": 0 }))?;
        // Facts of the session may come with the answer.
        let told = socket.wait_for_kinds()?;
        ensure!(told.iter().any(|kind| kind == "subscribed"), "{told:?} and no subscription");
        Ok(socket)
    }

    fn wait_for_kinds(&mut self) -> anyhow::Result<Vec<String>> {
        let mut kinds = Vec::new();
        let mut buffer = [0; 4096];
        while kinds.is_empty() {
            let open = self.hear(&mut buffer, &mut |heard| kinds.extend(heard.kind()))?;
            ensure!(open, "a socket was closed");
        }
        Ok(kinds)
    }

    /// From now on nothing waits for bytes that have not come.
    pub(super) fn stop_blocking(&self) -> io::Result<()> {
        self.stream.set_nonblocking(true)
    }

    /// Reads once, and gives each message that is whole now to `each`. Whether there is more to come.
    pub(super) fn hear(
        &mut self,
        buffer: &mut [u8],
        each: &mut dyn FnMut(Heard<'_>),
    ) -> anyhow::Result<bool> {
        let count = match self.stream.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let (mut pings, mut closed) = (Vec::new(), count == 0);
        self.inbox.take_in(&buffer[..count], &mut |heard| match heard {
            Heard::Ping(payload) => pings.push(payload.to_vec()),
            Heard::Close => closed = true,
            Heard::Message(_) => each(heard),
        })?;
        for payload in pings {
            self.send(PONG, &payload)?;
        }
        Ok(!closed)
    }

    /// Sends a text.
    pub(super) fn send_json(&mut self, value: &Value) -> anyhow::Result<()> {
        self.send(TEXT, value.to_string().as_bytes()).context("a socket takes nothing")
    }

    fn send(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let mut frame = vec![TOP_BIT | kind];
        match u8::try_from(payload.len()) {
            Ok(short) if short < 126 => frame.push(TOP_BIT | short),
            _ => {
                let length = u16::try_from(payload.len()).map_err(io::Error::other)?;
                frame.push(TOP_BIT | 126);
                frame.extend_from_slice(&length.to_be_bytes());
            }
        }
        // Under a mask of zeros everything stays as it is.
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame)
    }
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard<'a> {
    Message(&'a [u8]),
    Ping(&'a [u8]),
    Close,
}

impl Heard<'_> {
    /// Whether it is a message in whose beginning these words stand.
    pub(super) fn says(&self, words: &str) -> bool {
        let Heard::Message(text) = self else { return false };
        let head = &text[..text.len().min(HEAD_BYTES)];
        head.windows(words.len()).any(|some| some == words.as_bytes())
    }

    /// The `type` of a message.
    fn kind(&self) -> Option<String> {
        let Heard::Message(text) = self else { return None };
        let value: Value = serde_json::from_slice(text).ok()?;
        value["type"].as_str().map(str::to_owned)
    }
}

/// What has come and is not whole yet.
#[derive(Default)]
struct Inbox {
    /// The beginning of a frame.
    rest: Vec<u8>,
    /// The frames of a message that went before.
    message: Vec<u8>,
}

/// Where the parts of a frame stand.
struct Frame {
    kind: u8,
    is_last: bool,
    head: usize,
    length: usize,
}

impl Inbox {
    /// Takes more bytes, and gives each message that is whole now to `each`.
    fn take_in(&mut self, bytes: &[u8], each: &mut dyn FnMut(Heard<'_>)) -> anyhow::Result<()> {
        if self.rest.is_empty() {
            let read = self.read_frames(bytes, each)?;
            self.rest.extend_from_slice(&bytes[read..]);
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let read = self.read_frames(&all, each)?;
        all.drain(..read);
        self.rest = all;
        Ok(())
    }

    /// Reads the frames that are whole; how many bytes they are.
    fn read_frames(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(Heard<'_>),
    ) -> anyhow::Result<usize> {
        let mut at = 0;
        while let Some(frame) = Frame::first_in(&bytes[at..])? {
            let Frame { kind, is_last, head, length } = frame;
            let payload = &bytes[at + head..at + head + length];
            at += head + length;
            match kind {
                CLOSE => each(Heard::Close),
                PING => each(Heard::Ping(payload)),
                PONG => (),
                _ if is_last && self.message.is_empty() => each(Heard::Message(payload)),
                _ => {
                    self.message.extend_from_slice(payload);
                    if is_last {
                        each(Heard::Message(&self.message));
                        self.message.clear();
                    }
                }
            }
        }
        Ok(at)
    }
}

impl Frame {
    /// The frame with which `bytes` begin, if all of it is there.
    fn first_in(bytes: &[u8]) -> anyhow::Result<Option<Frame>> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        ensure!(second & TOP_BIT == 0, "a server masks nothing");
        let (long, length) = match (*second, rest) {
            (126, [a, b, ..]) => (2, u64::from(u16::from_be_bytes([*a, *b]))),
            (127, _) => match rest.first_chunk::<8>() {
                Some(eight) => (8, u64::from_be_bytes(*eight)),
                None => return Ok(None),
            },
            (126, _) => return Ok(None),
            (short, _) => (0, u64::from(short)),
        };
        let (head, length) = (2 + long, usize::try_from(length)?);
        let is_whole = bytes.len() - head >= length;
        let (kind, is_last) = (first & 0x0f, first & TOP_BIT != 0);
        Ok(is_whole.then_some(Frame { kind, is_last, head, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(chunks: &[&[u8]]) -> Vec<String> {
        let mut inbox = Inbox::default();
        let mut all = Vec::new();
        for chunk in chunks {
            let taken = inbox.take_in(chunk, &mut |heard| {
                all.push(match heard {
                    Heard::Message(text) => String::from_utf8_lossy(text).into_owned(),
                    Heard::Ping(_) => "ping".to_owned(),
                    Heard::Close => "close".to_owned(),
                });
            });
            taken.expect("frames of a server");
        }
        all
    }

    #[test]
    fn q19_the_browsers_of_the_bench_hear_every_message_however_it_is_cut() {
        let long = "x".repeat(300);
        let mut bytes = b"\x81\x02{}\x01\x02ab\x89\x00\x80\x01c\x81\x7e\x01\x2c".to_vec();
        bytes.extend_from_slice(long.as_bytes());
        bytes.extend_from_slice(b"\x88\x00");
        let expected = ["{}", "ping", "abc", long.as_str(), "close"];
        assert_eq!(heard(&[&bytes]), expected);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(heard(&single), expected, "byte by byte");
        for at in 0..bytes.len() {
            assert_eq!(heard(&[&bytes[..at], &bytes[at..]]), expected, "cut at {at}");
        }
    }

    #[test]
    fn q19_a_kind_is_looked_for_where_it_stands() {
        let token =
            br#"{"type":"event","event":{"v":1,"kind":"text.delta","turn":"t1","text":"T"}}"#;
        assert!(Heard::Message(token).says("\"text.delta\""));
        assert!(!Heard::Message(token).says("\"run.finished\"") && !Heard::Close.says("x"));
        let quoted = [b"{".repeat(HEAD_BYTES).as_slice(), token.as_slice()].concat();
        assert!(!Heard::Message(&quoted).says("\"text.delta\""));
    }
}
