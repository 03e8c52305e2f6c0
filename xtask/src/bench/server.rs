//! The server under load (Q18, Q19): idle sockets, sessions that stream at once, and how long it
//! takes until everything goes on after SIGKILL. The real program, a real database; the model and
//! all browsers are in this process, on the same cores, so figures are worse than the server's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::stream::{self, StreamExt as _};
use serde_json::json;

use super::figures::{Row, quantile};
use super::house::House;
use super::used::ticks_time;

pub(super) mod inbox;
mod model;
mod pace;
pub(super) mod replicas;
mod served;
mod socket;
mod sockets;

use crate::served::person::Person;
use model::PacedModel;
use served::Served;
use sockets::{Idle, Streams};

/// Sockets that one person may have open, with a few left for pages.
const SOCKETS_PER_PERSON: usize = 90;
/// People whose sessions are opened before the server ends and begins again with all of them at rest.
const PEOPLE_AT_ONCE: usize = 20;
/// Requests under way at once while everything is set up.
const AT_ONCE: usize = 16;
/// How long it is waited until the server has begun, and for how long its processor time is looked at.
const SETTLE: Duration = Duration::from_secs(3);
/// How long after the last socket memory is looked at: what nobody uses of a person's database is given back
/// after two seconds.
const REST: Duration = Duration::from_secs(15);
/// How long going on may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// When all go on whose server was killed: two times the time after which a lease is lost (10 s).
const TAKEN_OVER_MS_MAX: f64 = 20_000.0;
/// Files that may be open: both ends of each socket are not ours, but the model's are.
const FILES: u64 = 65_000;

/// How much.
#[derive(Debug, Clone)]
pub(super) struct Load {
    /// Sockets that only listen.
    pub(super) idle: usize,
    /// Sessions that stream at once.
    pub(super) streams: usize,
    /// Tokens a second of each.
    pub(super) rate: u32,
    /// Seconds that each streams.
    pub(super) seconds: u32,
    /// `postgres://…`; `None`: SQLite.
    pub(super) database: Option<String>,
}

/// Measures all of it.
///
/// # Errors
/// The server refuses something, or does not go on.
pub(super) fn rows(house: &House, load: &Load) -> anyhow::Result<Vec<Row>> {
    let (soft, hard) = raise_files()?;
    ensure!(
        soft as usize > load.idle.max(load.streams * 2) + 200,
        "only {soft} files may be open (at most {hard}); raise it with ulimit -n"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measured(house, load))
}

fn raise_files() -> anyhow::Result<(u64, u64)> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(FILES);
    let wanted = FILES.min(most).max(now.current.unwrap_or(FILES));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum })
        .context("raising the number of open files")?;
    Ok((wanted, most))
}

async fn measured(house: &House, load: &Load) -> anyhow::Result<Vec<Row>> {
    let model = PacedModel::start(load.rate, load.seconds).await?;
    let mut served = Served::start(house, &model.address, load.database.as_deref())?;
    let count = load.idle.max(load.streams).div_ceil(SOCKETS_PER_PERSON);
    let people = people(&served, count).await?;
    let mut sessions = Vec::new();
    for people in people.chunks(PEOPLE_AT_ONCE) {
        let missing = load.idle.max(load.streams) - sessions.len();
        let count = missing.min(people.len() * SOCKETS_PER_PERSON);
        sessions.extend(open_sessions(&served, people, count).await?);
        // What is open has files open, and what signing in and opening took and gave back must not hide
        // what sockets take.
        served.start_again(house, &model.address, load.database.as_deref())?;
    }
    let mut rows = idle(&served, &model, &sessions[..load.idle], load).await?;
    sessions.truncate(load.streams);
    // Nor what the sockets took what streaming takes.
    served.start_again(house, &model.address, load.database.as_deref())?;
    rows.extend(streaming(&served, &model, &sessions, load).await?);
    rows.extend(killed(house, &mut served, &model, (&sessions, load)).await?);
    if load.database.is_some() {
        rows.extend(taken_over(house, served, &model, (&sessions, load)).await?);
    }
    Ok(rows)
}

