//! Where the program may die: every crossing of a port, before and after.
//!
//! A point counts the crossings. At the chosen one it never goes on and says so; the player then
//! drops the whole runtime, as SIGKILL would, and begins a new life on what is durable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;
use weir_core::governance::Permit;
use weir_core::ids::{BlobId, CheckpointId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::model::{ModelInfo, ModelReply, ModelRequest};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_core::session::SessionSnapshot;
use weir_core::tool::{RawResult, ToolSpec};
use weir_engine::ports::{
    AgentRunFilter, Append, AttachmentSupport, AuditLine, Baseline, CallPlan, CheckpointFilter,
    CheckpointInfo, Checkpoints, Conversation, FileMark, Lease, LeaseOwner, MediaMap, MemoryFilter,
    Model, Passage, PlaceLimits, PreparedRequest, Proposal, RecallQuery, RemoteCommand,
    RunBeginOutcome, SearchHit, SessionFilter, SessionMeta, SignalSink, Snapshot, SnapshotEntry,
    SolvedFilter, Store, StoreError, StorePause, StoredItem, TickClaim, Tool, ToolContext,
    UsageFilter, UsageRow,
};

/// Counts crossings and stops at one of them.
#[derive(Debug)]
pub struct CrashPoint {
    crossed: AtomicUsize,
    at: AtomicUsize,
    /// Notified when the chosen crossing is reached.
    pub crashed: Notify,
}

impl CrashPoint {
    /// A point that stops at crossing `at` (from 1); 0: never.
    pub fn new(at: usize) -> Arc<CrashPoint> {
        let at = AtomicUsize::new(at);
        Arc::new(CrashPoint { crossed: AtomicUsize::new(0), at, crashed: Notify::new() })
    }

    /// Stops at the crossing that is the `count`th from now on (from 1).
    pub fn stop_after(&self, count: usize) {
        self.at.store(self.crossed() + count, Ordering::SeqCst);
    }

    /// Stops nowhere, unless it has stopped already.
    pub fn let_pass(&self) {
        if !self.is_crashed() {
            self.at.store(0, Ordering::SeqCst);
        }
    }

    /// Whether the chosen crossing was reached.
    pub fn is_crashed(&self) -> bool {
        let at = self.at.load(Ordering::SeqCst);
        at != 0 && self.crossed() >= at
    }

    /// How many crossings there were.
    pub fn crossed(&self) -> usize {
        self.crossed.load(Ordering::SeqCst)
    }

    /// Passes, or never returns.
    pub async fn cross(&self) {
        let count = self.crossed.fetch_add(1, Ordering::SeqCst) + 1;
        let at = self.at.load(Ordering::SeqCst);
        if count == at {
            self.crashed.notify_one();
        }
        if at != 0 && count >= at {
            std::future::pending::<()>().await;
        }
    }
}

/// A store that dies around whatever it writes for a session: facts, leases, letters, and what is
/// kept beside them.
pub struct CrashStore {
    /// The real one.
    pub inner: Arc<dyn Store>,
    /// Where.
    pub point: Arc<CrashPoint>,
    /// Whether folds that are kept are lost or torn now and then.
    pub tears_snapshots: bool,
}

#[async_trait]
impl Store for CrashStore {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.point.cross().await;
        let result = self.inner.append(append).await;
        self.point.cross().await;
        result
    }
    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError> {
        self.point.cross().await;
        let lease = self.inner.acquire_lease(session, owner).await;
        self.point.cross().await;
        lease
    }
    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        self.point.cross().await;
        let released = self.inner.release_lease(lease).await;
        self.point.cross().await;
        released
    }
    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.inner.read_records(session, from, limit).await
    }
    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        self.inner.session_meta(session).await
    }
    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        self.inner.list_sessions(filter).await
    }
    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search_passages(words, limit).await
    }
    /// No crossing: nothing waits for it, so that when it comes is chance. What a crash leaves of it is
    /// played in turn: all of it, half of it, nothing.
    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
        match snapshot.seq % 3 {
            _ if !self.tears_snapshots => self.inner.write_snapshot(snapshot).await,
            0 => Ok(()),
            1 => {
                let half = snapshot.state.floor_char_boundary(snapshot.state.len() / 2);
                let state = Arc::from(&snapshot.state[..half]);
                self.inner.write_snapshot(&SessionSnapshot { state, ..snapshot.clone() }).await
            }
            _ => self.inner.write_snapshot(snapshot).await,
        }
    }
    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        self.inner.read_snapshot(session).await
    }
    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.drop_snapshot(session).await
    }
    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.delete_session(session).await
    }
    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.inner.audit_lines(from, limit).await
    }
    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        self.inner.read_blob(id).await
    }
    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError> {
        self.inner.pause_state().await
    }
    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError> {
        self.inner.set_paused(pause).await
    }
    async fn pause_changed(&self) {
        self.inner.pause_changed().await;
    }
    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError> {
        self.inner.file_marks_in(folders).await
    }
    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        self.inner.unmark_file(workspace, path).await
    }
    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError> {
        self.point.cross().await;
        let posted = self.inner.post_remote_command(letter).await;
        self.point.cross().await;
        posted
    }
    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError> {
        self.inner.waiting_remote_commands(session).await
    }
    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError> {
        self.point.cross().await;
        let lay_there = self.inner.discard_remote_command(id).await;
        self.point.cross().await;
        lay_there
    }
    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError> {
        self.point.cross().await;
        let kept = self.inner.store_item(kept).await;
        self.point.cross().await;
        kept
    }
    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError> {
        self.point.cross().await;
        let replaced = self.inner.replace_stored_item(kept, version).await;
        self.point.cross().await;
        replaced
    }
    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError> {
        self.inner.stored_item(what, name).await
    }
    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError> {
        self.inner.stored_items(what).await
    }
    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        self.inner.remove_stored_item(what, name).await
    }
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        self.inner.recall(query).await
    }
    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        self.point.cross().await;
        let kept = self.inner.remember_fact(new, now).await;
        self.point.cross().await;
        kept
    }
    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        self.inner.find_memories(filter).await
    }
    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError> {
        self.inner.settle_memory(id, decision, now).await
    }
    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.point.cross().await;
        let proposed = self.inner.propose(proposal).await;
        self.point.cross().await;
        proposed
    }
    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        self.inner.proposals(what).await
    }
    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError> {
        self.inner.recipe_counts().await
    }
    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        self.inner.settle_recipe(recipe).await
    }
    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        self.inner.solved_runs(filter).await
    }
    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        self.inner.withdraw_proposal(what, name).await
    }
    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError> {
        self.inner.claim_ticks(runs, holder).await
    }
    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError> {
        self.inner.begin_agent_run(run, holder, places).await
    }
    async fn note_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        self.inner.note_agent_run(run, holder).await
    }
    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError> {
        self.inner.take_agent_runs(holder).await
    }
    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        self.inner.agent_runs(filter).await
    }
    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        self.inner.agent_ticks().await
    }
    async fn agents_changed(&self) {
        self.inner.agents_changed().await;
    }
    async fn mail_changed(&self) {
        self.inner.mail_changed().await;
    }
    async fn facts_changed(&self, session: &SessionId, seen: Seq) {
        self.inner.facts_changed(session, seen).await;
    }
    async fn journals_changed(&self) {
        self.inner.journals_changed().await;
    }
    async fn open_asks(&self) -> Result<Vec<Record>, StoreError> {
        self.inner.open_asks().await
    }
    async fn ask_facts(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        self.inner.ask_facts(session).await
    }
    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError> {
        self.inner.ended_runs(since).await
    }
    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.inner.usage_rows(filter).await
    }
}

