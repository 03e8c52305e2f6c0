//! Honest work: scripts of calls that ordinary tasks need, played in every permission mode by a
//! person who agrees. A denial where the task is possible at all is a defect of the product, not of
//! the script.
//!
//! A script begins with `# its name`. Then, a line each: `plan` (possible in plan mode), `fetches`
//! (possible there too, it reads the listed site only, if nothing is expected), `says WORDS` (the
//! person's first words), `given PATH: text`, a call as `tool {json}`, `expect PATH: text` and
//! `gone PATH`. `{docs}` stands for the port of the listed site, `\n` in a `given` for a line feed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use weir_core::event::{Event, RunStatus};
use weir_core::governance::{GateName, Verdict};
use weir_core::profile::PermissionMode;

use crate::Bench;
use crate::attacker::{Fixed, Wish};
use crate::play::{Play, approvals, play, says_yes};
use crate::world::{Settings, World};

const FILES: [(&str, &str); 5] = [
    ("coding", include_str!("../benign/coding.md")),
    ("notes", include_str!("../benign/notes.md")),
    ("research", include_str!("../benign/research.md")),
    ("files", include_str!("../benign/files.md")),
    ("walls", include_str!("../benign/walls.md")),
];

/// One honest task.
#[derive(Debug, Clone)]
pub struct Script {
    /// Kind of work.
    pub kind: &'static str,
    /// What is done.
    pub name: String,
    reads_only: bool,
    says: String,
    given: Vec<(String, String)>,
    calls: Vec<String>,
    expects: Vec<(String, Option<String>)>,
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
                    given: Vec::new(),
                    calls: Vec::new(),
                    expects: Vec::new(),
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
        ("says", words) => script.says = words.to_owned(),
        ("given", rest) => {
            let (path, text) = pair(rest).context("given PATH: text")?;
            script.given.push((path, format!("{}\n", text.replace("\\n", "\n"))));
        }
        ("expect", rest) => {
            let (path, text) = pair(rest).context("expect PATH: text")?;
            script.expects.push((path, Some(text)));
        }
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

async fn one(world: &World, script: &Script, mode: PermissionMode) -> anyhow::Result<Done> {
    let docs = world.docs.port().to_string();
    let work = world.workspace();
    for (path, text) in &script.given {
        let path = work.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    let wish = |line: &String| -> anyhow::Result<Wish> {
        let line = line.replace("{docs}", &docs);
        let (tool, input) = line.split_once(' ').context("a call has arguments")?;
        Ok(Wish::new(tool, serde_json::from_str(input).with_context(|| line.clone())?))
    };
    let calls = script.calls.iter().map(wish).collect::<anyhow::Result<Vec<_>>>()?;
    let settings = Settings::alone(mode).attended();
    let says = script.says.replace("{docs}", &docs);
    let begin = Play { id: "honest", settings: &settings, says: &says, resumes: false };
    let played = play(world, begin, Fixed::calls(calls), &mut says_yes()).await?;
    let mut tools = BTreeMap::new();
    let mut denials = Vec::new();
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
    let missing: Vec<String> =
        script.expects.iter().filter(is_missing).map(|(path, _)| path.clone()).collect();
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
