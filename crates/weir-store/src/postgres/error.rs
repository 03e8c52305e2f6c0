//! What PostgreSQL says, in the store's words; and whether it can be tried again.

use weir_engine::ports::StoreError;

/// The store's error for a database error met while `doing` something.
pub(crate) fn database_error(doing: &str, error: &sqlx::Error) -> StoreError {
    let refused = |why: String| StoreError::Io { doing: doing.to_string(), why };
    match error {
        sqlx::Error::Database(e) => {
            let text = e.message();
            match e.code().as_deref().unwrap_or_default() {
                "53100" => refused(format!("{text}: free some space on the database's disk")),
                "53300" => refused(format!(
                    "{text}: PostgreSQL allows no more connections; raise max_connections"
                )),
                "25006" => refused(format!("{text}: the database is read-only; name the primary")),
                "28P01" | "28000" => refused(format!("{text}: check user and password of the URL")),
                "3D000" => refused(format!("{text}: make it (createdb), or check the URL")),
                "42501" => refused(format!(
                    "{text}: the user of the URL has not the rights that docs/postgresql.md names"
                )),
                "XX001" | "XX002" => StoreError::Damaged {
                    what: "the store's database".to_string(),
                    why: format!("{text} (found while {doing}): restore it from a backup"),
                },
                _ => refused(text.to_string()),
            }
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            StoreError::Damaged { what: "the store's database".into(), why: error.to_string() }
        }
        sqlx::Error::PoolTimedOut => refused(
            "PostgreSQL does not answer: check that it runs and can be reached, then try again"
                .to_string(),
        ),
        sqlx::Error::Io(e) => refused(format!(
            "the connection to PostgreSQL failed ({e}): check that it runs and can be reached, \
             then try again"
        )),
        other => refused(other.to_string()),
    }
}

/// Whether the same transaction may succeed a moment later: the connection or the server went away,
/// or another transaction was in its way.
pub(super) fn is_retryable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_)
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(e) => matches!(
            e.code().as_deref().unwrap_or_default(),
            // Serialization, deadlock, lock timeout; administrator's shutdown, crash, starting up;
            // idle in transaction for too long; connection failures.
            "40001"
                | "40P01"
                | "55P03"
                | "57P01"
                | "57P02"
                | "57P03"
                | "25P03"
                | "08000"
                | "08003"
                | "08006"
                | "53300"
        ),
        _ => false,
    }
}
