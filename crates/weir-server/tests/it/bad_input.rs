//! `weir serve` when what it stands on gives way (D9): a full disk, one that becomes read-only,
//! damaged files, a certificate that ends. A clear error, nothing that was confirmed is lost, effects
//! stop, and work goes on by itself when it is put right. What `weir run` does: `weir`, `bad_disk.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_rustls::rustls;
use weir_test_kit::{
    Browser, ServerSetup, SmallDisk, TestInstallation, TestServer, damage_page,
    file_writing_script, wait_until_async, written_files,
};

const MEGABYTE: u64 = 1024 * 1024;
/// Everything that a person opens.
const PAGES: &[&str] = &["/", "/chats", "/approvals", "/agents", "/files", "/audit", "/admin"];

async fn readyz(served: &TestServer) -> (u16, Value) {
    served.stranger().api("GET", "/readyz", None).await
}

async fn say(browser: &Browser, session: &str, words: &str) -> (u16, Value) {
    let body = json!({ "content": [{ "type": "text", "text": words }] });
    browser.api("POST", &format!("/api/v1/sessions/{session}/input"), Some(body)).await
}

async fn status_of(browser: &Browser, session: &str) -> String {
    let (_, info) = browser.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    info["status"].as_str().unwrap_or_default().to_owned()
}

fn count(facts: &[Value], kind: &str) -> usize {
    facts.iter().filter(|fact| fact["kind"] == kind).count()
}

fn house(script: &str, config: &str) -> TestInstallation {
    let config = format!("permission = \"full\"\n{config}");
    TestInstallation::with_scripted_model(script, &config)
}

