//! What was used, session by session, and what the vendors' caches missed: read from journals (R11). Sums by
//! day and model are the store's own. Not here: how anything is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use futures::future::BoxFuture;
use serde::Serialize;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::session::child;
use weir_core::sorting::{sort_stably, sort_stably_by_key};
use weir_core::view::cache::CacheMiss;
use weir_engine::engine::visit_records;
use weir_engine::ports::{SessionFilter, SessionMeta, Store, StoreError, UsageFilter};

pub mod journal;

use journal::{JournalUsage, day_of};

/// Most sessions whose journals are read for one look, the newest first: nobody waits for more.
pub const SESSIONS_MAX: usize = 500;

/// What one session used, its sub-agents included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionUsage {
    /// Id of the session.
    pub session: SessionId,
    /// First words of its first input.
    pub title: String,
    /// Its model, as `provider/name`.
    pub model: String,
    /// When the last fact was written.
    pub updated: Timestamp,
    /// Tokens.
    pub usage: Usage,
    /// What the priced ones of them cost, in US dollars.
    pub cost_usd: f64,
    /// Replies whose price nobody knows.
    pub unpriced: u64,
    /// Replies of models.
    pub replies: u64,
    /// Runs that finished.
    pub runs: u64,
    /// What the cache missed in it.
    pub misses: Vec<SessionMiss>,
    /// Facts that could not be read: damaged, or of a newer program. What they used stands in the sums
    /// by day alone.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A miss of the cache, with the session in which it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionMiss {
    /// The session; that of a sub-agent has its own.
    pub session: SessionId,
    /// What was missed.
    #[serde(flatten)]
    pub miss: CacheMiss,
}

/// What sessions used, the newest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SessionsUsage {
    /// One for each session that used anything.
    pub sessions: Vec<SessionUsage>,
    /// Older sessions of the span whose journals were not read.
    pub left_out: usize,
}

/// Misses of one cause.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MissSum {
    /// The word of the cause.
    pub cause: String,
    /// How many requests.
    pub misses: u64,
    /// Tokens that were paid for once more.
    pub tokens: u64,
    /// What that cost more, in US dollars, where prices are known.
    pub cost_usd: f64,
    /// Misses of which nobody knows what they cost.
    pub unpriced: u64,
}

impl SessionsUsage {
    /// Facts that could not be read, in all of them.
    pub fn unreadable(&self) -> usize {
        self.sessions.iter().map(|session| session.unreadable).sum()
    }

    /// All misses, the newest first.
    pub fn misses(&self) -> Vec<&SessionMiss> {
        let mut all: Vec<&SessionMiss> =
            self.sessions.iter().flat_map(|session| &session.misses).collect();
        sort_stably_by_key(&mut all, |one| std::cmp::Reverse(one.miss.ts));
        all
    }

    /// Misses by cause, the most expensive first.
    pub fn sums_by_cause(&self) -> Vec<MissSum> {
        let mut sums: BTreeMap<&str, MissSum> = BTreeMap::new();
        for one in self.misses() {
            let cause = one.miss.cause.as_str();
            let sum = sums.entry(cause).or_default();
            sum.cause = cause.to_owned();
            sum.misses += 1;
            sum.tokens = sum.tokens.saturating_add(one.miss.lost_tokens());
            sum.cost_usd += one.miss.cost_usd.unwrap_or(0.0);
            sum.unpriced += u64::from(one.miss.cost_usd.is_none());
        }
        let mut sums: Vec<MissSum> = sums.into_values().collect();
        sort_stably(&mut sums, |a, b| {
            b.cost_usd.total_cmp(&a.cost_usd).then(b.tokens.cmp(&a.tokens))
        });
        sums
    }
}

/// A cause as a heading for people.
pub fn cause_heading(cause: &str) -> &'static str {
    match cause {
        "changed" => "the request did not begin as the one before",
        "other_model" => "another model was asked before",
        "idle" => "too long since the last request",
        "restarted" => "Weir was started again in between",
        _ => "the vendor served less, with nothing changed",
    }
}

