//! What becomes of the write-ahead log: it is emptied after a deletion, and stays beside the database
//! when the store is closed if it was asked for, is short and holds nothing that was deleted. Not here:
//! when it is copied back while the store works (`writer`).

use std::sync::atomic::Ordering;

use weir_engine::ports::StoreError;

use super::statements;
use super::writer::WriterThread;
use crate::sql::SqlRow;

/// Pages of the write-ahead log from which on it is copied back when the store is closed, even if
/// it is kept: whoever opens the database next reads all of it first.
const LOG_PAGES_KEPT: i64 = 256;

const NOTING: &str = "noting what is in the write-ahead log";

impl WriterThread {
    /// Copies the write-ahead log back and empties it, unless somebody still reads in it. A deletion
    /// notes in its own transaction that there is deleted text in the log, and what is noted goes when
    /// the log was emptied: whoever closes the database last and keeps its log may be another program.
    pub(super) fn empty_log(&mut self) {
        let noted = self.unclean_note();
        let emptied = self.connection.read_number("PRAGMA wal_checkpoint(TRUNCATE)", 0);
        if let Err(error) = &emptied {
            tracing::debug!(%error, "the write-ahead log was not emptied");
        }
        self.unclean_log = !emptied.is_ok_and(|busy| busy == 0);
        // Another deletion that was noted meanwhile stays noted.
        if !self.unclean_log
            && let Ok(Some(note)) = noted
            && let Err(error) =
                self.connection.run_statement(NOTING, statements::CLEAR_UNCLEAN, [note])
        {
            tracing::debug!(%error, "what is in the write-ahead log was not noted");
        }
    }

    /// Closes. How far the audit files are is noted by the next append (a sync of its own is not worth
    /// it): what goes from their ends until then is written again from the database.
    ///
    /// Whoever closes the database last copies the write-ahead log back and removes it. A log that is
    /// to stay is left to whoever opens the database next.
    pub(super) fn finish(mut self) {
        let asked = self.wal && self.counters.keeps_write_ahead_log.load(Ordering::Relaxed);
        // What was refused must not come back with the log.
        let sound = asked && !self.connection.has_refused;
        let keep = sound && self.has_clean_log() && !self.has_long_log();
        let closed =
            self.connection.keep_write_ahead_log(keep).and_then(|()| self.connection.close());
        if let Err(error) = closed {
            tracing::debug!(%error, "the database did not close cleanly");
        }
    }

    fn unclean_note(&mut self) -> Result<Option<String>, StoreError> {
        let rows = self.connection.read_rows(NOTING, statements::UNCLEAN, [])?;
        rows.first().map(|row| row.text(0)).transpose()
    }

    /// Whether nothing that was deleted is in the log, or it could be emptied at once.
    fn has_clean_log(&mut self) -> bool {
        let is_noted = |me: &mut WriterThread| !matches!(me.unclean_note(), Ok(None));
        if self.unclean_log || is_noted(self) {
            // Who still reads in it is not waited for.
            self.set_quietly("PRAGMA busy_timeout = 0");
            self.empty_log();
        }
        !self.unclean_log && !is_noted(self)
    }

    /// One whose length cannot be told counts as long.
    fn has_long_log(&mut self) -> bool {
        let pages = self.connection.read_number("PRAGMA wal_checkpoint(NOOP)", 1);
        pages.map_or(true, |pages| pages >= LOG_PAGES_KEPT)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::connect::{DatabasePlace, SqliteOptions};
    use super::super::writer::WriterCounters;
    use super::*;

    fn writer(folder: &Path, keeps_write_ahead_log: bool) -> WriterThread {
        let place = DatabasePlace::prepare_database(folder, &SqliteOptions::default());
        let counters = Arc::new(WriterCounters::default());
        counters.keeps_write_ahead_log.store(keeps_write_ahead_log, Ordering::Relaxed);
        let writer = WriterThread::open(folder, &place.expect("a place"), counters);
        let mut writer = writer.expect("it opens");
        // Nobody is waited for.
        writer.set_quietly("PRAGMA busy_timeout = 0");
        writer
    }

    #[test]
    fn d9_a_log_that_one_could_not_empty_is_not_kept_by_another() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("weir.db-wal");
        let database = folder.path().join("weir.db");
        let (mut first, second) = (writer(folder.path(), false), writer(folder.path(), true));
        let noted = first.connection.run_statement(NOTING, statements::NOTE_UNCLEAN, []);
        noted.expect("writable");
        let reader = rusqlite::Connection::open(&database).expect("it opens");
        reader.execute_batch("BEGIN; SELECT * FROM sessions").expect("readable");
        first.empty_log();
        assert!(first.unclean_log, "it is read in");
        assert!(first.unclean_note().expect("readable").is_some());
        first.finish();
        let mut third = writer(folder.path(), true);
        assert!(!third.has_clean_log(), "it is read in");
        third.finish();
        second.finish();
        reader.close().expect("it closes");
        assert!(!log.exists(), "the last who closed did not ask for it");

        let mut fourth = writer(folder.path(), true);
        assert!(fourth.has_clean_log(), "it was emptied");
        assert_eq!(fourth.unclean_note().expect("readable"), None);
        fourth.finish();
        assert!(log.exists(), "it may stay again");
    }

    #[test]
    fn d9_who_clears_the_note_of_one_deletion_leaves_that_of_the_next() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = writer(folder.path(), true);
        let mut note = || {
            let noted = writer.connection.run_statement(NOTING, statements::NOTE_UNCLEAN, []);
            noted.expect("writable");
            writer.unclean_note().expect("readable").expect("just noted")
        };
        let (first, second) = (note(), note());
        assert_ne!(first, second);
        let cleared = writer.connection.run_statement(NOTING, statements::CLEAR_UNCLEAN, [second]);
        assert_eq!(cleared.expect("writable"), 1);
        let noted = writer.connection.run_statement(NOTING, statements::NOTE_UNCLEAN, []);
        noted.expect("writable");
        // Somebody who saw the first note empties the log only now.
        let late = writer.connection.run_statement(NOTING, statements::CLEAR_UNCLEAN, [first]);
        assert_eq!(late.expect("writable"), 0);
        writer.finish();
    }

    #[test]
    fn d2_a_change_that_was_refused_does_not_come_back_with_the_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = writer(folder.path(), true);
        writer.connection.commit_changes("committing").expect_err("nothing was begun");
        writer.finish();
        assert!(!folder.path().join("weir.db-wal").exists(), "it was copied back");
    }
}
