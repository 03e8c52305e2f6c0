//! Several servers on one PostgreSQL: what streams at one of them is seen at another, by whoever may
//! see the session and by nobody else (S17, S3). The real servers, sockets and database.

use std::time::{Duration, Instant};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio_tungstenite::tungstenite::Message;
use weir_test_kit::{
    ApiSocket, Browser, PATIENCE, ServerSetup, TestDatabase, TestInstallation, TestServer,
};

/// A first server, and a second that shares its key and sees its people's folders.
struct Pair {
    first: TestServer,
    second: TestServer,
    ann: Browser,
}

async fn pair(database: &TestDatabase, script: &str, second_script: &str) -> Pair {
    let setup =
        ServerSetup { script, database: Some(database.url.clone()), ..ServerSetup::default() };
    let mut first = TestServer::start(setup).await;
    let ann = first.person("ann").await;
    let home = first.house.at("home").display().to_string();
    let house = TestInstallation::new().with_variable("HOME", &home);
    house.set_scripted_model(second_script, "");
    let key = "state/weir/server.key";
    std::fs::create_dir_all(house.at("state/weir")).expect("writable");
    std::fs::copy(first.house.at(key), house.at(key)).expect("the key of the house");
    let second = TestServer::start_in(house, Some(database.url.clone())).await;
    Pair { first, second, ann }
}

async fn say(browser: &Browser, session: &str, client_id: &str) {
    let path = format!("/api/v1/sessions/{session}/input");
    let words = json!({ "client_id": client_id, "content": [{ "type": "text", "text": "Go." }] });
    let (status, said) = browser.api("POST", &path, Some(words)).await;
    assert_eq!(status, 202, "{said}");
}

/// The next frame of one of these types.
async fn frame(socket: &mut ApiSocket, kinds: &[&str]) -> Value {
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("a frame in time");
        let Some(Ok(Message::Text(text))) = message else {
            assert!(matches!(message, Some(Ok(_))), "closed before {kinds:?}: {message:?}");
            continue;
        };
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        if kinds.iter().any(|kind| frame["type"] == *kind) {
            return frame;
        }
    }
}

async fn subscribe(socket: &mut ApiSocket, session: &str, after: u64) -> Value {
    let frame_ = json!({ "type": "subscribe", "session": session, "after": after });
    socket.send(Message::Text(frame_.to_string().into())).await.expect("it is open");
    frame(socket, &["subscribed", "error"]).await
}

async fn following(browser: &Browser, session: &str, after: u64) -> ApiSocket {
    let mut socket = browser.socket().await;
    let answer = subscribe(&mut socket, session, after).await;
    assert_eq!(answer["type"], "subscribed", "{answer}");
    socket
}

async fn event(socket: &mut ApiSocket) -> Value {
    frame(socket, &["event"]).await["event"].clone()
}

/// Events until the run ends, facts and signals.
async fn run(socket: &mut ApiSocket) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let event = event(socket).await;
        let over = event["kind"] == "run.finished";
        found.push(event);
        if over {
            return found;
        }
    }
}

fn streamed(events: &[Value], kind: &str) -> String {
    let those = events.iter().filter(|event| event["kind"] == kind);
    those.filter_map(|event| event["text"].as_str()).collect()
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().filter_map(|event| event["seq"].as_u64()).collect()
}

/// Hears what goes from server to server.
struct Eavesdropper(PgListener);

impl Eavesdropper {
    /// On the channels of all servers that live.
    async fn new(database: &TestDatabase) -> Eavesdropper {
        let pool = PgPoolOptions::new().max_connections(2).connect(&database.url).await;
        let pool = pool.expect("the database");
        let names = sqlx::query_scalar("SELECT 'weir_' || id FROM holders").fetch_all(&pool).await;
        let names: Vec<String> = names.expect("the servers");
        let mut listener = PgListener::connect_with(&pool).await.expect("it may listen");
        listener.listen_all(names.iter().map(String::as_str)).await.expect("it may listen");
        Eavesdropper(listener)
    }

    /// What it has heard since: parcels of streams.
    async fn parcels(&mut self) -> Vec<String> {
        // All that was said before this is heard before it.
        let (mark, channel) = (format!("mark {:?}", Instant::now()), "eavesdropper");
        self.0.listen(channel).await.expect("it may listen");
        let mut heard = Vec::new();
        sqlx::query("SELECT pg_notify($1, $2)")
            .bind(channel)
            .bind(&mark)
            .execute(&mut self.0)
            .await
            .expect("it may speak");
        loop {
            let said = tokio::time::timeout(PATIENCE, self.0.recv()).await.expect("in time");
            let said = said.expect("the line holds").payload().to_owned();
            if said == mark {
                return heard;
            }
            if said.contains("\"body\"") {
                heard.push(said);
            }
        }
    }
}