/// Reads what sessions used in the days of `filter`, at most `most` of them.
///
/// # Errors
/// The store cannot be read.
pub async fn read_sessions_usage(
    store: &dyn Store,
    filter: &UsageFilter,
    most: usize,
) -> Result<SessionsUsage, StoreError> {
    let mut all = store.list_sessions(&SessionFilter::default()).await?;
    all.retain(|meta| {
        let begun = filter.to.as_deref().is_none_or(|to| day_of(meta.created).as_str() <= to);
        let lasts = filter.from.as_deref().is_none_or(|from| from <= day_of(meta.updated).as_str());
        begun && lasts
    });
    let left_out = all.len().saturating_sub(most);
    all.truncate(most);
    let mut found: Vec<SessionUsage> = Vec::new();
    for meta in &all {
        let used = read_session(store, meta, filter).await?;
        let of = child::root_of(&meta.id);
        let at = found.iter().position(|known| known.session == of);
        match at {
            Some(at) => join_usage(&mut found[at], used, of == meta.id),
            None => found.push(SessionUsage { session: of, ..used }),
        }
    }
    found.retain(|used| used.replies > 0 || used.runs > 0 || used.unreadable > 0);
    Ok(SessionsUsage { sessions: found, left_out })
}

/// Reads what one session used in all its days, without its sub-agents.
///
/// # Errors
/// The store cannot be read, or has no such session.
pub async fn read_session_usage(
    store: &dyn Store,
    session: &SessionId,
) -> Result<SessionUsage, StoreError> {
    let meta = store.session_meta(session).await?;
    let meta = meta.ok_or_else(|| StoreError::Missing { what: format!("session {session}") })?;
    read_session(store, &meta, &UsageFilter::default()).await
}

fn join_usage(known: &mut SessionUsage, more: SessionUsage, is_root: bool) {
    known.usage.add(&more.usage);
    known.cost_usd += more.cost_usd;
    known.unpriced += more.unpriced;
    known.replies += more.replies;
    known.misses.extend(more.misses);
    known.unreadable += more.unreadable;
    if is_root {
        (known.title, known.model, known.runs) = (more.title, more.model, more.runs);
    }
    known.updated = known.updated.max(more.updated);
}

fn read_session<'a>(
    store: &'a dyn Store,
    meta: &'a SessionMeta,
    filter: &'a UsageFilter,
) -> BoxFuture<'a, Result<SessionUsage, StoreError>> {
    // An async function is compiled anew by each crate that awaits it; boxed, by this one alone (Q23).
    Box::pin(sum_session(store, meta, filter))
}

async fn sum_session(
    store: &dyn Store,
    meta: &SessionMeta,
    filter: &UsageFilter,
) -> Result<SessionUsage, StoreError> {
    let copied = copied_facts(store, meta).await?;
    if copied.is_empty() {
        return Ok(JournalUsage::read_journal(store, &meta.id).await?.sum_days(meta, filter));
    }
    // Whether the other session is still there decides what counts here, so nothing of it is kept.
    let mut read = JournalUsage::default();
    visit_records(store, &meta.id, 1, |record| {
        match copied.contains(&(record.seq, record.ts)) {
            true => read.apply_copied(record),
            false => read.apply_record(record),
        }
        Ok(ControlFlow::<()>::Continue(()))
    })
    .await?;
    Ok(read.sum_days(meta, filter))
}

/// The facts that a fork copied: they happened in the other session, and once.
async fn copied_facts(
    store: &dyn Store,
    meta: &SessionMeta,
) -> Result<BTreeSet<(Seq, Timestamp)>, StoreError> {
    let mut copied = BTreeSet::new();
    let Some(parent) = &meta.parent else { return Ok(copied) };
    if child::parent_of(&meta.id).is_some() {
        return Ok(copied);
    }
    visit_records(store, parent, 1, |record| {
        copied.insert((record.seq, record.ts));
        Ok(ControlFlow::<()>::Continue(()))
    })
    .await?;
    Ok(copied)
}
