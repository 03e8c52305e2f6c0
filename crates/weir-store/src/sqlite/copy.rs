//! A complete, compact copy of a database while others work in it (D9).

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use weir_engine::ports::StoreError;

use super::error::database_error;
use crate::filesystem::{io_error, private_file};

/// Copies the SQLite database in the file `database` to the new file `to`, for the owner alone,
/// while other processes go on working in it.
///
/// # Errors
/// When there is no such database, `to` exists, or it cannot be written.
pub async fn copy_sqlite(database: &Path, to: &Path) -> Result<(), StoreError> {
    let options = SqliteConnectOptions::new().filename(database).create_if_missing(false);
    let doing = format!("reading the database {}", database.display());
    let connection = options.busy_timeout(std::time::Duration::from_secs(30)).connect().await;
    let mut connection = connection.map_err(|error| database_error(&doing, &error))?;
    copy_into(&mut connection, to).await
}

/// The same over a connection that is there.
pub(super) async fn copy_into(
    connection: &mut SqliteConnection,
    to: &Path,
) -> Result<(), StoreError> {
    let doing = format!("writing the backup {}", to.display());
    let refused = |why: &str| StoreError::Io { doing: doing.clone(), why: why.to_string() };
    let Some(text) = to.to_str() else {
        return Err(refused("the path is not valid UTF-8: choose another name"));
    };
    if to.exists() {
        return Err(refused("it exists already: choose another name or remove it"));
    }
    private_file(to)?;
    let query = sqlx::query("VACUUM INTO $1").bind(text.to_string());
    let result = query.execute(connection).await.map_err(|e| database_error(&doing, &e));
    if let Err(error) = result {
        // Half a backup is worse than none; the error that counts is the first.
        let _ = std::fs::remove_file(to);
        return Err(error);
    }
    std::fs::File::open(to).and_then(|file| file.sync_all()).map_err(|e| io_error(doing, &e))
}
