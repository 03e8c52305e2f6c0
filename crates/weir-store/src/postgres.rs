//! The store in PostgreSQL (D1, D8): one database for a server and its replicas, one handle for each
//! person, and row-level security behind every handle.
//!
//! Who lives is judged by the database's clock (`holders`), who hears of what is in `notices`, what
//! every store checks is in `journal`. Nothing here decides what is stored.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use uuid::Uuid;
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_core::record::{Record, SessionSnapshot};
use weir_core::schedule::AgentRun;
use weir_engine::ports::{
    AgentRunFilter, Append, AuditLine, FileMark, Lease, LeaseOwner, MemoryFilter, Passage,
    PlaceLimits, Proposal, RecallQuery, Records, RemoteCommand, RunBeginOutcome, SearchHit,
    SessionFilter, SessionMeta, SignalEar, SignalLine, SignalParcel, SolvedFilter, Store,
    StoreError, StorePause, StoredItem, TickClaim, UsageFilter, UsageRow,
};

use crate::audit::{AuditFault, AuditReport, ChainVerifier};
use crate::sql::READING;
use crate::tables::memories::REMEMBERING;
use crate::tables::proposals::PROPOSING;
use crate::tables::usage::read_usage;
use crate::tables::{
    agent_runs, asks, definitions, letters, marks, proposals, recipes, sessions, settings,
    snapshots,
};

mod append;
mod connect;
mod copy;
mod error;
mod holders;
mod kept;
mod knowledge;
mod lease;
mod notices;
mod read;
mod recall;
mod records;
mod rows;
mod schedule;
mod signals;
mod transaction;
mod usage;

pub use connect::PostgresOptions;

use append::PgPendingAppend;
use connect::{DatabaseServer, PoolTurns};
use error::database_error;
use holders::LeaseReplica;
use notices::{NoticeHub, NoticeTopic, WireNotice};
use records::PostgresRecords;
use rows::in_time;
use signals::SignalRelay;
use transaction::PooledTransaction;

/// How long those who follow a session wait at most before they look by themselves.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long connections may take to close.
const CLOSING: Duration = Duration::from_secs(2);
/// Letters of an owner's name.
const OWNER_MAX: usize = 128;

/// A PostgreSQL database that keeps a server's people apart. Dropping it ends its heartbeat: its
/// leases are over after [`PostgresOptions::lease`]; [`PostgresStores::close`] gives them back at
/// once.
pub struct PostgresStores {
    shared: Arc<StoreContext>,
}

/// What every handle needs.
struct StoreContext {
    server: DatabaseServer,
    replica: Arc<LeaseReplica>,
    notices: Arc<NoticeHub>,
    signals: Arc<SignalRelay>,
    /// Heartbeat, listener, senders of notices and of what is asked. They end with the last handle.
    _tasks: JoinSet<()>,
}

/// The store of one owner. Another's rows do not exist for it.
pub struct PostgresStore {
    shared: Arc<StoreContext>,
    owner: Arc<str>,
    /// Boxed: a queue has room for tens of them from the first on, also of somebody who says nothing.
    appends: mpsc::UnboundedSender<Box<PgPendingAppend>>,
    _writer: JoinSet<()>,
}

impl PostgresStores {
    /// Opens the database at `url` (`postgres://user@host/database?sslmode=…`) and brings its schema
    /// up to date. Must be called within a Tokio runtime, which then runs its heartbeat.
    ///
    /// # Errors
    /// It cannot be reached or used, row-level security would not bind, or a newer Weir wrote it.
    pub async fn connect(url: &str) -> Result<PostgresStores, StoreError> {
        PostgresStores::connect_with(url, &PostgresOptions::default()).await
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`PostgresStores::connect`].
    pub async fn connect_with(
        url: &str,
        options: &PostgresOptions,
    ) -> Result<PostgresStores, StoreError> {
        let server = connect::connect_server(url, options).await?;
        let id = Uuid::now_v7().to_string();
        let replica = Arc::new(LeaseReplica::new(id, options.lease));
        replica.beat_once(&server.pool).await?;
        let notices = Arc::new(NoticeHub::default());
        let signals = Arc::new(SignalRelay::new(&replica.id));
        let mut tasks = JoinSet::new();
        tasks.spawn(replica.clone().keep_beating(server.aside.clone()));
        tasks.spawn(notices.clone().keep_listening(server.aside.clone(), signals.clone()));
        tasks.spawn(notices.clone().keep_saying(server.pool.clone()));
        tasks.spawn(signals.clone().keep_asking(server.signals.clone()));
        let shared = Arc::new(StoreContext { server, replica, notices, signals, _tasks: tasks });
        Ok(PostgresStores { shared })
    }

