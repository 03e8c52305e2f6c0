//! Sessions as browsers and programs live them (S3, C7, D5): the real server, sockets and streams.

use std::io::Write as _;
use std::time::{Duration, Instant};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use weir_test_kit::{ApiSocket, Browser, PATIENCE, ServerSetup, TestServer};

/// A reply that does not come before the server is ended, after a call that writes.
const WRITES: &str = "name: test\n\n\
    says: I write.\ncalls: append_to_file {\"path\": \"log.txt\", \"content\": \"line\\n\"}\n\n\
    delay: 600s\nsays: Written once.\n\n";
/// Free to write.
const FREE: &str = "permission = \"auto-edit\"\n";

fn words(client_id: &str, text: &str) -> Value {
    json!({ "client_id": client_id, "content": [{ "type": "text", "text": text }] })
}

async fn say(browser: &Browser, session: &str, client_id: &str, text: &str) -> Value {
    let path = format!("/api/v1/sessions/{session}/input");
    let (status, said) = browser.api("POST", &path, Some(words(client_id, text))).await;
    assert_eq!(status, 202, "{said}");
    said
}

/// Every fact of the journal, as an export tells it, but for the hashes that only an export has.
async fn journal(browser: &Browser, session: &str) -> Vec<Value> {
    let (status, text) = browser.get(&format!("/api/v1/sessions/{session}/export")).await;
    assert_eq!(status, 200, "{text}");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let facts = lines.filter(|line| line["seq"].is_u64());
    facts
        .map(|mut fact| {
            let hash = fact.as_object_mut().and_then(|fields| fields.remove("hash"));
            assert!(hash.is_some_and(|hash| hash.is_string()), "{fact}");
            fact
        })
        .collect()
}

fn kinds<'a>(facts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    facts.iter().filter(|fact| fact["kind"] == kind).collect()
}

async fn send(socket: &mut ApiSocket, frame: Value) {
    socket.send(Message::Text(frame.to_string().into())).await.expect("it is open");
}

/// The next frame that is JSON; `None`: the connection was closed.
async fn next(socket: &mut ApiSocket) -> Option<Value> {
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("a frame in time");
        match message {
            Some(Ok(Message::Text(text))) => {
                return Some(serde_json::from_str(&text).expect("JSON"));
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => (),
        }
    }
}

/// The next frame of this type.
async fn of_type(socket: &mut ApiSocket, kind: &str) -> Value {
    loop {
        let frame = next(socket).await.unwrap_or_else(|| panic!("closed before a {kind}"));
        if frame["type"] == kind {
            return frame;
        }
    }
}

/// The code with which the server closes.
async fn closed(socket: &mut ApiSocket) -> Option<(u16, String)> {
    loop {
        match tokio::time::timeout(PATIENCE, socket.next()).await.expect("an end in time") {
            Some(Ok(Message::Close(frame))) => {
                return frame.map(|frame| (u16::from(frame.code), frame.reason.to_string()));
            }
            Some(Ok(_)) => (),
            Some(Err(_)) | None => return None,
        }
    }
}

async fn subscribed(browser: &Browser, session: &str, after: u64) -> ApiSocket {
    let mut socket = browser.socket().await;
    send(&mut socket, json!({ "type": "subscribe", "session": session, "after": after })).await;
    of_type(&mut socket, "subscribed").await;
    socket
}

/// Events until the run ends, facts and signals.
async fn events(socket: &mut ApiSocket) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let event = of_type(socket, "event").await["event"].clone();
        let over = event["kind"] == "run.finished";
        found.push(event);
        if over {
            return found;
        }
    }
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().filter_map(|event| event["seq"].as_u64()).collect()
}

