//! `cargo xtask cluster`: three real servers on one PostgreSQL, whose clocks differ, are killed, stopped and cut
//! off from it while people use them; then what they were told is held against what is there (D7c, D8, S17).
//!
//! Which faults come and what is said follows from the seed; where a fault meets a process is the machine's
//! doing. Not here: one store under many writers without servers, which a test of the store plays.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use tokio::sync::watch;

mod check;
mod clock;
mod fault;
mod letters;
mod proxy;
mod replica;
mod visit;
mod witness;

use super::house::{self, ADMIN, House};
use super::orphans::Left;
use super::random::Random;
use super::work::Work;
use super::{FINDINGS_SHOWN, Fault, Finding, check as kill_check, journal};
use crate::database::Database;
use crate::database::own::{OwnServer, ServerSyncs};
use crate::served::person::Person;
use fault::{Disturbance, FaultKind};
use replica::Replicas;
use visit::{Told, Visitor};

/// So many faults and each place has had a session to its end.
const FAULTS_PER_SESSION: usize = 8;
/// A server that was told to end has ended by then.
const LEAVES: Duration = Duration::from_secs(30);

/// Disturb several servers on one PostgreSQL, and check that no session forks and nothing is lost
///
/// The wall clocks of the servers are wrong from the beginning, each by another time of up to an hour,
/// and are set again: where libfaketime is installed, for programs that are not linked statically.
/// PostgreSQL is restarted only where it was started for this run: where its programs are installed and
/// WEIR_TEST_POSTGRES names no other.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// How often something happens: a kill, a pause, a bad line, the database restarted, a clock set
    #[arg(long, value_name = "N", default_value_t = 24)]
    faults: usize,
    /// Chooses faults and letters; without it one is taken from the clock
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The binary; without it target/debug/weir is built
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Servers at a time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=20))]
    replicas: u16,
    /// Sessions at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    sessions: u16,
}

/// A session's folders, and what it is to do.
struct Place {
    house: House,
    work: Work,
}

/// Everything that was seen.
struct Seen {
    told: Vec<(usize, Told)>,
    approvals: Vec<(String, Value)>,
    happened: Vec<Disturbance>,
    /// The whole journals, by session.
    exports: BTreeMap<String, String>,
    findings: Vec<Finding>,
}

/// The columns of the summary.
#[derive(Debug, Default)]
struct Sums {
    letters: usize,
    cancels: u64,
    facts: usize,
    /// Facts whose time is not that of the database.
    wrong_times: usize,
    unknowns: usize,
    longest: f64,
}

