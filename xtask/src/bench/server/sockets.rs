//! Browsers that listen to sessions, and how late they hear each token. One thread reads for all of them.
//! Not here: a socket itself (`socket`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures::stream::{self, StreamExt as _};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::model::{DIGITS, now_us};
use super::socket::{Heard, Socket};
use crate::served::person::Person;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// Sockets on which something came that are told of at once.
const EVENTS: usize = 256;
/// How often it is looked whether it takes too long.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

async fn open_all(
    address: &str,
    wanted: Vec<(Arc<Person>, String)>,
    at_once: usize,
) -> anyhow::Result<Vec<(String, Socket)>> {
    let opened = stream::iter(wanted)
        .map(|(person, id)| {
            let address = address.to_owned();
            async move {
                let opened = spawn_blocking(move || {
                    let socket = Socket::open(&address, &person, &id)?;
                    anyhow::Ok((id, socket))
                });
                opened.await?
            }
        })
        .buffered(at_once)
        .collect::<Vec<_>>()
        .await;
    opened.into_iter().collect()
}

/// Sockets that only listen.
pub(super) struct Idle(Vec<(String, Socket)>);

impl Idle {
    /// Opens all of them.
    pub(super) async fn open(
        address: &str,
        wanted: Vec<(Arc<Person>, String)>,
        at_once: usize,
    ) -> anyhow::Result<Idle> {
        open_all(address, wanted, at_once).await.map(Idle)
    }

    /// The first of them, to be worked with.
    pub(super) fn take_first(&mut self, count: usize) -> Streams {
        Streams(self.0.drain(..count.min(self.0.len())).collect())
    }

    /// Whether none was closed: what came meanwhile is read.
    pub(super) fn all_open(self) -> bool {
        let mut buffer = vec![0; READ_BYTES];
        self.0.into_iter().all(|(_, mut socket)| {
            socket.stop_blocking().is_ok() && is_open(&mut socket, &mut buffer)
        })
    }
}

fn is_open(socket: &mut Socket, buffer: &mut [u8]) -> bool {
    loop {
        match socket.hear(buffer, &mut |_| ()) {
            Ok(true) => (),
            Ok(false) => return false,
            // Everything is read.
            Err(error) => return would_block(&error),
        }
    }
}

fn would_block(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::WouldBlock)
}

/// Sockets on sessions that stream.
pub(super) struct Streams(Vec<(String, Socket)>);

impl Streams {
    /// Opens all of them.
    pub(super) async fn open(
        address: &str,
        wanted: Vec<(Arc<Person>, String)>,
        at_once: usize,
    ) -> anyhow::Result<Streams> {
        open_all(address, wanted, at_once).await.map(Streams)
    }

    /// Says the same in every session; what is said twice there counts once.
    pub(super) fn say_all(&mut self, words: &str) -> anyhow::Result<()> {
        for (number, (id, socket)) in self.0.iter_mut().enumerate() {
            let content = json!([{ "type": "text", "text": words }]);
            let client_id = format!("{words}-{number}");
            socket.send_json(
                &json!({ "type": "say", "session": id, "client_id": client_id, "content": content }),
            )?;
        }
        Ok(())
    }

    /// Listens to every session until its run ends: how long each token took from the model to here,
    /// in milliseconds.
    pub(super) async fn latencies(&mut self, time: Duration) -> anyhow::Result<Vec<f64>> {
        let sockets = std::mem::take(&mut self.0);
        let until = Instant::now() + time;
        let listened = spawn_blocking(move || {
            let mut sockets = sockets;
            let told = listen(&mut sockets, until)?;
            anyhow::Ok((sockets, told))
        });
        let (sockets, told) = listened.await??;
        self.0 = sockets;
        Ok(told)
    }
}

fn listen(sockets: &mut [(String, Socket)], until: Instant) -> anyhow::Result<Vec<f64>> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, (_, socket)) in sockets.iter().enumerate() {
        socket.stop_blocking()?;
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(&poll, socket, data, epoll::EventFlags::IN)?;
    }
    let mut buffer = vec![0; READ_BYTES];
    let mut events = Vec::with_capacity(EVENTS);
    let mut told = Vec::new();
    let mut heard_any = vec![false; sockets.len()];
    let mut listening = sockets.len();
    while listening > 0 {
        ensure!(Instant::now() < until, "{listening} runs do not end");
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), Some(&LOOK_EVERY)) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let data = event.data;
            let number = usize::try_from(data.u64())?;
            let (_, socket) = &mut sockets[number];
            let mut has_ended = false;
            let is_open = socket.hear(&mut buffer, &mut |heard| {
                let before = told.len();
                note_tokens(heard, now_us(), &mut told);
                heard_any[number] |= told.len() > before;
                // What an earlier run ended with is told again to whoever begins to listen.
                has_ended |= heard_any[number] && heard.says("\"run.finished\"");
            });
            match is_open {
                Ok(is_open) => ensure!(is_open, "a socket was closed"),
                Err(error) if would_block(&error) => (),
                Err(error) => return Err(error),
            }
            if has_ended {
                epoll::delete(&poll, &*socket)?;
                listening -= 1;
            }
        }
    }
    Ok(told)
}

/// How late each token of a message is, in milliseconds.
fn note_tokens(heard: Heard<'_>, now: u64, told: &mut Vec<f64>) {
    let Heard::Message(text) = heard else { return };
    // Facts hold the whole text again.
    if !heard.says("\"text.delta\"") {
        return;
    }
    for token in text.split(|byte| *byte == b'T').skip(1) {
        let digits = token.get(..DIGITS).and_then(|digits| std::str::from_utf8(digits).ok());
        let sent = digits.and_then(|digits| digits.parse::<u64>().ok());
        told.extend(sent.map(|sent| now.saturating_sub(sent) as f64 / 1e3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q19_each_token_of_a_message_counts_and_those_in_facts_do_not() {
        let lines = |kind: &str| {
            format!(
                r#"{{"type":"event","event":{{"v":1,"session":"S T","kind":"{kind}",
                    "text":"T0000000000001000;T0000000000002000;"}}}}"#
            )
        };
        let mut told = Vec::new();
        note_tokens(Heard::Message(lines("text.delta").as_bytes()), 4_000, &mut told);
        assert_eq!(told, [3.0, 2.0]);
        note_tokens(Heard::Message(lines("run.finished").as_bytes()), 4_000, &mut told);
        assert_eq!(told.len(), 2);
    }
}
