//! `weir audit`: who did what, under which rule, and whether the record of it is whole (G10).

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{AuditLine, SessionFilter, Store};
use weir_install::audit::{last_line_number, verify_journal_chain};
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_store::verify_audit;

use super::sessions::timestamp_text;
use crate::failure::exit;
use crate::options::{AuditCommand, AuditExportArgs, AuditTailArgs};
use crate::terminal::{out_json, out_line};

/// Lines read at once.
const PAGE: usize = 500;
/// How often new lines are looked for with `--follow`.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// Does what was asked.
pub(crate) async fn run_audit_command(
    cx: &InstallationContext,
    command: AuditCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        AuditCommand::Tail(args) => show_audit_tail(cx, &args).await?,
        AuditCommand::Verify(flag) => return verify_audit_command(cx, flag.json).await,
        AuditCommand::Export(args) => export_audit_lines(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The session that a flag names.
async fn session_of_flag(
    store: &dyn Store,
    text: Option<&str>,
) -> anyhow::Result<Option<SessionId>> {
    match text {
        // A deleted session's lines stay: its whole id still finds them.
        Some(text) => match session_ids::find_session_id(store, text).await {
            Ok(id) => Ok(Some(id)),
            Err(error) => {
                let id = SessionId::new(text.trim());
                let lines = read_audit_page(store, 1, Some(&id)).await?;
                if lines.0.is_empty() { Err(error) } else { Ok(Some(id)) }
            }
        },
        None => Ok(None),
    }
}

/// The first lines from `from` on that belong to `session`, at most a page that is not empty unless
/// there is none; and the number after the last that was looked at.
async fn read_audit_page(
    store: &dyn Store,
    mut from: u64,
    session: Option<&SessionId>,
) -> anyhow::Result<(Vec<AuditLine>, u64)> {
    loop {
        let lines = store.audit_lines(from, PAGE).await?;
        let Some(last) = lines.last() else { return Ok((Vec::new(), from)) };
        from = last.n + 1;
        let mine = |line: &AuditLine| session.is_none_or(|id| line.entry.session == *id);
        let found: Vec<AuditLine> = lines.into_iter().filter(mine).collect();
        if !found.is_empty() {
            return Ok((found, from));
        }
    }
}

async fn show_audit_tail(cx: &InstallationContext, args: &AuditTailArgs) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let store: &dyn Store = store.as_ref();
    let session = session_of_flag(store, args.session.as_deref()).await?;
    let end = last_line_number(store).await?;
    let mut shown: Vec<AuditLine> = Vec::new();
    let mut from = end + 1;
    while from > 1 && shown.len() < args.lines {
        let before = from;
        from = from.saturating_sub(PAGE as u64).max(1);
        let lines = store.audit_lines(from, usize::try_from(before - from).unwrap_or(PAGE)).await?;
        let mine = |line: &AuditLine| session.as_ref().is_none_or(|id| line.entry.session == *id);
        let mut found: Vec<AuditLine> = lines.into_iter().filter(mine).collect();
        found.append(&mut shown);
        shown = found;
    }
    let extra = shown.len().saturating_sub(args.lines);
    shown.drain(..extra);
    for line in &shown {
        print_audit_line(line, args.json.json)?;
    }
    if shown.is_empty() && !args.json.json && !args.follow {
        out_line("No audit lines yet.")?;
    }
    if !args.follow {
        return Ok(());
    }
    let mut next = end + 1;
    loop {
        let (lines, after) = read_audit_page(store, next, session.as_ref()).await?;
        for line in &lines {
            print_audit_line(line, args.json.json)?;
        }
        next = after;
        if lines.is_empty() {
            tokio::time::sleep(FOLLOW_EVERY).await;
        }
    }
}

fn print_audit_line(line: &AuditLine, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        out_line(&serde_json::to_string(line)?)
    } else {
        out_line(&describe_audit_line(line))
    }
}

/// A line for people.
fn describe_audit_line(line: &AuditLine) -> String {
    let fields = &line.entry.fields;
    let word = |name: &str| fields[name].as_str().map(String::from).unwrap_or_default();
    let session: String = line.entry.session.as_str().chars().take(12).collect();
    let mut text = format!(
        "{:>6}  {}  {session}  {:<20}",
        line.n,
        timestamp_text(line.entry.ts),
        word("kind")
    );
    // The fields that tell most come first; the rest in their own order.
    const FIRST: [&str; 6] = ["call", "tool", "verdict", "gate", "rule", "decision"];
    const LEFT_OUT: [&str; 3] = ["kind", "by", "profile"];
    for name in FIRST {
        if !fields[name].is_null() {
            let _ = write!(text, "  {}", json_value_text(&fields[name]));
        }
    }
    for (name, value) in fields.as_object().into_iter().flatten() {
        let known = FIRST.contains(&name.as_str()) || LEFT_OUT.contains(&name.as_str());
        if !known && !value.is_null() {
            let _ = write!(text, "  {name}={}", json_value_text(value));
        }
    }
    let _ = write!(text, "  by {}", json_value_text(&fields["by"]));
    visible_text(&text.replace('\n', " "))
}

fn json_value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// What is wrong, in words for people.
type FaultText = Option<String>;

async fn verify_audit_command(cx: &InstallationContext, as_json: bool) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    let state = cx.dirs.state.clone();
    let audit = tokio::task::spawn_blocking(move || verify_audit(&state)).await??;
    let sessions = store.list_sessions(&SessionFilter::default()).await?;
    let mut journal_fault: FaultText = None;
    let mut facts = 0;
    for meta in &sessions {
        match verify_journal_chain(store.as_ref(), meta).await? {
            Ok(count) => facts += count,
            Err(why) => {
                journal_fault.get_or_insert(why);
            }
        }
    }
    let audit_fault: FaultText = audit.fault.as_ref().map(ToString::to_string);
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
            out_line(&format!("FAULT: {fault}"))?;
        }
        out_line(&format!(
            "{}: {} audit lines in the store, {} in the files; {} sessions with {facts} events",
            if whole { "intact" } else { "NOT INTACT" },
            audit.lines,
            audit.file_lines,
            sessions.len()
        ))?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}

async fn export_audit_lines(
    cx: &InstallationContext,
    args: &AuditExportArgs,
) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let store: &dyn Store = store.as_ref();
    let session = session_of_flag(store, args.session.as_deref()).await?;
    let end = args.to.unwrap_or(u64::MAX);
    let mut from = args.from.max(1);
    let mut text = String::new();
    while from <= end {
        let (lines, after) = read_audit_page(store, from, session.as_ref()).await?;
        if lines.is_empty() {
            break;
        }
        for line in lines.iter().filter(|line| line.n <= end) {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        from = after;
    }
    super::sessions::write_new_output(args.output.as_deref(), text.as_bytes())
}
