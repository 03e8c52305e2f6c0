//! A way out for tests: a proxy that lets through one host, and commands that use it or go past it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;
use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandOutcome, Egress, EgressLine};

use crate::world::World;

under_confining_tiers!(
    z4_a_granted_host_is_reached_and_another_is_refused_and_told,
    z4_without_the_word_or_past_the_proxy_nothing_is_reached,
    z4_hosts_without_a_proxy_are_an_error,
);

struct FakeEgress;

struct FakeLine {
    _dir: TempDir,
    socket: PathBuf,
    port: u16,
    refused: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Egress for FakeEgress {
    async fn open(&self, hosts: &[String]) -> Result<Box<dyn EgressLine>, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let socket = dir.path().join("proxy");
        let refused = Arc::new(Mutex::new(Vec::new()));
        let unix = UnixListener::bind(&socket).map_err(|error| error.to_string())?;
        let tcp = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
        let port = tcp.local_addr().map_err(|error| error.to_string())?.port();
        let (one, other) = (hosts.to_vec(), hosts.to_vec());
        let (of_one, of_other) = (Arc::clone(&refused), Arc::clone(&refused));
        std::thread::spawn(move || {
            unix.incoming().flatten().for_each(|stream| answer(stream, &one, false, &of_one));
        });
        std::thread::spawn(move || {
            tcp.incoming().flatten().for_each(|stream| answer(stream, &other, true, &of_other));
        });
        Ok(Box::new(FakeLine { _dir: dir, socket, port, refused }))
    }
}

impl EgressLine for FakeLine {
    fn socket(&self) -> &Path {
        &self.socket
    }
    fn loopback(&self) -> (u16, &str) {
        (self.port, "word")
    }
    fn refused_hosts(&self) -> Vec<String> {
        self.refused.lock().expect("no test panics in it").clone()
    }
}

fn answer(
    mut stream: impl Read + Write,
    hosts: &[String],
    needs_word: bool,
    refused: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(&mut stream).lines().map_while(Result::ok);
    let asked = lines.next().unwrap_or_default();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    // base64 of what begins with "word:".
    let knows = head.iter().any(|line| line.contains("Basic d29yZD"));
    let host = asked.split('/').nth(2).unwrap_or_default().to_string();
    let status = match () {
        () if needs_word && !knows => "407 Who are you",
        () if hosts.contains(&host) => "200 OK",
        () => {
            refused.lock().expect("no test panics in it").push(format!("{host}:80"));
            "403 Not granted"
        }
    };
    let _ =
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
}

async fn run(world: &World, command: &str) -> CommandOutcome {
    let mut spec = world.spec(1, command);
    spec.confine = CommandConfinement { hosts: vec!["granted.test".into()], ..spec.confine };
    world.run(spec).await
}

const GET: &str = "import sys, urllib.request as r
for host in sys.argv[1:]:
    try: print(host, r.urlopen('http://' + host + '/', timeout=60).read().decode())
    except Exception as e: print(host, 'failed', e)";

async fn z4_a_granted_host_is_reached_and_another_is_refused_and_told(tier: Tier) {
    let world = World::with(tier, |options| options.egress = Some(Arc::new(FakeEgress)));
    let outcome = run(&world, &format!("python3 -c \"{GET}\" granted.test other.test")).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    assert!(outcome.output.contains("granted.test hello"), "{outcome:?}");
    assert!(outcome.output.contains("other.test failed HTTP Error 403"), "{outcome:?}");
    assert_eq!(outcome.refused, ["host other.test:80"]);
}

async fn z4_without_the_word_or_past_the_proxy_nothing_is_reached(tier: Tier) {
    let world = World::with(tier, |options| options.egress = Some(Arc::new(FakeEgress)));
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.set_nonblocking(true).expect("a listener");
    let port = listener.local_addr().expect("bound").port();
    let past = format!(
        "env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy \
         python3 -c \"{GET}\" 127.0.0.1:{port} granted.test; \
         (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected"
    );
    let outcome = run(&world, &past).await;
    assert!(!outcome.output.contains("hello"), "{outcome:?}");
    assert!(!outcome.output.contains("connected"), "{outcome:?}");
    assert!(listener.accept().is_err(), "it was reached: {outcome:?}");
    if tier == Tier::Landlock {
        let world = World::with(tier, |options| options.egress = Some(Arc::new(FakeEgress)));
        let wordless = "export http_proxy=http://127.0.0.1:${http_proxy##*:}; ";
        let outcome = run(&world, &format!("{wordless} python3 -c \"{GET}\" granted.test")).await;
        assert!(outcome.output.contains("failed HTTP Error 407"), "{outcome:?}");
    }
}

async fn z4_hosts_without_a_proxy_are_an_error(tier: Tier) {
    let outcome = run(&World::new(tier), "true").await;
    let CommandEnd::NotStarted { why } = outcome.end else { panic!("{outcome:?}") };
    assert!(why.contains("granted.test, but there is no proxy"), "{why}");
}
