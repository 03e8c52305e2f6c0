//! Facts remembered beyond a session, and proposals (M4), in PostgreSQL: who may write them, and how
//! facts are found by words. Not here: what is written (`tables`).

use sqlx::postgres::PgConnection;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_engine::ports::{MemoryFilter, Proposal, StoreError};

use super::rows::{escape_nul, execute_statement, fetch_rows, to_json, ts_query, tsvector_lexemes};
use crate::sql::limit_of;
use crate::tables::memories::{
    MemoryIndex, REMEMBERING, read_facts, remember_fact, settle_stored_fact, status_word,
};
use crate::tables::proposals::{PROPOSING, write_proposal};
use crate::words::SearchWords;

/// One at a time for each owner: what is decided depends on what there is.
async fn lock_knowledge(work: &mut PgConnection, doing: &str) -> Result<(), StoreError> {
    let query = sqlx::query(
        "SELECT pg_advisory_xact_lock(hashtextextended('weir knowledge '
           || current_setting('weir.owner'), 0))",
    );
    execute_statement(work, doing, query).await.map(drop)
}

pub(super) async fn remember_memory(
    work: &mut PgConnection,
    new: &NewMemory,
    now: Timestamp,
) -> Result<MemoryFact, StoreError> {
    lock_knowledge(work, REMEMBERING).await?;
    remember_fact(work, new, now).await
}

pub(super) async fn settle_memory(
    work: &mut PgConnection,
    id: &MemoryId,
    decision: &MemoryDecision,
    now: Timestamp,
) -> Result<MemoryOutcome, StoreError> {
    lock_knowledge(work, REMEMBERING).await?;
    settle_stored_fact(work, id, decision, now).await
}

pub(super) async fn add_proposal(
    work: &mut PgConnection,
    proposal: &Proposal,
) -> Result<(), StoreError> {
    lock_knowledge(work, PROPOSING).await?;
    write_proposal(work, proposal).await
}

impl MemoryIndex for PgConnection {
    async fn write_fact(&mut self, fact: &MemoryFact) -> Result<(), StoreError> {
        // A topic says more than a word in passing.
        let words = format!(
            "{} {}",
            tsvector_lexemes(&fact.fact.text, 'D'),
            tsvector_lexemes(&fact.fact.topics.join("\n"), 'A')
        );
        let query = sqlx::query(
            "INSERT INTO memories (id, workspace, status, updated, fact, words)
             VALUES ($1, $2, $3, $4, $5, $6::tsvector) ON CONFLICT (owner, id) DO UPDATE SET
             status = excluded.status, updated = excluded.updated, fact = excluded.fact,
             words = excluded.words",
        )
        .bind(escape_nul(fact.id.as_str()))
        .bind(fact.fact.workspace.as_deref().map(escape_nul))
        .bind(status_word(fact.fact.status))
        .bind(fact.updated.micros())
        .bind(to_json(REMEMBERING, fact)?)
        .bind(words);
        execute_statement(self, REMEMBERING, query).await.map(drop)
    }
}

macro_rules! fits {
    () => {
        "($3::text[] IS NULL OR m.status = ANY($3))
         AND ($4::text IS NULL OR m.workspace IS NULL OR m.workspace = $4)"
    };
}

/// Text and topics that fit, each word weighed by how many facts have it.
const WITH_WORDS: &str = concat!(
    "WITH found AS MATERIALIZED (SELECT m.id, m.words, m.updated, m.fact FROM memories m
       WHERE m.words @@ $1::tsquery AND ",
    fits!(),
    "), word AS MATERIALIZED (SELECT v.q, ln(1 + (t.n - c.df + 0.5) / (c.df + 0.5)) AS rare
       FROM (SELECT q::tsquery AS q FROM unnest($2::text[]) q) v,
       LATERAL (SELECT count(*)::float8 AS df FROM found f WHERE f.words @@ v.q) c,
       (SELECT count(*)::float8 AS n FROM found) t)
     SELECT f.fact FROM found f ORDER BY
       (SELECT sum(w.rare * ts_rank('{0.5,0.5,0.5,1.0}', f.words, w.q, 1)) FROM word w)
         DESC NULLS LAST, f.updated DESC, f.id COLLATE \"C\" LIMIT $5"
);

const NEWEST: &str = concat!(
    "SELECT m.fact FROM memories m WHERE $1::text IS NULL AND $2::text[] IS NULL AND ",
    fits!(),
    " ORDER BY m.updated DESC, m.id COLLATE \"C\" LIMIT $5"
);

pub(super) async fn list_facts(
    work: &mut PgConnection,
    filter: &MemoryFilter,
) -> Result<Vec<MemoryFact>, StoreError> {
    let question = ts_query(&SearchWords::parse_question(&filter.words));
    if question.is_none() && !filter.words.trim().is_empty() {
        return Ok(Vec::new());
    }
    let statuses: Vec<String> = filter.statuses.iter().map(|status| status_word(*status)).collect();
    let query = sqlx::query(if question.is_some() { WITH_WORDS } else { NEWEST })
        .bind(question.as_ref().map(|question| question.any.clone()))
        .bind(question.map(|question| question.each))
        .bind((!statuses.is_empty()).then_some(statuses))
        .bind(filter.workspace.as_deref().map(escape_nul))
        .bind(limit_of(filter.limit.unwrap_or(usize::MAX)));
    let rows = fetch_rows(work, query).await?;
    Ok(read_facts(&rows))
}
