//! What SQLite says, in the store's words: full, read-only, busy and damaged are different things
//! for the person who must act.

use rusqlite::{Error, ErrorCode};
use weir_engine::ports::{NO_SPACE, StoreError};

/// The store's error for a database error met while `doing` something.
pub(crate) fn database_error(doing: &str, error: &Error) -> StoreError {
    let damaged = |why: String| StoreError::Damaged { what: "the store's database".into(), why };
    let refused = |why: String| StoreError::Io { doing: doing.to_string(), why };
    match error {
        Error::SqliteFailure(e, message) => {
            let text = message.clone().unwrap_or_else(|| e.to_string());
            match e.code {
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(format!(
                    "{text} (found while {doing}): restore it from a backup, or save what can be \
                     read with `sqlite3 weir.db .recover`"
                )),
                ErrorCode::DiskFull => refused(format!("{text}: {NO_SPACE}, then go on")),
                ErrorCode::ReadOnly => {
                    refused(format!("{text}: make the file and its folder writable"))
                }
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => refused(format!(
                    "{text}: another program keeps the database locked; end it and start again"
                )),
                ErrorCode::SystemIoFailure => {
                    refused(format!("{text}: the disk failed or is full"))
                }
                ErrorCode::CannotOpen => {
                    refused(format!("{text}: check the folder and its permissions"))
                }
                _ => refused(text),
            }
        }
        // Without the text of the statement, which says nothing to whoever reads this.
        Error::SqlInputError { msg, .. } => refused(msg.clone()),
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => damaged(error.to_string()),
        other => refused(other.to_string()),
    }
}

/// Whether another program was in the way.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(e, _) if e.code == ErrorCode::DatabaseBusy)
}

/// The same error for each of those who waited for one transaction.
pub(crate) fn clone_error(error: &StoreError) -> StoreError {
    error.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_statement_that_does_not_fit_the_database_is_not_quoted() {
        let connection = rusqlite::Connection::open_in_memory().expect("there is memory");
        let refused = connection.prepare("SELECT absent FROM sqlite_schema").map(drop);
        let error = database_error("reading", &refused.expect_err("no such column")).to_string();
        assert!(error.contains("no such column: absent"), "{error}");
        assert!(!error.contains("SELECT"), "{error}");
    }
}
