//! Finished turns a second of one, two and three servers on one PostgreSQL (`--replicas`, S17), with the same
//! load, which is more than one of them can do.
//!
//! What bounds a server here is its way to the database: each message takes ten milliseconds there and ten back,
//! as between distant machines, and a server has sixteen connections. The model answers after a tenth of a second.
//! So servers that share nothing but the database carry more together, and the processors of this machine, on
//! which everything runs, need not grow. Where they are the limit nevertheless, it is said and nothing is judged.
//!
//! It takes some minutes, most of them on the way to the database; how far it is is told on the way.

use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::super::figures::Row;
use super::super::house::House;
use super::super::model::{Model, Reply, Script};
use super::served::{Served, last_said};
use crate::database::own::{OwnServer, ServerSyncs};
use crate::database::{self, Database};
use crate::served::person::Person;
use crate::served::wait_at_most;

/// Most servers at once.
const SERVERS_MAX: usize = 3;
/// People, and sessions of each: all of them say something again as soon as they were answered.
const PEOPLE: usize = 6;
const SESSIONS_OF_ONE: usize = 20;
/// How long a message takes to the database, and one back.
const WAY: Duration = Duration::from_millis(10);
/// How long the model thinks.
const THINKS: Duration = Duration::from_millis(100);
/// In this time all begin, one after the other: where all began at once, all would be answered at once, and
/// what is counted would be whole rounds of them. About as long as one server takes for a turn of each.
const WARM_UP: Duration = Duration::from_secs(15);
/// How long what is finished is counted.
const MEASURED: Duration = Duration::from_secs(30);
/// Requests under way at once at each server while sessions are opened: as many as it has connections.
const AT_ONCE: usize = 16;
/// How long signing in and opening all sessions may take: each goes to the database and back many times.
const OPENING_MAX: Duration = Duration::from_secs(240);
/// How long a turn may take.
const TURN_MAX: Duration = Duration::from_secs(120);
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
            let one = throughput(house, &model, &proxy.url, servers).await;
            let one = one.with_context(|| format!("servers: {servers}; {}", last_said(house)))?;
            // There are minutes between them.
            tell(servers, &format!("{:.1} turns a second", one.finished))?;
            measured.push(one);
        }
        Ok(told(&measured))
    })
}

/// Says how far it is, where it is in nobody's way.
fn tell(servers: usize, what: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stderr(), "S17: servers: {servers}: {what}")?)
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
    let began = Instant::now();
    let opening = open_sessions(&addresses);
    let sessions = wait_at_most(OPENING_MAX, "opening all sessions", opening).await??;
    tell(servers, &format!("all sessions are open after {} s", began.elapsed().as_secs()))?;
    let finished = Arc::new(AtomicUsize::new(0));
    let until = Instant::now() + WARM_UP + MEASURED;
    let mut at_work = JoinSet::new();
    let load = sessions.len() as f64;
    for (number, session) in sessions.into_iter().enumerate() {
        let (finished, begins) = (Arc::clone(&finished), WARM_UP.mul_f64(number as f64 / load));
        at_work.spawn(async move {
            tokio::time::sleep(begins).await;
            session.keep_busy(until, finished).await
        });
    }
    let_work(&mut at_work, WARM_UP).await?;
    let (before, used, began) = (finished.load(Ordering::SeqCst), ticks()?, Instant::now());
    let_work(&mut at_work, MEASURED).await?;
    let done = finished.load(Ordering::SeqCst) - before;
    let (took, now) = (began.elapsed(), ticks()?);
    // Each ends with the turn that it is at, which is bounded.
    while let Some(ended) = at_work.join_next().await {
        ended??;
    }
    let all = (now.all - used.all).max(1.0);
    let busy = 100.0 * (1.0 - (now.idle - used.idle) / all);
    Ok(Throughput { servers, finished: done as f64 / took.as_secs_f64(), busy })
}

/// Lets all work for so long.
///
/// # Errors
/// What one of them met, at once.
async fn let_work(at_work: &mut JoinSet<anyhow::Result<()>>, time: Duration) -> anyhow::Result<()> {
    let until = tokio::time::Instant::now() + time;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(until) => return Ok(()),
            Some(ended) = at_work.join_next() => ended??,
        }
    }
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
        let what = format!("a turn of session {} at {}", self.id, self.address);
        let mut last = json!({ "seq": 0 });
        while Instant::now() < until {
            let turn = wait_at_most(TURN_MAX, &what, self.take_turn(&mut last)).await;
            turn.with_context(|| format!("the last fact: {last}"))??;
            finished.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Says something, and hears what comes behind the fact `last` until the run has ended.
    async fn take_turn(&self, last: &mut Value) -> anyhow::Result<()> {
        self.person.say(&self.address, &self.id, "on").await?;
        let after = last["seq"].as_u64().unwrap_or(0);
        let (mut is_over, mut newest) = (false, Value::Null);
        let heard = self.person.follow(&self.address, &self.id, after, |event| {
            is_over = event["kind"] == "run.finished";
            // What streams has no place in the journal.
            if event["seq"].is_u64() {
                last.clone_from(&event);
            }
            newest = event;
            !is_over
        });
        heard.await.with_context(|| format!("session {} at {}", self.id, self.address))?;
        ensure!(is_over, "session {}: the server ended its events behind {newest}", self.id);
        Ok(())
    }
}

/// New sessions of all people, at one server after the other.
async fn open_sessions(addresses: &[String]) -> anyhow::Result<Vec<BusySession>> {
    let first = addresses.first().context("there is a server")?;
    let admin = Person::sign_in(first, "admin").await?;
    // At every further number of servers those of before are there already.
    let names: Vec<String> =
        (0..PEOPLE).map(|number| format!("p{number}of{}", addresses.len())).collect();
    for name in &names {
        admin.make_person(first, name).await?;
    }
    let people: Vec<Arc<Person>> = stream::iter(names)
        .map(|name| async move { Person::sign_in(first, &name).await.map(Arc::new) })
        .buffered(PEOPLE)
        .try_collect()
        .await?;
    stream::iter(0..PEOPLE * SESSIONS_OF_ONE)
        .map(|number| {
            let person = Arc::clone(&people[number / SESSIONS_OF_ONE]);
            let address = addresses[number % addresses.len()].clone();
            async move {
                let id = person.open_session(&address, &json!({})).await?;
                anyhow::Ok(BusySession { person, address, id })
            }
        })
        .buffered(AT_ONCE * addresses.len())
        .try_collect()
        .await
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

    #[tokio::test]
    async fn s17_what_one_session_meets_ends_the_measurement_at_once() {
        let mut at_work: JoinSet<anyhow::Result<()>> = JoinSet::new();
        at_work.spawn(std::future::ready(Ok(())));
        at_work.spawn(std::future::ready(Err(anyhow::anyhow!("refused"))));
        let worked = let_work(&mut at_work, Duration::from_secs(600)).await;
        assert_eq!(worked.expect_err("one of them failed").to_string(), "refused");
        let_work(&mut at_work, Duration::ZERO).await.expect("the others go on");
    }

    #[test]
    fn s17_what_the_processors_did_is_read() {
        let ticks = parse_ticks("cpu  10 1 5 80 4 0 0 0 3 0\ncpu0 1 1 1 1\n").expect("a line");
        assert_eq!((ticks.all, ticks.idle), (100.0, 84.0));
        assert!(parse_ticks("").is_err() && parse_ticks("cpu x\n").is_err());
    }
}
