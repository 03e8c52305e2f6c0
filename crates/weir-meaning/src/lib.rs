//! Search by meaning (K6): passages of texts, found by words, by vectors and by links, fused by rank.
//!
//! Pure: texts and vectors come in as values, hits go out. Not here: reading files, asking a model for
//! vectors, keeping an index on a disk (it can be turned to bytes and back: [`MeaningIndex::to_bytes`]).
#![warn(missing_docs)]

mod bytes;
mod fuse;
mod index;
mod language;
mod links;
mod passages;
mod similarity;
mod terms;
mod vectors;
mod words;

pub use fuse::RankWeights;
pub use index::{
    HitScores, MeaningHit, MeaningIndex, MeaningQuery, PassageKey, SourceParts, SourceStamp,
};
pub use passages::{TextPassage, find_passage, split_passages};
pub use similarity::TrainingSettings;
pub use vectors::{FlatVectors, VectorHit};