#[tokio::test]
async fn s3_text_streams_and_facts_come_in_order_to_every_tab() {
    let script = "name: test\n\nsays: one two three four five six\npace: 200ms\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    let mut tabs = [subscribed(&admin, &session, 0).await, subscribed(&admin, &session, 0).await];
    let frame = json!({ "type": "say", "session": session, "client_id": "u1",
        "content": [{ "type": "text", "text": "Count." }] });
    send(&mut tabs[0], frame).await;
    let said = of_type(&mut tabs[0], "said");
    let said = tokio::time::timeout(PATIENCE, said).await.expect("an answer");
    assert_eq!((&said["client_id"], &said["input"]), (&json!("u1"), &json!("i1")), "{said}");
    assert_eq!(said["run"], "r1", "{said}");
    let second = events(&mut tabs[1]).await;
    let facts = journal(&admin, &session).await;
    let whole: Vec<u64> = (1..=facts.len() as u64).collect();
    assert_eq!(seqs(&second), whole[..seqs(&second).len()], "no gap, none twice");
    let deltas: Vec<&Value> = kinds(&second, "text.delta");
    assert!(deltas.len() > 1, "it streams: {deltas:?}");
    let text: String = deltas.iter().filter_map(|delta| delta["text"].as_str()).collect();
    assert_eq!(text, "one two three four five six");
    let replied = second.iter().position(|event| event["kind"] == "model.replied");
    let last = second.iter().rposition(|event| event["kind"] == "text.delta");
    assert!(last < replied, "what is streamed comes before the fact that has it all");
    // The other tab misses at most what went by while it waited for its answer: it asks again.
    let mut again = subscribed(&admin, &session, 0).await;
    let first = events(&mut again).await;
    assert_eq!(seqs(&first), seqs(&second), "both tell the same");
}

#[tokio::test]
async fn s3_a_reconnect_misses_nothing_wherever_it_is_cut() {
    let calls: String = (0..12)
        .map(|n| {
            format!(
                "says: Step {n}.\npace: 5ms\ncalls: search_files {{\"pattern\": \"word{n}\"}}\n\n"
            )
        })
        .collect();
    let script = format!("name: test\n\n{calls}says: Done with all of it.\npace: 5ms\n");
    let mut served =
        TestServer::start(ServerSetup { script: &script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    say(&admin, &session, "u1", "Look twelve times.").await;
    // Each round reads another number of frames, then the line is cut.
    let mut dice: u64 = 0x5EED_2026;
    let (mut seen, mut got, mut cuts) = (0, Vec::new(), 0);
    loop {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let mut socket = subscribed(&admin, &session, seen).await;
        let mut over = false;
        for _ in 0..1 + dice % 9 {
            let event = of_type(&mut socket, "event").await["event"].clone();
            if let Some(seq) = event["seq"].as_u64() {
                seen = seq;
                got.push(event.clone());
            }
            over |= event["kind"] == "run.finished";
            if over {
                break;
            }
        }
        drop(socket);
        cuts += 1;
        if over {
            break;
        }
    }
    assert!(cuts > 5, "it was cut again and again: {cuts}");
    let facts = journal(&admin, &session).await;
    assert_eq!(got, facts[..got.len()], "exactly the journal, after {cuts} cuts");
    assert_eq!(kinds(&got, "call.finished").len(), 12);
}

#[tokio::test]
async fn c7_the_stream_of_events_honours_where_a_client_was() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    say(&admin, &session, "u1", "Go.").await;
    admin.until_status(&session, "completed").await;
    let facts = journal(&admin, &session).await;
    let last = facts.len() as u64;
    let path = format!("/api/v1/sessions/{session}/events?after=0");
    for (header, first) in [(None, 1), (Some(last - 2), last - 1)] {
        let mut request = admin.request("GET", &path);
        if let Some(id) = header {
            request = request.header("last-event-id", id.to_string());
        }
        let mut response = request.send().await.expect("it answers");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut text = String::new();
        while !text.contains(&format!("id: {last}\n")) {
            let chunk = tokio::time::timeout(PATIENCE, response.chunk()).await.expect("in time");
            text.push_str(&String::from_utf8_lossy(&chunk.expect("bytes").expect("more")));
        }
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        let ids: Vec<u64> = ids.map(|id| id.parse().expect("a place")).collect();
        assert_eq!(ids, (first..=last).collect::<Vec<u64>>(), "{text}");
    }
    let beyond = format!("/api/v1/sessions/{session}/events?after={}", last + 50);
    assert_eq!(admin.api("GET", &beyond, None).await.0, 400);
}

#[tokio::test]
async fn c7_a_repeated_client_id_says_nothing_twice_also_after_a_crash() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    let many = (0..8).map(|_| say(&admin, &session, "same", "Once only."));
    let answers = futures::future::join_all(many).await;
    for answer in &answers {
        assert_eq!(answer, &answers[0], "everybody gets the first answer");
    }
    admin.until_status(&session, "completed").await;
    served.kill_and_restart().await;
    assert_eq!(say(&admin, &session, "same", "Once only.").await, answers[0]);
    let mut socket = admin.socket().await;
    let frame = json!({ "type": "say", "session": session, "client_id": "same",
        "content": [{ "type": "text", "text": "Once only." }] });
    send(&mut socket, frame).await;
    assert_eq!(of_type(&mut socket, "said").await["input"], answers[0]["input"]);
    let facts = journal(&admin, &session).await;
    assert_eq!(kinds(&facts, "input.accepted").len(), 1);
    assert_eq!(kinds(&facts, "run.started").len(), 1);
}

