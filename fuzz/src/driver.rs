//! Runs a target on many inputs and keeps what breaks it. Stable toolchain, no coverage.
//!
//! An input is written down before it is run, so one that ends the process (a stack that overflows,
//! memory that runs out) is not lost: the next run begins with it. What broke a target once is run
//! first every time until it is mended.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Target;
use crate::mutate::{Random, input};

/// Seconds of a long run, for each target. Without it: the target's own number of inputs.
pub const SECONDS: &str = "WEIR_FUZZ_SECONDS";
/// Another beginning of the random numbers.
pub const SEED: &str = "WEIR_FUZZ_SEED";

/// An input that takes longer is a finding.
pub const INPUT_TIME_MAX: Duration = Duration::from_secs(2);
/// An input that takes longer ends the process: it may never end by itself.
const HANG: Duration = Duration::from_secs(60);
/// Most memory that the process may ever have needed.
const MEMORY_KBYTES_MAX: u64 = 2 * 1024 * 1024;
/// Different findings after which a run stops.
const FINDINGS_MAX: usize = 20;
/// Runs of the target that making one finding smaller may cost.
const SHRINK_RUNS_MAX: usize = 3_000;
/// Seed of the short run: the same inputs at every change.
const SEED_USUAL: u64 = 20_260_101;

/// How long to run, and where findings go.
#[derive(Debug, Clone)]
pub struct Run {
    /// Beginning of the random numbers.
    pub seed: u64,
    /// How long; without it, `inputs` decides.
    pub time: Option<Duration>,
    /// How many inputs.
    pub inputs: u64,
    /// Where the inputs that break it are kept.
    pub folder: PathBuf,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How many inputs were run.
    pub executions: u64,
    /// The slowest, in milliseconds.
    pub slowest_ms: u128,
    /// What broke the target, each place once.
    pub findings: Vec<Finding>,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Message and place of the panic, or how long it took.
    pub what: String,
    /// The input, made smaller.
    pub input: Vec<u8>,
    /// Where it was written.
    pub file: PathBuf,
}

/// Runs a target as its test does: short, or for the seconds that the environment says. Prints a
/// line; panics when there is a finding.
///
/// # Panics
/// The target was broken: the message names the inputs.
pub fn check(target: &Target) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|e| panic!("{name} is {text:?}: {e}")))
    };
    let run = Run {
        seed: number(SEED).unwrap_or(SEED_USUAL),
        time: number(SECONDS).map(Duration::from_secs),
        inputs: target.inputs,
        folder: findings_folder().join(target.name),
    };
    let began = Instant::now();
    let report = run_target(target, &run);
    let line = format!(
        "fuzz {:<18} {:>9} executions in {:>5.1} s, slowest {:>5} ms, {} findings\n",
        target.name,
        report.executions,
        began.elapsed().as_secs_f64(),
        report.slowest_ms,
        report.findings.len()
    );
    say(&line);
    let told: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    assert!(
        told.is_empty(),
        "{} is broken by {} inputs:\n{}",
        target.name,
        told.len(),
        told.join("\n")
    );
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = &self.input[..self.input.len().min(400)];
        let more = if shown.len() < self.input.len() { "… (whole in the file)" } else { "" };
        let hex = weir_core::record::encode_hex(shown);
        let text = shown.escape_ascii();
        let file = self.file.display();
        write!(f, "- {}\n  file {file}\n  text {text}{more}\n  hex  {hex}{more}", self.what)
    }
}

/// Tests print to standard output, which the runner shows when asked to.
#[expect(clippy::print_stdout, reason = "only what is printed so is kept with its test")]
fn say(line: &str) {
    print!("{line}");
}

/// `target/fuzz` of this repository.
pub fn findings_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| crate::seeds::root().join("target")).join("fuzz")
}

/// Runs a target: what broke it before, its seeds, then what the mutations make of them.
///
/// # Panics
/// The folder cannot be written.
pub fn run_target(target: &Target, run: &Run) -> Report {
    listen();
    fs::create_dir_all(&run.folder).expect("the folder for findings can be made");
    let seeds = (target.seeds)();
    let mut old = kept(&run.folder);
    old.extend(seeds.iter().cloned());
    let watch = Watch::new(target.name, &run.folder);
    let report = std::thread::scope(|scope| {
        let guard = scope.spawn(|| watch.guard());
        let mut session = Session { target, run, watch: &watch, report: Report::new() };
        for bytes in &old {
            session.take(bytes);
        }
        session.mutations(&seeds);
        watch.done.store(true, Ordering::Relaxed);
        guard.thread().unpark();
        session.report
    });
    // A clean end: nothing was running.
    let _ = fs::remove_file(watch.file);
    report
}

/// Inputs that broke the target before, and the one that ended the process.
fn kept(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}

impl Report {
    fn new() -> Report {
        Report { executions: 0, slowest_ms: 0, findings: Vec::new() }
    }
}

/// One run under way.
struct Session<'a> {
    target: &'a Target,
    run: &'a Run,
    watch: &'a Watch,
    report: Report,
}

