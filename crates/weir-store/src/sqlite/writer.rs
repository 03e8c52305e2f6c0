//! The one thread that writes. Whatever waits when it is free goes into one transaction (group
//! commit), so a thousand sessions cost one sync, not a thousand.
//!
//! A thread of its own rather than a task: commits, the audit file and the copying back of the
//! write-ahead log block, and the store must work before any runtime does.

use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, SystemTime};

use futures::executor::block_on;
use rusqlite::params;
use tokio::sync::oneshot;
use weir_core::ids::{MemoryId, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::record::GENESIS;
use weir_engine::ports::{
    Append, Lease, LeaseOwner, Proposal, RemoteCommand, StoreError, StorePause, StoredItem,
};

use super::append::SqlitePendingAppend;
use super::connect::{CACHE_KIB, DatabasePlace};
use super::connection::SqliteConnection;
use super::connection_threads::{ConnectionJob, run_job};
use super::error::database_error;
use super::schedule::AgentCommand;
use super::snapshots::SnapshotCommand;
use super::{owed, read, statements};
use crate::audit::AuditFolder;
use crate::notice::ChangeMarker;
use crate::owner::{describe_owner, is_alive};
use crate::sql::SqlRow;
use crate::tables::definitions::{keep_definition, remove_definition, replace_definition};
use crate::tables::letters;
use crate::tables::marks::remove_mark;
use crate::tables::proposals::withdraw_proposal;
use crate::tables::recipes::forget_recipe;
use crate::tables::settings::{read_pause, set_pause};

/// Most appends in one transaction.
pub(super) const GROUP_APPENDS: usize = 1024;
/// Page cache for each session of a group that appends at once, in kibibytes: the pages that its facts are put
/// on, and its share of the others.
const SESSION_CACHE_KIB: usize = 16;
/// The most of all of them.
const WIDE_CACHE_KIB: u32 = 8192;
/// Most bytes of one transaction, the last append excepted.
const GROUP_BYTES: usize = 16 * 1024 * 1024;
/// Bytes written since the last time after which an idle writer copies the write-ahead log back.
const CHECKPOINT_BYTES: usize = 1024 * 1024;
/// Quiet time after which passages are put into the index.
const IDLE: Duration = Duration::from_millis(250);
/// Quiet time after which the page cache is given back: a server has one of these threads for each person (Q18).
const PAGES_KEPT: Duration = Duration::from_secs(2);
/// So often it is tried again to give a lease back.
const GIVE_BACK_AGAIN: Duration = Duration::from_secs(1);
/// Passages put into the index by one transaction, so that an append never waits long.
const INDEX_BATCH: i64 = 200;

pub(super) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the thread is asked to do.
pub(super) enum WriterCommand {
    Append(Box<Append>, ReplySender<()>),
    Acquire(SessionId, LeaseOwner, ReplySender<Lease>),
    Release(Lease, ReplySender<()>),
    Delete(SessionId, ReplySender<()>),
    Paused(ReplySender<Option<StorePause>>),
    SetPaused(Option<StorePause>, ReplySender<()>),
    Post(Box<RemoteCommand>, ReplySender<u64>),
    Discard(u64, ReplySender<bool>),
    Unmark {
        workspace: String,
        path: String,
        answer: ReplySender<bool>,
    },
    Remember(Box<NewMemory>, Timestamp, ReplySender<MemoryFact>),
    SettleMemory {
        id: MemoryId,
        decision: Box<MemoryDecision>,
        now: Timestamp,
        answer: ReplySender<MemoryOutcome>,
    },
    Propose(Box<Proposal>, ReplySender<()>),
    WithdrawProposal {
        what: String,
        name: String,
        answer: ReplySender<bool>,
    },
    Keep(Box<StoredItem>, ReplySender<StoredItem>),
    Replace {
        kept: Box<StoredItem>,
        version: u32,
        answer: ReplySender<Option<StoredItem>>,
    },
    Unkeep {
        what: String,
        name: String,
        answer: ReplySender<bool>,
    },
    Agents(AgentCommand),
    Snapshots(SnapshotCommand),
    SettleRecipe {
        recipe: String,
        answer: ReplySender<()>,
    },
    /// Puts every passage into the index.
    Index(ReplySender<()>),
    /// Reads something.
    Read(ConnectionJob),
}

/// What the thread has done so far.
#[derive(Debug, Default)]
pub(super) struct WriterCounters {
    pub(super) appends: AtomicU64,
    pub(super) transactions: AtomicU64,
    /// The thread does what nobody waits for, and may wait for another program in the middle of it.
    pub(super) keeps_house: AtomicBool,
    /// The write-ahead log stays when the store is closed.
    pub(super) keeps_write_ahead_log: AtomicBool,
}

pub(super) struct WriterThread {
    pub(super) connection: SqliteConnection,
    database: PathBuf,
    pub(super) wal: bool,
    /// Whether commits are synced. Only what need not survive a power cut is committed while they are
    /// not.
    syncs: bool,
    /// Room of the page cache, in kibibytes.
    cache_kib: u32,
    pub(super) audit: AuditFolder,
    /// Last audit line that is known to stand in its file, and what the database says of it.
    pub(super) exported: u64,
    pub(super) exported_stored: u64,
    pub(super) counters: Arc<WriterCounters>,
    /// Quiet time after which the page cache is given back.
    pages_kept: Duration,
    /// Bytes written since the write-ahead log was last copied back.
    pub(super) unchecked_bytes: usize,
    /// What was deleted may still stand in the write-ahead log.
    pub(super) unclean_log: bool,
    /// There may be passages outside the index.
    pub(super) unindexed: bool,
    /// Searches that wait until every passage is in the index.
    index_awaited: Vec<ReplySender<()>>,
    /// What is touched after each commit of facts, for whoever follows a session.
    marker: Option<File>,
}

impl WriterThread {
    pub(super) fn open(
        state_dir: &Path,
        place: &DatabasePlace,
        counters: Arc<WriterCounters>,
    ) -> Result<WriterThread, StoreError> {
        Ok(WriterThread {
            connection: place.connect_writer()?,
            database: place.database.clone(),
            wal: place.wal,
            syncs: true,
            cache_kib: CACHE_KIB,
            audit: AuditFolder::new(state_dir),
            exported: 0,
            exported_stored: 0,
            counters,
            pages_kept: PAGES_KEPT,
            unchecked_bytes: 0,
            unclean_log: false,
            unindexed: false,
            index_awaited: Vec::new(),
            marker: ChangeMarker::of_facts(state_dir).open_marker(),
        })
    }

    /// Serves until every sender is gone.
    pub(super) fn run(mut self, commands: &Receiver<WriterCommand>) {
        let mut held: Option<WriterCommand> = None;
        loop {
            let command = match held.take() {
                Some(command) => command,
                None => match self.next(commands) {
                    Some(command) => command,
                    None => break,
                },
            };
            if let WriterCommand::Append(append, answer) = command {
                held = self.gather_appends(SqlitePendingAppend::new(*append, answer), commands);
            } else {
                self.serve_command(command);
            }
        }
        self.finish();
    }

    /// The next command; meanwhile, when there is none, the work that can wait.
    fn next(&mut self, commands: &Receiver<WriterCommand>) -> Option<WriterCommand> {
        while !self.index_awaited.is_empty() {
            // One batch between two commands: many passages may wait, and appends go on.
            self.index_for_searches();
            match commands.try_recv() {
                Ok(command) => return Some(command),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
        }
        match commands.try_recv() {
            Ok(command) => return Some(command),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if self.wal && self.unchecked_bytes >= CHECKPOINT_BYTES {
            self.unchecked_bytes = 0;
            self.keep_house(|me| me.set_quietly("PRAGMA wal_checkpoint(PASSIVE)"));
        }
        while self.unindexed {
            match commands.recv_timeout(IDLE) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                // It will be tried again by the next search; appends matter more than the index.
                Err(RecvTimeoutError::Timeout) => {
                    self.unindexed = self.keep_house(WriterThread::index_some).unwrap_or(false);
                }
            }
        }
        while owed::has_owed_leases(&self.database) {
            match commands.recv_timeout(GIVE_BACK_AGAIN) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.keep_house(|me| me.give_back_owed(|_| true)) {
                        tracing::debug!(%error, "leases cannot be given back yet");
                    }
                }
            }
        }
        match commands.recv_timeout(self.pages_kept) {
            Ok(command) => return Some(command),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = self.keep_house(|me| me.connection.give_back_pages()) {
                    tracing::debug!(%error, "the page cache is not given back");
                }
            }
        }
        commands.recv().ok()
    }

    /// Does what nobody waits for; whoever wants to read meanwhile shall not wait for it either.
    fn keep_house<T>(&mut self, work: impl FnOnce(&mut WriterThread) -> T) -> T {
        self.counters.keeps_house.store(true, Ordering::Relaxed);
        let done = work(self);
        self.counters.keeps_house.store(false, Ordering::Relaxed);
        done
    }

    /// Gives back what could not be given back when its session went down.
    fn give_back_owed(&mut self, which: impl Fn(&Lease) -> bool) -> Result<(), StoreError> {
        for lease in owed::owed_leases(&self.database).iter().filter(|lease| which(lease)) {
            self.without_sync(|connection| release_lease(connection, lease))?;
            owed::clear_owed_lease(&self.database, lease);
        }
        Ok(())
    }

    /// Takes what else waits to be appended and commits it together. Returns the command that came
    /// after.
    fn gather_appends(
        &mut self,
        first: SqlitePendingAppend,
        commands: &Receiver<WriterCommand>,
    ) -> Option<WriterCommand> {
        let mut bytes = first.bytes;
        let mut group = vec![first];
        let mut next = None;
        while group.len() < GROUP_APPENDS && bytes < GROUP_BYTES {
            match commands.try_recv() {
                Ok(WriterCommand::Append(append, answer)) => {
                    let pending = SqlitePendingAppend::new(*append, answer);
                    bytes += pending.bytes;
                    group.push(pending);
                }
                Ok(other) => {
                    next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        self.unchecked_bytes += bytes;
        self.append_group(group);
        next
    }

    /// Everything but appends. Nobody waiting for an answer is no error.
    fn serve_command(&mut self, command: WriterCommand) {
        self.tidy_connection();
        match command {
            WriterCommand::Append(append, answer) => {
                self.append_group(vec![SqlitePendingAppend::new(*append, answer)]);
            }
            WriterCommand::Acquire(session, owner, answer) => {
                let _ = answer.send(self.take_lease(&session, &owner));
            }
            WriterCommand::Release(lease, answer) => {
                let given_back = self.without_sync(|connection| release_lease(connection, &lease));
                if given_back.is_err() {
                    owed::note_owed_lease(&self.database, &lease);
                }
                let _ = answer.send(given_back);
            }
            WriterCommand::Delete(session, answer) => {
                let _ = answer.send(self.delete_session(&session));
            }
            WriterCommand::Paused(answer) => {
                let _ = answer.send(block_on(read_pause(&mut self.connection)));
            }
            WriterCommand::SetPaused(pause, answer) => {
                let _ = answer.send(block_on(set_pause(&mut self.connection, pause.as_ref())));
            }
            WriterCommand::Post(mail, answer) => {
                let posted = self.connection.in_transaction(letters::POSTING, |connection| {
                    block_on(letters::post_letter(connection, &mail))
                });
                let _ = answer.send(posted);
            }
            WriterCommand::Discard(id, answer) => {
                let _ = answer.send(block_on(letters::discard_letter(&mut self.connection, id)));
            }
            WriterCommand::Unmark { workspace, path, answer } => {
                let was = block_on(remove_mark(&mut self.connection, &workspace, &path));
                let _ = answer.send(was);
            }
            WriterCommand::Remember(new, now, answer) => {
                let _ = answer.send(self.remember_fact(&new, now));
            }
            WriterCommand::SettleMemory { id, decision, now, answer } => {
                let _ = answer.send(self.settle_memory(&id, &decision, now));
            }
            WriterCommand::Propose(proposal, answer) => {
                let _ = answer.send(self.add_proposal(&proposal));
            }
            WriterCommand::WithdrawProposal { what, name, answer } => {
                let was = block_on(withdraw_proposal(&mut self.connection, &what, &name));
                let _ = answer.send(was);
            }
            WriterCommand::Keep(kept, answer) => {
                let _ = answer.send(block_on(keep_definition(&mut self.connection, &kept)));
            }
            WriterCommand::Replace { kept, version, answer } => {
                let kept = block_on(replace_definition(&mut self.connection, &kept, version));
                let _ = answer.send(kept);
            }
            WriterCommand::Unkeep { what, name, answer } => {
                let was = block_on(remove_definition(&mut self.connection, &what, &name));
                let _ = answer.send(was);
            }
            WriterCommand::Agents(command) => self.serve_agents(command),
            WriterCommand::Snapshots(command) => self.serve_snapshots(command),
            WriterCommand::SettleRecipe { recipe, answer } => {
                let _ = answer.send(block_on(forget_recipe(&mut self.connection, &recipe)));
            }
            WriterCommand::Index(answer) => self.index_awaited.push(answer),
            WriterCommand::Read(job) => self.serve_read(job),
        }
    }

    /// What one command left open would hold back the next, which then was never committed.
    fn tidy_connection(&mut self) {
        self.connection.roll_back();
        if let Err(error) = self.sync_again() {
            tracing::debug!(%error, "commits are not synced yet");
        }
    }

    /// Gives it, after what is owed of an earlier one was given back.
    fn take_lease(&mut self, session: &SessionId, owner: &LeaseOwner) -> Result<Lease, StoreError> {
        self.give_back_owed(|lease| lease.session == *session)?;
        self.without_sync(|connection| acquire_lease(connection, session, owner))
    }

    fn serve_read(&mut self, job: ConnectionJob) {
        run_job(job, Ok(&mut self.connection));
        self.connection.end_job();
    }

    /// Runs a transaction that need not survive a power cut: leases end with the boot anyway. In a
    /// rollback journal that would not be safe for the rest of the file, so there it is synced.
    fn without_sync<T>(
        &mut self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.wal {
            self.syncs = false;
            self.set_quietly("PRAGMA synchronous = NORMAL");
        }
        let result = self.connection.in_transaction("writing the lease", work);
        self.sync_again()?;
        result
    }

    /// Makes room for groups of this size, once there is one: each session of a group touches pages of its own,
    /// and those that do not fit are written twice. A program that runs one session never takes that memory, and
    /// a server takes for each person what their sessions need (Q19).
    pub(super) fn make_room(&mut self, sessions: usize) {
        let wanted = sessions.saturating_mul(SESSION_CACHE_KIB).checked_next_power_of_two();
        let wanted = wanted.and_then(|wanted| u32::try_from(wanted).ok());
        let wanted = wanted.unwrap_or(WIDE_CACHE_KIB).min(WIDE_CACHE_KIB);
        if wanted > self.cache_kib {
            self.cache_kib = wanted;
            self.set_quietly(&format!("PRAGMA cache_size = -{wanted}"));
        }
    }

    /// Goes back to commits that are synced. Where that was refused before, it is tried again: nothing
    /// may be acknowledged that a power cut could take.
    pub(super) fn sync_again(&mut self) -> Result<(), StoreError> {
        if self.syncs {
            return Ok(());
        }
        // Within a transaction it could not be set.
        self.connection.roll_back();
        let full = self.connection.run_batch("PRAGMA synchronous = FULL");
        full.map_err(|error| database_error("going back to full syncs", &error))?;
        self.syncs = true;
        Ok(())
    }

    fn delete_session(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let doing = "deleting a session";
        // What was deleted shall not be readable in free pages or in the log either.
        let result = self.overwriting(|me| {
            let wal = me.wal;
            me.connection.in_transaction(doing, |connection| {
                let rows = connection.read_rows(doing, statements::LEASE, [session.as_str()])?;
                if rows.first().map_or(Ok(0), |row| row.number(5))? == 0 {
                    return Err(StoreError::Missing { what: format!("session {session}") });
                }
                for statement in statements::DELETE {
                    connection.run_statement(doing, statement, [session.as_str()])?;
                }
                if wal {
                    // Until the log was emptied, whatever comes between.
                    connection.run_statement(doing, statements::NOTE_UNCLEAN, [])?;
                }
                let values = [session.as_str(), GENESIS];
                connection.run_statement(doing, statements::EMPTY_SESSION, values).map(drop)
            })
        });
        if result.is_ok() && self.wal {
            self.unclean_log = true;
            self.empty_log();
        }
        result
    }

    /// Tells whoever follows a session that there are new facts. They look by themselves now and
    /// then, should this fail.
    pub(super) fn announce_facts(&self) {
        if let Some(marker) = &self.marker {
            let now = FileTimes::new().set_modified(SystemTime::now());
            let _ = marker.set_times(now);
        }
    }

    /// Indexes some passages, and answers those who wait for all when there are no more.
    fn index_for_searches(&mut self) {
        let indexed = match self.index_some() {
            Ok(true) => return,
            Ok(false) => {
                self.unindexed = false;
                Ok(())
            }
            Err(error) => Err(error),
        };
        for answer in std::mem::take(&mut self.index_awaited) {
            let _ = answer.send(indexed.clone());
        }
    }

    /// Indexes some passages and says whether there are more.
    fn index_some(&mut self) -> Result<bool, StoreError> {
        let doing = "indexing passages";
        self.connection.in_transaction(doing, |connection| {
            connection.run_statement(doing, statements::INDEX_WORDS, [INDEX_BATCH])?;
            connection.run_statement(doing, statements::NOTE_INDEXED, [INDEX_BATCH])?;
            let rows = connection.read_rows(doing, statements::HAS_UNINDEXED, [])?;
            rows.first().map_or(Ok(false), |row| row.boolean(0))
        })
    }

    /// Runs what frees pages that nobody shall be able to read: they are overwritten.
    pub(super) fn overwriting<T>(&mut self, work: impl FnOnce(&mut WriterThread) -> T) -> T {
        self.set_quietly("PRAGMA secure_delete = ON");
        let done = work(self);
        self.set_quietly("PRAGMA secure_delete = OFF");
        done
    }

    /// Gives the connection a setting. It is prepared each time: SQLite sets some of them then, and
    /// not when the statement runs. One that is refused does no harm; a real fault shows in the next
    /// transaction.
    pub(super) fn set_quietly(&mut self, sql: &str) {
        if let Err(error) = self.connection.run_batch(sql) {
            tracing::debug!(%error, sql, "housekeeping of the database failed");
        }
    }
}

fn acquire_lease(
    connection: &mut SqliteConnection,
    session: &SessionId,
    owner: &LeaseOwner,
) -> Result<Lease, StoreError> {
    let doing = "taking the lease of a session";
    let holder = read::lease_owner(connection, session)?;
    if let Some(holder) = holder.filter(is_alive) {
        return Err(StoreError::Held { session: session.clone(), holder: describe_owner(&holder) });
    }
    let values = params![
        session.as_str(),
        owner.pid,
        owner.started.cast_signed(),
        owner.host,
        owner.label,
        GENESIS,
    ];
    let rows = connection.read_rows(doing, statements::ACQUIRE, values)?;
    let epoch = rows.first().map_or(Ok(0), |row| row.number(0))?;
    Ok(Lease { session: session.clone(), epoch })
}

fn release_lease(connection: &mut SqliteConnection, lease: &Lease) -> Result<(), StoreError> {
    let values = params![lease.session.as_str(), lease.epoch.cast_signed()];
    let doing = "giving back the lease of a session";
    connection.run_statement(doing, statements::RELEASE, values).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::mpsc::channel;

    use super::super::connect::SqliteOptions;
    use super::super::connection_threads::read_job_of;
    use super::*;

    #[test]
    fn q18_a_writer_at_rest_keeps_no_pages() {
        const TRIES: usize = 10_000;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = folder.path().join("weir.db");
        let place = DatabasePlace::prepare_database(folder.path(), &SqliteOptions::default());
        let opened = WriterThread::open(folder.path(), &place.expect("a place"), Arc::default());
        let mut writer = opened.expect("it opens");
        writer.pages_kept = Duration::ZERO;
        let (before, after) = ("a".repeat(64), "b".repeat(64));
        let made = format!(
            "CREATE TABLE seen (text TEXT); INSERT INTO seen VALUES ('{before}');
             PRAGMA wal_checkpoint(TRUNCATE)"
        );
        writer.connection.run_batch(&made).expect("writable");
        let read_text = |connection: &mut SqliteConnection| -> Result<String, StoreError> {
            let rows = connection.read_rows("reading", "SELECT text FROM seen", [])?;
            rows.first().map_or(Ok(String::new()), |row| row.text(0))
        };
        assert_eq!(read_text(&mut writer.connection).expect("readable"), before);
        // What is changed behind its back is seen by a connection only once it has no page of it.
        let bytes = std::fs::read(&database).expect("readable");
        let at = bytes.windows(before.len()).position(|window| window == before.as_bytes());
        let file = File::options().write(true).open(&database).expect("it opens");
        let at = at.expect("it was copied back") as u64;
        file.write_all_at(after.as_bytes(), at).expect("writable");
        assert_eq!(read_text(&mut writer.connection).expect("readable"), before);
        let (commands, inbox) = channel();
        // It may be asked again before it rests.
        let asked = std::thread::spawn(move || {
            (0..TRIES).any(|_| {
                let (job, answer) = read_job_of(read_text);
                commands.send(WriterCommand::Read(job)).expect("it serves");
                block_on(answer.wait_for_answer()).expect("readable") == after
            })
        });
        writer.run(&inbox);
        assert!(asked.join().expect("no panic"), "the pages are kept");
    }

    #[test]
    fn q5_the_page_cache_is_wide_only_once_many_sessions_write_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = DatabasePlace::prepare_database(folder.path(), &SqliteOptions::default());
        let place = place.expect("a place");
        let opened = WriterThread::open(folder.path(), &place, Arc::default());
        let mut writer = opened.expect("it opens");
        let mut cache_after = |sessions: usize| {
            writer.make_room(sessions);
            writer.connection.read_number("PRAGMA cache_size", 0).expect("a number")
        };
        assert_eq!([1, 32].map(&mut cache_after), [-512, -512]);
        assert_eq!([33, 1].map(&mut cache_after), [-1024, -1024]);
        assert_eq!([90, 33].map(&mut cache_after), [-2048, -2048]);
        assert_eq!([GROUP_APPENDS, 90].map(&mut cache_after), [-8192, -8192]);
        writer.finish();
    }

    #[test]
    fn d2_commits_are_synced_again_where_that_was_refused_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = DatabasePlace::prepare_database(folder.path(), &SqliteOptions::default());
        let place = place.expect("a place");
        let opened = WriterThread::open(folder.path(), &place, Arc::default());
        let mut writer = opened.expect("it opens");
        let mut level_after = |leave: &dyn Fn(&mut WriterThread)| {
            leave(&mut writer);
            let (answer, _answered) = oneshot::channel();
            writer.serve_command(WriterCommand::Paused(answer));
            writer.connection.read_number("PRAGMA synchronous", 0).expect("a number")
        };
        let full = level_after(&|_| {});
        let session = SessionId::new("one");
        let release = Lease { session, epoch: 1 };
        let after_lease = level_after(&|me| {
            me.without_sync(|connection| release_lease(connection, &release)).expect("writable");
        });
        assert_eq!(after_lease, full);
        // What a failing disk leaves: a transaction that is open, and the level that leases have.
        let after_failure = level_after(&|me| {
            me.syncs = false;
            me.set_quietly("PRAGMA synchronous = NORMAL");
            me.connection.begin_writing("writing the lease").expect("it is free");
        });
        assert_eq!(after_failure, full);
        writer.finish();
    }
}
