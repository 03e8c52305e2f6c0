//! The store in one SQLite file, `weir.db` (D1): write-ahead log, every commit synced, one thread
//! that writes. It reads too as long as nothing else is asked of it; then a few threads do that.
//!
//! Nothing here decides what is stored. What every store checks is in `journal`; the audit files
//! are in `audit`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::executor::block_on;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_core::record::{Record, SessionSnapshot};
use weir_core::schedule::AgentRun;
use weir_engine::ports::{
    AgentRunFilter, Append, AuditLine, FileMark, KEPT_AGENT, Lease, LeaseOwner, MemoryFilter,
    Passage, PlaceLimits, Proposal, RUNNING, RecallQuery, RemoteCommand, RunBeginOutcome,
    SearchHit, SessionFilter, SessionMeta, SolvedFilter, Store, StoreError, StorePause, StoredItem,
    TickClaim, UsageFilter, UsageRow,
};

mod append;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod connection_threads;
mod copy;
pub(crate) mod error;
mod journal_turns;
mod knowledge;
mod last_look;
mod owed;
mod read;
mod recall;
mod schedule;
mod snapshots;
mod statements;
mod write_ahead_log;
mod writer;

pub use copy::copy_sqlite;

pub use connect::SqliteOptions;

use crate::audit::StoredLine;
use crate::filesystem::io_error;
use crate::follow::JournalFollowers;
use crate::notice::ChangeMarker;
use crate::owner::{describe_owner, is_alive};
use crate::tables::snapshots::{find_look, find_snapshot};
use crate::tables::{
    agent_runs, asks, definitions, letters, marks, proposals, recipes, sessions, usage,
};
use connect::DatabasePlace;
use connection::SqliteConnection;
use connection_threads::{ConnectionThreads, on_own_thread, read_job_of};
use journal_turns::JournalTurns;
use last_look::LastLook;
use schedule::AgentCommand;
use snapshots::SnapshotCommand;
use writer::{ReplySender, WriterCommand, WriterCounters, WriterThread};

/// How long new facts may wait for company before those who follow a session look.
const COMPANY: Duration = Duration::from_millis(20);
/// How often they look even if nobody announced anything, all of them together. A look is hardly ever more than
/// one at the files.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long one of them relies on another who looks for it.
const LOOKED_FOR: Duration = Duration::from_secs(30);
/// Most threads that read at once, beside the one that writes.
const READERS: usize = 4;
/// How long one of them waits for something to read before it closes its connection, whose pages and statements
/// are a quarter of a megabyte (Q18). Opening one again takes less than a millisecond. Short: what all people
/// who look at something within so long take at once, a server keeps, because memory that was given back stays
/// with the allocator.
const READER_REST: Duration = Duration::from_secs(2);

/// A store in `weir.db` of a state folder. Several processes may use one folder at once.
///
/// An append whose audit lines cannot be written fails with [`StoreError::Io`] and nothing is
/// stored: the day's file is opened and its space reserved before the commit. Should the file fail
/// even so (a broken disk), the error comes after the commit: a writer that sees `Io` must read
/// again before it goes on.
///
/// Dropping it waits for what was sent to it and closes the file: whoever does that last copies the
/// write-ahead log back, unless it is kept ([`SqliteStore::keep_write_ahead_log`]).
pub struct SqliteStore {
    /// `None` only while dropping.
    commands: Option<Sender<WriterCommand>>,
    thread: Option<JoinHandle<()>>,
    readers: ConnectionThreads,
    turns: JournalTurns,
    place: DatabasePlace,
    pause: ChangeMarker,
    mail: ChangeMarker,
    agents: ChangeMarker,
    facts: ChangeMarker,
    followers: JournalFollowers,
    /// When their lengths were asked for.
    last_look: LastLook,
    /// When nobody was at work.
    last_rest: LastLook,
    counters: Arc<WriterCounters>,
    state_dir: PathBuf,
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// Appends that were asked for.
    pub appends: u64,
    /// Transactions that were committed for them.
    pub transactions: u64,
}

