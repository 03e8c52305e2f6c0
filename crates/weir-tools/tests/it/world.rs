//! A workspace in a temporary folder, and fakes of the other ports.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_core::document::{DocumentError, DocumentImage, DocumentRequest, DocumentResult};
use weir_core::ids::{BlobId, CallId, CheckpointId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_core::tool::{Effects, RawResult};
use weir_engine::ports::{
    Baseline, Blobs, CallPlan, CheckpointFilter, CheckpointInfo, Checkpoints, CommandEnd,
    CommandOutcome, CommandSpec, CommandTrace, DocumentReaders, FetchedPage, FileContent, JobInfo,
    NoKnowledge, Processes, ProgressSink, Snapshot, SnapshotEntry, StoreError, Tool, ToolContext,
    Web, WebAddress,
};
use weir_engine::workspace::{Workspace, WorkspaceOptions};

use crate::built::{ActionTool, BuiltInTool, EditTool};
use crate::{acting_tools, built_in_tools, file_tools};

/// A folder and everything that a call may use.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) cx: ToolContext,
    pub(crate) blobs: Arc<FakeBlobs>,
    pub(crate) checkpoints: Arc<FakeCheckpoints>,
    pub(crate) processes: Arc<FakeProcesses>,
    pub(crate) web: Arc<FakeWeb>,
}

impl World {
    pub(crate) fn new() -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = WorkspaceOptions {
            root: folder.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        let blobs = Arc::new(FakeBlobs::default());
        let checkpoints = Arc::new(FakeCheckpoints::default());
        let processes = Arc::new(FakeProcesses::default());
        let web = Arc::new(FakeWeb::default());
        let cx = ToolContext {
            session: SessionId::new("s1"),
            call: CallId(1),
            workspace: Arc::new(workspace),
            processes: processes.clone(),
            web: web.clone(),
            documents: Arc::new(FakeDocuments),
            blobs: blobs.clone(),
            checkpoints: checkpoints.clone(),
            mode: weir_core::profile::PermissionMode::Full,
            cancel: CancellationToken::new(),
            now: "2026-03-02T09:30:00[UTC]".parse().expect("a moment"),
            timeout_ms: 600_000,
            progress: ProgressSink::none(),
            foreign: false,
            knows: Arc::new(NoKnowledge),
            plugins: Arc::new(weir_engine::ports::NoPlugins),
            nested: Arc::new(weir_engine::ports::NoNested),
            agents: Arc::new(weir_engine::ports::NoAgents),
            person: Arc::new(weir_engine::ports::NoPerson),
            model_prompter: Arc::new(weir_engine::ports::NoModelPrompter),
            bounds: Arc::new(weir_engine::ports::NoBounds),
            servers: Arc::new(weir_engine::ports::NoServers),
            about: Arc::new(json!({ "model": "script/one", "limits": { "max_iterations": 25 } })),
            contents: Arc::new(BTreeMap::new()),
            program: weir_engine::ports::ProgramAccess::none(),
        };
        World { folder, cx, blobs, checkpoints, processes, web }
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.folder.path().join(path)).ok()
    }

    pub(crate) async fn plan(&self, tool: &str, input: Value) -> CallPlan {
        named(tool).plan_call(&input, &self.cx).await
    }

    /// Plans a call and does what the plan says, as the engine does with a permit.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> RawResult {
        let tool = built_in(tool);
        let plan = tool.plan_call(&input, &self.cx).await;
        if let Some(message) = plan.fails {
            assert_eq!(plan.effects.changes, [], "a plan that fails changes nothing");
            return RawResult::error(message);
        }
        tool.play_call(&input, plan, &self.cx).await
    }

    /// The same with a tool that changes no files.
    pub(crate) async fn act<A: ActionTool>(&self, input: Value) -> RawResult {
        self.call(&A::spec().name, input).await
    }

    /// The same with a tool that changes files.
    pub(crate) async fn edit<E: EditTool>(&self, input: Value) -> RawResult {
        self.call(&E::spec().name, input).await
    }
}

/// The same tool, to be played without a permit.
fn built_in(name: &str) -> Arc<dyn BuiltInTool> {
    let tool = file_tools().into_iter().chain(acting_tools()).find(|tool| tool.spec().name == name);
    tool.unwrap_or_else(|| panic!("there is no tool {name}"))
}

/// The tool called `name`.
pub(crate) fn named(name: &str) -> Arc<dyn Tool> {
    let tool = built_in_tools().into_iter().find(|tool| tool.spec().name == name);
    tool.unwrap_or_else(|| panic!("there is no tool {name}"))
}

