//! What a person wants the summary to keep reaches the journal from every face of a server: API, form,
//! `/compact` in the composer, a terminal that is attached (X2). What the helper is told of it:
//! `scenarios/context`.

use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, TestServer, wait_until_async};

use super::chat::{begin, compose};

/// Three turns of reading. The first words are what the model says to its helper's question, too: it
/// answers by the number of replies.
const SCRIPT: &str = "name: test\n\n\
    says: The table is called orders_2024.\ncalls: read_file {\"path\": \"a.txt\"}\n\n\
    calls: read_file {\"path\": \"b.txt\"}\n\n\
    calls: read_file {\"path\": \"c.txt\"}\n\n\
    says: All three were read.\n";

async fn served() -> (TestServer, Browser, String) {
    served_by(SCRIPT).await
}

async fn served_by(script: &str) -> (TestServer, Browser, String) {
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    for name in ["a.txt", "b.txt", "c.txt"] {
        let path = served.house.work().join(name);
        served.house.write(&path, &format!("{name}\n").repeat(60));
    }
    let admin = served.admin().await;
    let chat = begin(&admin, "Read the three files.").await;
    let session = chat.trim_start_matches("/chats/").to_owned();
    kinds(&admin, &session, "run.finished", 1).await;
    (served, admin, session)
}

/// The facts of a kind, once there are so many of them.
async fn kinds(browser: &Browser, session: &str, kind: &str, count: usize) -> Vec<Value> {
    wait_until_async(&format!("there are {count} facts {kind}"), async || {
        let facts = browser.facts(session).await;
        let found: Vec<Value> = facts.into_iter().filter(|fact| fact["kind"] == kind).collect();
        if found.len() >= count { Ok(found) } else { Err(json!(found)) }
    })
    .await
}

/// What the last condensing of so many was to keep.
async fn kept(browser: &Browser, session: &str, times: usize) -> Value {
    let done = kinds(browser, session, "context.condensed", times).await;
    assert_eq!(done[times - 1]["pass"], 3, "a summary was made: {}", done[times - 1]);
    let begun = kinds(browser, session, "context.condensing", times).await;
    begun[times - 1]["keep"].clone()
}

#[tokio::test]
async fn x2_what_the_summary_keeps_is_said_over_http() {
    let (_served, admin, session) = served().await;
    let path = format!("/api/v1/sessions/{session}/condense");
    for (body, status) in
        [(json!({ "keep": "x".repeat(2_001) }), 400), (json!({ "words": "no such field" }), 422)]
    {
        let (answered, problem) = admin.api("POST", &path, Some(body)).await;
        assert_eq!(answered, status, "{problem}");
    }
    let (status, told) = admin.api("POST", &path, None).await;
    assert_eq!(status, 204, "as it was before there were words: {told}");
    assert_eq!(kept(&admin, &session, 1).await, Value::Null);
    let body = json!({ "keep": "the names of the tables" });
    let (status, told) = admin.api("POST", &path, Some(body)).await;
    assert_eq!(status, 204, "{told}");
    assert_eq!(kept(&admin, &session, 2).await, "the names of the tables");
}

/// Whoever asks for the session is given it when that is done, not turned away after half a minute.
#[tokio::test]
async fn s7_settings_that_change_while_the_context_is_made_shorter_hold_afterwards() {
    let slow = SCRIPT.replacen("\"a.txt\"}\n", "\"a.txt\"}\ndelay: 2s\n", 1);
    let (_served, admin, session) = served_by(&slow).await;
    let path = format!("/api/v1/sessions/{session}");
    let (status, told) = admin.api("POST", &format!("{path}/condense"), None).await;
    assert_eq!(status, 204, "{told}");
    let wish = json!({ "thinking": "high" });
    let (status, changed) = admin.api("PATCH", &path, Some(wish)).await;
    assert_eq!(status, 200, "{changed}");
    let facts = admin.facts(&session).await;
    let last = facts.iter().rfind(|fact| fact["config"].is_object()).expect("settings");
    assert_eq!(last["config"]["thinking"], "high", "{last}");
    let place = |kind: &str| facts.iter().rposition(|fact| fact["kind"] == kind);
    assert!(place("context.condensed").is_some(), "it was done: {facts:?}");
    assert!(place("context.condensed") < place("session.configured"), "{facts:?}");
}

#[tokio::test]
async fn s11_what_the_summary_keeps_is_said_on_the_chat_page() {
    let (_served, admin, session) = served().await;
    let chat = format!("/chats/{session}");
    let (_, page) = admin.get(&chat).await;
    assert!(page.contains("id=\"keep\" name=\"keep\" form=\"condense\""), "{page}");
    let fields = [("keep", "the names of the tables")];
    let (status, _, body) = admin.form(&format!("{chat}/condense"), &fields).await;
    assert_eq!(status, 303, "{body}");
    assert_eq!(kept(&admin, &session, 1).await, "the names of the tables");
    // The command of the page: offered, and never said to the model.
    let (status, offers) = admin.get(&format!("{chat}/complete?word=%2Fcomp")).await;
    assert!(status == 200 && offers.contains("\"insert\":\"/compact \""), "{offers}");
    let say = format!("{chat}/say");
    let words = [("text", "/compact  the names of the files ")];
    let (status, _, body) = compose(&admin, &say, &words, &[("a.txt", "a")]).await;
    assert_eq!(status, 400, "no files go with it: {body}");
    let (status, _, body) = compose(&admin, &say, &words, &[]).await;
    assert_eq!(status, 303, "{body}");
    assert_eq!(kept(&admin, &session, 2).await, "the names of the files");
    assert_eq!(kinds(&admin, &session, "input.accepted", 1).await.len(), 1, "nothing was said");
    let (_, page) = admin.get(&chat).await;
    assert!(page.contains("The summary is to keep: the names of the files."), "{page}");
}

#[tokio::test]
async fn f1_attach_what_the_summary_keeps_is_said_with_compact() {
    let (served, admin, session) = served().await;
    let wanted = json!({ "name": "terminal", "scope": "all" });
    let (_, made) = admin.api("POST", "/api/v1/account/tokens", Some(wanted)).await;
    let token = made["token"].as_str().expect("a token");
    let page = served.url(&format!("/chats/{session}"));
    let mut face = served.house.start_face(&[("WEIR_TOKEN", token)], &["--attach", &page]);
    face.until("All three were read.", 1).await;
    face.type_line("/compact the names of the tables");
    assert_eq!(kept(&admin, &session, 1).await, "the names of the tables");
    face.type_line(&format!("/compact {}", "x".repeat(2_001)));
    face.until("at most 2000", 1).await;
    assert!(!face.text().contains("no effect"), "{}", face.text());
}
