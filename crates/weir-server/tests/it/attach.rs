//! `weir --attach`: one session of a running server, in a terminal and by HTTP at the same time (F1,
//! S3). The terminal is line mode over pipes: what it shows is what the link told it.

use serde_json::{Value, json};
use weir_test_kit::{Browser, RunningProgram, ServerSetup, TestServer, wait_until_async};

mod decisions;
mod door;
mod pause;
mod wind;

/// A token of this person.
async fn token(browser: &Browser) -> String {
    let wanted = json!({ "name": "terminal", "scope": "all" });
    let (status, made) = browser.api("POST", "/api/v1/account/tokens", Some(wanted)).await;
    assert_eq!(status, 201, "{made}");
    made["token"].as_str().expect("a token").to_owned()
}

/// The admin, and a face of theirs.
async fn attached(served: &mut TestServer) -> (Browser, RunningProgram) {
    let admin = served.admin().await;
    let token = token(&admin).await;
    let url = served.url("/");
    let face = served.house.start_face(&[("WEIR_TOKEN", &token)], &["--attach", &url]);
    (admin, face)
}

/// The only session there is.
async fn session(browser: &Browser) -> String {
    let (_, list) = browser.api("GET", "/api/v1/sessions", None).await;
    list["items"][0]["id"].as_str().unwrap_or_else(|| panic!("no session: {list}")).to_owned()
}

fn count(facts: &[Value], kind: &str) -> usize {
    facts.iter().filter(|fact| fact["kind"] == kind).count()
}

#[tokio::test]
async fn f1_attach_a_session_is_open_in_terminal_and_browser_at_once() {
    let script =
        "name: test\n\nsays: one two three four\npace: 30ms\n\nsays: Answer to the browser.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Count.");
    face.until("one two three four", 1).await;
    let session = session(&admin).await;
    let body = json!({ "client_id": "b1", "content": [{ "type": "text", "text": "And I?" }] });
    let path = format!("/api/v1/sessions/{session}/input");
    // The first run may still be ending.
    let (status, said) = admin.api("POST", &path, Some(body)).await;
    assert_eq!(status, 202, "{said}");
    face.until("Answer to the browser.", 1).await;
    face.type_line("/quit");
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{said}");
    let way = format!("weir --attach {} --resume {session}", served.url(""));
    assert!(said.contains(&way), "the way back: {said}");
    let facts = admin.facts(&session).await;
    assert_eq!(count(&facts, "input.accepted"), 2, "each once");
    // Taken up again, by the address of the chat's page too.
    let token = token(&admin).await;
    let page = served.url(&format!("/chats/{session}"));
    let mut again = served.house.start_face(&[("WEIR_TOKEN", &token)], &["--attach", &page]);
    again.until("Answer to the browser.", 1).await;
}

#[tokio::test]
async fn f1_attach_an_approval_is_answered_here_or_in_the_browser() {
    let script = "name: test\n\n\
        says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
        says: And again.\ncalls: append_to_file {\"path\": \"b.txt\", \"content\": \"b\\n\"}\n\n\
        says: Both are written.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Write two files.");
    face.until("a.txt", 1).await;
    let waits = waiting(&admin, "a.txt").await;
    assert_eq!(waits["kind"], "approval", "{waits}");
    face.type_line("yes");
    let second = waiting(&admin, "b.txt").await;
    let path = format!("/api/v1/approvals/{}", second["id"].as_str().expect("an id"));
    let (status, told) = admin.api("POST", &path, Some(json!({ "decision": "once" }))).await;
    assert_eq!(status, 200, "{told}");
    face.until("Both are written.", 1).await;
    let work = served.house.work();
    for (name, text) in [("a.txt", "a\n"), ("b.txt", "b\n")] {
        assert_eq!(std::fs::read_to_string(work.join(name)).expect("written"), text);
    }
    let session = session(&admin).await;
    let facts = admin.facts(&session).await;
    assert_eq!(count(&facts, "approval.resolved"), 2);
}

/// What is kept for projects, each with what its file begins with.
fn kept_rules(served: &TestServer) -> String {
    let Ok(files) = std::fs::read_dir(served.house.at("config/weir/projects")) else {
        return String::new();
    };
    files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}

