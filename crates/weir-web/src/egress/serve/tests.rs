//! Port 443 as it is served: an ordinary program cannot listen there, so the pipe is built by hand.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use tokio::net::TcpListener;

use super::super::EgressBounds;
use super::super::hosts::HostList;
use super::*;
use crate::lookup::SystemLookup;

fn shared(bounds: EgressBounds) -> EgressState {
    EgressState {
        allowed: Vec::new().into(),
        lookup: Arc::new(SystemLookup),
        bounds,
        hosts: HostList::parse(&["site.test".to_owned()]).unwrap(),
        word: "word".into(),
        refused: Mutex::default(),
        spent: AtomicU64::new(0),
    }
}

fn hello(name: &'static str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = name.try_into().unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// What the host heard and what the client was answered after the opening.
async fn piped(host: &str, said: &[u8], shared: &EgressState) -> (Vec<u8>, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let (mut near, far) = tokio::io::duplex(64 * 1024);
    let host = parse_host(host).unwrap();
    let proxy = async {
        let (from, to) = tokio::io::split(far);
        let mut client = CommandConnection { from: BufReader::new(from), to };
        assert!(relay_tunnel(&mut client, upstream, &host, HTTPS, shared).await.is_ok());
    };
    let client = async {
        near.write_all(said).await.unwrap();
        near.shutdown().await.unwrap();
        let mut answer = Vec::new();
        near.read_to_end(&mut answer).await.unwrap();
        answer
    };
    let heard = async {
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).await.unwrap();
        server.write_all(b"answer").await.ok();
        drop(server);
        heard
    };
    let ((), answer, heard) = tokio::join!(proxy, client, heard);
    let at = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    (heard, answer[at + 4..].to_vec())
}

#[tokio::test]
async fn z4_port_443_carries_tls_for_the_host_that_was_asked_for() {
    let shared = shared(EgressBounds::default());
    let good = hello("site.test");
    assert_eq!(piped("site.test", &good, &shared).await, (good, b"answer".to_vec()));
    assert_eq!(*shared.refused.lock().unwrap(), Vec::<String>::new());
    let address = hello("127.0.0.1");
    assert_eq!(piped("93.184.216.34", &address, &shared).await.0, address);
    for (host, said) in [
        ("site.test", hello("evil.test")),
        ("site.test", hello("www.site.test")),
        ("www.site.test", hello("site.test")),
        ("site.test", hello("127.0.0.1")),
        ("93.184.216.34", hello("evil.test")),
        ("site.test", b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_vec()),
        ("site.test", b"SSH-2.0-x\r\n".to_vec()),
        ("site.test", hello("site.test")[..40].to_vec()),
        ("site.test", Vec::new()),
    ] {
        shared.refused.lock().unwrap().clear();
        let expected = (Vec::new(), UNRECOGNIZED_NAME.to_vec());
        assert_eq!(piped(host, &said, &shared).await, expected, "{host}");
        assert_eq!(*shared.refused.lock().unwrap(), [format!("{host}:443")]);
    }
}

#[test]
fn z4_the_word_is_the_whole_user_name() {
    let basic = |text: &str| STANDARD.encode(text);
    for good in ["word", "word:", "word:anything", "word:a:b"] {
        assert!(knows_word(Some(&basic(good)), "word"), "{good}");
    }
    for bad in ["", ":", ":word", "wor", "words", "Word", "xword"] {
        assert!(!knows_word(Some(&basic(bad)), "word"), "{bad}");
    }
    assert!(!knows_word(Some("not base64!"), "word") && !knows_word(None, "word"));
}