/// So many people, signed in.
async fn people(served: &Served, count: usize) -> anyhow::Result<Vec<Arc<Person>>> {
    let admin = Person::sign_in(&served.address, "admin").await?;
    for number in 0..count {
        admin.make_person(&served.address, &format!("p{number}")).await?;
    }
    let address = &served.address;
    let names = (0..count).map(|number| format!("p{number}"));
    let made = stream::iter(names)
        .map(|name| async move { Person::sign_in(address, &name).await.map(Arc::new) })
        .buffered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    made.into_iter().collect()
}

/// One session: whose, and its id.
type Session = (Arc<Person>, String);

async fn open_sessions(
    served: &Served,
    people: &[Arc<Person>],
    count: usize,
) -> anyhow::Result<Vec<Session>> {
    let address = &served.address;
    let made = stream::iter((0..count).map(|number| people[number / SOCKETS_PER_PERSON].clone()))
        .map(|person| async move {
            let id = person.open_session(address, &json!({})).await?;
            anyhow::Ok((person, id))
        })
        .buffered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    made.into_iter().collect()
}

/// Each socket listens to a session of its own; then one session in a hundred is at work.
async fn idle(
    served: &Served,
    model: &PacedModel,
    sessions: &[Session],
    load: &Load,
) -> anyhow::Result<Vec<Row>> {
    tokio::time::sleep(SETTLE).await;
    let before = served.memory()?;
    let began = Instant::now();
    let mut sockets = Idle::open(&served.address, sessions.to_vec(), AT_ONCE).await?;
    let took = began.elapsed();
    tokio::time::sleep(REST).await;
    let each = (served.memory()? - before) / load.idle.max(1) as f64;
    let used = served.processor_time()?;
    tokio::time::sleep(SETTLE).await;
    let used = served.processor_time()?.saturating_sub(used);
    let rate = used.as_secs_f64() / SETTLE.as_secs_f64() * 100.0;
    let count = load.idle as f64;
    let mut rows = vec![
        Row::watched(
            "Q18",
            "idle sockets, each listening to a session of its own",
            count,
            "sockets",
        ),
        Row::at_most("Q18", "memory of each", &[each / 1e3], "kB", 20.0),
        Row::watched("Q18", "idle sockets in a GiB", 1_073_741_824.0 / each.max(1.0), "sockets"),
        Row::watched("Q18", "processor while all are idle, of one core", rate, "%"),
        Row::watched("Q18", "opening one", took.as_secs_f64() * 1e3 / count.max(1.0), "ms"),
    ];
    let mut working = sockets.take_first(load.idle / 100);
    working.say_all("begin")?;
    until_asked(model, load.idle / 100, Instant::now()).await?;
    model.begin_writing();
    let told = working.latencies(Duration::from_secs(u64::from(load.seconds)) + PATIENCE).await?;
    model.hold_writing();
    let name = "one in a hundred of them at work";
    rows.push(Row::watched(
        "Q19",
        &format!("{name}: added latency p99"),
        quantile(&told, 0.99),
        "ms",
    ));
    rows.push(Row::watched(
        "Q19",
        &format!("{name}: memory of the server"),
        served.memory()? / 1e6,
        "MB",
    ));
    ensure!(sockets.all_open(), "a socket was closed while it was idle");
    Ok(rows)
}

