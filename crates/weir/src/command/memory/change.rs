//! `weir memory add`, `accept`, `reject` and `forget`: what a person decides about facts.

use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::memory::{
    BY_PERSON, MemoryFact, MemoryKind, MemorySource, MemoryStatus, NewMemory, fact_text,
    fact_topics, marked_private, private_by_person,
};
use weir_install::context::InstallationContext;
use weir_install::wording::{external_origins_text, private_sources_text};

use super::{as_json, find_fact, load_all_facts, tell, workspace_name};
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::{MemoryAcceptArgs, MemoryAddArgs, MemoryIdsArgs};
use crate::terminal::{out_json, out_line};

pub(super) async fn add_fact(cx: &InstallationContext, args: &MemoryAddArgs) -> anyhow::Result<()> {
    let new = new_memory_from_args(cx, args)?;
    let store = cx.session_store()?;
    let mut fact = store.remember_fact(&new, current_timestamp()).await?;
    // They say so themselves: an earlier no, or a newer fact, does not stand against it.
    let returned = fact.fact.status != MemoryStatus::Kept;
    if returned {
        let settled =
            store.settle_memory(&fact.id, MemoryStatus::Kept, current_timestamp()).await?;
        fact = settled.unwrap_or(fact);
    }
    if args.json.json {
        return out_json(&as_json(&fact));
    }
    let id = &fact.id;
    let place = tell::describe_fact_place(&fact, &workspace_name(cx));
    out_line(&match (returned, fact.confirmed) {
        (true, _) => format!("{id} is remembered again, {place}"),
        (false, 0) => format!("{id} is remembered, {place}"),
        (false, 1) => format!("{id} was already remembered, {place}: stated once more"),
        (false, times) => {
            format!("{id} was already remembered, {place}: stated {times} times more")
        }
    })?;
    print_untrusted_notice(&fact)
}

fn new_memory_from_args(
    cx: &InstallationContext,
    args: &MemoryAddArgs,
) -> anyhow::Result<NewMemory> {
    let kind = MemoryKind::from(args.kind);
    let everywhere =
        args.everywhere || matches!(kind, MemoryKind::Identity | MemoryKind::Preference);
    let text = fact_text(&args.text).map_err(usage)?;
    if redact_text(&text, &[]) != text {
        return Err(usage(
            "this looks like a key or password. Facts are given to models, so it is not \
             remembered; `weir auth set` saves keys",
        ));
    }
    Ok(NewMemory {
        text,
        kind,
        topics: fact_topics(&args.topics).map_err(usage)?,
        importance: args.importance,
        workspace: (!everywhere).then(|| workspace_name(cx)),
        source: MemorySource { by: BY_PERSON.into(), ..MemorySource::default() },
        label: if args.private { private_by_person() } else { Label::default() },
        status: MemoryStatus::Kept,
        supersedes: None,
    })
}

/// Keeps facts; those that are to be private are marked before they count.
pub(super) async fn accept_facts(
    cx: &InstallationContext,
    args: &MemoryAcceptArgs,
) -> anyhow::Result<()> {
    if args.private {
        let facts = load_all_facts(cx).await?;
        let found = args.which.ids.iter().map(|id| find_fact(&facts, id));
        let found: Vec<MemoryFact> = found.collect::<anyhow::Result<_>>()?;
        for fact in found {
            cx.session_store()?.remember_fact(&marked_private(&fact), current_timestamp()).await?;
        }
    }
    set_facts_status(cx, &args.which, MemoryStatus::Kept).await
}

/// Accepts, rejects or forgets. All of them are found first: a word that names none changes nothing.
pub(super) async fn set_facts_status(
    cx: &InstallationContext,
    args: &MemoryIdsArgs,
    status: MemoryStatus,
) -> anyhow::Result<()> {
    let facts = load_all_facts(cx).await?;
    let found: Vec<MemoryFact> =
        args.ids.iter().map(|id| find_fact(&facts, id)).collect::<anyhow::Result<_>>()?;
    let store = cx.session_store()?;
    let mut settled = Vec::new();
    for before in found {
        let after = store.settle_memory(&before.id, status, current_timestamp()).await?;
        let after =
            after.ok_or_else(|| usage(format!("{} has been removed meanwhile", before.id)))?;
        settled.push((before, after));
    }
    if args.json.json {
        return out_json(&settled.iter().map(|(_, after)| as_json(after)).collect::<Vec<_>>());
    }
    for (before, after) in &settled {
        out_line(&format!(
            "{} {}: {}",
            after.id,
            status_change_text(before, after),
            tell::fact_text_line(&after.fact.text)
        ))?;
        if status == MemoryStatus::Kept {
            let replaced = after.fact.supersedes.as_ref();
            let replaced = replaced.and_then(|id| facts.iter().find(|fact| fact.id == *id));
            if let Some(older) = replaced.filter(|fact| fact.fact.status == MemoryStatus::Kept) {
                out_line(&format!("  it replaces: {}", tell::fact_text_line(&older.fact.text)))?;
            }
            if after.fact.source.by != BY_PERSON {
                out_line(&format!("  from {}", tell::describe_fact_source(after)))?;
            }
            print_privacy_notice(before, after)?;
            print_untrusted_notice(after)?;
        }
    }
    Ok(())
}

/// Says what a yes made of a fact that stood beside private data.
fn print_privacy_notice(before: &MemoryFact, after: &MemoryFact) -> anyhow::Result<()> {
    let Some(sources) = private_sources_text(&before.fact.label) else { return Ok(()) };
    if after.fact.label.is_private() {
        return out_line(
            "  It stays private: a session that uses it counts as holding private data.",
        );
    }
    out_line(&format!(
        "  It was written while private data was in the context ({sources}). It now counts as your \
         own and not as private; `weir memory accept {} --private` keeps it private.",
        after.id
    ))
}

fn status_change_text(before: &MemoryFact, after: &MemoryFact) -> &'static str {
    let same = before.fact.status == after.fact.status;
    match (after.fact.status, same) {
        (MemoryStatus::Kept, false) => "is accepted",
        (MemoryStatus::Kept, true) => "was already accepted",
        (MemoryStatus::Rejected, false) => "is rejected and will not be proposed again",
        (MemoryStatus::Rejected, true) => "was already rejected",
        (MemoryStatus::Forgotten, false) => "is forgotten",
        (MemoryStatus::Forgotten, true) => "was already forgotten",
        (MemoryStatus::Proposed, _) => "is waiting",
        (MemoryStatus::Superseded, _) => "is replaced",
    }
}

/// Says what a kept fact from outside is.
fn print_untrusted_notice(fact: &MemoryFact) -> anyhow::Result<()> {
    let Some(origins) = external_origins_text(&fact.fact.label) else { return Ok(()) };
    out_line(&format!(
        "  It stays untrusted, because content from {origins} was involved: a model gets it as \
         data only, never as an instruction. To make it yours, add it in your own words: `weir \
         memory add`."
    ))
}
