//! Several ranked lists as one, by the places of each hit (reciprocal rank fusion): scores of different
//! ways cannot be compared, places can.

use std::collections::HashMap;

/// How little the first places stand out. The figure of the paper that introduced the method.
const PLACE_OFFSET: f32 = 60.0;

/// What a place in each list is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankWeights {
    /// Among those found by words.
    pub words: f32,
    /// Among those found by vectors.
    pub vectors: f32,
    /// Among those near in the link graph.
    pub links: f32,
}

impl RankWeights {
    /// What was best where the vectors come from the texts themselves; measured (docs/meaning.md).
    pub const MEASURED: RankWeights = RankWeights { words: 1.0, vectors: 0.3, links: 0.05 };
}

/// Numbers, best first, and what a place among them is worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedList<'a> {
    /// The numbers, each once.
    pub(crate) order: &'a [usize],
    /// What their places are worth beside those of other lists.
    pub(crate) worth: f32,
}

/// A number with the sum of what its places are worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FusedRank {
    /// The number.
    pub(crate) at: usize,
    /// The sum.
    pub(crate) score: f32,
}

/// The fused order of several lists. Best first; of two alike the smaller number.
pub(crate) fn fuse_ranks(lists: &[RankedList<'_>]) -> Vec<FusedRank> {
    let mut scores: HashMap<usize, f32> = HashMap::new();
    for list in lists {
        for (place, at) in list.order.iter().enumerate() {
            *scores.entry(*at).or_default() += list.worth / (PLACE_OFFSET + 1.0 + place as f32);
        }
    }
    let mut fused: Vec<FusedRank> =
        scores.into_iter().map(|(at, score)| FusedRank { at, score }).collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_what_two_lists_name_comes_first() {
        let order = |lists: &[RankedList<'_>]| -> Vec<usize> {
            fuse_ranks(lists).into_iter().map(|rank| rank.at).collect()
        };
        let list = |order, worth| RankedList { order, worth };
        assert_eq!(order(&[list(&[1, 2, 3], 1.0), list(&[4, 3], 1.0)]), [3, 1, 4, 2]);
        assert_eq!(order(&[list(&[1, 2], 0.1), list(&[2, 1], 1.0)]), [2, 1]);
        assert!(order(&[list(&[], 1.0)]).is_empty());
    }
}