/// Checkpoints that die around snapshots.
pub struct CrashCheckpoints {
    /// The real ones.
    pub inner: Arc<dyn Checkpoints>,
    /// Where.
    pub point: Arc<CrashPoint>,
}

#[async_trait]
impl Checkpoints for CrashCheckpoints {
    async fn take_snapshot(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        self.point.cross().await;
        let result = self.inner.take_snapshot(snapshot).await;
        self.point.cross().await;
        result
    }
    async fn record_snapshot(
        &self,
        announced: &CheckpointId,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        self.point.cross().await;
        let result = self.inner.record_snapshot(announced, snapshot).await;
        self.point.cross().await;
        result
    }
    fn open_baseline(
        &self,
        workspace: &std::path::Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError> {
        self.inner.open_baseline(workspace, session)
    }
    async fn list(
        &self,
        workspace: &std::path::Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        self.inner.list(workspace, filter).await
    }
    async fn load(
        &self,
        workspace: &std::path::Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        self.inner.load(workspace, id).await
    }
    async fn void_snapshot(
        &self,
        workspace: &std::path::Path,
        session: &SessionId,
        id: &CheckpointId,
    ) -> Result<(), StoreError> {
        self.inner.void_snapshot(workspace, session, id).await
    }
    async fn forget(
        &self,
        workspace: &std::path::Path,
        session: &SessionId,
    ) -> Result<(), StoreError> {
        self.inner.forget(workspace, session).await
    }
    async fn collect_old_snapshots(
        &self,
        workspace: &std::path::Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        self.inner.collect_old_snapshots(workspace, before, max_bytes).await
    }
}

/// A tool that dies around its run.
pub struct CrashTool {
    /// The real one.
    pub inner: Arc<dyn Tool>,
    /// Where.
    pub point: Arc<CrashPoint>,
}

#[async_trait]
impl Tool for CrashTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }
    fn asks_model(&self) -> bool {
        self.inner.asks_model()
    }
    fn is_offered(&self) -> bool {
        self.inner.is_offered()
    }
    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        self.inner.plan_call(input, cx).await
    }
    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        self.point.cross().await;
        let raw = self.inner.run(permit, cx).await;
        self.point.cross().await;
        raw
    }
}

/// Hears a request, with its media.
pub type Listener = Arc<dyn Fn(&ModelRequest, &MediaMap) + Send + Sync>;

/// A model that dies around its replies, and tells each request to a listener.
pub struct CrashModel {
    /// The real one.
    pub inner: Arc<dyn Model>,
    /// Where.
    pub point: Arc<CrashPoint>,
    /// Hears every request that is sent, with its media.
    pub heard: Listener,
}

impl Model for CrashModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(CrashConversation {
            inner: self.inner.start_conversation(),
            point: self.point.clone(),
            heard: self.heard.clone(),
            prepared: None,
        })
    }
}

struct CrashConversation {
    prepared: Option<(ModelRequest, MediaMap)>,
    inner: Box<dyn Conversation>,
    point: Arc<CrashPoint>,
    heard: Listener,
}

#[async_trait]
impl Conversation for CrashConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        self.prepared = Some((request.clone(), media.clone()));
        self.inner.prepare(request, media)
    }
    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }
    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        self.point.cross().await;
        if let Some((request, media)) = self.prepared.take() {
            (self.heard)(&request, &media);
        }
        let reply = self.inner.send(signals).await;
        self.point.cross().await;
        reply
    }
}