/// Sessions that all ask, and then all are written to.
async fn streaming(
    served: &Served,
    model: &PacedModel,
    sessions: &[Session],
    load: &Load,
) -> anyhow::Result<Vec<Row>> {
    let before = served.memory()?;
    let mut streams = Streams::open(&served.address, sessions.to_vec(), AT_ONCE).await?;
    let used = |since: [Duration; 2]| -> anyhow::Result<[Duration; 2]> {
        let now = [served.processor_time()?, ticks_time(std::process::id())?];
        Ok([now[0].saturating_sub(since[0]), now[1].saturating_sub(since[1])])
    };
    let began = Instant::now();
    let opened = used([Duration::ZERO; 2])?;
    let asked = model.asked.load(Ordering::SeqCst);
    streams.say_all("go")?;
    let asking = until_asked(model, asked + sessions.len(), began).await?;
    let [opening, _] = used(opened)?.map(|time| time.as_secs_f64() * 1e3);
    let unused = used([Duration::ZERO; 2])?;
    model.begin_writing();
    let time = Duration::from_secs(u64::from(load.seconds)) + PATIENCE;
    let half = Duration::from_secs(u64::from(load.seconds) / 2);
    let (told, peak) = tokio::join!(streams.latencies(time), async {
        tokio::time::sleep(half).await;
        served.memory()
    });
    let told = told?;
    let tokens = (load.streams as f64) * f64::from(load.rate * load.seconds);
    let share = told.len() as f64 / tokens.max(1.0) * 100.0;
    let each = (peak? - before) / load.streams.max(1) as f64;
    let [own, others] = used(unused)?.map(|time| time.as_secs_f64() * 1e6 / tokens.max(1.0));
    let a_core = 1e6 / (own * f64::from(load.rate)).max(1e-9);
    let count = format!("{} sessions streaming {} tokens/s", load.streams, load.rate);
    let opening = opening / load.streams.max(1) as f64;
    Ok(vec![
        Row::watched("Q19", "all of them opened and asking their model", asking, "ms"),
        Row::watched("Q19", "processor time of the server for opening one", opening, "ms"),
        Row::watched("Q19", &format!("{count}: tokens that arrived as they came"), share, "%"),
        Row::watched("Q19", &format!("{count}: added latency p50"), quantile(&told, 0.5), "ms"),
        Row::at_most(
            "Q19",
            &format!("{count}: added latency p99"),
            &[quantile(&told, 0.99)],
            "ms",
            20.0,
        ),
        Row::at_most("Q19", "memory of one that streams", &[each / 1e3], "kB", 200.0),
        Row::watched("Q19", "processor time of the server for a token", own, "µs"),
        Row::watched("Q19", "the same of the model and the browsers here", others, "µs"),
        Row::watched("Q19", "sessions at that rate that a core carries", a_core, "sessions"),
    ])
}

/// All sessions are at work; the server is killed and started again.
async fn killed(
    house: &House,
    served: &mut Served,
    model: &PacedModel,
    (sessions, load): (&[Session], &Load),
) -> anyhow::Result<Vec<Row>> {
    begin_all(served, sessions, model).await?;
    let asked = model.asked.load(Ordering::SeqCst);
    let began = Instant::now();
    served.start_again(house, &model.address, load.database.as_deref())?;
    let listening = began.elapsed();
    let back = until_asked(model, asked + sessions.len(), began).await?;
    let name = format!("after SIGKILL with {} sessions at work", sessions.len());
    Ok(vec![
        Row::watched(
            "Q19",
            &format!("{name}: listening again"),
            listening.as_secs_f64() * 1e3,
            "ms",
        ),
        Row::watched("Q19", &format!("{name}: all ask their model again"), back, "ms"),
    ])
}

/// Two replicas; the one that works is killed.
async fn taken_over(
    house: &House,
    served: Served,
    model: &PacedModel,
    (sessions, load): (&[Session], &Load),
) -> anyhow::Result<Vec<Row>> {
    // What the restart took up again has to end first.
    tokio::time::sleep(Duration::from_secs(u64::from(load.seconds) + 3)).await;
    let mut first = served;
    let second = Served::start(house, &model.address, load.database.as_deref())?;
    begin_all(&first, sessions, model).await?;
    let asked = model.asked.load(Ordering::SeqCst);
    first.kill()?;
    let back = until_asked(model, asked + sessions.len(), Instant::now()).await?;
    drop(second);
    let name = format!("one of two replicas killed with {} sessions at work", sessions.len());
    let name = format!("{name}: all go on at the other");
    Ok(vec![Row::at_most("S17", &name, &[back], "ms", TAKEN_OVER_MS_MAX)])
}

/// Says something in every session, and waits until each has asked its model.
async fn begin_all(
    served: &Served,
    sessions: &[Session],
    model: &PacedModel,
) -> anyhow::Result<()> {
    let asked = model.asked.load(Ordering::SeqCst);
    let address = &served.address;
    let said = stream::iter(sessions)
        .map(|(person, id)| person.say(address, id, "on"))
        .buffered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    said.into_iter().collect::<anyhow::Result<Vec<()>>>()?;
    until_asked(model, asked + sessions.len(), Instant::now()).await.map(drop)
}

/// Milliseconds from `began` until the model was asked so often in all.
async fn until_asked(model: &PacedModel, count: usize, began: Instant) -> anyhow::Result<f64> {
    while model.asked.load(Ordering::SeqCst) < count {
        let asked = model.asked.load(Ordering::SeqCst);
        ensure!(began.elapsed() < PATIENCE, "only {asked} of {count} requests came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
