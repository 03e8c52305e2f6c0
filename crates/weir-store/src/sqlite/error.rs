//! What SQLite says, in the store's words: full, read-only, busy and damaged are different things
//! for the person who must act.

use weir_engine::ports::{NO_SPACE, StoreError};

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;

/// The store's error for a database error met while `doing` something.
pub(crate) fn database_error(doing: &str, error: &sqlx::Error) -> StoreError {
    let damaged = |why: String| StoreError::Damaged { what: "the store's database".into(), why };
    let refused = |why: String| StoreError::Io { doing: doing.to_string(), why };
    match error {
        sqlx::Error::Database(e) => {
            // The extended code carries the plain one in its low byte.
            let code = e.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0) & 0xff;
            let text = e.message();
            match code {
                CORRUPT | NOTADB => damaged(format!(
                    "{text} (found while {doing}): restore it from a backup, or save what can be \
                     read with `sqlite3 weir.db .recover`"
                )),
                FULL => refused(format!("{text}: {NO_SPACE}, then go on")),
                READONLY => refused(format!("{text}: make the file and its folder writable")),
                BUSY | LOCKED => refused(format!(
                    "{text}: another program keeps the database locked; end it and start again"
                )),
                IOERR => refused(format!("{text}: the disk failed or is full")),
                CANTOPEN => refused(format!("{text}: check the folder and its permissions")),
                _ => refused(text.to_string()),
            }
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => damaged(error.to_string()),
        sqlx::Error::WorkerCrashed => refused("the database thread has ended".to_string()),
        other => refused(other.to_string()),
    }
}

/// The same error for each of those who waited for one transaction.
pub(crate) fn clone_error(error: &StoreError) -> StoreError {
    error.clone()
}
