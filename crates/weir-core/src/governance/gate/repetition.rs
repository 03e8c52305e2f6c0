//! Refuses the third identical call, and the third similar search, when nothing changed (L6).

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};
use crate::governance::{RECENT_CALLS, RecentCall, same_form};
use crate::tool::Effects;

/// So many calls of one kind are let pass; the next is refused.
const REPETITIONS_MAX: usize = 2;

pub(super) struct RepetitionGate;

impl Gate for RepetitionGate {
    fn name(&self) -> GateName {
        GateName::Repetition
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        if call.inspection.effects.samples.is_some() {
            // A server asks, and not the agent, and how often is bounded where its questions come in.
            return None;
        }
        let skip = context.recent.len().saturating_sub(RECENT_CALLS);
        let same_tool =
            || context.recent.iter().enumerate().skip(skip).filter(|(_, c)| c.tool == call.tool);
        // Fewer are no repetition, whatever they said.
        if same_tool().count() < REPETITIONS_MAX {
            return None;
        }
        let input =
            same_form(call.input, &call.inspection.effects, &context.rules.context().workspace);
        let identical: Vec<_> = same_tool().filter(|(_, c)| c.input == input).collect();
        if is_repetition(&identical, context) {
            return Some(denying_opinion(
                self,
                Some("the third identical call".into()),
                format!(
                    "This is call {} of {} with the same arguments, and nothing changed in \
                     between, so the answer will be the same. Use the result you have, or try \
                     something else: other arguments, another tool, or answer with what you know.",
                    identical.len() + 1,
                    call.tool
                ),
            ));
        }
        let words = search_words(&call.inspection.effects);
        if words.is_empty() {
            return None;
        }
        let similar: Vec<_> = same_tool().filter(|(_, c)| is_similar(&c.words, &words)).collect();
        is_repetition(&similar, context).then(|| {
            denying_opinion(
                self,
                Some("the third similar search".into()),
                format!(
                    "This is search {} for nearly the same words with {}, and nothing changed in \
                     between. Use what was found, or search for something different.",
                    similar.len() + 1,
                    call.tool
                ),
            )
        })
    }
}

/// Whether so many `earlier` calls of the same kind count that one more is a repetition.
fn is_repetition(earlier: &[(usize, &RecentCall)], context: &GateContext<'_>) -> bool {
    // What a call of this kind changed itself is no reason to make it again.
    let unchanged = |from: usize| {
        let (_, first) = earlier[from];
        let own = earlier[from..].iter().filter(|(_, c)| c.changed).count() as u64;
        context.changes.saturating_sub(first.changes_before) <= own
    };
    let count = (0..earlier.len()).filter(|from| unchanged(*from)).count();
    if count < REPETITIONS_MAX {
        return false;
    }
    let mut results = earlier.iter().rev().filter_map(|(_, c)| c.result.as_deref());
    let poll = earlier.last().is_some_and(|(_, c)| c.poll);
    let differed = match (results.next(), results.next()) {
        (Some(last), Some(before)) => last != before,
        (_, None) | (None, _) => false,
    };
    !(poll && differed)
}

/// The words that a call searches for: lower case, sorted, each once.
pub fn search_words(effects: &Effects) -> Vec<String> {
    let mut words: Vec<String> = effects
        .searches
        .iter()
        .flat_map(|query| query.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Whether two sorted sets of words have a Jaccard similarity above one half.
pub fn is_similar(a: &[String], b: &[String]) -> bool {
    let common = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
    let all = a.len() + b.len() - common;
    all > 0 && common * 2 > all
}
