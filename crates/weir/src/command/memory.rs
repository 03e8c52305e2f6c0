//! `weir memory`: what is remembered beyond one session, and what waits for the person (M4).
//!
//! What a fact must look like, when two are one, and what a model is told of them is the core's; here
//! a person looks at the memory and decides.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{MemoryFact, MemoryKind, MemoryStatus, export_markdown};
use weir_core::view::plain::visible;
use weir_engine::ports::MemoryFilter;
use weir_install::cx::Cx;

use crate::failure::usage;
use crate::options::{
    MemoryCommand, MemoryExportArgs, MemoryInboxArgs, MemoryListArgs, MemorySearchArgs, MemoryWhich,
};
use crate::terminal::{out, out_json};

mod change;
mod tell;

/// Facts that an error names.
const NAMED_MAX: usize = 3;

/// Does what was asked.
pub(crate) async fn memory(cx: &Cx, command: MemoryCommand) -> anyhow::Result<ExitCode> {
    match command {
        MemoryCommand::List(args) => list(cx, &args).await?,
        MemoryCommand::Search(args) => search(cx, &args).await?,
        MemoryCommand::Add(args) => change::add(cx, &args).await?,
        MemoryCommand::Inbox(args) => inbox(cx, &args).await?,
        MemoryCommand::Accept(args) => change::accept(cx, &args).await?,
        MemoryCommand::Reject(args) => {
            change::settle(cx, &args.which, MemoryStatus::Rejected).await?;
        }
        MemoryCommand::Forget(args) => {
            change::settle(cx, &args.which, MemoryStatus::Forgotten).await?;
        }
        MemoryCommand::Export(args) => export(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The facts that were asked for, at most so many of them.
async fn chosen(cx: &Cx, words: &str, which: &MemoryWhich) -> anyhow::Result<Vec<MemoryFact>> {
    let status = which.status.map_or(MemoryStatus::Kept, MemoryStatus::from);
    let filter = MemoryFilter {
        words: words.to_owned(),
        statuses: if which.all { Vec::new() } else { vec![status] },
        workspace: (!which.all).then(|| here(cx)),
        limit: None,
    };
    let mut facts = cx.journal()?.memories(&filter).await?;
    let kind = which.kind.map(MemoryKind::from);
    facts.retain(|fact| kind.is_none_or(|kind| fact.fact.kind == kind));
    facts.truncate(which.limit.map_or(usize::MAX, |limit| limit as usize));
    Ok(facts)
}

async fn list(cx: &Cx, args: &MemoryListArgs) -> anyhow::Result<()> {
    let facts = chosen(cx, "", &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if !facts.is_empty() {
        out(&tell::rows(&facts, &ids(cx).await?, &here(cx)))?;
    } else if args.which.status.is_some() || args.which.kind.is_some() || args.which.all {
        out("No facts match.")?;
    } else {
        out("Nothing is remembered about this workspace; `weir memory add \"…\"` adds a fact.")?;
    }
    waiting(cx).await
}

/// Says that something waits, where a list would not show it.
async fn waiting(cx: &Cx) -> anyhow::Result<()> {
    match proposed(cx).await?.len() {
        0 => Ok(()),
        1 => out("\n1 fact waits for your decision: `weir memory inbox` shows it."),
        more => {
            out(&format!("\n{more} facts wait for your decision: `weir memory inbox` shows them."))
        }
    }
}

async fn search(cx: &Cx, args: &MemorySearchArgs) -> anyhow::Result<()> {
    let words = args.words.join(" ");
    if !words.chars().any(char::is_alphanumeric) {
        return Err(usage(format!("{:?} contains no word to search for", visible(&words))));
    }
    let facts = chosen(cx, &words, &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if facts.is_empty() {
        let elsewhere =
            if args.which.all { "" } else { "; --all searches all workspaces and states" };
        return out(&format!("No fact contains any of these words{elsewhere}."));
    }
    out(&tell::rows(&facts, &ids(cx).await?, &here(cx)))
}

async fn inbox(cx: &Cx, args: &MemoryInboxArgs) -> anyhow::Result<()> {
    let facts = proposed(cx).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    if facts.is_empty() {
        return out("No facts wait for your decision.");
    }
    let all = every(cx).await?;
    let ids = all.iter().map(|fact| fact.id.clone()).collect();
    let page: Vec<String> = facts.iter().map(|fact| tell::waiting(fact, &all, &ids)).collect();
    out(&page.join("\n"))?;
    out("\n`weir memory accept ID` accepts a fact, `weir memory reject ID` rejects it permanently.")
}

async fn export(cx: &Cx, args: &MemoryExportArgs) -> anyhow::Result<()> {
    let facts = chosen(cx, "", &args.which).await?;
    if args.json.json {
        return out_json(&facts.iter().map(as_json).collect::<Vec<_>>());
    }
    out(export_markdown(&facts).trim_end())
}

/// The workspace as it stands in facts.
fn here(cx: &Cx) -> String {
    cx.folder.display().to_string()
}

/// Every fact of the store.
async fn every(cx: &Cx) -> anyhow::Result<Vec<MemoryFact>> {
    Ok(cx.journal()?.memories(&MemoryFilter::default()).await?)
}

async fn ids(cx: &Cx) -> anyhow::Result<BTreeSet<MemoryId>> {
    Ok(every(cx).await?.into_iter().map(|fact| fact.id).collect())
}

/// What waits, oldest first.
async fn proposed(cx: &Cx) -> anyhow::Result<Vec<MemoryFact>> {
    let statuses = vec![MemoryStatus::Proposed];
    let filter = MemoryFilter { statuses, ..MemoryFilter::default() };
    let mut facts = cx.journal()?.memories(&filter).await?;
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
fn find(facts: &[MemoryFact], text: &str) -> anyhow::Result<MemoryFact> {
    let wanted = text.trim().to_lowercase();
    let begins = |fact: &&MemoryFact| !wanted.is_empty() && fact.id.as_str().starts_with(&wanted);
    let found: Vec<&MemoryFact> = facts.iter().filter(begins).collect();
    let named = |facts: &[&MemoryFact]| {
        let one = |fact: &&MemoryFact| format!("{} ({})", fact.id, tell::short(&fact.fact.text));
        facts.iter().take(NAMED_MAX).map(one).collect::<Vec<_>>().join(", ")
    };
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let near = tell::near(facts, &wanted);
            let meant = match near[..] {
                [] => String::new(),
                _ => format!("; did you mean {}?", named(&near)),
            };
            Err(usage(format!(
                "no remembered fact has the id {:?}{meant}; `weir memory list --all` and `weir \
                 memory inbox` show the ids",
                visible(text)
            )))
        }
        _ => Err(usage(format!(
            "the ids of several facts begin with {wanted}: {}; write more characters",
            named(&found)
        ))),
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond())
}
