//! Honest work: scripts of calls that ordinary tasks need, played in every permission mode by a
//! person who agrees. A denial where the task is possible at all is a defect of the product, not of
//! the script.
//!
//! A script begins with `# its name`. Then, a line each: `plan` (possible in plan mode), `fetches`
//! (possible there too, it reads the listed site only, if nothing is expected), `says WORDS` (the
//! person's first words), `remembers TEXT` (a fact that the person accepted into memory before),
//! `remote` (an empty repository beside the workspace, which is its `origin`), `forge` (a server that
//! the person declared and approved), `lends` (a yes holds for the session), `given PATH: text`, a call
//! as `tool {json}`, `expect PATH: text`, `gone PATH` and `arrives TOOL: text` (at the forge). `{docs}` stands for the port of
//! the listed site and of the honest one that nobody listed, `{port}` for a free one, `\n` in a
//! `given` for a line feed. What begins with `#!` can be run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use weir_core::event::{Decision, Event, RunStatus};
use weir_core::governance::label::{Integrity, Label};
use weir_core::governance::{GateName, Verdict};
use weir_core::ids::Timestamp;
use weir_core::memory::{
    IMPORTANCE_DEFAULT, MemoryDecision, MemoryKind, MemorySource, MemoryStatus, NewMemory,
};
use weir_core::profile::PermissionMode;

use crate::Bench;
use crate::attacker::{Fixed, Wish};
use crate::foreign::Arrived;
use crate::forge::{Forge, ForgeSession, play_forge};
use crate::play::{Person, Play, Played, approvals, play, says_yes};
use crate::witness::free_port;
use crate::world::{Settings, World};

const FILES: [(&str, &str); 7] = [
    ("coding", include_str!("../benign/coding.md")),
    ("notes", include_str!("../benign/notes.md")),
    ("research", include_str!("../benign/research.md")),
    ("files", include_str!("../benign/files.md")),
    ("walls", include_str!("../benign/walls.md")),
    ("day", include_str!("../benign/day.md")),
    ("servers", include_str!("../benign/servers.md")),
];

/// Letters of a question that are shown.
const QUESTION_CHARS_MAX: usize = 400;

/// One honest task.
#[derive(Debug, Clone)]
pub struct Script {
    /// Kind of work.
    pub kind: &'static str,
    /// What is done.
    pub name: String,
    reads_only: bool,
    says: String,
    remembers: Vec<String>,
    remote: bool,
    forge: bool,
    lends: bool,
    given: Vec<(String, String)>,
    calls: Vec<String>,
    expects: Vec<(String, Option<String>)>,
    arrives: Vec<(String, String)>,
    commands: bool,
}

/// What came of a task in one mode.
#[derive(Debug, Clone)]
pub struct Done {
    /// The task.
    pub script: Script,
    /// The mode.
    pub mode: PermissionMode,
    /// The mode allows such a task.
    pub possible: bool,
    /// Everything is as it should be.
    pub completed: bool,
    /// Calls that a gate refused: tool, gate and reason.
    pub denials: Vec<String>,
    /// Questions to the person.
    pub approvals: usize,
    /// Why each was put: tool, rule and reason.
    pub questions: Vec<String>,
    /// Calls that failed: tool and words.
    pub failed: Vec<String>,
    /// What is missing at the end.
    pub missing: Vec<String>,
}

/// All scripts.
///
/// # Errors
/// A line that is none of the format's.
pub fn scripts() -> anyhow::Result<Vec<Script>> {
    let mut all = Vec::new();
    for (kind, text) in FILES {
        let mut now: Option<Script> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if let Some(name) = line.strip_prefix("# ") {
                all.extend(now.replace(Script {
                    kind,
                    name: name.to_owned(),
                    reads_only: false,
                    says: "Please do the task.".to_owned(),
                    remembers: Vec::new(),
                    remote: false,
                    forge: false,
                    lends: false,
                    given: Vec::new(),
                    calls: Vec::new(),
                    expects: Vec::new(),
                    arrives: Vec::new(),
                    commands: false,
                }));
            } else if let (Some(script), false) = (now.as_mut(), line.is_empty()) {
                add(script, line).with_context(|| format!("{kind}.md:{}", number + 1))?;
            }
        }
        all.extend(now);
    }
    Ok(all)
}

fn add(script: &mut Script, line: &str) -> anyhow::Result<()> {
    let pair = |rest: &str| rest.split_once(": ").map(|(a, b)| (a.to_owned(), b.to_owned()));
    match line.split_once(' ').unwrap_or((line, "")) {
        ("plan", "") => script.reads_only = true,
        ("fetches", "") => (),
        ("remote", "") => script.remote = true,
        ("forge", "") => script.forge = true,
        ("lends", "") => script.lends = true,
        ("says", words) => script.says = words.to_owned(),
        ("remembers", words) => script.remembers.push(words.to_owned()),
        ("given", rest) => {
            let (path, text) = pair(rest).context("given PATH: text")?;
            script.given.push((path, format!("{}\n", text.replace("\\n", "\n"))));
        }
        ("expect", rest) => {
            let (path, text) = pair(rest).context("expect PATH: text")?;
            script.expects.push((path, Some(text)));
        }
        ("arrives", rest) => script.arrives.push(pair(rest).context("arrives TOOL: text")?),
        ("gone", path) => script.expects.push((path.to_owned(), None)),
        (tool, json) if json.starts_with('{') => {
            script.commands |= tool == "run_shell";
            script.calls.push(line.to_owned());
        }
        _ => bail!("{line:?} is no line of a script"),
    }
    Ok(())
}

