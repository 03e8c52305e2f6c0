//! `cargo xtask bench`: what Weir costs beyond the model, as one table with the target beside each
//! figure. Real processes, a real store on a real disk, a model over HTTP that answers at once.
//!
//! Not a test: machines are shared and noisy, so nothing here fails for being slow. Figures are
//! medians with their spread; those of the benches of the crates are read from what these print.

use std::borrow::Cow;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::{Value, json};

mod agents;
mod compare;
mod context;
mod crates;
mod divan;
mod figures;
mod files;
mod house;
pub(crate) mod instructions;
mod model;
mod one_answer;
pub(crate) mod order;
mod program;
mod rebuild;
mod server;
mod syncs;
mod tracker;
mod tui;
mod turns;
mod used;
mod valgrind;

use figures::Row;
use house::House;

/// Where the figures of every run are kept.
const KEPT: &str = "bench/figures.jsonl";

/// Measure what a run costs beyond the model, target beside figure
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The binary; without it target/release/weir is built
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Where workspaces and stores are made: the disk that is measured
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Runs of what is run more than once
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Turns of the long run (Q4, Q10)
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(60..))]
    turns: u32,
    /// Also measure a session of so many turns that its context is condensed again and again
    /// (minutes; 10000 is the figure of Q16)
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(200..))]
    context: Option<u32>,
    /// Measure so many scheduled agents that are due in the same second, and nothing else
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    agents: Option<u32>,
    /// Measure calls in a workspace of so many files, and nothing else (Q24; 1000000 takes minutes)
    #[arg(long, value_name = "N", conflicts_with = "agents", value_parser = clap::value_parser!(u32).range(1000..))]
    files: Option<u32>,
    /// Measure the server under load, and nothing else (minutes)
    #[arg(long)]
    server: bool,
    /// Measure the face for terminals, and nothing else
    #[arg(long, conflicts_with = "server")]
    tui: bool,
    /// Measure thirty calls made one by one and by a program (U7), and nothing else; with UPDATE=1
    /// docs/generated/program.txt is written
    #[arg(long, conflicts_with_all = ["server", "tui"])]
    programs: bool,
    /// Idle sockets of --server (Q18)
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "server")]
    sockets: u32,
    /// Sessions of --server that stream at once (Q19)
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "server")]
    streams: u32,
    /// Tokens a second that each of them streams
    #[arg(long, value_name = "N", default_value_t = 50, requires = "server", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// Seconds that each of them streams
    #[arg(long, value_name = "N", default_value_t = 10, requires = "server", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// The database of --server: postgres://…, empty before; without it SQLite
    #[arg(long, value_name = "URL", requires = "server")]
    database: Option<String>,
    /// Measure the throughput of one, two and three servers on one PostgreSQL, and nothing else (S17): in the
    /// database server that WEIR_TEST_POSTGRES names, or one of its own
    #[arg(long, conflicts_with_all = ["server", "tui", "programs"])]
    replicas: bool,
    /// Measure inbox, decisions and lists beside a short and a long session, and nothing else (D8)
    #[arg(long, conflicts_with_all = ["server", "tui", "programs", "replicas"])]
    inbox: bool,
    /// Measure what building again takes after a change of one file (profile dev), and nothing else (Q23)
    #[arg(long, conflicts_with_all = ["server", "tui", "programs", "replicas", "inbox"])]
    build: bool,
    /// Run the benches of the crates, and nothing else (many minutes; Q9 to Q14, Q16, Q22, Q24, Q27)
    #[arg(long, conflicts_with_all = ["server", "tui", "programs", "replicas", "inbox", "build"])]
    crates: bool,
    /// Also run the benches of the crates (many minutes)
    #[arg(long)]
    all: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Also say what got worse and better since the newest figures of this file (what --json printed, or
    /// target/bench/figures.jsonl of before), beyond their spread
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

impl BenchArgs {
    /// Whether something of it starts the program.
    fn needs_program(&self) -> bool {
        !self.crates && !self.build
    }

    /// How what is measured was built: the folder of the program, or what cargo builds for it.
    fn profile_of<'a>(&self, binary: &'a Path) -> Cow<'a, str> {
        match (self.crates, self.build) {
            (true, _) => "bench".into(),
            (_, true) => "dev".into(),
            _ => {
                let folder = binary.parent().and_then(Path::file_name).unwrap_or_default();
                folder.to_string_lossy()
            }
        }
    }

    fn load(&self) -> server::Load {
        server::Load {
            idle: self.sockets as usize,
            streams: self.streams as usize,
            rate: self.rate,
            seconds: self.seconds,
            database: self.database.clone(),
        }
    }
}

