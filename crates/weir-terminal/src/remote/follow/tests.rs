//! A session that begins at a settled place, at a server that breaks off each of its answers.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use weir_core::ids::{Seq, SessionId};
use weir_tui::link::UiUpdate;

use super::super::address::ServerAddress;
use super::super::http::ServerClient;
use super::{FollowedSession, FollowedState, follow_session};

/// Facts of the session.
const FACTS: Seq = 10;
/// The last one before the place.
const BEFORE: Seq = 6;
/// Facts of an answer.
const ANSWERED: Seq = 4;

/// The next facts after the one that is asked for, and then nothing more.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let asked = head.split_once("after=").and_then(|(_, rest)| rest.split_whitespace().next());
    let after: Seq = asked.and_then(|after| after.parse().ok()).unwrap_or_default();
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    connection: close\r\n\r\n"
        .to_owned();
    for seq in after + 1..=FACTS.min(after + ANSWERED) {
        let fact = json!({ "v": 1, "ts": "2026-01-02T03:04:05.000006Z", "session": "s1",
            "seq": seq, "kind": "run.started", "run": "r1", "trigger": "user" });
        text.push_str(&format!("id: {seq}\ndata: {fact}\n\n"));
    }
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[tokio::test]
async fn q10_attach_the_newer_facts_come_first_and_then_each_earlier_one_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever has gone needs no answer.
            let _ = answer(stream).await;
        }
    });
    let address = ServerAddress::parse_address(&url).expect("it is an address");
    let http = Arc::new(ServerClient::new(address).await.expect("it can be made"));
    let (news, mut heard) = mpsc::channel(16);
    let session = SessionId::new("s1");
    let followed = FollowedSession { http, session, news, known: FACTS, before: BEFORE };
    let seen = FollowedState { last: BEFORE, ..FollowedState::default() };
    let following = tokio::spawn(follow_session(followed, Arc::new(Mutex::new(seen))));
    let (mut newer, mut earlier) = (Vec::new(), Vec::new());
    while (earlier.len() as Seq) < BEFORE {
        match heard.recv().await.expect("it is followed") {
            UiUpdate::Fact { seq, .. } => newer.push(seq),
            UiUpdate::Earlier(facts) => {
                assert_eq!(newer, [7, 8, 9, 10], "they come first");
                earlier.extend(facts.into_iter().map(|at| at.seq));
            }
            UiUpdate::Lost(_) => (),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(earlier, (1..=BEFORE).collect::<Vec<Seq>>());
    following.abort();
    server.abort();
}