/// The plain text of a result.
pub(crate) fn text(raw: &RawResult) -> String {
    weir_core::message::plain_text(&raw.blocks)
}

/// A runtime as small as production may have.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

#[derive(Default)]
pub(crate) struct FakeBlobs(pub(crate) Mutex<BTreeMap<BlobId, Arc<[u8]>>>);

#[async_trait]
impl Blobs for FakeBlobs {
    fn put(&self, _: &SessionId, bytes: Arc<[u8]>) -> BlobId {
        let id = BlobId::new(sha256_hex(&bytes));
        self.0.lock().expect("no panic").insert(id.clone(), bytes);
        id
    }
    async fn get(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        let missing = || StoreError::Missing { what: id.to_string() };
        self.0.lock().expect("no panic").get(id).cloned().ok_or_else(missing)
    }
}

#[derive(Default)]
pub(crate) struct FakeCheckpoints(Mutex<Vec<(CheckpointInfo, Vec<SnapshotEntry>)>>);

impl FakeCheckpoints {
    /// Adds a snapshot of one call; returns its name.
    pub(crate) fn add(&self, label: &str, entries: Vec<SnapshotEntry>) -> String {
        self.add_of_session("s1", label, entries)
    }

    /// The same of a call of this session.
    pub(crate) fn add_of_session(
        &self,
        session: &str,
        label: &str,
        entries: Vec<SnapshotEntry>,
    ) -> String {
        let mut all = self.0.lock().expect("no panic");
        let id = format!("{:040x}", 0xabcd_0000_u64 + all.len() as u64);
        let id: String = id.chars().rev().collect();
        let changes = entries
            .iter()
            .map(|entry| weir_core::tool::PlannedChange {
                path: entry.path.clone(),
                before: entry.before.image(),
                after: entry.after.image(),
            })
            .collect();
        let info = CheckpointInfo {
            id: CheckpointId::new(id.clone()),
            session: SessionId::new(session),
            run: "r1".into(),
            call: Some(CallId(1 + u32::try_from(all.len()).expect("few"))),
            ts: Timestamp(1_700_000_000_000_000),
            label: label.into(),
            changes,
        };
        all.push((info, entries));
        id
    }
}

#[async_trait]
impl Checkpoints for FakeCheckpoints {
    async fn take_snapshot(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        Ok(CheckpointId::new(self.add(&snapshot.label, snapshot.entries)))
    }
    async fn record_snapshot(
        &self,
        _: &CheckpointId,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        self.add(&snapshot.label, snapshot.entries);
        Ok(())
    }
    fn open_baseline(&self, _: &Path, _: &SessionId) -> Result<Box<dyn Baseline>, StoreError> {
        Err(StoreError::Missing { what: "a baseline: tools take none".into() })
    }
    async fn list(
        &self,
        _: &Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        let all = self.0.lock().expect("no panic");
        let wanted =
            |info: &CheckpointInfo| filter.session.as_ref().is_none_or(|s| *s == info.session);
        let newest_first = all.iter().rev().map(|(info, _)| info.clone()).filter(wanted);
        Ok(newest_first.take(filter.limit.unwrap_or(usize::MAX)).collect())
    }
    async fn load(
        &self,
        _: &Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        let all = self.0.lock().expect("no panic");
        let found = all.iter().find(|(info, _)| info.id.as_str().starts_with(id));
        found.cloned().ok_or_else(|| StoreError::Missing { what: format!("checkpoint {id}") })
    }
    async fn forget(&self, _: &Path, _: &SessionId) -> Result<(), StoreError> {
        self.0.lock().expect("no panic").clear();
        Ok(())
    }
    async fn collect_old_snapshots(
        &self,
        _: &Path,
        _: Timestamp,
        _: u64,
    ) -> Result<usize, StoreError> {
        Ok(0)
    }
}

/// A file as a snapshot holds it.
pub(crate) fn file(bytes: &[u8]) -> FileContent {
    FileContent::File { bytes: bytes.into(), mode: 0o644 }
}

/// Answers with what it was given and keeps what it was asked.
#[derive(Default)]
pub(crate) struct FakeProcesses {
    pub(crate) asked: Mutex<Vec<CommandSpec>>,
    pub(crate) outcome: Mutex<Option<CommandOutcome>>,
    pub(crate) jobs: Mutex<Vec<(JobInfo, String)>>,
}

impl FakeProcesses {
    fn job<T>(&self, job: &str, f: impl FnOnce(&mut (JobInfo, String)) -> T) -> Result<T, String> {
        let mut jobs = self.jobs.lock().expect("no panic");
        let found = jobs.iter_mut().find(|(info, _)| info.job == job);
        found.map(f).ok_or_else(|| format!("there is no job {job}"))
    }
}

