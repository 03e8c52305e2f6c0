//! Memory at work (M4): what is kept, what waits in the inbox, what fits a message. Not here: where
//! facts are stored, and the pure rules about them (`weir_core::memory`).

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::memory::{
    self, FactQuery, MemoryFact, MemoryKind, MemoryNote, MemorySource, MemoryStatus, NewMemory,
};
use weir_core::session::SessionConfig;

use crate::parts::EngineParts;
use crate::ports::{MemoryFilter, MemoryRequest, StoreError};

pub mod decision;
pub mod search;

/// Kept facts that one question brings and that are looked at for one message: fifteen times what is
/// told, and read in a few milliseconds (Q1).
const LOOKED_AT_MAX: usize = 300;
/// Facts that share words with a new one and may be the same.
const ALIKE_MAX: usize = 50;

const OFF: &str = "the memory is switched off (memory.enabled): nothing is kept or found there";

/// Remembers a fact, or puts it into the inbox. Said in other words before, it is that fact once
/// more. `label`: whose words stood in the context that it was made from; the fact keeps it for
/// good.
///
/// # Errors
/// A sentence for the model: the memory is off, the fact has no usable form, the store failed.
pub(crate) async fn remember_fact(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    wish: MemoryRequest,
    source: MemorySource,
    label: Label,
) -> Result<MemoryNote, String> {
    if config.memory.off {
        return Err(OFF.into());
    }
    let new = new_fact(parts, config, wish, source, label)?;
    match save_memory_fact(parts, config, new).await {
        Ok(MemorySaveOutcome::As(fact)) => Ok(memory_note(&fact)),
        Ok(MemorySaveOutcome::Already(fact)) => Err(format!(
            "this is remembered already ({}), and words from outside stand in the context: they \
             neither confirm nor change what the person has",
            fact.id
        )),
        Err(error) => Err(format!("it could not be remembered: {error}")),
    }
}

/// Kept facts that fit `words`, best first; without words the weightiest and newest.
///
/// # Errors
/// A sentence for the model.
pub(crate) async fn search_memory(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    words: &str,
    kind: Option<MemoryKind>,
    limit: usize,
) -> Result<Vec<MemoryFact>, String> {
    if config.memory.off {
        return Err(OFF.into());
    }
    let facts = kept_facts(parts, config, words).await;
    let facts = facts.map_err(|error| format!("the memory cannot be read: {error}"))?;
    let now = parts.clock.now();
    let occasion = FactQuery { said: words, workspace: &config.workspace, now };
    let mut found = search::rank_facts(facts, &occasion);
    found.retain(|fact| kind.is_none_or(|kind| fact.fact.kind == kind));
    found.truncate(limit);
    Ok(found)
}

/// Facts that came from a file of the workspace, each with its path there: kept or waiting.
///
/// # Errors
/// A sentence for the model.
pub(crate) async fn facts_from_files(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
) -> Result<Vec<MemoryFact>, String> {
    if config.memory.off {
        return Err(OFF.into());
    }
    let filter = MemoryFilter {
        statuses: vec![MemoryStatus::Kept, MemoryStatus::Proposed],
        workspace: Some(config.workspace.clone()),
        ..MemoryFilter::default()
    };
    let facts = parts.store.find_memories(&filter).await;
    let facts = facts.map_err(|error| format!("the memory cannot be read: {error}"))?;
    let of_workspace = |mut fact: MemoryFact| {
        let file = file_in_workspace(config, fact.fact.source.file.as_deref()?)?.to_owned();
        fact.fact.source.file = Some(file);
        Some(fact)
    };
    Ok(facts.into_iter().filter_map(of_workspace).collect())
}

/// A file of the workspace as a fact names it: whole, since the fact may hold in other workspaces, and
/// those have files of the same name.
fn whole_file_name(config: &SessionConfig, file: &str) -> String {
    format!("{}/{file}", config.workspace.trim_end_matches('/'))
}

/// The path in this workspace of a file that a fact names; `None`: it is another workspace's.
fn file_in_workspace<'a>(config: &SessionConfig, file: &'a str) -> Option<&'a str> {
    file.strip_prefix(config.workspace.trim_end_matches('/'))?.strip_prefix('/')
}

/// Facts that are told with a message: those that fit it and the workspace, within a budget. A
/// memory that cannot be read is told as an empty one: the run goes on without it.
pub(crate) async fn facts_for_message(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    said: &str,
) -> Vec<MemoryFact> {
    if config.memory.off {
        return Vec::new();
    }
    match kept_facts(parts, config, said).await {
        Ok(facts) => {
            let now = parts.clock.now();
            memory::choose_told_facts(facts, &FactQuery { said, workspace: &config.workspace, now })
        }
        Err(error) => {
            tracing::warn!(%error, "the memory cannot be read and is left out");
            Vec::new()
        }
    }
}

