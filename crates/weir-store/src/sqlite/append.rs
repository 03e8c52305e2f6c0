//! One group of appends: looked at, judged one by one, written together, answered one by one.
//!
//! An append that does not fit (stale lease, wrong place, broken chain) fails alone. A group that
//! the database refuses is tried again one by one, so that only the culprit fails.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use futures::executor::block_on;
use rusqlite::params;
use weir_core::ids::SessionId;
use weir_core::record::Record;
use weir_engine::ports::{
    Append, IndexedText, SessionMeta, StoreError, UsageRow, session_of_usage,
};

use super::connection::SqliteConnection;
use super::error::clone_error;
use super::read;
use super::statements as sql;
use super::writer::{ReplySender, WriterThread};
use crate::audit::{ChainEnd, StoredLine};
use crate::journal::{JournalHead, check_append};
use crate::sql::SqlRow;
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
        self.make_room(group.len());
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
        self.sync_again()?;
        self.connection.begin_writing(DOING)?;
        let ground = match self.read_group_state(group) {
            Ok(ground) => ground,
            Err(error) => {
                self.connection.roll_back();
                return Err(error);
            }
        };
        let (mut batch, results) = judge_appends(group, ground);
        if self.exported > self.exported_stored {
            batch.exported = Some(self.exported.to_string());
        }
        if batch.appends.is_empty() {
            self.connection.roll_back();
            return Ok(results);
        }
        if let Err(error) = write_batch(&mut self.connection, &batch) {
            self.connection.roll_back();
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
        let (mut heads, mut agents) = (HashMap::new(), HashMap::new());
        for SqlitePendingAppend { append, .. } in group {
            let session = &append.lease.session;
            if !heads.contains_key(session.as_str()) {
                let rows = self.connection.read_rows(DOING, sql::LEASE, [session.as_str()])?;
                if let Some(row) = rows.first() {
                    let head = JournalHead {
                        epoch: row.number(0)?,
                        owner: read_owner(row, 1)?,
                        facts: row.number(5)?,
                        last_hash: row.text(6)?,
                    };
                    heads.insert(session.as_str().to_string(), head);
                }
            }
            let root = session_of_usage(session);
            if !append.usage.is_empty() && !agents.contains_key(root.as_str()) {
                let rows = self.connection.read_rows(DOING, sql::AGENT, [root.as_str()])?;
                let agent = rows.last().map_or(Ok(String::new()), |row| row.text(0))?;
                agents.insert(root.as_str().to_string(), agent);
            }
        }
        let chain = match self.connection.read_rows(DOING, sql::AUDIT_END, [])?.first() {
            Some(row) => ChainEnd { n: row.number(0)?, hash: row.text(1)? },
            None => ChainEnd::genesis_end(),
        };
        self.exported_stored = read::last_exported(&mut self.connection)?;
        self.exported = self.exported.max(self.exported_stored);
        Ok(SqliteGroupState { heads, chain, agents })
    }

    /// Brings the audit files up to the lines that were committed just now.
    fn export_audit(&mut self, lines: &[StoredLine]) -> Result<(), StoreError> {
        let WriterThread { audit, connection, exported, .. } = self;
        let mut missing =
            |from: u64, to: u64| read::audit_lines(connection, from, to, to - from + 1);
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

/// Writes everything and commits it.
fn write_batch(
    connection: &mut SqliteConnection,
    batch: &SqliteAppendBatch<'_>,
) -> Result<(), StoreError> {
    write_facts(connection, &batch.facts)?;
    write_audit(connection, &batch.audit)?;
    write_passages(connection, &batch.passages)?;
    write_sessions(connection, &batch.sessions)?;
    for append in &batch.appends {
        write_blobs(connection, append)?;
        block_on(write_marks(connection, &append.marks))?;
        block_on(write_recipes(connection, append))?;
        block_on(write_asks(connection, append))?;
    }
    for row in batch.usage.rows() {
        write_usage(connection, row)?;
    }
    if let Some(exported) = &batch.exported {
        connection.run_statement(DOING, sql::NOTE_EXPORTED, [exported])?;
    }
    connection.commit_changes(DOING)
}

fn write_facts(connection: &mut SqliteConnection, facts: &[&Record]) -> Result<(), StoreError> {
    for fact in facts {
        let values = params![
            fact.session.as_str(),
            fact.seq.cast_signed(),
            fact.ts.micros(),
            fact.kind,
            fact.v,
            fact.payload,
            fact.hash,
        ];
        connection.run_statement(DOING, sql::FACT, values)?;
    }
    Ok(())
}

fn write_audit(connection: &mut SqliteConnection, lines: &[StoredLine]) -> Result<(), StoreError> {
    for line in lines {
        let values =
            params![line.n.cast_signed(), line.session, line.ts.micros(), line.entry, line.hash];
        connection.run_statement(DOING, sql::AUDIT, values)?;
    }
    Ok(())
}

fn write_passages(
    connection: &mut SqliteConnection,
    passages: &[(&str, &IndexedText)],
) -> Result<(), StoreError> {
    for (session, passage) in passages {
        let call = passage.call.map(|call| call.to_string());
        let values =
            params![session, passage.seq.cast_signed(), call, passage.subject, passage.text];
        connection.run_statement(DOING, sql::PASSAGE, values)?;
    }
    Ok(())
}

fn write_sessions(
    connection: &mut SqliteConnection,
    sessions: &[(SessionMeta, String)],
) -> Result<(), StoreError> {
    for (meta, last_hash) in sessions {
        let values = params![
            meta.id.as_str(),
            meta.facts.cast_signed(),
            last_hash,
            meta.workspace,
            meta.title,
            meta.model,
            meta.profile,
            meta.status,
            meta.created.micros(),
            meta.updated.micros(),
            meta.parent.as_ref().map(SessionId::as_str),
        ];
        connection.run_statement(DOING, sql::SESSION, values)?;
    }
    Ok(())
}

fn write_blobs(connection: &mut SqliteConnection, append: &Append) -> Result<(), StoreError> {
    for (id, bytes) in &append.blobs {
        let values = params![id.as_str(), bytes, append.meta.updated.micros()];
        connection.run_statement(DOING, sql::BLOB, values)?;
        let values = params![append.lease.session.as_str(), id.as_str()];
        connection.run_statement(DOING, sql::BLOB_REF, values)?;
    }
    Ok(())
}

fn write_usage(connection: &mut SqliteConnection, row: &UsageRow) -> Result<(), StoreError> {
    let values = params![
        row.day,
        row.model,
        row.profile,
        row.agent,
        row.usage.input.cast_signed(),
        row.usage.output.cast_signed(),
        row.usage.cache_read.cast_signed(),
        row.usage.cache_write.cast_signed(),
        row.usage.reasoning.cast_signed(),
        row.cost_usd,
        row.unpriced.cast_signed(),
        row.replies.cast_signed(),
        row.runs.cast_signed(),
    ];
    connection.run_statement(DOING, sql::USAGE, values).map(drop)
}
