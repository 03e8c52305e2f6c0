//! The index: sources (notes, facts, skills) as passages, with their words, vectors and links. Not here:
//! how a question is answered (`search`), where texts come from and where the index is kept.

use std::collections::{BTreeMap, HashMap};

use crate::fuse::RankWeights;
use crate::language::{TextLanguage, detect_language};
use crate::links::{LinkGraph, link_targets};
use crate::passages::{TextPassage, split_passages};
use crate::similarity::{SimilarityModel, TrainingSettings};
use crate::terms::TermSplitter;
use crate::vectors::FlatVectors;
use crate::words::{WeightedTerm, WordIndex};

mod search;

/// Share of changed passages from which on the vectors are learned anew, in per cent.
const CHANGED_SHARE_MAX: usize = 20;
/// Share of passages that are gone from which on the index is made anew, in per cent.
const GONE_SHARE_MAX: usize = 30;
/// What tells whether a source is still as it was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceStamp {
    /// Its length.
    pub bytes: u64,
    /// When its content was changed last, as it says itself, in seconds since 1970.
    pub modified: i64,
    /// When anything of it was changed last, in nanoseconds since 1970; 0: nobody knows.
    pub changed_ns: i64,
    /// A digest of its content.
    pub digest: u64,
}

/// What of a source is indexed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceParts {
    /// Its passages.
    pub passages: Vec<TextPassage>,
    /// The notes that it links to, as `link_targets` names them.
    pub links: Vec<String>,
}

impl SourceParts {
    /// Those of a note in Markdown, or of plain text.
    pub fn of_text(text: &str) -> SourceParts {
        SourceParts { passages: split_passages(text), links: link_targets(text) }
    }
}

/// A question.
#[derive(Clone, Copy)]
pub struct MeaningQuery<'a> {
    /// What is looked for, in words.
    pub words: &'a str,
    /// At most so many hits.
    pub limit: usize,
    /// What the places of each way are worth; 0: it is not gone.
    pub weights: RankWeights,
    /// The question as a vector of the model whose vectors were given; none: those of the texts.
    pub vector: Option<&'a [f32]>,
    /// Which sources may be found.
    pub keep: &'a dyn Fn(&str) -> bool,
}

/// What each way says of a hit; none: it did not find it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HitScores {
    /// It holds a word of the question itself.
    pub holds_word: bool,
    /// How well its words fit (BM25).
    pub words: Option<f32>,
    /// How near its vector is: the cosine.
    pub vectors: Option<f32>,
    /// How near it is to the best hits in the link graph.
    pub links: Option<f32>,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MeaningHit {
    /// The source.
    pub source: String,
    /// Its place among the passages of the source, from 0 on.
    pub number: usize,
    /// Its digest, as [`TextPassage::text_digest`] says it.
    pub digest: u64,
    /// Headings above the passage.
    pub headings: Vec<String>,
    /// Its first line, from 1 on.
    pub line: usize,
    /// Its last line.
    pub last_line: usize,
    /// The fused score: comparable within one answer only.
    pub score: f32,
    /// What led to it.
    pub scores: HitScores,
}

/// What a passage is found again by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageKey<'a> {
    /// The source.
    pub source: &'a str,
    /// Its place among the passages of the source, from 0 on.
    pub number: usize,
    /// Its digest, as [`TextPassage::text_digest`] says it.
    pub digest: u64,
}

/// A source in the index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexedSource {
    pub(crate) name: String,
    pub(crate) stamp: SourceStamp,
    pub(crate) language: TextLanguage,
    pub(crate) links: Vec<String>,
    /// Passages `first..end`.
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) is_gone: bool,
}

/// A passage in the index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexedPassage {
    pub(crate) source: usize,
    pub(crate) line: usize,
    pub(crate) last_line: usize,
    pub(crate) digest: u64,
    pub(crate) headings: Vec<String>,
    pub(crate) terms: Vec<WeightedTerm>,
}

