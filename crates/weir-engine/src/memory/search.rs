//! The order of facts that a search of the memory brings (K6): what their words and their weight say, and
//! how relevant they are. Not here: which facts are looked at, and what is told with a message.

use std::collections::HashMap;

use weir_core::ids::MemoryId;
use weir_core::memory::{self, FactQuery, MemoryFact};

use crate::relevance::TextRelevance;

/// Facts that answer the words of `query`, best first; without words all of them, the weightiest and
/// newest first.
pub fn rank_facts(facts: Vec<MemoryFact>, query: &FactQuery<'_>) -> Vec<MemoryFact> {
    if query.said.trim().is_empty() {
        return memory::search_facts(facts, query);
    }
    let usable = memory::usable_facts(facts, query);
    let numbers: HashMap<MemoryId, usize> =
        usable.iter().map(|fact| fact.id.clone()).zip(0..).collect();
    let by_points = memory::search_facts(usable.clone(), query);
    let by_points: Vec<usize> =
        by_points.iter().filter_map(|fact| numbers.get(&fact.id).copied()).collect();
    let texts: Vec<String> = usable.iter().map(fact_text).collect();
    let mut texts = TextRelevance::of_texts(texts.iter().map(String::as_str));
    let order = texts.rank_before(query.said, &by_points);
    let mut usable: Vec<Option<MemoryFact>> = usable.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| usable.get_mut(at)?.take()).collect()
}

/// What a fact is found by.
fn fact_text(fact: &MemoryFact) -> String {
    let topics = fact.fact.topics.join(", ");
    format!("{}\n{topics}", fact.fact.text)
}

#[cfg(test)]
mod tests {
    use weir_core::governance::label::Label;
    use weir_core::ids::Timestamp;
    use weir_core::memory::{MemoryKind, MemorySource, MemoryStatus, NewMemory};

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

    fn fact(text: &str, importance: u8, status: MemoryStatus) -> MemoryFact {
        MemoryFact {
            id: MemoryId::new(format!("id of {text}")),
            fact: NewMemory {
                text: text.into(),
                kind: MemoryKind::Project,
                topics: Vec::new(),
                importance,
                workspace: None,
                source: MemorySource::default(),
                label: Label::default(),
                status,
                supersedes: None,
            },
            confirmed: 0,
            superseded_by: None,
            created: NOW,
            updated: NOW,
        }
    }

    #[test]
    fn k6_facts_are_found_in_any_form_of_their_words() {
        let facts = [
            fact("Deployments happen on Fridays.", 3, MemoryStatus::Kept),
            fact("The libraries are vendored.", 5, MemoryStatus::Kept),
            fact("Deploying is forbidden in August.", 3, MemoryStatus::Forgotten),
        ];
        let texts = |said: &str| -> Vec<String> {
            let query = FactQuery { said, workspace: "/w", now: NOW };
            let found = rank_facts(facts.to_vec(), &query);
            found.into_iter().map(|fact| fact.fact.text).collect()
        };
        assert_eq!(texts("when do we deploy"), ["Deployments happen on Fridays."]);
        assert_eq!(texts("which library"), ["The libraries are vendored."]);
        assert_eq!(texts("zebra"), [""; 0]);
        let all = ["The libraries are vendored.", "Deployments happen on Fridays."];
        assert_eq!(texts(" "), all, "the weightiest first");
    }
}
