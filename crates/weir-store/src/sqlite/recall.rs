//! Passages found again (X4): by words through the index, otherwise by place. How a question becomes
//! a query is in `words`; how passages are written is in `append`.
//!
//! Kind, time, call and subject are judged in `passages_place`, which holds everything but the text:
//! only the few passages that are given back are read.

use rusqlite::params;
use weir_core::ids::{SessionId, Timestamp};
use weir_engine::ports::{Passage, RecallQuery, StoreError};

use super::connection::SqliteConnection;
use crate::sql::{READING, limit_of};
use crate::tables::sessions::read_passage;
use crate::words::SearchWords;

/// Most passages that are compared with each other, the newest of those that fit: words that stand
/// in more than that tell nothing apart.
const RANKED_MAX: i64 = 4000;

/// What must fit beside the words: parameters 2 to 7.
macro_rules! fits {
    () => {
        " AND (?3 IS NULL OR n.kind IN (SELECT value FROM json_each(?3)))
          AND (?4 IS NULL OR instr(lower(n.subject), ?4) > 0)
          AND (?5 IS NULL OR n.call = ?5) AND n.ts >= ?6 AND n.ts <= ?7"
    };
}

/// The passages of a list of ids with scores, best first, then newest.
macro_rules! read {
    ($ids:expr) => {
        concat!(
            "SELECT p.session, p.seq, p.ts, p.kind, p.subject, p.text FROM (SELECT id, score FROM (",
            $ids,
            ") ORDER BY score, id DESC LIMIT ?8) AS found JOIN passages p ON p.id = found.id
             ORDER BY found.score, p.id DESC"
        )
    };
}

/// Words in one session. Its first and last passage bound what the index looks at.
const WORDS_HERE: &str = read!(concat!(
    "SELECT w.rowid AS id, bm25(passages_words) AS score FROM passages_words w
     CROSS JOIN passages n INDEXED BY passages_place
     WHERE w.passages_words MATCH ?1 AND n.session = ?2 AND n.id = w.rowid
       AND w.rowid >= (SELECT min(id) FROM passages WHERE session = ?2)
       AND w.rowid <= (SELECT max(id) FROM passages WHERE session = ?2)",
    fits!(),
    " ORDER BY w.rowid DESC LIMIT ?9"
));

/// Words in all sessions.
const WORDS_ANYWHERE: &str = read!(concat!(
    "SELECT w.rowid AS id, bm25(passages_words) AS score FROM passages_words w
     CROSS JOIN passages n ON n.id = w.rowid
     WHERE w.passages_words MATCH ?1 AND ?2 IS NULL",
    fits!(),
    " ORDER BY w.rowid DESC LIMIT ?9"
));

/// No words, one session.
const NEWEST_HERE: &str = read!(concat!(
    "SELECT n.id, 0 AS score FROM passages n INDEXED BY passages_place
     WHERE ?1 IS NULL AND n.session = ?2",
    fits!(),
    " ORDER BY n.id DESC LIMIT min(?8, ?9)"
));

/// No words, all sessions.
const NEWEST_ANYWHERE: &str = read!(concat!(
    "SELECT n.id, 0 AS score FROM passages n WHERE ?1 IS NULL AND ?2 IS NULL",
    fits!(),
    " ORDER BY n.id DESC LIMIT min(?8, ?9)"
));

/// Passages that fit. Every word must stand in them; where none has them all, any of the words.
pub(super) fn recall_passages(
    connection: &mut SqliteConnection,
    query: &RecallQuery,
) -> Result<Vec<Passage>, StoreError> {
    let words = SearchWords::parse_question(&query.words);
    if words.is_empty() {
        if !query.words.trim().is_empty() {
            return Ok(Vec::new());
        }
        return query_passages(connection, query, None, &words);
    }
    if !query.to_compare {
        let found = query_passages(connection, query, Some(&words.match_all()), &words)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    query_passages(connection, query, Some(&words.match_any()), &words)
}

fn query_passages(
    connection: &mut SqliteConnection,
    query: &RecallQuery,
    question: Option<&str>,
    words: &SearchWords,
) -> Result<Vec<Passage>, StoreError> {
    let sql = match (&question, &query.session) {
        (Some(_), Some(_)) => WORDS_HERE,
        (Some(_), None) => WORDS_ANYWHERE,
        (None, Some(_)) => NEWEST_HERE,
        (None, None) => NEWEST_ANYWHERE,
    };
    let kinds = if query.kinds.is_empty() {
        None
    } else {
        Some(serde_json::to_string(&query.kinds).unwrap_or_default())
    };
    let values = params![
        question,
        query.session.as_ref().map(SessionId::as_str),
        kinds,
        query.subject.as_ref().map(|subject| subject.to_ascii_lowercase()),
        query.call.map(|call| call.to_string()),
        query.from.map_or(i64::MIN, Timestamp::micros),
        query.to.map_or(i64::MAX, Timestamp::micros),
        limit_of(query.limit),
        RANKED_MAX,
    ];
    let rows = connection.read_rows(READING, sql, values)?;
    let words = (!query.to_compare).then_some(words);
    rows.iter().map(|row| read_passage(row, words)).collect()
}
