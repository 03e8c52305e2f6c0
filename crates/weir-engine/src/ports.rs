//! The seams of the engine: what it needs from models, tools, stores and the machine.
//!
//! Nothing here is an implementation. Fakes of these traits, and only of these, live in
//! `weir-scenario`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::governance::Permit;
use weir_core::ids::{BlobId, CallId, CheckpointId, Seq, SessionId, Timestamp};
use weir_core::model::{ModelInfo, ModelRequest, Reply, Signal};
use weir_core::record::Record;
use weir_core::tool::{EffectClass, Effects, Image, Raw, ToolSpec};

use crate::workspace::Workspace;

// ---------------------------------------------------------------- models

/// A model that can be asked. One per provider and model; shared by sessions.
pub trait Model: Send + Sync {
    /// What is known of it.
    fn info(&self) -> Arc<ModelInfo>;
    /// Starts a conversation: it keeps what was encoded, so that a turn costs only what is new.
    fn converse(&self) -> Box<dyn Conversation>;
}

/// Bytes of the blobs that a request mentions, as standard base64 text.
pub type MediaMap = BTreeMap<BlobId, Arc<str>>;

/// What encoding a request found out (P3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// Bytes of the whole request body.
    pub bytes: u64,
    /// Bytes of the previous request of this conversation that stand unchanged at the start of
    /// this one. 0 for the first.
    pub prefix_bytes: u64,
    /// Bytes of the previous request without its transient tail: what should have been kept. 0 for
    /// the first.
    pub prefix_expected: u64,
}

/// One session's exchange with a model.
#[async_trait]
pub trait Conversation: Send {
    /// Encodes `request` and keeps the bytes for [`Conversation::send`]. Total: every history can
    /// be rendered (V3). `media` holds every blob that the history mentions.
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> Prepared;

    /// Sends what was prepared last and waits for the whole reply. Never fails and never retries:
    /// what goes wrong is a [`Reply::Failed`] with its class. Dropping the future closes the
    /// connection. `signals` gets text as it arrives and must not be blocked on.
    async fn send(&mut self, signals: &SignalSink) -> Reply;
}

/// Where signals go. Cheap to call, never blocks: a slow reader loses none of the facts, and
/// signals are coalesced for it (L17).
#[derive(Clone)]
pub struct SignalSink(Arc<dyn Fn(Signal) + Send + Sync>);

impl SignalSink {
    /// Calls `f` for each signal.
    pub fn new(f: impl Fn(Signal) + Send + Sync + 'static) -> SignalSink {
        SignalSink(Arc::new(f))
    }
    /// Drops all signals.
    pub fn none() -> SignalSink {
        SignalSink::new(|_| ())
    }
    /// Passes one on.
    pub fn send(&self, signal: Signal) {
        (self.0)(signal);
    }
}

// ---------------------------------------------------------------- tools

/// Something the model can use. One file in `weir-tools` each (T1).
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name, description, schema, group. Always the same value.
    fn spec(&self) -> &ToolSpec;

    /// Says what a call with this input would do, without doing it. `input` has passed the schema.
    /// May read the workspace through `cx`; must not change anything.
    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan;

    /// Does it. The permit is the only way in (G1). Must do no more than `permit.effects()`.
    /// Must return soon after `cx.cancel` fires. Bounded memory whatever the input (T7).
    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw;
}

/// What a tool says about a call before it runs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it would touch. Paths come from [`Workspace::resolve`], never from hand.
    pub effects: Effects,
    /// How it is recovered.
    pub class: EffectClass,
    /// One sentence for a person.
    pub summary: String,
    /// Unified diff of file changes.
    pub diff: Option<String>,
    /// The tool wants a person to confirm: why.
    pub confirm: Option<String>,
    /// It already knows that it will fail: the message for the model (what, why, what to try).
    pub fails: Option<String>,
    /// New content of the files in `effects.changes`, for checkpoints and for
    /// [`Workspace::apply`]. Same paths as `effects.changes`; kept in memory, never journaled.
    pub contents: BTreeMap<String, Arc<[u8]>>,
}

