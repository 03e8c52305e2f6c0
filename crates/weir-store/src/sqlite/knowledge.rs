//! Facts remembered beyond a session, and proposals (M4): how they are written and read.
//!
//! What becomes of a fact that is said again, and when one takes the place of another, is decided in
//! `weir_core::memory`.

use futures::executor::block_on;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{
    MemoryFact, MemoryStatus, NewMemory, first_said, id_of, said_again, settled, takes_place,
};
use weir_engine::ports::{MemoryFilter, Proposal, StoreError};

use super::error::failed;
use super::read::{all, cell, number, text};
use super::writer::Writer;
use crate::journal::{check_inbox, check_proposals};
use crate::words::Words;

const REMEMBERING: &str = "remembering a fact";
const PROPOSING: &str = "putting something before the person";

impl Writer {
    pub(super) fn remember(
        &mut self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        self.in_transaction(REMEMBERING, |me| {
            let id = id_of(&new.text, new.workspace.as_deref());
            let old = me.fact(&id)?;
            let news = me.note_sayer(&id, new)?;
            let fact = match old {
                Some(old) if !news => return Ok(old),
                Some(old) => said_again(&old, new, now),
                None => {
                    let waiting = me.count(
                        sqlx::query("SELECT count(*) FROM memories WHERE status = $1")
                            .bind(word(MemoryStatus::Proposed)),
                    )?;
                    check_inbox(new.status, waiting)?;
                    first_said(new, now)
                }
            };
            me.keep(&fact)?;
            if new.supersedes.is_some() && new.supersedes == fact.fact.supersedes {
                me.supersede(&fact, now, false)?;
            }
            Ok(fact)
        })
    }

    pub(super) fn settle_memory(
        &mut self,
        id: &MemoryId,
        status: MemoryStatus,
        now: Timestamp,
    ) -> Result<Option<MemoryFact>, StoreError> {
        self.in_transaction("settling a remembered fact", |me| {
            let Some(old) = me.fact(id)? else { return Ok(None) };
            let fact = settled(&old, status, now);
            me.keep(&fact)?;
            me.supersede(&fact, now, true)?;
            Ok(Some(fact))
        })
    }

    /// Whether it says something new: a call that recovery repeats does not, nor does a session
    /// that is looked through twice.
    fn note_sayer(&mut self, id: &MemoryId, new: &NewMemory) -> Result<bool, StoreError> {
        let Some(session) = &new.source.session else { return Ok(true) };
        let call = new.source.call.map(|call| call.to_string()).unwrap_or_default();
        let query = sqlx::query(
            "INSERT INTO memories_said (id, session, call) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
        );
        let query = query.bind(id.as_str()).bind(session.as_str()).bind(call);
        Ok(self.change(REMEMBERING, query)? > 0)
    }

    fn fact(&mut self, id: &MemoryId) -> Result<Option<MemoryFact>, StoreError> {
        let query = sqlx::query("SELECT fact FROM memories WHERE id = $1").bind(id.as_str());
        let rows = block_on(all(&mut self.connection, query))?;
        rows.first().map(|row| json(row, 0, "a remembered fact")).transpose()
    }

