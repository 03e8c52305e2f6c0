//! Facts, proposals and recall of the store in memory: the same contract as in the database, by
//! looking at everything.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::ids::{CallId, MemoryId, SessionId, Timestamp};
use weir_core::memory::{
    DecidedFact, MemoryDecision, MemoryFact, MemoryOutcome, MemoryStatus, NewMemory,
    decide_about_fact, edited_fact_id, first_said, id_of, said_again, settle_fact, takes_place,
};
use weir_core::sorting::sort_stably;
use weir_engine::ports::{
    IndexedText, MemoryFilter, Passage, Proposal, RecallQuery, StoreError, StoredItem,
};

use super::MemorySession;
use crate::journal::{check_inbox, check_proposals};
use crate::words::{SearchWords, split_tokens, text_around};

/// How fast a word that stands several times in a text stops counting; and how much a long text
/// counts against it: the usual constants of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Who said a fact.
type MemoryFactSource = (MemoryId, SessionId, Option<CallId>);

/// What is known beyond one session.
#[derive(Default)]
pub(super) struct KnowledgeTables {
    facts: BTreeMap<MemoryId, MemoryFact>,
    said: BTreeSet<MemoryFactSource>,
    proposals: BTreeMap<(String, String), Proposal>,
    kept: BTreeMap<(String, String), StoredItem>,
}

impl KnowledgeTables {
    pub(super) fn remember_fact(
        &mut self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        let id = id_of(&new.text, new.workspace.as_deref());
        let sayer = new.source.session.clone().map(|s| (id.clone(), s, new.source.call));
        let repeated = sayer.as_ref().is_some_and(|sayer| self.said.contains(sayer));
        let fact = match self.facts.get(&id) {
            Some(old) if repeated => return Ok(old.clone()),
            Some(old) => said_again(old, new, now),
            None => {
                let waiting = |fact: &&MemoryFact| fact.fact.status == MemoryStatus::Proposed;
                check_inbox(new.status, self.facts.values().filter(waiting).count())?;
                first_said(new, now)
            }
        };
        self.said.extend(sayer);
        self.facts.insert(id, fact.clone());
        if new.supersedes.is_some() && new.supersedes == fact.fact.supersedes {
            self.supersede_older(&fact, now, false);
        }
        Ok(fact)
    }

    fn supersede_older(&mut self, fact: &MemoryFact, now: Timestamp, by_person: bool) {
        let Some(older) = fact.fact.supersedes.as_ref().and_then(|id| self.facts.get_mut(id))
        else {
            return;
        };
        if takes_place(fact, older, by_person) {
            *older = settle_fact(older, MemoryStatus::Superseded, now);
            older.superseded_by = Some(fact.id.clone());
        }
    }

