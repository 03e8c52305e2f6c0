//! Texts for reading. Most are what the command of the same name prints: this very program is asked,
//! so that face and command line never tell different things.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use weir_core::event::Event;
use weir_core::ids::{BlobId, CallId};
use weir_core::message::plain_text;
use weir_core::tool::{PathAccess, PathPlace};
use weir_core::view::plain::visible_text;
use weir_engine::blocking::run_blocking;
use weir_engine::engine::load;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Clock as _, FileContent, Store, UsageFilter};
use weir_install::failure::{engine_failure, usage};
use weir_install::file_view::{self, VIEW_BYTES_MAX};
use weir_install::spending::cap_states;
use weir_install::usage::{SessionMiss, read_session_usage};
use weir_install::wiring::{SystemClock, document_readers};
use weir_tui::link::{ReportKind, ReportPart, TextKind, UiUpdate};

use super::about;
use super::back;
use super::context::LocalContext;
use super::shown_session::ShownSession;
use crate::file_text::{MOSAIC, file_text};
use crate::reports::{LocalReport, report_source};

/// Bytes of a text that are shown.
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// Bytes of what a command says went wrong.
const ERROR_BYTES_MAX: u64 = 16 << 10;
/// What stands where a text was cut.
const LEFT_OUT: &str = "\n[… the rest is left out …]";
/// How long a command may take; `doctor` asks endpoints.
const COMMAND_WAIT: Duration = Duration::from_secs(60);
/// Cache misses that are shown, the newest first.
const MISSES_SHOWN: usize = 10;
/// Facts read at once.
const READ_BATCH: usize = 1_024;

/// A text with its title.
pub(super) struct ReportText {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) kind: TextKind,
}

/// Makes a text.
///
/// # Errors
/// It cannot be made: a sentence.
pub(super) async fn make_report(
    context: &LocalContext,
    report: ReportKind,
    arguments: &str,
) -> anyhow::Result<ReportText> {
    let shown = context.shown_session();
    if let Some(part) = report.named_part(arguments) {
        let words = part_words(report, &part);
        let text = own_command_output(&shown, &words).await?;
        return Ok(ReportText { title: report.title().into(), text, kind: TextKind::Plain });
    }
    let text = match report_source(report).local {
        LocalReport::Difference => return back::session_difference(context).await,
        LocalReport::File => return file_report(&shown, arguments).await,
        LocalReport::Cost => cost_report(&shown).await?,
        LocalReport::Call => call_report(&shown, arguments).await?,
        LocalReport::Permissions => permissions_report(&shown).await?,
        LocalReport::Context => own_command_output(&shown, &context_command_words(&shown)).await?,
        LocalReport::Checkpoints => {
            own_command_output(&shown, &checkpoints_command_words(&shown)?).await?
        }
        LocalReport::Memory => {
            own_command_output(&shown, &search_words("memory", arguments)).await?
        }
        LocalReport::Brain => own_command_output(&shown, &search_words("brain", arguments)).await?,
        LocalReport::Command(words) => own_command_output(&shown, &owned_words(words)).await?,
    };
    Ok(ReportText { title: report.title().into(), text, kind: TextKind::Plain })
}

/// A file of the workspace, judged as the paths of tools are.
async fn file_report(shown: &ShownSession, path: &str) -> anyhow::Result<ReportText> {
    let path = path.trim().to_owned();
    if path.is_empty() {
        return Err(usage("name a file: /file notes/plan.md"));
    }
    let workspace = shown.cx.open_workspace()?;
    let (within, asked) = (workspace.clone(), path.clone());
    let read = run_blocking(move || {
        let at = within.resolve(&asked, PathAccess::Read);
        if at.place != PathPlace::Inside || at.ignored.is_some() {
            return Err(usage(format!("{asked} is no file of this workspace")));
        }
        match within.read(&at, VIEW_BYTES_MAX).map_err(|error| usage(error.to_string()))? {
            FileContent::File { bytes, .. } => Ok((at.path, bytes)),
            FileContent::Absent => Err(usage(format!("there is no file {asked}"))),
            _ => Err(usage(format!("{asked} is no file"))),
        }
    });
    let (path, bytes) = read.await.context("reading the file")??;
    let documents = document_readers()?;
    let view =
        file_view::view_file(&workspace, documents.as_ref(), &path, bytes, Some(MOSAIC)).await;
    Ok(ReportText { title: path, text: file_text(&view), kind: TextKind::Markdown })
}