    fn keep(&mut self, fact: &MemoryFact) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO memories (id, workspace, status, updated, fact)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET
             status = excluded.status, updated = excluded.updated, fact = excluded.fact
             RETURNING n",
        )
        .bind(fact.id.as_str())
        .bind(fact.fact.workspace.as_deref())
        .bind(word(fact.fact.status))
        .bind(fact.updated.micros())
        .bind(to_json(REMEMBERING, fact)?);
        let row = block_on(query.fetch_one(&mut self.connection));
        let n: i64 = cell(&row.map_err(|e| failed(REMEMBERING, &e))?, 0)?;
        let gone = sqlx::query("DELETE FROM memories_words WHERE rowid = $1").bind(n);
        self.change(REMEMBERING, gone)?;
        let query =
            sqlx::query("INSERT INTO memories_words (rowid, text, topics) VALUES ($1, $2, $3)")
                .bind(n)
                .bind(fact.fact.text.as_str())
                .bind(fact.fact.topics.join("\n"));
        self.change(REMEMBERING, query).map(drop)
    }

    fn supersede(
        &mut self,
        fact: &MemoryFact,
        now: Timestamp,
        by_person: bool,
    ) -> Result<(), StoreError> {
        let Some(id) = &fact.fact.supersedes else { return Ok(()) };
        match self.fact(id)? {
            Some(older) if takes_place(fact, &older, by_person) => {
                let mut older = settled(&older, MemoryStatus::Superseded, now);
                older.superseded_by = Some(fact.id.clone());
                self.keep(&older)
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn propose(&mut self, proposal: &Proposal) -> Result<(), StoreError> {
        self.in_transaction(PROPOSING, |me| {
            let others =
                sqlx::query("SELECT count(*) FROM proposals WHERE what = $1 AND name <> $2");
            let waiting =
                me.count(others.bind(proposal.what.as_str()).bind(proposal.name.as_str()))?;
            check_proposals(&proposal.what, waiting)?;
            let query = sqlx::query(
                "INSERT INTO proposals (what, name, text, source, label, ts)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (what, name) DO UPDATE SET
                 text = excluded.text, source = excluded.source, label = excluded.label,
                 ts = excluded.ts",
            )
            .bind(proposal.what.as_str())
            .bind(proposal.name.as_str())
            .bind(proposal.text.as_str())
            .bind(to_json(PROPOSING, &proposal.source)?)
            .bind(to_json(PROPOSING, &proposal.label)?)
            .bind(proposal.ts.micros());
            me.change(PROPOSING, query).map(drop)
        })
    }

    pub(super) fn withdraw_proposal(&mut self, what: &str, name: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM proposals WHERE what = $1 AND name = $2");
        Ok(self.change("taking a proposal away", query.bind(what).bind(name))? > 0)
    }

    fn count(&mut self, query: Query<'_, Sqlite, SqliteArguments>) -> Result<usize, StoreError> {
        let rows = block_on(all(&mut self.connection, query))?;
        let count = rows.first().map_or(Ok(0), |row| number(row, 0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Runs one statement and says how many rows it changed.
    fn change(
        &mut self,
        doing: &str,
        query: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<u64, StoreError> {
        let done = block_on(query.execute(&mut self.connection)).map_err(|e| failed(doing, &e))?;
        Ok(done.rows_affected())
    }
}

/// Text and topics that fit; a topic says more than a word in passing.
const WITH_WORDS: &str = "SELECT m.fact FROM memories_words w JOIN memories m ON m.n = w.rowid
  WHERE memories_words MATCH $1
    AND ($2 IS NULL OR m.status IN (SELECT value FROM json_each($2)))
    AND ($3 IS NULL OR m.workspace IS NULL OR m.workspace = $3)
  ORDER BY bm25(memories_words, 1.0, 2.0), m.updated DESC, m.id LIMIT $4";

const NEWEST: &str = "SELECT m.fact FROM memories m WHERE $1 IS NULL
    AND ($2 IS NULL OR m.status IN (SELECT value FROM json_each($2)))
    AND ($3 IS NULL OR m.workspace IS NULL OR m.workspace = $3)
  ORDER BY m.updated DESC, m.id LIMIT $4";

pub(super) async fn memories(
    connection: &mut SqliteConnection,
    filter: &MemoryFilter,
) -> Result<Vec<MemoryFact>, StoreError> {
    let words = Words::of(&filter.words);
    if words.is_empty() && !filter.words.trim().is_empty() {
        return Ok(Vec::new());
    }
    let sql = if words.is_empty() { NEWEST } else { WITH_WORDS };
    let statuses: Vec<String> = filter.statuses.iter().map(|status| word(*status)).collect();
    let statuses = (!statuses.is_empty()).then(|| to_json("reading", &statuses)).transpose()?;
    let query = sqlx::query(sql)
        .bind((!words.is_empty()).then(|| words.any()))
        .bind(statuses)
        .bind(filter.workspace.clone())
        .bind(filter.limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX)));
    let rows = all(connection, query).await?;
    let mut facts = Vec::with_capacity(rows.len());
    for row in &rows {
        match json(row, 0, "a remembered fact") {
            Ok(fact) => facts.push(fact),
            // A newer Weir may know more kinds and states. The others must not be lost for that.
            Err(error) => tracing::debug!(%error, "a remembered fact cannot be read"),
        }
    }
    Ok(facts)
}

pub(super) async fn proposals(
    connection: &mut SqliteConnection,
    what: &str,
) -> Result<Vec<Proposal>, StoreError> {
    let query = sqlx::query(
        "SELECT what, name, text, source, label, ts FROM proposals WHERE what = $1
         ORDER BY ts, name",
    );
    let rows = all(connection, query.bind(what.to_string())).await?;
    rows.iter()
        .map(|row| {
            Ok(Proposal {
                what: text(row, 0)?,
                name: text(row, 1)?,
                text: text(row, 2)?,
                source: json(row, 3, "a proposal")?,
                label: json(row, 4, "a proposal")?,
                ts: Timestamp(cell(row, 5)?),
            })
        })
        .collect()
}

/// The word for a state, as in its JSON.
fn word(status: MemoryStatus) -> String {
    let value = serde_json::to_value(status).ok();
    value.and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}

pub(super) fn to_json<T: Serialize>(doing: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Io { doing: doing.to_string(), why: e.to_string() })
}

pub(super) fn json<T: DeserializeOwned>(
    row: &SqliteRow,
    column: usize,
    what: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(&text(row, column)?)
        .map_err(|e| StoreError::Damaged { what: what.to_string(), why: e.to_string() })
}
