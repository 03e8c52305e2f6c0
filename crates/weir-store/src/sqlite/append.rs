//! One group of appends: looked at, judged one by one, written together, answered one by one.
//!
//! An append that does not fit (stale lease, wrong place, broken chain) fails alone. A group that
//! the database refuses is tried again one by one, so that only the culprit fails.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use futures::executor::block_on;
use sqlx::Row;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};
use weir_core::ids::SessionId;
use weir_core::record::Record;
use weir_engine::ports::{
    Append, IndexedText, SessionMeta, StoreError, UsageRow, session_of_usage,
};

use super::error::{clone_error, database_error};
use super::read;
use super::statements as sql;
use super::writer::{ReplySender, WriterThread};
use crate::audit::{ChainEnd, StoredLine};
use crate::journal::{JournalHead, check_append};
use crate::tables::asks::write_asks;
use crate::tables::marks::write_marks;
use crate::tables::recipes::write_recipes;
use crate::tables::sessions::read_owner;
use crate::usage::UsageSums;

const DOING: &str = "writing the journal";

/// An append that waits.
pub(super) struct SqlitePendingAppend {
    append: Append,
    answer: ReplySender<()>,
    /// About how much it writes.
    pub(super) bytes: usize,
}

impl SqlitePendingAppend {
    pub(super) fn new(append: Append, answer: ReplySender<()>) -> SqlitePendingAppend {
        let facts: usize = append.records.iter().map(|record| record.payload.len() + 256).sum();
        let texts: usize = append.texts.iter().map(|text| text.text.len()).sum();
        let blobs: usize = append.blobs.iter().map(|(_, bytes)| bytes.len()).sum();
        let solved = append.solved.len() * 16 * 1024;
        let bytes = facts + texts + blobs + solved + append.audit.len() * 1024 + 4096;
        SqlitePendingAppend { append, answer, bytes }
    }
}

/// What one transaction writes, table by table.
#[derive(Default)]
struct SqliteAppendBatch<'a> {
    facts: Vec<&'a Record>,
    audit: Vec<StoredLine>,
    passages: Vec<(&'a str, &'a IndexedText)>,
    sessions: Vec<(SessionMeta, String)>,
    appends: Vec<&'a Append>,
    usage: UsageSums,
    /// Whether there is more to write than facts and what shows them: blobs, marks, recipes,
    /// what waits for a person.
    beside: bool,
    exported: Option<String>,
}

/// What the transaction found when it began.
struct SqliteGroupState {
    heads: HashMap<String, JournalHead>,
    chain: ChainEnd,
    /// Which agent began a session.
    agents: HashMap<String, String>,
}

impl WriterThread {
    /// Commits a group and answers everyone in it.
    pub(super) fn append_group(&mut self, mut group: Vec<SqlitePendingAppend>) {
        self.check_audit_files(&mut group);
        if group.is_empty() {
            return;
        }
        self.counters.appends.fetch_add(group.len() as u64, Ordering::Relaxed);
        match self.try_group(&group) {
            Ok(results) => {
                for (pending, result) in group.into_iter().zip(results) {
                    let _ = pending.answer.send(result);
                }
            }
            Err(error) if group.len() == 1 => {
                for pending in group {
                    let _ = pending.answer.send(Err(clone_error(&error)));
                }
            }
            Err(_) => {
                for pending in group {
                    self.append_group(vec![pending]);
                }
            }
        }
    }

    /// Makes sure, before anything is committed, that the audit lines will find their place on the
    /// disk. Where they would not, the appends that have some fail, and only those.
    fn check_audit_files(&mut self, group: &mut Vec<SqlitePendingAppend>) {
        let audited = |pending: &SqlitePendingAppend| !pending.append.audit.is_empty();
        let Some(first) = group.iter().find(|pending| audited(pending)) else { return };
        let ts = first.append.audit[0].ts;
        let bytes: usize =
            group.iter().map(|p| p.append.audit.iter().map(audit_bytes).sum::<usize>()).sum();
        let Err(error) = self.audit.prepare_day_file(ts, bytes as u64) else { return };
        let (refused, kept) = std::mem::take(group).into_iter().partition(|p| audited(p));
        *group = kept;
        for pending in refused {
            let pending: SqlitePendingAppend = pending;
            let _ = pending.answer.send(Err(clone_error(&error)));
        }
    }