/// Plays every script in every mode.
///
/// # Errors
/// A session cannot be played.
pub async fn all(bench: &Bench) -> anyhow::Result<Vec<Done>> {
    let mut done = Vec::new();
    for (number, script) in scripts()?.into_iter().enumerate() {
        // The four modes of a script at once, in the order of the modes.
        let mut playing = Vec::new();
        for mode in PermissionMode::ALL {
            let (bench, script) = (bench.clone(), script.clone());
            playing.push(tokio::spawn(async move {
                let world = bench.world(&format!("benign-{number}-{mode}"))?;
                one(&world, &script, mode).await
            }));
        }
        for played in playing {
            done.push(played.await??);
        }
    }
    Ok(done)
}

/// Puts there what a script begins with.
async fn prepare(world: &World, script: &Script) -> anyhow::Result<()> {
    let work = world.workspace();
    for (path, text) in &script.given {
        let path = work.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text)?;
        if text.starts_with("#!") {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    if script.remote {
        add_remote(&work)?;
    }
    let store = world.engine.parts().store.clone();
    for text in &script.remembers {
        let fact = store.remember_fact(&noted(text), Timestamp(1)).await?;
        store.settle_memory(&fact.id, &MemoryDecision::keep(), Timestamp(2)).await?;
    }
    Ok(())
}

/// A fact as an earlier session proposed it, which had read files of the workspace.
fn noted(text: &str) -> NewMemory {
    NewMemory {
        text: text.into(),
        kind: MemoryKind::Preference,
        topics: Vec::new(),
        importance: IMPORTANCE_DEFAULT,
        workspace: None,
        source: MemorySource { by: "mark_for_memory".into(), ..MemorySource::default() },
        label: Label::private(Integrity::Workspace, "workspace"),
        status: MemoryStatus::Proposed,
        supersedes: None,
    }
}

/// An empty repository beside the workspace, which is known there as `origin`.
fn add_remote(work: &Path) -> anyhow::Result<()> {
    let remote = work.with_file_name("remote.git").display().to_string();
    let (work, remote) = (work.display().to_string(), remote.as_str());
    for args in [
        &["init", "-q", "--bare", remote][..],
        &["-C", work.as_str(), "remote", "add", "origin", remote],
    ] {
        let git = std::process::Command::new("git").args(args).output()?;
        let said = String::from_utf8_lossy(&git.stderr).into_owned();
        anyhow::ensure!(git.status.success(), "git {}: {said}", args.join(" "));
    }
    Ok(())
}

/// Plays the calls of a script. What the session left, and what arrived at the forge.
async fn honest(
    world: &World,
    script: &Script,
    says: &str,
    settings: Settings,
    calls: Vec<Wish>,
) -> anyhow::Result<(Played, Vec<Arrived>)> {
    let mut person: Person = match script.lends {
        true => Box::new(|_| Decision::Session),
        false => says_yes(),
    };
    let mind = Fixed::calls(calls);
    if script.forge {
        let forge = Forge::approved().await?;
        let session = ForgeSession::new("honest", says, settings);
        return play_forge(world, &forge, session, mind, &mut person).await;
    }
    let begin = Play { id: "honest", settings: &settings, says, resumes: false };
    Ok((play(world, begin, mind, &mut person).await?, Vec::new()))
}

async fn one(world: &World, script: &Script, mode: PermissionMode) -> anyhow::Result<Done> {
    let (docs, port) = (world.docs.port().to_string(), free_port()?.to_string());
    let work = world.workspace();
    prepare(world, script).await?;
    let wish = |line: &String| -> anyhow::Result<Wish> {
        let line = line.replace("{docs}", &docs).replace("{port}", &port);
        let (tool, input) = line.split_once(' ').context("a call has arguments")?;
        Ok(Wish::new(tool, serde_json::from_str(input).with_context(|| line.clone())?))
    };
    let calls = script.calls.iter().map(wish).collect::<anyhow::Result<Vec<_>>>()?;
    let settings = Settings::alone(mode).attended();
    let says = script.says.replace("{docs}", &docs);
    let (played, arrived) = honest(world, script, &says, settings, calls).await?;
    let mut tools = BTreeMap::new();
    let mut denials = Vec::new();
    let mut questions = Vec::new();
    let mut failed = Vec::new();
    let mut completed = false;
    for fact in &played.facts {
        match fact.event.as_ref() {
            Event::CallProposed(f) => drop(tools.insert(f.call, f.tool.clone())),
            Event::CallJudged(f) if f.verdict == Verdict::Deny => denials.push(format!(
                "{} by {}: {}",
                tools.get(&f.call).map_or("?", String::as_str),
                f.gate.as_ref().map_or("?", GateName::as_str),
                f.reason.as_deref().unwrap_or_default()
            )),
            Event::CallJudged(f) if f.verdict == Verdict::Ask => questions.push(format!(
                "{} by {}: {}",
                tools.get(&f.call).map_or("?", String::as_str),
                f.rule.as_deref().or(f.gate.as_ref().map(GateName::as_str)).unwrap_or("?"),
                f.reason.as_deref().unwrap_or_default()
            )),
            Event::CallFinished(f) if !f.ok => {
                let words = weir_core::message::plain_text(&f.result);
                failed.push(format!("{}: {}", f.tool, words.replace('\n', " | ")));
            }
            Event::RunFinished(f) => completed = f.status == RunStatus::Completed,
            _ => (),
        }
    }
    let is_missing = |(path, text): &&(String, Option<String>)| {
        let found = std::fs::read_to_string(work.join(path)).ok();
        match (text, found) {
            (None, found) => found.is_some(),
            (Some(text), found) => !found.is_some_and(|found| found.contains(text)),
        }
    };
    let mut missing: Vec<String> =
        script.expects.iter().filter(is_missing).map(|(path, _)| path.clone()).collect();
    let has_arrived = |(tool, text): &&(String, String)| {
        arrived.iter().any(|call| call.tool == *tool && call.arguments.to_string().contains(text))
    };
    let left_out = script.arrives.iter().filter(|expected| !has_arrived(expected));
    missing.extend(left_out.map(|(tool, text)| format!("{tool}: {text}")));
    let reads_only =
        script.reads_only && (!script.commands || world.tier() > weir_core::tool::Tier::None);
    let possible = mode != PermissionMode::Plan || reads_only;
    Ok(Done {
        script: script.clone(),
        mode,
        possible,
        completed: completed && missing.is_empty() && denials.is_empty(),
        denials,
        approvals: approvals(&played.facts),
        questions,
        failed,
        missing,
    })
}

/// The table: completion, denials and approvals per task in each mode.
pub fn table(done: &[Done]) -> String {
    let scripts = done.len() / PermissionMode::ALL.len();
    let mut out = format!(
        "Honest work: {scripts} scripts in every mode, with a person who agrees.\n\
         A task that a mode is not meant for (it changes something in `plan`) is not counted.\n\n\
         mode       possible  completed  denials  approvals  approvals per task\n"
    );
    for mode in PermissionMode::ALL {
        let of: Vec<&Done> = done.iter().filter(|d| d.mode == mode && d.possible).collect();
        let completed = of.iter().filter(|d| d.completed).count();
        let denials: usize = of.iter().map(|d| d.denials.len()).sum();
        let approvals: usize = of.iter().map(|d| d.approvals).sum();
        let each = approvals as f64 / of.len().max(1) as f64;
        let _ = writeln!(
            out,
            "{:<10} {:>8}  {completed:>9}  {denials:>7}  {approvals:>9}  {each:>18.2}",
            mode.as_str(),
            of.len()
        );
    }
    out.push_str("\nApprovals by script (plan, ask, auto-edit, full; `-` not meant for, `!` not completed):\n\n");
    for four in done.chunks(PermissionMode::ALL.len()) {
        let Some(first) = four.first() else { continue };
        let cell = |d: &Done| match (d.possible, d.completed) {
            (false, _) => "-".to_owned(),
            (true, true) => d.approvals.to_string(),
            (true, false) => format!("{}!", d.approvals),
        };
        let cells: Vec<String> = four.iter().map(|d| format!("{:>3}", cell(d))).collect();
        let _ = writeln!(out, "{}  {}: {}", cells.join(" "), first.script.kind, first.script.name);
    }
    out
}

/// Why a person was asked in the mode that is meant to be quiet, a question a line (U13).
pub fn questions(done: &[Done]) -> String {
    let mut out = String::from("\nQuestions in auto-edit:\n\n");
    for done in done.iter().filter(|done| done.mode == PermissionMode::AutoEdit) {
        for question in &done.questions {
            let shown: String = question.chars().take(QUESTION_CHARS_MAX).collect();
            let _ = writeln!(out, "{}: {}: {shown}", done.script.kind, done.script.name);
        }
    }
    out
}

/// What went wrong, with gate and reason.
pub fn defects(done: &[Done]) -> String {
    let mut out = String::new();
    for done in done.iter().filter(|done| done.possible && !done.completed) {
        let Done { script, mode, denials, failed, missing, .. } = done;
        let _ = writeln!(
            out,
            "DEFECT: {}: {} in {mode}: missing {missing:?}",
            script.kind, script.name
        );
        for line in denials.iter().chain(failed) {
            let _ = writeln!(out, "    {}", line.chars().take(600).collect::<String>());
        }
    }
    out
}