/// Puts the facts that a helper model found into memory: those of them that it wrote in the right
/// form. What cannot be kept is left out; the run does not depend on it.
pub(crate) async fn keep_found(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    answer: &str,
    source: MemorySource,
    label: &Label,
) -> Vec<MemoryNote> {
    let mut notes = Vec::new();
    if config.memory.off {
        return notes;
    }
    for found in memory::found_by_model(answer) {
        let wish = MemoryRequest {
            text: found.text,
            kind: found.kind,
            topics: found.topics,
            importance: found.importance,
            file: None,
            replaces: None,
            label: Label::default(),
        };
        match remember_fact(parts, config, wish, source.clone(), label.clone()).await {
            // What a person said no to, or took away by another fact, is no news.
            Ok(note) if matches!(note.status, MemoryStatus::Kept | MemoryStatus::Proposed) => {
                notes.push(note);
            }
            Ok(_) => (),
            Err(why) => tracing::debug!(why, "a fact that a helper found was not kept"),
        }
    }
    notes
}

/// The fact as it would be kept: without secrets, in the form that a fact has, about this workspace
/// where it is not about the person, and waiting unless the person lets such facts through.
fn new_fact(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    wish: MemoryRequest,
    source: MemorySource,
    mut label: Label,
) -> Result<NewMemory, String> {
    let clean = |text: &str| redact_text(text, &parts.secrets).into_owned();
    label.join(&wish.label);
    // A model wrote it down, whatever it read.
    let label = label.told_by_model();
    let everywhere = matches!(wish.kind, MemoryKind::Identity | MemoryKind::Preference);
    let topics: Vec<String> = wish.topics.iter().map(|topic| clean(topic)).collect();
    let text = clean(&wish.text);
    if text != wish.text && !says_more(&text) {
        return Err("it is a secret and nothing else; secrets are not remembered".into());
    }
    Ok(NewMemory {
        text: memory::fact_text(&text)?,
        kind: wish.kind,
        topics: memory::fact_topics(&topics)?,
        importance: memory::fact_importance(wish.importance)?,
        workspace: (!everywhere).then(|| config.workspace.clone()),
        status: initial_status(config, &label, wish.file.as_deref()),
        source: MemorySource {
            file: wish.file.map(|file| whole_file_name(config, &file)),
            ..source
        },
        label,
        supersedes: wish.replaces,
    })
}

/// Whether anything is left of a text beside the marks of what was taken out.
pub(crate) fn says_more(text: &str) -> bool {
    let mut left = String::new();
    let mut rest = text;
    while let Some(from) = rest.find("[redacted") {
        left.push_str(&rest[..from]);
        rest = rest[from..].find(']').map_or("", |to| &rest[from + to + 1..]);
    }
    left.push_str(rest);
    left.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() > 1
}

/// What anybody may have written always waits for a person. So does what stands in a file: nobody
/// said it in this session, and no mark of the agent's makes it theirs (K11).
fn initial_status(config: &SessionConfig, label: &Label, file: Option<&str>) -> MemoryStatus {
    match config.memory.accepts && !label.is_external() && file.is_none() {
        true => MemoryStatus::Kept,
        false => MemoryStatus::Proposed,
    }
}

/// What became of a fact.
enum MemorySaveOutcome {
    /// It is kept, waits or was settled before, in this form.
    As(MemoryFact),
    /// The person has it already, and nothing was changed.
    Already(MemoryFact),
}

async fn save_memory_fact(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    new: NewMemory,
) -> Result<MemorySaveOutcome, StoreError> {
    let now = parts.clock.now();
    if let Some(older) = &new.supersedes {
        check_replaceable(parts, config, older).await?;
    }
    let Some(same) = same_fact(parts, &new).await? else {
        return Ok(MemorySaveOutcome::As(parts.store.remember_fact(&new, now).await?));
    };
    if new.label.is_external() && !same.fact.label.is_external() {
        // Words from outside neither confirm what the person has nor make it foreign. What was
        // forgotten is nobody's any more and waits anew.
        match same.fact.status {
            MemoryStatus::Kept | MemoryStatus::Proposed => {
                return Ok(MemorySaveOutcome::Already(same));
            }
            MemoryStatus::Rejected | MemoryStatus::Superseded => {
                return Ok(MemorySaveOutcome::As(same));
            }
            MemoryStatus::Forgotten => (),
        }
    }
    // In the words that it has: that makes it the same fact for the store. Together with what was
    // kept of it, it may be foreign although what is said now is not: then it goes on waiting.
    let label = new.label.clone().joined_with(&same.fact.label);
    let status = initial_status(config, &label, new.source.file.as_deref());
    let again = NewMemory { text: same.fact.text.clone(), status, ..new };
    Ok(MemorySaveOutcome::As(parts.store.remember_fact(&again, now).await?))
}