    /// One transaction. `Err`: nothing of the group was committed, except when the audit file
    /// failed after its space had been reserved (a broken disk): then everything is in the store,
    /// and the writers must stop and read again.
    fn try_group(
        &mut self,
        group: &[SqlitePendingAppend],
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let ground = match self.read_group_state(group) {
            Ok(ground) => ground,
            Err(error) => {
                self.roll_back();
                return Err(error);
            }
        };
        let (mut batch, results) = judge_appends(group, ground);
        if self.exported > self.exported_stored {
            batch.exported = Some(self.exported.to_string());
        }
        if batch.appends.is_empty() {
            self.roll_back();
            return Ok(results);
        }
        if let Err(error) = self.write_batch(&batch) {
            self.roll_back();
            return Err(error);
        }
        self.counters.transactions.fetch_add(1, Ordering::Relaxed);
        self.announce_facts();
        self.unindexed |= !batch.passages.is_empty();
        if batch.exported.is_some() {
            self.exported_stored = self.exported;
        }
        let exported = self.export_audit(&batch.audit);
        Ok(match exported {
            Ok(()) => results,
            Err(error) => results
                .into_iter()
                .zip(group)
                .map(|(result, pending)| match result {
                    Ok(()) if !pending.append.audit.is_empty() => Err(clone_error(&error)),
                    other => other,
                })
                .collect(),
        })
    }

    fn read_group_state(
        &mut self,
        group: &[SqlitePendingAppend],
    ) -> Result<SqliteGroupState, StoreError> {
        let ids: Vec<&str> =
            group.iter().map(|pending| pending.append.lease.session.as_str()).collect();
        let ids = serde_json::to_string(&ids).unwrap_or_default();
        let roots: Vec<SessionId> =
            group.iter().map(|pending| session_of_usage(&pending.append.lease.session)).collect();
        let roots = serde_json::to_string(&roots).unwrap_or_default();
        let query = sqlx::query(sql::BEGIN).bind(ids.as_str()).bind(roots.as_str());
        let rows = block_on(query.fetch_all(&mut self.connection))
            .map_err(|e| database_error(DOING, &e))?;
        let mut ground = SqliteGroupState {
            heads: HashMap::new(),
            chain: ChainEnd::genesis_end(),
            agents: HashMap::new(),
        };
        for row in &rows {
            match row.len() {
                9 => {
                    let head = JournalHead {
                        epoch: read::number_cell(row, 1)?,
                        owner: read_owner(row, 2)?,
                        facts: read::number_cell(row, 6)?,
                        last_hash: read::text_cell(row, 7)?,
                    };
                    ground.heads.insert(read::text_cell(row, 0)?, head);
                }
                2 => {
                    ground.chain =
                        ChainEnd { n: read::number_cell(row, 0)?, hash: read::text_cell(row, 1)? }
                }
                3 => drop(ground.agents.insert(read::text_cell(row, 0)?, read::text_cell(row, 1)?)),
                _ => {
                    let stored = read::text_cell(row, 0)?.parse().unwrap_or(0);
                    self.exported_stored = stored;
                    self.exported = self.exported.max(stored);
                }
            }
        }
        Ok(ground)
    }

    fn write_batch(&mut self, batch: &SqliteAppendBatch<'_>) -> Result<(), StoreError> {
        let small = batch.facts.len() <= sql::SMALL_FACTS
            && batch.audit.len() <= sql::SMALL_AUDIT
            && batch.passages.len() <= sql::SMALL_PASSAGES
            && batch.sessions.len() <= sql::SMALL_SESSIONS
            && batch.usage.rows().count() <= sql::SMALL_USAGE
            && !batch.beside;
        if small { self.write_small(batch) } else { self.write_wide(batch) }
    }

    fn write_small(&mut self, batch: &SqliteAppendBatch<'_>) -> Result<(), StoreError> {
        let mut query = sqlx::query(*sql::SMALL);
        query = bind_facts(query, &batch.facts, sql::SMALL_FACTS);
        query = bind_audit(query, &batch.audit, sql::SMALL_AUDIT);
        query = bind_passages(query, &batch.passages, sql::SMALL_PASSAGES);
        query = bind_sessions(query, &batch.sessions, sql::SMALL_SESSIONS);
        query = bind_usage(query, &batch.usage, sql::SMALL_USAGE);
        if let Some(exported) = &batch.exported {
            query = query.bind("audit_exported").bind(exported.as_str());
        }
        self.execute_query(query)
    }

