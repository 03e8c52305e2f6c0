//! `weir brain`: the person's own knowledge store (K12), as they look at it and change it.
//!
//! What an entry must look like and how entries are found is the core's and the engine's; here a person
//! lists, reads and decides.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::brain::{BrainEntry, BrainEntryState};
use weir_core::view::plain::visible_text;
use weir_engine::brain::{self, BrainFilter};
use weir_engine::ports::BrainHit;
use weir_install::brain::export_brain;
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::{
    BrainCommand, BrainExportArgs, BrainListArgs, BrainSearchArgs, BrainShowArgs,
};
use crate::terminal::{out_json, out_line};

mod change;
mod tell;

/// Entries that an error names.
const NAMED_MAX: usize = 3;

/// Does what was asked.
pub(crate) async fn run_brain_command(
    cx: &InstallationContext,
    command: BrainCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        BrainCommand::List(args) => list_brain(cx, &args).await?,
        BrainCommand::Search(args) => search_brain(cx, &args).await?,
        BrainCommand::Show(args) => show_entry(cx, &args).await?,
        BrainCommand::Add(args) => change::add_entry(cx, args).await?,
        BrainCommand::Edit(args) => change::edit_entry(cx, args).await?,
        BrainCommand::Forget(args) => {
            change::set_entries_state(cx, &args.which, BrainEntryState::Forgotten).await?;
        }
        BrainCommand::Restore(args) => {
            change::set_entries_state(cx, &args.which, BrainEntryState::Active).await?;
        }
        BrainCommand::Delete(args) => change::delete_entries(cx, &args.which).await?,
        BrainCommand::Export(args) => export_entries(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list_brain(cx: &InstallationContext, args: &BrainListArgs) -> anyhow::Result<()> {
    let state = match (args.all, args.forgotten) {
        (true, _) => None,
        (false, true) => Some(BrainEntryState::Forgotten),
        (false, false) => Some(BrainEntryState::Active),
    };
    let filter = BrainFilter { state, kind: args.kind.map(Into::into) };
    let mut entries = load_entries(cx, filter).await?;
    entries.truncate(args.limit.map_or(usize::MAX, |limit| limit as usize));
    if args.json.json {
        return out_json(&entries.iter().map(entry_json).collect::<Vec<_>>());
    }
    if !entries.is_empty() {
        return out_line(&tell::render_entry_rows(&entries));
    }
    out_line(match args.forgotten || args.kind.is_some() {
        true => "No entries match.",
        false => "Your brain is empty; `weir brain add \"…\"` adds an entry.",
    })
}

async fn search_brain(cx: &InstallationContext, args: &BrainSearchArgs) -> anyhow::Result<()> {
    let words = args.words.join(" ");
    if !words.chars().any(char::is_alphanumeric) {
        return Err(usage(format!("{:?} contains no word to search for", visible_text(&words))));
    }
    let entries = load_entries(cx, BrainFilter::active_only()).await?;
    let limit = args.limit as usize;
    let search = move || brain::search_entries(entries, &words, limit);
    let hits = tokio::task::spawn_blocking(search).await?;
    if args.json.json {
        return out_json(&hits.iter().map(hit_json).collect::<Vec<_>>());
    }
    if hits.is_empty() {
        return out_line("Nothing in your brain answers that. Try fewer or other words.");
    }
    out_line(&hits.iter().map(tell::describe_hit).collect::<Vec<_>>().join("\n"))
}

async fn show_entry(cx: &InstallationContext, args: &BrainShowArgs) -> anyhow::Result<()> {
    let entries = load_entries(cx, BrainFilter::default()).await?;
    let entry = find_entry(&entries, &args.id)?;
    if args.json.json {
        return out_json(&entry_json(&entry));
    }
    out_line(&tell::describe_entry(&entry))
}

async fn export_entries(cx: &InstallationContext, args: &BrainExportArgs) -> anyhow::Result<()> {
    let filter = if args.all { BrainFilter::default() } else { BrainFilter::active_only() };
    let entries = load_entries(cx, filter).await?;
    let to = args.to.clone();
    let write = move || export_brain(&entries, &to);
    let written = tokio::task::spawn_blocking(write).await??;
    if args.json.json {
        return out_json(&written);
    }
    let count = match written.entries {
        1 => "1 entry".to_owned(),
        more => format!("{more} entries"),
    };
    let folder = visible_text(&written.folder.display().to_string());
    out_line(&format!("{count} exported to {folder}"))
}

async fn load_entries(
    cx: &InstallationContext,
    filter: BrainFilter,
) -> anyhow::Result<Vec<BrainEntry>> {
    Ok(brain::list_entries(cx.session_store()?.as_ref(), filter).await?)
}

fn entry_json(entry: &BrainEntry) -> Value {
    let mut value = json!(entry);
    value["untrusted"] = json!(entry.label.is_external());
    value
}

fn hit_json(hit: &BrainHit) -> Value {
    let mut value = entry_json(&hit.entry);
    value["found"] = json!({
        "headings": hit.headings,
        "line": hit.line,
        "passage": hit.passage,
        "words": hit.words,
        "vectors": hit.vectors,
        "links": hit.links,
    });
    value
}

/// The entry whose id is, or begins with, `text`.
///
/// # Errors
/// A usage error: there is none, or several begin so.
fn find_entry(entries: &[BrainEntry], text: &str) -> anyhow::Result<BrainEntry> {
    let wanted = text.trim().to_lowercase();
    let begins = |entry: &&BrainEntry| !wanted.is_empty() && entry.id.as_str().starts_with(&wanted);
    let found: Vec<&BrainEntry> = entries.iter().filter(begins).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(usage(format!(
            "no entry of your brain has the id {:?}; `weir brain list --all` shows the ids",
            visible_text(text)
        ))),
        _ => {
            let one =
                |entry: &&BrainEntry| format!("{} ({})", entry.id, tell::short_title(&entry.title));
            let named: Vec<String> = found.iter().take(NAMED_MAX).map(one).collect();
            Err(usage(format!(
                "the ids of several entries begin with {wanted}: {}; write more characters",
                named.join(", ")
            )))
        }
    }
}
