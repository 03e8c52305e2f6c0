//! Which facts are told with a message, and which answer a search (M4). Pure: what stands here is
//! the whole of the choice. Not here: how they are told (`prompt::section`).

use std::collections::BTreeSet;

use super::{MemoryFact, MemoryKind, MemoryStatus, words};
use crate::ids::Timestamp;
use crate::sorting::sort_stably;

/// Most facts that are told with one message.
pub const TOLD_MAX: usize = 20;
/// Most characters of all told facts together. About 500 tokens: a twentieth of what a small window
/// (P4) holds beside its answer, and twenty facts of ordinary length.
pub const TOLD_CHARS_MAX: usize = 2_000;

/// Days after which a fact that may be lost is told no longer, where nobody said it again.
const FADES_AFTER_DAYS: u64 = 180;
/// The same for something that happened: what was true of one day is soon of no use.
const EVENT_FADES_AFTER_DAYS: u64 = 60;
/// Most important fact that fades; what matters more is taken away by a person.
const FADING_IMPORTANCE_MAX: u8 = 2;
/// Most important event that fades, after [`FADES_AFTER_DAYS`].
const FADING_EVENT_MAX: u8 = 4;
/// From here on a fact is told with every message.
const ALWAYS_TOLD: u8 = 5;
/// From here on a fact about this workspace is told in it: the workspace calls for it.
const TOLD_IN_WORKSPACE: u8 = 4;

const DAY_MS: u64 = 24 * 3_600_000;

/// What facts are chosen for.
#[derive(Debug, Clone, Copy)]
pub struct FactQuery<'a> {
    /// What was said, or is looked for.
    pub said: &'a str,
    /// The workspace of the session.
    pub workspace: &'a str,
    /// The current time, in microseconds since 1970 (UTC).
    pub now: Timestamp,
}

/// The facts that are told: those that the message or the workspace calls for, best first, within
/// [`TOLD_MAX`] and [`TOLD_CHARS_MAX`]. Words from outside are told only where the message asks for
/// them: each of them makes the session foreign.
pub fn choose_told_facts(facts: Vec<MemoryFact>, occasion: &FactQuery<'_>) -> Vec<MemoryFact> {
    let said = words::telling_words(occasion.said);
    let mut scored: Vec<(u32, MemoryFact)> = facts
        .into_iter()
        .filter(|fact| is_of_use(fact, occasion) && !has_faded(fact, occasion.now))
        .filter_map(|fact| {
            let fit = fit_points(&fact, &said);
            let called_for = fit > 0 || (is_always_told(&fact) && !fact.fact.label.is_external());
            called_for.then(|| (fact_score(&fact, fit, occasion.now), fact))
        })
        .collect();
    best_first(&mut scored);
    let mut left = TOLD_CHARS_MAX;
    let mut told = Vec::new();
    for (_, fact) in scored {
        let length = fact.fact.text.chars().count();
        if told.len() < TOLD_MAX && length <= left {
            left -= length;
            told.push(fact);
        }
    }
    told
}

/// The facts that answer a search, best first: with words, those that share one; without, all.
pub fn search_facts(facts: Vec<MemoryFact>, occasion: &FactQuery<'_>) -> Vec<MemoryFact> {
    let said = words::telling_words(occasion.said);
    // Somebody who looks for nothing but stop words looks for these.
    let said =
        if said.is_empty() { words::all_words(occasion.said).into_iter().collect() } else { said };
    let mut scored: Vec<(u32, MemoryFact)> = facts
        .into_iter()
        .filter(|fact| is_of_use(fact, occasion))
        .map(|fact| (fit_points(&fact, &said), fact))
        .filter(|(fit, _)| *fit > 0 || said.is_empty())
        .map(|(fit, fact)| (fact_score(&fact, fit, occasion.now), fact))
        .collect();
    best_first(&mut scored);
    scored.into_iter().map(|(_, fact)| fact).collect()
}

/// The facts that a search may bring: kept, and about this workspace or every one.
pub fn usable_facts(facts: Vec<MemoryFact>, occasion: &FactQuery<'_>) -> Vec<MemoryFact> {
    facts.into_iter().filter(|fact| is_of_use(fact, occasion)).collect()
}

/// Kept, and about this workspace or every one.
fn is_of_use(fact: &MemoryFact, occasion: &FactQuery<'_>) -> bool {
    let here = fact.fact.workspace.as_deref().is_none_or(|about| about == occasion.workspace);
    fact.fact.status == MemoryStatus::Kept && here
}

/// Whether a fact is too old to be told. It is still found.
pub fn has_faded(fact: &MemoryFact, now: Timestamp) -> bool {
    let importance = fact.fact.importance;
    let days = match fact.fact.kind {
        MemoryKind::Event if importance <= FADING_IMPORTANCE_MAX => EVENT_FADES_AFTER_DAYS,
        MemoryKind::Event if importance <= FADING_EVENT_MAX => FADES_AFTER_DAYS,
        MemoryKind::Identity
        | MemoryKind::Preference
        | MemoryKind::Project
        | MemoryKind::Event
        | MemoryKind::Lesson => {
            if importance > FADING_IMPORTANCE_MAX {
                return false;
            }
            FADES_AFTER_DAYS
        }
    };
    fact.confirmed == 0 && now.ms_since(fact.updated) > days * DAY_MS
}

fn is_always_told(fact: &MemoryFact) -> bool {
    let fact = &fact.fact;
    match fact.kind {
        MemoryKind::Identity | MemoryKind::Preference => true,
        MemoryKind::Project | MemoryKind::Event | MemoryKind::Lesson => {
            let here = fact.workspace.is_some() && fact.kind != MemoryKind::Event;
            fact.importance >= ALWAYS_TOLD || (here && fact.importance >= TOLD_IN_WORKSPACE)
        }
    }
}

/// How well a fact fits the words: two points for a word of its text, three for one of its topics.
fn fit_points(fact: &MemoryFact, said: &BTreeSet<String>) -> u32 {
    if said.is_empty() {
        return 0;
    }
    let text: BTreeSet<String> = words::all_words(&fact.fact.text).into_iter().collect();
    let topics: BTreeSet<String> =
        fact.fact.topics.iter().flat_map(|topic| words::all_words(topic)).collect();
    let stands = |word: &String, place: &BTreeSet<String>| {
        place.contains(word) || place.iter().any(|there| words::is_same_word(word, there))
    };
    let points = said.iter().map(|word| match () {
        () if stands(word, &topics) => 3,
        () if stands(word, &text) => 2,
        () => 0,
    });
    points.sum()
}

/// Fit counts most, then importance, then how often it was said again; age takes away.
fn fact_score(fact: &MemoryFact, fit: u32, now: Timestamp) -> u32 {
    let fit = fit.min(20) * 10;
    let importance = u32::from(fact.fact.importance.min(5)) * 6;
    let confirmed = fact.confirmed.min(5) * 3;
    let here = if fact.fact.workspace.is_some() { 5 } else { 0 };
    let months = u32::try_from(now.ms_since(fact.updated) / (30 * DAY_MS)).unwrap_or(u32::MAX);
    (100 + fit + importance + confirmed + here) - months.min(24)
}

/// The same facts give the same order, whatever the store says first.
fn best_first(scored: &mut [(u32, MemoryFact)]) {
    sort_stably(scored, |(a, one), (b, other)| {
        b.cmp(a).then_with(|| other.updated.cmp(&one.updated)).then_with(|| one.id.cmp(&other.id))
    });
}

#[cfg(test)]
mod tests;
