//! `weir serve` when its PostgreSQL goes away while it works (D9, D8): the line is cut, or what is
//! sent is swallowed. A clear error in time, nothing twice, and work goes on by itself when the
//! database is back. What the store alone does is in the store's own tests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use weir_test_kit::{
    Browser, TestDatabase, TestInstallation, TestServer, wait_until_async, written_files,
};

/// Within this a person who asks something is told that it cannot be done now.
const ANSWER: Duration = Duration::from_secs(45);
/// How many files the model writes.
const FILES: usize = 16;
/// Longer than a server may be away from its database before its leases are over.
const LONGER_THAN_A_LEASE: Duration = Duration::from_secs(14);

#[derive(Clone, Copy, PartialEq)]
enum Line {
    Up,
    /// Connections end, new ones are refused.
    Cut,
    /// Connections stay, nothing ever comes through them again: a machine that lost its power, a
    /// firewall that forgot them. New ones are taken and say nothing.
    Silent,
}

/// A model that writes one file after the other, and takes its time.
fn script() -> String {
    let turn = |n| {
        format!(
            "\nsays: This is turn {n}.\npace: 50ms\ncalls: write_file {{\"path\": \"w{n}.txt\", \
             \"content\": \"{n}\"}}\n"
        )
    };
    let turns: String = (0..FILES).map(turn).collect();
    format!("name: test\n{turns}\nsays: All is written.\n\nsays: Heard.\n")
}

/// What lies between a server and its database.
struct Between {
    port: u16,
    line: Arc<watch::Sender<Line>>,
}

impl Between {
    async fn new(database: &TestDatabase) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let line = Arc::new(watch::Sender::new(Line::Up));
        let beyond = beyond(database);
        let state = line.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if *state.borrow() != Line::Cut {
                    tokio::spawn(carry(near, beyond.clone(), state.subscribe()));
                }
            }
        });
        Between { port, line }
    }

    fn set(&self, line: Line) {
        self.line.send_replace(line);
    }

    /// The database as the server behind this finds it.
    fn url(&self, database: &TestDatabase) -> String {
        let mut url = url::Url::parse(&database.url).expect("a URL");
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(self.port)).expect("a port");
        url.into()
    }
}

fn beyond(database: &TestDatabase) -> String {
    let url = url::Url::parse(&database.url).expect("a URL");
    format!("{}:{}", url.host_str().expect("a host"), url.port().unwrap_or(5432))
}

/// Carries bytes in both directions while the line is up.
async fn carry(near: TcpStream, beyond: String, line: watch::Receiver<Line>) {
    let Ok(far) = TcpStream::connect(&beyond).await else { return };
    for socket in [&near, &far] {
        socket.set_nodelay(true).expect("it is open");
    }
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    tokio::select! {
        () = one_way(near_reads, far_writes, line.clone()) => {}
        () = one_way(far_reads, near_writes, line) => {}
    }
}

