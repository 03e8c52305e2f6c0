//! Whether anybody may have written into a database since it was last looked at, by what the system says
//! of its files: who only wants to hear that nothing is new opens no connection for that (Q18). Not here:
//! what is looked at.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::connect::DatabasePlace;

/// A file that was written so lately may be written again and look the same: the clock of files is coarse.
const UNSETTLED: Duration = Duration::from_secs(1);
/// So long files are believed at most. A commit shows in its file before it counts, and a slow disk may be in
/// between: files are believed no longer than they had been as they are when they were looked at.
const BELIEVED_MAX: Duration = Duration::from_secs(60);

/// The last look at what others may write.
#[derive(Debug, Default)]
pub(super) struct LastLook(Mutex<Option<SettledLook>>);

#[derive(Debug)]
struct SettledLook {
    begun: Instant,
    /// When the files were last seen to be those of that look.
    confirmed: Instant,
    /// How long they are believed, from its begin on.
    believed: Duration,
    stamp: DatabaseStamp,
}

/// A look that is on.
#[derive(Debug)]
pub(super) struct BegunLook {
    begun: Instant,
    began_at: SystemTime,
    stamp: Option<DatabaseStamp>,
}

impl LastLook {
    /// Before the database is looked at: what is written during the look is not believed to be seen.
    pub(super) fn begin(place: &DatabasePlace) -> BegunLook {
        let (begun, began_at) = (Instant::now(), SystemTime::now());
        BegunLook { begun, began_at, stamp: DatabaseStamp::read(place) }
    }

    /// It was looked at.
    pub(super) fn end(&self, look: BegunLook) {
        let BegunLook { begun, began_at, stamp } = look;
        *self.lock_look() = stamp.map(|stamp| {
            let believed = stamp.age(began_at).min(BELIEVED_MAX);
            SettledLook { begun, confirmed: begun, believed, stamp }
        });
    }

    /// What was looked at is not to be believed for as long as the files stay as they are.
    pub(super) fn forget(&self) {
        *self.lock_look() = None;
    }

    /// Whether another look would see what the last one saw, as far as was known at `since` or is now.
    pub(super) fn still_holds(&self, place: &DatabasePlace, since: Instant) -> bool {
        let now = Instant::now();
        let mut look = self.lock_look();
        let Some(look) = look.as_mut() else { return false };
        if now.duration_since(look.begun) >= look.believed {
            return false;
        }
        if look.confirmed < since {
            if DatabaseStamp::read(place).as_ref() != Some(&look.stamp) {
                return false;
            }
            look.confirmed = now;
        }
        true
    }

    fn lock_look(&self) -> MutexGuard<'_, Option<SettledLook>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of a database, as the system describes them.
#[derive(Debug, PartialEq, Eq)]
struct DatabaseStamp {
    database: FileStamp,
    log: FileStamp,
}

impl DatabaseStamp {
    /// `None`: nothing can be told by them.
    fn read(place: &DatabasePlace) -> Option<DatabaseStamp> {
        // What another machine wrote may show late.
        if !place.wal {
            return None;
        }
        let mut log = OsString::from(&place.database);
        log.push("-wal");
        let (database, log) = (&place.database, Path::new(&log));
        Some(DatabaseStamp { database: FileStamp::read(database)?, log: FileStamp::read(log)? })
    }

    /// How long nobody had written at that time.
    fn age(&self, now: SystemTime) -> Duration {
        let written = self.database.written.max(self.log.written);
        now.duration_since(written).unwrap_or_default()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    bytes: u64,
    written: SystemTime,
}

impl FileStamp {
    fn read(file: &Path) -> Option<FileStamp> {
        let found = fs::metadata(file).ok()?;
        let written = found.modified().ok()?;
        // One that is of the future is no more settled than one of now.
        let is_settled = SystemTime::now().duration_since(written).is_ok_and(|age| age > UNSETTLED);
        is_settled.then(|| FileStamp { inode: found.ino(), bytes: found.len(), written })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::connect::SqliteOptions;
    use super::*;

    const LONG_AGO: Duration = Duration::from_secs(1_000_000);

    /// A database and its log, both last written long ago.
    fn settled_in(folder: &Path, options: &SqliteOptions) -> DatabasePlace {
        let place = DatabasePlace::prepare_database(folder, options).expect("a place");
        for name in ["weir.db", "weir.db-wal"] {
            write_at(&folder.join(name), "one", SystemTime::UNIX_EPOCH + LONG_AGO);
        }
        place
    }

    fn write_at(file: &Path, text: &str, when: SystemTime) {
        fs::write(file, text).expect("writable");
        let opened = File::options().write(true).open(file).expect("it opens");
        opened.set_modified(when).expect("its own");
    }

    fn look(last: &LastLook, place: &DatabasePlace) {
        last.end(LastLook::begin(place));
    }

    #[test]
    fn q18_nobody_looks_again_as_long_as_nobody_wrote() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = settled_in(folder.path(), &SqliteOptions::default());
        let last = LastLook::default();
        assert!(!last.still_holds(&place, Instant::now()), "nobody looked");
        look(&last, &place);
        assert!(last.still_holds(&place, Instant::now()));
        let log = folder.path().join("weir.db-wal");
        write_at(&log, "two", SystemTime::UNIX_EPOCH + LONG_AGO * 2);
        assert!(!last.still_holds(&place, Instant::now()), "somebody wrote");
        look(&last, &place);
        last.forget();
        assert!(!last.still_holds(&place, Instant::now()), "it is not to be believed");
        look(&last, &place);
        let before = Instant::now();
        assert!(last.still_holds(&place, before));
        fs::remove_file(&log).expect("there");
        assert!(last.still_holds(&place, before), "it was seen since then");
        assert!(!last.still_holds(&place, Instant::now()), "it is gone");
    }

    /// What is written may count only when a slow disk has it, and nobody who is killed then writes again: they
    /// are found within the time in which others take over.
    #[test]
    fn d8_files_are_believed_no_longer_than_they_had_been_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = settled_in(folder.path(), &SqliteOptions::default());
        let last = LastLook::default();
        let believed = || last.lock_look().as_ref().map(|look| look.believed);
        look(&last, &place);
        assert_eq!(believed(), Some(BELIEVED_MAX), "nobody wrote for long");
        let lately = SystemTime::now() - Duration::from_secs(5);
        write_at(&folder.path().join("weir.db-wal"), "two", lately);
        look(&last, &place);
        let believed = believed().expect("it is settled");
        assert!(believed >= Duration::from_secs(5) && believed < BELIEVED_MAX, "{believed:?}");
        assert!(last.still_holds(&place, Instant::now()));
    }

    #[test]
    fn q18_files_that_were_written_just_now_or_elsewhere_say_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = settled_in(folder.path(), &SqliteOptions::default());
        let last = LastLook::default();
        let soon = SystemTime::now() + LONG_AGO;
        write_at(&folder.path().join("weir.db-wal"), "two", soon);
        look(&last, &place);
        assert!(!last.still_holds(&place, Instant::now()));

        let folder = tempfile::tempdir().expect("a temporary folder");
        let elsewhere = SqliteOptions { safe_journal: true, ..SqliteOptions::default() };
        let place = settled_in(folder.path(), &elsewhere);
        look(&last, &place);
        assert!(!last.still_holds(&place, Instant::now()));
    }
}
