//! What the journal holds, read the way a person would: with the commands of the binary.

use std::process::{Command, Output};

use anyhow::Context as _;
use serde_json::Value;

use super::house::House;
use super::{Fault, Finding};

/// Each process of a client's has a session of its own; there are fewer.
const SESSIONS_MAX: &str = "100";

/// The sessions of the store, the newest first.
///
/// # Errors
/// The command could not be started.
pub(super) fn sessions(house: &House) -> anyhow::Result<Result<Vec<String>, Finding>> {
    let output = output(house.weir(&["sessions", "list", "--json", "--limit", SESSIONS_MAX]))?;
    if !output.status.success() {
        return Ok(Err(broken("weir sessions list", &output)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    let list = list.as_array().or_else(|| list["sessions"].as_array()).cloned();
    let id = |entry: &Value| {
        ["id", "session"].iter().find_map(|key| entry[*key].as_str().map(ToOwned::to_owned))
    };
    Ok(Ok(list.unwrap_or_default().iter().filter_map(id).collect()))
}

/// All facts of a session.
///
/// # Errors
/// The command could not be started.
pub(super) fn facts(house: &House, id: &str) -> anyhow::Result<Result<Vec<Value>, Finding>> {
    let output = output(house.weir(&["sessions", "export", id]))?;
    if !output.status.success() {
        return Ok(Err(broken("weir sessions export", &output)));
    }
    Ok(facts_of_export(&String::from_utf8_lossy(&output.stdout)))
}

/// Whether the run of this session, or of the newest that there is, has its end in the journal.
///
/// # Errors
/// A command could not be started.
pub(super) fn has_ended(house: &House, id: Option<&str>) -> anyhow::Result<bool> {
    let id = match id {
        Some(id) => Some(id.to_owned()),
        None => sessions(house)?.unwrap_or_default().into_iter().next(),
    };
    let Some(id) = id else { return Ok(false) };
    // What is wrong with it is found by whoever looks at it next.
    let facts = facts(house, &id)?.unwrap_or_default();
    Ok(facts.iter().any(|fact| fact["kind"] == "run.finished"))
}

/// The facts of an exported session.
pub(super) fn facts_of_export(text: &str) -> Result<Vec<Value>, Finding> {
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let mut lines = match lines {
        Ok(lines) => lines,
        Err(error) => {
            let what = format!("the export is not JSON lines: {error}");
            return Err(Finding::new(Fault::BrokenJournal, what));
        }
    };
    // Behind the facts stand the blobs that they name.
    lines.retain(|line| line["kind"] != "blob.exported");
    Ok(lines)
}

/// What `weir replay` and `weir audit verify` have against it.
///
/// # Errors
/// A command could not be started.
pub(super) fn verify(house: &House, id: &str) -> anyhow::Result<Vec<Finding>> {
    let replayed = succeeds(house, &["replay", id])?;
    let verified = succeeds(house, &["audit", "verify"])?;
    Ok(replayed.into_iter().chain(verified).collect())
}

/// What there is against a command that must succeed.
///
/// # Errors
/// It could not be started.
pub(super) fn succeeds(house: &House, words: &[&str]) -> anyhow::Result<Option<Finding>> {
    let output = output(house.weir(words))?;
    Ok((!output.status.success()).then(|| broken(&format!("weir {}", words.join(" ")), &output)))
}

fn output(mut command: Command) -> anyhow::Result<Output> {
    command.output().context("starting weir")
}

fn broken(what: &str, output: &Output) -> Finding {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let tail: Vec<&str> = said.lines().rev().take(6).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    Finding::new(
        Fault::BrokenJournal,
        format!("{what} ended with {}: {}", output.status, tail.join(" | ")),
    )
}
