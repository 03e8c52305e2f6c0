//! What turns cost: each of them, the thousandth against the tenth, their memory and processor
//! time, what is kept of the request before, and reading a long session again.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::figures::{Row, median, ms, quantile};
use super::house::{self, House, Ran};
use super::model::{Exchange, Model, Reply, Script};

/// Turns of the middle run (Q3, Q5, Q6, Q8).
pub(super) const TURNS: u32 = 100;
/// How often the disk is asked what a sync takes.
const SYNCS: u32 = 200;

fn reads(turns: u32, path: fn(u32) -> String) -> Script {
    Arc::new(move |number| match u32::try_from(number) {
        Ok(number) if number < turns => Reply::Read(path(number)),
        _ => Reply::Text("All read.".into()),
    })
}

pub(super) fn rows(house: &House, runs: u32, long: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = middle(house, runs.min(10))?;
    rows.extend(processor(house, runs.min(10))?);
    let mut large = Vec::new();
    for _ in 0..runs.min(5) {
        let script = reads(house::LARGE_FILES, house::large);
        large.push(house.run(&script, true)?.peak.all / 1e6);
    }
    rows.push(Row::at_most("Q5", "peak memory: 12 results of 40 kB", &large, "MB", 20.0));
    rows.extend(long_run(house, runs.min(10), long)?);
    Ok(rows)
}

/// Q3, Q5, Q8: runs of 100 turns of one small read.
fn middle(house: &House, runs: u32) -> anyhow::Result<Vec<Row>> {
    let script = reads(TURNS, house::small);
    let (mut gaps, mut peaks, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut whole = Vec::new();
    let mut syncs = house.syncs(SYNCS)?;
    for _ in 0..runs.min(5) {
        let ran = house.run(&script, false)?;
        // The first turns warm caches up on both sides.
        gaps.extend(between(&ran.exchanges).into_iter().skip(3));
        kept.push(prefix_kept(&ran)?);
        whole.push(ms(ran.wall));
        syncs.extend(house.syncs(SYNCS)?);
    }
    for _ in 0..runs.min(5) {
        peaks.push(house.run(&script, true)?.peak.all / 1e6);
    }
    let sync = median(&syncs);
    let beyond: Vec<f64> = gaps.iter().map(|gap| (gap - sync).max(0.0)).collect();
    let p95 = quantile(&gaps, 0.95) - quantile(&syncs, 0.95);
    Ok(vec![
        Row::of("Q3", "a turn: last byte of a reply to first of the next", &gaps, "ms"),
        Row::of("Q3", "the disk's own sync of 4 kB, same minutes", &syncs, "ms"),
        Row::at_most("Q3", "a turn beyond one sync: median", &beyond, "ms", 1.0),
        Row::at_most("Q3", "a turn beyond one sync: p95 less p95", &[p95.max(0.0)], "ms", 3.0),
        Row::of("Q3", "whole run of 100 turns", &whole, "ms"),
        Row::at_most("Q5", "peak memory: 100 turns", &peaks, "MB", 20.0),
        Row::at_least("Q8", "requests that begin with the whole one before", &kept, "%", 100.0),
    ])
}

/// From each reply to the next request.
fn between(exchanges: &[Exchange]) -> Vec<f64> {
    exchanges
        .windows(2)
        .map(|pair| ms(pair[1].first_byte.saturating_duration_since(pair[0].answered)))
        .collect()
}

/// Share of requests whose prompt, tools and first messages are those of the request before. Marks
/// for the vendor's cache may move: they are no content.
fn prefix_kept(ran: &Ran) -> anyhow::Result<f64> {
    let bodies: Result<Vec<Value>, _> = ran
        .exchanges
        .iter()
        .map(|exchange| serde_json::from_slice(&exchange.body).map(without_marks))
        .collect();
    let bodies = bodies.context("a request is not JSON")?;
    ensure!(bodies.len() > 1, "the run made no second request");
    let kept = bodies.windows(2).filter(|pair| extends(&pair[0], &pair[1])).count();
    Ok(100.0 * kept as f64 / (bodies.len() - 1) as f64)
}

fn extends(before: &Value, after: &Value) -> bool {
    let messages = |body: &Value| body["messages"].as_array().cloned().unwrap_or_default();
    before["system"] == after["system"]
        && before["tools"] == after["tools"]
        && messages(after).starts_with(&messages(before))
}

fn without_marks(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("cache_control");
            for value in map.values_mut() {
                *value = without_marks(value.take());
            }
        }
        Value::Array(list) => {
            for value in list {
                *value = without_marks(value.take());
            }
        }
        _ => {}
    }
    value
}

