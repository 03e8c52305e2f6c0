//! Passages found again (X4): by words through the index, otherwise by place. How a question becomes
//! words is in `words`.
//!
//! The index of PostgreSQL does not know how rare a word is, so each word is weighed here by how
//! many of the passages that fit have it, as BM25 does.

use sqlx::postgres::PgConnection;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Passage, RecallQuery, SearchHit, StoreError};

use super::rows::{escape_nul, fetch_rows, ts_query};
use crate::sql::limit_of;
use crate::tables::sessions::read_passage;
use crate::words::SearchWords;

/// Most passages that are compared with each other, the newest of those that fit.
const RANKED_MAX: i64 = 4000;

/// What must fit beside the words: parameters 3 to 8.
macro_rules! fits {
    () => {
        "($3::text IS NULL OR n.session = $3)
         AND ($4::text[] IS NULL OR n.kind = ANY($4))
         AND ($5::text IS NULL OR position($5 IN lower(n.subject)) > 0)
         AND ($6::text IS NULL OR n.call = $6) AND n.ts >= $7 AND n.ts <= $8"
    };
}

/// Parameters 1 and 2: the question, and its words one by one.
const WITH_WORDS: &str = concat!(
    "WITH found AS MATERIALIZED (
       SELECT n.id, n.words FROM passages n WHERE n.words @@ $1::tsquery AND ",
    fits!(),
    " ORDER BY n.id DESC LIMIT $10),
     word AS MATERIALIZED (SELECT v.q, ln(1 + (t.n - c.df + 0.5) / (c.df + 0.5)) AS rare
       FROM (SELECT q::tsquery AS q FROM unnest($2::text[]) q) v,
       LATERAL (SELECT count(*)::float8 AS df FROM found f WHERE f.words @@ v.q) c,
       (SELECT count(*)::float8 AS n FROM found) t),
     best AS (SELECT f.id, (SELECT sum(w.rare * ts_rank(f.words, w.q, 1)) FROM word w) AS score
       FROM found f ORDER BY score DESC NULLS LAST, f.id DESC LIMIT $9)
     SELECT p.session, p.seq, p.ts, p.kind, p.subject, p.text FROM best b
       JOIN passages p ON p.id = b.id ORDER BY b.score DESC NULLS LAST, p.id DESC"
);

const NEWEST: &str = concat!(
    "SELECT n.session, n.seq, n.ts, n.kind, n.subject, n.text FROM passages n
     WHERE $1::text IS NULL AND $2::text[] IS NULL AND ",
    fits!(),
    " ORDER BY n.id DESC LIMIT least($9, $10)"
);

/// Passages that fit. Every word must stand in them; where none has them all, any of the words.
pub(super) async fn recall_passages(
    work: &mut PgConnection,
    query: &RecallQuery,
) -> Result<Vec<Passage>, StoreError> {
    let words = SearchWords::parse_question(&query.words);
    let Some(question) = ts_query(&words) else {
        if !query.words.trim().is_empty() {
            return Ok(Vec::new());
        }
        return query_passages(work, query, None, &words).await;
    };
    if !query.to_compare {
        let all = Some((&question.all, &question.each));
        let found = query_passages(work, query, all, &words).await?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    query_passages(work, query, Some((&question.any, &question.each)), &words).await
}

async fn query_passages(
    work: &mut PgConnection,
    query: &RecallQuery,
    question: Option<(&String, &Vec<String>)>,
    words: &SearchWords,
) -> Result<Vec<Passage>, StoreError> {
    let kinds = (!query.kinds.is_empty())
        .then(|| query.kinds.iter().map(|kind| escape_nul(kind)).collect::<Vec<_>>());
    let asked = sqlx::query(if question.is_some() { WITH_WORDS } else { NEWEST })
        .bind(question.map(|(all, _)| all.clone()))
        .bind(question.map(|(_, each)| each.clone()))
        .bind(query.session.as_ref().map(|session| escape_nul(session.as_str())))
        .bind(kinds)
        .bind(query.subject.as_ref().map(|subject| escape_nul(&subject.to_lowercase())))
        .bind(query.call.map(|call| call.to_string()))
        .bind(query.from.map_or(i64::MIN, Timestamp::micros))
        .bind(query.to.map_or(i64::MAX, Timestamp::micros))
        .bind(limit_of(query.limit))
        .bind(RANKED_MAX);
    let rows = fetch_rows(work, asked).await?;
    let words = (!query.to_compare).then_some(words);
    rows.iter().map(|row| read_passage(row, words)).collect()
}

/// Passages in all sessions that have every word.
pub(super) async fn search_passages(
    work: &mut PgConnection,
    words: &str,
    limit: usize,
) -> Result<Vec<SearchHit>, StoreError> {
    let words = SearchWords::parse_question(words);
    let Some(question) = ts_query(&words) else { return Ok(Vec::new()) };
    let query = RecallQuery { limit, ..RecallQuery::default() };
    let found = query_passages(work, &query, Some((&question.all, &question.each)), &words).await?;
    let hit =
        |found: Passage| SearchHit { session: found.session, seq: found.seq, snippet: found.text };
    Ok(found.into_iter().map(hit).collect())
}
