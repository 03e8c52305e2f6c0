//! Journals of earlier versions, folded by this one: every request comes out byte for byte as it was
//! sent then, in each dialect (P2, D2). Somebody who updates Weir between two messages keeps the
//! vendor's cache, and the model keeps what it was told. Not here: today's journals (`scenarios.rs`).
//!
//! A file of `recorded/VERSION` is a journal, a fact a line, and after each `model.requested` what
//! was sent: bytes and hash of each dialect's body. Files are never rewritten: a difference means
//! that this version breaks the caches of running sessions. `WEIR_RECORD=VERSION` records the
//! scenarios of [`SCENARIOS`] that this version's folder lacks.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value, json};
use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::ModelRequest;
use weir_core::record::sha256_hex;
use weir_core::session::Session;
use weir_engine::ports::MediaMap;
use weir_providers::DIALECTS;
use weir_providers::dialect::{RequestEncoder, VendorQuirks};
use weir_scenario::parse;
use weir_scenario::play::{Depth, play};

/// What is recorded of a version: a scenario for each way in which words reach the model that no
/// person, tool or vendor wrote.
const SCENARIOS: &[&str] = &[
    "agents/m6_three_agents_and_one_approval",
    "context/x01_long_results_are_externalised",
    "context/x02_a_constraint_survives_three_condensings",
    "context/x02_a_person_condenses_and_takes_it_back",
    "context/x04_recall_finds_what_was_said",
    "loop/l04_soft_and_hard_limit",
    "loop/l05_mistakes_in_a_row",
    "loop/l06_repetition",
    "loop/l07_parallel_reads_in_the_order_asked",
    "loop/l08_a_cut_stream_is_asked_again",
    "loop/l09_an_empty_reply_gets_one_nudge",
    "loop/l09_broken_arguments",
    "loop/l09_doubled_call_ids",
    "loop/l10_power_steering",
    "loop/l11_task_list_stands_last",
    "loop/l12_steering_while_it_runs",
    "loop/l13_question_and_answer",
    "loop/l14_cancel_in_a_stream",
    "recipes/l16_reads_together_then_a_write_then_the_answer",
    "recipes/l16_a_rule_refuses_a_step_in_the_middle",
    "recipes/l16_a_planner_that_fails",
    "recipes/m5_wrong_match",
];

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn encoders() -> Vec<Box<dyn RequestEncoder>> {
    let quirks =
        VendorQuirks { stream_usage: true, max_completion_tokens: true, ..VendorQuirks::default() };
    DIALECTS.iter().map(|dialect| dialect.new_encoder(&quirks)).collect()
}

/// What a request is in each dialect: bytes and hash.
fn sent(encoders: &mut [Box<dyn RequestEncoder>], request: &ModelRequest) -> Value {
    let mut all = Map::new();
    for (dialect, encoder) in DIALECTS.iter().zip(encoders) {
        encoder.encode(request, &MediaMap::default());
        let body = encoder.last_body();
        let told = json!({ "bytes": body.len(), "sha256": sha256_hex(&body) });
        all.insert(dialect.name().into(), told);
    }
    Value::Object(all)
}

/// Folds facts and tells what is sent at each `model.requested`, with the request itself.
struct Replay {
    session: Session,
    encoders: Vec<Box<dyn RequestEncoder>>,
}

impl Replay {
    fn new() -> Replay {
        Replay { session: Session::new(SessionId::new("recorded")), encoders: encoders() }
    }

    fn apply(&mut self, ts: Timestamp, event: &Event) -> Option<(Value, ModelRequest)> {
        let request = match event {
            Event::ModelRequested(f) => self.session.request(f.turn),
            _ => None,
        };
        // A program that is started anew has encoded nothing yet.
        if matches!(event, Event::SessionResumed(_)) {
            self.encoders = encoders();
        }
        let told = request.map(|request| (sent(&mut self.encoders, &request), request));
        self.session.apply(ts, event);
        told
    }
}