impl SqliteStore {
    /// Opens the store of `state_dir`, which is made (for the owner alone) if it does not exist.
    /// Blocks for a few milliseconds at most.
    ///
    /// # Errors
    /// When folder or file cannot be used, or were written by a newer Weir.
    pub fn open(state_dir: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_with(state_dir, &SqliteOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_with(state_dir: &Path, options: &SqliteOptions) -> Result<SqliteStore, StoreError> {
        let place = DatabasePlace::prepare_database(state_dir, options)?;
        let counters = Arc::new(WriterCounters::default());
        let (commands, inbox) = channel();
        let (ready, opened) = channel();
        let thread = {
            let (place, state_dir) = (place.clone(), state_dir.to_path_buf());
            let counters = Arc::clone(&counters);
            std::thread::Builder::new()
                .name("weir-journal".to_string())
                .spawn(move || match WriterThread::open(&state_dir, &place, counters) {
                    Ok(writer) => {
                        let _ = ready.send(Ok(()));
                        writer.run(&inbox);
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                    }
                })
                .map_err(|e| io_error("starting the journal's thread", &e))?
        };
        match opened.recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(thread_gone()),
        }
        Ok(SqliteStore {
            commands: Some(commands),
            thread: Some(thread),
            readers: ConnectionThreads::new("weir-db-read", READERS, Some(READER_REST), {
                let place = place.clone();
                move || place.connect_reader()
            }),
            turns: JournalTurns::new(Arc::clone(&counters), options.one_session),
            pause: ChangeMarker::of_pause(state_dir),
            mail: ChangeMarker::of_mail(state_dir),
            agents: ChangeMarker::of_agents(state_dir),
            facts: ChangeMarker::of_facts(state_dir),
            followers: JournalFollowers::default(),
            last_look: LastLook::default(),
            last_rest: LastLook::default(),
            state_dir: state_dir.to_path_buf(),
            place,
            counters,
        })
    }

    /// The folder in which the database lies.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Counts of appends and transactions since the store was opened.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            appends: self.counters.appends.load(Ordering::Relaxed),
            transactions: self.counters.transactions.load(Ordering::Relaxed),
        }
    }

    /// Leaves the write-ahead log beside the database when the store is closed, if it is short, for
    /// the next program to go on with: closing writes nothing then, and opening makes no new log.
    /// `weir.db` alone is not the whole database until somebody closes it who does not ask for this.
    pub fn keep_write_ahead_log(&self) {
        self.counters.keeps_write_ahead_log.store(true, Ordering::Relaxed);
    }

    /// Writes a complete, compact copy of the database to `path`, for the owner alone, while the
    /// store goes on working (D9).
    ///
    /// # Errors
    /// When `path` exists, or cannot be written.
    pub async fn write_backup(&self, path: &Path) -> Result<(), StoreError> {
        let (place, path) = (self.place.clone(), path.to_owned());
        on_own_thread(move || copy::copy_into(&mut place.connect_plain()?, &path)).await
    }

    /// Who writes `session` now, in words; `None`: nobody that is alive.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn holder_text(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let session = session.clone();
        let owner = self.read(async move |c| read::lease_owner(c, &session)).await?;
        Ok(owner.filter(is_alive).map(|owner| describe_owner(&owner)))
    }

    /// Reads the whole database and says whether it holds together.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first fault.
    pub async fn check_integrity(&self) -> Result<(), StoreError> {
        // It may take minutes: no append waits behind it.
        self.readers.run_read(read::check_integrity).await
    }

    /// Tells everyone who follows a session how long its journal is now.
    async fn ask_lengths(&self) -> Result<(), StoreError> {
        let look = LastLook::begin(&self.place);
        let sessions = self.followers.waited_for();
        let lengths = self.read(async move |c| read::journal_lengths(c, &sessions)).await?;
        for (session, facts) in lengths {
            self.followers.notify_followers(&session, facts);
        }
        self.last_look.end(look);
        Ok(())
    }

    /// Whether whoever rested from `since` on was told what they would be told if they asked now.
    async fn is_told_since(&self, since: Instant) -> bool {
        self.followers.was_asked_since(since).await
            || self.last_look.still_holds(&self.place, since)
    }

    /// Resolves for one of those who follow sessions once they would be told something else if they asked
    /// now. One looks for all of them, and another when that one has left: the others hardly need a timer
    /// (Q18).
    async fn look_for_all(&self) {
        let _turn = loop {
            if let Ok(turn) = timeout(LOOKED_FOR, self.followers.turn_to_look()).await {
                break turn;
            }
            // Who has the turn is not at it while it waits for a slow client.
            let recently = Instant::now().checked_sub(LOOK_AGAIN * 2);
            if !self.is_told_since(recently.unwrap_or_else(Instant::now)).await {
                return;
            }
        };
        // It rests first: where an answer takes long, whoever was just answered would ask again at once. What
        // came since the last answer shows in the files, however long ago whoever looked before has left.
        loop {
            let since = Instant::now();
            sleep(LOOK_AGAIN).await;
            if !self.is_told_since(since).await {
                return;
            }
        }
    }

    /// Gives `work` a connection: that of the journal's thread as long as no more is asked of it at once
    /// than may wait, one of the readers' from then on. Whoever drops this does not want it any more.
    async fn read<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, awaited) = read_job_of(move |connection| block_on(work(connection)));
        let turn = self.turns.begin_read();
        if turn.is_some() {
            let Some(commands) = &self.commands else { return Err(thread_gone()) };
            commands.send(WriterCommand::Read(job)).map_err(|_| thread_gone())?;
        } else {
            self.readers.submit_job(job)?;
        }
        awaited.wait_for_answer().await
    }

    async fn send_command<T>(
        &self,
        command: impl FnOnce(ReplySender<T>) -> WriterCommand,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let _turn = self.turns.begin_command();
        let Some(commands) = &self.commands else { return Err(thread_gone()) };
        commands.send(command(answer)).map_err(|_| thread_gone())?;
        answered.await.map_err(|_| thread_gone())?
    }
}