    /// The store of `owner`. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The name is not made of ASCII letters, digits, `-`, `_` and `.`, or the database cannot be
    /// used.
    pub async fn store_of_owner(&self, owner: &str) -> Result<PostgresStore, StoreError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if owner.is_empty() || owner.len() > OWNER_MAX || !owner.chars().all(plain) {
            return Err(StoreError::Io {
                doing: "opening the store of a person".to_string(),
                why: "the name is not made of letters, digits, '-', '_' and '.' alone".to_string(),
            });
        }
        copy::note_owner(&self.shared.server, owner).await?;
        let owner: Arc<str> = Arc::from(owner);
        let (appends, waiting) = mpsc::unbounded_channel();
        let mut writer = JoinSet::new();
        let pen = append::GroupWriter {
            pool: self.shared.server.pool.clone(),
            turns: self.shared.server.writer_turns.clone(),
            notices: self.shared.notices.clone(),
            owner: owner.clone(),
        };
        writer.spawn(pen.keep_writing(waiting));
        Ok(PostgresStore { shared: self.shared.clone(), owner, appends, _writer: writer })
    }

    /// Everybody who has anything in the database, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn list_owners(&self) -> Result<Vec<String>, StoreError> {
        copy::list_owners(&self.shared.server).await
    }

    /// The name of this process in the table `holders`, which says until when its leases count.
    pub fn replica_id(&self) -> &str {
        &self.shared.replica.id
    }

    /// What the server keeps beside sessions.
    pub fn server_records(&self) -> Arc<dyn Records> {
        Arc::new(PostgresRecords { shared: self.shared.clone() })
    }

    /// Removes everything of `owner`; how many rows went (D9). Whoever still writes a session of
    /// theirs finds that the lease is gone.
    ///
    /// # Errors
    /// The database refuses: nothing was removed.
    pub async fn remove(&self, owner: &str) -> Result<u64, StoreError> {
        copy::remove(&self.store_of_owner(owner).await?).await
    }

    /// Writes everything, as it is at one moment, to the new file `path`, for the owner alone, while
    /// the server goes on working (D9). How many rows.
    ///
    /// # Errors
    /// When `path` exists or cannot be written, or the database cannot be read.
    pub async fn write_backup(&self, path: &Path) -> Result<u64, StoreError> {
        copy::write_backup(&self.shared.server, path).await
    }

    /// Puts what [`PostgresStores::write_backup`] wrote into the database at `url`, which must hold
    /// nothing of Weir's yet: all of it or none. How many rows.
    ///
    /// # Errors
    /// The file cannot be read or was written by a newer Weir; the database holds something or
    /// refuses.
    pub async fn restore_backup(url: &str, path: &Path) -> Result<u64, StoreError> {
        copy::restore_backup(url, path).await
    }

    /// Gives back every lease at once, and closes every connection.
    ///
    /// # Errors
    /// The database could not be told: others wait until the leases are over.
    pub async fn close(&self) -> Result<(), StoreError> {
        let StoreContext { server, replica, .. } = &*self.shared;
        // First its heart, so that it does not beat once more afterwards.
        let _ = tokio::time::timeout(CLOSING, server.aside.close()).await;
        let left = replica.leave_holders(&server.pool).await;
        let _ = tokio::time::timeout(CLOSING, server.signals.close()).await;
        let _ = tokio::time::timeout(CLOSING, server.pool.close()).await;
        left
    }
}

/// Audit lines read at once.
const AUDIT_PAGE: usize = 500;

type OwnerTransaction = PooledTransaction;

// To begin may be to open a connection, with all that names, certificates and passwords need for it: tens of
// kilobytes while it is waited for. They are in a box of their own, which goes as soon as it has begun, and not
// in what a thousand sessions wait with (Q18, Q19).

