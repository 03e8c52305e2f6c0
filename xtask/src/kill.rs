//! `cargo xtask kill`: the real binary is killed with SIGKILL while it works, again and again, and
//! taken up again; then what it had said is held against what is there (D6, D7).
//!
//! Which scripts are played and when a process is to be killed follows from the seed; where exactly
//! a kill meets the process is the machine's doing, and the point of it. A session is an installation of
//! its own, chosen by the seed and its number alone: however many are played side by side, one that was
//! faulty can be played again. Not here: crashes at every single crossing of a port, which the sweep of the scenarios does without real processes.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};

mod check;
mod client;
pub(crate) mod cluster;
mod disk;
mod editor;
mod house;
mod journal;
mod mcp;
mod moment;
mod orphans;
mod plan;
mod process;
pub(crate) mod random;
mod serve;
mod session;
mod syncs;
mod tally;
mod terminal;
mod victim;
mod work;

use crate::database::DatabaseServer;
use crate::database::own::{OwnServer, ServerSyncs};
use plan::{Plan, PlanArgs, StoreKind};
use random::Random;
use tally::Tally;

/// After so many sessions with faults no more are begun: the first ones say what is wrong.
const FAULTY_SESSIONS_MAX: u64 = 20;
/// Findings of one session that are printed.
const FINDINGS_SHOWN: usize = 8;

/// Kill the real binary at random and at chosen moments, and check what it left
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// How often a process is killed
    #[arg(long, value_name = "N", default_value_t = 300)]
    kills: u64,
    /// Chooses scripts and moments; without it one is taken from the clock
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The binary; without it target/debug/weir is built
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Where the sessions' folders are made; a folder in memory is quickest
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Sessions at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: u64,
    /// How the scripted model is reached
    #[arg(long, value_name = "WIRE", value_enum, default_value_t)]
    wire: Wire,
    #[command(flatten)]
    plan: PlanArgs,
    /// Most kills of one session; many make more of a session's store, few more of the checks at its end
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=48))]
    session_kills: u64,
    /// Play only this session of the seed: the number that a fault named
    #[arg(long, value_name = "NUMBER")]
    session: Option<u64>,
    /// Begin with this session of the seed: what the last line of the part before says after `next=`
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with = "session")]
    from: u64,
}

/// How the scripted model is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Wire {
    /// In the process of the run.
    Script,
    /// Over HTTP, from a process of its own.
    Http,
    /// Some sessions so, some so.
    #[default]
    Both,
}

/// What all sessions share.
struct Harness {
    binary: PathBuf,
    folder: PathBuf,
    seed: u64,
    wire: Wire,
    /// What sessions prove, in turn.
    plans: Vec<Plan>,
    databases: Option<DatabaseServer>,
    began: Instant,
    session_kills_max: u64,
    kills_wanted: u64,
    kills: AtomicU64,
    next_session: AtomicU64,
    last_session: u64,
    /// Thousands of kills that were told.
    thousands: AtomicU64,
    tally: Mutex<Tally>,
}

/// What went wrong in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A fact that was printed, or an effect that was reported, is not there.
    FactLost,
    /// An effect is there twice.
    EffectDoubled,
    /// A call may have happened, and the journal says nothing about it.
    UnknownUnsaid,
    /// A process outlived its engine by two seconds.
    Orphan,
    /// The session could not be brought to its end.
    Unfinished,
    /// The journal does not replay, or its hash chain does not verify.
    BrokenJournal,
}

/// A fault with its evidence.
#[derive(Debug, Clone)]
struct Finding {
    fault: Fault,
    what: String,
}

impl Finding {
    fn new(fault: Fault, what: impl Into<String>) -> Finding {
        Finding { fault, what: what.into() }
    }
}

impl Harness {
    /// One of the kills that are wanted, or none when there were enough.
    fn take_kill(&self) -> bool {
        self.kills
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kills| {
                (kills < self.kills_wanted).then_some(kills + 1)
            })
            .is_ok()
    }

    /// Kills that were taken did not come to pass: the process ended before.
    fn give_kills_back(&self, kills: u64) {
        self.kills.fetch_sub(kills, Ordering::Relaxed);
    }

    /// What the session of this number is to prove.
    fn plan(&self, number: u64) -> Plan {
        let at = usize::try_from(number % self.plans.len() as u64).unwrap_or(0);
        self.plans[at]
    }

    /// The number of the next session, while there is something left to do.
    fn next(&self) -> Option<u64> {
        let enough = self.kills.load(Ordering::Relaxed) >= self.kills_wanted;
        if enough || self.tally().faulty >= FAULTY_SESSIONS_MAX {
            return None;
        }
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        (number <= self.last_session).then_some(number)
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn over_http(&self, random: &mut Random) -> bool {
        let chosen = random.below(3) == 0;
        match self.wire {
            Wire::Script => false,
            Wire::Http => true,
            Wire::Both => chosen,
        }
    }

    fn play_all(&self) -> anyhow::Result<()> {
        while let Some(number) = self.next() {
            let played = session::play(self, number)?;
            self.tally().add(self.plan(number), &played);
            if !played.findings.is_empty() {
                self.report(number, &played)?;
            }
            self.tell_thousands()?;
        }
        Ok(())
    }

    /// Says how far it is, after each thousand kills.
    fn tell_thousands(&self) -> anyhow::Result<()> {
        let kills = self.kills.load(Ordering::Relaxed);
        let thousands = kills / 1_000;
        if self.thousands.fetch_max(thousands, Ordering::Relaxed) >= thousands {
            return Ok(());
        }
        let (seconds, tally) = (self.began.elapsed().as_secs(), self.tally().clone());
        let wanted = self.kills_wanted;
        writeln!(std::io::stderr(), "after {seconds} s: kills={kills} of {wanted} {tally}")?;
        Ok(())
    }

    fn report(&self, number: u64, played: &session::Played) -> anyhow::Result<()> {
        let mut err = std::io::stderr().lock();
        let (seed, plan, folder) = (self.seed, self.plan(number), played.folder.display());
        writeln!(err, "session {number} of seed {seed} ({plan}): {folder}")?;
        writeln!(err, "  again: the same options with --seed {seed} --session {number}")?;
        for finding in played.findings.iter().take(FINDINGS_SHOWN) {
            writeln!(err, "  {:?}: {}", finding.fault, finding.what)?;
        }
        let more = played.findings.len().saturating_sub(FINDINGS_SHOWN);
        if more > 0 {
            writeln!(err, "  and {more} more")?;
        }
        Ok(())
    }
}