/// Q6: processor time, as the shell counts it for what it waited for.
fn processor(house: &House, runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let model = Model::start(reads(TURNS, house::small))?;
        let run = house.run_command(&model.url());
        let mut shell = Command::new("bash");
        shell
            .args(["-c", "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null 2>/dev/null", "bash"])
            .arg(run.get_program())
            .args(run.get_args())
            .current_dir(house.at("workspace"))
            .env_clear()
            .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null());
        let Ok(output) = shell.output() else {
            return Ok(Vec::new());
        };
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "weir run under bash failed: {said}");
        let seconds: f64 =
            said.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).sum();
        times.push(seconds * 1e3);
    }
    Ok(vec![Row::at_most("Q6", "processor time of 100 turns", &times, "ms", 100.0)])
}

/// Q4 and Q10: one long run, and reading it again.
fn long_run(house: &House, runs: u32, turns: u32) -> anyhow::Result<Vec<Row>> {
    let ran = house.run(&reads(turns, house::small), false)?;
    let gaps = between(&ran.exchanges);
    ensure!(gaps.len() as u32 >= turns, "the long run ended after {} turns", gaps.len());
    let early = median(&gaps[5..25]);
    let late = median(&gaps[gaps.len() - 20..]);
    let start = times(runs, || house.weir(&["sessions", "list"]))?;
    let replay = times(runs, || house.weir(&["replay", ran.session()]))?;
    let show = times(runs, || house.weir(&["sessions", "show", ran.session()]))?;
    let end = times(runs, || house.weir(&["sessions", "show", ran.session(), "--last", "20"]))?;
    let facts = ran.facts.iter().filter(|fact| fact["seq"].is_u64()).count() as f64;
    let base = median(&start);
    let rates: Vec<f64> =
        replay.iter().map(|time| facts / (time - base).max(0.01) * 1e3 / 1e6).collect();
    let beyond = |times: &[f64]| times.iter().map(|time| time - base).collect::<Vec<f64>>();
    Ok(vec![
        Row::at_most("Q4", &format!("turn {turns} against turn 10"), &[late / early], "×", 1.3),
        Row::watched("Q4", "turns 5 to 25", early, "ms"),
        Row::watched("Q4", &format!("the last 20 of {turns}"), late, "ms"),
        Row::at_least("Q10", "weir replay, all decisions made again", &rates, "M facts/s", 0.2),
        Row::at_most(
            "Q10",
            &format!("weir sessions show, {turns} turns, beyond starting"),
            &beyond(&show),
            "ms",
            100.0 * f64::from(turns) / 10_000.0,
        ),
        Row::at_most(
            "Q10",
            &format!("weir sessions show --last 20, {turns} turns, beyond starting"),
            &beyond(&end),
            "ms",
            10.0,
        ),
    ])
}

/// Wall times of a command that must succeed.
fn times(runs: u32, command: impl Fn() -> Command) -> anyhow::Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let began = Instant::now();
        let output = command().stderr(Stdio::piped()).stdout(Stdio::piped()).output()?;
        times.push(ms(began.elapsed()));
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "weir ended with {}: {said}", output.status);
    }
    Ok(times)
}
