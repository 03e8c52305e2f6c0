//! How a question is answered: the passages that its words, its vector and the links name, as one list.
//! Not here: what stands in the index, and how places are added up (`fuse`).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{HitScores, MeaningHit, MeaningIndex, MeaningQuery};
use crate::fuse::{RankedList, fuse_ranks};
use crate::language::TextLanguage;
use crate::links::{LinkGraph, LinkedNote};
use crate::vectors::VectorHit;
use crate::words::{WeightedTerm, WordHit};

/// Hits of each way that are fused.
const FUSED_EACH: usize = 100;
/// Sources at the head of the fused list whose links are followed.
const LINKED_FROM: usize = 10;
/// Share of sources in a language from which on questions are read in it too, in per cent.
const LANGUAGE_SHARE_MIN: usize = 5;
/// Most languages that one question is read in.
const LANGUAGES_MAX: usize = 3;
/// Best passages whose words are looked for too, and how many words of theirs.
const FOLLOWED_PASSAGES: usize = 3;
const FOLLOWED_TERMS: usize = 30;
/// What the first of these words counts beside a word of the question.
const FOLLOWED_WEIGHT: f32 = 0.1;

/// Passages by number, with what a way says of them.
type PassageScores = HashMap<usize, f32>;

impl MeaningIndex {
    /// Passages that answer the question, best first.
    pub fn find_passages(&mut self, query: &MeaningQuery<'_>) -> Vec<MeaningHit> {
        let weights = query.weights;
        let terms = self.question_terms(query.words);
        if weights.links > 0.0 && self.links.is_none() {
            self.links = Some(self.connect_sources());
        }
        let words = if weights.words > 0.0 { self.rank_by_words(query, &terms) } else { vec![] };
        let vectors =
            if weights.vectors > 0.0 { self.rank_by_vectors(query, &terms) } else { vec![] };
        let word_order: Vec<usize> = words.iter().map(|hit| hit.at).collect();
        let vector_order: Vec<usize> = vectors.iter().map(|hit| hit.at).collect();
        let mut lists = vec![
            RankedList { order: &word_order, worth: weights.words },
            RankedList { order: &vector_order, worth: weights.vectors },
        ];
        let best: Vec<usize> = fuse_ranks(&lists).into_iter().map(|rank| rank.at).collect();
        let near = match &self.links {
            Some(links) if weights.links > 0.0 => self.linked_scores(&best, links),
            Some(_) | None => PassageScores::new(),
        };
        // Passages of one source are equally near: among them the order stays.
        let mut link_order: Vec<usize> =
            best.iter().copied().filter(|at| near.contains_key(at)).collect();
        link_order.sort_by(|a, b| near[b].total_cmp(&near[a]));
        lists.push(RankedList { order: &link_order, worth: weights.links });
        let mut ranks = fuse_ranks(&lists);
        ranks.truncate(query.limit);
        let scored = ranks.into_iter().map(|rank| {
            let scores = HitScores {
                holds_word: self.holds_term(rank.at, &terms),
                words: words.iter().find(|hit| hit.at == rank.at).map(|hit| hit.score),
                vectors: vectors.iter().find(|hit| hit.at == rank.at).map(|hit| hit.score),
                links: near.get(&rank.at).copied(),
            };
            self.passage_hit(rank.at, rank.score, scores)
        });
        scored.collect()
    }

    /// Passages that hold the terms of the question, and those that tell most of the best of them.
    fn rank_by_words(&self, query: &MeaningQuery<'_>, terms: &[WeightedTerm]) -> Vec<WordHit> {
        let is_here = |at: usize| self.is_wanted(query, at);
        let found = self.words.rank_passages(terms, FOLLOWED_PASSAGES, &is_here);
        let best: Vec<usize> = found.iter().map(|hit| hit.at).collect();
        self.words.rank_passages(&self.followed_terms(terms, &best), FUSED_EACH, &is_here)
    }

    /// Passages whose vectors are nearest to the one of the question.
    fn rank_by_vectors(&self, query: &MeaningQuery<'_>, terms: &[WeightedTerm]) -> Vec<VectorHit> {
        let is_here = |at: usize| self.is_wanted(query, at);
        let mut found = match query.vector {
            Some(vector) => self.outside.find_nearest(vector, FUSED_EACH, &is_here),
            None => {
                let asked = self.model.as_ref().map(|model| model.embed_terms(terms));
                self.own.find_nearest(&asked.unwrap_or_default(), FUSED_EACH, &is_here)
            }
        };
        found.retain(|hit| hit.score > 0.0);
        found
    }