/// A model that changes two files, each twice.
const CHANGES: &str = "name: test\n\n\
    calls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
    calls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
    calls: append_to_file {\"path\": \"b.txt\", \"content\": \"b\\n\"}\n\n\
    says: All is written.\n";

/// Always, said in the terminal and in the browser: kept for the project alone.
#[tokio::test]
async fn g4_always_at_a_server_keeps_the_rule_for_the_project_alone() {
    let mut served =
        TestServer::start(ServerSetup { script: CHANGES, ..ServerSetup::default() }).await;
    let config = std::fs::read_to_string(served.house.user_config()).expect("settings");
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Write.");
    face.until("in every project: weir permissions add allow 'Edit(", 1).await;
    waiting(&admin, "a.txt").await;
    face.type_line("always");
    let second = waiting(&admin, "b.txt").await;
    assert_eq!(second["kind"], "approval", "the second change of a.txt asks no more: {second}");
    face.until("always allowed in this project by admin", 1).await;
    let kept = kept_rules(&served);
    assert!(kept.contains("Edit(") && kept.contains("a.txt") && !kept.contains("b.txt"), "{kept}");
    assert!(kept.starts_with("# What was always allowed in "), "{kept}");
    // The same by the form of the browser's page, which says what it does.
    let session = session(&admin).await;
    let (_, page) = admin.get(&format!("/chats/{session}")).await;
    assert!(
        page.contains("weir permissions add allow &#39;Edit(") || page.contains("add allow 'Edit("),
        "{page}"
    );
    let approval = second["id"].as_str().expect("an id").replace('.', "-");
    let fields = [("approval", approval.as_str()), ("decision", "always")];
    let (status, _, body) = admin.form(&format!("/chats/{session}/decide"), &fields).await;
    assert_eq!(status, 303, "{body}");
    face.until("All is written.", 1).await;
    let kept = kept_rules(&served);
    assert!(kept.contains("a.txt") && kept.contains("b.txt"), "{kept}");
    let now = std::fs::read_to_string(served.house.user_config()).expect("settings");
    assert_eq!(now, config, "no other project has it");
}

/// What cannot be kept is told to whoever wanted it, in the terminal, by the form and over HTTP.
#[tokio::test]
async fn g4_always_that_cannot_be_kept_is_told() {
    let script = CHANGES.replacen("a.txt", "c.txt", 1);
    let mut served =
        TestServer::start(ServerSetup { script: &script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Write.");
    waiting(&admin, "c.txt").await;
    // From now on a file stands where the folder of the projects would be.
    served.house.write(&served.house.at("config/weir/projects"), "");
    face.type_line("always");
    face.until("allowed for this session alone", 1).await;
    let second = waiting(&admin, "a.txt").await;
    let path = format!("/api/v1/approvals/{}", second["id"].as_str().expect("an id"));
    let (status, told) = admin.api("POST", &path, Some(json!({ "decision": "always" }))).await;
    assert_eq!((status, &told["decision"]), (200, &json!("always")), "{told}");
    assert!(told["unkept"].as_str().is_some_and(|why| why.contains("projects")), "{told}");
    let third = waiting(&admin, "b.txt").await;
    let approval = third["id"].as_str().expect("an id").replace('.', "-");
    let fields = [("approval", approval.as_str()), ("decision", "always")];
    let session = session(&admin).await;
    let (status, _, body) = admin.form(&format!("/chats/{session}/decide"), &fields).await;
    assert_eq!(status, 409, "{body}");
    assert!(body.contains("for this session alone"), "{body}");
    face.until("All is written.", 1).await;
}

#[tokio::test]
async fn v2_attach_takes_the_level_of_thinking_of_the_flag() {
    let script = "name: test\n\nsays: First answer.\n\nsays: Second answer.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let token = token(&admin).await;
    let url = served.url("/");
    let env = [("WEIR_TOKEN", token.as_str())];
    let mut face = served.house.start_face(&env, &["--attach", &url, "--thinking", "high"]);
    face.type_line("One.");
    face.until("First answer.", 1).await;
    let session = session(&admin).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
    let level = |facts: &[Value], kind: &str| {
        let found = facts.iter().rfind(|fact| fact["kind"] == kind);
        found.map(|fact| fact["config"]["thinking"].clone()).unwrap_or_default()
    };
    let opened = admin.facts(&session).await;
    assert_eq!(level(&opened, "session.opened"), "high");
    // In a session that exists it holds from then on.
    let words = ["--attach", &url, "--resume", &session, "--thinking", "low"];
    let mut again = served.house.start_face(&env, &words);
    again.until("thinking: low", 1).await;
    again.type_line("Two.");
    again.until("Second answer.", 1).await;
    let changed = admin.facts(&session).await;
    assert_eq!(level(&changed, "session.configured"), "low");
}

/// Waits until something of this person's waits that is about this.
async fn waiting(browser: &Browser, about: &str) -> Value {
    browser.until_asked(about, |one| one["input"]["path"] == about).await
}

/// Waits for the copy of a session.
async fn copy_of(browser: &Browser, first: &str) -> String {
    wait_until_async("there is a copy", async || {
        let (_, list) = browser.api("GET", "/api/v1/sessions", None).await;
        let copy =
            list["items"].as_array().and_then(|all| all.iter().find(|one| one["parent"] == first));
        copy.map(|copy| copy["id"].as_str().expect("an id").to_owned()).ok_or(list)
    })
    .await
}

#[tokio::test]
async fn f1_attach_a_killed_server_that_comes_back_is_gone_on_with() {
    let script = "name: test\n\nsays: First answer.\n\ndelay: 1500ms\nsays: Second answer.\n\n\
        says: Third answer.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("One.");
    face.until("First answer.", 1).await;
    let session = session(&admin).await;
    let address = served.address().to_owned();
    face.type_line("Two.");
    wait_until_async("it was said", async || {
        let said = count(&admin.facts(&session).await, "input.accepted");
        if said >= 2 { Ok(()) } else { Err(format!("{said} were said")) }
    })
    .await;
    served.kill();
    face.until("connection lost", 1).await;
    // Said while nobody hears it: it arrives, and once.
    face.type_line("Three.");
    served.restart_at(&address);
    face.until("connected again", 1).await;
    face.until("Second answer.", 1).await;
    face.until("Third answer.", 1).await;
    let facts = admin.facts(&session).await;
    assert_eq!(count(&facts, "input.accepted"), 3, "each once");
    let said = face.text();
    for answer in ["First answer.", "Second answer.", "Third answer."] {
        assert_eq!(said.matches(answer).count(), 1, "{answer} once: {said}");
    }
}

#[tokio::test]
async fn s3_attach_whoever_is_not_let_in_is_told_what_to_do() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let url = served.url("");
    served.admin().await;
    for (token, url, status, words) in [
        ("weir_wrong", url.as_str(), 2, "refuses the token of the variable WEIR_TOKEN"),
        ("", url.as_str(), 2, "make a token in the browser"),
        ("x", "http://127.0.0.1:1", 1, "cannot be reached"),
        ("", "http://127.0.0.1:1", 1, "cannot be reached"),
        ("x", "http://weir.example.org", 2, "not encrypted"),
        ("x", "127.0.0.1:7717", 2, "no address"),
    ] {
        let face = served.house.start_face(&[("WEIR_TOKEN", token)], &["--attach", url]);
        let (ended, said) = face.close_input_until_end().await.status_and_text();
        assert_eq!(ended, status, "{url}: {said}");
        assert!(said.contains(words), "{url}: {said}");
    }
}

#[tokio::test]
async fn f1_attach_undo_fork_list_and_export_reach_the_server() {
    let script = "name: test\n\n\
        says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"new\\n\"}\n\n\
        says: It is written.\n\nsays: In the copy.\n";
    let config = "permission = \"auto-edit\"\n";
    let mut served =
        TestServer::start(ServerSetup { script, config, ..ServerSetup::default() }).await;
    let file = served.house.work().join("a.txt");
    served.house.write(&file, "old\n");
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Write it.");
    face.until("It is written.", 1).await;
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "old\nnew\n");
    let first = session(&admin).await;
    admin.until_status(&first, "completed").await;
    face.type_line("/undo");
    face.until("put back: a.txt", 1).await;
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "old\n");
    face.type_line("/export mine.md");
    face.until("the session is written to", 1).await;
    let text = std::fs::read_to_string(served.house.work().join("mine.md")).expect("exported");
    assert!(text.contains("It is written."), "{text}");
    face.type_line("/export mine.md");
    face.until("is there already", 1).await;
    face.type_line("!touch here.txt");
    face.until("commands of your own are not run from here", 1).await;
    assert!(!served.house.work().join("here.txt").exists());
    face.type_line("/checkpoints");
    face.until("append_to_file", 1).await;
    let (status, meter) =
        admin.api("GET", &format!("/api/v1/sessions/{first}/context"), None).await;
    assert_eq!(status, 200, "{meter}");
    assert!(meter["calls"] == 1 && meter["history"].as_u64() > Some(0), "{meter}");
    face.type_line("/context");
    face.until("This session", 1).await;
    face.until(&format!("history: {} tokens", meter["history"]), 1).await;
    face.type_line("/resume");
    face.until("Write it.", 1).await;
    face.type_line("/fork");
    copy_of(&admin, &first).await;
    face.type_line("Go on.");
    face.until("In the copy.", 1).await;
    assert_eq!(count(&admin.facts(&first).await, "input.accepted"), 1, "the first is as it was");
}