#[tokio::test]
async fn d5_a_killed_run_goes_on_without_help_and_nothing_happens_twice() {
    let mut served =
        TestServer::start(ServerSetup { script: WRITES, config: FREE, ..ServerSetup::default() })
            .await;
    let admin = served.admin().await;
    let session = admin.open().await;
    let mut socket = subscribed(&admin, &session, 0).await;
    say(&admin, &session, "u1", "Write a line.").await;
    let mut seen = 0;
    loop {
        let event = of_type(&mut socket, "event").await["event"].clone();
        seen = event["seq"].as_u64().unwrap_or(seen);
        if event["kind"] == "call.finished" {
            break;
        }
    }
    served.kill();
    // From here on the model thinks no longer.
    served.house.write(&served.house.at("test.script"), &WRITES.replace("delay: 600s\n", ""));
    served.restart().await;
    let mut socket = subscribed(&admin, &session, seen).await;
    let rest = events(&mut socket).await;
    assert_eq!(seqs(&rest)[0], seen + 1, "the stream goes on where it was cut");
    admin.until_status(&session, "completed").await;
    let log = std::fs::read_to_string(served.house.work().join("log.txt")).expect("written");
    assert_eq!(log, "line\n", "the call was not repeated");
    let facts = journal(&admin, &session).await;
    assert_eq!(kinds(&facts, "run.started").len(), 1);
    assert_eq!(kinds(&facts, "session.resumed").len(), 1);
    assert_eq!(kinds(&facts, "call.started").len(), 1);
}

