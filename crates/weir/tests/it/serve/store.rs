//! Where a server keeps its data (D1, S17): in files that a setting moves, or in PostgreSQL with
//! several servers on one database, each with a disk of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};

use super::harness::{Browser, Served, Setup};
use crate::house::House;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Answers whatever is said, also to a server that did not hear what was said before.
const SCRIPT: &str = "name: test\n\nsays: The first answer.\n\nsays: The second answer.\n\n\
    says: The third answer.\n";

/// A new database, gone with this.
pub(super) struct Database {
    pub(super) url: String,
    admin: PgConnectOptions,
    name: String,
}

/// `None`: there is no server to make it in, and that was said. In CI there must be one.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was left out")]
pub(super) async fn database() -> Option<Database> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let local = "postgres://postgres@127.0.0.1:5432/postgres";
    let server = std::env::var("WEIR_TEST_POSTGRES").unwrap_or_else(|_| local.to_owned());
    let admin: PgConnectOptions = server.parse().expect("a URL");
    let mut connection = match admin.connect().await {
        Ok(connection) => connection,
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("SKIPPED: no PostgreSQL to test with: {error}");
            return None;
        }
        Err(error) => panic!("CI has no PostgreSQL: {error}"),
    };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir_serve_{}_{count}", std::process::id());
    let made = connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await;
    made.expect("the user of the test server may make databases");
    let (address, query) = server.split_once('?').unwrap_or((&server, ""));
    let end = address.rfind('/').expect("a URL with a database");
    let url = format!("{}/{name}?{query}", &address[..end]);
    Some(Database { url, admin, name })
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let gone = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                // What cannot be removed does no harm: the name is not used again.
                let Ok(mut connection) = admin.connect().await else { return };
                let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                let _ = connection.execute(AssertSqlSafe(sql)).await;
            });
        });
        let _ = gone.join();
    }
}

/// Says something and waits until the run is over and its answer is there.
async fn say(browser: &Browser, session: &str, client_id: &str, answer: &str) {
    let path = format!("/api/v1/sessions/{session}/input");
    let words = json!({
        "client_id": client_id, "content": [{ "type": "text", "text": "Say something." }],
    });
    let (status, said) = browser.api("POST", &path, Some(words)).await;
    assert_eq!(status, 202, "{said}");
    let until = Instant::now() + PATIENCE;
    loop {
        let (_, info) = browser.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
        let facts = journal(browser, session).await;
        if info["status"] == "completed" && facts.iter().any(|fact| fact.contains(answer)) {
            return;
        }
        assert!(Instant::now() < until, "no {answer:?}: {info}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
async fn replica(database: &Database, home: Option<&str>) -> Served {
    let house = House::new();
    let house = match home {
        Some(home) => house.with("HOME", home),
        None => house,
    };
    let path = house.at("test.script");
    house.write(&path, SCRIPT);
    house.write(&house.user_config(), &format!("model = \"script:{}\"\n", path.display()));
    Served::start_in(house, Some(database.url.clone())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_two_servers_on_one_database_are_one() {
    let Some(database) = database().await else { return };
    let setup = Setup { script: SCRIPT, database: Some(database.url.clone()), ..Setup::default() };
    let mut first = Served::start(setup).await;
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
    let Some(database) = database().await else { return };
    let setup = Setup { script: SCRIPT, database: Some(database.url.clone()), ..Setup::default() };
    let mut first = Served::start(setup).await;
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
    let setup = Setup { script: SCRIPT, database: Some(database), ..Setup::default() };
    let mut served = Served::start(setup).await;
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
        let house = House::new();
        let said = house.run(&["serve", "--database", database]);
        assert_ne!(said.status, 0, "{}", said.err);
        let said = said.err;
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("marker-7"), "{said}");
    }
}
