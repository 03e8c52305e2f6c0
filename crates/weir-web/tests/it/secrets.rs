//! Z7: a secret reaches the hosts that it is declared for, and nothing else.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_core::secret::Secret;
use weir_engine::ports::{FetchedPage, Web};
use weir_web::{GuardedWeb, WebOptions, WebSecret};

use crate::names::Names;
use crate::server::Server;

const MARKER: &str = "marker-7f3a9c-value";

fn secret(hosts: &[String]) -> WebSecret {
    WebSecret {
        name: "github".into(),
        hosts: hosts.to_vec(),
        header: "Authorization".into(),
        format: "Bearer {}".into(),
        value: Ok(Secret::new(MARKER)),
    }
}

fn client(names: &[(&str, &str)], allow: &[&str], secret: WebSecret) -> (GuardedWeb, Arc<Names>) {
    let names = Names::new(names);
    let options = WebOptions {
        allow_hosts: allow.iter().map(ToString::to_string).collect(),
        secrets: vec![secret],
        ..WebOptions::default()
    };
    (GuardedWeb::with_lookup(options, names.clone()).unwrap(), names)
}

async fn fetch(web: &GuardedWeb, url: &str, secret: &str) -> Result<FetchedPage, String> {
    let address = web.check_url(url)?;
    web.fetch_with_secret(&address, secret, 1_000_000, &CancellationToken::new()).await
}

const NAMES: &[(&str, &str)] = &[
    ("site.test", "127.0.0.1"),
    ("sub.site.test", "127.0.0.1"),
    ("other.test", "127.0.0.1"),
    ("site.test.evil.test", "127.0.0.1"),
];
const ALLOWED: &[&str] = &["site.test", "sub.site.test", "other.test", "site.test.evil.test"];

#[tokio::test]
async fn z7_the_declared_host_gets_it_and_no_other() {
    let server = Server::start().await;
    let port = server.at.port();
    let (web, names) = client(NAMES, ALLOWED, secret(&[format!("site.test:{port}")]));
    assert_eq!(web.secrets(), [("github".to_owned(), vec![format!("site.test:{port}")])]);
    let page = fetch(&web, &format!("http://site.test:{port}/echo"), "github").await.unwrap();
    let request = String::from_utf8(page.body).unwrap();
    assert!(request.contains(&format!("authorization: Bearer {MARKER}\r\n")), "{request}");
    // Without being named it is not sent.
    let address = web.check_url(&format!("http://site.test:{port}/echo")).unwrap();
    let page = web.fetch(&address, 10_000, &CancellationToken::new()).await.unwrap();
    assert!(!String::from_utf8(page.body).unwrap().contains(MARKER));
    let asked = names.asked();
    for url in [
        format!("http://sub.site.test:{port}/echo"),
        format!("http://other.test:{port}/echo"),
        format!("http://site.test.evil.test:{port}/echo"),
        "http://site.test/echo".to_owned(),
        "https://site.test/echo".to_owned(),
        format!("http://127.0.0.1:{port}/echo"),
    ] {
        let error = fetch(&web, &url, "github").await.unwrap_err();
        assert!(!error.contains(MARKER), "{error}");
        let is_named = error.contains("is not for") && error.contains("declared for site.test:");
        assert!(is_named || url.contains("127.0.0.1"), "{url}: {error}");
    }
    assert_eq!(names.asked(), asked, "refused before anybody was asked");
    let error = fetch(&web, &format!("http://site.test:{port}/echo"), "gitlab").await.unwrap_err();
    assert_eq!(error, "there is no secret \"gitlab\"");
}

#[tokio::test]
async fn z7_a_redirect_never_carries_it_elsewhere() {
    let server = Server::start().await;
    let port = server.at.port();
    let (web, _) = client(NAMES, ALLOWED, secret(&[format!("site.test:{port}")]));
    let at = |path: &str| format!("http://site.test:{port}{path}");
    // On the same host it goes on.
    let page = fetch(&web, &at("/to-echo"), "github").await.unwrap();
    assert!(String::from_utf8(page.body).unwrap().contains(MARKER));
    let before = server.with(MARKER);
    for path in ["/away", "/port", "/inside", "/to-other", "/to-sub", "/to-secure", "/tell"] {
        let error = fetch(&web, &at(path), "github").await.unwrap_err();
        assert!(!error.contains(MARKER), "{path}: {error}");
    }
    // Each path was asked once at its own host, and nothing behind it.
    assert_eq!(server.with(MARKER) - before, 7);
    assert_eq!(server.with("host: other.test") + server.with("host: sub.site.test"), 0);
}

#[tokio::test]
async fn z7_plain_http_is_for_listed_private_hosts_alone() {
    // A public address: nothing may be connected to, and nothing is.
    let (web, _) =
        client(&[("api.test", "93.184.216.34")], &["api.test"], secret(&["api.test".into()]));
    let error = fetch(&web, "http://api.test/x", "github").await.unwrap_err();
    assert!(error.contains("over https only"), "{error}");
    // A private one that nobody listed.
    let (web, _) = client(&[("api.test", "10.0.0.1")], &[], secret(&["api.test".into()]));
    let error = fetch(&web, "http://api.test/x", "github").await.unwrap_err();
    assert!(error.contains("a private network"), "{error}");
}

#[tokio::test]
async fn z7_a_secret_without_a_value_says_why() {
    let server = Server::start().await;
    let port = server.at.port();
    let hosts = [format!("site.test:{port}")];
    let missing = WebSecret { value: Err("the variable X is not set".into()), ..secret(&hosts) };
    let (web, _) = client(NAMES, ALLOWED, missing);
    let url = format!("http://site.test:{port}/echo");
    let error = fetch(&web, &url, "github").await.unwrap_err();
    assert!(error.contains("the variable X is not set"), "{error}");
    let short = WebSecret { value: Ok(Secret::new("tiny")), ..secret(&hosts) };
    let (web, _) = client(NAMES, ALLOWED, short);
    let error = fetch(&web, &url, "github").await.unwrap_err();
    assert!(error.contains("shorter than") && !error.contains("tiny"), "{error}");
    let wrong = WebSecret { header: "Host".into(), ..secret(&hosts) };
    let options = WebOptions { secrets: vec![wrong], ..WebOptions::default() };
    let error = GuardedWeb::new(options).err().unwrap();
    assert!(error.contains("secrets.github.header"), "{error}");
}
