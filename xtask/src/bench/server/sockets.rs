//! Browsers, as far as a socket goes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::stream::{self, FuturesUnordered, StreamExt as _};
use futures::{FutureExt as _, SinkExt as _};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::model::{DIGITS, now_us};
use crate::served::person::Person;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A socket that listens to a session; the server has said so.
async fn open(address: &str, person: &Person, session: &str) -> anyhow::Result<Socket> {
    let mut request = format!("ws://{address}/api/v1/ws").into_client_request()?;
    let headers = request.headers_mut();
    headers.insert("origin", format!("http://{address}").parse()?);
    headers.insert("cookie", person.cookie.parse()?);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let hello = socket.next().await.context("the server says hello")??;
    ensure!(hello.to_text()?.contains("hello"), "{hello}");
    let subscribe = json!({ "type": "subscribe", "session": session, "after": 0 });
    socket.send(Message::text(subscribe.to_string())).await?;
    let subscribed = socket.next().await.context("an answer")??;
    ensure!(subscribed.to_text()?.contains("\"subscribed\""), "{subscribed}");
    Ok(socket)
}

async fn open_all(
    address: &str,
    wanted: Vec<(Arc<Person>, String)>,
    at_once: usize,
) -> anyhow::Result<Vec<(String, Socket)>> {
    let opened = stream::iter(wanted)
        .map(|(person, id)| async move {
            let socket = open(address, &person, &id).await?;
            anyhow::Ok((id, socket))
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
    pub(super) async fn all_open(mut self) -> bool {
        for (_, socket) in &mut self.0 {
            while let Some(frame) = socket.next().now_or_never() {
                match frame {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return false,
                    Some(Ok(_)) => (),
                }
            }
        }
        true
    }
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
    pub(super) async fn say_all(&mut self, words: &str) -> anyhow::Result<()> {
        for (number, (id, socket)) in self.0.iter_mut().enumerate() {
            let content = json!([{ "type": "text", "text": words }]);
            let client_id = format!("{words}-{number}");
            let say =
                json!({ "type": "say", "session": id, "client_id": client_id, "content": content });
            socket.send(Message::text(say.to_string())).await?;
        }
        Ok(())
    }

    /// Listens to every session until its run ends: how long each token took from the model to here,
    /// in milliseconds.
    pub(super) async fn latencies(&mut self, time: Duration) -> anyhow::Result<Vec<f64>> {
        let until = Instant::now() + time;
        let mut all: FuturesUnordered<_> =
            self.0.iter_mut().map(|(_, socket)| listened(socket, until)).collect();
        let mut told = Vec::new();
        while let Some(one) = all.next().await {
            told.extend(one?);
        }
        Ok(told)
    }
}

async fn listened(socket: &mut Socket, until: Instant) -> anyhow::Result<Vec<f64>> {
    let mut told = Vec::new();
    loop {
        let frame = timeout_at(until, socket.next()).await.context("a run does not end")?;
        let frame = frame.context("a socket was closed")??;
        let now = now_us();
        let Ok(text) = frame.to_text() else { continue };
        if text.contains("\"run.finished\"") {
            return Ok(told);
        }
        // Facts hold the whole text again.
        if !text.contains("\"text.delta\"") {
            continue;
        }
        for token in text.split('T').skip(1) {
            let sent = token.get(..DIGITS).and_then(|digits| digits.parse::<u64>().ok());
            told.extend(sent.map(|sent| now.saturating_sub(sent) as f64 / 1e3));
        }
    }
}