/// The words by which one thing, or what waits, is shown whole.
fn part_words(report: ReportKind, part: &ReportPart) -> Vec<String> {
    let command = match report_source(report).local {
        LocalReport::Command([command, ..]) => command,
        // The one other report that has a part.
        _ => "memory",
    };
    match part {
        ReportPart::Inbox => owned_words(&[command, "inbox"]),
        ReportPart::One(name) if report == ReportKind::Approvals => {
            owned_words(&[command, "show", "--full", "--", name])
        }
        ReportPart::One(name) => owned_words(&[command, "show", "--", name]),
    }
}

fn owned_words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn context_command_words(shown: &ShownSession) -> Vec<String> {
    let wishes = shown.session_overrides();
    let mut words = owned_words(&["context"]);
    let mut flag = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    match &shown.id {
        None => {
            flag("--model", wishes.model);
            flag("--profile", wishes.profile);
        }
        Some(id) => {
            flag("--model", wishes.model.filter(|text| text.starts_with("script:")));
            words.push(id.to_string());
        }
    }
    words
}

fn checkpoints_command_words(shown: &ShownSession) -> anyhow::Result<Vec<String>> {
    let id = shown.id.as_ref();
    let id = id.ok_or_else(|| usage("nothing was done yet: there is no checkpoint"))?;
    Ok(owned_words(&["checkpoints", "list", "--session", id.as_str()]))
}

/// What lists all that `command` knows, or searches it for what was typed.
fn search_words(command: &str, arguments: &str) -> Vec<String> {
    match arguments.trim().is_empty() {
        true => owned_words(&[command, "list"]),
        false => {
            let mut words = owned_words(&[command, "search", "--"]);
            words.extend(arguments.split_whitespace().map(String::from));
            words
        }
    }
}

/// What this program prints for these words.
async fn own_command_output(shown: &ShownSession, words: &[String]) -> anyhow::Result<String> {
    let output = run_own_command(shown, words, CommandPurpose::Look).await?;
    // A report that finds something wrong says so and is a report all the same.
    if output.text.trim().is_empty() && !output.is_ok {
        return Err(usage(output.complaint));
    }
    Ok(output.text)
}

/// What this program made of some words.
pub(super) struct OwnOutput {
    /// What it printed.
    pub(super) text: String,
    /// What it said beside that, without its name.
    pub(super) complaint: String,
    /// It ended well.
    pub(super) is_ok: bool,
}

impl OwnOutput {
    /// What it printed.
    ///
    /// # Errors
    /// It did not end well: what it said.
    pub(super) fn into_text(self) -> anyhow::Result<String> {
        match self.is_ok {
            true => Ok(self.text),
            false => Err(usage(self.all_said())),
        }
    }

    /// Everything that it said.
    pub(super) fn all_said(&self) -> String {
        let parts = [self.text.trim(), self.complaint.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// What this program is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandPurpose {
    /// To be read: it ends with whoever reads.
    Look,
    /// To change something: once begun it is done, also when the face goes, since nobody knows how far it
    /// came otherwise.
    Decide,
}

/// Asks this program.
///
/// # Errors
/// It cannot be started, or takes too long.
pub(super) async fn run_own_command(
    shown: &ShownSession,
    words: &[String],
    purpose: CommandPurpose,
) -> anyhow::Result<OwnOutput> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut command = Command::new(program);
    command
        .arg("-C")
        .arg(shown.workspace_folder())
        .arg("--state-dir")
        .arg(&shown.cx.dirs.state)
        .args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(purpose == CommandPurpose::Look);
    let mut child = command.spawn().context("asking this program")?;
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        anyhow::bail!("asking this program: it has no output");
    };
    let read = async {
        let (text, complaint) = tokio::try_join!(
            read_bounded_text(out, TEXT_BYTES_MAX),
            read_bounded_text(err, ERROR_BYTES_MAX)
        )?;
        Ok::<_, std::io::Error>((text, complaint, child.wait().await?))
    };
    let read = tokio::time::timeout(COMMAND_WAIT, read).await;
    let late = |_| match purpose {
        CommandPurpose::Look => usage("it took too long and was ended"),
        CommandPurpose::Decide => usage(
            "it takes long and goes on by itself: what comes of it is not known here; look at it again",
        ),
    };
    let (text, complaint, status) = read.map_err(late)??;
    let lines = complaint.trim().lines();
    let lines = lines.map(|line| line.strip_prefix("weir: ").unwrap_or(line));
    let complaint = lines.collect::<Vec<_>>().join("\n");
    Ok(OwnOutput { text, complaint, is_ok: status.success() })
}