#[async_trait]
impl Processes for FakeProcesses {
    fn tier(&self) -> weir_core::tool::Tier {
        weir_core::tool::Tier::Landlock
    }
    async fn run(
        &self,
        spec: CommandSpec,
        _: &ProgressSink,
        _: &CancellationToken,
    ) -> CommandOutcome {
        self.asked.lock().expect("no panic").push(spec);
        self.outcome.lock().expect("no panic").clone().expect("the test gave an outcome")
    }
    async fn start_job(&self, spec: CommandSpec) -> Result<JobInfo, String> {
        let mut jobs = self.jobs.lock().expect("no panic");
        let info = JobInfo {
            job: format!("j{}", jobs.len() + 1),
            command: spec.command.clone(),
            reaches: spec.confine.outside_reach(),
            serves_only: spec.confine.ports_served_only(),
            end: None,
            bytes: 0,
            age_ms: 1_500,
        };
        jobs.push((info.clone(), String::new()));
        self.asked.lock().expect("no panic").push(spec);
        Ok(info)
    }
    async fn read_job_output(
        &self,
        _: &SessionId,
        job: &str,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String> {
        self.job(job, |(info, output)| {
            let from = usize::try_from(offset).expect("small").min(output.len());
            let to = (from + max).min(output.len());
            (info.clone(), output[from..to].to_owned())
        })
    }
    async fn write_job_input(&self, _: &SessionId, job: &str, text: &str) -> Result<(), String> {
        self.job(job, |(info, output)| {
            output.push_str(text);
            info.bytes = output.len() as u64;
        })
    }
    async fn kill_job(&self, _: &SessionId, job: &str) -> Result<JobInfo, String> {
        self.job(job, |(info, _)| {
            info.end = Some(CommandEnd::Cancelled);
            info.clone()
        })
    }
    async fn jobs(&self, _: &SessionId) -> Vec<JobInfo> {
        self.jobs.lock().expect("no panic").iter().map(|(info, _)| info.clone()).collect()
    }
    async fn end_all(&self, _: &SessionId) {}
    async fn command_trace(&self, _: &SessionId, _: CallId) -> CommandTrace {
        CommandTrace::NeverStarted
    }
}

/// One page, whatever is asked.
#[derive(Default)]
pub(crate) struct FakeWeb(pub(crate) Mutex<Option<FetchedPage>>);

#[async_trait]
impl Web for FakeWeb {
    fn check_url(&self, url: &str) -> Result<WebAddress, String> {
        let parsed = url::Url::parse(url).map_err(|why| why.to_string())?;
        match (parsed.scheme(), parsed.host_str()) {
            ("http" | "https", Some(host)) => {
                Ok(WebAddress { host: host.to_owned(), url: parsed.to_string() })
            }
            (scheme, _) => Err(format!("{scheme} addresses cannot be fetched; use https")),
        }
    }
    async fn fetch(
        &self,
        address: &WebAddress,
        max_bytes: usize,
        _: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let page = self.0.lock().expect("no panic").clone();
        let mut page = page.ok_or_else(|| format!("{} does not answer", address.host))?;
        page.truncated = page.body.len() > max_bytes;
        page.body.truncate(max_bytes);
        Ok(page)
    }
}

/// Whether these effects are nothing that changes the world.
pub(crate) fn is_look(effects: &Effects) -> bool {
    !effects.changes_world()
}

/// Sees a small image in every image, one page in every PDF, and nothing in what says `broken`; other
/// documents as they are.
pub(crate) struct FakeDocuments;

#[async_trait]
impl DocumentReaders for FakeDocuments {
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        // Documents are read and made by the real readers: what tests give them they made.
        if matches!(
            wish,
            DocumentRequest::Markdown { .. }
                | DocumentRequest::Unpack { .. }
                | DocumentRequest::Make { .. }
        ) {
            return weir_documents::answer_question(&wish, &bytes);
        }
        if bytes.ends_with(b"broken") {
            return Err(DocumentError::Broken { why: "nothing is in it".into() });
        }
        Ok(match wish {
            DocumentRequest::Image { .. } => DocumentResult::Image {
                media_type: "image/png".into(),
                width: 3_000,
                height: 10,
                smaller: bytes.ends_with(b"wide").then(|| DocumentImage {
                    page: 0,
                    media_type: "image/png".into(),
                    width: 2_000,
                    height: 7,
                    bytes: b"small".to_vec(),
                }),
            },
            _ => DocumentResult::Pdf { pages: 1 },
        })
    }
}
