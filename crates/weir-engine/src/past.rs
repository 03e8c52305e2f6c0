//! What was said and done in a session, found again (X4, K6): the index of words names passages, and they
//! are put in order by how well they answer. Not here: how the tool shows them, and the index itself.

use std::collections::{BTreeSet, HashSet};

use crate::excerpt::text_around;
use crate::ports::{Passage, RecallQuery, Store, StoreError};
use crate::relevance::TextRelevance;

/// Passages that the index of words names, best first, and that are compared with each other: what is told
/// of them is a tenth, and comparing takes some milliseconds (Q16).
const BY_WORDS_MAX: usize = 100;
/// The newest passages, which may hold the words in another form, where words bring too few.
const NEWEST_MAX: usize = 100;

/// Passages that fit `query`, best first; without words the newest.
///
/// # Errors
/// The store cannot be read.
pub async fn recall_passages(
    store: &dyn Store,
    query: RecallQuery,
) -> Result<Vec<Passage>, StoreError> {
    let words: BTreeSet<String> = query
        .words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() || query.limit == 0 {
        return store.recall(&query).await;
    }
    let by_words =
        RecallQuery { limit: query.limit.max(BY_WORDS_MAX), to_compare: true, ..query.clone() };
    let mut passages = store.recall(&by_words).await?;
    let named: Vec<usize> = (0..passages.len()).collect();
    if passages.len() < query.limit {
        let newest = RecallQuery { words: String::new(), limit: NEWEST_MAX, ..by_words };
        let known: HashSet<(String, u64, String)> = passages.iter().map(passage_key).collect();
        let newest = store.recall(&newest).await?.into_iter();
        passages.extend(newest.filter(|passage| !known.contains(&passage_key(passage))));
    }
    let order = {
        let texts = passages.iter().map(|passage| passage.text.as_str());
        TextRelevance::of_texts(texts).rank_before(&query.words, &named)
    };
    let mut passages: Vec<Option<Passage>> = passages.into_iter().map(Some).collect();
    let found = order.into_iter().filter_map(|at| passages.get_mut(at)?.take());
    let shown = found.take(query.limit).map(|passage| match query.to_compare {
        true => passage,
        false => Passage { text: text_around(&passage.text, &words), ..passage },
    });
    Ok(shown.collect())
}

/// A fact may have several passages.
fn passage_key(passage: &Passage) -> (String, u64, String) {
    (passage.session.to_string(), passage.seq, passage.text.clone())
}
