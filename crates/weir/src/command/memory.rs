//! `weir memory`: what is remembered beyond one session, and what waits for the person (M4).
//!
//! What a fact must look like, when two are one, and what a model is told of them is the core's; here
//! a person looks at the memory and decides.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::ids::MemoryId;
use weir_core::memory::{MemoryAction, MemoryFact, MemoryKind, MemoryStatus, export_markdown};
use weir_core::view::plain::visible_text;
use weir_engine::ports::MemoryFilter;
use weir_install::catalogue::proposed_settings;
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::{
    MemoryCommand, MemoryExportArgs, MemoryInboxArgs, MemoryListArgs, MemorySearchArgs, MemoryWhich,
};
use crate::terminal::{out_json, out_line};

mod change;
mod tell;

/// Facts that an error names.
const NAMED_MAX: usize = 3;

/// Does what was asked.
pub(crate) async fn run_memory_command(
    cx: &InstallationContext,
    command: MemoryCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        MemoryCommand::List(args) => list_facts(cx, &args).await?,
        MemoryCommand::Search(args) => search_facts(cx, &args).await?,
        MemoryCommand::Add(args) => change::add_fact(cx, &args).await?,
        MemoryCommand::Inbox(args) => show_inbox(cx, &args).await?,
        MemoryCommand::Accept(args) => change::accept_facts(cx, &args).await?,
        MemoryCommand::Reject(args) => {
            change::drop_facts(cx, &args.which, MemoryAction::Reject).await?;
        }
        MemoryCommand::Forget(args) => {
            change::drop_facts(cx, &args.which, MemoryAction::Forget).await?;
        }
        MemoryCommand::Export(args) => export_facts(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The facts that were asked for, at most so many of them.
async fn load_chosen_facts(
    cx: &InstallationContext,
    words: &str,
    which: &MemoryWhich,
) -> anyhow::Result<Vec<MemoryFact>> {
    let status = which.status.map_or(MemoryStatus::Kept, MemoryStatus::from);
    let filter = MemoryFilter {
        words: words.to_owned(),
        statuses: if which.all { Vec::new() } else { vec![status] },
        workspace: (!which.all).then(|| workspace_name(cx)),
        limit: None,
    };
    let mut facts = cx.session_store()?.find_memories(&filter).await?;
    let kind = which.kind.map(MemoryKind::from);
    facts.retain(|fact| kind.is_none_or(|kind| fact.fact.kind == kind));
    facts.truncate(which.limit.map_or(usize::MAX, |limit| limit as usize));
    Ok(facts)
}

async fn list_facts(cx: &InstallationContext, args: &MemoryListArgs) -> anyhow::Result<()> {
    let facts = load_chosen_facts(cx, "", &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if !facts.is_empty() {
        out_line(&tell::render_fact_rows(&facts, &load_fact_ids(cx).await?, &workspace_name(cx)))?;
    } else if args.which.status.is_some() || args.which.kind.is_some() || args.which.all {
        out_line("No facts match.")?;
    } else {
        out_line(
            "Nothing is remembered about this workspace; `weir memory add \"…\"` adds a fact.",
        )?;
    }
    announce_waiting_facts(cx).await
}

/// Says that something waits, where a list would not show it.
async fn announce_waiting_facts(cx: &InstallationContext) -> anyhow::Result<()> {
    match load_proposed_facts(cx).await?.len() {
        0 => Ok(()),
        1 => out_line("\n1 fact waits for your decision: `weir memory inbox` shows it."),
        more => out_line(&format!(
            "\n{more} facts wait for your decision: `weir memory inbox` shows them."
        )),
    }
}

async fn search_facts(cx: &InstallationContext, args: &MemorySearchArgs) -> anyhow::Result<()> {
    let words = args.words.join(" ");
    if !words.chars().any(char::is_alphanumeric) {
        return Err(usage(format!("{:?} contains no word to search for", visible_text(&words))));
    }
    let facts = load_chosen_facts(cx, &words, &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if facts.is_empty() {
        let elsewhere =
            if args.which.all { "" } else { "; --all searches all workspaces and states" };
        return out_line(&format!("No fact contains any of these words{elsewhere}."));
    }
    out_line(&tell::render_fact_rows(&facts, &load_fact_ids(cx).await?, &workspace_name(cx)))
}

async fn show_inbox(cx: &InstallationContext, args: &MemoryInboxArgs) -> anyhow::Result<()> {
    let facts = load_proposed_facts(cx).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if facts.is_empty() {
        out_line("No facts wait for your decision.")?;
        return announce_waiting_settings(cx).await;
    }
    let all = load_all_facts(cx).await?;
    let ids = all.iter().map(|fact| fact.id.clone()).collect();
    let page: Vec<String> =
        facts.iter().map(|fact| tell::describe_waiting_fact(fact, &all, &ids)).collect();
    out_line(&page.join("\n"))?;
    out_line(
        "\n`weir memory accept ID` accepts a fact, `weir memory reject ID` rejects it permanently.",
    )?;
    announce_waiting_settings(cx).await
}

/// Says that settings wait too, which have a list of their own.
async fn announce_waiting_settings(cx: &InstallationContext) -> anyhow::Result<()> {
    match proposed_settings::list_waiting(cx).await?.len() {
        0 => Ok(()),
        1 => out_line("1 proposed setting waits too: `weir config inbox` shows it."),
        more => {
            out_line(&format!("{more} proposed settings wait too: `weir config inbox` shows them."))
        }
    }
}

async fn export_facts(cx: &InstallationContext, args: &MemoryExportArgs) -> anyhow::Result<()> {
    let facts = load_chosen_facts(cx, "", &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    out_line(export_markdown(&facts).trim_end())
}

/// The workspace as it stands in facts.
fn workspace_name(cx: &InstallationContext) -> String {
    cx.folder.display().to_string()
}

/// Every fact of the store.
async fn load_all_facts(cx: &InstallationContext) -> anyhow::Result<Vec<MemoryFact>> {
    Ok(cx.session_store()?.find_memories(&MemoryFilter::default()).await?)
}

async fn load_fact_ids(cx: &InstallationContext) -> anyhow::Result<BTreeSet<MemoryId>> {
    Ok(load_all_facts(cx).await?.into_iter().map(|fact| fact.id).collect())
}

/// What waits, oldest first.
async fn load_proposed_facts(cx: &InstallationContext) -> anyhow::Result<Vec<MemoryFact>> {
    let statuses = vec![MemoryStatus::Proposed];
    let filter = MemoryFilter { statuses, ..MemoryFilter::default() };
    let mut facts = cx.session_store()?.find_memories(&filter).await?;
    facts.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
    Ok(facts)
}

fn as_json(fact: &MemoryFact) -> Value {
    let mut value = json!(fact);
    value["untrusted"] = json!(fact.fact.label.is_external());
    value["private"] = json!(fact.fact.label.is_private());
    value
}

/// The fact whose id is, or begins with, `text`.
///
/// # Errors
/// A usage error: there is none, or several begin so.
fn find_fact(facts: &[MemoryFact], text: &str) -> anyhow::Result<MemoryFact> {
    let wanted = text.trim().to_lowercase();
    let begins = |fact: &&MemoryFact| !wanted.is_empty() && fact.id.as_str().starts_with(&wanted);
    let found: Vec<&MemoryFact> = facts.iter().filter(begins).collect();
    let named = |facts: &[&MemoryFact]| {
        let one = |fact: &&MemoryFact| {
            format!("{} ({})", fact.id, tell::shorten_fact_text(&fact.fact.text))
        };
        facts.iter().take(NAMED_MAX).map(one).collect::<Vec<_>>().join(", ")
    };
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let near = tell::find_similar_facts(facts, &wanted);
            let meant = match near[..] {
                [] => String::new(),
                _ => format!("; did you mean {}?", named(&near)),
            };
            Err(usage(format!(
                "no remembered fact has the id {:?}{meant}; `weir memory list --all` and `weir \
                 memory inbox` show the ids",
                visible_text(text)
            )))
        }
        _ => Err(usage(format!(
            "the ids of several facts begin with {wanted}: {}; write more characters",
            named(&found)
        ))),
    }
}
