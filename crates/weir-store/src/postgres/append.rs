//! One group of appends of one owner: looked at, judged one by one, written together, answered one by
//! one. Whatever waits when a transaction has ended goes into the next (group commit).
//!
//! A group that the database refuses is tried again one by one, so that only the culprit fails. A
//! transaction that a lost connection or a restart of the server ended is tried again for a few
//! seconds: the facts that may have been committed all the same are looked for first, so that none is
//! written twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnection, PgPool};
use tokio::sync::{mpsc, oneshot};
use weir_core::ids::{Seq, Timestamp};
use weir_core::record::Record;
use weir_engine::ports::{Append, IndexedText, SessionMeta, StoreError, session_of_usage};

use super::begin_for_owner;
use super::connect::PoolTurns;
use super::error::{database_error, is_retryable};
use super::notices::NoticeHub;
use super::rows::{escape_nul, number_cell, read_cell, text_cell, tsvector_lexemes};
use super::usage::count_usage;
use crate::audit::{ChainEnd, StoredLine};
use crate::journal::{JournalHead, check_append};
use crate::sqlite::error::clone_error;
use crate::tables::asks::write_asks;
use crate::tables::marks::write_marks;
use crate::tables::recipes::write_recipes;
use crate::tables::sessions::read_owner;
use crate::usage::UsageSums;

const DOING: &str = "writing the journal";
/// Most appends in one transaction.
const GROUP_APPENDS: usize = 1024;
/// Most bytes of one transaction, the last append excepted.
const GROUP_BYTES: usize = 16 * 1024 * 1024;
/// How long a transaction is tried again when the server is away.
const TRY_FOR: Duration = Duration::from_secs(8);
/// How long one try may take. Nobody writes so much: the line fell silent.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause before the next try.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// An append that waits.
pub(super) struct PgPendingAppend {
    append: Append,
    answer: oneshot::Sender<Result<(), StoreError>>,
    bytes: usize,
}

impl PgPendingAppend {
    pub(super) fn new(
        append: Append,
        answer: oneshot::Sender<Result<(), StoreError>>,
    ) -> PgPendingAppend {
        let facts: usize = append.records.iter().map(|record| record.payload.len() + 256).sum();
        let texts: usize = append.texts.iter().map(|text| text.text.len() * 3).sum();
        let blobs: usize = append.blobs.iter().map(|(_, bytes)| bytes.len()).sum();
        let bytes = facts + texts + blobs + append.audit.len() * 1024 + 4096;
        PgPendingAppend { append, answer, bytes }
    }
}

/// What writes the appends of one owner.
pub(super) struct GroupWriter {
    pub(super) pool: PgPool,
    pub(super) turns: PoolTurns,
    pub(super) notices: Arc<NoticeHub>,
    pub(super) owner: Arc<str>,
}

/// What the transaction found when it began.
struct PgGroupState {
    heads: HashMap<String, JournalHead>,
    chain: ChainEnd,
    agents: HashMap<String, String>,
}

/// What one transaction writes.
#[derive(Default)]
struct PgAppendBatch<'a> {
    facts: Vec<&'a Record>,
    audit: Vec<StoredLine>,
    passages: Vec<(&'a str, &'a IndexedText)>,
    sessions: BTreeMap<&'a str, (SessionMeta, String)>,
    appends: Vec<&'a Append>,
    usage: UsageSums,
}

/// Why a try failed.
pub(crate) enum AttemptError {
    /// Nothing was committed, or it may have been: the same may be tried again.
    Lost(sqlx::Error),
    /// The database refuses.
    Refused(StoreError),
}

impl From<sqlx::Error> for AttemptError {
    fn from(error: sqlx::Error) -> AttemptError {
        if is_retryable(&error) {
            AttemptError::Lost(error)
        } else {
            AttemptError::Refused(database_error(DOING, &error))
        }
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> AttemptError {
        AttemptError::Refused(error)
    }
}

type AppendResults = Vec<Result<(), StoreError>>;

impl GroupWriter {
    /// Writes what comes until nobody can send any more.
    pub(super) async fn keep_writing(
        self,
        mut waiting: mpsc::UnboundedReceiver<Box<PgPendingAppend>>,
    ) {
        while let Some(first) = waiting.recv().await {
            let mut bytes = first.bytes;
            let mut group = vec![*first];
            while group.len() < GROUP_APPENDS && bytes < GROUP_BYTES {
                let Ok(next) = waiting.try_recv() else { break };
                bytes += next.bytes;
                group.push(*next);
            }
            // Boxed: there is one of these for each person, and most of them say nothing most of the time.
            Box::pin(self.write_group(group)).await;
        }
    }