async fn one_way(
    from: tokio::net::tcp::OwnedReadHalf,
    to: tokio::net::tcp::OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let now = *line.borrow_and_update();
        match now {
            Line::Cut => return,
            // A connection that fell silent is so for good; nobody is told.
            Line::Silent => std::future::pending().await,
            Line::Up => {}
        }
        let readable = tokio::select! {
            readable = from.readable() => readable,
            changed = line.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        if readable.is_err() {
            return;
        }
        let read = match from.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return,
        };
        let mut rest = &bytes[..read];
        while !rest.is_empty() {
            if to.writable().await.is_err() {
                return;
            }
            match to.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

/// A server behind a line to a database of its own.
struct Scene {
    between: Between,
    served: TestServer,
    admin: Browser,
    _database: TestDatabase,
}

async fn scene() -> Option<Scene> {
    let database = TestDatabase::create().await?;
    let between = Between::new(&database).await;
    let house = TestInstallation::new().with_variable("WEIR_LOG", "warn");
    house.set_scripted_model(&script(), "permission = \"full\"\n");
    let mut served = TestServer::start_in(house, Some(between.url(&database))).await;
    let admin = served.admin().await;
    Some(Scene { between, served, admin, _database: database })
}

async fn say(browser: &Browser, session: &str, client_id: &str) -> (u16, Value) {
    let body = json!({ "client_id": client_id, "content": [{ "type": "text", "text": "Go." }] });
    browser.api("POST", &format!("/api/v1/sessions/{session}/input"), Some(body)).await
}

impl Scene {
    /// The model is at work: it wrote some files, and not all.
    async fn at_work(&self) -> String {
        let session = self.admin.open().await;
        let (status, taken) = say(&self.admin, &session, "one").await;
        assert_eq!(status, 202, "{taken}");
        wait_until_async("some files are written", async || {
            let files = written_files(&self.served.house).len();
            if files >= 2 { Ok(()) } else { Err(format!("{files} files")) }
        })
        .await;
        session
    }

    /// What anybody who asks is told meanwhile, and how soon.
    async fn is_told(&self, session: &str) {
        let began = Instant::now();
        for path in ["/chats", "/api/v1/sessions"] {
            let (status, text) = self.admin.get(path).await;
            assert_eq!(status, 503, "{path}: {text}");
            assert!(!text.contains("127.0.0.1"), "no insides: {text}");
        }
        let (status, problem) = say(&self.admin, session, "while-it-was-away").await;
        assert_eq!(status, 503, "{problem}");
        assert_eq!(problem["code"], "unavailable", "{problem}");
        let (status, ready) = self.served.stranger().api("GET", "/readyz", None).await;
        assert_eq!((status, &ready["wrong"]), (503, &json!(["database"])), "{ready}");
        let (status, _) = self.served.stranger().get("/healthz").await;
        assert_eq!(status, 200, "the process itself is well");
        assert!(began.elapsed() < ANSWER, "{:?}", began.elapsed());
    }

    /// The database is back: the work goes on to its end by itself, and everything stands once.
    async fn finds_all_whole(mut self, session: &str) {
        wait_until_async("it can work", async || {
            match self.served.stranger().api("GET", "/readyz", None).await {
                (200, _) => Ok(()),
                (_, ready) => Err(ready.to_string()),
            }
        })
        .await;
        let path = format!("/api/v1/sessions/{session}");
        wait_until_async("the run is completed", async || {
            let (_, info) = self.admin.api("GET", &path, None).await;
            if info["status"] == "completed" {
                Ok(())
            } else {
                Err(format!("{info}\n{}", self.served.error_text()))
            }
        })
        .await;
        let told = self.admin.facts(session).await;
        let seqs: Vec<u64> = told.iter().filter_map(|fact| fact["seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
        let of = |kind: &str| told.iter().filter(|fact| fact["kind"] == kind).count();
        assert_eq!(of("run.finished"), 1);
        assert_eq!(written_files(&self.served.house).len(), FILES, "the work went on to its end");
        let started = told.iter().filter(|fact| fact["kind"] == "call.started");
        let calls: Vec<String> = started.map(|fact| fact["call"].to_string()).collect();
        let distinct: BTreeSet<&String> = calls.iter().collect();
        assert_eq!(distinct.len(), calls.len(), "each began once: {calls:?}");
        // What was refused was not said, and can be said now under the same name.
        let (status, taken) = say(&self.admin, session, "while-it-was-away").await;
        assert_eq!(status, 202, "{taken}");
        wait_until_async("it was said once", async || {
            let told = self.admin.facts(session).await;
            match told.iter().filter(|fact| fact["kind"] == "input.accepted").count() {
                2 => Ok(()),
                count => Err(format!("{count} inputs")),
            }
        })
        .await;
        assert_eq!(self.served.stop().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_database_that_is_cut_off_in_the_middle_is_said_and_work_goes_on_when_it_is_back() {
    let Some(scene) = scene().await else { return };
    let session = scene.at_work().await;
    scene.between.set(Line::Cut);
    scene.is_told(&session).await;
    scene.between.set(Line::Up);
    scene.finds_all_whole(&session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_database_that_is_away_for_longer_than_a_lease_is_found_again() {
    let Some(scene) = scene().await else { return };
    let session = scene.at_work().await;
    scene.between.set(Line::Cut);
    tokio::time::sleep(LONGER_THAN_A_LEASE).await;
    scene.is_told(&session).await;
    scene.between.set(Line::Up);
    scene.finds_all_whole(&session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_database_that_falls_silent_is_said_in_time_and_work_goes_on_when_it_is_back() {
    let Some(scene) = scene().await else { return };
    let session = scene.at_work().await;
    scene.between.set(Line::Silent);
    scene.is_told(&session).await;
    scene.between.set(Line::Up);
    scene.finds_all_whole(&session).await;
}