/// Runs of a session that is long enough to be told from a later place.
const MANY_RUNS: usize = 90;

#[tokio::test]
async fn q10_a_long_session_has_a_place_from_which_on_it_can_be_shown() {
    let says: String = (1..=MANY_RUNS).map(|n| format!("says: Answer {n}.\n\n")).collect();
    let script = format!("name: test\n\n{says}");
    let mut served =
        TestServer::start(ServerSetup { script: &script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("One.");
    face.until("Answer 1.", 1).await;
    let session = session(&admin).await;
    let start = format!("/api/v1/sessions/{session}/start");
    let (status, found) = admin.api("GET", &start, None).await;
    assert_eq!((status, &found["after"], &found["seen"]), (200, &json!(0), &Value::Null));
    let input = format!("/api/v1/sessions/{session}/input");
    for n in 2..=MANY_RUNS {
        admin.until_status(&session, "completed").await;
        let content = json!([{ "type": "text", "text": format!("Question {n}.") }]);
        let body = json!({ "client_id": format!("b{n}"), "content": content });
        let (status, said) = admin.api("POST", &input, Some(body)).await;
        assert_eq!(status, 202, "{said}");
        face.until(&format!("Answer {n}."), 1).await;
    }
    admin.until_status(&session, "completed").await;
    let (status, found) = admin.api("GET", &start, None).await;
    assert_eq!(status, 200, "{found}");
    let after = found["after"].as_u64().expect("a place");
    let facts = admin.facts(&session).await;
    assert!(after > 0 && after < facts.len() as u64, "{after} of {}", facts.len());
    assert_eq!(found["seen"]["place"]["seq"], after, "what is seen there");
    assert!(found["format"].as_str().is_some_and(|format| !format.is_empty()), "{found}");
    let newer = facts.iter().filter(|fact| fact["seq"].as_u64() > Some(after));
    let said = newer.filter(|fact| fact["kind"] == "input.accepted").count();
    assert!(said > 20 && said < MANY_RUNS, "the newest stand after it: {said}");
    check_parts(&admin, &session, after).await;
}

/// What stands before event `after` can be read in parts, each from a place on, down to the first event.
async fn check_parts(admin: &Browser, session: &str, after: u64) {
    let (mut before, mut parts) = (after, 0);
    while before > 0 {
        let start = format!("/api/v1/sessions/{session}/start?before={before}&events=60");
        let (status, found) = admin.api("GET", &start, None).await;
        assert_eq!((status, &found["seen"]), (200, &Value::Null), "{found}");
        let place = found["after"].as_u64().expect("a place");
        assert_eq!(found["place"]["seq"], place, "what is known there");
        assert!(place == 0 || place + 60 <= before, "{place} and {before}");
        (before, parts) = (place, parts + 1);
    }
    assert!(parts > 1, "they are parts of it");
}