/// Reads to the end, so that whoever writes is never held up; what is over `most` bytes is left out.
async fn read_bounded_text(mut from: impl AsyncRead + Unpin, most: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    (&mut from).take(most).read_to_end(&mut bytes).await?;
    let over = tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if over > 0 {
        text.push_str(LEFT_OUT);
    }
    Ok(text)
}

async fn permissions_report(shown: &ShownSession) -> anyhow::Result<String> {
    let list = owned_words(&["permissions", "list"]);
    let mut text = own_command_output(shown, &list).await?;
    let Some(id) = &shown.id else {
        if let UiUpdate::Settings { permission, .. } =
            about::new_session_settings(&shown.cx, &shown.session_overrides()).await
        {
            text = format!("Permission mode: {permission}\n\n{text}");
        }
        return Ok(text);
    };
    let store = shown.cx.local_store()?;
    let loaded = load(store.as_ref(), id).await.map_err(engine_failure)?;
    let config = loaded.session.config();
    let mode = config.map(|config| config.permission).unwrap_or_default();
    text = format!("Permission mode: {mode}\n\n{text}");
    let leases = loaded.session.leases();
    if !leases.is_empty() {
        text.push_str("\nAllowed in this session alone:\n");
    }
    for lease in leases {
        let uses = lease.uses_left.map(|left| format!(", {left} calls left")).unwrap_or_default();
        let until = lease.until.map(|until| format!(", until {until}")).unwrap_or_default();
        for covered in lease.covered_texts() {
            let _ = writeln!(text, "  {}: {covered}{uses}{until}", lease.lease);
        }
    }
    Ok(text)
}

/// An amount of money in words.
fn format_dollars(amount: Option<f64>) -> String {
    amount.map_or_else(|| "unknown".into(), |amount| format!("${amount:.4}"))
}

/// What the session and the day cost.
async fn cost_report(shown: &ShownSession) -> anyhow::Result<String> {
    let mut text = String::new();
    if let Some(id) = &shown.id {
        let store = shown.cx.local_store()?;
        let loaded = load(store.as_ref(), id).await.map_err(engine_failure)?;
        let (usage, cost) = (loaded.session.usage(), loaded.session.cost_usd());
        let _ = writeln!(text, "This session: {}", format_dollars(cost));
        let _ = writeln!(text, "  {} tokens in, {} out", usage.input, usage.output);
        let _ = writeln!(text, "  {} read from the provider's cache", usage.cache_read);
        if let Some(config) = loaded.session.config() {
            let limits = &config.limits;
            if let Some(most) = limits.budget_usd {
                let _ = writeln!(text, "  a run may cost ${most:.2}");
            }
            if let Some(most) = limits.budget_tokens {
                let _ = writeln!(text, "  a run may use {most} tokens");
            }
        }
        let used = read_session_usage(store.as_ref(), id).await?;
        push_misses(&mut text, &used.misses);
        text.push('\n');
    }
    if !about::has_store(&shown.cx) {
        text.push_str("Nothing was used yet.\n");
        return Ok(text);
    }
    let today: String = SystemClock::default().now().to_string().chars().take(10).collect();
    let filter = UsageFilter { from: Some(today.clone()), to: Some(today.clone()) };
    let rows = shown.cx.local_store()?.usage_rows(&filter).await?;
    let _ = writeln!(text, "Today ({today} UTC), all sessions:");
    if rows.is_empty() {
        text.push_str("  nothing was used\n");
    }
    for row in &rows {
        let unpriced = match row.unpriced {
            0 => String::new(),
            count => format!(" and {count} replies whose price is unknown"),
        };
        let _ = writeln!(
            text,
            "  {}: ${:.4}{unpriced}, {} tokens in, {} out, {} runs",
            row.model, row.cost_usd, row.usage.input, row.usage.output, row.runs
        );
    }
    let store = shown.cx.local_store()?;
    let caps = cap_states(&shown.cx, store.as_ref(), SystemClock::default().now()).await?;
    if !caps.is_empty() {
        text.push_str("\nCaps:\n");
    }
    for cap in caps {
        let _ = writeln!(text, "  {}: {}", cap.key, cap.in_words());
    }
    Ok(text)
}

