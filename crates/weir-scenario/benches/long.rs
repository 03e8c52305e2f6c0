//! What a session of 10,000 turns costs on the disk: a turn at its end against one at its beginning
//! (Q4), its memory, finding a sentence in it again (Q16), opening it from its snapshot and by folding
//! all of it (Q10). Not a test: nothing here fails for being slow.
//!
//! ```sh
//! cargo bench -p weir-scenario --bench long -- [--turns N] [--window TOKENS] [--rows]
//! ```
//!
//! The model answers in process; a turn is timed from its last byte to the moment at which the next
//! request is sent. `TMPDIR` says which disk is measured. `--rows` prints raw values as JSON lines,
//! which is how `cargo xtask bench --context` gets them.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use serde_json::json;
use weir_core::event::Event;
use weir_core::model::ModelRequest;
use weir_engine::engine::{fold_journal, load};
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{MediaMap, RecallQuery};
use weir_scenario::long::{Long, Shared, Watch, seen, small};
use weir_scenario::play::Depth;

/// Turns of a run.
const RUN: usize = 500;
/// Turns that are compared at each end. The first few warm caches up.
const COMPARED: usize = 50;
const WARM_UP: usize = 5;
/// So many parts of the way are told apart.
const QUARTERS: usize = 4;
/// Memory of the last of them against the second: what is larger grows with the session.
const GROWN_MAX: f64 = 1.1;
/// How often what is quick is measured.
const TIMES: usize = 30;
/// What is said once, at the beginning, and has to be found again at the end.
const PLANTED: &str = "The harbour master keeps the blue ledger under the third stair.";

struct Args {
    turns: usize,
    window: u64,
    rows: bool,
}

/// One figure.
struct Row {
    id: &'static str,
    measure: String,
    unit: &'static str,
    /// The median may be so much at most, where there is a target.
    most: Option<f64>,
    values: Vec<f64>,
}

fn row(id: &'static str, measure: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Row {
    Row { id, measure: measure.into(), unit, most: None, values }
}

impl Row {
    fn at_most(self, most: f64) -> Row {
        Row { most: Some(most), ..self }
    }
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
        sorted.get(at).copied().unwrap_or(0.0)
    }
    fn median(&self) -> f64 {
        self.quantile(0.5)
    }
    fn met(&self) -> Option<bool> {
        self.most.map(|most| self.median() <= most)
    }
}

/// Times turns, and looks at the memory.
#[derive(Default)]
struct Stopwatch {
    requests: usize,
    replied: Option<Instant>,
    /// Milliseconds from each reply to the next request, and how many messages it had.
    gaps: Vec<(f64, usize)>,
    /// The moment of the first request.
    first: Option<Instant>,
    condensed: usize,
    /// Memory at turn 10, and at each [`RUN`]th turn, in MB.
    memory: Vec<f64>,
    messages: usize,
}

impl Watch for Stopwatch {
    fn request(&mut self, request: &ModelRequest, _: &MediaMap) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        if let Some(replied) = self.replied.take() {
            self.gaps.push(((now - replied).as_secs_f64() * 1e3, request.history.len()));
        }
        self.requests += 1;
        self.messages = self.messages.max(request.history.len());
        if self.requests == 10 || self.requests.is_multiple_of(RUN) {
            self.memory.extend(memory("VmRSS"));
        }
    }
    fn replied(&mut self) {
        self.replied = Some(Instant::now());
    }
    fn fact(&mut self, fact: &PublishedFact) {
        match fact.event.as_ref() {
            Event::ContextCondensed(_) => self.condensed += 1,
            // What comes next waits for a person.
            Event::RunFinished(_) => self.replied = None,
            _ => (),
        }
    }
}

/// A line of `/proc/self/status`, in MB.
fn memory(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim_start_matches(':').split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1e3)
}

