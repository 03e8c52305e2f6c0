//! What one journal says was used, day by day, and what the cache missed in it: a fold of its records, which
//! is kept beside it so that looking again reads what came since (Q10). Not here: which sessions are looked
//! at, and how they are put together.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::record::Record;
use weir_core::session::{SNAPSHOT_FORMAT, source_number};
use weir_core::view::cache::{CacheMiss, CacheWatch};
use weir_engine::engine::visit_records;
use weir_engine::ledger::fact_of;
use weir_engine::looks::{find_look, keep_look};
use weir_engine::ports::{SessionMeta, Store, StoreError, USAGE_RULES, UsageFilter, UsageNote};

use super::{SessionMiss, SessionUsage};

/// The name under which a fold is kept.
const KIND: &str = "usage";
/// Facts since the last one after which a fold is kept again: to read so many again is less work than to
/// write.
const KEEP_EVERY: Seq = 200;
/// Kinds of facts that say what was used, beside those that the watch of the cache reads.
const USED_KINDS: &[&str] = &[
    "context.condensing",
    "context.summarised",
    "run.remembered",
    "recipe.planned",
    "call.judged",
    "call.finished",
    "run.finished",
    "model.retried",
    "model.failed",
    "helper.asked",
];

/// What a journal says as far as it was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JournalUsage {
    watch: CacheWatch,
    days: BTreeMap<String, DayUsage>,
    misses: Vec<CacheMiss>,
    unreadable: usize,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct DayUsage {
    usage: Usage,
    cost_usd: f64,
    unpriced: u64,
    replies: u64,
    runs: u64,
}

impl JournalUsage {
    /// The journal of `session`, from what is kept of it on, and kept again where much came since.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read_journal(
        store: &dyn Store,
        session: &SessionId,
    ) -> Result<JournalUsage, StoreError> {
        let found = find_look(store, session, KIND, &kept_format()).await?;
        let (mut read, kept): (JournalUsage, Seq) = found.unwrap_or_default();
        let mut seq = kept;
        visit_records(store, session, kept + 1, |record| {
            read.apply_record(record);
            seq = record.seq;
            Ok(ControlFlow::<()>::Continue(()))
        })
        .await?;
        if seq - kept >= KEEP_EVERY
            && let Some(last) = store.read_records(session, seq, 1).await?.first()
        {
            keep_look(store, KIND, kept_format(), last, &read.to_kept()).await;
        }
        Ok(read)
    }

    /// Takes in the next record.
    pub fn apply_record(&mut self, record: &Record) {
        let Some((miss, notes)) = self.watch_record(record) else { return };
        self.misses.extend(miss);
        for note in notes {
            let day = self.days.entry(note.day()).or_default();
            day.usage.add(&note.usage);
            day.cost_usd += note.cost_usd.filter(|cost| cost.is_finite()).unwrap_or(0.0);
            day.unpriced += u64::from(note.cost_usd.is_none());
            day.replies += u64::from(note.replies);
            day.runs += u64::from(note.runs);
        }
    }

    /// Takes in the next record, which a fork copied: it says how things stand, and counts elsewhere.
    pub fn apply_copied(&mut self, record: &Record) {
        self.watch_record(record);
    }

    fn watch_record(&mut self, record: &Record) -> Option<(Option<CacheMiss>, Vec<UsageNote>)> {
        if !CacheWatch::reads_kind(&record.kind) && !USED_KINDS.contains(&record.kind.as_str()) {
            return None;
        }
        // One that cannot be read takes no sum of the others away.
        let Ok(fact) = fact_of(record) else {
            self.unreadable += 1;
            return None;
        };
        let miss = self.watch.note_fact(fact.ts, &fact.event);
        Some((miss, UsageNote::notes_with_config(self.watch.config(), fact.ts, &fact.event)))
    }

    /// As it is kept.
    #[must_use]
    pub fn to_kept(&self) -> JournalUsage {
        JournalUsage { watch: self.watch.without_prompt(), ..self.clone() }
    }

    /// What it says of the days of `filter`.
    pub fn sum_days(&self, meta: &SessionMeta, filter: &UsageFilter) -> SessionUsage {
        let mut used = SessionUsage {
            session: meta.id.clone(),
            title: meta.title.clone(),
            model: meta.model.clone(),
            updated: meta.updated,
            usage: Usage::default(),
            cost_usd: 0.0,
            unpriced: 0,
            replies: 0,
            runs: 0,
            misses: Vec::new(),
            unreadable: self.unreadable,
        };
        for (_, day) in self.days.iter().filter(|(day, _)| filter.contains_day(day)) {
            used.usage.add(&day.usage);
            used.cost_usd += day.cost_usd;
            used.unpriced += day.unpriced;
            used.replies += day.replies;
            used.runs += day.runs;
        }
        let misses = self.misses.iter().filter(|miss| filter.contains_day(&day_of(miss.ts)));
        used.misses.extend(
            misses.map(|miss| SessionMiss { session: meta.id.clone(), miss: miss.clone() }),
        );
        used
    }
}

/// The day of a moment, UTC: `2026-01-02`.
pub(super) fn day_of(ts: Timestamp) -> String {
    ts.to_string().chars().take(10).collect()
}

/// The program that a kept fold is for: all sources that decide what it holds.
fn kept_format() -> String {
    const RULES: u64 = source_number(include_bytes!("journal.rs"));
    format!("{SNAPSHOT_FORMAT} {USAGE_RULES:016x} {RULES:016x}")
}

#[cfg(test)]
mod tests;
