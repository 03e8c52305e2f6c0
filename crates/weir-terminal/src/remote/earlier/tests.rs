//! A session that begins at a settled place, at a server that breaks off each of its answers: what is told by
//! itself, and what is read of the part before when it is wished for.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::super::address::ServerAddress;
use super::super::follow::{FollowedSession, FollowedState, follow_session};
use super::*;

/// Facts of the session.
const FACTS: Seq = 20;
/// The last one before the place at which it begins here.
const BEFORE: Seq = 16;
/// The last one before the place in the middle of those.
const PLACE: Seq = 6;
/// Facts of an answer.
const ANSWERED: Seq = 4;

/// What is asked of the server.
type AskedPaths = Arc<Mutex<Vec<String>>>;

/// A number that stands in a request.
fn asked_number(path: &str, name: &str) -> Option<Seq> {
    let (_, rest) = path.split_once(&format!("{name}="))?;
    rest.split('&').next()?.parse().ok()
}

/// The next facts after the one that is asked for, and then nothing more; or a place before some.
fn answer_text(path: &str, format: &str) -> String {
    if path.contains("/start?") {
        let before = asked_number(path, "before").unwrap_or_default();
        let wanted = asked_number(path, "events").unwrap_or_default();
        let seq = if PLACE + wanted <= before { PLACE } else { 0 };
        let settings = json!({ "model": "", "profile": "", "permission": null, "thinking": null });
        let place = json!({ "seq": seq, "is_running": false, "last_call": null,
            "settings": settings });
        let body = json!({ "format": format, "after": seq, "seen": null, "place": place });
        return format!("content-type: application/json\r\nconnection: close\r\n\r\n{body}");
    }
    let mut text = "content-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    let after = asked_number(path, "after").unwrap_or_default();
    let until = asked_number(path, "until").unwrap_or(FACTS);
    for seq in after + 1..=until.min(FACTS).min(after + ANSWERED) {
        text.push_str(&format!("id: {seq}\ndata: {}\n\n", fact(seq, "run.started")));
    }
    text
}

fn fact(seq: Seq, kind: &str) -> String {
    let fact = json!({ "v": 1, "ts": "2026-01-02T03:04:05.000006Z", "session": "s1", "seq": seq,
        "kind": kind, "run": "r1", "trigger": "user" });
    fact.to_string()
}

async fn answer(mut stream: TcpStream, asked: AskedPaths, format: &str) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let text = format!("HTTP/1.1 200 OK\r\n{}", answer_text(&path, format));
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// A server whose places have this form, and what is asked of it.
async fn serve(format: &'static str) -> (Arc<ServerClient>, AskedPaths) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    let asked = AskedPaths::default();
    let heard = asked.clone();
    // It ends with the test.
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever has gone needs no answer.
            let _ = answer(stream, heard.clone(), format).await;
        }
    });
    let address = ServerAddress::parse_address(&url).expect("it is an address");
    (Arc::new(ServerClient::new(address).await.expect("it can be made")), asked)
}

