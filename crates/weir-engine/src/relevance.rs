//! Which of some hundred short texts answer a question (K6): facts of the memory, skills, what was said
//! before. By words that are stemmed in the language of each text, and the words that tell most of the best
//! texts; vectors learned from so few texts made it no better (docs/meaning.md). Not here: where the texts
//! come from; the files of a workspace (`ports::MeaningSearch`).

use std::collections::HashSet;

use weir_meaning::{
    MeaningIndex, MeaningQuery, SourceParts, SourceStamp, TextPassage, TrainingSettings,
};

pub use weir_meaning::RankWeights;

/// What places by words and by vectors are worth; measured (docs/meaning.md).
const WEIGHTS: RankWeights = RankWeights { words: 1.0, vectors: 0.0, links: 0.0 };
/// Most texts that are ranked.
const RANKED_MAX: usize = 100;
/// How near a text without any word of the question must be, as a cosine, to answer it at all.
const NEAR_MIN: f32 = 0.4;

/// Texts that a question is asked of.
pub struct TextRelevance {
    index: MeaningIndex,
    weights: RankWeights,
}

impl TextRelevance {
    /// These texts, numbered in their order.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> TextRelevance {
        TextRelevance::with_weights(texts, WEIGHTS)
    }

    /// The same with other weights: for measuring.
    pub fn with_weights<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        weights: RankWeights,
    ) -> TextRelevance {
        let mut index = MeaningIndex::new();
        for (number, text) in texts.into_iter().enumerate() {
            let (headings, text) = (Vec::new(), text.to_owned());
            let passage = TextPassage { headings, line: 1, column: 1, last_line: 1, text };
            let parts = SourceParts { passages: vec![passage], links: Vec::new() };
            // A name that ends in a slash has no title: the number is no word of the text.
            index.put_source(&format!("{number}/"), SourceStamp::default(), &parts);
        }
        if weights.vectors > 0.0 {
            index.train_vectors(&TrainingSettings::default());
        }
        TextRelevance { index, weights }
    }

    /// The numbers of the texts that answer `question`, best first.
    pub fn rank_texts(&mut self, question: &str) -> Vec<usize> {
        let (weights, vector, keep) = (self.weights, None, |_: &str| true);
        let query =
            MeaningQuery { words: question, limit: RANKED_MAX, weights, vector, keep: &keep };
        let mut hits = self.index.find_passages(&query);
        hits.retain(|hit| {
            hit.scores.holds_word || hit.scores.vectors.is_some_and(|near| near >= NEAR_MIN)
        });
        hits.iter().filter_map(|hit| hit.source.trim_end_matches('/').parse().ok()).collect()
    }

    /// The same, and behind them what only another way found, in its order.
    pub fn rank_before(&mut self, question: &str, other: &[usize]) -> Vec<usize> {
        let mut order = self.rank_texts(question);
        let known: HashSet<usize> = order.iter().copied().collect();
        order.extend(other.iter().filter(|at| !known.contains(at)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_texts_are_ranked_by_words_in_any_form() {
        let texts = [
            "The tests run with cargo nextest.",
            "Der Server wird jeden Freitag neu gestartet und die Protokolle werden gelöscht.",
            "12 people linked their notes.",
        ];
        let mut texts = TextRelevance::of_texts(texts);
        assert_eq!(texts.rank_texts("how do I run one test"), [0]);
        assert_eq!(texts.rank_texts("Wann werden die Server gestartet?"), [1]);
        assert_eq!(texts.rank_texts("linking a note"), [2]);
        assert_eq!(texts.rank_before("linking a note", &[2, 0]), [2, 0], "nothing is lost");
        for nothing in ["", "2", "zebra", "?!"] {
            assert_eq!(texts.rank_texts(nothing), [0_usize; 0], "{nothing}");
        }
        assert_eq!(TextRelevance::of_texts([]).rank_texts("a"), [0_usize; 0]);
    }
}