impl Plan {
    /// A plan with these effects and nothing else.
    pub fn new(class: EffectClass, effects: Effects, summary: impl Into<String>) -> Plan {
        Plan {
            effects,
            class,
            summary: summary.into(),
            diff: None,
            confirm: None,
            fails: None,
            contents: BTreeMap::new(),
        }
    }
    /// The same, but it is already known to fail with `message`.
    #[must_use]
    pub fn failing(mut self, message: impl Into<String>) -> Plan {
        self.fails = Some(message.into());
        self
    }
}

/// What a tool may use. Built per call; everything in it is bounded to the session's rights.
#[derive(Clone)]
pub struct ToolContext {
    /// Whose call.
    pub session: SessionId,
    /// Which call. In [`Tool::plan`] too.
    pub call: CallId,
    /// Files, guarded.
    pub workspace: Arc<Workspace>,
    /// Commands, supervised.
    pub processes: Arc<dyn Processes>,
    /// The network, guarded (Z5).
    pub web: Arc<dyn Web>,
    /// Bytes kept beside the journal.
    pub blobs: Arc<dyn Blobs>,
    /// Files as they were.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// Fires when the call must end.
    pub cancel: CancellationToken,
    /// Wall time that the call has, in milliseconds.
    pub timeout_ms: u64,
    /// Shows progress: becomes `call.output`.
    pub progress: ProgressSink,
    /// The session as `inspect_self` shows it: model, profile, limits, usage, tools, rules.
    pub about: Arc<Value>,
    /// The plan made when the call was judged: its `contents` are what [`Workspace::apply`] needs.
    /// Empty while planning.
    pub contents: Arc<BTreeMap<String, Arc<[u8]>>>,
}

/// Where progress text goes.
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(&str) + Send + Sync>);

impl ProgressSink {
    /// Calls `f` with each piece of text.
    pub fn new(f: impl Fn(&str) + Send + Sync + 'static) -> ProgressSink {
        ProgressSink(Arc::new(f))
    }
    /// Shows nothing.
    pub fn none() -> ProgressSink {
        ProgressSink::new(|_| ())
    }
    /// Shows `text`.
    pub fn send(&self, text: &str) {
        (self.0)(text);
    }
}

// ---------------------------------------------------------------- journal

/// A store failed. `retry` is never implied: whatever was not confirmed did not happen.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer has the session now: this one must stop.
    #[error("session {session} is being written by {holder}")]
    Held {
        /// Which session.
        session: SessionId,
        /// Who has it, in words: `process 4711 on host (weir run)`.
        holder: String,
    },
    /// The journal is not where the caller thought: someone else appended.
    #[error("journal of {session} is at {found}, not at {expected}")]
    Conflict {
        /// Which session.
        session: SessionId,
        /// Where the caller thought it was.
        expected: Seq,
        /// Where it is.
        found: Seq,
    },
    /// No such session, blob or checkpoint.
    #[error("{what} does not exist in this store")]
    Missing {
        /// What was looked for.
        what: String,
    },
    /// Stored data does not hold together.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// What.
        what: String,
        /// In which way.
        why: String,
    },
    /// The disk or database said no: full, read-only, gone.
    #[error("{doing}: {why}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        why: String,
    },
}

/// The right to write one session's journal: one writer at a time (D2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Which session.
    pub session: SessionId,
    /// Grows with each new writer; an append with an old epoch fails.
    pub epoch: u64,
}

/// Who asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: pids are used again.
    pub started: u64,
    /// Boot id of the machine (leases of an earlier boot are void).
    pub host: String,
    /// What it is, for people: `weir run`.
    pub label: String,
}

