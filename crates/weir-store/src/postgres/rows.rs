//! Rows into values and back. PostgreSQL keeps no NUL in a text; a person's words may hold one.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{Decode, Postgres, Row, Type};
use weir_engine::ports::StoreError;

use super::append::AttemptError;
use super::error::database_error;
use crate::sql::{self, READING, SqlConnection, SqlRow, SqlStatement, SqlValue};
use crate::words::{SearchWords, split_tokens};

/// Stands before a digit that says which character is meant: 0 for NUL, 1 for itself. It is no
/// character of any language.
const MARK: char = '\u{FFFF}';
/// Longest word of the index, in bytes: PostgreSQL takes no longer one.
const LEXEME_MAX: usize = 2_000;
/// Words of one text that are found by: PostgreSQL counts no further.
const LEXEMES_MAX: usize = 16_000;
/// Bytes of the words of one text: PostgreSQL takes a megabyte.
const LEXEME_BYTES_MAX: usize = 500_000;

/// How long an answer is waited for: a little longer than PostgreSQL works at a statement before it
/// gives up by itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(65);

pub(super) type PgStatement<'q> = Query<'q, Postgres, PgArguments>;

/// A text as the database can keep it.
pub(super) fn escape_nul(text: &str) -> String {
    if !text.contains(['\0', MARK]) {
        return text.to_string();
    }
    text.replace(MARK, "\u{FFFF}1").replace('\0', "\u{FFFF}0")
}

fn unescape_nul(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    text.replace("\u{FFFF}0", "\0").replace("\u{FFFF}1", "\u{FFFF}")
}

pub(super) fn read_cell<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    column: usize,
) -> Result<T, StoreError> {
    row.try_get(column).map_err(|e| database_error(READING, &e))
}

pub(super) fn text_cell(row: &PgRow, column: usize) -> Result<String, StoreError> {
    read_cell(row, column).map(unescape_nul)
}

pub(super) fn maybe_text(row: &PgRow, column: usize) -> Result<Option<String>, StoreError> {
    Ok(read_cell::<Option<String>>(row, column)?.map(unescape_nul))
}

pub(super) fn number_cell(row: &PgRow, column: usize) -> Result<u64, StoreError> {
    Ok(read_cell::<i64>(row, column)?.cast_unsigned())
}

/// Asks the database. A line that fell silent looks like a long time without an answer, and nothing
/// else would ever end the wait.
pub(super) async fn in_time<T>(
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    with_time_limit(ANSWER_TIMEOUT, asked).await
}

/// The same with a time of its own.
pub(super) async fn with_time_limit<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::time::timeout(time, asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

pub(super) async fn fetch_rows(
    connection: &mut PgConnection,
    query: PgStatement<'_>,
) -> Result<Vec<PgRow>, StoreError> {
    in_time(query.fetch_all(connection)).await.map_err(|e| database_error(READING, &e))
}

/// Runs a statement; how many rows it touched.
pub(super) async fn execute_statement(
    connection: &mut PgConnection,
    doing: &str,
    query: PgStatement<'_>,
) -> Result<u64, StoreError> {
    let done = in_time(query.execute(connection)).await.map_err(|e| database_error(doing, &e))?;
    Ok(done.rows_affected())
}

pub(super) fn to_json<T: Serialize>(doing: &str, value: &T) -> Result<String, StoreError> {
    sql::to_json(doing, value).map(|text| escape_nul(&text))
}

impl SqlRow for PgRow {
    fn text(&self, column: usize) -> Result<String, StoreError> {
        text_cell(self, column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        maybe_text(self, column)
    }

    fn integer(&self, column: usize) -> Result<i64, StoreError> {
        read_cell(self, column)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        read_cell(self, column)
    }

    fn boolean(&self, column: usize) -> Result<bool, StoreError> {
        read_cell(self, column)
    }

    fn real(&self, column: usize) -> Result<f64, StoreError> {
        read_cell(self, column)
    }

    fn bytes(&self, column: usize) -> Result<Arc<[u8]>, StoreError> {
        read_cell::<&[u8]>(self, column).map(Arc::from)
    }
}

fn bind_values(statement: SqlStatement) -> PgStatement<'static> {
    let query = sqlx::query(statement.text.postgres);
    statement.values.into_iter().fold(query, |query, value| match value {
        SqlValue::Text(text) | SqlValue::PostgresText(text) => {
            query.bind(text.as_deref().map(escape_nul))
        }
        SqlValue::Integer(number) => query.bind(number),
    })
}

impl SqlConnection for PgConnection {
    type Row = PgRow;
    type AppendError = AttemptError;

    async fn fetch_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<Vec<PgRow>, StoreError> {
        in_time(bind_values(statement).fetch_all(self)).await.map_err(|e| database_error(doing, &e))
    }

    async fn change_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<u64, StoreError> {
        execute_statement(self, doing, bind_values(statement)).await
    }

    async fn append_rows(
        &mut self,
        _doing: &'static str,
        statement: SqlStatement,
    ) -> Result<(), AttemptError> {
        bind_values(statement).execute(self).await?;
        Ok(())
    }
}

/// The words of a text with their places, as PostgreSQL reads a `tsvector`; `weight` is its letter.
pub(super) fn tsvector_lexemes(text: &str, weight: char) -> String {
    let mut written = String::new();
    for (at, word) in split_tokens(text).take(LEXEMES_MAX).enumerate() {
        if written.len() + word.len() > LEXEME_BYTES_MAX {
            break;
        }
        if let Some(word) = quote_lexeme(&word) {
            written.push_str(&format!("{word}:{}{weight} ", at + 1));
        }
    }
    written
}

/// A word is of letters and digits alone: there is nothing to escape in it.
fn quote_lexeme(word: &str) -> Option<Cow<'_, str>> {
    let plain = word.chars().all(char::is_alphanumeric);
    (plain && word.len() <= LEXEME_MAX).then(|| Cow::Owned(format!("'{word}'")))
}

