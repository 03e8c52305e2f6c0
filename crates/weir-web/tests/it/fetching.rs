//! Z5: where sockets go, redirects, sizes, times.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{FetchedPage, Web};
use weir_web::{GuardedWeb, HostLookup, WebOptions};

use crate::server::Server;

const ROOM: usize = 10_000_000;

fn options(allow: &[&str]) -> WebOptions {
    WebOptions {
        allow_hosts: allow.iter().map(|host| (*host).to_owned()).collect(),
        ..WebOptions::default()
    }
}

fn local() -> GuardedWeb {
    GuardedWeb::new(options(&["127.0.0.1"])).unwrap()
}

async fn get(web: &GuardedWeb, url: &str, max: usize) -> Result<FetchedPage, String> {
    let address = web.check_url(url)?;
    web.fetch(&address, max, &CancellationToken::new()).await
}

/// Gives its answers one after the other, and counts.
struct Answers(Mutex<Vec<Vec<IpAddr>>>, Mutex<usize>);

impl Answers {
    fn new(answers: &[&[&str]]) -> Arc<Answers> {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        let mut answers: Vec<Vec<IpAddr>> = answers.iter().map(parse).collect();
        answers.reverse();
        Arc::new(Answers(Mutex::new(answers), Mutex::new(0)))
    }
    fn asked(&self) -> usize {
        *self.1.lock().unwrap()
    }
}

#[async_trait]
impl HostLookup for Answers {
    async fn lookup_host(&self, _host: &str) -> Result<Vec<IpAddr>, String> {
        *self.1.lock().unwrap() += 1;
        self.0.lock().unwrap().pop().ok_or_else(|| "no more answers".to_owned())
    }
}

#[tokio::test]
async fn z5_a_listed_address_is_fetched() {
    let server = Server::start().await;
    let page = get(&local(), &server.url("/plain#top"), ROOM).await.unwrap();
    let expected = FetchedPage {
        url: server.url("/plain"),
        status: 200,
        media_type: "text/plain".to_owned(),
        charset: Some("utf-8".to_owned()),
        body: b"hello".to_vec(),
        truncated: false,
    };
    assert_eq!(page, expected);
    let missing = get(&local(), &server.url("/missing"), ROOM).await.unwrap();
    assert_eq!((missing.status, missing.body.as_slice()), (404, b"gone".as_slice()));
    assert_eq!((missing.media_type.as_str(), missing.charset), ("", None));
}