/// Plays a scenario and writes down its journal and its requests.
fn record(name: &str, to: &Path) -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.md"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let played = play(&parse::parse(&text)?, Depth::Memory, 0)?;
    let mut replay = Replay::new();
    let mut lines = String::new();
    for fact in &played.facts {
        let payload: Value = serde_json::from_str(&fact.event.payload())?;
        let line = json!({ "ts": fact.ts, "kind": fact.event.kind(), "payload": payload });
        // Folders of a play are made by chance, and their names have no meaning.
        writeln!(lines, "{}", line.to_string().replace(&played.folder, "/home/person"))?;
    }
    let mut whole = String::new();
    for line in lines.lines() {
        writeln!(whole, "{line}")?;
        let (ts, event) = fact(&serde_json::from_str(line)?)?;
        if let Some((sent, _)) = replay.apply(ts, &event) {
            writeln!(whole, "{}", json!({ "sent": sent }))?;
        }
    }
    std::fs::create_dir_all(to.parent().context("a folder")?)?;
    std::fs::write(to, whole)?;
    Ok(())
}

fn fact(line: &Value) -> anyhow::Result<(Timestamp, Event)> {
    let ts = serde_json::from_value(line["ts"].clone())?;
    let kind = line["kind"].as_str().context("a kind")?;
    Ok((ts, Event::from_payload(kind, &line["payload"].to_string())?))
}

/// Folds one file; tells how many requests were compared.
fn replays(path: &Path) -> anyhow::Result<usize> {
    let mut replay = Replay::new();
    let mut last = None;
    let mut compared = 0;
    for (at, line) in std::fs::read_to_string(path)?.lines().enumerate() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
        let Some(expected) = line.get("sent") else {
            let (ts, event) = fact(&line).with_context(|| format!("line {}", at + 1))?;
            last = replay.apply(ts, &event);
            continue;
        };
        let (mut found, request) = last.take().context("a request follows its fact")?;
        // Dialects that there were not yet say nothing of then.
        let then = expected.as_object().context("a request by each dialect")?;
        if let Some(now) = found.as_object_mut() {
            now.retain(|dialect, _| then.contains_key(dialect));
        }
        ensure!(!then.is_empty(), "no dialect was recorded");
        compared += 1;
        if found != *expected {
            let said = request.history.iter().map(|message| format!("{message:?}\n"));
            bail!(
                "line {}: another request is sent.\nthen: {expected}\nnow:  {found}\nits \
                 messages now:\n{}",
                at + 1,
                said.collect::<String>()
            );
        }
    }
    Ok(compared)
}

/// P2, D2: what a session of an earlier version sent is sent by this one to the byte.
#[test]
fn p2_a_session_of_an_earlier_version_goes_on_with_the_same_bytes() {
    if let Ok(version) = std::env::var("WEIR_RECORD") {
        for name in SCENARIOS {
            let to = recorded().join(&version).join(format!("{}.jsonl", name.replace('/', "-")));
            if !to.exists() {
                record(name, &to).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            }
        }
    }
    let mut failures = Vec::new();
    let (mut files, mut requests) = (0, 0);
    for version in std::fs::read_dir(recorded()).expect("the recorded journals are there") {
        for file in std::fs::read_dir(version.expect("an entry").path()).expect("a folder") {
            let path = file.expect("an entry").path();
            files += 1;
            match replays(&path) {
                Ok(compared) => requests += compared,
                Err(error) => failures.push(format!("{}: {error:#}", path.display())),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(files >= SCENARIOS.len(), "{files} journals");
    assert!(requests >= files, "{requests} requests in {files} journals");
}

/// The texts of a journal count, not those that this program would compose (B8).
#[test]
fn p2_other_words_of_a_journal_give_other_bytes() -> anyhow::Result<()> {
    let path = std::fs::read_dir(recorded())?
        .map(|version| Ok(version?.path().join("loop-l09_an_empty_reply_gets_one_nudge.jsonl")))
        .collect::<anyhow::Result<Vec<_>>>()?
        .into_iter()
        .find(|path| path.is_file())
        .context("a journal in which the program says something")?;
    let text = std::fs::read_to_string(&path)?;
    let mut changed = 0;
    let mut lines = String::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line)?;
        if line["kind"] == "turn.started" && line["payload"]["told"][0].is_string() {
            line["payload"]["told"][0] = json!("Other words of another version.");
            changed += 1;
        }
        writeln!(lines, "{line}")?;
    }
    ensure!(changed == 1, "{changed} turns told something");
    let folder = tempfile::tempdir()?;
    let other = folder.path().join("other.jsonl");
    std::fs::write(&other, lines)?;
    let error = replays(&other).err().context("the words went to the model")?.to_string();
    ensure!(error.contains("Other words of another version."), "{error}");
    Ok(())
}