    pub(super) fn settle_fact(
        &mut self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> MemoryOutcome {
        let Some(old) = self.facts.get(id) else { return MemoryOutcome::Missing };
        let same = edited_fact_id(old, decision).and_then(|id| self.facts.get(&id));
        let Some(decided) = decide_about_fact(old, same, decision, now) else {
            return MemoryOutcome::Changed(Box::new(old.clone()));
        };
        let DecidedFact { fact, replaced } = decided;
        self.facts.extend(replaced.map(|replaced| (replaced.id.clone(), replaced)));
        self.facts.insert(fact.id.clone(), fact.clone());
        self.supersede_older(&fact, now, true);
        MemoryOutcome::Settled(Box::new(fact))
    }

    pub(super) fn list_facts(&self, filter: &MemoryFilter) -> Vec<MemoryFact> {
        let words = SearchWords::parse_question(&filter.words).word_tokens();
        if words.is_empty() && !filter.words.trim().is_empty() {
            return Vec::new();
        }
        let fits = |fact: &&MemoryFact| {
            let about = fact.fact.workspace.as_ref();
            (filter.statuses.is_empty() || filter.statuses.contains(&fact.fact.status))
                && filter.workspace.as_ref().is_none_or(|here| about.is_none_or(|w| w == here))
        };
        let found: Vec<&MemoryFact> = self.facts.values().filter(fits).collect();
        let texts = found.iter().map(|fact| {
            split_tokens(&fact.fact.text)
                .chain(fact.fact.topics.iter().flat_map(|t| split_tokens(t)))
                .collect()
        });
        let scores = bm25_scores(&texts.collect::<Vec<_>>(), &words);
        let mut ranked: Vec<(f64, &MemoryFact)> = scores.into_iter().zip(found).collect();
        ranked.retain(|(score, _)| words.is_empty() || *score > 0.0);
        sort_stably(&mut ranked, |(a, one), (b, two)| {
            b.total_cmp(a).then(two.updated.cmp(&one.updated)).then(one.id.cmp(&two.id))
        });
        let limit = filter.limit.unwrap_or(usize::MAX);
        ranked.into_iter().take(limit).map(|(_, fact)| fact.clone()).collect()
    }

    pub(super) fn add_proposal(&mut self, proposal: &Proposal) -> Result<(), StoreError> {
        let key = (proposal.what.clone(), proposal.name.clone());
        if !self.proposals.contains_key(&key) {
            let waiting = self.proposals.keys().filter(|(what, _)| *what == proposal.what).count();
            check_proposals(&proposal.what, waiting)?;
        }
        self.proposals.insert(key, proposal.clone());
        Ok(())
    }

    pub(super) fn list_proposals(&self, what: &str) -> Vec<Proposal> {
        let waiting = self.proposals.values().filter(|proposal| proposal.what == what);
        let mut waiting: Vec<Proposal> = waiting.cloned().collect();
        sort_stably(&mut waiting, |a, b| (a.ts, &a.name).cmp(&(b.ts, &b.name)));
        waiting
    }

    pub(super) fn withdraw_proposal(&mut self, what: &str, name: &str) -> bool {
        self.proposals.remove(&(what.to_string(), name.to_string())).is_some()
    }

    pub(super) fn save_definition(&mut self, kept: &StoredItem) -> StoredItem {
        let key = (kept.what.clone(), kept.name.clone());
        let mut kept = kept.clone();
        kept.version = self
            .kept
            .get(&key)
            .map_or(1, |old| old.version.saturating_add(u32::from(old.text != kept.text)));
        self.kept.insert(key, kept.clone());
        kept
    }

    /// The same where what is there has `version`; 0: where nothing is. `None`: it is not so.
    pub(super) fn replace_definition(
        &mut self,
        kept: &StoredItem,
        version: u32,
    ) -> Option<StoredItem> {
        let key = (kept.what.clone(), kept.name.clone());
        let there = self.kept.get(&key).map_or(0, |old| old.version);
        if there != version {
            return None;
        }
        let kept = StoredItem { version: version.saturating_add(1), ..kept.clone() };
        self.kept.insert(key, kept.clone());
        Some(kept)
    }

    pub(super) fn find_definition(&self, what: &str, name: &str) -> Option<StoredItem> {
        self.kept.get(&(what.to_owned(), name.to_owned())).cloned()
    }

    pub(super) fn list_definitions(&self, what: &str) -> Vec<StoredItem> {
        self.kept.values().filter(|kept| kept.what == what).cloned().collect()
    }

    pub(super) fn remove_definition(&mut self, what: &str, name: &str) -> bool {
        self.kept.remove(&(what.to_string(), name.to_string())).is_some()
    }

    /// Forgets who said what in a session that is deleted.
    pub(super) fn forget_session(&mut self, session: &SessionId) {
        self.said.retain(|(_, said_in, _)| said_in != session);
    }
}

/// Passages of `sessions` that fit.
pub(super) fn recall_passages(
    sessions: &BTreeMap<SessionId, MemorySession>,
    query: &RecallQuery,
) -> Vec<Passage> {
    let words = SearchWords::parse_question(&query.words);
    if words.is_empty() && !query.words.trim().is_empty() {
        return Vec::new();
    }
    let wanted = words.word_tokens();
    let mut places = Vec::new();
    for (id, session) in sessions {
        if query.session.as_ref().is_some_and(|only| only != id) {
            continue;
        }
        let fitting = session.texts.iter().filter(|text| matches_query(session, text, query));
        places.extend(fitting.map(|text| (id, session, text)));
    }
    // Later passages first, so that of two equally good ones the newer one stands first.
    places.reverse();
    let texts: Vec<Vec<String>> =
        places.iter().map(|(_, _, t)| split_tokens(&t.text).collect()).collect();
    let all = !query.to_compare && texts.iter().any(|text| words.all_in(text));
    let keep: Vec<bool> = texts.iter().map(|text| !all || words.all_in(text)).collect();
    let scored = bm25_scores(&texts, &wanted).into_iter().zip(keep).zip(places);
    let mut ranked: Vec<_> = scored
        .filter(|((score, keep), _)| wanted.is_empty() || (*keep && *score > 0.0))
        .map(|((score, _), place)| (score, place))
        .collect();
    sort_stably(&mut ranked, |(a, _), (b, _)| b.total_cmp(a));
    let passage = |(id, session, text): (&SessionId, &MemorySession, &IndexedText)| Passage {
        session: id.clone(),
        seq: text.seq,
        ts: record_of_text(session, text).map(|record| record.ts).unwrap_or_default(),
        kind: record_of_text(session, text).map(|record| record.kind.clone()).unwrap_or_default(),
        subject: text.subject.clone(),
        text: match query.to_compare {
            true => text.text.clone(),
            false => text_around(&text.text, &words),
        },
    };
    ranked.into_iter().take(query.limit).map(|(_, place)| passage(place)).collect()
}

fn record_of_text<'a>(
    session: &'a MemorySession,
    text: &IndexedText,
) -> Option<&'a weir_core::record::Record> {
    let at = usize::try_from(text.seq.checked_sub(1)?).ok()?;
    session.records.get(at)
}

fn matches_query(session: &MemorySession, text: &IndexedText, query: &RecallQuery) -> bool {
    let Some(record) = record_of_text(session, text) else { return false };
    let about =
        |part: &String| text.subject.to_ascii_lowercase().contains(&part.to_ascii_lowercase());
    (query.kinds.is_empty() || query.kinds.contains(&record.kind))
        && query.subject.as_ref().is_none_or(about)
        && query.call.is_none_or(|call| text.call == Some(call))
        && query.from.is_none_or(|from| record.ts >= from)
        && query.to.is_none_or(|to| record.ts <= to)
}

/// How well each text fits the words (BM25).
fn bm25_scores(texts: &[Vec<String>], words: &BTreeSet<String>) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of texts and words are small")]
    let float = |n: usize| n as f64;
    let count = |text: &[String], word: &str| text.iter().filter(|other| *other == word).count();
    let all = float(texts.len());
    let mean = float(texts.iter().map(Vec::len).sum()) / all.max(1.0);
    let rare: Vec<(&String, f64)> = words
        .iter()
        .map(|word| {
            let with = float(texts.iter().filter(|text| count(text, word) > 0).count());
            (word, (1.0 + (all - with + 0.5) / (with + 0.5)).ln())
        })
        .collect();
    let score = |text: &Vec<String>| {
        let long = 1.0 - B + B * float(text.len()) / mean.max(1.0);
        let one = |(word, rare): &(&String, f64)| {
            let times = float(count(text, word));
            rare * times * (K1 + 1.0) / (times + K1 * long)
        };
        rare.iter().map(one).sum()
    };
    texts.iter().map(score).collect()
}
