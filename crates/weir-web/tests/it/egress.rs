//! Z4: the proxy of confined commands, over real sockets.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use weir_engine::ports::{Egress, EgressLine};
use weir_web::{EgressBounds, EgressOptions, LocalEgress};

use crate::names::Names;
use crate::witness::{Manner, Witness};

struct House {
    folder: tempfile::TempDir,
    names: Arc<Names>,
    egress: LocalEgress,
}

/// Names that lead to this machine; `allow` are those that may.
fn house_with(names: &[(&str, &str)], allow: &[&str], bounds: EgressBounds) -> House {
    let folder = tempfile::tempdir().unwrap();
    let names = Names::new(names);
    let options = EgressOptions {
        dir: folder.path().join("egress"),
        allow_hosts: allow.iter().map(ToString::to_string).collect(),
        bounds,
    };
    let egress = LocalEgress::with_lookup(options, names.clone()).unwrap();
    House { folder, names, egress }
}

fn house() -> House {
    house_with(&[("site.test", "127.0.0.1")], &["site.test"], EgressBounds::default())
}

impl House {
    async fn line(&self, hosts: &[String]) -> Box<dyn EgressLine> {
        self.egress.open(hosts).await.unwrap()
    }
}

/// Says `text` at the line's socket and reads to the end.
async fn say(line: &dyn EgressLine, text: &str) -> String {
    let mut stream = UnixStream::connect(line.socket()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

async fn rest<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let _ = tokio::time::timeout(Duration::from_secs(60), reading).await.expect("it ends");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn get(place: &str) -> String {
    format!(
        "GET http://{place}/x?y HTTP/1.1\r\nHost: {place}\r\nProxy-Connection: keep-alive\r\n\r\n"
    )
}

fn basic(user: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(format!("{user}:"))
}

#[tokio::test]
async fn z4_a_granted_host_is_reached_by_the_socket() {
    let witness = Witness::start(Manner::Http).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let answer = say(&*line, &get(&place)).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    let heard = format!("GET /x?y HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n");
    assert_eq!(witness.heard(), [heard]);
    assert_eq!((line.refused_hosts(), house.names.asked()), (Vec::new(), 1));
    // The socket is for its owner alone.
    let folder = line.socket().parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn z4_the_port_wants_the_word_and_the_socket_does_not() {
    let witness = Witness::start(Manner::Http).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let (port, word) = line.loopback();
    assert!(word.len() >= 32, "it cannot be guessed");
    for (credentials, status) in [
        (None, "407"),
        (Some(basic("guess")), "407"),
        (Some(basic("")), "407"),
        (Some("###".to_owned()), "407"),
        (Some(basic(&word[1..])), "407"),
        (Some(basic(word)), "200"),
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let said = credentials.map(|c| format!("Proxy-Authorization: Basic {c}\r\n"));
        let text =
            get(&place).replace("Proxy-Connection: keep-alive\r\n", &said.unwrap_or_default());
        stream.write_all(text.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(answer.contains("proxy-authenticate: Basic"), status == "407");
    }
    let heard = witness.heard();
    assert_eq!(heard.len(), 1);
    assert!(!heard[0].to_lowercase().contains("proxy") && !heard[0].contains(word), "{}", heard[0]);
}

#[tokio::test]
async fn z4_what_is_not_granted_is_refused_named_and_remembered() {
    let witness = Witness::start(Manner::Http).await;
    let house = house_with(
        &[("site.test", "127.0.0.1"), ("evil.test", "127.0.0.1")],
        &["site.test", "evil.test", "127.0.0.1"],
        EgressBounds::default(),
    );
    let port = witness.port();
    let line = house.line(&[format!("site.test:{port}"), "web.test".to_owned()]).await;
    for (target, place, asked) in [
        (format!("evil.test:{port}"), format!("evil.test:{port}"), format!("evil.test:{port}")),
        (
            format!("site.test.evil.test:{port}"),
            format!("site.test.evil.test:{port}"),
            String::new(),
        ),
        (format!("notsite.test:{port}"), format!("notsite.test:{port}"), String::new()),
        ("site.test:443".to_owned(), "site.test:443".to_owned(), "site.test".to_owned()),
        (format!("web.test:{port}"), format!("web.test:{port}"), String::new()),
        (format!("127.0.0.1:{port}"), format!("127.0.0.1:{port}"), String::new()),
        (format!("0x7f.1:{port}"), format!("127.0.0.1:{port}"), String::new()),
        ("evil.test:443".to_owned(), "evil.test:443".to_owned(), "evil.test".to_owned()),
    ] {
        for text in [format!("CONNECT {target} HTTP/1.1\r\n\r\n"), get(&target)] {
            let answer = say(&*line, &text).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{text}: {answer}");
            let said =
                format!("this command may not reach {place}; ask for it: network: [\"{asked}");
            assert!(answer.contains(&said), "{answer}");
            assert!(line.refused_hosts().contains(&place), "{place}");
        }
    }
    assert_eq!(line.refused_hosts().len(), 7, "each once: {:?}", line.refused_hosts());
    assert_eq!((witness.heard(), house.names.asked()), (Vec::new(), 0), "nobody was asked");
}

#[tokio::test]
async fn z4_a_grant_opens_no_private_address() {
    let witness = Witness::start(Manner::Http).await;
    let port = witness.port();
    let house = house_with(
        &[
            ("inside.test", "127.0.0.1"),
            ("mixed.test", "93.184.216.34 10.0.0.1"),
            ("cloud.test", "169.254.169.254"),
            ("mapped.test", "::ffff:127.0.0.1"),
        ],
        &["cloud.test"],
        EgressBounds::default(),
    );
    let names = ["inside.test", "mixed.test", "cloud.test", "mapped.test"];
    let forms = ["127.0.0.1", "2130706433", "[::1]", "localhost", "x.localhost", "169.254.169.254"];
    let forms = forms.into_iter().chain(["metadata.google.internal", "intranet"]);
    let all: Vec<&str> = names.into_iter().chain(forms).collect();
    let granted: Vec<String> = all.iter().map(|host| format!("{host}:{port}")).collect();
    let line = house.line(&granted).await;
    for place in &granted {
        for text in [format!("CONNECT {place} HTTP/1.1\r\n\r\n"), get(place)] {
            let answer = say(&*line, &text).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{place}: {answer}");
            assert!(answer.contains("which tools do not reach"), "{place}: {answer}");
        }
    }
    // Two spellings of one address are one.
    assert_eq!(line.refused_hosts().len(), granted.len() - 1, "{:?}", line.refused_hosts());
    let says_why = |told: &String| told.contains("can list it in web.allow_hosts");
    assert!(line.refused_hosts().iter().all(says_why), "{:?}", line.refused_hosts());
    assert_eq!(house.names.asked(), 2 * names.len(), "literals and closed names ask nobody");
    assert_eq!(witness.heard(), Vec::<String>::new());
    let unknown = house.line(&["nowhere.test".to_owned()]).await;
    let answer = say(&*unknown, &get("nowhere.test")).await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("nowhere.test"), "{answer}");
    assert_eq!(unknown.refused_hosts(), Vec::<String>::new(), "a failure is no refusal");
}

#[tokio::test]
async fn z4_one_request_for_one_connection() {
    let witness = Witness::start(Manner::Http).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    // A second request, for another name on the same server, is never sent.
    let second = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let raw = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    for hidden in [second, raw] {
        say(&*line, &format!("{}{hidden}", get(&place))).await;
        let post = get(&place).replacen("GET", "POST", 1);
        let sized = post.replacen("Proxy-Connection: keep-alive", "Content-Length: 4", 1);
        say(&*line, &format!("{sized}body{hidden}")).await;
        let chunked =
            post.replacen("Proxy-Connection: keep-alive", "Transfer-Encoding: chunked", 1);
        say(&*line, &format!("{chunked}2;x=y\r\nbo\r\n02\r\ndy\r\n0\r\nX-T: 1\r\n\r\n{hidden}"))
            .await;
    }
    let heard = witness.heard();
    assert_eq!(heard.len(), 6);
    for request in &heard {
        assert!(!request.contains("evil"), "{request}");
    }
    assert!(
        heard[1].ends_with("content-length: 4\r\nconnection: close\r\n\r\nbody"),
        "{}",
        heard[1]
    );
    assert!(heard[2].ends_with("\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"), "{}", heard[2]);
    let fronted = get(&place).replacen(&format!("Host: {place}"), "Host: evil.test", 1);
    assert!(say(&*line, &fronted).await.starts_with("HTTP/1.1 400 "));
    assert_eq!(witness.heard().len(), 6);
}

/// What a TLS client says first.
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

/// Opens a tunnel, says `first` in small pieces and returns what comes back.
async fn through(line: &dyn EgressLine, place: &str, first: &[u8]) -> String {
    let mut stream = UnixStream::connect(line.socket()).await.unwrap();
    stream.write_all(format!("CONNECT {place} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    for piece in first.chunks(100) {
        if stream.write_all(piece).await.is_err() {
            break;
        }
        stream.flush().await.unwrap();
    }
    let _ = stream.shutdown().await;
    rest(&mut stream).await
}

#[tokio::test]
async fn z4_a_tunnel_carries_tls_for_its_own_host_only() {
    let witness = Witness::start(Manner::Echo).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let good = hello("site.test");
    let back = through(&*line, &place, &good).await;
    assert!(back.starts_with("HTTP/1.1 200 ") && back.len() > good.len(), "{} bytes", back.len());
    assert_eq!(witness.heard_bytes(), [good]);
    assert_eq!(line.refused_hosts(), Vec::<String>::new());
    // Another name, none at all, and a message that is cut short.
    for first in [
        hello("evil.test"),
        hello("sub.site.test"),
        hello("127.0.0.1"),
        hello("site.test")[..90].to_vec(),
    ] {
        let back = through(&*line, &place, &first).await;
        assert_eq!(back.matches("\r\n\r\n").count(), 1, "nothing after the opening");
    }
    assert_eq!(line.refused_hosts(), std::slice::from_ref(&place));
    let heard = witness.heard_bytes();
    assert!(heard[1..].iter().all(Vec::is_empty), "not a byte of theirs went on");
    // Another protocol at a port that was granted by its number.
    let back = through(&*line, &place, b"SSH-2.0-x\r\n").await;
    assert!(back.ends_with("SSH-2.0-x\r\n"), "{back}");
}

#[tokio::test]
async fn z4_a_host_may_speak_first() {
    let witness = Witness::start(Manner::Greets).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let mut stream = UnixStream::connect(line.socket()).await.unwrap();
    stream.write_all(format!("CONNECT {place} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"220 ready\r\n") {
        assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "it ended");
    }
}

#[tokio::test]
async fn z4_plain_http_gets_no_tunnel_by_default() {
    let house = house();
    let line = house.line(&["site.test".to_owned()]).await;
    let answer = say(&*line, "CONNECT site.test:80 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("network: [\"site.test:80\"]"), "{answer}");
    assert_eq!(house.names.asked(), 0);
}

#[tokio::test]
async fn z4_slow_large_and_broken_requests_end() {
    let bounds =
        EgressBounds { head_timeout: Duration::from_millis(200), ..EgressBounds::default() };
    let house = house_with(&[("site.test", "127.0.0.1")], &["site.test"], bounds);
    let line = house.line(&["site.test".to_owned()]).await;
    let mut slow = UnixStream::connect(line.socket()).await.unwrap();
    slow.write_all(b"GET http://site.test/ HTTP/1.1\r\nX-").await.unwrap();
    let answer = rest(&mut slow).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    // The others are not slow, whatever else the machine does.
    let bounds = EgressBounds { head_bytes_max: 2_000, ..EgressBounds::default() };
    let house = house_with(&[("site.test", "127.0.0.1")], &["site.test"], bounds);
    let line = house.line(&["site.test".to_owned()]).await;
    let large = format!("GET http://site.test/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(5_000));
    let answer = say(&*line, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    for broken in
        ["\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\r\n\r\n", "CONNECT x HTTP/1.1\r\n\r\n"]
    {
        let answer = say(&*line, broken).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{broken:?}: {answer}");
    }
}

#[tokio::test]
async fn z4_silence_ends_a_tunnel() {
    let witness = Witness::start(Manner::Silent).await;
    let bounds =
        EgressBounds { idle_timeout: Duration::from_millis(200), ..EgressBounds::default() };
    let house = house_with(&[("site.test", "127.0.0.1")], &["site.test"], bounds);
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let mut stream = UnixStream::connect(line.socket()).await.unwrap();
    stream.write_all(format!("CONNECT {place} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(rest(&mut stream).await.ends_with("\r\n\r\n"));
    assert!(say(&*line, &get(&place)).await.is_empty());
}

#[tokio::test]
async fn z4_connections_and_bytes_are_bounded() {
    let witness = Witness::start(Manner::Http).await;
    let bounds = EgressBounds {
        connections_max: 2,
        head_timeout: Duration::from_millis(300),
        bytes_max: Some(1_000),
        ..EgressBounds::default()
    };
    let house = house_with(&[("site.test", "127.0.0.1")], &["site.test"], bounds);
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    // Before they are there: their time may begin at once.
    let begun = std::time::Instant::now();
    let one = UnixStream::connect(line.socket()).await.unwrap();
    let two = UnixStream::connect(line.socket()).await.unwrap();
    // The third waits until the first two are given up.
    assert!(say(&*line, &get(&place)).await.ends_with("hello"));
    assert!(begun.elapsed() >= Duration::from_millis(200), "{:?}", begun.elapsed());
    drop((one, two));
    for _ in 0..20 {
        say(&*line, &get(&place)).await;
    }
    let answer = say(&*line, &get(&place)).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("used up"), "{answer}");
    assert!(witness.heard().concat().len() <= 1_000);
}

#[tokio::test]
async fn z4_everything_ends_with_the_line() {
    let witness = Witness::start(Manner::Echo).await;
    let house = house();
    let place = format!("site.test:{}", witness.port());
    let line = house.line(std::slice::from_ref(&place)).await;
    let (socket, port) = (line.socket().to_path_buf(), line.loopback().0);
    let mut stream = UnixStream::connect(&socket).await.unwrap();
    stream.write_all(format!("CONNECT {place} HTTP/1.1\r\n\r\nhi").as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"hi") {
        assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "it ended");
    }
    drop(line);
    assert_eq!(rest(&mut stream).await, "");
    assert!(!socket.exists() && !socket.parent().unwrap().exists());
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(std::fs::read_dir(house.folder.path().join("egress")).unwrap().count(), 0);
}

#[tokio::test]
async fn z4_folders_of_killed_programs_are_swept_and_live_ones_kept() {
    let house = house();
    let live = house.line(&[]).await;
    let dir = house.folder.path().join("egress");
    let dead = dir.join("dead");
    std::fs::create_dir(&dead).unwrap();
    drop(std::os::unix::net::UnixListener::bind(dead.join("proxy")).unwrap());
    let young = dir.join("young");
    std::fs::create_dir(&young).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    for folder in [&dead, live.socket().parent().unwrap()] {
        std::fs::File::open(folder).unwrap().set_modified(long_ago).unwrap();
    }
    let other = house.line(&[]).await;
    assert!(!dead.exists() && young.exists());
    assert!(live.socket().exists() && other.socket().exists());
    assert_ne!(live.loopback().1, other.loopback().1);
}

#[tokio::test]
async fn z4_a_line_that_cannot_be_safe_is_not_opened() {
    let house = house();
    let error = house.egress.open(&["not a host".to_owned()]).await.err().unwrap();
    assert!(error.contains("\"not a host\" is no host"), "{error}");
    let open = |dir: std::path::PathBuf| async move {
        let options =
            EgressOptions { dir, allow_hosts: Vec::new(), bounds: EgressBounds::default() };
        LocalEgress::new(options).unwrap().open(&[]).await.err().unwrap()
    };
    let error = open(house.folder.path().join("x".repeat(100))).await;
    assert!(error.contains("too long") && error.contains("--state-dir"), "{error}");
    let shared = house.folder.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = open(shared).await;
    assert!(error.contains("only you can write"), "{error}");
}
