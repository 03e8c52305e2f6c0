//! Several processes on one database (D7c, D8): one writer per session at any time, no fork of any
//! journal, whoever dies loses its leases in time.
//!
//! `WEIR_CLUSTER_SECONDS` and `WEIR_CLUSTER_SEED` make the last test longer and repeat it.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::Executor;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::input::PersonCommand;
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_engine::ports::{RUNNING, RemoteCommand, Store, StoreError, StorePause};
use weir_store::{PostgresStore, PostgresStores, this_process};
use weir_test_kit::PATIENCE;

use super::rows::entry;
use super::{Database, database, store};
use crate::support::{NOON, Scribe};

/// How long leases live whose end is waited for.
const LEASE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_a_replica_that_dies_loses_its_leases_within_two_lease_times() {
    let Some(database) = database().await else { return };
    let stores = database.stores_with(LEASE).await;
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let mut first = Scribe::new(&ada, "one").await;
    first.write(&ada, 2).await;
    let others = database.stores().await;
    let same = others.store_of_owner("ada").await.expect("a plain name");
    let me = this_process("other");
    for _ in 0..6 {
        // It lives for as long as it says so.
        let held = same.acquire_lease(&first.lease.session, &me).await.expect_err("held");
        assert!(matches!(held, StoreError::Held { .. }), "{held}");
        tokio::time::sleep(LEASE / 4).await;
    }
    drop((ada, stores));
    let died = Instant::now();
    let lease = loop {
        match same.acquire_lease(&first.lease.session, &me).await {
            Ok(lease) => break lease,
            Err(StoreError::Held { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
        assert!(died.elapsed() < LEASE * 2, "nobody could take over");
    };
    assert!(lease.epoch > first.lease.epoch);
    let late = same.append(first.next(1)).await.expect_err("a stale epoch");
    assert!(matches!(late, StoreError::Held { .. }), "{late}");
    first.lease = lease;
    first.write(&same, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_a_session_at_work_is_forsaken_when_whoever_has_it_dies_and_not_before() {
    let Some(database) = database().await else { return };
    let stores = database.stores_with(LEASE).await;
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let mut first = Scribe::new(&ada, "one").await;
    let mut begun = first.next(1);
    begun.meta.status = RUNNING.into();
    ada.append(begun.clone()).await.expect("this append fits");
    first.wrote(&begun);
    // At rest, so nobody is to take it up.
    Scribe::new(&ada, "two").await.write(&ada, 1).await;
    let others = database.stores().await;
    let same = others.store_of_owner("ada").await.expect("a plain name");
    for store in [&ada, &same] {
        assert!(
            store.list_abandoned_sessions().await.expect("readable").is_empty(),
            "it is at work and well"
        );
    }
    drop((ada, stores));
    let died = Instant::now();
    let found = loop {
        let found = same.list_abandoned_sessions().await.expect("readable");
        if !found.is_empty() {
            break found;
        }
        assert!(died.elapsed() < LEASE * 2, "nobody could take over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(found.iter().map(|meta| meta.id.as_str()).collect::<Vec<_>>(), ["one"]);
    same.acquire_lease(&found[0].id, &this_process("other")).await.expect("it is nobody's");
    assert!(
        same.list_abandoned_sessions().await.expect("readable").is_empty(),
        "it was taken over"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_a_replica_that_leaves_gives_its_leases_back_at_once() {
    let Some((ada, stores, database)) = store().await else { return };
    let first = Scribe::new(&ada, "one").await;
    let same = database.stores().await.store_of_owner("ada").await.expect("a plain name");
    stores.close().await.expect("it can say so");
    same.acquire_lease(&first.lease.session, &this_process("other")).await.expect("free at once");
    assert!(ada.append(first.next(1)).await.is_err(), "it is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_a_jump_of_the_clock_costs_a_lease_and_never_a_fork() {
    let Some((ada, _stores, database)) = store().await else { return };
    let mut first = Scribe::new(&ada, "one").await;
    first.write(&ada, 1).await;
    let others = database.stores().await;
    let same = others.store_of_owner("ada").await.expect("a plain name");
    let mut connection = database.raw().await;
    let me = this_process("other");
    let lease = loop {
        // As if the database's clock had gone an hour ahead.
        let jump = "UPDATE holders SET until = until - interval '1 hour' WHERE id =
          (SELECT holder FROM sessions WHERE id = 'one')";
        connection.execute(jump).await.expect("ours");
        match same.acquire_lease(&first.lease.session, &me).await {
            Ok(lease) => break lease,
            // It had said in between that it lives.
            Err(StoreError::Held { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let late = ada.append(first.next(1)).await.expect_err("taken over");
    assert!(matches!(late, StoreError::Held { .. }), "{late}");
    first.lease = lease;
    first.write(&same, 1).await;
    // A process of which the database has not heard takes nothing.
    let forgotten = "UPDATE holders SET until = 'infinity'; DELETE FROM holders";
    connection.execute(forgotten).await.expect("ours");
    let refused = ada.acquire_lease(&SessionId::new("two"), &me).await;
    if let Err(refused) = refused {
        assert!(refused.to_string().contains("has not heard of this process"), "{refused}");
    }
}

/// Whoever hears of something by itself, without being told, takes longer.
const WITHIN: Duration = Duration::from_millis(900);

/// Tries until it is heard in time: on a machine with other work a notice may come later, and at the
/// beginning nobody listens yet.
async fn hears(what: &str, mut tries: impl AsyncFnMut() -> bool) {
    for _ in 0..20 {
        if tries().await {
            return;
        }
    }
    panic!("it never hears of {what} in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_other_processes_hear_of_facts_letters_switch_and_records() {
    let Some((ada, stores, database)) = store().await else { return };
    let others = database.stores().await;
    let same = others.store_of_owner("ada").await.expect("a plain name");
    let mut scribe = Scribe::new(&ada, "one").await;
    scribe.write(&ada, 1).await;
    let session = scribe.lease.session.clone();
    for _ in 0..3 {
        hears("facts", async || {
            let seen = scribe.facts;
            let heard = tokio::time::timeout(WITHIN, same.facts_changed(&session, seen));
            futures::future::join(heard, scribe.write(&ada, 1)).await.0.is_ok()
        })
        .await;
    }
    let letter = RemoteCommand {
        id: 0,
        session: session.clone(),
        by: "ada".into(),
        ts: Timestamp(NOON),
        command: PersonCommand::Cancel,
    };
    hears("a letter", async || {
        let heard = tokio::time::timeout(WITHIN, same.mail_changed());
        let (heard, posted) =
            futures::future::join(heard, ada.post_remote_command(letter.clone())).await;
        posted.expect("writable");
        heard.is_ok()
    })
    .await;
    let pause = StorePause { since: Timestamp(NOON), by: "ada".into(), reason: String::new() };
    hears("the switch", async || {
        let heard = tokio::time::timeout(WITHIN, same.pause_changed());
        let paused = ada.set_paused(Some(pause.clone()));
        let (heard, paused) = futures::future::join(heard, paused).await;
        paused.expect("writable");
        heard.is_ok()
    })
    .await;
    let (one, two) = (stores.server_records(), others.server_records());
    let person = entry("ada", "ada");
    hears("a record", async || {
        let heard = tokio::time::timeout(WITHIN, two.wait_for_change());
        let (heard, put) = futures::future::join(heard, one.put(&person, None)).await;
        put.expect("writable");
        heard.is_ok()
    })
    .await;
    // Another's letters are none of its business.
    let bob = others.store_of_owner("bob").await.expect("a plain name");
    let heard = tokio::time::timeout(WITHIN, bob.pause_changed());
    let (heard, paused) = futures::future::join(heard, ada.set_paused(None)).await;
    paused.expect("writable");
    assert!(heard.is_err(), "bob's switch was not thrown");
}

// ---- many processes ----

const CHILD: &str = "WEIR_CLUSTER_CHILD";
/// How long their leases live: losing one is what it is about.
const SHORT: Duration = Duration::from_millis(1_500);
const SESSIONS: u64 = 6;
const PROCESSES: usize = 3;
/// More facts than these must come about, or it shows nothing,
const ACKNOWLEDGED: usize = 50;
/// by more writers, one after the other, than these.
const WRITERS: u32 = 6;

/// A small generator: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What one of the processes does until it is killed: takes whatever session is free, writes a few
/// facts, notes each that was acknowledged, and gives it back or not. Run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_of_the_cluster() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let told: Value = serde_json::from_str(&told).expect("our own words");
    let text = |key: &str| told[key].as_str().expect("our own words").to_string();
    let mut notes =
        OpenOptions::new().create(true).append(true).open(text("notes")).expect("writable");
    let mut dice = Dice(told["seed"].as_u64().expect("our own words"));
    let options = weir_store::PostgresOptions { lease: SHORT, connections: 4 };
    let stores = loop {
        match PostgresStores::connect_with(&text("url"), &options).await {
            Ok(stores) => break stores,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let store = loop {
        match stores.store_of_owner("ada").await {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    loop {
        let session = format!("s{}", dice.roll(SESSIONS));
        write_some(&store, &session, &mut dice, &mut notes).await;
    }
}

async fn write_some(
    store: &PostgresStore,
    session: &str,
    dice: &mut Dice,
    notes: &mut std::fs::File,
) {
    let id = SessionId::new(session);
    let Ok(lease) = store.acquire_lease(&id, &this_process("replica")).await else {
        tokio::time::sleep(Duration::from_millis(5 + dice.roll(20))).await;
        return;
    };
    let Ok(facts) = store.read_records(&id, 1, usize::MAX).await else { return };
    let mut scribe = Scribe {
        lease,
        facts: facts.len() as u64,
        last: facts.last().map_or_else(|| GENESIS.to_string(), |fact| fact.hash.clone()),
    };
    for _ in 0..1 + dice.roll(12) {
        let mut append = scribe.next_audited("x");
        for record in &mut append.records {
            record.payload = json!({ "epoch": scribe.lease.epoch }).to_string();
            record.hash = record.hash_after(&scribe.last);
        }
        if store.append(append.clone()).await.is_err() {
            return;
        }
        scribe.wrote(&append);
        let line = format!("{session} {} {} {}\n", scribe.facts, scribe.last, scribe.lease.epoch);
        // In one piece: whoever is killed in the middle would leave half a line to the next.
        notes.write_all(line.as_bytes()).expect("writable");
        if dice.roll(4) == 0 {
            tokio::time::sleep(Duration::from_millis(dice.roll(30))).await;
        }
    }
    if dice.roll(3) > 0 {
        let _ = store.release_lease(&scribe.lease).await;
    }
}

fn start(url: &str, notes: &Path, seed: u64) -> Child {
    let told = json!({ "url": url, "notes": notes, "seed": seed }).to_string();
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "postgres::cluster::child_of_the_cluster"])
        .env(CHILD, told)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d7_a_cluster_with_kills_pauses_and_lost_connections_never_forks_a_journal() {
    let Some(database) = database().await else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("WEIR_CLUSTER_SECONDS").unwrap_or(12);
    let seed = number("WEIR_CLUSTER_SEED").unwrap_or_else(|| u64::from(std::process::id()) | 1);
    let mut dice = Dice(seed | 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let notes = |at: usize| folder.path().join(format!("notes-{at}"));
    let stores = database.stores().await;
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let mut children: Vec<Child> =
        (0..PROCESSES).map(|at| start(&database.url, &notes(at), dice.roll(1 << 40) | 1)).collect();
    let disturbed = disturb(&database, &mut children, &notes, &mut dice, seconds).await;
    for child in &mut children {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    let (journals, writers) = journals(&ada, seed).await;
    let facts: usize = journals.values().map(Vec::len).sum();
    let acknowledged: usize =
        (0..PROCESSES).map(|at| check_acknowledged(&journals, &notes(at), seed)).sum();
    let audit = ada.audit_lines(1, usize::MAX).await.expect("readable");
    assert_eq!(audit.len(), facts, "each fact has its line, once (seed {seed})");
    assert!(
        acknowledged > ACKNOWLEDGED && writers > WRITERS,
        "hardly anything happened (seed {seed}): {acknowledged} by {writers}; {disturbed}"
    );
    eprintln!(
        "cluster: seed {seed}, {seconds} s, {PROCESSES} processes, {SESSIONS} sessions: {facts} \
         facts ({acknowledged} acknowledged) by {writers} writers; {disturbed}; 0 forks, 0 lost"
    );
}

/// Whether the processes noted as much as this is about: on a slow machine that takes longer.
fn has_enough_happened(notes: &dyn Fn(usize) -> PathBuf) -> bool {
    let noted: String =
        (0..PROCESSES).map(|at| std::fs::read_to_string(notes(at)).unwrap_or_default()).collect();
    let writers: HashSet<(&str, &str)> = noted
        .lines()
        .filter_map(|line| line.split_once(' ').zip(line.rsplit_once(' ')))
        .map(|((session, _), (_, epoch))| (session, epoch))
        .collect();
    noted.lines().count() > ACKNOWLEDGED && writers.len() > WRITERS as usize
}

/// Kills, stops and cuts processes off for a while; what it did, in words.
async fn disturb(
    database: &Database,
    children: &mut [Child],
    notes: &dyn Fn(usize) -> PathBuf,
    dice: &mut Dice,
    seconds: u64,
) -> String {
    let mut connection = database.raw().await;
    let (mut kills, mut pauses, mut cuts) = (0, 0, 0);
    let until = Instant::now() + Duration::from_secs(seconds);
    let latest = until + PATIENCE;
    while Instant::now() < until || (Instant::now() < latest && !has_enough_happened(notes)) {
        tokio::time::sleep(Duration::from_millis(300 + dice.roll(700))).await;
        let at = usize::try_from(dice.roll(PROCESSES as u64)).expect("few");
        match dice.roll(3) {
            0 => {
                children[at].kill().expect("our child");
                children[at].wait().expect("our child");
                children[at] = start(&database.url, &notes(at), dice.roll(1 << 40) | 1);
                kills += 1;
            }
            1 => {
                let pid = Pid::from_child(&children[at]);
                kill_process(pid, Signal::STOP).expect("our child");
                let asleep = u64::try_from(SHORT.as_millis()).expect("short") * 2;
                tokio::time::sleep(Duration::from_millis(200 + dice.roll(asleep))).await;
                kill_process(pid, Signal::CONT).expect("our child");
                pauses += 1;
            }
            _ => {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()
                  AND random() < 0.5";
                cuts += connection.execute(cut).await.expect("it may").rows_affected();
            }
        }
    }
    format!("{kills} kills, {pauses} pauses, {cuts} cut connections")
}

/// Every journal, each whole and written by one after the other; and how many wrote.
async fn journals(ada: &PostgresStore, seed: u64) -> (HashMap<String, Vec<Record>>, u32) {
    let mut writers = 0;
    let mut journals = HashMap::new();
    for n in 0..SESSIONS {
        let session = format!("s{n}");
        let found = ada.read_records(&SessionId::new(session.clone()), 1, usize::MAX).await;
        let found = found.expect("readable");
        verify_chain(GENESIS, 1, &found).expect("no fork");
        let mut epoch = 0;
        for fact in &found {
            let said: Value = serde_json::from_str(&fact.payload).expect("our own words");
            let by = said["epoch"].as_u64().expect("our own words");
            assert!(by >= epoch, "{session}: an old writer wrote after a new one (seed {seed})");
            writers += u32::from(by > epoch);
            epoch = by;
        }
        journals.insert(session, found);
    }
    (journals, writers)
}

/// What a process noted as acknowledged stands in the journals; how much that is.
fn check_acknowledged(journals: &HashMap<String, Vec<Record>>, notes: &Path, seed: u64) -> usize {
    let mut acknowledged = 0;
    for line in std::fs::read_to_string(notes).unwrap_or_default().lines() {
        let mut parts = line.split(' ');
        let (Some(session), Some(seq), Some(hash)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let seq: usize = seq.parse().expect("our own words");
        let kept = journals[session].get(seq - 1).map(|fact| fact.hash.as_str());
        assert_eq!(kept, Some(hash), "{session} {seq} was acknowledged (seed {seed})");
        acknowledged += 1;
    }
    acknowledged
}