fn asked_paths(asked: &AskedPaths) -> Vec<String> {
    asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn places(facts: &[PlacedFact]) -> Vec<Seq> {
    facts.iter().map(|at| at.seq).collect()
}

#[tokio::test]
async fn q10_attach_nothing_is_asked_for_from_before_the_place_at_which_a_session_begins() {
    let (http, asked) = serve(SNAPSHOT_FORMAT).await;
    let (news, mut heard) = mpsc::channel(16);
    let followed = FollowedSession { http, session: SessionId::new("s1"), news };
    let seen = FollowedState { last: BEFORE, ..FollowedState::default() };
    let following = tokio::spawn(follow_session(followed, Arc::new(Mutex::new(seen))));
    let mut told = Vec::new();
    while told.last() != Some(&FACTS) {
        match heard.recv().await.expect("it is followed") {
            UiUpdate::Fact { seq, .. } => told.push(seq),
            UiUpdate::Lost(_) => (),
            other => panic!("{other:?}"),
        }
    }
    following.abort();
    assert_eq!(told, (BEFORE + 1..=FACTS).collect::<Vec<Seq>>());
    let paths = asked_paths(&asked);
    assert!(paths.iter().all(|path| asked_number(path, "after") >= Some(BEFORE)), "{paths:?}");
}

#[tokio::test]
async fn q10_attach_a_part_is_read_from_its_place_on_each_fact_once() {
    let (http, asked) = serve(SNAPSHOT_FORMAT).await;
    let session = SessionId::new("s1");
    let (from, facts) = read_part(&http, &session, BEFORE, 5).await.expect("it is read");
    assert_eq!(from.seq, PLACE);
    assert_eq!(places(&facts), (PLACE + 1..=BEFORE).collect::<Vec<Seq>>());
    // Its answers were broken off, and none was asked for more than is wanted.
    let paths = asked_paths(&asked);
    let streams: Vec<_> = paths.iter().map(|path| asked_number(path, "after")).collect();
    assert_eq!(streams, [None, Some(6), Some(10), Some(14)], "{paths:?}");
    assert!(paths[1..].iter().all(|path| asked_number(path, "until") == Some(BEFORE)));
    // The rest begins with the first fact.
    let (from, facts) = read_part(&http, &session, PLACE, 5).await.expect("it is read");
    assert_eq!((from, places(&facts)), (SettledPlace::START, (1..=PLACE).collect()));
}

#[tokio::test]
async fn q10_attach_a_server_of_another_form_tells_all_that_stands_before() {
    let (http, asked) = serve("another").await;
    let read = read_part(&http, &SessionId::new("s1"), BEFORE, 5).await;
    let (from, facts) = read.expect("it is read");
    assert_eq!((from.seq, places(&facts)), (0, (1..=BEFORE).collect()));
    let paths = asked_paths(&asked);
    assert!(paths.iter().all(|path| asked_number(path, "until").is_none()), "{paths:?}");
}

#[tokio::test]
async fn q10_attach_a_part_that_is_not_there_is_an_error_and_no_endless_attempt() {
    let (http, asked) = serve(SNAPSHOT_FORMAT).await;
    let read = read_part(&http, &SessionId::new("s1"), FACTS + 5, 5).await;
    assert!(matches!(read, Err(RequestError::Lost { .. })), "{read:?}");
    assert!(asked_paths(&asked).len() < 10);
}

#[tokio::test]
async fn q10_attach_each_earlier_fact_is_taken_once_and_none_is_passed_over() {
    let address = ServerAddress::parse_address("http://127.0.0.1:1").expect("it is an address");
    let http = ServerClient::new(address).await.expect("it can be made");
    let session = SessionId::new("s1");
    let part = |next: Seq| EarlierPart {
        http: &http,
        session: &session,
        next,
        last: 3,
        has_end: true,
        facts: Vec::new(),
    };
    let message =
        |event: &str, seq, kind| StreamMessage { event: event.into(), data: fact(seq, kind) };
    let mut read = part(1);
    // A second connection begins with what the first one had told.
    for seq in [1, 2, 1, 2, 3, 4, 5] {
        read.take_message(&message("", seq, "run.started")).expect("it is one of them");
    }
    assert_eq!(places(&read.facts), [1, 2, 3]);
    let mut read = part(1);
    let found = read.take_message(&message("error", 1, "run.started"));
    assert!(matches!(found, Err(RequestError::Lost { .. })), "{found:?}");
    for (seq, kind) in [(2, "run.started"), (1, "dream.began")] {
        let found = read.take_message(&message("", seq, kind));
        assert!(matches!(found, Err(RequestError::Strange(_))), "{seq} {kind}");
    }
    assert!(read.facts.is_empty(), "none of those counts as read");
}