    fn write_wide(&mut self, batch: &SqliteAppendBatch<'_>) -> Result<(), StoreError> {
        for facts in batch.facts.chunks(sql::WIDE) {
            self.execute_query(bind_facts(sqlx::query(*sql::WIDE_FACTS), facts, sql::WIDE))?;
        }
        for lines in batch.audit.chunks(sql::WIDE) {
            self.execute_query(bind_audit(sqlx::query(*sql::WIDE_AUDIT), lines, sql::WIDE))?;
        }
        for passages in batch.passages.chunks(sql::WIDE) {
            self.execute_query(bind_passages(
                sqlx::query(*sql::WIDE_PASSAGES),
                passages,
                sql::WIDE,
            ))?;
        }
        for sessions in batch.sessions.chunks(sql::WIDE) {
            self.execute_query(bind_sessions(
                sqlx::query(*sql::WIDE_SESSIONS),
                sessions,
                sql::WIDE,
            ))?;
        }
        for append in &batch.appends {
            self.write_blobs(append)?;
            block_on(write_marks(&mut self.connection, &append.marks))?;
            block_on(write_recipes(&mut self.connection, append))?;
            block_on(write_asks(&mut self.connection, append))?;
        }
        for row in batch.usage.rows() {
            self.execute_query(bind_usage_row(sqlx::query(*sql::USAGE_ONE), row))?;
        }
        if let Some(exported) = &batch.exported {
            let query = sqlx::query(*sql::EXPORTED_ONE);
            self.execute_query(query.bind("audit_exported").bind(exported.as_str()))?;
        }
        self.execute(DOING, "COMMIT")
    }

    fn write_blobs(&mut self, append: &Append) -> Result<(), StoreError> {
        for (id, bytes) in &append.blobs {
            let query = sqlx::query(sql::BLOB).bind(id.as_str()).bind(bytes.to_vec());
            self.execute_query(query.bind(append.meta.updated.micros()))?;
        }
        for refs in append.blobs.chunks(sql::WIDE) {
            let mut query = sqlx::query(*sql::WIDE_REFS);
            for (id, _) in refs {
                query = query.bind(append.lease.session.as_str()).bind(id.as_str());
            }
            self.execute_query(query)?;
        }
        Ok(())
    }

    fn execute_query(
        &mut self,
        query: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<(), StoreError> {
        block_on(query.execute(&mut self.connection))
            .map(drop)
            .map_err(|e| database_error(DOING, &e))
    }

    /// Brings the audit files up to the lines that were committed just now.
    fn export_audit(&mut self, lines: &[StoredLine]) -> Result<(), StoreError> {
        let WriterThread { audit, connection, exported, .. } = self;
        let mut missing = |from: u64, to: u64| {
            block_on(read::audit_lines(&mut *connection, from, to, to - from + 1))
        };
        *exported = audit.export(lines, *exported, &mut missing)?;
        Ok(())
    }
}

/// A little more than the line will take in its file.
fn audit_bytes(entry: &weir_engine::ports::AuditEntry) -> usize {
    // Number, two hashes, time and names of the fields.
    entry.fields.to_string().len() + entry.session.as_str().len() + 320
}

/// Says for each append whether it may be written, and lays out what those write.
fn judge_appends(
    group: &[SqlitePendingAppend],
    mut ground: SqliteGroupState,
) -> (SqliteAppendBatch<'_>, Vec<Result<(), StoreError>>) {
    let mut batch = SqliteAppendBatch::default();
    let mut sessions: HashMap<&str, usize> = HashMap::new();
    let mut results = Vec::with_capacity(group.len());
    for pending in group {
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
            // What a sub-agent uses is its agent's.
            let root = session_of_usage(&append.lease.session);
            let agent = ground.agents.get(root.as_str()).map_or("", String::as_str);
            append.usage.iter().for_each(|note| batch.usage.add_note(note, agent));
            batch.beside |= !append.blobs.is_empty()
                || !append.marks.is_empty()
                || !append.recipe_use.is_empty()
                || !append.solved.is_empty()
                || !append.asks.is_empty();
            let row =
                (SessionMeta { facts: head.facts, ..append.meta.clone() }, head.last_hash.clone());
            // Two appends of one session in one group leave one summary: the later one.
            match sessions.get(session) {
                Some(at) => batch.sessions[*at] = row,
                None => {
                    sessions.insert(session, batch.sessions.len());
                    batch.sessions.push(row);
                }
            }
            batch.appends.push(append);
        }
        results.push(accepted);
    }
    (batch, results)
}