fn main() -> anyhow::Result<()> {
    let args = arguments(std::env::args().skip(1))?;
    let rows = measure(&args)?;
    let mut out = std::io::stdout().lock();
    for row in &rows {
        if args.rows {
            let Row { id, measure, unit, most, values } = row;
            let line = json!({
                "id": id, "measure": measure, "unit": unit, "most": most, "values": values,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let met = row.met().map_or("", |met| if met { "met" } else { "MISSED" });
        let target = row.most.map(|most| format!("≤ {most} {}", row.unit)).unwrap_or_default();
        let spread = format!("{:.3}–{:.3}", row.quantile(0.1), row.quantile(0.9));
        writeln!(
            out,
            "{:<4} {:<62} {target:<12} {:>10.3} {:<3} {spread:<18} {met}",
            row.id,
            row.measure,
            row.median(),
            row.unit
        )?;
    }
    drop(out);
    if args.rows { Ok(()) } else { keep(&rows) }
}

fn arguments(words: impl Iterator<Item = String>) -> anyhow::Result<Args> {
    let mut args = Args { turns: 10_000, window: 200_000, rows: false };
    let mut words = words;
    while let Some(word) = words.next() {
        let mut number = || words.next().with_context(|| format!("{word} needs a number"));
        match word.as_str() {
            "--turns" => args.turns = number()?.parse()?,
            "--window" => args.window = number()?.parse()?,
            "--rows" => args.rows = true,
            // Cargo says this to every bench.
            "--bench" => (),
            _ => anyhow::bail!("{word}: only --turns N, --window TOKENS and --rows are known"),
        }
    }
    ensure!(args.turns >= 200, "a session of fewer than 200 turns is not long");
    Ok(args)
}

fn measure(args: &Args) -> anyhow::Result<Vec<Row>> {
    let mut scenario = small(RUN);
    scenario.setup.window = Some(args.window);
    let mut long = Long::new(&scenario, Depth::Disk)?;
    let runs = args.turns.div_ceil(RUN);
    let says: Vec<String> = (0..runs)
        .map(|run| if run == 0 { format!("Read. {PLANTED}") } else { format!("Read on, {run}.") })
        .collect();
    let watch: Shared<Stopwatch> = Arc::new(Mutex::new(Stopwatch::default()));
    long.live(&scenario.setup, &says, &watch)?;
    let lived = std::mem::take(&mut *seen(&watch));
    let peak = memory("VmHWM").into_iter().collect();
    let turns = lived.requests;
    ensure!(turns >= args.turns, "the session ended after {turns} turns");
    let early = row("Q4", "a turn: turns 5 to 55", "ms", middle(&lived.gaps, WARM_UP));
    let last = lived.gaps.len() - COMPARED;
    let late =
        row("Q4", format!("a turn: the last 50 of {turns}"), "ms", middle(&lived.gaps, last));
    let ratio = late.median() / early.median();
    let as_large = as_large(&lived.gaps, last);
    let as_large = row("Q4", "a turn: the first 50 with a view as large as theirs", "ms", as_large);
    let beyond = late.median() / as_large.median();
    let memory = |from: usize, length: usize| {
        lived.memory[from.min(lived.memory.len())..].iter().take(length).copied().collect()
    };
    let quarter =
        row("Q5", "memory at a quarter to half of the way", "MB", memory(runs / 4, runs / 4 + 1));
    let end = row("Q5", "memory in the last quarter", "MB", memory(runs - runs / 4, usize::MAX));
    let mut rows = vec![
        row("Q4", format!("turn {turns} against turn 10"), "×", vec![ratio]).at_most(1.3),
        row("Q4", "the same, where the view is as large", "×", vec![beyond]).at_most(1.3),
        early,
        as_large,
        late,
        row("Q5", "memory of the process at turn 10", "MB", memory(0, 1)),
        row("Q5", "the most memory that it had", "MB", peak),
        row("X2", "condensed so often", "×", vec![lived.condensed as f64]),
        row("X2", "most messages in a request", "", vec![lived.messages as f64]),
    ];
    // Of fewer runs no quarter has a figure of its own.
    if runs >= QUARTERS {
        let grown = end.median() / quarter.median();
        let measure = "memory: last quarter against the second";
        rows.push(row("Q5", measure, "×", vec![grown]).at_most(GROWN_MAX));
    }
    rows.extend([quarter, end]);
    rows.extend(again(&mut long, &scenario.setup, turns)?);
    Ok(rows)
}

fn middle(gaps: &[(f64, usize)], from: usize) -> Vec<f64> {
    gaps[from..from + COMPARED].iter().map(|(gap, _)| *gap).collect()
}

/// The first turns whose requests have as many messages as those from `last` on: what is left beside
/// the size of the view is the length of the session.
fn as_large(gaps: &[(f64, usize)], last: usize) -> Vec<f64> {
    let sizes = || gaps[last..].iter().map(|(_, messages)| *messages);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let early = gaps[..last].iter().filter(|(_, messages)| (least..=most).contains(messages));
    early.map(|(gap, _)| *gap).take(COMPARED).collect()
}

/// The session once more: found in, opened, folded, resumed.
fn again(
    long: &mut Long,
    setup: &weir_scenario::parse::Setup,
    turns: usize,
) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut found, mut common) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let (time, passages) = recalled(&runtime, long, "harbour blue ledger")?;
        ensure!(
            passages.first().is_some_and(|passage| passage.contains(PLANTED)),
            "the planted sentence is not found: {passages:?}"
        );
        found.push(time);
        common.push(recalled(&runtime, long, "note lines")?.0);
    }
    let mut rows = opened(&runtime, long, turns)?;
    let mut resumed = Vec::new();
    for _ in 0..TIMES / 6 {
        let watch: Shared<Stopwatch> = Arc::new(Mutex::new(Stopwatch::default()));
        long.script("says: Still here.")?;
        let began = Instant::now();
        long.live(setup, &["Are you there?".into()], &watch)?;
        let first = seen(&watch).first.context("no request was made")?;
        resumed.push((first - began).as_secs_f64() * 1e3);
    }
    rows.extend([
        row("Q16", format!("recall of one sentence in {turns} turns"), "ms", found).at_most(50.0),
        row("Q16", "recall by words that stand in every result", "ms", common),
        row("Q10", "resumed, to its first request", "ms", resumed),
    ]);
    Ok(rows)
}

