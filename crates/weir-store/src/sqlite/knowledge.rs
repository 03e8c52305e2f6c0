//! Facts remembered beyond a session, and proposals (M4), in SQLite: what one transaction holds
//! together, and how facts are found by words. Not here: what is written (`tables`).

use futures::executor::block_on;
use rusqlite::params;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_engine::ports::{MemoryFilter, Proposal, StoreError};

use super::connection::SqliteConnection;
use super::writer::WriterThread;
use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, limit_of, sql, to_json};
use crate::tables::memories::{
    MemoryIndex, REMEMBERING, read_facts, remember_fact, settle_stored_fact, status_word,
};
use crate::tables::proposals::{PROPOSING, write_proposal};
use crate::words::SearchWords;

impl WriterThread {
    pub(super) fn remember_fact(
        &mut self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        let remember = |work: &mut SqliteConnection| block_on(remember_fact(work, new, now));
        self.connection.in_transaction(REMEMBERING, remember)
    }

    pub(super) fn settle_memory(
        &mut self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError> {
        self.connection.in_transaction("settling a remembered fact", |work| {
            block_on(settle_stored_fact(work, id, decision, now))
        })
    }

    pub(super) fn add_proposal(&mut self, proposal: &Proposal) -> Result<(), StoreError> {
        self.connection.in_transaction(PROPOSING, |work| block_on(write_proposal(work, proposal)))
    }
}

const FACT: SqlText = sql!(
    "INSERT INTO memories (id, workspace, status, updated, fact)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET
  status = excluded.status, updated = excluded.updated, fact = excluded.fact RETURNING n"
);
const FORGET_WORDS: SqlText = sql!("DELETE FROM memories_words WHERE rowid = $1");
const WORDS: SqlText = sql!("INSERT INTO memories_words (rowid, text, topics) VALUES ($1, $2, $3)");

impl MemoryIndex for SqliteConnection {
    async fn write_fact(&mut self, fact: &MemoryFact) -> Result<(), StoreError> {
        let statement = SqlStatement::new(FACT)
            .bind(fact.id.as_str())
            .bind(fact.fact.workspace.as_deref())
            .bind(status_word(fact.fact.status))
            .bind(fact.updated)
            .bind(to_json(REMEMBERING, fact)?);
        let rows = self.fetch_rows(REMEMBERING, statement).await?;
        for row in &rows {
            let n = row.integer(0)?;
            let forget = SqlStatement::new(FORGET_WORDS).bind(n);
            self.change_rows(REMEMBERING, forget).await?;
            let words = SqlStatement::new(WORDS)
                .bind(n)
                .bind(&fact.fact.text)
                .bind(fact.fact.topics.join("\n"));
            self.change_rows(REMEMBERING, words).await?;
        }
        Ok(())
    }
}

/// Text and topics that fit; a topic says more than a word in passing.
const WITH_WORDS: &str = "SELECT m.fact FROM memories_words w JOIN memories m ON m.n = w.rowid
  WHERE memories_words MATCH ?1
    AND (?2 IS NULL OR m.status IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR m.workspace IS NULL OR m.workspace = ?3)
  ORDER BY bm25(memories_words, 1.0, 2.0), m.updated DESC, m.id LIMIT ?4";

const NEWEST: &str = "SELECT m.fact FROM memories m WHERE ?1 IS NULL
    AND (?2 IS NULL OR m.status IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR m.workspace IS NULL OR m.workspace = ?3)
  ORDER BY m.updated DESC, m.id LIMIT ?4";

pub(super) fn list_facts(
    connection: &mut SqliteConnection,
    filter: &MemoryFilter,
) -> Result<Vec<MemoryFact>, StoreError> {
    let words = SearchWords::parse_question(&filter.words);
    if words.is_empty() && !filter.words.trim().is_empty() {
        return Ok(Vec::new());
    }
    let sql = if words.is_empty() { NEWEST } else { WITH_WORDS };
    let statuses: Vec<String> = filter.statuses.iter().map(|status| status_word(*status)).collect();
    let statuses = (!statuses.is_empty()).then(|| to_json("reading", &statuses)).transpose()?;
    let values = params![
        (!words.is_empty()).then(|| words.match_any()),
        statuses,
        filter.workspace,
        limit_of(filter.limit.unwrap_or(usize::MAX)),
    ];
    let rows = connection.read_rows(READING, sql, values)?;
    Ok(read_facts(&rows))
}
