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
use weir_core::memory::{MemoryFact, MemoryStatus, NewMemory};
use weir_core::model::{ModelInfo, ModelRequest, Reply};
use weir_core::recipe::{SolvedRun, Standing};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_core::tool::{Raw, ToolSpec};
use weir_engine::ports::{
    AgentRunFilter, Append, AuditLine, Baseline, Begin, CheckpointFilter, CheckpointInfo,
    Checkpoints, Claim, Conversation, FileMark, Kept, Lease, Letter, MediaMap, MemoryFilter, Model,
    Owner, Passage, Pause, Places, Plan, Prepared, Proposal, RecallQuery, SearchHit, SessionFilter,
    SessionMeta, SignalSink, Snapshot, SnapshotEntry, SolvedFilter, Store, StoreError, Takes, Tool,
    ToolContext, UsageFilter, UsageRow,
};

/// Counts crossings and stops at one of them.
#[derive(Debug)]
pub struct CrashPoint {
    crossed: AtomicUsize,
    at: usize,
    /// Notified when the chosen crossing is reached.
    pub crashed: Notify,
}

impl CrashPoint {
    /// A point that stops at crossing `at` (from 1); 0: never.
    pub fn new(at: usize) -> Arc<CrashPoint> {
        Arc::new(CrashPoint { crossed: AtomicUsize::new(0), at, crashed: Notify::new() })
    }

    /// How many crossings there were.
    pub fn crossed(&self) -> usize {
        self.crossed.load(Ordering::SeqCst)
    }

    /// Passes, or never returns.
    pub async fn cross(&self) {
        let count = self.crossed.fetch_add(1, Ordering::SeqCst) + 1;
        if count == self.at {
            self.crashed.notify_one();
        }
        if self.at != 0 && count >= self.at {
            std::future::pending::<()>().await;
        }
    }
}

/// A store that dies around appends.
pub struct CrashStore {
    /// The real one.
    pub inner: Arc<dyn Store>,
    /// Where.
    pub point: Arc<CrashPoint>,
}

#[async_trait]
impl Store for CrashStore {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        self.point.cross().await;
        let result = self.inner.append(append).await;
        self.point.cross().await;
        result
    }
    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        self.inner.acquire(session, owner).await
    }
    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }
    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.inner.read(session, from, limit).await
    }
    async fn meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        self.inner.meta(session).await
    }
    async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        self.inner.list(filter).await
    }
    async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(words, limit).await
    }
    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(session).await
    }
    async fn audit(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.inner.audit(from, limit).await
    }
    async fn blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        self.inner.blob(id).await
    }
    async fn paused(&self) -> Result<Option<Pause>, StoreError> {
        self.inner.paused().await
    }
    async fn set_paused(&self, pause: Option<Pause>) -> Result<(), StoreError> {
        self.inner.set_paused(pause).await
    }
    async fn pause_changed(&self) {
        self.inner.pause_changed().await;
    }
    async fn marks(&self, workspace: &str) -> Result<Vec<FileMark>, StoreError> {
        self.inner.marks(workspace).await
    }
    async fn unmark(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        self.inner.unmark(workspace, path).await
    }
    async fn post(&self, letter: Letter) -> Result<u64, StoreError> {
        self.inner.post(letter).await
    }
    async fn mail(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.inner.mail(session).await
    }
    async fn discard(&self, id: u64) -> Result<bool, StoreError> {
        self.inner.discard(id).await
    }
    async fn keep(&self, kept: &Kept) -> Result<Kept, StoreError> {
        self.point.cross().await;
        let kept = self.inner.keep(kept).await;
        self.point.cross().await;
        kept
    }
    async fn kept(&self, what: &str) -> Result<Vec<Kept>, StoreError> {
        self.inner.kept(what).await
    }
    async fn unkeep(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        self.inner.unkeep(what, name).await
    }
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        self.inner.recall(query).await
    }
    async fn remember(&self, new: &NewMemory, now: Timestamp) -> Result<MemoryFact, StoreError> {
        self.point.cross().await;
        let kept = self.inner.remember(new, now).await;
        self.point.cross().await;
        kept
    }
    async fn memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        self.inner.memories(filter).await
    }
    async fn settle_memory(
        &self,
        id: &MemoryId,
        status: MemoryStatus,
        now: Timestamp,
    ) -> Result<Option<MemoryFact>, StoreError> {
        self.inner.settle_memory(id, status, now).await
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
    async fn recipe_counts(&self) -> Result<BTreeMap<String, Standing>, StoreError> {
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
        holder: Option<&Owner>,
    ) -> Result<Vec<Claim>, StoreError> {
        self.inner.claim_ticks(runs, holder).await
    }
    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &Owner,
        places: &Places,
    ) -> Result<Begin, StoreError> {
        self.inner.begin_agent_run(run, holder, places).await
    }
    async fn note_agent_run(&self, run: &AgentRun, holder: &Owner) -> Result<bool, StoreError> {
        self.inner.note_agent_run(run, holder).await
    }
    async fn take_agent_runs(&self, holder: &Owner) -> Result<Vec<AgentRun>, StoreError> {
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
    async fn usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.inner.usage(filter).await
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
    async fn take(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        self.point.cross().await;
        let result = self.inner.take(snapshot).await;
        self.point.cross().await;
        result
    }
    async fn record(&self, announced: &CheckpointId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.point.cross().await;
        let result = self.inner.record(announced, snapshot).await;
        self.point.cross().await;
        result
    }
    fn baseline(
        &self,
        workspace: &std::path::Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError> {
        self.inner.baseline(workspace, session)
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
    async fn forget(
        &self,
        workspace: &std::path::Path,
        session: &SessionId,
    ) -> Result<(), StoreError> {
        self.inner.forget(workspace, session).await
    }
    async fn collect(
        &self,
        workspace: &std::path::Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        self.inner.collect(workspace, before, max_bytes).await
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
    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan {
        self.inner.plan(input, cx).await
    }
    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw {
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
    fn converse(&self) -> Box<dyn Conversation> {
        Box::new(CrashConversation {
            inner: self.inner.converse(),
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
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> Prepared {
        self.prepared = Some((request.clone(), media.clone()));
        self.inner.prepare(request, media)
    }
    fn takes(&self) -> Takes {
        self.inner.takes()
    }
    async fn send(&mut self, signals: &SignalSink) -> Reply {
        self.point.cross().await;
        if let Some((request, media)) = self.prepared.take() {
            (self.heard)(&request, &media);
        }
        let reply = self.inner.send(signals).await;
        self.point.cross().await;
        reply
    }
}