async fn pages_answer(browser: &Browser) {
    for page in PAGES {
        assert_eq!(browser.get(page).await.0, 200, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_server_on_a_full_disk_says_so_and_goes_on_by_itself_when_there_is_room() {
    let house = house(&file_writing_script(16), "");
    let Some(disk) = SmallDisk::under(&house, 96) else { return };
    let mut served = TestServer::start_in(house.on_disk(&disk), None).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    ann.open().await;
    let (session, other) = (admin.open().await, admin.open().await);
    disk.fill(MEGABYTE);
    let (status, taken) = say(&admin, &session, "Write it.").await;
    assert_eq!(status, 202, "there is some room yet: {taken}");
    // The run fills what is left, and stops.
    let refused = wait_until_async("there is no room left", async || {
        disk.fill(0);
        match say(&admin, &other, "Hello.").await {
            (503, problem) => Ok(problem),
            (status, answer) => Err(format!("{status} {answer}")),
        }
    })
    .await;
    assert_eq!(refused["code"], "disk_full", "{refused}");
    let (status, ready) = readyz(&served).await;
    assert_eq!((status, &ready["wrong"]), (503, &json!(["disk"])), "{ready}");
    let page = admin.get("/admin").await.1;
    assert!(page.contains("the disk is full"), "{page}");
    pages_answer(&admin).await;
    // Every page says so: whoever runs it reads what to do, others that it is not their doing.
    let (_, frame) = admin.api("GET", "/frame", None).await;
    let amiss = frame["amiss"].as_str().unwrap_or_default();
    assert!(amiss.contains("the disk is full") && amiss.contains("make room"), "{frame}");
    let (_, frame) = ann.api("GET", "/frame", None).await;
    let amiss = frame["amiss"].as_str().unwrap_or_default();
    assert!(amiss.contains("(disk)") && !amiss.contains("MB"), "{frame}");
    let before = admin.facts(&session).await;
    assert_eq!(count(&before, "run.finished"), 0, "it is in the middle");
    let said_before = admin.facts(&other).await;
    let started = count(&before, "call.started") + count(&said_before, "call.started");
    assert!(written_files(&served.house).len() <= started, "nothing is done without its fact");
    let said_before = count(&said_before, "input.accepted");

    disk.empty();
    admin.until_status(&session, "completed").await;
    assert_eq!(readyz(&served).await.0, 200);
    assert_eq!(admin.api("GET", "/frame", None).await.1["amiss"], Value::Null);
    let after = admin.facts(&session).await;
    assert_eq!(after[..before.len()], before[..], "what was kept is kept");
    assert_eq!(count(&after, "input.accepted"), 1);
    assert!(written_files(&served.house).contains("w15.txt"), "the work went on to its end");
    let started = after.iter().filter(|fact| fact["kind"] == "call.started");
    let started: Vec<String> = started.map(|fact| fact["call"].to_string()).collect();
    let distinct: BTreeSet<&String> = started.iter().collect();
    assert_eq!(distinct.len(), started.len(), "each began once: {started:?}");
    // What was refused was not said, and can be said now; new sessions can be begun.
    assert_eq!(count(&admin.facts(&other).await, "input.accepted"), said_before);
    let last = admin.open().await;
    for session in [&other, &last] {
        let (status, taken) = say(&admin, session, "Once more.").await;
        assert_eq!(status, 202, "{taken}");
    }
    served.person("bob").await;
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_when_the_disk_becomes_read_only_effects_stop_and_nothing_is_lost() {
    let house = house(&file_writing_script(3), "");
    let Some(disk) = SmallDisk::under(&house, 64) else { return };
    let mut served = TestServer::start_in(house.on_disk(&disk), None).await;
    let admin = served.admin().await;
    let (first, second) = (admin.open().await, admin.open().await);
    let (status, _) = say(&admin, &first, "Write it.").await;
    assert_eq!(status, 202);
    admin.until_status(&first, "completed").await;
    let kept = admin.facts(&first).await;
    let before = written_files(&served.house);
    for name in &before {
        std::fs::remove_file(served.house.work().join(name)).expect("there");
    }
    disk.make_read_only();
    let _ = say(&admin, &second, "Write it again.").await;
    // Whatever it answered, no call can begin: what it changes could not be saved first.
    wait_until_async("it comes to rest", async || {
        let facts = admin.facts(&second).await;
        let calls = count(&facts, "call.finished");
        let at_rest = status_of(&admin, &second).await != "running" || calls >= 1;
        let said = at_rest.then_some(()).ok_or(format!("{calls} calls"));
        assert_eq!(count(&facts, "call.started"), 0, "{facts:?}");
        said
    })
    .await;
    assert!(written_files(&served.house).is_empty(), "effects stop");
    let (status, ready) = readyz(&served).await;
    assert_eq!((status, &ready["wrong"]), (503, &json!(["disk"])), "{ready}");
    assert!(admin.get("/admin").await.1.contains("read-only"));
    pages_answer(&admin).await;
    disk.make_writable();
    wait_until_async("it is ready again", async || match readyz(&served).await {
        (200, _) => Ok(()),
        (status, ready) => Err(format!("{status} {ready}")),
    })
    .await;
    assert_eq!(admin.facts(&first).await, kept);
    let third = admin.open().await;
    assert_eq!(say(&admin, &third, "Write it.").await.0, 202);
    admin.until_status(&third, "completed").await;
    assert_eq!(written_files(&served.house), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_damaged_database_of_one_person_is_said_and_keeps_nobody_else() {
    let mut served = TestServer::start_in(house(&file_writing_script(1), ""), None).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let (his, hers) = (admin.open().await, ann.open().await);
    assert_eq!(say(&admin, &his, "Write it.").await.0, 202);
    admin.until_status(&his, "completed").await;
    assert_eq!(served.stop().await, 0);
    damage_page(&served.house.at("state/weir/weir.db"), 1);
    served.restart().await;
    assert!(served.error_text().contains("warning: the sessions in"), "{}", served.error_text());
    assert!(served.error_text().contains("damaged"), "{}", served.error_text());
    let (status, refused) = say(&admin, &his, "More.").await;
    assert_eq!((status, &refused["code"]), (503, &json!("damaged")), "{refused}");
    let status = wait_until_async("it is told of", async || {
        let (status, ready) = readyz(&served).await;
        let warnings = ready["warnings"].as_array().cloned().unwrap_or_default();
        let told = warnings.contains(&json!("damaged"));
        if told { Ok(status) } else { Err(format!("{status} {ready}")) }
    })
    .await;
    assert_eq!(status, 200, "others can work");
    assert!(admin.get("/admin").await.1.contains("what is kept of admin cannot be read"));
    assert_eq!(say(&ann, &hers, "Write it.").await.0, 202);
    ann.until_status(&hers, "completed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_page_that_is_damaged_while_it_serves_is_said_and_the_server_goes_on() {
    let mut served = TestServer::start_in(house("name: t\n\nsays: Done.\n", ""), None).await;
    let admin = served.admin().await;
    let session = admin.open().await;
    assert_eq!(say(&admin, &session, "Hello.").await.0, 202);
    admin.until_status(&session, "completed").await;
    served.kill();
    // Whoever opens it alone and closes it moves what lies in the log beside it into it.
    let listed = served.house.run(&["sessions", "list"]);
    assert_eq!(listed.status, 0, "{}", listed.err);
    assert!(!served.house.at("state/weir/weir.db-wal").exists(), "the log was moved");
    // The head of the database stays; the facts' pages do not, and nobody has read them since.
    damage_page(&served.house.at("state/weir/weir.db"), 3);
    served.restart().await;
    let (status, problem) =
        admin.api("GET", &format!("/api/v1/sessions/{session}/export"), None).await;
    assert_eq!((status, &problem["code"]), (503, &json!("damaged")), "{problem}");
    assert_eq!(served.stranger().get("/healthz").await.0, 200);
    assert_eq!(admin.get("/admin").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_damaged_database_of_the_house_is_said_at_the_start() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    served.admin().await;
    assert_eq!(served.stop().await, 0);
    // What lies in the log beside it would heal it.
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(served.house.at(&format!("state/weir/server.db{ending}")));
    }
    damage_page(&served.house.at("state/weir/server.db"), 1);
    let said = served.house.run(&["serve", "--bind", "127.0.0.1:0"]);
    assert_eq!(said.status, 1, "{}", said.err);
    assert!(said.err.contains("damaged") && said.err.contains("backup"), "{}", said.err);
}

/// A certificate that signs itself and ends so many seconds from now.
fn certificate(folder: &Path, seconds: i64) {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".into()]).expect("a name");
    let ends = jiff::Timestamp::now().as_second() + seconds;
    let date = jiff::Timestamp::from_second(ends).expect("a day").to_zoned(jiff::tz::TimeZone::UTC);
    let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
    let midnight = rcgen::date_time_ymd(i32::from(date.year()), month, day);
    let passed = u64::try_from(ends.rem_euclid(86_400)).expect("not negative");
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = midnight + Duration::from_secs(passed);
    let key = rcgen::KeyPair::generate().expect("a key");
    let made = params.self_signed(&key).expect("a certificate");
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).expect("writable");
    std::fs::write(folder.join("chain.pem"), made.pem()).expect("writable");
}

/// What it answers over TLS to whoever does not mind when a certificate ends.
async fn readyz_over_tls(address: &str, chain: &Path) -> Value {
    let pem = std::fs::read(chain).expect("there");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .add_root_certificate(reqwest::Certificate::from_pem(&pem).expect("a certificate"))
        .danger_accept_invalid_certs(true)
        .no_proxy()
        .build()
        .expect("a client");
    let port = address.rsplit(':').next().expect("a port");
    let answer = client.get(format!("https://127.0.0.1:{port}/readyz")).send().await;
    let text = answer.expect("it answers").text().await.expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_certificate_that_ends_is_said_at_the_start_by_readyz_and_by_doctor() {
    let folder = tempfile::tempdir().expect("a folder");
    let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    let config = format!("[server]\ncertificate = {chain:?}\nkey = {key:?}\n");
    certificate(folder.path(), -2 * 3_600 - 60);
    let served = TestServer::start_in(house("name: t\n\nsays: Done.\n", &config), None).await;
    assert!(
        served.error_text().contains("the certificate ended 2 hours ago"),
        "{}",
        served.error_text()
    );
    let ready = readyz_over_tls(served.address(), &chain).await;
    let warnings = ready["warnings"].as_array().expect("some").clone();
    assert!(warnings.contains(&json!("certificate")), "{ready}");
    let doctor = served.house.run(&["doctor", "--offline"]);
    assert!(doctor.out.contains("the certificate ended 2 hours ago"), "{}", doctor.out);
    // A new one is taken up, and nobody has to be told of it.
    certificate(folder.path(), 90 * 86_400);
    wait_until_async("the new one is in use", async || {
        let ready = readyz_over_tls(served.address(), &chain).await;
        let warnings = ready["warnings"].as_array().cloned().unwrap_or_default();
        let told = warnings.contains(&json!("certificate"));
        if told { Err(ready.to_string()) } else { Ok(()) }
    })
    .await;
    // One that ends while it serves.
    certificate(folder.path(), 8);
    wait_until_async("it ended", async || {
        let doctor = served.house.run(&["doctor", "--offline"]).out;
        let ended = doctor.contains("the certificate ended");
        let ready = readyz_over_tls(served.address(), &chain).await;
        let warnings = ready["warnings"].as_array().cloned().unwrap_or_default();
        if ended && warnings.contains(&json!("certificate")) { Ok(()) } else { Err(doctor) }
    })
    .await;
}
