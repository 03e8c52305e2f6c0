//! The store in one SQLite file, `weir.db` (D1): write-ahead log, every commit synced, one thread
//! that writes and a few connections that read.
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
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::block_on;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryFact, MemoryStatus, NewMemory};
use weir_core::recipe::{SolvedRun, Standing};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_engine::ports::{
    AgentRunFilter, Append, AuditLine, Begin, Claim, FileMark, KEPT_AGENT, Kept, Lease, Letter,
    MemoryFilter, Owner, Passage, Pause, Places, Proposal, RecallQuery, SearchHit, SessionFilter,
    SessionMeta, SolvedFilter, Store, StoreError, UsageFilter, UsageRow,
};

mod append;
mod connect;
mod copy;
pub(crate) mod error;
mod knowledge;
mod owed;
mod read;
mod recall;
mod rows;
mod schedule;
mod statements;
mod writer;

pub use copy::copy_sqlite;

pub use connect::SqliteOptions;

use crate::audit::StoredLine;
use crate::filesystem::io_error;
use crate::follow::Followers;
use crate::notice::Notice;
use crate::owner::{describe, is_alive};
use crate::tables::{agent_runs, definitions, letters, marks, proposals, recipes, sessions, usage};
use connect::Place;
use error::failed;
use read::Readers;
use schedule::AgentCommand;
use writer::{Answer, Command, Counters, Writer};

