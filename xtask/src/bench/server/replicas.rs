//! Finished turns a second of one, two and three servers on one PostgreSQL (`--replicas`, S17), with the same
//! load, which is more than one of them can do.
//!
//! What bounds a server here is its way to the database: each message takes ten milliseconds there and ten back,
//! as between distant machines, and a server has sixteen connections. The model answers after a tenth of a second.
//! So servers that share nothing but the database carry more together, and the processors of this machine, on
//! which everything runs, need not grow. Where they are the limit nevertheless, it is said and nothing is judged.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::figures::Row;
use super::super::house::House;
use super::super::model::{Model, Reply, Script};
use super::served::Served;
use crate::database::own::{OwnServer, ServerSyncs};
use crate::database::{self, Database};
use crate::served::person::Person;

/// Most servers at once.
const SERVERS_MAX: usize = 3;
/// People, and sessions of each: all of them say something again as soon as they were answered.
const PEOPLE: usize = 6;
const SESSIONS_OF_ONE: usize = 20;
/// How long a message takes to the database, and one back.
const WAY: Duration = Duration::from_millis(10);
/// How long the model thinks.
const THINKS: Duration = Duration::from_millis(100);
/// Until what is measured is the load and not its beginning, and how long that is.
const WARM_UP: Duration = Duration::from_secs(10);
const MEASURED: Duration = Duration::from_secs(30);
/// Requests under way at once while sessions are opened.
const AT_ONCE: usize = 8;
/// What more servers have to finish, against one.
const TARGETS: [(usize, f64); 2] = [(2, 1.5), (3, 2.0)];
/// From this share of the processors on these are the limit, in per cent.
const PROCESSORS_BUSY: f64 = 90.0;
/// Bytes read at once, and pieces that are on the way.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_MAX: usize = 1_024;

/// What so many servers did.
#[derive(Debug, Clone, Copy)]
struct Throughput {
    servers: usize,
    /// Turns a second.
    finished: f64,
    /// Of all processors, in per cent.
    busy: f64,
}

/// Measures one after the other.
///
/// # Errors
/// There is no PostgreSQL, or a server refuses something.
pub(in crate::bench) fn rows(house: &House) -> anyhow::Result<Vec<Row>> {
    let (_own, server) = OwnServer::start_or_find(ServerSyncs::Real)?;
    let database = server.create(&format!("weir_replicas_{}", std::process::id()))?;
    let script: Script = Arc::new(|_| {
        std::thread::sleep(THINKS);
        Reply::Text("It is done.".into())
    });
    let model = Model::start_forgetful(script)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // On this thread, which ends with the program: with it ends a server of ours.
    runtime.block_on(async {
        let proxy = DistantDatabase::start(&database).await?;
        let mut measured = Vec::new();
        for servers in 1..=SERVERS_MAX {
            measured.push(throughput(house, &model, &proxy.url, servers).await?);
        }
        Ok(told(&measured))
    })
}

fn told(measured: &[Throughput]) -> Vec<Row> {
    let load = PEOPLE * SESSIONS_OF_ONE;
    let mut rows = Vec::new();
    for Throughput { servers, finished, busy } in measured {
        let who =
            format!("servers: {servers}, {load} sessions, database {} ms away", WAY.as_millis());
        rows.push(Row::watched("S17", &format!("{who}: finished turns"), *finished, "turns/s"));
        rows.push(Row::watched("S17", &format!("{who}: processors in use"), *busy, "%"));
    }
    let of = |servers: usize| measured.iter().find(|one| one.servers == servers);
    for (servers, least) in TARGETS {
        let (Some(one), Some(more)) = (of(1), of(servers)) else { continue };
        let ratio = more.finished / one.finished.max(f64::MIN_POSITIVE);
        let measure = format!("finished turns of {servers} servers against one");
        rows.push(match more.busy < PROCESSORS_BUSY {
            true => Row::at_least("S17", &measure, &[ratio], "×", least),
            false => Row::watched("S17", &format!("{measure} (processors full)"), ratio, "×"),
        });
    }
    rows
}

/// So many servers, new sessions spread over them, and what they finish.
async fn throughput(
    house: &House,
    model: &Model,
    database: &str,
    servers: usize,
) -> anyhow::Result<Throughput> {
    let url = model.url();
    let mut served = Vec::new();
    for _ in 0..servers {
        served.push(Served::start(house, url.trim_start_matches("http://"), Some(database))?);
    }
    let addresses: Vec<String> = served.iter().map(|one| one.address.clone()).collect();
    let sessions = open_sessions(&addresses).await?;
    let finished = Arc::new(AtomicUsize::new(0));
    let until = Instant::now() + WARM_UP + MEASURED;
    let at_work: Vec<JoinHandle<anyhow::Result<()>>> = sessions
        .into_iter()
        .map(|session| tokio::spawn(session.keep_busy(until, Arc::clone(&finished))))
        .collect();
    tokio::time::sleep(WARM_UP).await;
    let (before, used, began) = (finished.load(Ordering::SeqCst), ticks()?, Instant::now());
    tokio::time::sleep(MEASURED).await;
    let done = finished.load(Ordering::SeqCst) - before;
    let (took, now) = (began.elapsed(), ticks()?);
    for one in at_work {
        one.await??;
    }
    let all = (now.all - used.all).max(1.0);
    let busy = 100.0 * (1.0 - (now.idle - used.idle) / all);
    Ok(Throughput { servers, finished: done as f64 / took.as_secs_f64(), busy })
}