    fn holds_term(&self, at: usize, terms: &[WeightedTerm]) -> bool {
        // The terms of a passage stand in the order of their numbers.
        let held = &self.passages[at].terms;
        terms.iter().any(|term| held.binary_search_by_key(&term.term, |one| one.term).is_ok())
    }

    fn is_wanted(&self, query: &MeaningQuery<'_>, at: usize) -> bool {
        let source = &self.sources[self.passages[at].source];
        !source.is_gone && (query.keep)(&source.name)
    }

    /// The terms of a question with those that tell most of its best passages: what answers a question
    /// is said in words that the question does not have.
    fn followed_terms(&self, terms: &[WeightedTerm], best: &[usize]) -> Vec<WeightedTerm> {
        let mut told: HashMap<u32, f32> = HashMap::new();
        for (place, at) in best.iter().enumerate() {
            let held = &self.passages[*at].terms;
            let length: f32 = held.iter().map(|term| term.weight).sum();
            for WeightedTerm { term, weight } in held {
                let share = weight / length.max(1.0) * self.words.term_rarity(*term);
                *told.entry(*term).or_default() += share / (1.0 + place as f32);
            }
        }
        let is_new = |term: &u32| terms.iter().all(|asked| asked.term != *term);
        let mut told: Vec<WeightedTerm> = told
            .into_iter()
            .filter(|(term, _)| is_new(term))
            .map(|(term, weight)| WeightedTerm { term, weight })
            .collect();
        told.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        told.truncate(FOLLOWED_TERMS);
        let most = told.first().map_or(1.0, |term| term.weight).max(f32::MIN_POSITIVE);
        let followed = told
            .iter()
            .map(|one| WeightedTerm { weight: FOLLOWED_WEIGHT * one.weight / most, ..*one });
        terms.iter().copied().chain(followed).collect()
    }

    /// How near the found passages are, by links, to the sources of the best of them.
    fn linked_scores(&self, best: &[usize], links: &LinkGraph) -> PassageScores {
        let mut seen = HashSet::new();
        let sources = best.iter().map(|at| self.passages[*at].source);
        let first: Vec<usize> =
            sources.filter(|source| seen.insert(*source)).take(LINKED_FROM).collect();
        let near = links.nearness(&first);
        let score = |at: &usize| near.get(&self.passages[*at].source).map(|score| (*at, *score));
        best.iter().filter_map(score).collect()
    }

    fn connect_sources(&self) -> LinkGraph {
        let here = self.sources.iter().enumerate().filter(|(_, source)| !source.is_gone);
        LinkGraph::connect_notes(here.map(|(number, source)| LinkedNote {
            number,
            name: &source.name,
            targets: &source.links,
        }))
    }

    /// The terms of a question, read in each language that is common here.
    fn question_terms(&mut self, words: &str) -> Vec<WeightedTerm> {
        let mut counts: BTreeMap<TextLanguage, usize> = BTreeMap::new();
        let here = self.sources.iter().filter(|source| !source.is_gone);
        let mut count = 0;
        for source in here {
            *counts.entry(source.language).or_default() += 1;
            count += 1;
        }
        let mut common: Vec<(usize, TextLanguage)> = counts
            .into_iter()
            .filter(|(_, held)| held * 100 >= count * LANGUAGE_SHARE_MIN)
            .map(|(language, held)| (held, language))
            .collect();
        common.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        common.truncate(LANGUAGES_MAX);
        let mut terms: Vec<WeightedTerm> = Vec::new();
        for (_, language) in common {
            let common_words: HashSet<&str> = language.common_words().collect();
            let told: Vec<&str> = words
                .split_whitespace()
                .filter(|word| {
                    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
                    !common_words.contains(bare.as_str())
                })
                .collect();
            // Somebody who looks for nothing but common words looks for these.
            let told = if told.is_empty() { words.to_owned() } else { told.join(" ") };
            let vocabulary = &self.vocabulary;
            self.splitter.split_text(&told, Some(language), &mut |term| {
                let Some(id) = vocabulary.get(term) else { return };
                if terms.iter().all(|known| known.term != *id) {
                    terms.push(WeightedTerm { term: *id, weight: 1.0 });
                }
            });
        }
        terms
    }
}
