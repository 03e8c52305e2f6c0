//! The server as whoever runs it meets it: health, figures, headers, limits, certificates, ending,
//! backups, logs, traces.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_rustls::rustls;
use weir_test_kit::{Browser, PASSWORD, ServerSetup, TestInstallation, TestServer};

const PATIENCE: Duration = Duration::from_secs(60);
/// What is under way may go on for longer than anybody waits here: what ends sooner was ended.
const DRAINS_LONG: &str = "[server]\ndrain = \"10m\"\n";

/// Says something in a new session and waits for the end of the run; the session's id.
async fn said(browser: &Browser, words: &str) -> String {
    let (status, made) = browser.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let body = json!({ "content": [{ "type": "text", "text": words }] });
    let path = format!("/api/v1/sessions/{id}/input");
    let (status, taken) = browser.api("POST", &path, Some(body)).await;
    assert_eq!(status, 202, "{taken}");
    browser.until_status(&id, "completed").await;
    id
}

fn line<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    text.lines().find(|line| line.starts_with(begin))
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_health_readiness_and_figures_are_there_for_machines() {
    let script = "name: t\n\nsays: Done.\nusage: input=1200 output=40 cache_read=1000\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let stranger = served.stranger();
    let (status, alive) = stranger.api("GET", "/healthz", None).await;
    assert_eq!((status, &alive["status"]), (200, &json!("ok")));
    let (status, ready) = stranger.api("GET", "/readyz", None).await;
    assert_eq!((status, ready), (200, json!({ "ready": true, "wrong": [], "warnings": [] })));
    let admin = served.admin().await;
    said(&admin, "hello").await;
    let (status, text) = stranger.get("/metrics").await;
    assert_eq!(status, 200);
    let begun =
        "weir_http_requests_total{method=\"POST\",route=\"/api/v1/sessions\",status=\"201\"} 1";
    assert!(line(&text, begun).is_some(), "{text}");
    assert!(line(&text, "weir_runs_finished_total{status=\"completed\"} 1").is_some(), "{text}");
    let input = line(&text, "weir_model_tokens_total{").expect("tokens");
    assert!(input.contains("model=\"script/"), "{input}");
    assert!(text.lines().any(|line| line.contains("kind=\"input\"} 1200")), "{text}");
    assert!(line(&text, "weir_runs_active 0").is_some(), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    // Nobody is named in figures.
    assert!(!text.contains("admin\""), "{text}");
    let by_proxy = stranger.request("GET", "/metrics").header("x-forwarded-for", "192.0.2.7");
    assert_eq!(stranger.send(by_proxy).await.status().as_u16(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_every_answer_has_the_headers_that_protect_it() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let mut ids = std::collections::BTreeSet::new();
    for path in ["/", "/chats", "/admin", "/nothing", "/api/v1/me", "/api/v1/nothing", "/healthz"] {
        let (_, headers, _) = admin.get_whole(path).await;
        let text = |name: &str| {
            headers.get(name).unwrap_or_else(|| panic!("{path}: {name}")).to_str().expect("text")
        };
        let policy = text("content-security-policy");
        for word in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(word), "{path}: {word} in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(text("x-content-type-options"), "nosniff");
        assert_eq!(text("cross-origin-opener-policy"), "same-origin");
        assert_eq!(text("cross-origin-resource-policy"), "same-origin");
        assert!(headers.get("server").is_none() && headers.get("x-powered-by").is_none());
        assert!(headers.get("strict-transport-security").is_none(), "{path}: there is no TLS");
        assert!(ids.insert(text("x-request-id").to_owned()), "{path}: each has its own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_only_what_the_person_asked_for_is_compressed() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let asked_by = |site: &'static str| {
        let request = admin.request("GET", "/chats").header("accept-encoding", "gzip");
        let mut request = request.build().expect("a request");
        request.headers_mut().insert("sec-fetch-site", site.parse().expect("a header"));
        request
    };
    let client = reqwest::Client::builder().gzip(false).no_proxy().build().expect("a client");
    for (site, compressed) in [("same-origin", true), ("none", true), ("cross-site", false)] {
        let answer = client.execute(asked_by(site)).await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(answer.headers().contains_key("content-encoding"), compressed, "{site}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s14_errors_are_problem_details_for_programs_and_pages_for_people() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let program = admin.program("all").await;
    let json_body = |text: &str| {
        let request = program.request("POST", "/api/v1/sessions");
        request.header("content-type", "application/json").body(text.to_owned())
    };
    let cases = [
        (program.request("GET", "/api/v1/nothing"), 404, "not_found"),
        (program.request("PUT", "/api/v1/sessions"), 405, "method_not_allowed"),
        (json_body("{"), 400, "bad_request"),
        (json_body("{\"model\": 1}"), 422, "unprocessable"),
        (program.request("POST", "/api/v1/sessions").body("x"), 415, "unsupported_media_type"),
        (json_body(&format!("\"{}\"", "x".repeat(2_000_000))), 413, "too_large"),
    ];
    for (request, status, code) in cases {
        let answer = program.send(request).await;
        assert_eq!(answer.status().as_u16(), status, "{code}");
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        assert_eq!(kind, "application/problem+json", "{code}");
        let problem: Value =
            serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
        assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)));
    }
    let wrong = program.send(program.request("PUT", "/api/v1/sessions")).await;
    let allow = wrong.headers()["allow"].to_str().expect("text").to_owned();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
    let page = admin.send(admin.request("GET", "/nothing").header("accept", "text/html")).await;
    assert_eq!(page.status().as_u16(), 404);
    assert!(page.headers()["content-type"].to_str().expect("text").starts_with("text/html"));
    assert!(page.text().await.expect("a body").contains("This page does not exist"));
}

#[tokio::test(flavor = "multi_thread")]
async fn s14_a_person_who_asks_too_much_waits_and_nobody_else_does() {
    let config = "[server]\nrequests_per_minute = 30\n";
    let mut served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let ann = served.person("ann").await;
    let admin = served.admin().await;
    let mut refused = None;
    // Places come back while it is asked, the slower the machine the more of them.
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let answer = ann.send(ann.request("GET", "/api/v1/me")).await;
        assert!(answer.headers().contains_key("ratelimit"), "each answer says what is left");
        if answer.status().as_u16() == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("there is an end");
    let wait: u32 = refused.headers()["retry-after"].to_str().expect("text").parse().expect("s");
    assert!((1..=60).contains(&wait), "{wait}");
    let problem: Value = serde_json::from_str(&refused.text().await.expect("text")).expect("JSON");
    assert_eq!(problem["code"], "too_many");
    assert_eq!(admin.api("GET", "/api/v1/me", None).await.0, 200);
    assert_eq!(served.stranger().get("/healthz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_there_are_no_more_connections_than_allowed() {
    let config = "[server]\nconnections_max = 3\n";
    let served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let open = || TcpStream::connect(served.address()).expect("the system takes it");
    let kept: Vec<TcpStream> = (0..3).map(|_| open()).collect();
    let mut fourth = open();
    fourth.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let ended = fourth.read(&mut [0; 16]);
    assert!(matches!(ended, Ok(0) | Err(_)), "the fourth is closed: {ended:?}");
    drop(kept);
    let until = Instant::now() + PATIENCE;
    loop {
        let mut again = open();
        again.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let asked = again.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let mut answer = [0; 12];
        if asked.is_ok() && again.read_exact(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 200");
            return;
        }
        assert!(Instant::now() < until, "places come back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_headers_without_end_are_refused() {
    let served = TestServer::start(ServerSetup::default()).await;
    let mut socket = TcpStream::connect(served.address()).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n").expect("sent");
    let long = format!("x-long: {}\r\n", "a".repeat(8_000));
    for _ in 0..10 {
        if socket.write_all(long.as_bytes()).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    // It may also simply be closed while we still write.
    let read = socket.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(read.is_err() || text.is_empty() || text.starts_with("HTTP/1.1 431"), "{text}");
    assert_eq!(served.stranger().get("/healthz").await.0, 200);
}

/// A certificate that signs itself, in two files.
fn certificate(folder: &Path, days: i64) -> rustls::pki_types::CertificateDer<'static> {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".into()]).expect("a name");
    let now = jiff::Timestamp::now().as_second();
    let day = |days: i64| {
        let date = jiff::Timestamp::from_second(now + days * 86_400).expect("a day");
        let date = date.to_zoned(jiff::tz::TimeZone::UTC);
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    params.not_before = day(-400);
    params.not_after = day(days);
    let key = rcgen::KeyPair::generate().expect("a key");
    let made = params.self_signed(&key).expect("a certificate");
    let write = |name: &str, text: String| {
        let beside = folder.join(format!("{name}.new"));
        std::fs::write(&beside, text).expect("writable");
        std::fs::rename(&beside, folder.join(name)).expect("writable");
    };
    write("key.pem", key.serialize_pem());
    write("chain.pem", made.pem());
    made.der().clone()
}

/// The certificate that the server shows, and what it answers.
pub(super) fn over_tls(
    address: &str,
    trusted: &rustls::pki_types::CertificateDer<'static>,
) -> Option<String> {
    over_tls_as("localhost", address, trusted)
}

/// The same where it is known by another name.
pub(super) fn over_tls_as(
    name: &'static str,
    address: &str,
    trusted: &rustls::pki_types::CertificateDer<'static>,
) -> Option<String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = name.try_into().expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    let port = address.rsplit(':').next().expect("a port");
    let request =
        format!("GET /healthz HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = Vec::new();
    // Not every end of a connection is said by TLS.
    let _ = stream.read_to_end(&mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_it_speaks_tls_with_its_own_certificate_and_takes_up_a_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = certificate(folder.path(), 90);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config =
        format!("[server]\ncertificate = {:?}\nkey = {:?}\n", at("chain.pem"), at("key.pem"));
    let served = TestServer::start(ServerSetup { config: &config, ..ServerSetup::default() }).await;
    assert!(served.error_text().contains("listening on https://"), "{}", served.error_text());
    let answer = over_tls(served.address(), &first).expect("TLS comes about");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("strict-transport-security: max-age="), "{answer}");
    // Plain HTTP on the same port is nothing.
    let mut plain = TcpStream::connect(served.address()).expect("it listens");
    plain.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    let mut text = Vec::new();
    let _ = plain.read_to_end(&mut text);
    assert!(!String::from_utf8_lossy(&text).contains("200"), "{text:?}");

    let second = certificate(folder.path(), 90);
    let until = Instant::now() + PATIENCE;
    while over_tls(served.address(), &second).is_none() {
        assert!(Instant::now() < until, "the new certificate is taken up");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(over_tls(served.address(), &first).is_none(), "the old one is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_a_certificate_that_has_ended_is_told_of_and_a_wrong_key_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    certificate(folder.path(), -3);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config =
        format!("[server]\ncertificate = {:?}\nkey = {:?}\n", at("chain.pem"), at("key.pem"));
    let served = TestServer::start(ServerSetup { config: &config, ..ServerSetup::default() }).await;
    assert!(served.error_text().contains("the certificate ended"), "{}", served.error_text());
    drop(served);

    let key = std::fs::read_to_string(folder.path().join("key.pem")).expect("there");
    certificate(folder.path(), 90);
    std::fs::write(folder.path().join("key.pem"), key).expect("writable");
    let house = TestInstallation::new();
    house.write(&house.user_config(), &config);
    let why = house.usage_error(&["serve", "--bind", "127.0.0.1:0"]);
    assert!(why.contains("not that of the certificate"), "{why}");
}

fn signal(served: &TestServer, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &served.pid().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_it_ends_in_good_order_while_somebody_listens() {
    let config = DRAINS_LONG;
    let mut served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let session = said(&admin, "hello").await;
    let mut socket = admin.socket().await;
    let subscribe = json!({ "type": "subscribe", "session": session, "after": 0 }).to_string();
    futures::SinkExt::send(&mut socket, subscribe.into()).await.expect("sent");
    assert_eq!(served.stop().await, 0, "sockets are ended");
    let mut reason = None;
    while let Some(Ok(frame)) = futures::StreamExt::next(&mut socket).await {
        if let tokio_tungstenite::tungstenite::Message::Close(close) = frame {
            reason = close.map(|close| close.reason.to_string());
        }
    }
    assert!(reason.is_some_and(|words| !words.is_empty()), "the socket is ended with a reason");
    served.restart().await;
    let (status, now) = admin.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!((status, &now["status"]), (200, &json!("completed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_a_second_signal_ends_it_at_once() {
    let (config, env) = (DRAINS_LONG, &[("WEIR_LOG", "info")][..]);
    let mut served = TestServer::start(ServerSetup { config, env, ..ServerSetup::default() }).await;
    // A body that never comes keeps a request under way. The server asks for it: it is under way.
    let mut slow = TcpStream::connect(served.address()).expect("it listens");
    slow.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let origin = served.stranger().origin();
    let head = format!(
        "POST /signin HTTP/1.1\r\nhost: {}\r\norigin: {origin}\r\ncontent-length: 10\r\n\
         content-type: application/x-www-form-urlencoded\r\nexpect: 100-continue\r\n\r\n",
        served.address()
    );
    slow.write_all(head.as_bytes()).expect("sent");
    let mut asked = [0; 12];
    slow.read_exact(&mut asked).expect("an answer");
    assert_eq!(&asked, b"HTTP/1.1 100", "{}", String::from_utf8_lossy(&asked));
    signal(&served, "-TERM");
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(served.address()).is_ok() {
        assert!(Instant::now() < until, "nothing more is accepted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    signal(&served, "-TERM");
    served.wait_for_line("asked again: what is under way is cut off");
    let mut rest = Vec::new();
    // It may be cut in any way.
    let _ = slow.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("HTTP/1.1 2"), "it was not answered");
}

fn without_server(from: &TestServer) -> (TestInstallation, PathBuf) {
    let house = TestInstallation::new();
    let archive = from.house.at("whole.tar.gz");
    (house, archive)
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_backup_of_a_running_server_comes_back_whole_elsewhere() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let of_admin = said(&admin, "hello from the admin").await;
    let of_ann = said(&ann, "hello from ann").await;
    let keys = served.house.at("config/weir/keys.toml");
    served.house.write(&keys, "");
    let (elsewhere, archive) = without_server(&served);
    let file = archive.display().to_string();
    served.house.ok(&["backup", &file]);
    let again = served.house.usage_error(&["backup", &file]);
    assert!(again.contains("exists already"), "{again}");

    elsewhere.ok(&["restore", &file]);
    let refused = elsewhere.usage_error(&["restore", &file]);
    assert!(refused.contains("--replace"), "{refused}");
    assert!(!elsewhere.at("config/weir/keys.toml").exists(), "keys stay where they are");
    let shown = elsewhere.ok(&["sessions", "export", &of_admin]);
    assert!(shown.contains("hello from the admin"), "{shown}");
    let report = elsewhere.ok(&["audit", "verify"]);
    assert!(!report.is_empty());

    served.stop().await;
    let mut copy = TestServer::start_in(elsewhere, None).await;
    let ann = copy.signed_in("ann").await;
    let (status, now) = ann.api("GET", &format!("/api/v1/sessions/{of_ann}"), None).await;
    assert_eq!((status, &now["status"]), (200, &json!("completed")));
    assert_eq!(ann.api("GET", &format!("/api/v1/sessions/{of_admin}"), None).await.0, 404);
    assert_eq!(copy.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_an_admin_makes_loads_and_removes_backups_and_nobody_else_does() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    for path in ["/admin", "/api/v1/admin/health", "/api/v1/admin/backups"] {
        assert_eq!(ann.get(path).await.0, 403, "{path}");
    }
    assert_eq!(ann.form("/admin/backups", &[]).await.0, 403);
    let (status, page) = admin.get("/admin").await;
    assert_eq!(status, 200);
    assert!(page.contains("Everything works"), "{page}");
    let (status, location, body) = admin.form("/admin/backups", &[]).await;
    assert_eq!((status, location.as_str()), (303, "/admin#backups"), "{body}");
    let (_, list) = admin.api("GET", "/api/v1/admin/backups", None).await;
    let name = list[0]["name"].as_str().expect("one is there").to_owned();
    let (status, headers, bytes) = admin.get_whole(&format!("/admin/backups/{name}")).await;
    assert_eq!(status, 200);
    assert_eq!(bytes.len() as u64, list[0]["bytes"].as_u64().expect("a size"));
    let saved = headers["content-disposition"].to_str().expect("text");
    assert!(saved.starts_with("attachment"), "{saved}");
    assert_eq!(&bytes[..2], &[0x1f, 0x8b], "it is compressed");
    for name in ["..%2Fweir.db", "nothing.tar.gz"] {
        assert_eq!(admin.get(&format!("/api/v1/admin/backups/{name}")).await.0, 404, "{name}");
    }
    let path = format!("/api/v1/admin/backups/{name}");
    assert_eq!(ann.api("DELETE", &path, None).await.0, 403);
    assert_eq!(admin.api("DELETE", &path, None).await.0, 204);
    assert_eq!(admin.api("GET", "/api/v1/admin/backups", None).await.1, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_the_log_tells_who_asked_for_what_and_no_content() {
    let env = [("WEIR_LOG", "info"), ("WEIR_LOG_FORM", "json")];
    let mut served = TestServer::start(ServerSetup { env: &env, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let program = admin.program("all").await;
    let session = said(&program, "the marmalade is in the cellar").await;
    let (_, me) = admin.api("GET", "/api/v1/me", None).await;
    admin.get("/signin?next=/secret-place").await;
    // Both lines are on their way when the last answer is there.
    served.wait_for_line("/api/v1/sessions/{id}/input");
    served.wait_for_line("\"route\":\"/signin\"");
    let log = served.error_text();
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |route: &str| {
        let found = lines.iter().find(|line| line["route"] == route);
        found.unwrap_or_else(|| panic!("no line of {route} in {log}"))
    };
    let input = of("/api/v1/sessions/{id}/input");
    assert_eq!((&input["status"], &input["method"]), (&json!(202), &json!("POST")));
    assert_eq!(input["person"], me["id"], "{me}");
    assert!(input["ms"].is_u64() && input["id"].as_str().is_some_and(|id| id.len() == 16));
    for secret in ["marmalade", PASSWORD, "secret-place", &session, &admin.cookie()] {
        assert!(!log.contains(secret), "{secret} stands in the log");
    }
}

/// Takes in whatever is posted, and keeps it.
async fn receiver() -> (String, Arc<Mutex<Vec<u8>>>) {
    let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
    let of_handler = kept.clone();
    let take = move |body: axum::body::Bytes| {
        let kept = of_handler.clone();
        async move { kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&body) }
    };
    let router = axum::Router::new().route("/v1/traces", axum::routing::post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), kept)
}

fn traced(house: &TestInstallation, endpoint: &str, more: &str) {
    let script = "name: t\n\nsays: Let me look.\ncalls: read_file {\"path\": \"notes.md\"}\n\n\
                  says: It is quince.\n";
    let path = house.at("trace.script");
    house.write(&path, script);
    house.write(&house.work().join("notes.md"), "apricot\n");
    let config = format!(
        "model = \"script:{}\"\n[telemetry]\notlp_endpoint = {endpoint:?}\n{more}",
        path.display()
    );
    house.write(&house.user_config(), &config);
    house.ok(&["run", "what is in the notes about plum?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_a_run_is_traced_by_the_conventions_and_content_only_if_asked_for() {
    let (endpoint, kept) = receiver().await;
    let house = TestInstallation::new();
    tokio::task::block_in_place(|| traced(&house, &endpoint, ""));
    let bytes = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    for word in [
        "invoke_agent",
        "chat",
        "execute_tool read_file",
        "gate",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.usage.input_tokens",
        "gen_ai.conversation.id",
        "gen_ai.tool.name",
        "service.name",
    ] {
        assert!(text.contains(word), "{word} is told");
    }
    for word in ["quince", "apricot", "plum", "notes.md"] {
        assert!(!text.contains(word), "{word} is content");
    }
    tokio::task::block_in_place(|| traced(&house, &endpoint, "content = true\n"));
    let bytes = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let text = String::from_utf8_lossy(&bytes);
    for word in ["quince", "apricot", "plum", "notes.md", "gen_ai.tool.call.arguments"] {
        assert!(text.contains(word), "{word} goes along");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_a_receiver_that_is_away_changes_nothing_for_the_run() {
    let house = TestInstallation::new();
    let begun = Instant::now();
    tokio::task::block_in_place(|| traced(&house, "http://127.0.0.1:9", ""));
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn s14_the_description_of_the_api_is_what_the_program_prints() {
    let served = TestServer::start(ServerSetup::default()).await;
    let (status, document) = served.stranger().api("GET", "/api/v1/openapi.json", None).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    assert_eq!(document, served.house.json(&["schema", "openapi"]));
    let input = &document["paths"]["/api/v1/sessions/{id}/input"]["post"];
    assert!(input["responses"]["202"].is_object(), "{input}");
    assert!(document["components"]["schemas"].is_object());
}