/// Runs the harness.
///
/// # Errors
/// Binary, database or folders cannot be had. A fault of the binary is no error but exit status 1.
pub(crate) fn cluster(root: &Path, args: ClusterArgs) -> anyhow::Result<ExitCode> {
    let binary = super::find_binary(root, args.binary)?;
    let seed = args.seed.unwrap_or_else(Random::seed_from_clock);
    let (mut own, server) = OwnServer::start_or_find(ServerSyncs::None)?;
    let database = server.create(&format!("weir_cluster_{}_{seed}", std::process::id()))?;
    let folder = tempfile::Builder::new()
        .prefix(&format!("cluster-{seed}-"))
        .tempdir_in(super::quick_folder())
        .context("making a folder")?;
    let mut random = Random::of(seed, 0);
    let clocks = clock::library()?;
    let possible = |kind: &FaultKind| match kind {
        FaultKind::Restart => own.is_some(),
        FaultKind::Clock => clocks.is_some(),
        _ => true,
    };
    let possible: Vec<FaultKind> = fault::KINDS.into_iter().filter(possible).collect();
    let faults = fault::deck(&mut random, args.faults, &possible);
    let at_a_time = usize::from(args.sessions);
    let count = at_a_time * (1 + args.faults / FAULTS_PER_SESSION);
    let (house, places) = build_houses(&binary, folder.path(), seed, count)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let clocks = clocks.as_deref();
    let setting =
        Setting { house: &house, places: &places, database: &database, clocks, at_a_time };
    // On this thread, which ends with the program: with it ends a server of ours.
    let seen = runtime.block_on(async {
        let replicas = setting.begin(usize::from(args.replicas), &mut random).await?;
        setting.play(replicas, own.as_mut(), (&faults, &mut random)).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    let judged = seen.and_then(|seen| setting.judge(&seen, (seed, &faults)));
    if !matches!(judged, Ok(true)) {
        writeln!(std::io::stderr(), "kept: {} (seed {seed})", folder.keep().display())?;
    }
    Ok(ExitCode::from(u8::from(!judged?)))
}

/// The folders of the servers, which all of them share, and those of so many sessions.
fn build_houses(
    binary: &Path,
    folder: &Path,
    seed: u64,
    count: usize,
) -> anyhow::Result<(House, Vec<Place>)> {
    let mut script = String::from("name: cluster\n\n");
    let mut places = Vec::new();
    for number in 0..count {
        let place = folder.join(format!("session-{number}"));
        let mut random = Random::of(seed, number as u64 + 1);
        let work = letters::choose(&mut random, number as u64, &house::witness(&place));
        script.push_str(&work.script);
        fs::create_dir(&place)?;
        let house = House::build(binary, place, &work, true)?;
        places.push(Place { house, work });
    }
    let place = folder.join("servers");
    fs::create_dir(&place)?;
    let all = Work { script, ..Work::default() };
    let mut house = House::build(binary, place, &all, true)?;
    house.serve()?;
    Ok((house, places))
}

/// What does not change.
struct Setting<'a> {
    house: &'a House,
    places: &'a [Place],
    database: &'a Database,
    /// The library that makes clocks which can be set.
    clocks: Option<&'a Path>,
    at_a_time: usize,
}

impl Setting<'_> {
    /// The first server makes the schema, then it is watched, then come the others. Each has a clock that is
    /// wrong in its own way.
    async fn begin(&self, count: usize, random: &mut Random) -> anyhow::Result<Replicas<'_>> {
        let url = self.database.url.clone();
        let mut replicas = Replicas::prepare(self.house, url, count, self.clocks).await?;
        for at in 0..count {
            replicas.set_clock(at, clock::wrong_by(random))?;
        }
        replicas.start(0).await?;
        witness::install(&self.database.url)?;
        for at in 1..count {
            replicas.start(at).await?;
        }
        Ok(replicas)
    }

    /// People use the servers while the faults come, and until everything rests.
    async fn play(
        &self,
        mut replicas: Replicas<'_>,
        own: Option<&mut OwnServer>,
        (faults, random): (&[FaultKind], &mut Random),
    ) -> anyhow::Result<Seen> {
        let addresses = replicas.addresses.clone();
        let first = addresses.any(random).context("a replica listens")?;
        let person = Person::sign_in(&first, ADMIN).await?;
        let (over, peace) = watch::channel(false);
        let visitor = |number: usize| {
            let random = Random::of(random.clone().next(), number as u64);
            Visitor {
                person: person.clone(),
                addresses: addresses.clone(),
                random,
                peace: peace.clone(),
            }
        };
        let answered = Arc::new(Mutex::new(Vec::new()));
        let carer = tokio::spawn(visitor(usize::MAX).care(Arc::clone(&answered)));
        let mut visits = Vec::new();
        for lane in 0..self.at_a_time {
            let turns: Vec<(usize, Visitor, String)> = (lane..self.places.len())
                .step_by(self.at_a_time)
                .map(|at| (at, visitor(at), self.places[at].house.workspace.display().to_string()))
                .collect();
            visits.push(tokio::spawn(play_lane(turns, peace.clone())));
        }
        let happened = fault::disturb(&mut replicas, own, faults, random).await?;
        let mut findings: Vec<Finding> = replicas.ended()?.into_iter().map(unfinished).collect();
        over.send_replace(true);
        let mut told = Vec::new();
        for visit in visits {
            told.extend(visit.await.context("a visitor panicked")??);
        }
        carer.abort();
        let mut exports = BTreeMap::new();
        for (_, told) in &told {
            let address = addresses.any(random).context("a replica listens")?;
            exports.insert(told.session.clone(), person.export(&address, &told.session).await?);
        }
        for address in addresses.all() {
            let verdict = person.call(&address, "GET /api/v1/audit/verify", None).await?;
            if verdict["whole"] != true {
                findings
                    .push(Finding::new(Fault::BrokenJournal, format!("audit/verify: {verdict}")));
            }
        }
        findings.extend(self.leave(&mut replicas)?);
        let approvals = answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Seen { told, approvals, happened, exports, findings })
    }

    /// All servers end as they are told to, and nothing that they started outlives them.
    fn leave(&self, replicas: &mut Replicas<'_>) -> anyhow::Result<Vec<Finding>> {
        let mut findings: Vec<Finding> = replicas.ended()?.into_iter().map(unfinished).collect();
        for at in 0..replicas.count() {
            let Ok(process) = replicas.process(at) else { continue };
            let status = process.end_and_wait(LEAVES)?;
            if !status.is_some_and(|status| status.success()) {
                findings
                    .push(unfinished(format!("replica {} was told to end: {status:?}", at + 1)));
            }
            replicas.forget(at);
        }
        let houses = self.places.iter().map(|place| &place.house).chain([self.house]);
        for house in houses {
            let left = Left::look(&house.inner, Instant::now()).settle();
            findings.extend(left.into_iter().map(|what| Finding::new(Fault::Orphan, what)));
        }
        Ok(findings)
    }

    /// Checks all of it and prints the summary; whether nothing is wrong.
    fn judge(&self, seen: &Seen, (seed, faults): (u64, &[FaultKind])) -> anyhow::Result<bool> {
        let written = witness::read(&self.database.url)?;
        let (mut sums, mut faulty) = (Sums::default(), 0);
        let mut report = |what: &str, findings: &[Finding]| -> anyhow::Result<()> {
            if findings.is_empty() {
                return Ok(());
            }
            faulty += 1;
            let mut err = std::io::stderr().lock();
            writeln!(err, "{what} of seed {seed}:")?;
            for finding in findings.iter().take(FINDINGS_SHOWN) {
                writeln!(err, "  {:?}: {}", finding.fault, finding.what)?;
            }
            writeln!(err, "  {} in all", findings.len())?;
            Ok(())
        };
        report("the cluster", &seen.findings)?;
        for (at, told) in &seen.told {
            let rows: Vec<check::Written> =
                written.iter().filter(|row| row.session == told.session).cloned().collect();
            let findings = self.judge_session(&self.places[*at], (told, &rows), seen, &mut sums)?;
            report(&format!("session {at} ({})", told.session), &findings)?;
        }
        // A program that is linked statically does not ask the library: then nothing was proven of clocks.
        if self.clocks.is_some() && sums.facts > 0 && sums.wrong_times == 0 {
            let what = "clocks were set, and no fact tells: is the program linked statically?";
            report("the clocks", &[unfinished(what.into())])?;
        }
        let kinds: Vec<String> = fault::KINDS
            .iter()
            .map(|kind| (kind, faults.iter().filter(|one| *one == kind).count()))
            .map(|(kind, count)| format!("{kind:?}={count}").to_lowercase())
            .collect();
        writeln!(
            std::io::stdout(),
            "faults={} {} sessions={} letters={} cancels={} approvals={} facts={} wrong_times={} \
             unknowns_said={} longest_take_over_s={:.1} faulty={faulty} seed={seed}",
            faults.len(),
            kinds.join(" "),
            seen.told.len(),
            sums.letters,
            sums.cancels,
            seen.approvals.len(),
            sums.facts,
            sums.wrong_times,
            sums.unknowns,
            sums.longest,
        )?;
        Ok(faulty == 0)
    }

    fn judge_session(
        &self,
        place: &Place,
        (told, rows): (&Told, &[check::Written]),
        seen: &Seen,
        sums: &mut Sums,
    ) -> anyhow::Result<Vec<Finding>> {
        let mut findings = told.findings.clone();
        let export = seen.exports.get(&told.session).map_or("", String::as_str);
        let file = place.house.folder.join("export.jsonl");
        fs::write(&file, export)?;
        let journal = match journal::facts_of_export(export) {
            Ok(journal) => journal,
            Err(finding) => return Ok([findings, vec![finding]].concat()),
        };
        findings.extend(journal::succeeds(&place.house, &["replay", &file.to_string_lossy()])?);
        findings.extend(kill_check::whole(&journal, &told.facts));
        findings.extend(kill_check::runs_ended(&journal));
        findings.extend(check::failed(&journal));
        findings.extend(check::letters(&journal, &told.letters));
        let own = |(approval, _): &&(String, Value)| approval.starts_with(&told.session);
        let approvals: Vec<(String, Value)> = seen.approvals.iter().filter(own).cloned().collect();
        findings.extend(check::approvals(&journal, &approvals));
        findings.extend(check::writers(rows));
        findings.extend(check::kept(rows, &witness::kept(&self.database.url, &told.session)?));
        findings.extend(kill_check::effects(&place.house, &place.work, &journal)?);
        for take_over in check::take_overs(rows, &journal, &seen.happened) {
            sums.longest = sums.longest.max(take_over.took);
            if take_over.took > take_over.allowed {
                let check::TakeOver { took, allowed } = take_over;
                findings
                    .push(unfinished(format!("it stood still for {took:.1} s of {allowed:.1}")));
            }
        }
        sums.letters += told.letters.len();
        sums.cancels += told.cancels;
        sums.facts += journal.len();
        sums.wrong_times += check::wrong_times(rows);
        sums.unknowns += journal.iter().filter(|fact| fact["kind"] == "call.unknown").count();
        Ok(findings)
    }
}

/// Sessions one after the other, until there is peace.
async fn play_lane(
    turns: Vec<(usize, Visitor, String)>,
    peace: watch::Receiver<bool>,
) -> anyhow::Result<Vec<(usize, Told)>> {
    let mut told = Vec::new();
    for (at, visitor, folder) in turns {
        if *peace.borrow() && !told.is_empty() {
            break;
        }
        told.push((at, visitor.play(at as u64, folder).await?));
    }
    Ok(told)
}

fn unfinished(what: String) -> Finding {
    Finding::new(Fault::Unfinished, what)
}