/// The index.
#[derive(Default)]
pub struct MeaningIndex {
    pub(crate) vocabulary: HashMap<String, u32>,
    pub(crate) sources: Vec<IndexedSource>,
    pub(crate) passages: Vec<IndexedPassage>,
    pub(crate) model: Option<SimilarityModel>,
    /// Passages that came or went since the model was learned.
    pub(crate) changed: usize,
    by_name: HashMap<String, usize>,
    words: WordIndex,
    own: FlatVectors,
    /// Vectors of a model from outside, in the order of the passages.
    outside: FlatVectors,
    splitter: TermSplitter,
    /// Made when it is needed.
    links: Option<LinkGraph>,
    gone: usize,
}

impl MeaningIndex {
    /// An empty index.
    pub fn new() -> MeaningIndex {
        MeaningIndex::default()
    }

    /// Names of the sources that are in it, with their stamps.
    pub fn source_stamps(&self) -> impl Iterator<Item = (&str, SourceStamp)> {
        let here = self.sources.iter().filter(|source| !source.is_gone);
        here.map(|source| (source.name.as_str(), source.stamp))
    }

    /// How many passages can be found.
    pub fn passage_count(&self) -> usize {
        self.passages.len() - self.gone
    }

    /// The stamp of a source.
    pub fn source_stamp(&self, name: &str) -> Option<SourceStamp> {
        self.by_name.get(name).map(|at| self.sources[*at].stamp)
    }

    /// Notes that a source was looked at and is what it was.
    pub fn replace_stamp(&mut self, name: &str, stamp: SourceStamp) {
        if let Some(at) = self.by_name.get(name) {
            self.sources[*at].stamp = stamp;
        }
    }

    /// Puts a source in, in place of what had its name.
    pub fn put_source(&mut self, name: &str, stamp: SourceStamp, parts: &SourceParts) {
        self.remove_source(name);
        self.links = None;
        let SourceParts { passages, links } = parts;
        let all: String = passages.iter().map(|p| p.text.as_str()).take(4).collect();
        // A text that is too short to tell is read as English, whose stemmer changes least.
        let language = detect_language(&all).unwrap_or(TextLanguage::English);
        let (source, first) = (self.sources.len(), self.passages.len());
        for passage in passages {
            let terms = self.passage_terms(name, passage, language);
            let indexed = IndexedPassage {
                source,
                line: passage.line,
                last_line: passage.last_line,
                digest: passage.text_digest(),
                headings: passage.headings.clone(),
                terms,
            };
            self.index_passage(&indexed.terms);
            self.passages.push(indexed);
        }
        let end = self.passages.len();
        self.changed += end - first;
        self.by_name.insert(name.to_owned(), source);
        let (name, links) = (name.to_owned(), links.clone());
        let source = IndexedSource { name, stamp, language, links, first, end, is_gone: false };
        self.sources.push(source);
    }

    /// Takes a source out; whether it was there.
    pub fn remove_source(&mut self, name: &str) -> bool {
        let Some(at) = self.by_name.remove(name) else { return false };
        let source = &mut self.sources[at];
        source.is_gone = true;
        self.links = None;
        let count = source.end - source.first;
        self.gone += count;
        self.changed += count;
        true
    }

