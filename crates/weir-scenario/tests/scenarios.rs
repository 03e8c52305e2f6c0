//! Every scenario of `scenarios/`, at every depth, with every law.
//!
//! `UPDATE=1` rewrites the expected blocks. `WEIR_SWEEP=full` crashes each scenario at every
//! crossing of a port; otherwise every few are tried, shifted from scenario to scenario.
#![expect(clippy::print_stdout, reason = "counts are told beside the verdict")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use weir_core::event::Event;
use weir_core::ids::{CallId, SessionId};
use weir_core::session::{Session, SessionStatus};
use weir_scenario::laws;
use weir_scenario::parse::{self, Scenario};
use weir_scenario::play::{Depth, Played, play};
use weir_scenario::render;

#[path = "golden/prompt.rs"]
mod prompt;

#[path = "scenarios/hang.rs"]
mod hang;

#[path = "scenarios/fast_path.rs"]
mod fast_path;

#[path = "scenarios/long.rs"]
mod long;

#[path = "scenarios/agents.rs"]
mod agents;

#[path = "scenarios/schedule.rs"]
mod schedule;

#[path = "scenarios/clock.rs"]
mod clock;

#[path = "scenarios/host.rs"]
mod host;

#[path = "scenarios/recorded.rs"]
mod recorded;

#[path = "scenarios/snapshots.rs"]
mod snapshots;

/// Of so many crossings one is crashed at when the sweep is not full.
const SWEEP_STEP: usize = 29;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn scenarios() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder of scenarios is readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md")
                && path.file_name().is_some_and(|n| n != "README.md")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs `check` on every scenario, on two threads; all failures are told at the end.