/// The fact that `new` says again, word for word or nearly.
async fn same_fact(
    parts: &Arc<EngineParts>,
    new: &NewMemory,
) -> Result<Option<MemoryFact>, StoreError> {
    let filter = MemoryFilter {
        words: new.text.clone(),
        workspace: Some(new.workspace.clone().unwrap_or_default()),
        limit: Some(ALIKE_MAX),
        ..MemoryFilter::default()
    };
    let id = memory::id_of(&new.text, new.workspace.as_deref());
    let mut alike = parts.store.find_memories(&filter).await?;
    // What it replaces is not the same, however near the words are.
    let replaced = |fact: &MemoryFact| new.supersedes.as_ref() == Some(&fact.id);
    alike.retain(|fact| fact.fact.workspace == new.workspace && !replaced(fact));
    if let Some(at) = alike.iter().position(|fact| fact.id == id) {
        return Ok(Some(alike.swap_remove(at)));
    }
    // A fact that nothing foreign went into is not swallowed by one that waits with foreign words,
    // and what a person took away does not come back in other words unless it is said anew.
    let foreign = new.label.is_external();
    let open = |fact: &MemoryFact| match fact.fact.status {
        MemoryStatus::Kept | MemoryStatus::Proposed | MemoryStatus::Rejected => {
            foreign || !fact.fact.label.is_external()
        }
        MemoryStatus::Forgotten | MemoryStatus::Superseded => false,
    };
    Ok(alike
        .into_iter()
        .find(|fact| open(fact) && memory::is_similar_text(&fact.fact.text, &new.text)))
}

/// Whether there is a kept fact of this name that this session may replace.
async fn check_replaceable(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    id: &weir_core::ids::MemoryId,
) -> Result<(), StoreError> {
    let filter = MemoryFilter {
        statuses: vec![MemoryStatus::Kept],
        workspace: Some(config.workspace.clone()),
        ..MemoryFilter::default()
    };
    let there = parts.store.find_memories(&filter).await?.iter().any(|fact| fact.id == *id);
    let missing = || StoreError::Missing { what: format!("the remembered fact {id}") };
    there.then_some(()).ok_or_else(missing)
}

/// Kept facts about this workspace and about every one, from which is chosen. One question to the
/// store; where the memory is large, two more: for what is about the person, which is told however
/// old it is, and for what the words are about.
async fn kept_facts(
    parts: &Arc<EngineParts>,
    config: &SessionConfig,
    words: &str,
) -> Result<Vec<MemoryFact>, StoreError> {
    let newest = MemoryFilter {
        words: String::new(),
        statuses: vec![MemoryStatus::Kept],
        workspace: Some(config.workspace.clone()),
        limit: Some(LOOKED_AT_MAX),
    };
    let mut facts = parts.store.find_memories(&newest).await?;
    if facts.len() < LOOKED_AT_MAX {
        return Ok(facts);
    }
    let mut known: BTreeSet<_> = facts.iter().map(|fact| fact.id.clone()).collect();
    // No workspace has an empty name: these are the facts about every one.
    let everywhere = MemoryFilter { workspace: Some(String::new()), ..newest.clone() };
    let by_words = MemoryFilter { words: words.to_string(), ..newest };
    for filter in [everywhere, by_words] {
        let more = parts.store.find_memories(&filter).await?;
        facts.extend(more.into_iter().filter(|fact| known.insert(fact.id.clone())));
    }
    Ok(facts)
}

fn memory_note(fact: &MemoryFact) -> MemoryNote {
    MemoryNote {
        memory: fact.id.clone(),
        text: fact.fact.text.clone(),
        kind: fact.fact.kind,
        status: fact.fact.status,
        by: fact.fact.source.by.clone(),
        label: fact.fact.label.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::says_more;

    #[test]
    fn m4_a_secret_alone_is_no_fact() {
        for (text, more) in [
            ("[redacted: GitHub token]", false),
            ("token: [redacted: secret]", false),
            ("[redacted: secret] [redacted: secret]", false),
            ("[redacted", false),
            ("The test account uses [redacted: secret].", true),
            ("[redacted: secret] opens the door", true),
        ] {
            assert_eq!(says_more(text), more, "{text}");
        }
    }
}