/// Words that are all different, in order.
fn words(count: usize) -> String {
    (0..count).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_what_streams_at_one_server_is_seen_at_another() {
    let Some(database) = TestDatabase::create().await else { return };
    let text = words(250);
    let replies: String = (0..40).map(|_| "says: alone\n\n").collect();
    let script = format!(
        "name: test\n\nsays: {}\npace: 5ms\n\nthinks: a thought of it\nsays: {text}\npace: 30ms\n\n\
         {replies}",
        words(20)
    );
    let Pair { mut first, mut second, ann } =
        pair(&database, &script, "name: test\n\nsays: no\n").await;
    let session = ann.open().await;
    let mut wire = Eavesdropper::new(&database).await;
    // Nobody follows elsewhere: nothing is sent, whoever follows here.
    let mut here = following(&ann, &session, 0).await;
    say(&ann, &session, "one").await;
    assert!(!streamed(&run(&mut here).await, "text.delta").is_empty());
    assert_eq!(wire.parcels().await, Vec::<String>::new(), "nobody asked");

    let there = second.signed_in("ann").await;
    let mut tab = following(&there, &session, 0).await;
    let before = run(&mut tab).await;
    let seen = *seqs(&before).last().expect("facts");
    say(&ann, &session, "two").await;
    // One more comes when it streams already.
    let mut events = Vec::new();
    while !events.last().is_some_and(|event: &Value| event["kind"] == "text.delta") {
        events.push(event(&mut tab).await);
    }
    let mut late = following(&there, &session, seen).await;
    // Whoever may not see the session hears nothing of it.
    let bob = first.person("bob").await;
    drop(bob);
    let bob = second.signed_in("bob").await;
    let mut stranger = bob.socket().await;
    assert_eq!(subscribe(&mut stranger, &session, 0).await["type"], "error");
    events.extend(run(&mut tab).await);
    let late = run(&mut late).await;
    let here = run(&mut here).await;
    for (who, events) in [("here", &here), ("there", &events), ("late", &late)] {
        let told = streamed(events, "text.delta");
        assert!(!told.is_empty() && text.starts_with(&told), "{who}: {told:?}");
        let replied = events.iter().position(|event| event["kind"] == "model.replied");
        let last = events.iter().rposition(|event| event["kind"] == "text.delta");
        assert!(last < replied, "{who}: the fact that has it all comes after what streams");
        assert_eq!(seqs(events), seqs(&here), "{who}");
    }
    let deltas = events.iter().filter(|event| event["kind"] == "text.delta").count();
    assert!(deltas > 2, "it streams: {deltas}");
    assert_eq!(streamed(&events, "thinking.delta"), streamed(&here, "thinking.delta"));
    let parcels = wire.parcels().await;
    assert!(parcels.len() > 2, "it was sent");
    assert!(
        parcels.iter().all(|parcel| !parcel.contains(" word")),
        "whoever listens reads nothing"
    );

    // Nobody follows there any more: after a while nothing is sent.
    tab.close(None).await.expect("it closes");
    drop(tab);
    stranger.close(None).await.expect("it closes");
    let until = Instant::now() + PATIENCE;
    let mut here = following(&ann, &session, *seqs(&events).last().expect("facts")).await;
    drop(there);
    for n in 0.. {
        say(&ann, &session, &format!("more-{n}")).await;
        assert_eq!(streamed(&run(&mut here).await, "text.delta"), "alone");
        if wire.parcels().await.is_empty() {
            break;
        }
        assert!(Instant::now() < until, "it is sent on and on");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(first.stop().await, 0);
    assert_eq!(second.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_who_follows_a_server_that_is_killed_has_every_fact_and_nothing_twice() {
    let Some(database) = TestDatabase::create().await else { return };
    let text = words(2_000);
    let script = format!("name: test\n\nsays: {text}\npace: 100ms\n");
    let after = "Another answer than the one that was cut off.";
    let Pair { mut first, mut second, ann } =
        pair(&database, &script, &format!("name: test\n\nsays: {after}\npace: 20ms\n")).await;
    let session = ann.open().await;
    let there = second.signed_in("ann").await;
    let mut tab = following(&there, &session, 0).await;
    say(&ann, &session, "one").await;
    let mut events = Vec::new();
    while streamed(&events, "text.delta").len() < 40 {
        events.push(event(&mut tab).await);
    }
    first.kill();
    events.extend(run(&mut tab).await);
    let resumed = events.iter().position(|event| event["kind"] == "session.resumed");
    let (before, rest) = events.split_at(resumed.expect("another takes it up"));
    assert!(text.starts_with(&streamed(before, "text.delta")), "{before:?}");
    let told = streamed(rest, "text.delta");
    assert!(after.starts_with(&told), "what was cut off is not gone on with: {told:?}");
    let whole: Vec<u64> = (1..=seqs(&events).len() as u64).collect();
    assert_eq!(seqs(&events), whole, "no gap, none twice");
    let replied = rest.iter().find(|event| event["kind"] == "model.replied").expect("a reply");
    assert!(replied.to_string().contains(after), "{replied}");
    assert_eq!(second.stop().await, 0);
}