#[tokio::test]
async fn z5_an_unlisted_address_gets_no_connection() {
    let server = Server::start().await;
    let web = GuardedWeb::new(options(&[])).unwrap();
    assert!(web.check_url(&server.url("/plain")).is_err());
    // An address that was made by hand does not get further.
    let forged = local().check_url(&server.url("/plain")).unwrap();
    let error = web.fetch(&forged, ROOM, &CancellationToken::new()).await.unwrap_err();
    assert!(error.contains("this machine itself"), "{error}");
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn z5_one_private_answer_closes_a_name() {
    for answer in [
        &["127.0.0.1"][..],
        &["93.184.216.34", "10.0.0.1"],
        &["::ffff:127.0.0.1"],
        &["169.254.169.254"],
        &["fd00:ec2::254"],
        &["0.0.0.0"],
    ] {
        let lookup = Answers::new(&[answer]);
        let web = GuardedWeb::with_lookup(options(&[]), lookup.clone()).unwrap();
        let error = get(&web, "http://innocent.example/", ROOM).await.unwrap_err();
        assert!(error.contains("innocent.example (") && error.contains("tools do not reach"));
        assert_eq!(lookup.asked(), 1);
    }
    // A listed name opens private networks, not the metadata service.
    let lookup = Answers::new(&[&["169.254.169.254"]]);
    let web = GuardedWeb::with_lookup(options(&["nas.example"]), lookup).unwrap();
    let error = get(&web, "http://nas.example/", ROOM).await.unwrap_err();
    assert!(error.contains("metadata"), "{error}");
    let lookup = Answers::new(&[&[]]);
    let web = GuardedWeb::with_lookup(options(&[]), lookup).unwrap();
    let error = get(&web, "http://empty.example/", ROOM).await.unwrap_err();
    assert_eq!(error, "the name empty.example has no address");
}

#[tokio::test]
async fn z5_a_name_is_looked_up_once_and_pinned() {
    let server = Server::start().await;
    // The second answer would be somewhere else: it is never asked for, redirect included.
    let lookup = Answers::new(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let web = GuardedWeb::with_lookup(options(&["site.test"]), lookup.clone()).unwrap();
    let url = format!("http://site.test:{}/here", server.at.port());
    let page = get(&web, &url, ROOM).await.unwrap();
    assert_eq!(page.body, b"hello");
    assert_eq!(page.url, format!("http://site.test:{}/plain", server.at.port()));
    assert_eq!(lookup.asked(), 1);
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
    // Rebinding: open at first, private at the next fetch.
    let lookup = Answers::new(&[&["127.0.0.1"]]);
    let web = GuardedWeb::with_lookup(options(&[]), lookup).unwrap();
    assert!(get(&web, &url, ROOM).await.is_err());
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn z5_redirects_stay_on_their_host_or_are_reported() {
    let server = Server::start().await;
    let web = local();
    assert_eq!(get(&web, &server.url("/here"), ROOM).await.unwrap().body, b"hello");
    for (path, part) in [
        ("/away", "redirects to http://elsewhere.example/x, which is not followed"),
        ("/port", "redirects to http://127.0.0.1:8/x, which is not followed"),
        ("/named", "redirects to http://site.test"),
        ("/inside", "refused: 169.254.169.254 is a cloud's metadata service"),
        ("/scheme", "only http and https"),
        ("/round", "redirects more than 5 times"),
    ] {
        let error = get(&web, &server.url(path), ROOM).await.unwrap_err();
        assert!(error.contains(part), "{path}: {error}");
    }
}

#[tokio::test]
async fn z5_ports_of_other_services_are_not_fetched() {
    let lookup = Answers::new(&[]);
    let web = GuardedWeb::with_lookup(options(&["127.0.0.1"]), lookup.clone()).unwrap();
    for url in ["http://127.0.0.1:25/", "https://example.org:22/x", "http://example.org:6667/"] {
        let error = get(&web, url, ROOM).await.unwrap_err();
        assert!(error.contains("belongs to another service"), "{url}: {error}");
    }
    assert_eq!(lookup.asked(), 0);
}

#[tokio::test]
async fn z5_sizes_are_bounded_after_decompression() {
    let server = Server::start().await;
    let web = local();
    let page = get(&web, &server.url("/big"), 1000).await.unwrap();
    assert_eq!((page.body.len(), page.truncated), (1000, true));
    let page = get(&web, &server.url("/big"), 1_000_000).await.unwrap();
    assert_eq!((page.body.len(), page.truncated), (1_000_000, false));
    let page = get(&web, &server.url("/bomb"), 50_000).await.unwrap();
    assert_eq!((page.body.len(), page.truncated), (50_000, true));
    assert!(page.body.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn z5_broken_and_silent_servers_end() {
    let server = Server::start().await;
    let error = get(&local(), &server.url("/cut"), ROOM).await.unwrap_err();
    assert!(error.contains("broke off"), "{error}");
    let short = |change: fn(&mut WebOptions)| {
        let mut options = options(&["127.0.0.1"]);
        change(&mut options);
        GuardedWeb::new(options).unwrap()
    };
    let idle = short(|o| o.idle_timeout = Duration::from_millis(50));
    let error = get(&idle, &server.url("/silent"), ROOM).await.unwrap_err();
    assert!(error.contains("did not answer in time"), "{error}");
    let total = short(|o| o.timeout = Duration::from_millis(50));
    let error = get(&total, &server.url("/silent"), ROOM).await.unwrap_err();
    assert!(error.contains("did not finish within 0.05 seconds"), "{error}");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let web = local();
    let address = web.check_url(&server.url("/silent")).unwrap();
    let error = web.fetch(&address, ROOM, &cancel).await.unwrap_err();
    assert!(error.contains("cancelled"), "{error}");
}

#[tokio::test]
async fn z5_nothing_personal_is_sent_and_plain_http_is_no_tls() {
    let server = Server::start().await;
    let web = local();
    let page = get(&web, &server.url("/echo"), ROOM).await.unwrap();
    let request = String::from_utf8(page.body).unwrap().to_lowercase();
    assert!(request.starts_with("get /echo http/1.1\r\n"), "{request}");
    for name in ["cookie:", "authorization:", "referer:", "proxy-"] {
        assert!(!request.contains(name), "{request}");
    }
    assert!(request.contains("user-agent: weir/"), "{request}");
    let secure = server.url("/plain").replace("http:", "https:");
    let error = get(&web, &secure, ROOM).await.unwrap_err();
    assert!(error.contains("could not be reached"), "{error}");
}