/// Waits until the session was taken up so often.
async fn until_resumed(browser: &Browser, session: &str, times: usize) {
    let until = Instant::now() + PATIENCE;
    while kinds(&journal(browser, session).await, "session.resumed").len() < times {
        assert!(Instant::now() < until, "{session} is not taken up");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

fn now() -> weir_core::ids::Timestamp {
    weir_core::ids::Timestamp(jiff::Timestamp::now().as_microsecond())
}

#[tokio::test]
async fn d5_a_session_that_crashes_three_times_is_left_alone_until_released() {
    let script = "name: test\n\ndelay: 600s\nsays: Late.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let (session, other) = (admin.open().await, admin.open().await);
    for id in [&session, &other] {
        say(&admin, id, "u1", "Wait.").await;
    }
    let (_, me) = admin.api("GET", "/api/v1/me", None).await;
    let person = me["id"].as_str().expect("an id").to_owned();
    for times in 1..=3 {
        served.kill_and_restart().await;
        for id in [&session, &other] {
            until_resumed(&admin, id, times).await;
        }
        // As if the program had ended while it took the session up.
        let state = served.house.at("state/weir");
        let records = weir_store::open_records("", &state).await.expect("the records");
        let entry = |machine: &str, id: &str| weir_engine::ports::RecordEntry {
            kind: "resuming".into(),
            name: format!("{machine}/127.0.0.1:0"),
            owner: String::new(),
            text: json!({ "sessions": [format!("{person}/{id}")] }).to_string(),
            version: 0,
            expires: None,
            ts: weir_core::ids::Timestamp::default(),
        };
        // What another replica takes up, at the same address of its own machine, is no crash of this one.
        let anew = weir_engine::ports::RecordEntry { ts: now(), ..entry("another", &other) };
        records.put(&anew, None).await.expect("written");
        let machine = hostname::get().expect("this machine has a name");
        let entry = entry(&machine.to_string_lossy(), &session);
        // The server takes its own away once what it takes up gets on.
        let until = Instant::now() + PATIENCE;
        while records.get(&entry.kind, &entry.name, now()).await.expect("readable").is_some() {
            assert!(Instant::now() < until, "the server still takes sessions up");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        // A container that is always a new one comes back under another name: its entry is old by then.
        let left = match times {
            2 => weir_engine::ports::RecordEntry { name: "gone/127.0.0.1:0".into(), ..entry },
            _ => entry,
        };
        records.put(&left, None).await.expect("written");
    }
    served.kill_and_restart().await;
    admin.until_status(&session, "quarantined").await;
    admin.until_status(&other, "running").await;
    let path = format!("/api/v1/sessions/{session}/input");
    let (status, refused) = admin.api("POST", &path, Some(words("u2", "Go on."))).await;
    assert_eq!((status, &refused["code"]), (409, &json!("quarantined")), "{refused}");
    let path = format!("/api/v1/sessions/{session}/release");
    let (status, released) = admin.api("POST", &path, Some(json!({}))).await;
    assert_eq!((status, &released["status"]), (200, &json!("running")), "{released}");
    say(&admin, &session, "u2", "Go on.").await;
}

#[tokio::test]
async fn s3_a_reader_that_reads_nothing_holds_nobody_up() {
    let script = "name: test\n\nsays: word and word again and again\nrepeat: 3000\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    // One who was waited for would take half a minute of each run. Other work on the machine makes a run
    // slower and never faster.
    let mut took = Vec::new();
    let (session, mut idle) = loop {
        let session = admin.open().await;
        let idle = subscribed(&admin, &session, 0).await;
        let began = Instant::now();
        say(&admin, &session, "u1", "Talk.").await;
        admin.until_status(&session, "completed").await;
        took.push(began.elapsed());
        if took.iter().any(|took| *took < Duration::from_secs(30)) {
            break (session, idle);
        }
        assert!(took.len() < 5, "{took:?}");
    };
    let late = events(&mut idle).await;
    let facts = journal(&admin, &session).await;
    assert_eq!(seqs(&late), (1..=late_last(&late)).collect::<Vec<u64>>(), "nothing is missing");
    assert!(facts.len() as u64 >= late_last(&late));
}

fn late_last(events: &[Value]) -> u64 {
    seqs(events).into_iter().max().unwrap_or_default()
}

#[tokio::test]
async fn s3_frames_that_mean_nothing_or_are_too_large_end_well() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let mut socket = admin.socket().await;
    assert_eq!(next(&mut socket).await.expect("hello")["type"], "hello");
    for text in ["", "{", "[]", "null", "{\"type\":\"shout\",\"client_id\":\"c9\"}", "\u{0}"] {
        socket.send(Message::Text(text.into())).await.expect("it is open");
        let error = next(&mut socket).await.expect("an answer");
        assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("bad_request")));
        let id = if text.contains("c9") { json!("c9") } else { Value::Null };
        assert_eq!(error["client_id"], id, "{text}");
    }
    socket.send(Message::Binary(vec![1, 2, 3].into())).await.expect("it is open");
    assert_eq!(next(&mut socket).await.expect("an answer")["type"], "error");
    // A session of nobody, and one more place than there are facts.
    send(&mut socket, json!({ "type": "subscribe", "session": "nobody" })).await;
    assert_eq!(next(&mut socket).await.expect("an answer")["code"], "not_found");
    send(&mut socket, json!({ "type": "cancel", "session": "nobody", "client_id": "c1" })).await;
    let error = next(&mut socket).await.expect("an answer");
    assert_eq!((&error["code"], &error["client_id"]), (&json!("not_found"), &json!("c1")));
    // It still works.
    send(&mut socket, json!({ "type": "ping", "client_id": "c2" })).await;
    assert_eq!(of_type(&mut socket, "pong").await["client_id"], "c2");
    let large = "x".repeat((1 << 20) + 4096);
    // The server may close before all of it is sent.
    let _ = socket.send(Message::Text(large.into())).await;
    assert!(next(&mut socket).await.is_none(), "a frame that is too large ends the connection");
    let mut noisy = admin.socket().await;
    for _ in 0..40 {
        if noisy.send(Message::Text("{".into())).await.is_err() {
            break;
        }
    }
    assert!(closed(&mut noisy).await.is_none_or(|(code, _)| code == 1008));
    assert_eq!(admin.api("GET", "/api/v1/sessions", None).await.0, 200, "the server is well");
}