impl Session<'_> {
    fn mutations(&mut self, seeds: &[Vec<u8>]) {
        let began = Instant::now();
        let mut random = Random::new(self.run.seed);
        let mut made = 0;
        loop {
            let enough = match self.run.time {
                Some(time) => began.elapsed() >= time,
                None => made >= self.run.inputs,
            };
            if enough || self.report.findings.len() >= FINDINGS_MAX {
                return;
            }
            made += 1;
            let bytes = input(&mut random, seeds, self.target.dictionary);
            self.take(&bytes);
            if made % 256 == 0 {
                self.check_memory(&bytes);
            }
        }
    }

    /// Runs one input and keeps it when it breaks the target in a new way.
    fn take(&mut self, bytes: &[u8]) {
        let Some(what) = self.broken(bytes) else { return };
        if self.report.findings.iter().any(|known| place(&known.what) == place(&what)) {
            return;
        }
        let small = self.shrink(bytes, &what);
        self.keep(what, small);
    }

    fn keep(&mut self, what: String, input: Vec<u8>) {
        let name = weir_core::record::sha256_hex(&input);
        let file = self.run.folder.join(&name[..16]);
        let _ = fs::write(&file, &input);
        self.report.findings.push(Finding { what, input, file });
    }

    /// What broke, if anything did.
    fn broken(&mut self, bytes: &[u8]) -> Option<String> {
        let (mut told, mut took) = self.once(bytes);
        // A machine that is busy is slow too: what counts is the best of a few times.
        for _ in 0..2 {
            if told.is_some() || took <= INPUT_TIME_MAX {
                break;
            }
            let again = self.once(bytes);
            (told, took) = (again.0, took.min(again.1));
        }
        self.report.slowest_ms = self.report.slowest_ms.max(took.as_millis());
        let slow = || format!("took {:.1} s: slow", took.as_secs_f64());
        told.or_else(|| (took > INPUT_TIME_MAX).then(slow))
    }

    fn once(&mut self, bytes: &[u8]) -> (Option<String>, Duration) {
        self.report.executions += 1;
        self.watch.begins(bytes);
        LISTENING.set(true);
        let began = Instant::now();
        let ended = panic::catch_unwind(AssertUnwindSafe(|| (self.target.run)(bytes)));
        let took = began.elapsed();
        LISTENING.set(false);
        self.watch.ends();
        let told = HEARD.take();
        let told = ended.err().map(|_| told.unwrap_or_else(|| "panicked".to_owned()));
        (told, took)
    }

    /// A smaller input that breaks the target at the same place.
    fn shrink(&mut self, bytes: &[u8], what: &str) -> Vec<u8> {
        let mut small = bytes.to_vec();
        let mut runs = 0;
        let mut length = small.len() / 2;
        let began = Instant::now();
        while length > 0 {
            let mut at = 0;
            while at < small.len() {
                if runs > SHRINK_RUNS_MAX || began.elapsed() > 10 * INPUT_TIME_MAX {
                    return small;
                }
                let end = (at + length).min(small.len());
                let shorter = [&small[..at], &small[end..]].concat();
                runs += 1;
                if self.broken(&shorter).is_some_and(|again| place(&again) == place(what)) {
                    small = shorter;
                } else {
                    at += length;
                }
            }
            length /= 2;
        }
        small
    }

    /// The most memory that the process ever had, looked at now and then.
    fn check_memory(&mut self, last: &[u8]) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kbytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        let Some(kbytes) = kbytes.filter(|kbytes| *kbytes > MEMORY_KBYTES_MAX) else { return };
        let what = format!("took {kbytes} kB of memory: one of the last 256 inputs");
        if !self.report.findings.iter().any(|known| known.what.ends_with("256 inputs")) {
            self.keep(what, last.to_vec());
        }
    }
}

/// Where a finding lies: findings at one place are one finding.
fn place(what: &str) -> &str {
    what.rsplit(": ").next().unwrap_or(what)
}

// ------------------------------------------------------------ what may not come back

/// Knows what is running: on disk for the next run, in memory for the guard.
struct Watch {
    name: &'static str,
    file: PathBuf,
    open: fs::File,
    began: Instant,
    /// Milliseconds after `began`, plus one; 0: nothing is running.
    running: AtomicU64,
    done: AtomicBool,
}

impl Watch {
    fn new(name: &'static str, folder: &Path) -> Watch {
        let file = folder.join("running");
        let open = fs::File::create(&file).expect("the folder for findings can be written");
        let (running, done) = (AtomicU64::new(0), AtomicBool::new(false));
        Watch { name, file, open, began: Instant::now(), running, done }
    }

    fn begins(&self, bytes: &[u8]) {
        let written = self.open.set_len(0).and_then(|()| self.open.write_all_at(bytes, 0));
        written.expect("the folder for findings can be written");
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(0);
        self.running.store(now + 1, Ordering::Relaxed);
    }

    fn ends(&self) {
        self.running.store(0, Ordering::Relaxed);
    }

    /// Ends the process when an input does not come back.
    fn guard(&self) {
        while !self.done.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(500));
            let since = self.running.load(Ordering::Relaxed);
            let began = Duration::from_millis(since.saturating_sub(1));
            if since > 0 && self.began.elapsed().saturating_sub(began) > HANG {
                let file = self.file.display();
                let mut err = std::io::stderr();
                let _ = writeln!(err, "{}: an input hangs; it stands in {file}", self.name);
                std::process::abort();
            }
        }
    }
}

thread_local! {
    static LISTENING: Cell<bool> = const { Cell::new(false) };
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Hears the panics of targets, with their places, instead of printing each.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !LISTENING.get() {
                return usual(info);
            }
            let message = info.payload_as_str().unwrap_or("panicked");
            let message: String = message.chars().take(600).collect();
            let place = info.location().map_or_else(String::new, ToString::to_string);
            HEARD.set(Some(format!("{message}: {place}")));
        }));
    });
}