/// Begins a transaction that sees and writes the rows of `owner` alone.
async fn begin_for_owner(
    pool: &PgPool,
    turns: &PoolTurns,
    owner: &str,
) -> Result<OwnerTransaction, sqlx::Error> {
    let _turn = turns.take_turn().await?;
    // `of` has seen to it that there is nothing in the name that could end the text.
    let begin = format!("BEGIN; SET LOCAL weir.owner = '{owner}'");
    Box::pin(in_time(PooledTransaction::begin_with(pool, begin))).await
}

/// Begins a transaction of the installation itself, at once: the heart does not wait for its turn.
async fn begin_installation(pool: &PgPool, doing: &str) -> Result<OwnerTransaction, StoreError> {
    let begin = "BEGIN; SET LOCAL weir.house = 'on'".to_owned();
    Box::pin(in_time(PooledTransaction::begin_with(pool, begin)))
        .await
        .map_err(|e| database_error(doing, &e))
}

impl DatabaseServer {
    /// The same in its turn, among all who work for somebody.
    async fn begin_for_house(&self, doing: &str) -> Result<OwnerTransaction, StoreError> {
        let _turn = self.turns.take_turn().await.map_err(|e| database_error(doing, &e))?;
        begin_installation(&self.pool, doing).await
    }
}

impl PostgresStore {
    async fn begin_work(&self, doing: &str) -> Result<OwnerTransaction, StoreError> {
        let DatabaseServer { pool, turns, .. } = &self.shared.server;
        begin_for_owner(pool, turns, &self.owner).await.map_err(|e| database_error(doing, &e))
    }

    /// A transaction that looks at the processes that live, too.
    async fn begin_among(&self, doing: &str) -> Result<OwnerTransaction, StoreError> {
        let mut work = self.begin_work(doing).await?;
        let query = sqlx::query("SET LOCAL weir.house = 'on'");
        rows::execute_statement(&mut work, doing, query).await?;
        Ok(work)
    }

    /// Follows the chain of this owner's audit lines, as [`crate::verify_audit`] does where there are
    /// files: the first line that was changed, is missing or was moved. Reads only.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn verify_audit(&self) -> Result<AuditReport, StoreError> {
        let mut work = self.begin_work(READING).await?;
        let mut chain = ChainVerifier::new();
        loop {
            let page = read::stored_audit_lines(&mut work, chain.n + 1, AUDIT_PAGE).await?;
            if page.is_empty() {
                return Ok(AuditReport { lines: chain.n, file_lines: 0, fault: None });
            }
            for line in page {
                let n = chain.n + 1;
                if let Err(why) = chain.check_next_line(line.n, &line.entry, &line.hash) {
                    let fault = Some(AuditFault { n, place: "store".to_string(), why });
                    return Ok(AuditReport { lines: n, file_lines: 0, fault });
                }
            }
        }
    }

    async fn commit_work(&self, doing: &str, work: OwnerTransaction) -> Result<(), StoreError> {
        in_time(work.commit()).await.map_err(|e| database_error(doing, &e))
    }

    /// Tells everyone who follows a session of this owner how long its journal is now, and learns who
    /// has it.
    async fn ask_lengths(&self) -> Result<(), StoreError> {
        let followers = self.shared.notices.followers_of_owner(&self.owner);
        let mut work = self.begin_work("reading the database").await?;
        let waited_for = followers.waited_for();
        for (session, facts, holder) in read::journal_lengths(&mut work, &waited_for).await? {
            self.shared.signals.note_session_holder(&self.owner, &session, holder);
            followers.notify_followers(&session, facts);
        }
        Ok(())
    }

    /// Commits a change and tells of it.
    async fn commit_and_announce(
        &self,
        doing: &str,
        about: NoticeTopic,
        mut work: OwnerTransaction,
    ) -> Result<(), StoreError> {
        notices::announce_change(&mut work, about, &self.owner).await?;
        self.commit_work(doing, work).await?;
        self.shared.notices.notify_here(about, &self.owner);
        Ok(())
    }
}