    async fn write_group(&self, group: Vec<PgPendingAppend>) {
        match self.persist_group(&group).await {
            Ok(results) => {
                for (pending, result) in group.into_iter().zip(results) {
                    self.answer_append(pending, result);
                }
            }
            Err(error) if group.len() == 1 => {
                group
                    .into_iter()
                    .for_each(|pending| self.answer_append(pending, Err(clone_error(&error))));
            }
            Err(_) => {
                for pending in group {
                    let result = self.persist_group(std::slice::from_ref(&pending)).await;
                    let result = result.and_then(|mut results| results.pop().unwrap_or(Ok(())));
                    self.answer_append(pending, result);
                }
            }
        }
    }

    /// Nobody waiting for an answer is no error.
    fn answer_append(&self, pending: PgPendingAppend, result: Result<(), StoreError>) {
        if result.is_ok() && !pending.append.records.is_empty() {
            let facts = pending.append.expected + pending.append.records.len() as Seq;
            self.notices.announce_new_facts(&self.owner, &pending.append.lease.session, facts);
        }
        let _ = pending.answer.send(result);
    }

    /// Writes a group, again if need be. `Err`: nothing of it is acknowledged.
    async fn persist_group(&self, group: &[PgPendingAppend]) -> Result<AppendResults, StoreError> {
        let until = Instant::now() + TRY_FOR;
        let mut again = false;
        loop {
            let attempt = tokio::time::timeout(ATTEMPT_TIMEOUT, self.attempt_group(group, again));
            match attempt.await.unwrap_or(Err(AttemptError::Lost(sqlx::Error::PoolTimedOut))) {
                Ok(results) => return Ok(results),
                Err(AttemptError::Refused(error)) => return Err(error),
                Err(AttemptError::Lost(error)) if Instant::now() >= until => {
                    return Err(database_error(DOING, &error));
                }
                Err(AttemptError::Lost(error)) => {
                    tracing::debug!(%error, "writing is tried again");
                    again = true;
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }

    async fn attempt_group(
        &self,
        group: &[PgPendingAppend],
        again: bool,
    ) -> Result<AppendResults, AttemptError> {
        let mut work = begin_for_owner(&self.pool, &self.turns, &self.owner).await?;
        let ground = read_group_state(&mut work, group).await?;
        let landed = if again {
            find_landed_appends(&mut work, group).await?
        } else {
            vec![false; group.len()]
        };
        let (batch, results) = judge_appends(group, ground, &landed);
        if batch.appends.is_empty() {
            return Ok(results);
        }
        write_batch(&mut work, &batch).await?;
        write_beside(&mut work, &batch).await?;
        work.commit().await?;
        Ok(results)
    }
}

/// Locks the end of the audit chain, then those of the journals: in this order everywhere, so that
/// two processes never wait for each other.
const CHAIN: &str = "SELECT n, hash FROM chains FOR UPDATE";
const CHAIN_FIRST: &str =
    "INSERT INTO chains (n, hash) VALUES (0, $1) ON CONFLICT (owner) DO NOTHING";
const HEADS: &str = "SELECT id, epoch, owner_pid, owner_started, owner_host, owner_label, facts,
  last_hash, (SELECT r.agent FROM agent_runs r WHERE r.session = wanted.root LIMIT 1)
  FROM sessions JOIN unnest($1::text[], $2::text[]) AS wanted(session, root) ON wanted.session = sessions.id
  ORDER BY id FOR UPDATE OF sessions";

async fn read_group_state(
    work: &mut PgConnection,
    group: &[PgPendingAppend],
) -> Result<PgGroupState, AttemptError> {
    let row = match sqlx::query(CHAIN).fetch_optional(&mut *work).await? {
        Some(row) => row,
        None => {
            sqlx::query(CHAIN_FIRST).bind(ChainEnd::genesis_end().hash).execute(&mut *work).await?;
            sqlx::query(CHAIN).fetch_one(&mut *work).await?
        }
    };
    let chain = ChainEnd { n: number_cell(&row, 0)?, hash: text_cell(&row, 1)? };
    // What a sub-agent uses is counted to the agent that a schedule began.
    let roots: BTreeMap<String, String> = group
        .iter()
        .map(|pending| &pending.append.lease.session)
        .map(|session| {
            (escape_nul(session.as_str()), escape_nul(session_of_usage(session).as_str()))
        })
        .collect();
    let (ids, roots): (Vec<String>, Vec<String>) = roots.into_iter().unzip();
    let mut ground = PgGroupState { heads: HashMap::new(), chain, agents: HashMap::new() };
    for row in &sqlx::query(HEADS).bind(ids).bind(roots).fetch_all(work).await? {
        let id = text_cell(row, 0)?;
        if let Some(agent) = read_cell::<Option<String>>(row, 8)? {
            ground.agents.insert(id.clone(), agent);
        }
        let head = JournalHead {
            epoch: number_cell(row, 1)?,
            owner: read_owner(row, 2)?,
            facts: number_cell(row, 6)?,
            last_hash: text_cell(row, 7)?,
        };
        ground.heads.insert(id, head);
    }
    Ok(ground)
}

/// Which of the group stand in the journals already, from a try whose answer was lost.
async fn find_landed_appends(
    work: &mut PgConnection,
    group: &[PgPendingAppend],
) -> Result<Vec<bool>, AttemptError> {
    let mut landed = Vec::with_capacity(group.len());
    for pending in group {
        let Some(last) = pending.append.records.last() else {
            landed.push(false);
            continue;
        };
        let query =
            sqlx::query("SELECT 1 FROM facts WHERE session = $1 AND seq = $2 AND hash = $3")
                .bind(escape_nul(last.session.as_str()))
                .bind(last.seq.cast_signed())
                .bind(last.hash.as_str());
        landed.push(query.fetch_optional(&mut *work).await?.is_some());
    }
    Ok(landed)
}

/// Says for each append whether it may be written, and lays out what those write.
fn judge_appends<'a>(
    group: &'a [PgPendingAppend],
    mut ground: PgGroupState,
    landed: &[bool],
) -> (PgAppendBatch<'a>, AppendResults) {
    let mut batch = PgAppendBatch::default();
    let mut results = Vec::with_capacity(group.len());
    for (pending, landed) in group.iter().zip(landed) {
        if *landed {
            results.push(Ok(()));
            continue;
        }
        let append = &pending.append;
        let session = append.lease.session.as_str();
        let accepted = check_append(ground.heads.get(session), append)
            .and_then(|()| ground.chain.extend(&append.audit, &mut batch.audit));
        if accepted.is_ok()
            && let Some(head) = ground.heads.get_mut(session)
        {
            head.advance(append);
            batch.facts.extend(&append.records);
            batch.passages.extend(append.texts.iter().map(|text| (session, text)));
            let agent = ground.agents.get(session).map_or("", String::as_str);
            append.usage.iter().for_each(|note| batch.usage.add_note(note, agent));
            let meta = SessionMeta { facts: head.facts, ..append.meta.clone() };
            // Of two appends of one session in one group the later summary stays.
            batch.sessions.insert(session, (meta, head.last_hash.clone()));
            batch.appends.push(append);
        }
        results.push(accepted);
    }
    (batch, results)
}

/// A whole usual append in one round trip. Kind and time of a passage are those of its fact, which
/// may be one of these or an earlier one.
const WRITE: &str = "WITH
  f AS (INSERT INTO facts (session, seq, ts, kind, v, payload, hash)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::text[],
      $7::text[])),
  a AS (INSERT INTO audit (n, session, ts, entry, hash)
    SELECT * FROM unnest($8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::text[])),
  c AS (UPDATE chains SET n = $13, hash = $14 WHERE n <> $13),
  s AS (UPDATE sessions SET facts = v.facts, last_hash = v.last_hash, workspace = v.workspace,
      title = v.title, model = v.model, profile = v.profile, status = v.status,
      created = v.created, updated = v.updated, parent = v.parent
    FROM unnest($15::text[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[],
      $21::text[], $22::text[], $23::bigint[], $24::bigint[], $25::text[])
      AS v(id, facts, last_hash, workspace, title, model, profile, status, created, updated, parent)
    WHERE sessions.id = v.id)
  INSERT INTO passages (session, seq, kind, ts, call, subject, text, words)
    SELECT v.session, v.seq,
      coalesce(v.kind, (SELECT e.kind FROM facts e WHERE e.session = v.session AND e.seq = v.seq), ''),
      coalesce(v.ts, (SELECT e.ts FROM facts e WHERE e.session = v.session AND e.seq = v.seq), 0),
      v.call, v.subject, v.text, v.words::tsvector
    FROM unnest($26::text[], $27::bigint[], $28::text[], $29::bigint[], $30::text[], $31::text[],
      $32::text[], $33::text[]) AS v(session, seq, kind, ts, call, subject, text, words)";

fn map_each<'a, T: 'a, V>(
    items: impl IntoIterator<Item = &'a T>,
    of: impl FnMut(&'a T) -> V,
) -> Vec<V> {
    items.into_iter().map(of).collect()
}

async fn write_batch(
    work: &mut PgConnection,
    batch: &PgAppendBatch<'_>,
) -> Result<(), AttemptError> {
    let facts = || batch.facts.iter().copied();
    let query = sqlx::query(WRITE)
        .bind(map_each(facts(), |fact| escape_nul(fact.session.as_str())))
        .bind(map_each(facts(), |fact| fact.seq.cast_signed()))
        .bind(map_each(facts(), |fact| fact.ts.micros()))
        .bind(map_each(facts(), |fact| escape_nul(&fact.kind)))
        .bind(map_each(facts(), |fact| i32::from(fact.v)))
        .bind(map_each(facts(), |fact| escape_nul(&fact.payload)))
        .bind(map_each(facts(), |fact| fact.hash.clone()));
    let lines = &batch.audit;
    let end = lines.last();
    let query = query
        .bind(map_each(lines, |line| line.n.cast_signed()))
        .bind(map_each(lines, |line| escape_nul(&line.session)))
        .bind(map_each(lines, |line| line.ts.micros()))
        .bind(map_each(lines, |line| escape_nul(&line.entry)))
        .bind(map_each(lines, |line| line.hash.clone()))
        .bind(end.map(|line| line.n.cast_signed()))
        .bind(end.map(|line| line.hash.clone()));
    let sessions = || batch.sessions.values();
    let query = query
        .bind(map_each(sessions(), |(meta, _)| escape_nul(meta.id.as_str())))
        .bind(map_each(sessions(), |(meta, _)| meta.facts.cast_signed()))
        .bind(map_each(sessions(), |(_, hash)| hash.clone()))
        .bind(map_each(sessions(), |(meta, _)| escape_nul(&meta.workspace)))
        .bind(map_each(sessions(), |(meta, _)| escape_nul(&meta.title)))
        .bind(map_each(sessions(), |(meta, _)| escape_nul(&meta.model)))
        .bind(map_each(sessions(), |(meta, _)| escape_nul(&meta.profile)))
        .bind(map_each(sessions(), |(meta, _)| escape_nul(&meta.status)))
        .bind(map_each(sessions(), |(meta, _)| meta.created.micros()))
        .bind(map_each(sessions(), |(meta, _)| meta.updated.micros()))
        .bind(map_each(sessions(), |(meta, _)| {
            meta.parent.as_ref().map(|id| escape_nul(id.as_str()))
        }));
    let here: HashMap<(&str, Seq), (&str, Timestamp)> = facts()
        .map(|fact| ((fact.session.as_str(), fact.seq), (fact.kind.as_str(), fact.ts)))
        .collect();
    let place = |(session, text): &(&str, &IndexedText)| here.get(&(*session, text.seq)).copied();
    let passages = &batch.passages;
    let query = query
        .bind(map_each(passages, |(session, _)| escape_nul(session)))
        .bind(map_each(passages, |(_, text)| text.seq.cast_signed()))
        .bind(map_each(passages, |passage| place(passage).map(|(kind, _)| escape_nul(kind))))
        .bind(map_each(passages, |passage| place(passage).map(|(_, ts)| ts.micros())))
        .bind(map_each(passages, |(_, text)| text.call.map(|call| call.to_string())))
        .bind(map_each(passages, |(_, text)| escape_nul(&text.subject)))
        .bind(map_each(passages, |(_, text)| escape_nul(&text.text)))
        .bind(map_each(passages, |(_, text)| tsvector_lexemes(&text.text, 'D')));
    query.execute(work).await?;
    Ok(())
}

/// What few appends have: sums of what was used, bytes, marks, recipes, what waits for a
/// person.
async fn write_beside(
    work: &mut PgConnection,
    batch: &PgAppendBatch<'_>,
) -> Result<(), AttemptError> {
    count_usage(work, &batch.usage).await?;
    for append in &batch.appends {
        if !append.blobs.is_empty() {
            write_blobs(work, append).await?;
        }
        write_marks(work, &append.marks).await?;
        write_recipes(work, append).await?;
        write_asks(work, append).await?;
    }
    Ok(())
}

async fn write_blobs(work: &mut PgConnection, append: &Append) -> Result<(), AttemptError> {
    let ids: Vec<String> = append.blobs.iter().map(|(id, _)| escape_nul(id.as_str())).collect();
    for (id, (_, bytes)) in ids.iter().zip(&append.blobs) {
        let query = sqlx::query(
            "INSERT INTO blobs (id, bytes, created) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        );
        let query = query.bind(id.as_str()).bind(&bytes[..]);
        query.bind(append.meta.updated.micros()).execute(&mut *work).await?;
    }
    let query = sqlx::query(
        "INSERT INTO blob_refs (session, blob) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING",
    );
    query.bind(escape_nul(append.lease.session.as_str())).bind(ids).execute(work).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a task of this kind keeps as long as it lives.
    fn future_bytes<A, B, F>(_task: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn q18_what_writes_for_somebody_who_says_nothing_holds_little() {
        let bytes = future_bytes(GroupWriter::keep_writing);
        assert!(bytes <= 1 << 10, "{bytes} bytes for each person");
    }
}