#[tokio::test]
async fn s3_another_site_opens_no_socket_and_a_signed_out_one_ends() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let url = format!("ws://{}/api/v1/ws", served.address());
    let own = admin.origin();
    for (origin, cookie, expected) in [
        (Some("https://evil.example"), true, 403),
        (Some("null"), true, 403),
        (Some("http://127.0.0.1:1"), true, 403),
        (None, true, 403),
        (Some(own.as_str()), false, 401),
    ] {
        let mut request = url.clone().into_client_request().expect("an address");
        let headers = request.headers_mut();
        if let Some(origin) = origin {
            headers.insert("origin", origin.parse().expect("a header"));
        }
        if cookie {
            headers.insert("cookie", admin.cookie().parse().expect("a header"));
        }
        let refused = tokio_tungstenite::connect_async(request).await.expect_err("refused");
        let tokio_tungstenite::tungstenite::Error::Http(response) = refused else {
            panic!("{origin:?}: {refused}");
        };
        assert_eq!(response.status().as_u16(), expected, "{origin:?}");
    }
    let ann = served.person("ann").await;
    let mut socket = ann.socket().await;
    of_type(&mut socket, "hello").await;
    let (status, _) = ann.api("POST", "/api/v1/logout", Some(json!({}))).await;
    assert!(status < 300, "signed out: {status}");
    let (code, why) = closed(&mut socket).await.expect("a reason");
    assert_eq!((code, why.as_str()), (1008, "you are signed out"));
}

#[tokio::test]
async fn s17_a_run_of_the_command_line_is_watched_and_told_something_from_the_browser() {
    // The run of the terminal goes on when the browser has spoken, however long that takes.
    let script = "name: test\n\n\
        says: First look.\n\
        calls: run_shell {\"command\": \"until [ -e go ]; do sleep 0.1; done\"}\n\n\
        says: And on.\ncalls: list_files {\"path\": \".\"}\n\nsays: Over.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let mut child = served.house.command(&["run", "--permission", "full", "From the terminal."]);
    let mut child = child
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let until = Instant::now() + PATIENCE;
    let session = loop {
        let (_, list) = admin.api("GET", "/api/v1/sessions", None).await;
        let running = list["items"].as_array().expect("a list").iter();
        let mut running = running.filter(|line| line["status"] == "running");
        if let Some(line) = running.next() {
            break line["id"].as_str().expect("an id").to_owned();
        }
        assert!(Instant::now() < until, "it is not listed: {list}");
        tokio::time::sleep(Duration::from_millis(30)).await;
    };
    let mut socket = subscribed(&admin, &session, 0).await;
    let said = say(&admin, &session, "from-browser", "A word from the browser.").await;
    assert_eq!(said["input"], "i2", "{said}");
    served.house.write(&served.house.work().join("go"), "");
    let seen = events(&mut socket).await;
    assert!(child.wait().expect("it ends").success());
    let inputs = kinds(&seen, "input.accepted");
    let by: Vec<&str> = inputs.iter().filter_map(|f| f["by"].as_str()).collect();
    assert_eq!(by.len(), 2, "{inputs:?}");
    assert_eq!(by[1], "admin");
    assert_eq!(seqs(&seen), (1..=late_last(&seen)).collect::<Vec<u64>>());
    // The server takes the session over once the terminal is done with it.
    say(&admin, &session, "later", "And now here.").await;
    admin.until_status(&session, "completed").await;
}