/// Runs the harness.
///
/// # Errors
/// The binary cannot be built or started, or folders cannot be made. A fault of the binary is no
/// error but exit status 1.
pub(crate) fn kill(root: &Path, args: KillArgs) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let binary = find_binary(root, args.binary)?;
    let plans = args.plan.plans()?;
    if plans.iter().any(|plan| plan.is_traced()) {
        syncs::find_strace()?;
    }
    // A server of our own ends with this thread, which is the program's.
    let (own, databases) = match plans.iter().any(|plan| plan.store == StoreKind::Postgres) {
        true => {
            OwnServer::start_or_find(ServerSyncs::None).map(|(own, server)| (own, Some(server)))?
        }
        false => (None, None),
    };
    let seed = args.seed.unwrap_or_else(Random::seed_from_clock);
    let place = args.folder.unwrap_or_else(quick_folder);
    let folder = tempfile::Builder::new()
        .prefix(&format!("kill-{seed}-"))
        .tempdir_in(&place)
        .with_context(|| format!("making a folder in {}", place.display()))?;
    let first = args.session.unwrap_or(args.from);
    let harness = Harness {
        binary,
        folder: folder.path().to_path_buf(),
        seed,
        wire: args.wire,
        plans,
        databases,
        began,
        session_kills_max: args.session_kills,
        kills_wanted: args.kills,
        kills: AtomicU64::new(0),
        next_session: AtomicU64::new(first),
        last_session: args.session.unwrap_or(u64::MAX),
        thousands: AtomicU64::new(0),
        tally: Mutex::default(),
    };
    let results: Vec<anyhow::Result<()>> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..args.threads.max(1)).map(|_| scope.spawn(|| harness.play_all())).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .map(|end| end.unwrap_or_else(|_| Err(anyhow::anyhow!("a worker panicked"))))
            .collect()
    });
    let tally = harness.tally().clone();
    if tally.faulty > 0 || results.iter().any(Result::is_err) {
        let kept = folder.keep();
        writeln!(std::io::stderr(), "kept: {}", kept.display())?;
    }
    drop(own);
    results.into_iter().collect::<anyhow::Result<()>>()?;
    let kills = harness.kills.load(Ordering::Relaxed);
    let seconds = began.elapsed().as_secs_f64();
    writeln!(std::io::stderr(), "{:.1} kills a second", kills as f64 / seconds.max(0.001))?;
    let mut out = std::io::stdout().lock();
    for line in tally.by_plan().iter().filter(|_| harness.plans.len() > 1) {
        writeln!(out, "{line}")?;
    }
    // Parts of one proof have one seed, and each begins where the one before ended: their numbers add up.
    let (plans, next) = (tally.plans(), harness.next_session.load(Ordering::Relaxed));
    writeln!(out, "kills={kills} {tally} plans={plans} seed={seed} from={first} next={next}")?;
    Ok(ExitCode::from(u8::from(tally.faulty > 0)))
}

/// The last lines of what was said, in one.
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().rev().take(4).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// A SIGKILL leaves the page cache alone, so a disk proves no more than memory does here.
fn quick_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let usable = tempfile::tempdir_in(memory).is_ok();
    if usable { memory.to_path_buf() } else { std::env::temp_dir() }
}

/// The binary that was named, or one that is built now.
fn find_binary(root: &Path, named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let binary = match named {
        Some(path) => std::path::absolute(path)?,
        None => build(root)?,
    };
    ensure!(binary.is_file(), "{} is no program; build weir first", binary.display());
    Ok(binary)
}

fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(cargo)
        .args(["build", "--quiet", "-p", "weir"])
        .current_dir(root)
        .status()
        .context("starting cargo to build weir")?;
    ensure!(status.success(), "weir does not build");
    Ok(crate::target_folder(root)?.join("debug/weir"))
}
