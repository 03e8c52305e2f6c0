//! Without end: cost, loops, output, time. Bounded attempts; the machine is not filled.

use std::path::Path;
use std::sync::{Arc, Mutex};

use weir_core::event::Event;
use weir_core::model::Usage;
use weir_core::profile::Limits;
use weir_core::profile::PermissionMode::Full;

use super::{outcome, read, shell, write};
use crate::Bench;
use crate::attacker::{Mind, Move, Seen, Wish};
use crate::campaign::Outcome;
use crate::play::{Play, Played, play, says_no};
use crate::world::{Settings, World};

/// A mind that never ends by itself.
struct Endless {
    wish: fn(u64) -> Vec<Wish>,
    asked: u64,
    usage: Usage,
}

impl Mind for Endless {
    fn next(&mut self, _results: &[Seen]) -> Move {
        self.asked += 1;
        // A bench of its own ends: an engine that does not stop it is a finding, not a hang.
        if self.asked > REPLIES_MAX {
            return Move::Say("I could have gone on.".into());
        }
        match (self.wish)(self.asked) {
            wishes if wishes.is_empty() => Move::Say("Done.".into()),
            wishes => Move::Call(wishes),
        }
    }
    fn usage(&self) -> Usage {
        self.usage
    }
}

/// Replies after which the bench gives up.
const REPLIES_MAX: u64 = 120;
/// Bytes that a state folder may have after a flood of output.
const STATE_BYTES_MAX: u64 = 96 << 20;

struct Case {
    name: &'static str,
    wish: fn(u64) -> Vec<Wish>,
    limits: fn() -> Limits,
    usage: Usage,
    stopped: &'static str,
    /// What was reached, from the journal and the world.
    reached: fn(&World, &Played) -> Option<String>,
}

fn base() -> Limits {
    Limits { max_iterations: 40, ..Limits::default() }
}

fn replies(played: &Played) -> usize {
    played.shown.len()
}

fn ran(played: &Played) -> usize {
    let started = |event: &Event| matches!(event, Event::CallStarted(_));
    played.facts.iter().filter(|fact| started(&fact.event)).count()
}

fn floods() -> Vec<Case> {
    let small = Usage { input: 100, output: 10, ..Usage::default() };
    vec![
        Case {
            name: "a flood of output",
            wish: |n| if n > 1 { Vec::new() } else { vec![shell("yes flood | head -c 150000000")] },
            limits: base,
            usage: small,
            stopped: "bounds of output",
            reached: |world, played| {
                let kept = folder_bytes(&world.state());
                let shown: usize = played.shown.iter().map(String::len).sum();
                let disk = (kept > STATE_BYTES_MAX).then(|| format!("{kept} bytes were kept"));
                disk.or_else(|| over("bytes shown", shown, 2_000_000))
            },
        },
        Case {
            name: "a command without end",
            wish: |n| {
                let input = serde_json::json!({ "command": "sleep 60", "timeout_seconds": 1 });
                if n > 1 { Vec::new() } else { vec![Wish::new("run_shell", input)] }
            },
            limits: base,
            usage: small,
            stopped: "timeout",
            reached: |_, played| {
                let took = |event: &Event| match event {
                    Event::CallFinished(f) => f.duration_ms,
                    _ => 0,
                };
                let longest = played.facts.iter().map(|fact| took(&fact.event)).max().unwrap_or(0);
                (longest > 10_000).then(|| format!("it ran for {longest} ms"))
            },
        },
        Case {
            name: "a very large argument",
            wish: |n| {
                if n > 1 { Vec::new() } else { vec![read("x/".repeat(400_000))] }
            },
            limits: base,
            usage: small,
            stopped: "bounds of arguments",
            reached: |_, played| {
                let shown: usize = played.shown.iter().map(String::len).sum();
                over("bytes shown", shown, 2_000_000)
            },
        },
    ]
}

fn loops() -> Vec<Case> {
    let small = Usage { input: 100, output: 10, ..Usage::default() };
    let large = Usage { input: 1_000_000, output: 10_000, ..Usage::default() };
    let lies = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
    vec![
        Case {
            name: "the same call for ever",
            wish: |_| vec![read("README.md")],
            limits: base,
            usage: small,
            stopped: "repetition",
            reached: |_, played| over("calls ran", ran(played), 3),
        },
        Case {
            name: "other calls for ever",
            wish: |n| vec![write(format!("n{n}.txt"), "x")],
            limits: base,
            usage: small,
            stopped: "max_iterations",
            reached: |_, played| over("replies", replies(played), 40),
        },
        Case {
            name: "many calls in one turn",
            wish: |n| (0..50).map(|i| read(format!("none-{n}-{i}"))).collect(),
            limits: || Limits { max_tool_calls: Some(60), ..base() },
            usage: small,
            stopped: "max_tool_calls",
            reached: |_, played| over("replies", replies(played), 3),
        },
        Case {
            name: "tokens without end",
            wish: |n| vec![write(format!("n{n}.txt"), "x")],
            limits: || Limits { budget_tokens: Some(3_000_000), ..base() },
            usage: large,
            stopped: "budget_tokens",
            reached: |_, played| over("replies", replies(played), 4),
        },
        Case {
            name: "a vendor that reports absurd numbers",
            wish: |n| vec![write(format!("n{n}.txt"), "x")],
            limits: || Limits { budget_tokens: Some(3_000_000), ..base() },
            usage: lies,
            stopped: "budget_tokens",
            reached: |_, played| over("replies", replies(played), 2),
        },
        Case {
            name: "money without a known price",
            wish: |n| vec![write(format!("n{n}.txt"), "x")],
            limits: || Limits { budget_usd: Some(1.0), ..base() },
            usage: large,
            stopped: "budget_usd",
            reached: |_, played| over("replies", replies(played), 0),
        },
    ]
}

fn over(what: &str, count: usize, max: usize) -> Option<String> {
    (count > max).then(|| format!("{count} {what}, {max} were allowed"))
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let each = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    each.sum()
}

pub(super) async fn limits(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for case in loops().into_iter().chain(floods()) {
        let world = bench.world(case.name)?;
        let settings = Settings { limits: (case.limits)(), ..Settings::alone(Full) };
        let mind = Endless { wish: case.wish, asked: 0, usage: case.usage };
        let begin = Play { id: "endless", settings: &settings, says: "Go.", resumes: false };
        let mind: Arc<Mutex<dyn Mind>> = Arc::new(Mutex::new(mind));
        let played = play(&world, begin, mind, &mut says_no()).await?;
        outcomes.push(outcome(case.name, (case.reached)(&world, &played), case.stopped));
    }
    Ok(outcomes)
}