#[tokio::test]
async fn s4_the_switch_ends_runs_and_lets_none_begin() {
    let script = "name: test\n\ndelay: 600s\nsays: Late.\n\nsays: Later.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let session = admin.open().await;
    say(&admin, &session, "u1", "Wait.").await;
    admin.until_status(&session, "running").await;
    let all = json!({ "all": true, "reason": "fire drill" });
    assert_eq!(ann.api("POST", "/api/v1/pause", Some(all.clone())).await.0, 403);
    let (status, paused) = admin.api("POST", "/api/v1/pause", Some(all)).await;
    assert_eq!((status, &paused["all"]), (200, &json!(true)), "{paused}");
    admin.until_status(&session, "paused").await;
    let path = format!("/api/v1/sessions/{session}/input");
    let (status, refused) = admin.api("POST", &path, Some(words("u2", "Go."))).await;
    assert_eq!((status, &refused["code"]), (409, &json!("paused")), "{refused}");
    // What was taken before is answered all the same.
    assert_eq!(say(&admin, &session, "u1", "Wait.").await["input"], "i1");
    let (status, refused) = ann.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!((status, &refused["code"]), (409, &json!("paused")), "{refused}");
    assert_eq!(ann.api("POST", "/api/v1/release", Some(json!({}))).await.0, 409);
    served.kill_and_restart().await;
    let (status, refused) = admin.api("POST", &path, Some(words("u2", "Go."))).await;
    assert_eq!((status, &refused["code"]), (409, &json!("paused")), "{refused}");
    let (_, released) = admin.api("POST", "/api/v1/release", Some(json!({ "all": true }))).await;
    assert_eq!(released["paused"], false, "{released}");
    ann.open().await;
    say(&admin, &session, "u2", "Go.").await;
}

#[tokio::test]
async fn g4_an_answer_from_another_terminal_counts_and_the_first_one_wins() {
    let script = "name: test\n\n\
        calls: write_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\n\
        calls: write_file {\"path\": \"b.txt\", \"content\": \"two\\n\"}\n\nsays: Both asked.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    let mut socket = subscribed(&admin, &session, 0).await;
    say(&admin, &session, "u1", "Write both.").await;
    admin.until_status(&session, "waiting").await;
    let first = admin.until_asked("the call", |_| true).await;
    assert_eq!(first["tool"], "write_file", "{first}");
    assert!(first["diff"].as_str().is_some_and(|diff| diff.contains("+one")), "{first}");
    let name = first["id"].as_str().expect("a name");
    assert_eq!(name, format!("{session}.a1"));
    let path = format!("/api/v1/approvals/{name}");
    let (status, alone) = admin.api("GET", &path, None).await;
    assert_eq!((status, &alone), (200, &first), "one alone is told as in the list");
    served.house.ok(&["approvals", "answer", &format!("{session}-a1"), "once"]);
    let (status, gone) = admin.api("GET", &path, None).await;
    assert_eq!((status, &gone["code"]), (404, &json!("not_found")), "it does not wait any more");
    let deny = json!({ "decision": "deny", "reason": "too late" });
    let (status, late) = admin.api("POST", &path, Some(deny)).await;
    assert_eq!((status, &late["code"]), (409, &json!("answered")), "{late}");
    let second = admin.until_asked("the next call", |one| one["id"] != name).await["id"]
        .as_str()
        .expect("a name")
        .to_owned();
    // It waits through a crash, and is answered then.
    served.kill_and_restart().await;
    admin.until_status(&session, "waiting").await;
    drop(socket);
    socket = subscribed(&admin, &session, 0).await;
    let frame = json!({ "type": "decide", "approval": second, "decision": "deny", "reason": "No.",
        "client_id": "d2" });
    send(&mut socket, frame).await;
    let seen = events(&mut socket).await;
    let resolved = kinds(&seen, "approval.resolved");
    let told: Vec<&str> = resolved.iter().filter_map(|f| f["decision"].as_str()).collect();
    assert_eq!(told, ["once", "deny"]);
    assert_eq!(
        std::fs::read_to_string(served.house.work().join("a.txt")).expect("written"),
        "one\n"
    );
    assert!(!served.house.work().join("b.txt").exists());
}