/// What the provider's cache missed, each with its cause and what it cost more.
fn push_misses(text: &mut String, misses: &[SessionMiss]) {
    for one in misses.iter().rev().take(MISSES_SHOWN) {
        let miss = &one.miss;
        let _ = writeln!(
            text,
            "  {}: {} tokens not from the cache, {} more: {}",
            miss.turn,
            miss.lost_tokens(),
            format_dollars(miss.cost_usd),
            visible_text(&miss.cause.as_words())
        );
    }
    if misses.len() > MISSES_SHOWN {
        let _ = writeln!(text, "  and {} earlier ones", misses.len() - MISSES_SHOWN);
    }
}

/// One call with everything that is kept of it.
async fn call_report(shown: &ShownSession, arguments: &str) -> anyhow::Result<String> {
    let id = shown.id.as_ref().ok_or_else(|| usage("nothing was done yet"))?;
    let word = arguments.trim();
    let named = word.parse::<CallId>().or_else(|_| format!("c{word}").parse::<CallId>());
    let wanted =
        named.map_err(|_| usage(format!("{word:?} is no call; they are called c1, c2, …")))?;
    let store = shown.cx.local_store()?;
    let mut text = String::new();
    let mut from = 1;
    loop {
        let records = store.read_records(id, from, READ_BATCH).await?;
        from += records.len() as u64;
        let done = records.len() < READ_BATCH;
        for record in &records {
            if let Some(part) =
                call_report_part(store.as_ref(), &fact_of(record)?.event, wanted).await?
            {
                text.push_str(&part);
            }
        }
        if done || text.len() as u64 > TEXT_BYTES_MAX {
            break;
        }
    }
    match text.is_empty() {
        true => Err(usage(format!("there is no call {wanted} in this session"))),
        false => Ok(text),
    }
}

/// What a fact tells of a call; `None`: nothing.
async fn call_report_part(
    store: &dyn Store,
    event: &Event,
    wanted: CallId,
) -> anyhow::Result<Option<String>> {
    Ok(match event {
        Event::CallProposed(f) if f.call == wanted => {
            let input = serde_json::to_string_pretty(&f.input)?;
            Some(format!("{} {}\n\n{input}\n", f.call, f.tool))
        }
        Event::CallJudged(f) if f.call == wanted => {
            let rule = f.rule.as_ref().map(|rule| format!(", rule {rule:?}")).unwrap_or_default();
            let why = f.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            let ways = f.ways.iter().map(|way| format!("Would pass: {}\n", way.as_words()));
            let ways: String = ways.collect();
            Some(format!("\nJudged: {:?}{rule}{why}\n{ways}", f.verdict))
        }
        Event::ApprovalRequested(f) if f.call == wanted => {
            let diff = f.diff.as_deref().map(|diff| format!("\n{diff}")).unwrap_or_default();
            Some(format!("Asked: {}{diff}\n", f.summary))
        }
        Event::ApprovalResolved(f) if f.call == wanted => {
            let why = f.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("Answered by {}: {:?}{why}\n", f.by, f.decision))
        }
        Event::CallUnknown(f) if f.call == wanted => {
            Some(format!("Whether it happened is not known: {}\n", f.reason))
        }
        Event::CallFinished(f) if f.call == wanted => {
            let how = if f.ok { "Done" } else { "Failed" };
            let full = match &f.full {
                Some(blob) => read_full_result(store, blob).await,
                None => None,
            };
            let result = full.unwrap_or_else(|| plain_text(&f.result));
            let withheld = f.withheld.as_deref();
            let withheld = withheld.map(|why| format!("Withheld: {why}\n")).unwrap_or_default();
            let ms = f.duration_ms;
            Some(format!("\n{how} after {ms} ms: {}\n{withheld}\n{result}\n", f.summary))
        }
        _ => None,
    })
}

/// The whole of a result that was put elsewhere, where it is kept still.
async fn read_full_result(store: &dyn Store, blob: &BlobId) -> Option<String> {
    let bytes = store.read_blob(blob).await.ok()?;
    let shown = &bytes[..bytes.len().min(TEXT_BYTES_MAX as usize)];
    let cut = if shown.len() < bytes.len() { LEFT_OUT } else { "" };
    Some(format!("{}{cut}", String::from_utf8_lossy(shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn f1_a_text_that_is_too_long_is_cut_and_read_to_its_end() {
        for (length, most, expected) in
            [(0, 3, ""), (3, 3, "xxx"), (4, 3, "xxx\n[… the rest is left out …]")]
        {
            let whole = vec![b'x'; length];
            let mut from = whole.as_slice();
            assert_eq!(read_bounded_text(&mut from, most).await.expect("it is read"), expected);
            assert!(from.is_empty(), "whoever writes it is not held up");
        }
    }
}
