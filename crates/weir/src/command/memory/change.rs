//! `weir memory add`, `accept`, `reject` and `forget`: what a person decides about facts.

use serde_json::json;
use weir_core::governance::label::Label;
use weir_core::memory::{
    BY_PERSON, MemoryAction, MemoryDecision, MemoryEdit, MemoryFact, MemoryKeep, MemoryKind,
    MemorySource, MemoryStatus, NewMemory, fact_hash, fact_topics, private_by_person,
};
use weir_engine::memory::decision::{SettleFactError, check_own_words, settle_fact};
use weir_install::context::InstallationContext;
use weir_install::wiring::{principal_name, secret_texts};
use weir_install::wording::{external_origins_text, private_sources_text};

use super::{as_json, find_fact, load_all_facts, tell, workspace_name};
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::{MemoryAcceptArgs, MemoryAddArgs, MemoryIdsArgs};
use crate::review::{ReviewOutcome, ReviewSubject, read_own_words, settle_review};
use crate::terminal::{out_json, out_line};

pub(super) async fn add_fact(cx: &InstallationContext, args: &MemoryAddArgs) -> anyhow::Result<()> {
    let new = new_memory_from_args(cx, args)?;
    let store = cx.session_store()?;
    let mut fact = store.remember_fact(&new, current_timestamp()).await?;
    // They say so themselves: an earlier no, or a newer fact, does not stand against it.
    let returned = fact.fact.status != MemoryStatus::Kept;
    if returned {
        let keep = MemoryDecision::keep();
        let settled = store.settle_memory(&fact.id, &keep, current_timestamp()).await?;
        fact = settled.settled().unwrap_or(fact);
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
    let text = check_own_words(&args.text, &secret_texts(cx)?).map_err(usage)?;
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

/// Facts that were found, and what is decided about them.
struct FactDecisions {
    facts: Vec<MemoryFact>,
    /// Every fact, for what they replace.
    all: Vec<MemoryFact>,
    action: MemoryAction,
}

impl FactDecisions {
    /// Finds all of them first: a word that names none changes nothing.
    async fn find_facts(
        cx: &InstallationContext,
        args: &MemoryIdsArgs,
        action: MemoryAction,
    ) -> anyhow::Result<FactDecisions> {
        let all = load_all_facts(cx).await?;
        let mut facts: Vec<MemoryFact> = Vec::new();
        for id in &args.ids {
            let fact = find_fact(&all, id)?;
            // Named twice it is decided once.
            if !facts.iter().any(|known| known.id == fact.id) {
                facts.push(fact);
            }
        }
        Ok(FactDecisions { facts, all, action })
    }

    /// What a preview calls it, and what it asks.
    fn deed_and_question(&self) -> (&'static str, &'static str) {
        match &self.action {
            MemoryAction::Keep(MemoryKeep { private: true, .. }) => {
                ("memory accept --private", "Accept it, and keep it private?")
            }
            MemoryAction::Keep(_) => ("memory accept", "Accept it?"),
            MemoryAction::Reject => ("memory reject", "Reject it for good?"),
            MemoryAction::Forget => ("memory forget", "Forget it?"),
        }
    }

    /// The words that are to stand in place of those that were proposed.
    fn own_words(&self) -> Option<&MemoryEdit> {
        match &self.action {
            MemoryAction::Keep(keep) => keep.edit.as_ref(),
            MemoryAction::Reject | MemoryAction::Forget => None,
        }
    }
}

/// Keeps facts, one of them in other words where the person wrote some.
pub(super) async fn accept_facts(
    cx: &InstallationContext,
    args: &MemoryAcceptArgs,
) -> anyhow::Result<()> {
    let keep = MemoryKeep { private: args.private, edit: None };
    let mut wanted = FactDecisions::find_facts(cx, &args.which, MemoryAction::Keep(keep)).await?;
    if args.words.is_given() {
        let [fact] = &wanted.facts[..] else {
            return Err(usage("--text and --edit are for one fact; name one"));
        };
        if let Some(text) = read_own_words(&args.words, &fact.fact.text)? {
            let text = check_own_words(&text, &secret_texts(cx)?).map_err(usage)?;
            let edit = Some(MemoryEdit { text, by: principal_name(cx) });
            wanted.action = MemoryAction::Keep(MemoryKeep { private: args.private, edit });
        }
    }
    settle_facts(cx, &args.which, &wanted).await
}

/// Rejects or forgets.
pub(super) async fn drop_facts(
    cx: &InstallationContext,
    args: &MemoryIdsArgs,
    action: MemoryAction,
) -> anyhow::Result<()> {
    let wanted = FactDecisions::find_facts(cx, args, action).await?;
    settle_facts(cx, args, &wanted).await
}

/// Shows what would be settled, or holds it against what was shown.
fn review_facts(args: &MemoryIdsArgs, wanted: &FactDecisions) -> anyhow::Result<ReviewOutcome> {
    if !args.review.is_given() {
        return Ok(ReviewOutcome::Unsaid);
    }
    let FactDecisions { facts, all, .. } = wanted;
    let (deed, question) = wanted.deed_and_question();
    let ids = all.iter().map(|fact| fact.id.clone()).collect();
    let shown = facts.iter().map(|fact| {
        let state = tell::memory_status_word(fact.fact.status);
        let edited = wanted.own_words().map(|edit| {
            let line = tell::fact_text_line(&edit.text);
            format!("  {line}\n  your words, in place of those of this fact:\n\n")
        });
        let waiting = tell::describe_waiting_fact(fact, all, &ids);
        format!("{}{waiting}  state        {state}\n", edited.unwrap_or_default())
    });
    let text = shown.collect::<Vec<_>>().join("\n");
    // How often it was stated since is no other fact.
    let edit = wanted.own_words().map(|edit| &edit.text);
    let identity = facts.iter().map(|fact| json!([fact.id, fact.fact, edit]).to_string());
    let identity = identity.collect::<Vec<_>>().join("\n");
    let editable = match (&wanted.action, &facts[..]) {
        (MemoryAction::Keep(_), [fact]) => {
            Some(wanted.own_words().map_or(&fact.fact.text, |edit| &edit.text).as_str())
        }
        _ => None,
    };
    let reviewed = ReviewSubject { deed, text: &text, question, identity: &identity, editable };
    settle_review(&args.review, &reviewed, args.json.json)
}

/// Accepts, rejects or forgets, each as it was found.
async fn settle_facts(
    cx: &InstallationContext,
    args: &MemoryIdsArgs,
    wanted: &FactDecisions,
) -> anyhow::Result<()> {
    if review_facts(args, wanted)? == ReviewOutcome::Previewed {
        return Ok(());
    }
    let store = cx.session_store()?;
    let mut settled: Vec<(&MemoryFact, MemoryFact)> = Vec::new();
    let mut failed = None;
    for before in &wanted.facts {
        let mut decision = MemoryDecision { action: wanted.action.clone(), seen: None };
        // One that was settled just now may have taken its place: that is no change behind the person's back.
        let is_replaced =
            settled.iter().any(|(_, after)| after.fact.supersedes.as_ref() == Some(&before.id));
        if !is_replaced {
            decision = decision.about(fact_hash(before));
        }
        // Words were looked at already, by what is secret here.
        match settle_fact(store.as_ref(), &before.id, decision, &[], current_timestamp()).await {
            Ok(after) => settled.push((before, after)),
            Err(error) => {
                failed = Some(fact_failure(error).context(format!("the fact {}", before.id)));
                break;
            }
        }
    }
    print_all_settled(args, wanted, &settled)?;
    failed.map_or(Ok(()), Err)
}

fn print_all_settled(
    args: &MemoryIdsArgs,
    wanted: &FactDecisions,
    settled: &[(&MemoryFact, MemoryFact)],
) -> anyhow::Result<()> {
    if args.json.json {
        return out_json(&settled.iter().map(|(_, after)| as_json(after)).collect::<Vec<_>>());
    }
    for (before, after) in settled {
        print_settled(before, after, &wanted.all)?;
    }
    Ok(())
}

fn fact_failure(error: SettleFactError) -> anyhow::Error {
    match error {
        SettleFactError::Store(error) => error.into(),
        error @ (SettleFactError::Missing(_)
        | SettleFactError::Changed(_)
        | SettleFactError::Words(_)) => usage(error.to_string()),
    }
}

fn print_settled(
    before: &MemoryFact,
    after: &MemoryFact,
    all: &[MemoryFact],
) -> anyhow::Result<()> {
    let became = match before.fact.text == after.fact.text {
        true => status_change_text(before, after),
        false => "is accepted in your words",
    };
    out_line(&format!("{} {became}: {}", after.id, tell::fact_text_line(&after.fact.text)))?;
    if after.fact.status != MemoryStatus::Kept {
        return Ok(());
    }
    if before.fact.text != after.fact.text {
        out_line(&format!("  instead of: {}", tell::fact_text_line(&before.fact.text)))?;
    }
    let replaced = after.fact.supersedes.as_ref().filter(|id| **id != before.id);
    let replaced = replaced.and_then(|id| all.iter().find(|fact| fact.id == *id));
    if let Some(older) = replaced.filter(|fact| fact.fact.status == MemoryStatus::Kept) {
        out_line(&format!("  it replaces: {}", tell::fact_text_line(&older.fact.text)))?;
    }
    if after.fact.source.by != BY_PERSON {
        out_line(&format!("  from {}", tell::describe_fact_source(after)))?;
    }
    print_privacy_notice(before, after)?;
    print_untrusted_notice(after)
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