type BoundQuery<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Fills the unused rows of a statement.
fn pad_unused_rows(mut query: BoundQuery<'_>, cells: usize) -> BoundQuery<'_> {
    for _ in 0..cells {
        query = query.bind(None::<i64>);
    }
    query
}

fn bind_facts<'q>(mut query: BoundQuery<'q>, facts: &[&Record], rows: usize) -> BoundQuery<'q> {
    for fact in facts {
        query = query
            .bind(fact.session.as_str().to_string())
            .bind(fact.seq.cast_signed())
            .bind(fact.ts.micros())
            .bind(fact.kind.clone())
            .bind(i64::from(fact.v))
            .bind(fact.payload.clone())
            .bind(fact.hash.clone());
    }
    pad_unused_rows(query, (rows - facts.len()) * sql::FACTS.columns)
}

fn bind_audit<'q>(mut query: BoundQuery<'q>, lines: &[StoredLine], rows: usize) -> BoundQuery<'q> {
    for line in lines {
        query = query
            .bind(line.n.cast_signed())
            .bind(line.session.clone())
            .bind(line.ts.micros())
            .bind(line.entry.clone())
            .bind(line.hash.clone());
    }
    pad_unused_rows(query, (rows - lines.len()) * sql::AUDIT.columns)
}

fn bind_passages<'q>(
    mut query: BoundQuery<'q>,
    passages: &[(&str, &IndexedText)],
    rows: usize,
) -> BoundQuery<'q> {
    for (session, passage) in passages {
        query = query
            .bind((*session).to_string())
            .bind(passage.seq.cast_signed())
            .bind(passage.call.map(|call| call.to_string()))
            .bind(passage.subject.clone())
            .bind(passage.text.clone());
    }
    pad_unused_rows(query, (rows - passages.len()) * sql::PASSAGES.columns)
}

fn bind_sessions<'q>(
    mut query: BoundQuery<'q>,
    sessions: &[(SessionMeta, String)],
    rows: usize,
) -> BoundQuery<'q> {
    for (meta, last_hash) in sessions {
        query = query
            .bind(meta.id.as_str().to_string())
            .bind(meta.facts.cast_signed())
            .bind(last_hash.clone())
            .bind(meta.workspace.clone())
            .bind(meta.title.clone())
            .bind(meta.model.clone())
            .bind(meta.profile.clone())
            .bind(meta.status.clone())
            .bind(meta.created.micros())
            .bind(meta.updated.micros())
            .bind(meta.parent.as_ref().map(|parent| parent.as_str().to_string()));
    }
    pad_unused_rows(query, (rows - sessions.len()) * sql::SESSION_COLUMNS)
}

fn bind_usage<'q>(mut query: BoundQuery<'q>, usage: &UsageSums, rows: usize) -> BoundQuery<'q> {
    for row in usage.rows() {
        query = bind_usage_row(query, row);
    }
    pad_unused_rows(query, (rows - usage.rows().count()) * sql::USAGE.columns)
}

fn bind_usage_row<'q>(query: BoundQuery<'q>, row: &UsageRow) -> BoundQuery<'q> {
    query
        .bind(row.day.clone())
        .bind(row.model.clone())
        .bind(row.profile.clone())
        .bind(row.agent.clone())
        .bind(row.usage.input.cast_signed())
        .bind(row.usage.output.cast_signed())
        .bind(row.usage.cache_read.cast_signed())
        .bind(row.usage.cache_write.cast_signed())
        .bind(row.usage.reasoning.cast_signed())
        .bind(row.cost_usd)
        .bind(row.unpriced.cast_signed())
        .bind(row.replies.cast_signed())
        .bind(row.runs.cast_signed())
}