#[tokio::test]
async fn s7_chats_are_named_pinned_put_away_forked_taken_along_and_removed() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    say(&admin, &session, "u1", "Where is the zebra kept?").await;
    let done = admin.until_status(&session, "completed").await;
    assert_eq!(done["title"], "Where is the zebra kept?");
    let path = format!("/api/v1/sessions/{session}");
    let change = json!({ "title": "Stripes", "pinned": true });
    let (status, changed) = admin.api("PATCH", &path, Some(change)).await;
    assert_eq!(
        (status, &changed["title"], &changed["pinned"]),
        (200, &json!("Stripes"), &json!(true))
    );
    let (status, forked) = admin.api("POST", &format!("{path}/fork"), Some(json!({}))).await;
    assert_eq!((status, &forked["parent"]), (201, &json!(session)), "{forked}");
    let fork = forked["id"].as_str().expect("an id").to_owned();
    let (_, list) = admin.api("GET", "/api/v1/sessions?limit=1", None).await;
    assert_eq!(list["items"][0]["id"], json!(session), "pinned ones come first");
    let more = format!("/api/v1/sessions?limit=1&after={}", list["next"].as_str().expect("more"));
    let (_, rest) = admin.api("GET", &more, None).await;
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!(fork), &Value::Null));
    let (_, found) = admin.api("GET", "/api/v1/sessions?q=zebra", None).await;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(2), "{found}");
    let away = json!({ "archived": true });
    assert_eq!(admin.api("PATCH", &format!("/api/v1/sessions/{fork}"), Some(away)).await.0, 200);
    let (_, list) = admin.api("GET", "/api/v1/sessions", None).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let wish = json!({ "permission": "plan" });
    let (status, changed) = admin.api("PATCH", &path, Some(wish)).await;
    assert_eq!((status, &changed["permission"]), (200, &json!("plan")), "{changed}");
    for (format, words) in
        [("markdown", "Where is the zebra kept?"), ("html", "<html"), ("jsonl", "\"seq\":1")]
    {
        let (status, headers, body) =
            admin.get_whole(&format!("{path}/export?format={format}")).await;
        assert_eq!(status, 200);
        let way = headers["content-disposition"].to_str().expect("text");
        assert!(way.starts_with("attachment"), "{way}");
        assert!(String::from_utf8_lossy(&body).contains(words), "{format}");
    }
    for id in [&session, &fork] {
        let (status, gone) = admin.api("DELETE", &format!("/api/v1/sessions/{id}"), None).await;
        assert_eq!(status, 204, "{gone}");
        assert_eq!(admin.api("GET", &format!("/api/v1/sessions/{id}"), None).await.0, 404);
    }
    let (_, list) = admin.api("GET", "/api/v1/sessions?archived=true", None).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(0), "{list}");
}

#[tokio::test]
async fn s3_listeners_stay_when_a_session_goes_to_rest_and_is_taken_up_again() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    // More of them than the server has threads: none of them may keep it busy.
    let mut sockets = Vec::new();
    for _ in 0..16 {
        sockets.push(subscribed(&admin, &session, 1).await);
    }
    let path = format!("/api/v1/sessions/{session}");
    for mode in ["plan", "auto-edit", "plan"] {
        let (status, changed) =
            admin.api("PATCH", &path, Some(json!({ "permission": mode }))).await;
        assert_eq!((status, &changed["permission"]), (200, &json!(mode)), "{changed}");
    }
    say(&admin, &session, "u1", "Go.").await;
    let facts = admin.until_status(&session, "completed").await["facts"].as_u64();
    for socket in &mut sockets {
        let seen = events(socket).await;
        assert_eq!(kinds(&seen, "session.configured").len(), 3);
        assert_eq!(seqs(&seen), (2..=late_last(&seen)).collect::<Vec<u64>>());
        assert!(Some(late_last(&seen)) <= facts);
    }
}

