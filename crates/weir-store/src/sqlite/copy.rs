//! A complete, compact copy of a database while others work in it (D9).

use std::path::Path;
use std::time::Duration;

use weir_engine::ports::StoreError;

use super::connection::{SqliteConnection, plain_path};
use super::connection_threads::on_own_thread;
use super::error::database_error;
use crate::filesystem::{io_error, private_file};

/// How long to wait for another process that writes.
const COPY_TIMEOUT: Duration = Duration::from_secs(30);

/// Copies the SQLite database in the file `database` to the new file `to`, for the owner alone,
/// while other processes go on working in it.
///
/// # Errors
/// When there is no such database, `to` exists, or it cannot be written.
pub async fn copy_sqlite(database: &Path, to: &Path) -> Result<(), StoreError> {
    let (database, to) = (database.to_owned(), to.to_owned());
    on_own_thread(move || {
        let doing = format!("reading the database {}", database.display());
        let connection = SqliteConnection::open(&database, COPY_TIMEOUT);
        let mut connection = connection.map_err(|error| database_error(&doing, &error))?;
        copy_into(&mut connection, &to)
    })
    .await
}

/// The same over a connection that is there.
pub(super) fn copy_into(connection: &mut SqliteConnection, to: &Path) -> Result<(), StoreError> {
    let doing = format!("writing the backup {}", to.display());
    let refused = |why: &str| StoreError::Io { doing: doing.clone(), why: why.to_string() };
    let place = plain_path(to);
    let Some(text) = place.to_str() else {
        return Err(refused("the path is not valid UTF-8: choose another name"));
    };
    if to.exists() {
        return Err(refused("it exists already: choose another name or remove it"));
    }
    private_file(to)?;
    if let Err(error) = connection.run_statement(&doing, "VACUUM INTO ?1", [text]) {
        // Half a backup is worse than none; the error that counts is the first.
        let _ = std::fs::remove_file(to);
        return Err(error);
    }
    std::fs::File::open(to).and_then(|file| file.sync_all()).map_err(|e| io_error(doing, &e))
}