fn thread_gone() -> StoreError {
    StoreError::Io {
        doing: "writing the journal".to_string(),
        why: "its thread has ended: start again".to_string(),
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.readers.close();
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has nothing more to say here.
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError> {
        self.send_command(|answer| WriterCommand::Acquire(session.clone(), owner.clone(), answer))
            .await
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        self.send_command(|answer| WriterCommand::Release(lease.clone(), answer)).await
    }

    async fn check_not_held(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<(), StoreError> {
        if self.holder_text(session).await?.is_none() {
            return Ok(());
        }
        // What could not be given back on a full disk is, before somebody takes it.
        let lease = self.acquire_lease(session, owner).await?;
        self.release_lease(&lease).await
    }

    async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.send_command(|answer| WriterCommand::Append(Box::new(append), answer)).await
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let session = session.clone();
        self.read(async move |c| read::read_records(c, &session, from, limit)).await
    }

    async fn settings_fact(&self, session: &SessionId) -> Result<Option<Record>, StoreError> {
        let session = session.clone();
        self.read(async move |c| sessions::find_settings_fact(c, &session).await).await
    }

    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        let session = session.clone();
        self.read(async move |c| sessions::find_summary(c, &session).await).await
    }

    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        let filter = filter.clone();
        self.read(async move |c| sessions::list_summaries(c, &filter).await).await
    }

    async fn list_abandoned_sessions(&self) -> Result<Vec<SessionMeta>, StoreError> {
        // Whoever goes to work writes that down: where nobody was at it and nobody wrote since, nobody is.
        if self.last_rest.still_holds(&self.place, Instant::now()) {
            return Ok(Vec::new());
        }
        let look = LastLook::begin(&self.place);
        let mut found = self.list_sessions(&SessionFilter::default()).await?;
        found.retain(|meta| meta.status == RUNNING);
        if found.is_empty() {
            self.last_rest.end(look);
        } else {
            self.last_rest.forget();
        }
        Ok(found)
    }

    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError> {
        self.send_command(WriterCommand::Index).await?;
        let words = words.to_string();
        // Over all sessions it may take long: no append waits behind it.
        self.readers.run_read(move |c| read::search_passages(c, &words, limit)).await
    }

    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
        let snapshot = Box::new(snapshot.clone());
        let keep = |answer| WriterCommand::Snapshots(SnapshotCommand::Keep(snapshot, answer));
        self.send_command(keep).await
    }

    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let session = session.clone();
        self.read(async move |c| find_snapshot(c, &session).await).await
    }

    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError> {
        let session = session.clone();
        let drop = |answer| WriterCommand::Snapshots(SnapshotCommand::Drop(session, answer));
        self.send_command(drop).await
    }

    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError> {
        let (kind, look) = (kind.to_string(), Box::new(look.clone()));
        let keep = |answer| WriterCommand::Snapshots(SnapshotCommand::KeepLook(kind, look, answer));
        self.send_command(keep).await
    }

    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let (session, kind) = (session.clone(), kind.to_string());
        self.read(async move |c| find_look(c, &session, &kind).await).await
    }

    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.send_command(|answer| WriterCommand::Delete(session.clone(), answer)).await
    }

    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.read(async move |c| read::list_audit_lines(c, from, limit)).await
    }

    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        let id = id.clone();
        self.read(async move |c| sessions::read_blob(c, &id).await).await
    }

    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError> {
        self.send_command(WriterCommand::Paused).await
    }

    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError> {
        self.send_command(|answer| WriterCommand::SetPaused(pause, answer)).await?;
        self.pause.touch()
    }

    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError> {
        let folders = folders.to_vec();
        self.read(async move |c| marks::list_marks(c, &folders).await).await
    }

    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let (workspace, path) = (workspace.to_string(), path.to_string());
        self.send_command(|answer| WriterCommand::Unmark { workspace, path, answer }).await
    }

    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError> {
        let id = self.send_command(|answer| WriterCommand::Post(Box::new(letter), answer)).await?;
        self.mail.touch()?;
        Ok(id)
    }

    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError> {
        let session = session.clone();
        self.read(async move |c| letters::list_letters(c, &session).await).await
    }

    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError> {
        self.send_command(|answer| WriterCommand::Discard(id, answer)).await
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        if !query.words.trim().is_empty() {
            self.send_command(WriterCommand::Index).await?;
        }
        let query = query.clone();
        if query.session.is_none() {
            return self.readers.run_read(move |c| recall::recall_passages(c, &query)).await;
        }
        self.read(async move |c| recall::recall_passages(c, &query)).await
    }

    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        self.send_command(|answer| WriterCommand::Remember(Box::new(new.clone()), now, answer))
            .await
    }

    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        let filter = filter.clone();
        self.read(async move |c| knowledge::list_facts(c, &filter)).await
    }

    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError> {
        let (id, decision) = (id.clone(), Box::new(decision.clone()));
        self.send_command(|answer| WriterCommand::SettleMemory { id, decision, now, answer }).await
    }

    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.send_command(|answer| WriterCommand::Propose(Box::new(proposal.clone()), answer)).await
    }

    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        let what = what.to_string();
        self.read(async move |c| proposals::list_proposals(c, &what).await).await
    }

    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError> {
        let kept =
            self.send_command(|answer| WriterCommand::Keep(Box::new(kept.clone()), answer)).await?;
        if kept.what == KEPT_AGENT {
            self.agents.touch()?;
        }
        Ok(kept)
    }

    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError> {
        let (kind, kept) = (kept.what.clone(), Box::new(kept.clone()));
        let replaced =
            self.send_command(|answer| WriterCommand::Replace { kept, version, answer }).await?;
        if kind == KEPT_AGENT {
            self.agents.touch()?;
        }
        Ok(replaced)
    }

    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError> {
        let (what, name) = (what.to_string(), name.to_string());
        self.read(async move |c| definitions::find_definition(c, &what, &name).await).await
    }

    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError> {
        let what = what.to_string();
        self.read(async move |c| definitions::list_definitions(c, &what).await).await
    }

    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let (kind, name) = (what.to_string(), name.to_string());
        let was =
            self.send_command(|answer| WriterCommand::Unkeep { what: kind, name, answer }).await?;
        if what == KEPT_AGENT {
            self.agents.touch()?;
        }
        Ok(was)
    }

    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError> {
        self.read(async |c| recipes::read_counts(c).await).await
    }

    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        let recipe = recipe.to_string();
        self.send_command(|answer| WriterCommand::SettleRecipe { recipe, answer }).await
    }

    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        let filter = filter.clone();
        self.read(async move |c| recipes::list_solved(c, &filter).await).await
    }

    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let (what, name) = (what.to_string(), name.to_string());
        self.send_command(|answer| WriterCommand::WithdrawProposal { what, name, answer }).await
    }

    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError> {
        let (runs, owner) = (runs.to_vec(), holder.cloned());
        let command = |answer| WriterCommand::Agents(AgentCommand::Claim(runs, owner, answer));
        let claims = self.send_command(command).await?;
        if holder.is_none() {
            self.agents.touch()?;
        }
        Ok(claims)
    }

    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError> {
        let (run, holder, places) = (Box::new(run.clone()), holder.clone(), *places);
        self.send_command(|answer| {
            WriterCommand::Agents(AgentCommand::Begin(run, holder, places, answer))
        })
        .await
    }

    async fn note_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        let (run, holder) = (Box::new(run.clone()), holder.clone());
        let command = |answer| WriterCommand::Agents(AgentCommand::Note(run, holder, answer));
        let noted = self.send_command(command).await?;
        // A place may be free, or a run wait for whoever takes it.
        self.agents.touch()?;
        Ok(noted)
    }

    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError> {
        // Looking costs nothing, and there is hardly ever one.
        if self.read(async |c| schedule::orphaned_runs(c)).await?.is_empty() {
            return Ok(Vec::new());
        }
        let holder = holder.clone();
        self.send_command(|answer| WriterCommand::Agents(AgentCommand::Take(holder, answer))).await
    }

    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        let filter = filter.clone();
        self.read(async move |c| agent_runs::list_runs(c, &filter).await).await
    }

    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        self.read(async |c| agent_runs::read_ticks(c).await).await
    }

    async fn agents_changed(&self) {
        self.agents.wait_for_change().await;
    }

    async fn mail_changed(&self) {
        self.mail.wait_for_change().await;
    }

    async fn pause_changed(&self) {
        self.pause.wait_for_change().await;
    }

    async fn facts_changed(&self, session: &SessionId, seen: Seq) {
        let mut follower = self.followers.follow(session);
        loop {
            let mut touched = pin!(self.facts.wait_for_change());
            // It listens from its first poll on: what is written from now on is not missed.
            if futures::poll!(&mut touched).is_ready() {
                continue;
            }
            if let Err(error) = self.followers.ask_once(async || self.ask_lengths().await).await {
                // Whoever reads next is told.
                tracing::debug!(%error, "the lengths of journals cannot be read");
                sleep(LOOK_AGAIN).await;
                return;
            }
            tokio::select! {
                biased;
                () = follower.wait_beyond(seen) => return,
                () = &mut touched => sleep(COMPANY).await,
                () = self.look_for_all() => (),
            }
        }
    }

    async fn journals_changed(&self) {
        self.facts.wait_for_change().await;
    }

    async fn open_asks(&self) -> Result<Vec<Record>, StoreError> {
        self.read(async |c| asks::list_open(c).await).await
    }

    async fn ask_facts(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        let session = session.clone();
        self.read(async move |c| asks::list_of_session(c, &session).await).await
    }

    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError> {
        self.read(async move |c| asks::list_ended(c, since).await).await
    }

    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        let filter = filter.clone();
        self.read(async move |c| usage::read_usage(c, &filter).await).await
    }
}

/// The audit table as `verify_audit` reads it: without a store that writes, and blocking.
pub(crate) struct AuditReader {
    connection: SqliteConnection,
}

impl AuditReader {
    pub(crate) fn open(state_dir: &Path) -> Result<AuditReader, StoreError> {
        let place = DatabasePlace::open_existing(state_dir)?;
        Ok(AuditReader { connection: place.connect_reader()? })
    }

    /// At most `limit` lines from number `from` on.
    pub(crate) fn audit_lines(
        &mut self,
        from: u64,
        limit: u64,
    ) -> Result<Vec<StoredLine>, StoreError> {
        read::audit_lines(&mut self.connection, from, u64::MAX, limit)
    }

    pub(crate) fn count_lines(&mut self) -> Result<u64, StoreError> {
        read::audit_count(&mut self.connection)
    }

    pub(crate) fn last_exported(&mut self) -> Result<u64, StoreError> {
        read::last_exported(&mut self.connection)
    }
}