/// The session opened as the program opens it, and by folding all of its facts.
fn opened(
    runtime: &tokio::runtime::Runtime,
    long: &Long,
    turns: usize,
) -> anyhow::Result<Vec<Row>> {
    let (store, id) = (long.store().as_ref(), Long::id());
    let (mut opened, mut folded) = (Vec::new(), Vec::new());
    for _ in 0..TIMES / 6 {
        let began = Instant::now();
        let loaded = runtime.block_on(load(store, &id))?;
        opened.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let whole = runtime.block_on(fold_journal(store, &id))?;
        folded.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(
            format!("{:?}", loaded.session) == format!("{:?}", whole.session),
            "the session that was opened is another than its journal gives"
        );
    }
    let snapshot = runtime.block_on(store.read_snapshot(&id))?.context("no snapshot was kept")?;
    let facts = runtime.block_on(load(store, &id))?.session.fact_count();
    Ok(vec![
        row("Q10", format!("opening the session of {turns} turns"), "ms", opened).at_most(100.0),
        row("Q10", format!("the same by folding all of its {facts} facts"), "ms", folded),
        row("Q10", "its snapshot", "kB", vec![snapshot.state.len() as f64 / 1e3]),
        row("Q10", "facts since its snapshot", "", vec![(facts - snapshot.seq) as f64]),
    ])
}

fn recalled(
    runtime: &tokio::runtime::Runtime,
    long: &Long,
    words: &str,
) -> anyhow::Result<(f64, Vec<String>)> {
    let query = RecallQuery {
        session: Some(Long::id()),
        words: words.into(),
        limit: 10,
        ..RecallQuery::default()
    };
    let began = Instant::now();
    let passages = runtime.block_on(long.store().recall(&query))?;
    let time = began.elapsed().as_secs_f64() * 1e3;
    Ok((time, passages.into_iter().map(|passage| passage.text).collect()))
}

/// Appends the figures to those of `cargo xtask bench`, in their form.
fn keep(rows: &[Row]) -> anyhow::Result<()> {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let target = row.most.map(|most| format!("≤ {most} {}", row.unit));
            json!({
                "id": row.id, "measure": row.measure, "target": target.unwrap_or_default(),
                "unit": row.unit, "low": row.quantile(0.1), "median": row.median(),
                "high": row.quantile(0.9), "met": row.met(),
            })
        })
        .collect();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let kept = json!({
        "at": SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        "profile": if cfg!(debug_assertions) { "dev" } else { "bench" },
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "load": load.split_whitespace().next(),
        "rows": rows,
    });
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../bench");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("figures.jsonl");
    let mut file = std::fs::File::options().append(true).create(true).open(&path)?;
    writeln!(file, "{kept}").with_context(|| path.display().to_string())
}