#[tokio::test]
async fn x5_files_are_uploaded_said_and_given_back_only_to_their_person() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let session = admin.open().await;
    let png = base64::Engine::decode(
        &base64::engine::general_purpose::STANDARD,
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    )
    .expect("base64");
    let mut body = Vec::new();
    write!(
        body,
        "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"dot.png\"\r\n\r\n"
    )
    .expect("memory");
    body.extend_from_slice(&png);
    body.extend_from_slice(b"\r\n--b--\r\n");
    let request = admin
        .request("POST", "/api/v1/attachments")
        .header("x-csrf-token", admin.token())
        .header("content-type", "multipart/form-data; boundary=b")
        .body(body);
    let response = admin.send(request).await;
    let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
    assert_eq!(status, 201, "{text}");
    let made: Value = serde_json::from_str(&text).expect("JSON");
    let id = made[0]["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{session}/input");
    let content =
        json!([{ "type": "text", "text": "Look." }, { "type": "attachment", "attachment": id }]);
    let input = json!({ "client_id": "u1", "content": content });
    let theirs = ann.open().await;
    let (status, _) =
        ann.api("POST", &format!("/api/v1/sessions/{theirs}/input"), Some(input.clone())).await;
    assert_eq!(status, 404, "another's file is not there");
    let (status, said) = admin.api("POST", &path, Some(input)).await;
    assert_eq!(status, 202, "{said}");
    admin.until_status(&session, "completed").await;
    let facts = journal(&admin, &session).await;
    let content = kinds(&facts, "input.accepted")[0]["content"].to_string();
    let blob = content.split("\"blob\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let blob = blob.unwrap_or_else(|| panic!("no blob in {content}"));
    let path = format!("/api/v1/sessions/{session}/blobs/{blob}");
    let (status, headers, _) = admin.get_whole(&path).await;
    assert_eq!((status, &headers["content-type"]), (200, &"image/png".parse().expect("a header")));
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(ann.api("GET", &path, None).await.0, 404);
    let other = admin.open().await;
    let (status, _) =
        admin.api("GET", &format!("/api/v1/sessions/{other}/blobs/{blob}"), None).await;
    assert_eq!(status, 404, "only the session that names it gives it");
}

#[tokio::test]
async fn g7_changes_are_taken_back_from_the_browser_with_a_preview() {
    let script = "name: test\n\ncalls: write_file {\"path\": \"a.txt\", \"content\": \"new\\n\"}\n\nsays: Done.\n";
    let mut served =
        TestServer::start(ServerSetup { script, config: FREE, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let file = served.house.work().join("a.txt");
    std::fs::write(&file, "old\n").expect("written");
    let session = admin.open().await;
    say(&admin, &session, "u1", "Change it.").await;
    admin.until_status(&session, "completed").await;
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "new\n");
    let (_, list) =
        admin.api("GET", &format!("/api/v1/sessions/{session}/checkpoints"), None).await;
    let id = list[0]["id"].as_str().unwrap_or_else(|| panic!("none: {list}")).to_owned();
    let path = format!("/api/v1/checkpoints/{id}/restore");
    let (status, preview) = admin.api("POST", &path, Some(json!({ "preview": true }))).await;
    assert_eq!(status, 200, "{preview}");
    assert!(
        preview["changes"][0]["diff"].as_str().is_some_and(|diff| diff.contains("+old")),
        "{preview}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "new\n", "only looked at");
    let (status, done) = admin.api("POST", &path, Some(json!({}))).await;
    assert_eq!(status, 200, "{done}");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "old\n");
    let facts = journal(&admin, &session).await;
    assert_eq!(kinds(&facts, "checkpoint.restored").len(), 1);
    let again = done["checkpoint"].as_str().expect("it can be undone");
    let path = format!("/api/v1/checkpoints/{again}/restore");
    assert_eq!(admin.api("POST", &path, Some(json!({}))).await.0, 200);
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "new\n");
}
