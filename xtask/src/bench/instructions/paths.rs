//! The paths, and how each is counted: what it takes in addition, so that what it takes to get there is
//! not in the figure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;
use tempfile::TempDir;

use super::super::house::{self, House};
use super::super::model::{Model, Reply, Script};
use super::super::used::ticks_time;
use super::callgrind::Counted;

/// Turns of the shorter run and the longer one.
const TURNS: [u32; 2] = [2, 12];
/// How often the examples do what they do, less and more.
const TIMES: [u32; 2] = [1, 3];
/// The same for what is small: five judgements.
const GATE_TIMES: [u32; 2] = [20, 220];
/// A program that is counted is slow; one that asks nothing in this time never does.
const PATIENCE: Duration = Duration::from_secs(120);
/// It waits for its answer when it has used no processor for so long.
const IDLE: Duration = Duration::from_millis(300);
/// Between two looks at that.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountedPath {
    /// From the start of `weir run` until it waits for the answer to its first request.
    Start,
    /// One turn with one `read_file`: a tenth of what twelve take more than two.
    Turn,
    /// Folding a journal of 500 turns, twice.
    Fold,
    /// Reading the records of that journal and folding them, twice.
    Read,
    /// Folding what a person sees of that journal, twice.
    View,
    /// Judging five kinds of calls, 200 times each, with 200 rules.
    Gate,
    /// Decoding 128 KiB of every dialect, twice.
    Decoder,
}

impl CountedPath {
    pub(super) const ALL: [CountedPath; 7] = [
        CountedPath::Start,
        CountedPath::Turn,
        CountedPath::Fold,
        CountedPath::Read,
        CountedPath::View,
        CountedPath::Gate,
        CountedPath::Decoder,
    ];

    /// Its key among the kept figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            CountedPath::Start => "start",
            CountedPath::Turn => "turn",
            CountedPath::Fold => "fold",
            CountedPath::Read => "read",
            CountedPath::View => "view",
            CountedPath::Gate => "gate",
            CountedPath::Decoder => "decoder",
        }
    }
}

/// Counts, with a program and in folders of its own.
pub(super) struct Counter {
    house: House,
    examples: PathBuf,
    reports: TempDir,
}

impl Counter {
    /// # Errors
    /// Folders cannot be made, or a run without the counter fails.
    pub(super) fn new(binary: &Path) -> anyhow::Result<Counter> {
        let examples = binary.with_file_name("examples");
        let house = House::build(binary, &std::env::temp_dir(), TURNS[1])?;
        Ok(Counter { house, examples, reports: tempfile::tempdir()? })
    }

    /// Instructions of a path.
    ///
    /// # Errors
    /// What is counted fails.
    pub(super) fn count(&self, path: CountedPath) -> anyhow::Result<u64> {
        let counted = match path {
            CountedPath::Start => self.start(),
            CountedPath::Turn => self.turn(),
            CountedPath::Fold | CountedPath::Read | CountedPath::View => {
                self.example("counted", &[path.name()], TIMES)
            }
            CountedPath::Gate => self.example("counted", &["gate"], GATE_TIMES),
            CountedPath::Decoder => self.example("counted_decoders", &[], TIMES),
        };
        counted.with_context(|| format!("counting {}", path.name()))
    }

    /// The store is there, as it mostly is.
    fn make_store(&self) -> anyhow::Result<()> {
        self.house.run(&reading(0), false).map(drop)
    }

    fn start(&self) -> anyhow::Result<u64> {
        self.make_store()?;
        let (asked, was_asked) = channel();
        // The model says nothing before it is let go, which is when nobody listens any more.
        let (_let_go, is_let_go) = channel::<()>();
        let is_let_go = Mutex::new(is_let_go);
        let model = Model::start(silent(asked, is_let_go))?;
        let mut counted =
            Counted::start(&self.house.run_command(&model.url()), self.reports.path())?;
        let began = Instant::now();
        while was_asked.try_recv().is_err() {
            if let Some(said) = counted.said_at_its_end()? {
                bail!("it ended before it asked its model: {said}");
            }
            ensure!(began.elapsed() < PATIENCE, "it does not ask its model");
            thread::sleep(LOOK_AGAIN);
        }
        wait_until_idle(counted.pid())?;
        counted.end_here()
    }

    fn turn(&self) -> anyhow::Result<u64> {
        self.make_store()?;
        let count = |turns| {
            let model = Model::start(reading(turns))?;
            let command = self.house.run_command(&model.url());
            let counted = Counted::start(&command, self.reports.path())?.instructions()?;
            let asked = model.exchanges().len();
            ensure!(
                asked == turns as usize + 1,
                "{asked} requests for {turns} turns and an answer"
            );
            anyhow::Ok(counted)
        };
        let [short, long] = TURNS.map(count);
        let more = long?.checked_sub(short?).context("more turns took less")?;
        Ok(more / u64::from(TURNS[1] - TURNS[0]))
    }

    /// What an example takes for the more that it does.
    fn example(&self, name: &str, words: &[&str], times: [u32; 2]) -> anyhow::Result<u64> {
        let program = self.examples.join(name);
        ensure!(program.is_file(), "{} is not built", program.display());
        let count = |times: u32| {
            let mut command = Command::new(&program);
            command.args(words).arg(times.to_string());
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            Counted::start(&command, self.reports.path())?.instructions()
        };
        let [less, more] = times.map(count);
        more?.checked_sub(less?).context("doing it more often took less")
    }
}

/// A model that has so many files read, one a turn, and then answers.
fn reading(turns: u32) -> Script {
    Arc::new(move |number| match u32::try_from(number) {
        Ok(number) if number < turns => Reply::Read(house::small(number)),
        _ => Reply::Text("It is done.".into()),
    })
}

/// A model that tells when it is asked, and answers nothing until the other end of `is_let_go` is gone.
fn silent(asked: Sender<()>, is_let_go: Mutex<std::sync::mpsc::Receiver<()>>) -> Script {
    Arc::new(move |_| {
        // Whoever waited for it may have given up.
        let _ = asked.send(());
        let _ = is_let_go.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Reply::Text(String::new())
    })
}

fn wait_until_idle(pid: u32) -> anyhow::Result<()> {
    let began = Instant::now();
    let (mut used, mut since) = (ticks_time(pid)?, Instant::now());
    while since.elapsed() < IDLE {
        ensure!(began.elapsed() < PATIENCE, "it never waits for its answer");
        thread::sleep(LOOK_AGAIN);
        let now = ticks_time(pid)?;
        if now != used {
            (used, since) = (now, Instant::now());
        }
    }
    Ok(())
}
