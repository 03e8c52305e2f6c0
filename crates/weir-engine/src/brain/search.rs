//! Entries of the brain that answer a question (K6, K12): passages by their words, by vectors that are
//! learned from the entries themselves where these are enough, and by the links from entry to entry,
//! fused by rank. Not here: where the entries come from, and who may find them.

use std::collections::HashMap;

use weir_core::brain::{self, BrainEntry};
use weir_meaning::{
    MeaningHit, MeaningIndex, MeaningQuery, RankWeights, SourceParts, SourceStamp, TextPassage,
    TrainingSettings, find_passage,
};

use crate::ports::BrainHit;

/// Passages of one entry that may fill the list before another entry comes.
const PASSAGES_PER_ENTRY: usize = 8;
/// From so many passages on vectors that are learned from them say something (docs/meaning.md), …
const TRAINED_MIN: usize = 50;
/// … and up to so many they are learned while somebody waits.
const TRAINED_MAX: usize = 2_000;
/// How near a passage without any word of the question must be, as a cosine, to answer it at all.
const NEAR_MIN: f32 = 0.4;

/// The entries that answer `words`, best first, at most `limit`; each with its best passage. Without
/// words all of them in their order, each with its beginning. Takes up to a second over thousands of
/// passages: call it on a blocking thread.
pub fn search_entries(entries: Vec<BrainEntry>, words: &str, limit: usize) -> Vec<BrainHit> {
    if words.trim().is_empty() {
        let first = |entry: BrainEntry| BrainHit {
            passage: entry.text.clone(),
            entry,
            headings: Vec::new(),
            line: 1,
            words: None,
            vectors: None,
            links: None,
        };
        return entries.into_iter().take(limit).map(first).collect();
    }
    // By these names they link to each other, and the titles are found.
    let names = brain::file_names(&entries);
    let parts: Vec<SourceParts> = entries.iter().map(entry_parts).collect();
    let mut index = MeaningIndex::new();
    for (name, parts) in names.iter().zip(&parts) {
        index.put_source(name, SourceStamp::default(), parts);
    }
    let trains = (TRAINED_MIN..=TRAINED_MAX).contains(&index.passage_count());
    if trains {
        index.train_vectors(&TrainingSettings::default());
    }
    let vectors = if trains { RankWeights::MEASURED.vectors } else { 0.0 };
    let keep = |_: &str| true;
    let query = MeaningQuery {
        words,
        limit: limit.saturating_mul(PASSAGES_PER_ENTRY),
        weights: RankWeights { vectors, ..RankWeights::MEASURED },
        vector: None,
        keep: &keep,
    };
    let hits = index.find_passages(&query);
    let numbers: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut left: Vec<Option<BrainEntry>> = entries.into_iter().map(Some).collect();
    let answers = |hit: &&MeaningHit| {
        hit.scores.holds_word || hit.scores.vectors.is_some_and(|near| near >= NEAR_MIN)
    };
    let found = hits.iter().filter(answers).filter_map(|hit| {
        let at = *numbers.get(hit.source.as_str())?;
        // The first passage of an entry is its best; a later one finds it gone.
        let entry = left.get_mut(at)?.take()?;
        Some(entry_hit(entry, hit, parts.get(at)?))
    });
    found.take(limit).collect()
}

fn entry_hit(entry: BrainEntry, hit: &MeaningHit, parts: &SourceParts) -> BrainHit {
    let passage = find_passage(&parts.passages, hit.number, hit.digest);
    BrainHit {
        passage: passage.map_or_else(|| entry.text.clone(), |passage| passage.text.clone()),
        entry,
        headings: hit.headings.clone(),
        line: hit.line,
        words: hit.scores.words,
        vectors: hit.scores.vectors,
        links: hit.scores.links,
    }
}

/// What of an entry is found: the passages of its text, and its topics as one more.
fn entry_parts(entry: &BrainEntry) -> SourceParts {
    let mut parts = SourceParts::of_text(&entry.text);
    let topics = entry.topics.join(", ");
    if !topics.is_empty() || parts.passages.is_empty() {
        let text = if topics.is_empty() { entry.title.clone() } else { topics };
        let headings = Vec::new();
        parts.passages.push(TextPassage { headings, line: 1, column: 1, last_line: 1, text });
    }
    parts
}

#[cfg(test)]
mod tests {
    use weir_core::brain::{BrainEntryKind, BrainEntryState, BrainOrigin};
    use weir_core::ids::{BrainEntryId, Timestamp};
    use weir_core::label::Label;

    use super::*;

    fn entry(title: &str, text: &str, topics: &[&str]) -> BrainEntry {
        BrainEntry {
            id: BrainEntryId::new(title),
            title: title.into(),
            text: text.into(),
            kind: BrainEntryKind::Note,
            origin: BrainOrigin::default(),
            topics: topics.iter().map(ToString::to_string).collect(),
            label: Label::default(),
            created: Timestamp(1),
            changed: Timestamp(1),
            state: BrainEntryState::Active,
            version: 1,
        }
    }

    fn titles(words: &str, limit: usize) -> Vec<String> {
        let entries = vec![
            entry("Tide tables", "# Harbour\n\nHigh water comes at six.", &[]),
            entry("Rope", "Ten metres, bought in May.", &["boat", "shopping"]),
            entry("Hafen", "Die Boote liegen am Steg und werden im Herbst gehoben.", &[]),
            entry("Empty heading", "# Nothing below", &[]),
        ];
        search_entries(entries, words, limit).into_iter().map(|hit| hit.entry.title).collect()
    }

    #[test]
    fn k12_entries_are_found_by_text_title_topic_and_form() {
        assert_eq!(titles("when is the water high", 5), ["Tide tables"]);
        assert_eq!(titles("tables", 5), ["Tide tables"], "by its title");
        assert_eq!(titles("shopping", 5), ["Rope"], "by a topic");
        assert_eq!(titles("Welches Boot wird gehoben?", 1), ["Hafen"]);
        assert_eq!(titles("empty", 5), ["Empty heading"]);
        assert_eq!(titles("zebra", 5), [""; 0]);
        assert_eq!(titles(" ", 2), ["Tide tables", "Rope"], "without words in their order");
    }

    #[test]
    fn k12_a_hit_names_its_passage() {
        let text = "# Harbour\n\nOpen.\n\n## Tides\n\nHigh water comes at six.";
        let found = search_entries(vec![entry("Sea", text, &[])], "high water", 5);
        let [hit] = &found[..] else { panic!("one entry once: {found:?}") };
        assert_eq!(hit.headings, ["Harbour", "Tides"]);
        assert_eq!((hit.line, hit.passage.as_str()), (7, "High water comes at six."));
        assert!(hit.words.is_some());
    }
}