fn each(check: impl Fn(usize, &Path, &str, &Scenario) -> anyhow::Result<()> + Sync) {
    let only = std::env::var("WEIR_SCENARIO").unwrap_or_default();
    let all: Vec<(usize, PathBuf)> = scenarios().into_iter().enumerate().collect();
    assert!(all.len() >= 30, "the scenarios are there");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((at, path)) =
                    all.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    let name = path.strip_prefix(folder()).unwrap_or(path).display().to_string();
                    if !name.contains(&only) {
                        continue;
                    }
                    let result = std::fs::read_to_string(path)
                        .map_err(anyhow::Error::from)
                        .and_then(|text| Ok((parse::parse(&text)?, text)))
                        .and_then(|(scenario, text)| check(*at, path, &text, &scenario));
                    if let Err(error) = result {
                        failures
                            .lock()
                            .expect("no panic holds it")
                            .push(format!("{name}: {error:#}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic holds it");
    assert!(failures.is_empty(), "{} scenarios fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

fn files_text(played: &Played) -> String {
    let shown = |(path, text): (&String, &String)| {
        let flat = text.replace('\n', "\\n").replace('\r', "\\r").replace('\0', "\\0");
        let flat: String = flat.chars().take(200).collect();
        format!("{path}: {flat}\n")
    };
    played.files.iter().filter(|(path, _)| !path.starts_with(".weir/tmp")).map(shown).collect()
}

fn compare(what: &str, expected: &str, found: &str) -> anyhow::Result<()> {
    if expected.trim_end() != found.trim_end() {
        let diff = similar::TextDiff::from_lines(expected, found);
        bail!("{what} differs (UPDATE=1 rewrites it):\n{}", diff.unified_diff());
    }
    Ok(())
}

fn prefix_law(played: &Played) -> anyhow::Result<()> {
    let kind = |kinds: &[&str]| {
        played.facts.iter().filter(|fact| kinds.contains(&fact.event.kind())).count()
    };
    let journaled = kind(&["history.quarantined", "session.configured"]) > 0;
    // Each of these changes the view once, in each of the dialects that listen.
    let breaks =
        kind(&["context.condensed", "context.uncondensed", "profile.switched", "model.switched"]);
    let lost = played.wire.lost();
    let mut by_dialect: BTreeMap<&str, usize> = BTreeMap::new();
    lost.iter().for_each(|(dialect, ..)| *by_dialect.entry(dialect).or_default() += 1);
    ensure!(
        journaled || by_dialect.values().all(|times| *times <= breaks),
        "Q8, P2: bytes of the request before were lost: {lost:?}"
    );
    Ok(())
}

fn once_each(played: &Played) -> anyhow::Result<()> {
    let mut calls: Vec<_> = played.commands.iter().map(|(of, call, _)| (of, call)).collect();
    let started = calls.len();
    calls.sort();
    calls.dedup();
    ensure!(calls.len() == started, "a command was started twice: {:?}", played.commands);
    Ok(())
}

/// Facts from one snapshot to the next in a session that is kept often. Scenarios differ in length: all
/// together, sessions are kept after every kind of fact.
const SNAPSHOT_STRIDE: usize = 5;

/// Journal, files, laws 1 to 5, 8 and 10, on the engine with the store in memory.
#[test]
fn each_scenario_is_as_written_and_keeps_the_laws() {
    let update = std::env::var("UPDATE").is_ok();
    let lines = std::sync::Mutex::new(BTreeSet::new());
    each(|_, path, text, scenario| {
        let played = play(scenario, Depth::Memory, 0)?;
        laws::check_all(&played)?;
        laws::snapshots_hold_the_fold(&played.facts, SNAPSHOT_STRIDE)?;
        laws::kept_views_hold_the_fold(&played.facts, 1)?;
        prefix_law(&played)?;
        once_each(&played)?;
        let requests = played.wire.lines();
        lines.lock().expect("no panic holds it").extend(requests.iter().map(ToString::to_string));
        let journal = render::journal(&played);
        let files = files_text(&played);
        if update {
            let text = parse::with_block(text, "journal", &journal);
            std::fs::write(path, parse::with_block(&text, "files", &files))?;
            return Ok(());
        }
        compare("the journal", scenario.journal.as_deref().context("no journal block")?, &journal)?;
        compare("the files", scenario.files.as_deref().context("no files block")?, &files)
    });
    for_the_judges("scenario-requests.jsonl", &lines.into_inner().expect("no panic holds it"));
}

/// Writes requests in every dialect for the judges from outside, one JSON object a line.
fn for_the_judges(name: &str, lines: &BTreeSet<String>) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&out, text).expect("the target folder is writable");
    println!("{} requests for the judges in {}", lines.len(), out.display());
}

/// G9: each call goes through its stages in their order, each of them journaled.
#[test]
fn g9_each_call_goes_through_the_stages_in_order() {
    const STAGES: [&str; 7] = [
        "call.proposed",
        "call.judged",
        "approval.requested",
        "approval.resolved",
        "checkpoint.taken",
        "call.started",
        "call.finished",
    ];
    each(|_, _, _, scenario| {
        let played = play(scenario, Depth::Memory, 0)?;
        let mut reached: BTreeMap<CallId, usize> = BTreeMap::new();
        for fact in &played.facts {
            let call = match fact.event.as_ref() {
                Event::CallProposed(f) => f.call,
                Event::CallJudged(f) => f.call,
                Event::ApprovalRequested(f) => f.call,
                Event::ApprovalResolved(f) => f.call,
                Event::CheckpointTaken(f) => f.call,
                Event::CallStarted(f) => f.call,
                Event::CallFinished(f) => f.call,
                _ => continue,
            };
            let kind = fact.event.kind();
            let stage = STAGES.iter().position(|s| *s == kind).context("a stage")?;
            let before = reached.insert(call, stage);
            ensure!(before.is_none_or(|b| b < stage), "{call} came to {kind} too late");
            ensure!(before.is_some() || stage == 0, "{call} came to {kind} from nowhere");
            let changes =
                matches!(fact.event.as_ref(), Event::CallFinished(f) if !f.changed.is_empty());
            ensure!(!changes || before == Some(5), "{call} changed files without having started");
        }
        Ok(())
    });
}

/// L2: what a session is doing follows from its journal alone.
#[test]
fn l2_the_status_follows_from_the_journal() {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    each(|_, _, _, scenario| {
        let played = play(scenario, Depth::Memory, 0)?;
        let mut session = Session::new(SessionId::new("folded"));
        for fact in &played.facts {
            session.apply(fact.ts, &fact.event);
            let status = session.status();
            let expected = match fact.event.as_ref() {
                Event::ModelRequested(_) => SessionStatus::Streaming,
                Event::CallProposed(_) => SessionStatus::ExecutingTools,
                Event::CancelRequested(_) => SessionStatus::Stopped,
                Event::RunFinished(_) => SessionStatus::Idle,
                Event::ApprovalRequested(_) if scenario.setup.attended => {
                    // Beside a read that still works, the session works.
                    ensure!(
                        matches!(
                            status,
                            SessionStatus::PendingApproval | SessionStatus::ExecutingTools
                        ),
                        "{status:?} while a person is asked"
                    );
                    status
                }
                _ => status,
            };
            ensure!(status == expected, "{status:?} after {}", fact.event.kind());
            seen.lock().expect("no panic holds it").insert(format!("{status:?}"));
        }
        Ok(())
    });
    let seen = seen.into_inner().expect("no panic holds it");
    for status in ["Idle", "Streaming", "ExecutingTools", "PendingApproval", "Stopped"] {
        assert!(seen.contains(status), "no scenario comes to {status}");
    }
}

/// The same journal with SQLite and git on the disk.
#[test]
fn d1_each_scenario_is_the_same_on_the_disk() {
    each(|_, _, text, scenario| {
        if text.contains("<!-- paused time only -->") || std::env::var("UPDATE").is_ok() {
            return Ok(());
        }
        let played = play(scenario, Depth::Disk, 0)?;
        laws::check_all(&played)?;
        let expected = scenario.journal.as_deref().context("no journal block")?;
        compare("the journal", expected, &render::journal(&played))
    });
}

/// D7 (a): crashed at a crossing, taken up again, the session comes to the same files, no command
/// starts twice, and the laws hold. In parts, so that none takes longer than a test may.
mod d7_sweep_crashes_every_scenario {
    use super::sweep_part;

    #[test]
    fn d7_first_quarter() {
        sweep_part(0);
    }

    #[test]
    fn d7_second_quarter() {
        sweep_part(1);
    }

    #[test]
    fn d7_third_quarter() {
        sweep_part(2);
    }

    #[test]
    fn d7_fourth_quarter() {
        sweep_part(3);
    }
}

/// How many parts the sweep has.
const SWEEP_PARTS: usize = 4;

fn sweep_part(part: usize) {
    let full = std::env::var("WEIR_SWEEP").is_ok_and(|sweep| sweep == "full");
    let crashes = std::sync::atomic::AtomicUsize::new(0);
    let resumed = std::sync::Mutex::new(BTreeSet::new());
    each(|index, path, text, scenario| {
        if index % SWEEP_PARTS != part || text.contains("<!-- no sweep -->") {
            return Ok(());
        }
        let whole = hang::named_if_it_hangs(&path.display().to_string(), || {
            play(scenario, Depth::Memory, 0)
        })?;
        let usual: BTreeSet<String> = whole.wire.lines().iter().map(ToString::to_string).collect();
        let step = if full { 1 } else { SWEEP_STEP };
        let first = if full { 1 } else { 1 + index % SWEEP_STEP };
        for at in (first..=whole.crossings).step_by(step) {
            crashes.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let played =
                hang::named_if_it_hangs(&format!("{} crashed at {at}", path.display()), || {
                    play(scenario, Depth::Memory, at)
                })
                .with_context(|| format!("crash at {at}"))?;
            laws::check_all(&played)
                .with_context(|| format!("crash at {at}:\n{}", render::journal(&played)))?;
            once_each(&played).with_context(|| format!("crash at {at}"))?;
            let requests = played.wire.lines().into_iter().map(|line| line.to_string());
            let requests = requests.filter(|line| !usual.contains(line));
            resumed.lock().expect("no panic holds it").extend(requests);
            if !text.contains("<!-- files vary after a crash -->") {
                compare("the files", &files_text(&whole), &files_text(&played))
                    .with_context(|| format!("crash at {at}:\n{}", render::journal(&played)))?;
            }
        }
        Ok(())
    });
    println!("{} crashes", crashes.into_inner());
    let name = format!("resumed-requests-{part}.jsonl");
    for_the_judges(&name, &resumed.into_inner().expect("no panic holds it"));
}