/// What a list of sessions shows; written with the facts it summarises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// Which session.
    pub id: SessionId,
    /// Its folder.
    pub workspace: String,
    /// First words of its first input.
    pub title: String,
    /// Its model.
    pub model: String,
    /// Its profile.
    pub profile: String,
    /// `idle`, `running`, `waiting`, or the status of its last run.
    pub status: String,
    /// When it was opened.
    pub created: Timestamp,
    /// When the last fact was written.
    pub updated: Timestamp,
    /// How many facts.
    pub facts: Seq,
    /// The session it was forked from.
    pub parent: Option<SessionId>,
}

/// One decision or effect, as the auditor reads it (G10). The store adds number and hash chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    pub ts: Timestamp,
    /// Which session.
    pub session: SessionId,
    /// The fact in that session's journal that this line shows.
    pub seq: Seq,
    /// Everything else: one JSON object, secrets out, long texts as length and hash.
    pub fields: Value,
}

/// One stored audit line with its place in the chain of the whole store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Place: 1, 2, 3, …
    pub n: u64,
    /// The entry.
    pub entry: AuditEntry,
    /// Hash of this line over the line before.
    pub hash: String,
}

/// Facts and what must become durable with them: one transaction, all or none.
#[derive(Debug, Clone)]
pub struct Append {
    /// Right to write.
    pub lease: Lease,
    /// Number of facts the journal has before this.
    pub expected: Seq,
    /// The facts, gapless from `expected + 1`.
    pub records: Vec<Record>,
    /// Text of these facts to be found by `search`, by sequence number.
    pub texts: Vec<(Seq, String)>,
    /// Bytes that the facts mention.
    pub blobs: Vec<(BlobId, Arc<[u8]>)>,
    /// Lines for the auditor.
    pub audit: Vec<AuditEntry>,
    /// The session's new summary.
    pub meta: SessionMeta,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only those of this folder.
    pub workspace: Option<String>,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

/// A passage found by `search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// In which session.
    pub session: SessionId,
    /// Which fact.
    pub seq: Seq,
    /// The passage, with some words around.
    pub snippet: String,
}

/// The kill switch of a store (L14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Since when.
    pub since: Timestamp,
    /// Who paused it.
    pub by: String,
    /// Why, in their words; may be empty.
    pub reason: String,
}

/// The journal and everything kept beside it. One contract, the same tests for every store (D1).
///
/// `append` may be called for many sessions at once; an implementation gathers what waits into one
/// transaction (group commit). When it returns `Ok`, the data survives a power cut.
#[async_trait]
pub trait Store: Send + Sync {
    /// Takes the right to write `session`, which may be new. A holder that is not alive loses it.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another living owner has it.
    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError>;
    /// Gives it back. Giving back what was lost meanwhile is no error.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
    /// Writes all of `append` or none of it.
    ///
    /// # Errors
    /// [`StoreError::Held`] when the lease is stale, [`StoreError::Conflict`] when `expected` is
    /// not the journal's length, [`StoreError::Io`] when the disk refuses, the audit file included.
    async fn append(&self, append: Append) -> Result<(), StoreError>;
    /// Facts from `from` on, at most `limit`, in order.
    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;
    /// One session's summary.
    async fn meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError>;
    /// Sessions, newest first.
    async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError>;
    /// Passages that contain all `words`, best first.
    async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, StoreError>;
    /// Removes journal, blobs that nothing else mentions, and index of a session (D9). Audit lines
    /// stay.
    async fn delete(&self, session: &SessionId) -> Result<(), StoreError>;
    /// Audit lines from number `from` on.
    async fn audit(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError>;
    /// Bytes of a blob.
    async fn blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError>;
    /// Whether the store is paused.
    async fn paused(&self) -> Result<Option<Pause>, StoreError>;
    /// Pauses or releases.
    async fn set_paused(&self, pause: Option<Pause>) -> Result<(), StoreError>;
    /// Resolves when the kill switch was thrown or released since the call, by any process that
    /// uses this store. May resolve without a change.
    async fn pause_changed(&self);
}

/// Bytes kept beside the journal, by content.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps `bytes`; they become durable with the next facts of `session`.
    fn put(&self, session: &SessionId, bytes: Arc<[u8]>) -> BlobId;
    /// Gives them back.
    async fn get(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError>;
}

// ---------------------------------------------------------------- checkpoints

/// What a path holds, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing there.
    Absent,
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Its bytes.
        bytes: Arc<[u8]>,
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// What it says.
        target: String,
    },
}

