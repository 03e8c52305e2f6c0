//! T11, Z5: requests of plugins, to private hosts only where they are listed, to one certificate only
//! where one is set.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use tokio_util::sync::CancellationToken;
use weir_core::secret::Secret;
use weir_engine::ports::{FetchedPage, Web, WebRequest};
use weir_web::{GuardedWeb, WebOptions, WebSecret};

use crate::server::Server;

const ONE: (&[u8], &[u8]) = (include_bytes!("pinned/one.pem"), include_bytes!("pinned/one.key"));
const OTHER: (&[u8], &[u8]) =
    (include_bytes!("pinned/other.pem"), include_bytes!("pinned/other.key"));
const KEY: &str = "marker-key-of-the-plugin";

fn web(host: &str) -> GuardedWeb {
    let secret = WebSecret {
        name: "demo".into(),
        hosts: vec![host.to_owned()],
        header: "authorization".into(),
        format: "Bearer {}".into(),
        value: Ok(Secret::new(KEY)),
    };
    GuardedWeb::new(WebOptions { secrets: vec![secret], ..WebOptions::default() }).unwrap()
}

fn listed() -> Vec<String> {
    vec!["127.0.0.1".to_owned()]
}

fn request(web: &GuardedWeb, method: &str, url: &str) -> Result<WebRequest, String> {
    Ok(WebRequest {
        method: method.into(),
        address: web.check_listed(url, &listed())?,
        headers: vec![("accept".into(), "application/json".into())],
        body: None,
        secret: None,
        listed: listed(),
        certificate: None,
        max_bytes: 10_000,
    })
}

async fn send(web: &GuardedWeb, request: &WebRequest) -> Result<FetchedPage, String> {
    web.request(request, &CancellationToken::new()).await
}

#[tokio::test]
async fn t11_a_request_has_method_headers_body_and_secret() {
    let server = Server::start().await;
    let web = web(&server.at.to_string());
    let mut sent = request(&web, "POST", &server.url("/echo")).unwrap();
    sent.body = Some(("application/json".into(), "{\"a\":1}".into()));
    sent.secret = Some("demo".into());
    let answer = send(&web, &sent).await.unwrap();
    let told = String::from_utf8(answer.body).unwrap().to_lowercase();
    assert!(told.starts_with("post /echo "), "{told}");
    for part in ["accept: application/json", "content-type: application/json"] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.contains(&format!("authorization: bearer {KEY}")), "{told}");
    let plain = request(&web, "DELETE", &server.url("/echo")).unwrap();
    let told = String::from_utf8(send(&web, &plain).await.unwrap().body).unwrap();
    assert!(told.starts_with("DELETE ") && !told.contains(KEY), "{told}");
}

#[tokio::test]
async fn z5_a_private_host_is_reached_only_where_it_is_listed() {
    let server = Server::start().await;
    let web = web(&server.at.to_string());
    let url = server.url("/plain");
    assert!(web.check_url(&url).is_err() && web.check_listed(&url, &[]).is_err());
    let mut sent = request(&web, "GET", &url).unwrap();
    sent.listed = Vec::new();
    let why = send(&web, &sent).await.unwrap_err();
    assert!(why.contains("web.allow_hosts"), "{why}");
    sent.listed = vec!["localhost".into()];
    assert!(send(&web, &sent).await.is_err(), "another host was listed");
    for inside in ["http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]/"] {
        assert!(web.check_listed(inside, &listed()).is_err(), "{inside}");
    }
    assert_eq!(server.with("/plain"), 0, "nothing was sent");
}

#[tokio::test]
async fn z5_no_redirect_is_followed_and_an_answer_is_bounded() {
    let server = Server::start().await;
    let web = web(&server.at.to_string());
    for path in ["/away", "/inside", "/to-echo"] {
        let sent = request(&web, "POST", &server.url(path)).unwrap();
        assert_eq!(send(&web, &sent).await.unwrap().status, 302, "{path}");
    }
    assert_eq!(server.with("/echo"), 0);
    let big = send(&web, &request(&web, "GET", &server.url("/big")).unwrap()).await.unwrap();
    assert!(big.truncated && big.body.len() == 10_000);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let silent = request(&web, "GET", &server.url("/silent")).unwrap();
    assert!(web.request(&silent, &cancel).await.is_err_and(|why| why.contains("cancelled")));
}

#[tokio::test]
async fn z7_a_secret_of_a_plugin_goes_to_its_host_alone() {
    let server = Server::start().await;
    let web = web("127.0.0.1:1");
    let mut sent = request(&web, "GET", &server.url("/echo")).unwrap();
    sent.secret = Some("demo".into());
    let why = send(&web, &sent).await.unwrap_err();
    assert!(why.contains("is not for") && !why.contains(KEY), "{why}");
    sent.secret = Some("none".into());
    assert!(send(&web, &sent).await.is_err_and(|why| why.contains("no secret")));
    assert_eq!(server.with("authorization"), 0);
}

/// A server that shows this certificate to one client; its address.
fn secure((pem, key): (&'static [u8], &'static [u8])) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(pem).unwrap()],
                PrivateKeyDer::from_pem_slice(key).unwrap(),
            )
            .unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = Stream::new(&mut connection, &mut socket);
        let mut head = [0_u8; 4096];
        // A client that does not trust it leaves during the handshake.
        if stream.read(&mut head).is_ok() {
            let _ = stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 6\r\n\r\nsecure");
        }
    });
    format!("https://{at}/x")
}

#[tokio::test]
async fn z5_a_certificate_that_is_set_is_the_only_one() {
    for (server, pinned, fine) in [
        (ONE, Some(ONE.0), true),
        (OTHER, Some(ONE.0), false),
        (ONE, Some(OTHER.0), false),
        (ONE, None, false),
    ] {
        let url = secure(server);
        let web = web("127.0.0.1:1");
        let mut sent = request(&web, "GET", &url).unwrap();
        sent.certificate = pinned.map(<[u8]>::to_vec);
        let answer = send(&web, &sent).await;
        assert_eq!(answer.is_ok(), fine, "{answer:?}");
        if let Ok(answer) = answer {
            assert_eq!(answer.body, b"secure");
        }
    }
    let server = Server::start().await;
    let web = web("127.0.0.1:1");
    let mut plain = request(&web, "GET", &server.url("/plain")).unwrap();
    plain.certificate = Some(ONE.0.to_vec());
    assert!(send(&web, &plain).await.is_err_and(|why| why.contains("is not https")));
    let mut broken = request(&web, "GET", &secure(ONE)).unwrap();
    broken.certificate = Some(b"no certificate".to_vec());
    assert!(send(&web, &broken).await.is_err_and(|why| why.contains("PEM")));
}