/// What is looked for, as PostgreSQL reads a `tsquery`.
pub(super) struct TsQuery {
    pub(super) all: String,
    /// Any of the words, or of the single words in them.
    pub(super) any: String,
    /// One by one, to weigh them.
    pub(super) each: Vec<String>,
}

/// `None`: there is no word in it.
pub(super) fn ts_query(words: &SearchWords) -> Option<TsQuery> {
    let phrases: Vec<String> = words
        .word_parts()
        .map(|parts| {
            parts.iter().filter_map(|part| quote_lexeme(part)).collect::<Vec<_>>().join(" <-> ")
        })
        .filter(|phrase| !phrase.is_empty())
        .map(|phrase| format!("({phrase})"))
        .collect();
    let each: Vec<String> = words
        .word_tokens()
        .iter()
        .filter_map(|word| quote_lexeme(word).map(Cow::into_owned))
        .collect();
    let any: Vec<String> = phrases.iter().chain(&each).cloned().collect();
    (!phrases.is_empty()).then(|| TsQuery { all: phrases.join(" & "), any: any.join(" | "), each })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_every_text_comes_back_as_it_was() {
        for text in ["", "a", "\0", "a\0b\0", "\u{FFFF}", "\u{FFFF}0", "\0\u{FFFF}1\0", "ü 🎉"] {
            let kept = escape_nul(text);
            assert!(!kept.contains('\0'), "{text:?}");
            assert_eq!(unescape_nul(kept), text, "{text:?}");
        }
    }

    #[test]
    fn x4_words_of_the_index_hold_nothing_that_means_something_to_it() {
        let words =
            tsvector_lexemes("It's a 'quoted' \\ text: src/main.rs & more\0 | \u{FFFF}", 'D');
        let plain = |c: char| c.is_alphanumeric() || "': D".contains(c);
        assert!(words.chars().all(plain), "{words}");
        let asked =
            ts_query(&SearchWords::parse_question("fox src/main.rs ' & | !(")).expect("two words");
        assert_eq!(asked.all, "('fox') & ('src' <-> 'main' <-> 'rs')");
        assert_eq!(asked.each.len(), 4);
        assert!(super::ts_query(&SearchWords::parse_question("' & | !(")).is_none());
    }

    #[test]
    fn x4_no_text_is_too_long_for_the_index() {
        let words =
            tsvector_lexemes(&format!("{} {}", "x".repeat(5_000), "word ".repeat(400_000)), 'D');
        assert!(words.len() < 900_000, "{}", words.len());
        assert!(!words.contains(&"x".repeat(100)));
    }
}