impl Content {
    /// The same without the bytes.
    pub fn image(&self) -> Image {
        match self {
            Content::Absent => Image::Absent,
            Content::Folder => Image::Folder,
            Content::File { bytes, mode } => Image::File {
                sha256: weir_core::record::sha256_hex(bytes),
                bytes: bytes.len() as u64,
                mode: *mode,
            },
            Content::Link { target } => Image::Link { target: target.clone() },
        }
    }
}

/// One path of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// Relative to the workspace.
    pub path: String,
    /// As it is before the call.
    pub before: Content,
    /// As the call will leave it.
    pub after: Content,
}

/// A snapshot to be taken before a call runs (G7).
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Root of the workspace.
    pub workspace: PathBuf,
    /// Whose call.
    pub session: SessionId,
    /// Which run of the session.
    pub run: String,
    /// Which call; `None` for a restore.
    pub call: Option<CallId>,
    /// When.
    pub ts: Timestamp,
    /// What the call does, in a line.
    pub label: String,
    /// The paths it touches; only these are stored.
    pub entries: Vec<SnapshotEntry>,
}

/// A snapshot in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointInfo {
    /// Its name: also `git show NAME` in the shadow repository.
    pub id: CheckpointId,
    /// Whose call.
    pub session: SessionId,
    /// Which run.
    pub run: String,
    /// Which call; `None` for a restore.
    pub call: Option<CallId>,
    /// When.
    pub ts: Timestamp,
    /// What the call does.
    pub label: String,
    /// What it touches, with images before and after.
    pub changes: Vec<weir_core::tool::Change>,
}

/// Which snapshots to list.
#[derive(Debug, Clone, Default)]
pub struct CheckpointFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

/// Files as they were: a bare git repository per workspace in the state directory (G7).
#[async_trait]
pub trait Checkpoints: Send + Sync {
    /// Stores what is there before, and what the call will leave. Durable when it returns.
    async fn take(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError>;
    /// Snapshots of a workspace, newest first.
    async fn list(
        &self,
        workspace: &Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError>;
    /// All of one snapshot, contents included. `id` may be an unambiguous prefix.
    async fn load(&self, workspace: &Path, id: &str) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError>;
    /// Removes the snapshots of a session.
    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError>;
    /// Removes snapshots older than `before`, and the oldest while the repository is larger than
    /// `max_bytes`. Returns how many went.
    async fn collect(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError>;
}

// ---------------------------------------------------------------- processes

/// A command to run under a supervisor.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Whose call.
    pub session: SessionId,
    /// Which call: also names the supervisor's record, so a second start of the same call is
    /// refused.
    pub call: CallId,
    /// Given to `/bin/sh -c` (bash where there is one).
    pub command: String,
    /// Absolute folder.
    pub cwd: PathBuf,
    /// Wall time before the whole tree ends.
    pub timeout_ms: u64,
    /// Output kept in memory for the result: half from the head, half from the tail. All of it goes
    /// to the supervisor's file, up to its own bound.
    pub keep_bytes: usize,
    /// It goes on after the call returns, as a job.
    pub background: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum CommandEnd {
    /// By itself.
    Exited {
        /// Exit status.
        code: i32,
    },
    /// By a signal that was not ours.
    Signaled {
        /// Its number.
        signal: i32,
    },
    /// Its time was over; the whole tree was ended.
    TimedOut,
    /// Cancelled; the whole tree was ended.
    Cancelled,
    /// The engine died and did not come back; the supervisor ended the whole tree.
    Orphaned,
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
}

/// Output and end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub end: CommandEnd,
    /// Standard output and error as they came, at most `keep_bytes`, a marker line where the middle
    /// was left out; invalid UTF-8 replaced.
    pub output: String,
    /// Bytes of all output.
    pub bytes: u64,
    /// Wall time.
    pub duration_ms: u64,
}

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its name, unique in the session: `j3`.
    pub job: String,
    /// Its command line.
    pub command: String,
    /// Running, or how it ended.
    pub end: Option<CommandEnd>,
    /// Bytes of output so far.
    pub bytes: u64,
    /// Since when, in milliseconds.
    pub age_ms: u64,
}

/// What became of a command whose result was not recorded (D4, class *process*).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandTrace {
    /// The supervisor never began: it can be run (again).
    NeverStarted,
    /// It ended: here is what the supervisor wrote.
    Ended(CommandOutcome),
    /// Cannot be told.
    Unknown {
        /// Why.
        why: String,
    },
}

