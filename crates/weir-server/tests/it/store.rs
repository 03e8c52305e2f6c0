//! Where a server keeps its data (D1, S17): in files that a setting moves, or in PostgreSQL with
//! several servers on one database, each with a disk of its own.

use serde_json::{Value, json};
use weir_test_kit::{
    Browser, ServerSetup, TestDatabase, TestInstallation, TestServer, wait_until_async,
};

/// Answers whatever is said, also to a server that did not hear what was said before.
const SCRIPT: &str = "name: test\n\nsays: The first answer.\n\nsays: The second answer.\n\n\
    says: The third answer.\n";

/// Says something and waits until the run is over and its answer is there.
async fn say(browser: &Browser, session: &str, client_id: &str, answer: &str) {
    let path = format!("/api/v1/sessions/{session}/input");
    let words = json!({
        "client_id": client_id, "content": [{ "type": "text", "text": "Say something." }],
    });
    let (status, said) = browser.api("POST", &path, Some(words)).await;
    assert_eq!(status, 202, "{said}");
    wait_until_async(&format!("{answer:?} was said"), async || {
        let (_, info) = browser.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
        let facts = journal(browser, session).await;
        let is_said = facts.iter().any(|fact| fact.contains(answer));
        if info["status"] == "completed" && is_said { Ok(()) } else { Err(info) }
    })
    .await;
}

/// Every fact of the journal, as an export tells it.
async fn journal(browser: &Browser, session: &str) -> Vec<String> {
    let (status, text) = browser.get(&format!("/api/v1/sessions/{session}/export")).await;
    assert_eq!(status, 200, "{text}");
    let is_fact =
        |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|line| line["seq"].is_u64());
    text.lines().filter(is_fact).map(str::to_owned).collect()
}

/// One more server on the same database. `home`: where people's files lie, if it sees them.
async fn replica(database: &TestDatabase, home: Option<&str>) -> TestServer {
    let house = TestInstallation::with_scripted_model(SCRIPT, "");
    let house = match home {
        Some(home) => house.with_variable("HOME", home),
        None => house,
    };
    TestServer::start_in(house, Some(database.url.clone())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_two_servers_on_one_database_are_one() {
    let Some(database) = TestDatabase::create().await else { return };
    let setup = ServerSetup {
        script: SCRIPT,
        database: Some(database.url.clone()),
        ..ServerSetup::default()
    };
    let mut first = TestServer::start(setup).await;
    let ann = first.person("ann").await;
    let session = ann.open().await;
    say(&ann, &session, "one", "The first answer.").await;
    // Whoever has an account has it at each, and finds what was said at the other.
    let mut second = replica(&database, None).await;
    let there = second.signed_in("ann").await;
    assert_eq!(journal(&there, &session).await, journal(&ann, &session).await);
    let other = second.signed_in("admin").await;
    let (status, _) = other.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!(status, 404, "not even an admin's");
    // Said at the second while the first still holds the session, and at the first again.
    say(&there, &session, "two", "The second answer.").await;
    say(&ann, &session, "three", "The third answer.").await;
    let facts = journal(&there, &session).await;
    assert_eq!(facts, journal(&ann, &session).await);
    let said = facts.iter().filter(|fact| fact.contains("\"input.accepted\"")).count();
    assert_eq!(said, 3, "each once: {facts:#?}");
    assert_eq!(first.stop().await, 0);
    // What the first held is free.
    let again = there.open().await;
    say(&there, &again, "four", "The first answer.").await;
    assert_eq!(second.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_what_a_killed_server_held_is_gone_on_with_at_another() {
    let Some(database) = TestDatabase::create().await else { return };
    let setup = ServerSetup {
        script: SCRIPT,
        database: Some(database.url.clone()),
        ..ServerSetup::default()
    };
    let mut first = TestServer::start(setup).await;
    let ann = first.person("ann").await;
    let session = ann.open().await;
    say(&ann, &session, "one", "The first answer.").await;
    let home = first.house.at("home").display().to_string();
    let second = replica(&database, Some(&home)).await;
    let there = second.signed_in("ann").await;
    let killed = std::process::Command::new("kill").args(["-9", &first.pid().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    say(&there, &session, "two", "The second answer.").await;
    let facts = journal(&there, &session).await;
    assert_eq!(facts.iter().filter(|fact| fact.contains("\"input.accepted\"")).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_a_setting_moves_the_files_of_everybody() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = format!("sqlite:{}", folder.path().join("data").display());
    let setup = ServerSetup { script: SCRIPT, database: Some(database), ..ServerSetup::default() };
    let mut served = TestServer::start(setup).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    say(&admin, &session, "one", "The first answer.").await;
    let ann = served.person("ann").await;
    let hers = ann.open().await;
    say(&ann, &hers, "one", "The first answer.").await;
    let data = folder.path().join("data");
    for file in ["server.db", "weir.db"] {
        assert!(data.join(file).is_file(), "{file}");
    }
    let people = std::fs::read_dir(data.join("people")).expect("ann's folder is below it");
    let own: Vec<_> = people.map(|entry| entry.expect("readable").path()).collect();
    assert_eq!(own.len(), 1);
    assert!(own[0].join("weir.db").is_file());
    served.kill_and_restart().await;
    assert!(!journal(&served.signed_in("ann").await, &hers).await.is_empty());
    let (status, _) = ann.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!(status, 404, "the admin's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s01_a_database_that_cannot_be_used_is_said_in_a_sentence() {
    for (database, says) in [
        ("postgres://ann:marker-7@127.0.0.1:1/weir", "check that it runs"),
        ("mysql://ann:marker-7@host/weir", "unknown kind"),
    ] {
        let house = TestInstallation::new();
        let said = house.run(&["serve", "--database", database]);
        assert_ne!(said.status, 0, "{}", said.err);
        let said = said.err;
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("marker-7"), "{said}");
    }
}