/// How long new facts may wait for company before those who follow a session look.
const COMPANY: Duration = Duration::from_millis(20);
/// How often they look even if nobody announced anything.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A store in `weir.db` of a state folder. Several processes may use one folder at once.
///
/// An append whose audit lines cannot be written fails with [`StoreError::Io`] and nothing is
/// stored: the day's file is opened and its space reserved before the commit. Should the file fail
/// even so (a broken disk), the error comes after the commit: a writer that sees `Io` must read
/// again before it goes on.
///
/// Dropping it waits for what was sent to it and closes the file.
pub struct SqliteStore {
    /// `None` only while dropping.
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    readers: Readers,
    place: Place,
    pause: Notice,
    mail: Notice,
    agents: Notice,
    facts: Notice,
    followers: Followers,
    counters: Arc<Counters>,
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
        let place = Place::prepare(state_dir, options)?;
        let counters = Arc::new(Counters::default());
        let (commands, inbox) = channel();
        let (ready, opened) = channel();
        let thread = {
            let (place, state_dir) = (place.clone(), state_dir.to_path_buf());
            let counters = Arc::clone(&counters);
            std::thread::Builder::new()
                .name("weir-journal".to_string())
                .spawn(move || match Writer::open(&state_dir, &place, counters) {
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
            readers: Readers::new(place.clone()),
            pause: Notice::of_pause(state_dir),
            mail: Notice::of_mail(state_dir),
            agents: Notice::of_agents(state_dir),
            facts: Notice::of_facts(state_dir),
            followers: Followers::default(),
            state_dir: state_dir.to_path_buf(),
            place,
            counters,
        })
    }

    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// What it has done so far.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            appends: self.counters.appends.load(Ordering::Relaxed),
            transactions: self.counters.transactions.load(Ordering::Relaxed),
        }
    }

    /// Writes a complete, compact copy of the database to `path`, for the owner alone, while the
    /// store goes on working (D9).
    ///
    /// # Errors
    /// When `path` exists, or cannot be written.
    pub async fn backup(&self, path: &Path) -> Result<(), StoreError> {
        let mut connection = self.place.connect_plain().await?;
        copy::copy_into(&mut connection, path).await
    }

    /// Who writes `session` now, in words; `None`: nobody that is alive.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn holder(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let owner = self.readers.with(async |c| read::owner(c, session).await).await?;
        Ok(owner.filter(is_alive).map(|owner| describe(&owner)))
    }

    /// Reads the whole database and says whether it holds together.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first fault.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.readers
            .with(async |connection| {
                let query = sqlx::query("PRAGMA quick_check(1)");
                let row = query.fetch_one(connection).await;
                let row = row.map_err(|e| failed("checking the database", &e))?;
                match read::text(&row, 0)?.as_str() {
                    "ok" => Ok(()),
                    fault => Err(StoreError::Damaged {
                        what: "the store's database".to_string(),
                        why: format!("{fault}: restore it from a backup"),
                    }),
                }
            })
            .await
    }

    /// Tells everyone who follows a session how long its journal is now.
    async fn ask_lengths(&self) -> Result<(), StoreError> {
        let sessions = self.followers.waited_for();
        let lengths = self.readers.with(async |c| read::lengths(c, &sessions).await).await?;
        for (session, facts) in lengths {
            self.followers.tell(&session, facts);
        }
        Ok(())
    }

    async fn ask<T>(&self, command: impl FnOnce(Answer<T>) -> Command) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
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
    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        self.ask(|answer| Command::Acquire(session.clone(), owner.clone(), answer)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.ask(|answer| Command::Release(lease.clone(), answer)).await
    }

    async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.ask(|answer| Command::Append(Box::new(append), answer)).await
    }

    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.readers.with(async |c| read::facts(c, session, from, limit).await).await
    }

    async fn meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        self.readers.with(async |c| sessions::find_summary(c, session).await).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        self.readers.with(async |c| sessions::list_summaries(c, filter).await).await
    }

    async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, StoreError> {
        self.ask(Command::Index).await?;
        self.readers.with(async |c| read::search(c, words, limit).await).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.ask(|answer| Command::Delete(session.clone(), answer)).await
    }

    async fn audit(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.readers.with(async |c| read::audit(c, from, limit).await).await
    }

    async fn blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        self.readers.with(async |c| sessions::read_blob(c, id).await).await
    }

    async fn paused(&self) -> Result<Option<Pause>, StoreError> {
        self.ask(Command::Paused).await
    }

    async fn set_paused(&self, pause: Option<Pause>) -> Result<(), StoreError> {
        self.ask(|answer| Command::SetPaused(pause, answer)).await?;
        self.pause.touch()
    }

    async fn marks(&self, workspace: &str) -> Result<Vec<FileMark>, StoreError> {
        self.readers.with(async |c| marks::list_marks(c, workspace).await).await
    }

    async fn unmark(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let (workspace, path) = (workspace.to_string(), path.to_string());
        self.ask(|answer| Command::Unmark { workspace, path, answer }).await
    }

    async fn post(&self, letter: Letter) -> Result<u64, StoreError> {
        let id = self.ask(|answer| Command::Post(Box::new(letter), answer)).await?;
        self.mail.touch()?;
        Ok(id)
    }

    async fn mail(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.readers.with(async |c| letters::list_letters(c, session).await).await
    }

    async fn discard(&self, id: u64) -> Result<bool, StoreError> {
        self.ask(|answer| Command::Discard(id, answer)).await
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        if !query.words.trim().is_empty() {
            self.ask(Command::Index).await?;
        }
        self.readers.with(async |c| recall::recall(c, query).await).await
    }

    async fn remember(&self, new: &NewMemory, now: Timestamp) -> Result<MemoryFact, StoreError> {
        self.ask(|answer| Command::Remember(Box::new(new.clone()), now, answer)).await
    }

    async fn memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        self.readers.with(async |c| knowledge::memories(c, filter).await).await
    }

    async fn settle_memory(
        &self,
        id: &MemoryId,
        status: MemoryStatus,
        now: Timestamp,
    ) -> Result<Option<MemoryFact>, StoreError> {
        let id = id.clone();
        self.ask(|answer| Command::SettleMemory { id, status, now, answer }).await
    }

    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.ask(|answer| Command::Propose(Box::new(proposal.clone()), answer)).await
    }

    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        self.readers.with(async |c| proposals::list_proposals(c, what).await).await
    }

    async fn keep(&self, kept: &Kept) -> Result<Kept, StoreError> {
        let kept = self.ask(|answer| Command::Keep(Box::new(kept.clone()), answer)).await?;
        if kept.what == KEPT_AGENT {
            self.agents.touch()?;
        }
        Ok(kept)
    }

    async fn kept(&self, what: &str) -> Result<Vec<Kept>, StoreError> {
        self.readers.with(async |c| definitions::list_definitions(c, what).await).await
    }

    async fn unkeep(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let (kind, name) = (what.to_string(), name.to_string());
        let was = self.ask(|answer| Command::Unkeep { what: kind, name, answer }).await?;
        if what == KEPT_AGENT {
            self.agents.touch()?;
        }
        Ok(was)
    }

    async fn recipe_counts(&self) -> Result<BTreeMap<String, Standing>, StoreError> {
        self.readers.with(async |c| recipes::read_counts(c).await).await
    }

    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        let recipe = recipe.to_string();
        self.ask(|answer| Command::SettleRecipe { recipe, answer }).await
    }

    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        self.readers.with(async |c| recipes::list_solved(c, filter).await).await
    }

    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let (what, name) = (what.to_string(), name.to_string());
        self.ask(|answer| Command::WithdrawProposal { what, name, answer }).await
    }

    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&Owner>,
    ) -> Result<Vec<Claim>, StoreError> {
        let (runs, owner) = (runs.to_vec(), holder.cloned());
        let command = |answer| Command::Agents(AgentCommand::Claim(runs, owner, answer));
        let claims = self.ask(command).await?;
        if holder.is_none() {
            self.agents.touch()?;
        }
        Ok(claims)
    }

    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &Owner,
        places: &Places,
    ) -> Result<Begin, StoreError> {
        let (run, holder, places) = (Box::new(run.clone()), holder.clone(), *places);
        self.ask(|answer| Command::Agents(AgentCommand::Begin(run, holder, places, answer))).await
    }

    async fn note_agent_run(&self, run: &AgentRun, holder: &Owner) -> Result<bool, StoreError> {
        let (run, holder) = (Box::new(run.clone()), holder.clone());
        let command = |answer| Command::Agents(AgentCommand::Note(run, holder, answer));
        let noted = self.ask(command).await?;
        // A place may be free, or a run wait for whoever takes it.
        self.agents.touch()?;
        Ok(noted)
    }

    async fn take_agent_runs(&self, holder: &Owner) -> Result<Vec<AgentRun>, StoreError> {
        // Looking costs nothing, and there is hardly ever one.
        if self.readers.with(async |c| schedule::orphans(c).await).await?.is_empty() {
            return Ok(Vec::new());
        }
        let holder = holder.clone();
        self.ask(|answer| Command::Agents(AgentCommand::Take(holder, answer))).await
    }

    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        self.readers.with(async |c| agent_runs::list_runs(c, filter).await).await
    }

    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        self.readers.with(async |c| agent_runs::read_ticks(c).await).await
    }

    async fn agents_changed(&self) {
        self.agents.changed().await;
    }

    async fn mail_changed(&self) {
        self.mail.changed().await;
    }

    async fn pause_changed(&self) {
        self.pause.changed().await;
    }

    async fn facts_changed(&self, session: &SessionId, seen: Seq) {
        let mut follower = self.followers.follow(session);
        loop {
            let mut touched = pin!(self.facts.changed());
            // It listens from its first poll on: what is written from now on is not missed.
            if futures::poll!(&mut touched).is_ready() {
                continue;
            }
            if let Err(error) = self.followers.ask_once(async || self.ask_lengths().await).await {
                // Whoever reads next is told.
                tracing::debug!(%error, "the lengths of journals cannot be read");
                tokio::time::sleep(LOOK_AGAIN).await;
                return;
            }
            tokio::select! {
                biased;
                () = follower.beyond(seen) => return,
                () = touched => tokio::time::sleep(COMPANY).await,
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    async fn usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.readers.with(async |c| usage::read_usage(c, filter).await).await
    }
}

/// The audit table as `verify_audit` reads it: without a store that writes, and blocking.
pub(crate) struct AuditReader {
    connection: SqliteConnection,
}

impl AuditReader {
    pub(crate) fn open(state_dir: &Path) -> Result<AuditReader, StoreError> {
        let place = Place::existing(state_dir)?;
        Ok(AuditReader { connection: block_on(place.connect_reader())? })
    }

    /// At most `limit` lines from number `from` on.
    pub(crate) fn lines(&mut self, from: u64, limit: u64) -> Result<Vec<StoredLine>, StoreError> {
        block_on(read::audit_lines(&mut self.connection, from, u64::MAX, limit))
    }

    pub(crate) fn count(&mut self) -> Result<u64, StoreError> {
        block_on(read::audit_count(&mut self.connection))
    }

    pub(crate) fn exported(&mut self) -> Result<u64, StoreError> {
        block_on(read::exported(&mut self.connection))
    }
}