fn writer_gone() -> StoreError {
    StoreError::Io {
        doing: "writing the journal".to_string(),
        why: "its task has ended: start again".to_string(),
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError> {
        lease::acquire_lease(self, session, owner).await
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        lease::release_lease(self, lease).await
    }

    async fn check_not_held(
        &self,
        session: &SessionId,
        _owner: &LeaseOwner,
    ) -> Result<(), StoreError> {
        lease::check_not_held(self, session).await
    }

    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        let pending = Box::new(PgPendingAppend::new(append, answer));
        self.appends.send(pending).map_err(|_| writer_gone())?;
        answered.await.map_err(|_| writer_gone())?
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        read::read_records(&mut *self.begin_work(READING).await?, session, from, limit).await
    }

    async fn settings_fact(&self, session: &SessionId) -> Result<Option<Record>, StoreError> {
        sessions::find_settings_fact(&mut *self.begin_work(READING).await?, session).await
    }

    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        sessions::find_summary(&mut *self.begin_work(READING).await?, session).await
    }

    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        sessions::list_summaries(&mut *self.begin_work(READING).await?, filter).await
    }
    async fn list_abandoned_sessions(&self) -> Result<Vec<SessionMeta>, StoreError> {
        read::forsaken_sessions(&mut *self.begin_among(READING).await?, &self.shared.replica).await
    }

    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError> {
        recall::search_passages(&mut *self.begin_work(READING).await?, words, limit).await
    }

    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
        let mut work = self.begin_work(snapshots::KEEPING).await?;
        snapshots::keep_snapshot(&mut *work, snapshot).await?;
        self.commit_work(snapshots::KEEPING, work).await
    }

    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        snapshots::find_snapshot(&mut *self.begin_work(READING).await?, session).await
    }

    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError> {
        let mut work = self.begin_work(snapshots::DROPPING).await?;
        snapshots::drop_snapshot(&mut *work, session).await?;
        self.commit_work(snapshots::DROPPING, work).await
    }

    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError> {
        let mut work = self.begin_work(snapshots::KEEPING).await?;
        snapshots::keep_look(&mut *work, kind, look).await?;
        self.commit_work(snapshots::KEEPING, work).await
    }

    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        snapshots::find_look(&mut *self.begin_work(READING).await?, session, kind).await
    }

    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError> {
        lease::delete_session(self, session).await
    }

    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        read::audit_lines(&mut *self.begin_work(READING).await?, from, limit).await
    }

    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        sessions::read_blob(&mut *self.begin_work(READING).await?, id).await
    }

    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError> {
        settings::read_pause(&mut *self.begin_work(READING).await?).await
    }

    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError> {
        let mut work = self.begin_work(settings::PAUSING).await?;
        settings::set_pause(&mut *work, pause.as_ref()).await?;
        self.commit_and_announce(settings::PAUSING, NoticeTopic::Pause, work).await
    }

    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError> {
        marks::list_marks(&mut *self.begin_work(READING).await?, folders).await
    }

    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let doing = "taking a mark away";
        let mut work = self.begin_work(doing).await?;
        let was = marks::remove_mark(&mut *work, workspace, path).await?;
        self.commit_work(doing, work).await?;
        Ok(was)
    }

    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError> {
        let mut work = self.begin_work(letters::POSTING).await?;
        let id = letters::post_letter(&mut *work, &letter).await?;
        self.commit_and_announce(letters::POSTING, NoticeTopic::Mail, work).await?;
        Ok(id)
    }

    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError> {
        letters::list_letters(&mut *self.begin_work(READING).await?, session).await
    }

    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError> {
        let doing = "taking a letter away";
        let mut work = self.begin_work(doing).await?;
        let lay_there = letters::discard_letter(&mut *work, id).await?;
        self.commit_work(doing, work).await?;
        Ok(lay_there)
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        recall::recall_passages(&mut *self.begin_work(READING).await?, query).await
    }

    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        let mut work = self.begin_work(REMEMBERING).await?;
        let fact = knowledge::remember_memory(&mut work, new, now).await?;
        self.commit_work(REMEMBERING, work).await?;
        Ok(fact)
    }

    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        knowledge::list_facts(&mut *self.begin_work(READING).await?, filter).await
    }

    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError> {
        let mut work = self.begin_work(REMEMBERING).await?;
        let outcome = knowledge::settle_memory(&mut work, id, decision, now).await?;
        self.commit_work(REMEMBERING, work).await?;
        Ok(outcome)
    }

    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        let mut work = self.begin_work(PROPOSING).await?;
        knowledge::add_proposal(&mut work, proposal).await?;
        self.commit_work(PROPOSING, work).await
    }

    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        proposals::list_proposals(&mut *self.begin_work(READING).await?, what).await
    }

    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let mut work = self.begin_work(PROPOSING).await?;
        let was = proposals::withdraw_proposal(&mut *work, what, name).await?;
        self.commit_work(PROPOSING, work).await?;
        Ok(was)
    }

    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError> {
        kept::save_definition(self, kept).await
    }

    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError> {
        kept::replace_and_commit_definition(self, kept, version).await
    }

    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError> {
        definitions::find_definition(&mut *self.begin_work(READING).await?, what, name).await
    }

    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError> {
        definitions::list_definitions(&mut *self.begin_work(READING).await?, what).await
    }

    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        kept::remove_and_commit_definition(self, what, name).await
    }

    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError> {
        recipes::read_counts(&mut *self.begin_work(READING).await?).await
    }

    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        let mut work = self.begin_work(recipes::FORGETTING).await?;
        recipes::forget_recipe(&mut *work, recipe).await?;
        self.commit_work(recipes::FORGETTING, work).await
    }

    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        recipes::list_solved(&mut *self.begin_work(READING).await?, filter).await
    }

    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError> {
        schedule::claim_ticks(self, runs, holder).await
    }

    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError> {
        schedule::begin_agent_run(self, run, holder, places).await
    }

    async fn note_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        schedule::note_agent_run(self, run, holder).await
    }

    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError> {
        schedule::take_orphaned_runs(self, holder).await
    }

    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        agent_runs::list_runs(&mut *self.begin_work(READING).await?, filter).await
    }

    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        agent_runs::read_ticks(&mut *self.begin_work(READING).await?).await
    }

    async fn agents_changed(&self) {
        self.shared.notices.wait_for_notice(NoticeTopic::Agents, &self.owner).await;
    }

    async fn mail_changed(&self) {
        self.shared.notices.wait_for_notice(NoticeTopic::Mail, &self.owner).await;
    }

    async fn pause_changed(&self) {
        self.shared.notices.wait_for_notice(NoticeTopic::Pause, &self.owner).await;
    }

    async fn facts_changed(&self, session: &SessionId, seen: Seq) {
        let followers = self.shared.notices.followers_of_owner(&self.owner);
        let mut follower = followers.follow(session);
        loop {
            // Boxed: who waits, waits with what stands in this future for as long as a browser listens.
            let ask = async || Box::pin(self.ask_lengths()).await;
            if let Err(error) = followers.ask_once(ask).await {
                // Whoever reads next is told.
                tracing::debug!(%error, "the lengths of journals cannot be read");
                tokio::time::sleep(LOOK_AGAIN).await;
                return;
            }
            let mut rests = true;
            while rests {
                let since = Instant::now();
                let beyond = pin!(follower.wait_beyond(seen));
                if tokio::time::timeout(LOOK_AGAIN, beyond).await.is_ok() {
                    return;
                }
                // Who asked meanwhile asked for all.
                rests = followers.was_asked_since(since).await;
            }
        }
    }

    async fn journals_changed(&self) {
        self.shared.notices.wait_for_notice(NoticeTopic::Facts, &self.owner).await;
    }

    async fn open_asks(&self) -> Result<Vec<Record>, StoreError> {
        asks::list_open(&mut *self.begin_work(READING).await?).await
    }

    async fn ask_facts(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        asks::list_of_session(&mut *self.begin_work(READING).await?, session).await
    }

    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError> {
        asks::list_ended(&mut *self.begin_work(READING).await?, since).await
    }

    fn hear_signals(&self, session: &SessionId) -> Option<Box<dyn SignalEar>> {
        Some(self.shared.signals.follow_signals(&self.owner, session))
    }

    async fn signal_lines(&self, session: &SessionId, known: &[SignalLine]) -> Vec<SignalLine> {
        self.shared.signals.wait_for_lines(&self.owner, session, known).await
    }

    async fn send_signal(
        &self,
        session: &SessionId,
        parcel: &SignalParcel,
    ) -> Result<(), StoreError> {
        let said = WireNotice::Signal {
            owner: self.owner.to_string(),
            session: session.as_str().to_string(),
            line: parcel.line.number,
            n: parcel.n,
            body: parcel.body.clone(),
        };
        let channel = signals::channel_of(&parcel.line.to);
        let sent = notices::send_notice(&self.shared.server.signals, &channel, &said).await;
        sent.map_err(|e| database_error("telling another server what streams", &e))
    }

    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        read_usage(&mut *self.begin_work(READING).await?, filter).await
    }
}
