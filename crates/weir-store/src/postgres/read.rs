//! Journals and audit lines, and sessions that nobody runs: how they are read.

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::record::Record;
use weir_engine::ports::{AuditLine, RUNNING, SessionMeta, StoreError};

use super::holders::LeaseReplica;
use super::rows::{escape_nul, fetch_rows, number_cell, read_cell, text_cell};
use crate::audit::StoredLine;
use crate::follow::GONE;
use crate::sql::limit_of;
use crate::tables::sessions::{read_owner, read_summary};

/// Facts fetched at a time.
const FACTS_AT_ONCE: usize = 1_000;

const FACTS: &str = "SELECT seq, ts, kind, v, payload, hash FROM facts
  WHERE session = $1 AND seq >= $2 ORDER BY seq LIMIT $3";

pub(super) async fn read_records(
    work: &mut PgConnection,
    session: &SessionId,
    from: Seq,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut records: Vec<Record> = Vec::new();
    let first = from.max(1);
    while records.len() < limit {
        let next = first.saturating_add(records.len() as u64);
        let wanted = FACTS_AT_ONCE.min(limit - records.len());
        let query = sqlx::query(FACTS)
            .bind(escape_nul(session.as_str()))
            .bind(i64::try_from(next).unwrap_or(i64::MAX))
            .bind(limit_of(wanted));
        let rows = fetch_rows(work, query).await?;
        for (row, expected) in rows.iter().zip(next..) {
            let record = record_of(row, session)?;
            if record.seq != expected {
                return Err(StoreError::Damaged {
                    what: format!("the journal of {session}"),
                    why: format!("fact {expected} is missing"),
                });
            }
            records.push(record);
        }
        if rows.len() < wanted {
            break;
        }
    }
    Ok(records)
}

fn record_of(row: &PgRow, session: &SessionId) -> Result<Record, StoreError> {
    Ok(Record {
        session: session.clone(),
        seq: number_cell(row, 0)?,
        ts: Timestamp(read_cell(row, 1)?),
        kind: text_cell(row, 2)?,
        v: u16::try_from(read_cell::<i32>(row, 3)?).unwrap_or(0),
        payload: text_cell(row, 4)?,
        hash: text_cell(row, 5)?,
    })
}

/// From column 10 on: epoch; who took it; the process as which they took it.
const FORSAKEN: &str = "SELECT s.id, s.workspace, s.title, s.model, s.profile, s.status, s.created,
  s.updated, s.facts, s.parent, s.epoch, s.owner_pid, s.owner_started, s.owner_host, s.owner_label,
  h.machine, h.pid, h.started, h.host, h.until > clock_timestamp()
  FROM sessions s LEFT JOIN holders h ON h.id = s.holder
  WHERE s.created IS NOT NULL AND s.status = $1 ORDER BY s.updated DESC, s.id DESC";

pub(super) async fn forsaken_sessions(
    work: &mut PgConnection,
    replica: &LeaseReplica,
) -> Result<Vec<SessionMeta>, StoreError> {
    let mut found = Vec::new();
    for row in &fetch_rows(work, sqlx::query(FORSAKEN).bind(RUNNING)).await? {
        let meta = read_summary(row)?;
        let lives = match read_owner(row, 11)? {
            Some(owner) => {
                replica.is_owner_alive(&owner, row, 15)?
                    && !replica.owes_lease(&meta.id, number_cell(row, 10)?)
            }
            None => false,
        };
        if !lives {
            found.push(meta);
        }
    }
    Ok(found)
}

/// How long journals are, and which processes have their sessions; one that was deleted, or never
/// was, is gone.
pub(super) async fn journal_lengths(
    work: &mut PgConnection,
    sessions: &[SessionId],
) -> Result<Vec<(SessionId, Seq, Option<String>)>, StoreError> {
    let ids: Vec<String> = sessions.iter().map(|id| escape_nul(id.as_str())).collect();
    let query = sqlx::query(
        "SELECT v.id, coalesce(s.facts, 0), s.holder FROM unnest($1::text[]) AS v(id)
         LEFT JOIN sessions s ON s.id = v.id",
    );
    let rows = fetch_rows(work, query.bind(ids)).await?;
    let length = |row| {
        let facts = number_cell(row, 1)?;
        let facts = if facts == 0 { GONE } else { facts };
        Ok((SessionId::new(text_cell(row, 0)?), facts, read_cell(row, 2)?))
    };
    rows.iter().map(length).collect()
}

const AUDIT: &str = "SELECT a.n, a.ts, a.session, a.entry, a.hash,
  (SELECT p.hash FROM audit p WHERE p.n = a.n - 1)
  FROM audit a WHERE a.n >= $1 ORDER BY a.n LIMIT $2";

pub(super) async fn audit_lines(
    work: &mut PgConnection,
    from: u64,
    limit: usize,
) -> Result<Vec<AuditLine>, StoreError> {
    stored_audit_lines(work, from, limit).await?.iter().map(StoredLine::to_line).collect()
}

/// Audit lines as they are chained.
pub(super) async fn stored_audit_lines(
    work: &mut PgConnection,
    from: u64,
    limit: usize,
) -> Result<Vec<StoredLine>, StoreError> {
    let query = sqlx::query(AUDIT).bind(i64::try_from(from).unwrap_or(i64::MAX));
    let rows = fetch_rows(work, query.bind(limit_of(limit))).await?;
    rows.iter().map(StoredLine::read_row).collect()
}
