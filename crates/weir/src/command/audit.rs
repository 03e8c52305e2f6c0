//! `weir audit`: who did what, under which rule, and whether the record of it is whole (G10).

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible;
use weir_engine::ports::{AuditLine, SessionFilter, Store};
use weir_install::audit::journal;
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_store::verify_audit;

use super::sessions::moment;
use crate::failure::exit;
use crate::options::{AuditCommand, AuditExportArgs, AuditTailArgs};
use crate::terminal::{out, out_json};

/// Lines read at once.
const PAGE: usize = 500;
/// How often new lines are looked for with `--follow`.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// Does what was asked.
pub(crate) async fn audit(cx: &Cx, command: AuditCommand) -> anyhow::Result<ExitCode> {
    match command {
        AuditCommand::Tail(args) => tail(cx, &args).await?,
        AuditCommand::Verify(flag) => return verify(cx, flag.json).await,
        AuditCommand::Export(args) => export(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The session that a flag names.
async fn only(store: &dyn Store, text: Option<&str>) -> anyhow::Result<Option<SessionId>> {
    match text {
        // A deleted session's lines stay: its whole id still finds them.
        Some(text) => match session_ids::find(store, text).await {
            Ok(id) => Ok(Some(id)),
            Err(error) => {
                let id = SessionId::new(text.trim());
                let lines = page(store, 1, Some(&id)).await?;
                if lines.0.is_empty() { Err(error) } else { Ok(Some(id)) }
            }
        },
        None => Ok(None),
    }
}

/// The first lines from `from` on that belong to `session`, at most a page that is not empty unless
/// there is none; and the number after the last that was looked at.
async fn page(
    store: &dyn Store,
    mut from: u64,
    session: Option<&SessionId>,
) -> anyhow::Result<(Vec<AuditLine>, u64)> {
    loop {
        let lines = store.audit(from, PAGE).await?;
        let Some(last) = lines.last() else { return Ok((Vec::new(), from)) };
        from = last.n + 1;
        let mine = |line: &AuditLine| session.is_none_or(|id| line.entry.session == *id);
        let found: Vec<AuditLine> = lines.into_iter().filter(mine).collect();
        if !found.is_empty() {
            return Ok((found, from));
        }
    }
}

/// The number of the last line; lines have no gaps.
async fn last(store: &dyn Store) -> anyhow::Result<u64> {
    let (mut there, mut beyond) = (0_u64, 1_u64);
    while !store.audit(beyond, 1).await?.is_empty() {
        there = beyond;
        beyond = beyond.saturating_mul(2);
    }
    while beyond - there > 1 {
        let middle = there + (beyond - there) / 2;
        match store.audit(middle, 1).await?.is_empty() {
            true => beyond = middle,
            false => there = middle,
        }
    }
    Ok(there)
}

async fn tail(cx: &Cx, args: &AuditTailArgs) -> anyhow::Result<()> {
    let store = cx.store()?;
    let store: &dyn Store = store.as_ref();
    let session = only(store, args.session.as_deref()).await?;
    let end = last(store).await?;
    let mut shown: Vec<AuditLine> = Vec::new();
    let mut from = end + 1;
    while from > 1 && shown.len() < args.lines {
        let before = from;
        from = from.saturating_sub(PAGE as u64).max(1);
        let lines = store.audit(from, usize::try_from(before - from).unwrap_or(PAGE)).await?;
        let mine = |line: &AuditLine| session.as_ref().is_none_or(|id| line.entry.session == *id);
        let mut found: Vec<AuditLine> = lines.into_iter().filter(mine).collect();
        found.append(&mut shown);
        shown = found;
    }
    let extra = shown.len().saturating_sub(args.lines);
    shown.drain(..extra);
    for line in &shown {
        print(line, args.json.json)?;
    }
    if shown.is_empty() && !args.json.json && !args.follow {
        out("No audit lines yet.")?;
    }
    if !args.follow {
        return Ok(());
    }
    let mut next = end + 1;
    loop {
        let (lines, after) = page(store, next, session.as_ref()).await?;
        for line in &lines {
            print(line, args.json.json)?;
        }
        next = after;
        if lines.is_empty() {
            tokio::time::sleep(FOLLOW_EVERY).await;
        }
    }
}

fn print(line: &AuditLine, as_json: bool) -> anyhow::Result<()> {
    if as_json { out(&serde_json::to_string(line)?) } else { out(&told(line)) }
}

/// A line for people.
fn told(line: &AuditLine) -> String {
    let fields = &line.entry.fields;
    let word = |name: &str| fields[name].as_str().map(String::from).unwrap_or_default();
    let session: String = line.entry.session.as_str().chars().take(12).collect();
    let mut text =
        format!("{:>6}  {}  {session}  {:<20}", line.n, moment(line.entry.ts), word("kind"));
    // The fields that tell most come first; the rest in their own order.
    const FIRST: [&str; 6] = ["call", "tool", "verdict", "gate", "rule", "decision"];
    const LEFT_OUT: [&str; 3] = ["kind", "by", "profile"];
    for name in FIRST {
        if !fields[name].is_null() {
            let _ = write!(text, "  {}", plain(&fields[name]));
        }
    }
    for (name, value) in fields.as_object().into_iter().flatten() {
        let known = FIRST.contains(&name.as_str()) || LEFT_OUT.contains(&name.as_str());
        if !known && !value.is_null() {
            let _ = write!(text, "  {name}={}", plain(value));
        }
    }
    let _ = write!(text, "  by {}", plain(&fields["by"]));
    visible(&text.replace('\n', " "))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// What is wrong, in words for people.
type Fault = Option<String>;

async fn verify(cx: &Cx, as_json: bool) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    let state = cx.dirs.state.clone();
    let audit = tokio::task::spawn_blocking(move || verify_audit(&state)).await??;
    let sessions = store.list(&SessionFilter::default()).await?;
    let mut journal_fault: Fault = None;
    let mut facts = 0;
    for meta in &sessions {
        match journal(store.as_ref(), meta).await? {
            Ok(count) => facts += count,
            Err(why) => {
                journal_fault.get_or_insert(why);
            }
        }
    }
    let audit_fault: Fault = audit.fault.as_ref().map(ToString::to_string);
    let whole = audit_fault.is_none() && journal_fault.is_none();
    if as_json {
        out_json(&json!({
            "whole": whole,
            "lines": audit.lines,
            "file_lines": audit.file_lines,
            "fault": audit.fault.as_ref().map(|fault| {
                json!({ "n": fault.n, "place": fault.place, "why": fault.why })
            }),
            "sessions": sessions.len(),
            "facts": facts,
            "journal_fault": journal_fault,
        }))?;
    } else {
        for fault in audit_fault.iter().chain(&journal_fault) {
            out(&format!("FAULT: {fault}"))?;
        }
        out(&format!(
            "{}: {} audit lines in the store, {} in the files; {} sessions with {facts} events",
            if whole { "intact" } else { "NOT INTACT" },
            audit.lines,
            audit.file_lines,
            sessions.len()
        ))?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}

async fn export(cx: &Cx, args: &AuditExportArgs) -> anyhow::Result<()> {
    let store = cx.store()?;
    let store: &dyn Store = store.as_ref();
    let session = only(store, args.session.as_deref()).await?;
    let end = args.to.unwrap_or(u64::MAX);
    let mut from = args.from.max(1);
    let mut text = String::new();
    while from <= end {
        let (lines, after) = page(store, from, session.as_ref()).await?;
        if lines.is_empty() {
            break;
        }
        for line in lines.iter().filter(|line| line.n <= end) {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        from = after;
    }
    super::sessions::put(args.output.as_deref(), text.as_bytes())
}
