//! A paired telephone follows sessions of other programs, says something, pauses, lets go on and ends (R5),
//! over the real socket and with its own sign-in; and it answers what an editor's and a schedule's sessions
//! ask. Not here: how a run pauses (`weir-core`), and commands in every setting (`weir-scenario`).

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use weir_test_kit::{ApiSocket, PATIENCE, wait_until};

use super::{ONCE, Setting, WRITES};
use crate::editor::Editor;

/// As journals name it.
const BY: &str = "admin (phone Pixel)";

async fn send(socket: &mut ApiSocket, frame: Value) {
    socket.send(Message::Text(frame.to_string().into())).await.expect("it is open");
}

/// The next event of this kind.
async fn until_event(socket: &mut ApiSocket, kind: &str) -> Value {
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.expect("a frame in time");
        let message = message.unwrap_or_else(|| panic!("closed before a {kind}")).expect("a frame");
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        assert_ne!(frame["type"], "error", "before a {kind}: {frame}");
        if frame["event"]["kind"] == kind {
            return frame["event"].clone();
        }
    }
}

/// Where the first fact of this kind stands.
fn place(facts: &[Value], kind: &str) -> usize {
    let found = facts.iter().position(|fact| fact["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {facts:#?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_follows_a_terminals_session_says_something_pauses_it_and_ends_it() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    let (status, listed) = phone.api("GET", "/api/v1/sessions", None).await;
    assert_eq!(status, 200, "{listed}");
    assert!(listed.to_string().contains(&session), "it is listed: {listed}");
    let mut socket = phone.socket().await;
    send(&mut socket, json!({ "type": "subscribe", "session": session, "after": 0 })).await;
    let asked = until_event(&mut socket, "approval.requested").await;
    assert_eq!(asked["tool"], "write_file", "{asked}");

    let content = json!([{ "type": "text", "text": "In English." }]);
    let say = json!({ "type": "say", "session": session, "client_id": "p1", "content": content });
    send(&mut socket, say).await;
    let accepted = until_event(&mut socket, "input.accepted").await;
    assert_eq!(accepted["by"], BY, "{accepted}");

    let deed = |deed: &str| format!("/api/v1/sessions/{session}/{deed}");
    let (status, paused) = phone.api("POST", &deed("pause"), None).await;
    assert_eq!((status, &paused["by"]), (200, &json!(BY)), "{paused}");
    assert_eq!(until_event(&mut socket, "run.paused").await["by"], BY);
    let (status, resumed) = phone.api("POST", &deed("resume"), None).await;
    assert_eq!((status, &resumed["paused"]), (200, &json!(false)), "{resumed}");
    assert_eq!(until_event(&mut socket, "run.resumed").await["by"], BY);

    send(&mut socket, json!({ "type": "cancel", "session": session })).await;
    assert_eq!(until_event(&mut socket, "cancel.requested").await["by"], BY);
    assert_eq!(until_event(&mut socket, "run.finished").await["status"], "cancelled");
    let told = run.wait_for_end();
    assert!(told.err.contains(&format!("Paused by {BY}")), "the terminal says it: {}", told.err);
    assert!(!setting.is_written());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_pauses_one_session_over_a_kill_and_lets_it_go_on() {
    let mut setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let asked = phone.until_asked("a.txt", |one| one["session"] == session.as_str()).await;
    let deed = |deed: &str| format!("/chats/{session}/{deed}");
    // By the buttons of the page, without scripts.
    let (status, location, page) = phone.form(&deed("pause"), &[]).await;
    assert_eq!((status, location), (303, format!("/chats/{session}#composer")), "{page}");
    let approval = format!("/api/v1/approvals/{}", asked["id"].as_str().expect("an id"));
    let yes = json!({ "decision": "once" });
    let (status, settled) = phone.api("POST", &approval, Some(yes)).await;
    assert_eq!(status, 200, "{settled}");
    setting.served.kill_and_restart().await;

    let (_, info) = phone.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!(info["paused_by"], BY, "{info}");
    let (_, page) = phone.get(&format!("/chats/{session}")).await;
    assert!(page.contains(&format!("Paused by {BY}")), "{page}");
    assert!(page.contains("data-paused=\"true\""), "{page}");
    assert!(!setting.is_written());
    let (status, _, page) = phone.form(&deed("resume"), &[]).await;
    assert_eq!(status, 303, "{page}");
    wait_until("the call runs", || if setting.is_written() { Ok(()) } else { Err("no file") });
    phone.until_status(&session, "completed").await;
    let facts = setting.admin.facts(&session).await;
    let resumed = place(&facts, "run.resumed");
    assert!(place(&facts, "run.paused") < place(&facts, "approval.resolved"), "{facts:#?}");
    assert!(place(&facts, "approval.resolved") < resumed, "{facts:#?}");
    assert!(resumed < place(&facts, "call.started"), "nothing began in between: {facts:#?}");

    let (status, refused) =
        phone.api("POST", &format!("/api/v1/sessions/{session}/pause"), None).await;
    assert_eq!(status, 409, "no run is on: {refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_pausing_a_run_that_nobody_has_begins_nothing_of_it() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    run.kill();
    // The call may run by now: whoever takes the session up runs it.
    let house = &setting.served.house;
    let listed = house.json(&["approvals", "list", "--json"]);
    let approval = listed["approvals"][0]["approval"].as_str().expect("it is asked").to_owned();
    house.ok(&["approvals", "answer", &approval, "once"]);
    let deed = |deed: &str| format!("/api/v1/sessions/{session}/{deed}");
    let (status, paused) = phone.api("POST", &deed("pause"), None).await;
    assert_eq!((status, &paused["by"]), (200, &json!(BY)), "{paused}");
    let facts = setting.admin.facts(&session).await;
    assert_eq!(facts.last().map(|fact| &fact["kind"]), Some(&json!("run.paused")), "{facts:#?}");
    assert!(!setting.is_written());
    let (status, resumed) = phone.api("POST", &deed("resume"), None).await;
    assert_eq!((status, &resumed["paused"]), (200, &json!(false)), "{resumed}");
    phone.until_status(&session, "completed").await;
    assert!(setting.is_written());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_the_command_line_lets_go_on_what_a_telephone_paused() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    let path = format!("/api/v1/sessions/{session}/pause");
    let (status, paused) = phone.api("POST", &path, None).await;
    assert_eq!(status, 200, "{paused}");
    let house = &setting.served.house;
    let told = house.ok(&["pause", "--session", &session]);
    assert!(told.contains(&format!("is paused by {BY}")), "who was first: {told}");
    let told = house.ok(&["release", "--session", &session]);
    assert!(told.contains("goes on"), "{told}");
    let page = setting.page_of(&session).await;
    let (status, _, done) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 200, "{done}");
    let told = run.wait_for_end();
    assert_eq!(told.status, 0, "{}", told.err);
    assert!(setting.is_written());
    assert!(house.ok(&["release", "--session", &session]).contains("was not paused"));
    let told = house.usage_error(&["pause", "--session", &session]);
    assert!(told.contains("no run"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_answers_what_an_editors_session_asks() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let mut editor = Editor::start(&setting.served.house).await;
    let folder = json!({ "cwd": editor.folder, "mcpServers": [] });
    let opened = editor.ask("session/new", &folder).await;
    let session = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}"));
    let session = session.to_owned();
    let prompt = editor.begin_prompt(&session, "Write it.");
    let page = setting.page_of(&session).await;
    let (status, _, done) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 200, "{done}");
    let ended = editor.answer(prompt).await;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert!(setting.is_written());
    assert_eq!(setting.answered_by(&session).await["by"], BY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_answers_what_a_scheduled_session_asks() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let agent = json!({
        "name": "tick", "prompt": "Write it.", "cron": "* * * * * *", "tools": ["write_file"],
        "on_ask": "queue",
    });
    let (status, made) = setting.admin.api("POST", "/api/v1/agents", Some(agent)).await;
    assert_eq!(status, 201, "{made}");
    let asked = phone.until_asked("a.txt", |one| one["input"]["path"] == "a.txt").await;
    // No other run is to ask as well.
    let (status, _) = setting.admin.api("POST", "/api/v1/agents/tick/pause", None).await;
    assert_eq!(status, 200);
    let session = asked["session"].as_str().expect("a session").to_owned();
    let page = setting.page_of(&session).await;
    let (status, _, done) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 200, "{done}");
    phone.until_status(&session, "completed").await;
    let facts = setting.admin.facts(&session).await;
    assert_eq!(facts[place(&facts, "run.started")]["trigger"], "schedule", "{facts:#?}");
    assert_eq!(facts[place(&facts, "approval.resolved")]["by"], BY, "{facts:#?}");
    assert_eq!(facts[place(&facts, "call.finished")]["ok"], true, "{facts:#?}");
}