/// Commands under supervisors, so that no process outlives a killed engine (D6).
#[async_trait]
pub trait Processes: Send + Sync {
    /// Runs a foreground command to its end. `progress` gets output as it comes. On cancel the
    /// whole process tree ends within a second.
    async fn run(
        &self,
        spec: CommandSpec,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> CommandOutcome;
    /// Starts a background job.
    ///
    /// # Errors
    /// Why it could not start.
    async fn start(&self, spec: CommandSpec) -> Result<JobInfo, String>;
    /// Output of a job from byte `offset` on, at most `max` bytes, with its state.
    async fn output(
        &self,
        session: &SessionId,
        job: &str,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String>;
    /// Writes to a job's standard input.
    async fn input(&self, session: &SessionId, job: &str, text: &str) -> Result<(), String>;
    /// Ends a job and its whole tree.
    async fn kill(&self, session: &SessionId, job: &str) -> Result<JobInfo, String>;
    /// Jobs of a session.
    async fn jobs(&self, session: &SessionId) -> Vec<JobInfo>;
    /// Ends all jobs of a session.
    async fn end_all(&self, session: &SessionId);
    /// After a crash: what became of the command of this call. Waits while its supervisor is still
    /// ending it.
    async fn trace(&self, session: &SessionId, call: CallId) -> CommandTrace;
}

// ---------------------------------------------------------------- network

/// A page or file from the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Address after redirects.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Media type without parameters, lower case; empty when the server named none.
    pub media_type: String,
    /// Character set the server named.
    pub charset: Option<String>,
    /// The body, at most what was asked for.
    pub body: Vec<u8>,
    /// The body was longer.
    pub truncated: bool,
}

/// An address that was looked at before it is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Canonical form: scheme and host in lower-case ASCII, default port left out, no fragment.
    pub url: String,
    /// Host in ASCII without port.
    pub host: String,
}

/// The one way for tools to reach the network (Z5).
#[async_trait]
pub trait Web: Send + Sync {
    /// Checks scheme and form of an address without touching the network.
    ///
    /// # Errors
    /// Why it can never be fetched.
    fn check(&self, url: &str) -> Result<Address, String>;
    /// Fetches with GET. The name is resolved once and pinned; private, loopback, link-local,
    /// multicast and metadata addresses are refused unless listed; redirects to another host are
    /// not followed but reported; size and time are bounded.
    ///
    /// # Errors
    /// What failed and why, for the model.
    async fn fetch(
        &self,
        address: &Address,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Fetched, String>;
}

// ---------------------------------------------------------------- the rest

/// The time. The only way by which the engine learns it.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
    /// Resolves at or after `until`.
    async fn sleep_until(&self, until: Timestamp);
    /// A random number, for jitter.
    fn random(&self) -> u64;
}