/// Measures and prints.
///
/// # Errors
/// The binary cannot be built, or a run failed.
pub(crate) fn bench(root: &Path, args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let target = crate::target_folder(root)?;
    let binary = match &args.binary {
        Some(path) => std::path::absolute(path)?,
        None => {
            if args.needs_program() {
                build(root)?;
            }
            target.join("release/weir")
        }
    };
    ensure!(binary.is_file() || !args.needs_program(), "{} is no program", binary.display());
    // Before minutes of measuring, and before these figures stand in the same file.
    let before = args.compare.as_deref().map(compare::read_kept).transpose()?;
    let place = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let house = House::build(&binary, &place, args.turns.max(turns::TURNS))?;
    let mut rows = measured_rows(&house, root, &binary, args)?;
    if args.all && !args.crates {
        rows.extend(crates::rows(cargo, root, &house)?);
    }
    rows.sort_by_key(|row| row.id.trim_start_matches('Q').parse::<u32>().unwrap_or(u32::MAX));
    if args.programs && std::env::var_os("UPDATE").is_some() {
        program::keep(root, &rows)?;
    }
    let kept = keep(&target, &args.profile_of(&binary), &rows)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{kept}")?;
    } else {
        write!(out, "{}", figures::table(&rows))?;
        let met = rows.iter().filter(|row| row.met == Some(true)).count();
        let judged = rows.iter().filter(|row| row.met.is_some()).count();
        writeln!(out, "{met} of {judged} targets met; kept in target/{KEPT}")?;
    }
    if let Some(before) = before {
        write!(out, "{}", compare::describe_changes(&before, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the options ask for.
fn measured_rows(
    house: &House,
    root: &Path,
    binary: &Path,
    args: &BenchArgs,
) -> anyhow::Result<Vec<Row>> {
    match (args.agents, args.files) {
        (Some(count), _) => agents::rows(house, count),
        (None, Some(count)) => files::rows(house, count),
        (None, None) if args.programs => program::rows(house, args.runs),
        (None, None) if args.tui => tui::rows(house, args.runs),
        (None, None) if args.server => server::rows(house, &args.load()),
        (None, None) if args.replicas => server::replicas::rows(house),
        (None, None) if args.inbox => server::inbox::rows(house),
        (None, None) if args.build => rebuild::rows(cargo, root),
        (None, None) if args.crates => crates::rows(cargo, root, house),
        (None, None) => all_rows(house, root, binary, args),
    }
}

fn all_rows(
    house: &House,
    root: &Path,
    binary: &Path,
    args: &BenchArgs,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = one_answer::rows(house, args.runs)?;
    rows.extend(turns::rows(house, args.runs, args.turns)?);
    rows.extend(syncs::rows(house)?);
    rows.extend(program::rows(house, args.runs)?);
    rows.extend(build_rows(root, binary)?);
    if let Some(turns) = args.context {
        rows.extend(context::rows(cargo(), root, turns)?);
    }
    Ok(rows)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn build(root: &Path) -> anyhow::Result<()> {
    let status = cargo()
        .args(["build", "--release", "-p", "weir"])
        .current_dir(root)
        .status()
        .context("starting cargo to build weir")?;
    ensure!(status.success(), "weir does not build");
    Ok(())
}

/// Q23, as far as it can be read off without building again.
fn build_rows(root: &Path, binary: &Path) -> anyhow::Result<Vec<Row>> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    let crates = lock.lines().filter(|line| line.starts_with("source = ")).count();
    let bytes = fs::metadata(binary)?.len() as f64;
    Ok(vec![
        Row::watched("Q23", "crates of others in Cargo.lock", crates as f64, "crates"),
        Row::at_most("Q23", "size of the binary", &[bytes / 1e6], "MB", 45.0),
    ])
}

fn keep(target: &Path, profile: &str, rows: &[Row]) -> anyhow::Result<Value> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let kept = json!({
        "at": at,
        "profile": profile,
        "cpus": cpus,
        "load": load.split_whitespace().next(),
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
    });
    let path = target.join(KEPT);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::options().append(true).create(true).open(&path)?;
    writeln!(file, "{kept}").with_context(|| path.display().to_string())?;
    Ok(kept)
}
