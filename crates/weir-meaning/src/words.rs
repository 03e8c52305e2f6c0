//! Which passages hold which terms, and how well they fit a question (BM25). Not here: what a term is.

use std::collections::HashMap;

/// How soon further occurrences of a term count for nothing.
const SATURATION: f32 = 1.2;
/// How much longer passages are held back.
const LENGTH_SHARE: f32 = 0.75;

/// A term of a passage and how much it counts there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightedTerm {
    pub(crate) term: u32,
    pub(crate) weight: f32,
}

/// A passage and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WordHit {
    pub(crate) at: usize,
    pub(crate) score: f32,
}

/// Passages by their terms.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordIndex {
    postings: Vec<Vec<(u32, f32)>>,
    lengths: Vec<f32>,
    total: f64,
}

impl WordIndex {
    /// Adds the next passage.
    pub(crate) fn push(&mut self, terms: &[WeightedTerm]) {
        let passage = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut length = 0.0;
        for WeightedTerm { term, weight } in terms {
            let term = *term as usize;
            if self.postings.len() <= term {
                self.postings.resize_with(term + 1, Vec::new);
            }
            self.postings[term].push((passage, *weight));
            length += weight;
        }
        self.total += f64::from(length);
        self.lengths.push(length);
    }

    /// How much a term tells: the fewer passages hold it, the more.
    pub(crate) fn term_rarity(&self, term: u32) -> f32 {
        let count = self.lengths.len() as f32;
        let holders = self.postings.get(term as usize).map_or(0.0, |held| held.len() as f32);
        (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln()
    }

    /// Passages that hold one of `terms` and that `keep` lets through, best first.
    pub(crate) fn rank_passages(
        &self,
        terms: &[WeightedTerm],
        limit: usize,
        keep: &dyn Fn(usize) -> bool,
    ) -> Vec<WordHit> {
        let count = self.lengths.len() as f32;
        let average = ((self.total / f64::from(count.max(1.0))) as f32).max(1.0);
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for WeightedTerm { term, weight: asked } in terms {
            let Some(held) = self.postings.get(*term as usize) else { continue };
            let rarity = self.term_rarity(*term);
            for (passage, weight) in held {
                let length = self.lengths[*passage as usize] / average;
                let held_back = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length);
                let fit = asked * rarity * weight * (SATURATION + 1.0) / (weight + held_back);
                *scores.entry(*passage).or_default() += fit;
            }
        }
        let mut found: Vec<WordHit> = scores
            .into_iter()
            .map(|(passage, score)| WordHit { at: passage as usize, score })
            .filter(|hit| keep(hit.at))
            .collect();
        let order = |a: &WordHit, b: &WordHit| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at));
        if found.len() > limit && limit > 0 {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_by(order);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_rare_terms_count_more_and_long_passages_less() {
        let mut index = WordIndex::default();
        let of = |term, weight| WeightedTerm { term, weight };
        index.push(&[of(0, 1.0), of(1, 1.0)]);
        index.push(&[of(0, 1.0), of(2, 8.0)]);
        index.push(&[of(0, 1.0), of(2, 1.0)]);
        let found = |terms: &[u32]| -> Vec<usize> {
            let terms: Vec<WeightedTerm> = terms.iter().map(|term| of(*term, 1.0)).collect();
            index.rank_passages(&terms, 9, &|_| true).into_iter().map(|hit| hit.at).collect()
        };
        assert_eq!(found(&[0, 1])[0], 0);
        assert_eq!(found(&[0]), [0, 2, 1]);
        assert_eq!(found(&[7]), [0_usize; 0]);
        assert_eq!(index.rank_passages(&[of(0, 1.0)], 1, &|at| at != 0).len(), 1);
    }
}