/// Where a session is worked with.
struct BusySession {
    person: Arc<Person>,
    address: String,
    id: String,
}

impl BusySession {
    /// Says something, hears the answer, and says something again.
    async fn keep_busy(self, until: Instant, finished: Arc<AtomicUsize>) -> anyhow::Result<()> {
        let BusySession { person, address, id } = self;
        let mut after: u64 = 0;
        while Instant::now() < until {
            person.say(&address, &id, "on").await?;
            let heard = person.follow(&address, &id, after, |event| {
                after = after.max(event["seq"].as_u64().unwrap_or(0));
                event["kind"] != "run.finished"
            });
            heard.await?;
            finished.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// New sessions of all people, at one server after the other.
async fn open_sessions(addresses: &[String]) -> anyhow::Result<Vec<BusySession>> {
    let first = addresses.first().context("there is a server")?;
    let admin = Person::sign_in(first, "admin").await?;
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        // At every further number of servers they are there already.
        let name = format!("p{number}of{}", addresses.len());
        admin.make_person(first, &name).await?;
        people.push(Arc::new(Person::sign_in(first, &name).await?));
    }
    let opened = stream::iter(0..PEOPLE * SESSIONS_OF_ONE)
        .map(|number| {
            let person = Arc::clone(&people[number / SESSIONS_OF_ONE]);
            let address = addresses[number % addresses.len()].clone();
            async move {
                let id = person.open_session(&address, &json!({})).await?;
                anyhow::Ok(BusySession { person, address, id })
            }
        })
        .buffered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    opened.into_iter().collect()
}

/// What all processors did since the machine began, in ticks.
struct Ticks {
    all: f64,
    idle: f64,
}

fn ticks() -> anyhow::Result<Ticks> {
    parse_ticks(&fs::read_to_string("/proc/stat")?)
}

fn parse_ticks(stat: &str) -> anyhow::Result<Ticks> {
    let line = stat.lines().next().context("/proc/stat is empty")?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests have stands in the first two.
    let fields: Result<Vec<f64>, _> =
        line.split_whitespace().skip(1).take(8).map(str::parse::<f64>).collect();
    let fields = fields.with_context(|| format!("/proc/stat: {line}"))?;
    let idle = fields.iter().skip(3).take(2).sum();
    Ok(Ticks { all: fields.iter().sum(), idle })
}

/// A way to the database that takes its time. Dropping it closes it.
struct DistantDatabase {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for DistantDatabase {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl DistantDatabase {
    async fn start(database: &Database) -> anyhow::Result<DistantDatabase> {
        let upstream = database::upstream(&database.url)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let url = database::through(&database.url, &address, "replicas")?;
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                // One that cannot be reached closes the connection, and the server tries again.
                let Ok(far) = TcpStream::connect(&upstream).await else { continue };
                if near.set_nodelay(true).is_err() || far.set_nodelay(true).is_err() {
                    continue;
                }
                let ((near_reads, near_writes), (far_reads, far_writes)) =
                    (near.into_split(), far.into_split());
                tokio::spawn(carry(near_reads, far_writes));
                tokio::spawn(carry(far_reads, near_writes));
            }
        });
        Ok(DistantDatabase { url, task })
    }
}

/// Carries what comes to the other side, each piece as late as the way is long.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let (sender, mut pieces) = mpsc::channel::<(tokio::time::Instant, Vec<u8>)>(PIECES_MAX);
    tokio::spawn(async move {
        while let Some((due, piece)) = pieces.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(count) = from.read(&mut buffer).await {
        let due = tokio::time::Instant::now() + WAY;
        let is_over = count == 0;
        if is_over || sender.send((due, buffer[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s17_more_servers_are_judged_where_the_processors_are_not_full() {
        let of = |servers, finished, busy| Throughput { servers, finished, busy };
        let judged = |measured: &[Throughput]| -> Vec<bool> {
            told(measured).iter().filter_map(|row| row.met).collect()
        };
        assert_eq!(judged(&[of(1, 60.0, 40.0), of(2, 96.0, 70.0), of(3, 110.0, 95.0)]), [true]);
        assert_eq!(
            judged(&[of(1, 60.0, 40.0), of(2, 66.0, 50.0), of(3, 130.0, 80.0)]),
            [false, true]
        );
    }

    #[test]
    fn s17_what_the_processors_did_is_read() {
        let ticks = parse_ticks("cpu  10 1 5 80 4 0 0 0 3 0\ncpu0 1 1 1 1\n").expect("a line");
        assert_eq!((ticks.all, ticks.idle), (100.0, 84.0));
        assert!(parse_ticks("").is_err() && parse_ticks("cpu x\n").is_err());
    }
}