    /// All passages that can be found: a model from outside makes vectors of them.
    pub fn passage_keys(&self) -> impl Iterator<Item = PassageKey<'_>> {
        let here = self.sources.iter().filter(|source| !source.is_gone);
        here.flat_map(|source| {
            let passages = self.passages[source.first..source.end].iter().enumerate();
            let source = source.name.as_str();
            passages.map(move |(number, p)| PassageKey { source, number, digest: p.digest })
        })
    }

    /// Takes the vectors that a model from outside made, by the digest of their text. A passage without
    /// one is not found by vectors. They hold until sources change.
    pub fn set_outside_vectors<'a>(
        &mut self,
        dims: usize,
        vector_of: &dyn Fn(u64) -> Option<&'a [f32]>,
    ) {
        self.outside = FlatVectors::new(dims);
        for passage in &self.passages {
            self.outside.push(vector_of(passage.digest).unwrap_or_default());
        }
    }

    /// Learns the vectors anew where enough has changed, and drops what is gone. Cheap where nothing
    /// is to be done.
    pub fn refresh_vectors(&mut self, settings: &TrainingSettings) {
        if self.gone * 100 > self.passages.len() * GONE_SHARE_MAX {
            self.drop_gone();
        }
        let stale = self.changed * 100 > self.passages.len() * CHANGED_SHARE_MAX;
        if stale {
            self.train_vectors(settings);
        }
    }

    /// Learns the vectors from what is there.
    pub fn train_vectors(&mut self, settings: &TrainingSettings) {
        let sources = &self.sources;
        let here = self.passages.iter().filter(|passage| !sources[passage.source].is_gone);
        let terms: Vec<&[WeightedTerm]> = here.map(|passage| passage.terms.as_slice()).collect();
        self.model = SimilarityModel::train_model(&terms, settings);
        self.changed = 0;
        self.embed_passages();
    }

    fn passage_hit(&self, at: usize, score: f32, scores: HitScores) -> MeaningHit {
        let passage = &self.passages[at];
        let source = &self.sources[passage.source];
        MeaningHit {
            source: source.name.clone(),
            number: at - source.first,
            digest: passage.digest,
            headings: passage.headings.clone(),
            line: passage.line,
            last_line: passage.last_line,
            score,
            scores,
        }
    }

    fn passage_terms(
        &mut self,
        name: &str,
        passage: &TextPassage,
        language: TextLanguage,
    ) -> Vec<WeightedTerm> {
        let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
        let MeaningIndex { vocabulary, splitter, .. } = self;
        let mut add = |text: &str, weight: f32| {
            splitter.split_text(text, Some(language), &mut |term| {
                let next = u32::try_from(vocabulary.len()).unwrap_or(u32::MAX);
                let id = match vocabulary.get(term) {
                    Some(id) => *id,
                    None => *vocabulary.entry(term.to_owned()).or_insert(next),
                };
                *counts.entry(id).or_default() += weight;
            });
        };
        add(&passage.text, 1.0);
        passage.headings.iter().for_each(|heading| add(heading, 1.0));
        add(title_of(name), 1.0);
        counts.into_iter().map(|(term, weight)| WeightedTerm { term, weight }).collect()
    }

    /// Adds the next passage to words and vectors.
    fn index_passage(&mut self, terms: &[WeightedTerm]) {
        self.words.push(terms);
        if let Some(model) = &self.model {
            self.own.push(&model.embed_terms(terms));
        }
    }

    fn embed_passages(&mut self) {
        let Some(model) = &self.model else {
            self.own = FlatVectors::default();
            return;
        };
        self.own = FlatVectors::new(model.dims);
        for passage in &self.passages {
            self.own.push(&model.embed_terms(&passage.terms));
        }
    }

    /// Makes the index anew of what is not gone.
    fn drop_gone(&mut self) {
        let sources = std::mem::take(&mut self.sources);
        let mut passages = std::mem::take(&mut self.passages);
        self.outside = FlatVectors::default();
        self.by_name.clear();
        self.words = WordIndex::default();
        self.own = FlatVectors::default();
        self.gone = 0;
        self.links = None;
        for source in sources.into_iter().filter(|source| !source.is_gone) {
            let (at, first) = (self.sources.len(), self.passages.len());
            for moved in &mut passages[source.first..source.end] {
                let passage = IndexedPassage {
                    source: at,
                    line: moved.line,
                    last_line: moved.last_line,
                    digest: moved.digest,
                    headings: std::mem::take(&mut moved.headings),
                    terms: std::mem::take(&mut moved.terms),
                };
                self.words.push(&passage.terms);
                self.passages.push(passage);
            }
            self.by_name.insert(source.name.clone(), at);
            self.sources.push(IndexedSource { first, end: self.passages.len(), ..source });
        }
        self.embed_passages();
    }

    /// Fills what follows from sources, passages, vocabulary and model.
    pub(crate) fn fill_derived(&mut self) {
        self.words = WordIndex::default();
        self.passages.iter().for_each(|passage| self.words.push(&passage.terms));
        let named = self.sources.iter().enumerate();
        self.by_name = named.map(|(at, source)| (source.name.clone(), at)).collect();
        self.embed_passages();
    }
}

/// The last part of a path, without its ending.
fn title_of(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

#[cfg(test)]
mod tests;
