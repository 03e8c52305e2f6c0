//! The folders of a bench, and one run in them with everything that is measured about it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::model::{Exchange, Model, Script};

/// Bytes of a small file.
const SMALL: usize = 1_000;
/// Bytes and number of large ones (Q5).
const LARGE: usize = 40_000;
pub(super) const LARGE_FILES: u32 = 12;
/// Between two looks at a process's memory.
const LOOK_AGAIN: Duration = Duration::from_micros(300);

/// What the person says where the script reads files or nothing.
const READING: &str = "Read the files and answer.";

/// A model with room for any history: what is measured is Weir, not the end of a window.
const CONFIG: &str = "\
[models.\"anthropic/bench\"]
window = 100000000
max_output = 8192
price = { input = 1.0, output = 4.0, cache_read = 0.1, cache_write = 1.25 }
abilities = [\"tools\"]
";

/// Folders on the disk that is measured.
pub(super) struct House {
    binary: PathBuf,
    folder: TempDir,
}

/// What was measured about one run.
pub(super) struct Ran {
    pub(super) began: Instant,
    pub(super) wall: Duration,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) facts: Vec<Value>,
    /// The most memory that it had, if that was watched.
    pub(super) peak: Memory,
}

impl Ran {
    pub(super) fn session(&self) -> &str {
        self.facts.iter().find_map(|fact| fact["session"].as_str()).unwrap_or_default()
    }
}

pub(super) fn small(number: u32) -> String {
    format!("small/{number:05}.txt")
}

pub(super) fn large(number: u32) -> String {
    format!("large/{number:02}.txt")
}

impl House {
    pub(super) fn build(binary: &Path, place: &Path, files: u32) -> anyhow::Result<House> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(place)?;
        let house = House { binary: binary.to_path_buf(), folder };
        for below in ["workspace/small", "workspace/large", "config/weir", "home"] {
            fs::create_dir_all(house.at(below))?;
        }
        fs::write(house.at("config/weir/config.toml"), CONFIG)?;
        for number in 0..files {
            fs::write(house.at("workspace").join(small(number)), text(number, SMALL))?;
        }
        for number in 0..LARGE_FILES {
            fs::write(house.at("workspace").join(large(number)), text(number, LARGE))?;
        }
        Ok(house)
    }

    pub(super) fn at(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// `weir` with these words.
    pub(super) fn weir(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(words)
            .arg("--state-dir")
            .arg(self.at("state"))
            .arg("-C")
            .arg(self.at("workspace"))
            .current_dir(self.at("workspace"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.at("home"))
            .env("XDG_CONFIG_HOME", self.at("config"))
            .env("ANTHROPIC_API_KEY", "no-key")
            .stdin(Stdio::null());
        command
    }

    /// Does something while the person's settings have this in addition.
    pub(super) fn with_settings<T>(
        &self,
        added: &str,
        what: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let file = self.at("config/weir/config.toml");
        fs::write(&file, format!("{CONFIG}\n{added}"))?;
        let done = what();
        fs::write(&file, CONFIG)?;
        done
    }

    /// `weir run` against a model at this address.
    pub(super) fn run_command(&self, url: &str) -> Command {
        self.task_command(url, READING)
    }

    /// The same with other words of the person.
    fn task_command(&self, url: &str, task: &str) -> Command {
        let mut command = self.weir(&[
            "run",
            "--model",
            "anthropic/bench",
            "--profile",
            "code",
            "--permission",
            "full",
            "--max-iterations",
            "100000",
            "--output",
            "jsonl",
            task,
        ]);
        command.env("ANTHROPIC_BASE_URL", url);
        command
    }

    /// One whole run. With `memory` its memory is watched, which costs a little time.
    pub(super) fn run(&self, script: &Script, memory: bool) -> anyhow::Result<Ran> {
        let model = Model::start(Arc::clone(script))?;
        self.measured(self.run_command(&model.url()), &model, memory)
    }

    /// One whole run with other words of the person.
    pub(super) fn run_task(&self, script: &Script, task: &str) -> anyhow::Result<Ran> {
        let model = Model::start(Arc::clone(script))?;
        self.measured(self.task_command(&model.url(), task), &model, false)
    }

    fn measured(&self, mut command: Command, model: &Model, memory: bool) -> anyhow::Result<Ran> {
        let errors = self.at("run.err");
        command.stdout(Stdio::piped()).stderr(File::create(&errors)?);
        let began = Instant::now();
        let mut child = command.spawn().context("starting weir run")?;
        let watch = memory.then(|| Peak::watch(child.id()));
        let mut printed = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut printed)?;
        }
        let status = child.wait()?;
        let wall = began.elapsed();
        let said = fs::read_to_string(&errors).unwrap_or_default();
        ensure!(status.success(), "weir run ended with {status}: {said}");
        let facts: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
        Ok(Ran {
            began,
            wall,
            exchanges: model.exchanges(),
            facts: facts.context("the output of weir run is not JSON lines")?,
            peak: watch.map_or(Memory::default(), Peak::end),
        })
    }

    /// How long `weir --version` takes.
    pub(super) fn version(&self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let status = Command::new(&self.binary).arg("--version").stdout(Stdio::null()).status()?;
        ensure!(status.success(), "weir --version ended with {status}");
        Ok(began.elapsed())
    }

    /// How long the disk takes to make 4 kB durable, again and again.
    pub(super) fn syncs(&self, count: u32) -> io::Result<Vec<f64>> {
        let mut file = File::create(self.at("sync"))?;
        let page = [7_u8; 4096];
        let mut times = Vec::new();
        for _ in 0..count {
            let began = Instant::now();
            file.write_all(&page)?;
            file.sync_data()?;
            times.push(super::figures::ms(began.elapsed()));
        }
        Ok(times)
    }
}

/// Different in every file, so that no two results are the same.
fn text(number: u32, bytes: usize) -> String {
    let mut text = String::new();
    let mut line = 0;
    while text.len() < bytes {
        let _ = writeln!(text, "file {number} line {line}: the quick brown fox jumps over it");
        line += 1;
    }
    text.truncate(bytes - 1);
    text.push('\n');
    text
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    /// All of it.
    pub(super) all: f64,
    /// Pages of files, above all of the program itself.
    pub(super) file_pages: f64,
}

/// Watches the most memory that a process had.
pub(super) struct Peak {
    over: Arc<AtomicBool>,
    watcher: thread::JoinHandle<Memory>,
}

impl Peak {
    pub(super) fn watch(pid: u32) -> Peak {
        let over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&over);
        let watcher = thread::spawn(move || {
            let mut peak = Memory::default();
            while !own.load(Ordering::Relaxed) {
                let now = memory_of(pid).unwrap_or_default();
                peak.all = peak.all.max(now.all);
                peak.file_pages = peak.file_pages.max(now.file_pages);
                thread::sleep(LOOK_AGAIN);
            }
            peak
        });
        Peak { over, watcher }
    }

    pub(super) fn end(self) -> Memory {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.join().unwrap_or_default()
    }
}

/// The kernel's own high-water mark, and what is resident of files now.
fn memory_of(pid: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes * 1024.0)
    };
    Some(Memory { all: of("VmHWM:")?, file_pages: of("RssFile:")? })
}
