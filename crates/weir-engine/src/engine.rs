//! Opening sessions: the parts that they share, and the handle by which faces steer one.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use weir_core::governance::rules::RuleSet;
use weir_core::ids::SessionId;
use weir_core::input::{PersonCommand, SessionCommand, SessionInput};
use weir_core::prompt::PromptScene;
use weir_core::record::Record;
use weir_core::session::{Session, SessionConfig};

use crate::blobs::StagedBlobs;
use crate::children::ChildOpener;
use crate::command_channel::CommandSender;
pub use crate::error::EngineError;
use crate::hub::UpdateHub;
pub use crate::journal::{
    Loaded, RecordChain, VerifiedRecords, fold_journal, load, load_if_any, read_verified,
    visit_records,
};
use crate::ledger::JournalWriter;
pub use crate::parts::EngineParts;
use crate::ports::{HookMoment, Lease, NoScripts, NoServers, StoreError};
use crate::scene::{SceneGatherer, SceneRequest, hold_marks};
pub use crate::session_handle::{Ended, SessionHandle};
use crate::session_loop::SessionLoop;
pub use crate::session_options::{SessionOptions, SessionResources};
use crate::session_time::SessionTime;
pub use crate::snapshots::SNAPSHOT_EVERY;
use crate::snapshots::SnapshotKeeper;
use crate::spending::FamilySeat;
use crate::submit::InputSubmission;
use crate::worker_context::WorkerContext;
use crate::workers::Workers;

/// Commands that may wait for the loop.
const COMMANDS_QUEUED: usize = 64;

/// Opens sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<EngineParts>,
}

impl Engine {
    /// An engine of these parts.
    pub fn new(parts: EngineParts) -> Engine {
        Engine { parts: Arc::new(parts) }
    }

    /// The ports and settings that all its sessions share.
    pub fn parts(&self) -> &Arc<EngineParts> {
        &self.parts
    }

    /// What a run of a session with these settings would be told, without what hooks add. Nothing is
    /// journaled and nothing changed.
    pub async fn preview_scene(
        &self,
        options: &SessionOptions,
        glance: SceneRequest,
    ) -> PromptScene {
        self.scene_for(options, glance).await
    }

    /// The same. Boxed as what begins a session: so it is compiled here, and not by each crate that awaits
    /// it (Q23).
    fn scene_for<'a>(
        &'a self,
        options: &'a SessionOptions,
        glance: SceneRequest,
    ) -> BoxFuture<'a, PromptScene> {
        Box::pin(async move {
            options.workspace.hold_rules(Arc::new(options.config.rules.clone()));
            let lookout = SceneGatherer {
                parts: self.parts.clone(),
                options: Arc::new(options.scene.clone()),
                workspace: options.workspace.clone(),
                deeper: Arc::default(),
            };
            lookout.gather_scene(&options.config, glance).await
        })
    }

    /// Begins a new session.
    ///
    /// # Errors
    /// The store refuses, or a session of this name exists.
    pub async fn open(
        &self,
        id: SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        self.begin_session(id, None, options).await
    }

    fn begin_session(
        &self,
        id: SessionId,
        parent: Option<SessionId>,
        options: SessionOptions,
    ) -> BoxFuture<'_, Result<SessionHandle, EngineError>> {
        Box::pin(async move {
            let lease = self.parts.store.acquire_lease(&id, &self.parts.owner).await?;
            if self.parts.store.session_meta(&id).await?.is_some_and(|meta| meta.facts > 0) {
                self.parts.store.release_lease(&lease).await?;
                return Err(EngineError::Session(format!("session {id} exists already")));
            }
            let mut start = SessionStart::new(self, lease, Session::new(id), None, &options);
            let engine = self.parts.version.clone();
            let config = Arc::new(options.config.clone());
            start.record_command(self, SessionCommand::Open { engine, config, parent });
            Ok(start.run(self, options))
        })
    }

    /// Asks whether another process has a session, before anything is made ready for it (settings,
    /// servers, a fold of its journal). Whoever takes it first has it all the same: this keeps
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::Held`] with who has it; or the store refuses.
    pub async fn check_not_held(&self, id: &SessionId) -> Result<(), StoreError> {
        self.parts.store.check_not_held(id, &self.parts.owner).await
    }

    /// Takes up a session that has a journal: what it owed is owed again (D5). A run that was
    /// active goes on at once.
    ///
    /// # Errors
    /// The store refuses, another process has it, or its journal is damaged.
    pub async fn resume(
        &self,
        id: SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        let lease = self.parts.store.acquire_lease(&id, &self.parts.owner).await?;
        let loaded = load(self.parts.store.as_ref(), &id).await;
        self.run_loaded(lease, loaded, options).await
    }

    /// The same of a session that was folded a moment ago, whose journal is then not folded once more: what
    /// was written since is read.
    ///
    /// # Errors
    /// As [`Engine::resume`].
    pub async fn resume_loaded(
        &self,
        loaded: Loaded,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        let id = loaded.session.id();
        let lease = self.parts.store.acquire_lease(id, &self.parts.owner).await?;
        // Only now does nobody else write.
        let loaded = loaded.catch_up(self.parts.store.as_ref()).await;
        self.run_loaded(lease, loaded, options).await
    }

    fn run_loaded(
        &self,
        lease: Lease,
        loaded: Result<Loaded, EngineError>,
        options: SessionOptions,
    ) -> BoxFuture<'_, Result<SessionHandle, EngineError>> {
        Box::pin(self.go_on_with(lease, loaded, options))
    }

    async fn go_on_with(
        &self,
        lease: Lease,
        loaded: Result<Loaded, EngineError>,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                self.parts.store.release_lease(&lease).await?;
                return Err(error);
            }
        };
        let Loaded { session, last, created, parent, snapshot } = loaded;
        // A run that was under way goes on without another look: what it reads is judged by these.
        if let Some(config) = session.config().filter(|_| session.run().is_some()) {
            hold_marks(self.parts.store.as_ref(), &options.workspace, config).await;
        }
        let mut start = SessionStart::new(self, lease, session, last.as_ref(), &options);
        start.ledger.set_origin(created, parent);
        start.snapshots = SnapshotKeeper::new(self.parts.snapshot_every, snapshot);
        let engine = self.parts.version.clone();
        start.record_command(self, SessionCommand::Resume { engine });
        let changed = start.session.config().map(|old| changed_settings_text(old, &options.config));
        if let Some(reason) = changed.filter(|reason| !reason.is_empty()) {
            let config = Arc::new(options.config.clone());
            let configure = PersonCommand::Configure { reason, config };
            start.record_command(self, configure.sent_by(self.parts.principal.clone()));
        }
        Ok(start.run(self, options))
    }
}

#[async_trait]
impl ChildOpener for Engine {
    async fn open_child(
        &self,
        id: SessionId,
        parent: &SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        self.begin_session(id, Some(parent.clone()), options).await
    }

    async fn resume_child(
        &self,
        id: SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        self.resume(id, options).await
    }
}

/// What of the settings is new, in words; empty when nothing is.
fn changed_settings_text(old: &SessionConfig, new: &SessionConfig) -> String {
    let mut words = Vec::new();
    let mut note = |differs: bool, word: &str| {
        if differs {
            words.push(word.to_string());
        }
    };
    // Every field, so that the compiler asks about a new one.
    let SessionConfig {
        workspace,
        profile,
        model,
        routing,
        thinking,
        permission,
        rules,
        limits,
        tools,
        deferred,
        condensing,
        memory,
        recipes,
        depth,
        system,
        externalize_over,
        output_schema,
        strict,
        attended,
        guards,
        own_addresses,
        // The bound itself says whether it differs.
        budget_place: _,
        // Spent or not, it was given when the session began.
        answer: _,
        // What was told stays told, whatever a later program would allow.
        link_bits: _,
    } = new;
    note(old.workspace != *workspace, "another workspace");
    note(old.model != *model, "another model");
    note(old.routing != *routing, "other fallback models or rules for models");
    note(old.profile != *profile, "another profile");
    note(old.permission != *permission, "another permission mode");
    note(old.rules != *rules, "other rules");
    let folders = |rules: &RuleSet| rules.context().added_folders.clone();
    note(folders(&old.rules) != folders(rules), "other folders beside the workspace");
    note(old.limits != *limits, "other limits");
    note(old.tools != *tools, "other tools");
    note(old.system != *system, "another system prompt");
    note(old.thinking != *thinking, "another thinking effort");
    note(old.attended != *attended, "somebody can be asked or not");
    note(old.output_schema != *output_schema, "another output schema");
    note(old.guards != *guards, "other guards");
    note(old.own_addresses != *own_addresses, "other addresses of yours");
    note(old.strict != *strict, "another strictness");
    note(old.deferred != *deferred, "other tools to be found");
    note(old.condensing != *condensing, "another threshold");
    note(old.memory != *memory, "another memory policy");
    note(old.recipes != *recipes, "another recipe policy");
    note(old.depth != *depth, "another depth of sub-agents");
    note(old.externalize_over != *externalize_over, "another bound for results");
    words.join(", ")
}

/// A session about to run.
struct SessionStart {
    session: Session,
    ledger: JournalWriter,
    lease: Lease,
    hub: Arc<UpdateHub>,
    snapshots: SnapshotKeeper,
}

impl SessionStart {
    fn new(
        engine: &Engine,
        lease: Lease,
        mut session: Session,
        last: Option<&Record>,
        options: &SessionOptions,
    ) -> SessionStart {
        session.share_tools(&options.config);
        let mut ledger = JournalWriter::new(lease.clone(), engine.parts.principal.clone(), last);
        ledger.set_secrets(&engine.parts.secrets);
        let hub = Arc::new(UpdateHub::new(session.fact_count()));
        let snapshots = SnapshotKeeper::new(engine.parts.snapshot_every, 0);
        SessionStart { session, ledger, lease, hub, snapshots }
    }

    fn record_command(&mut self, engine: &Engine, command: SessionCommand) {
        let now = engine.parts.clock.now().max(self.session.last_fact_time());
        let facts = self.session.handle(now, SessionInput::Command(command));
        self.ledger.push(&self.session, now, facts);
    }

    fn run(self, engine: &Engine, options: SessionOptions) -> SessionHandle {
        let (sender, messages) = mpsc::channel(COMMANDS_QUEUED);
        let resources = options.resources.clone();
        let id = self.session.id().clone();
        let parts = engine.parts.clone();
        let store = parts.store.clone();
        let blobs = Arc::new(StagedBlobs::new(store.clone()));
        let lease = self.lease;
        let hub = self.hub.clone();
        if let Some(config) = self.session.config() {
            options.workspace.hold_rules(Arc::new(config.rules.clone()));
        }
        let scene = Arc::new(options.scene);
        let time = SessionTime::from_last_fact(parts.clock.clone(), self.session.last_fact_time());
        let submit = InputSubmission {
            session: id.clone(),
            store: store.clone(),
            hooks: parts.hooks.clone(),
            cwd: self.session.config().map(|c| c.workspace.clone()).unwrap_or_default(),
            mode: self.session.config().map(|c| c.permission).unwrap_or_default(),
            workspace: options.workspace.clone(),
            scene: scene.clone(),
        };
        let context = Arc::new(WorkerContext {
            // Tools that this session makes are its own.
            toolbox: options.resources.toolbox.unwrap_or_else(|| Arc::new(parts.toolbox.copy())),
            scripts: options.resources.scripts.unwrap_or_else(|| Arc::new(NoScripts)),
            servers: options.resources.servers.unwrap_or_else(|| Arc::new(NoServers)),
            parts,
            profiles: options.profiles,
            resources,
            sender: CommandSender::to_session(&sender),
            session: id.clone(),
            workspace: options.workspace,
            blobs: blobs.clone(),
            hub: hub.clone(),
            scene,
            time,
        });
        let opener = Arc::new(engine.clone());
        // One place for all that a session is: each future around another would hold it anew (Q19).
        let loop_ = Box::new(SessionLoop {
            submit: submit.clone(),
            workers: Workers::new(context.clone(), &options.model, opener),
            family: FamilySeat::take(context.resources.family.clone(), &self.session),
            context,
            session: self.session,
            ledger: self.ledger,
            snapshots: self.snapshots,
            model: options.model,
            conversation: None,
            messages,
            flying: FuturesUnordered::new(),
            in_flight: HashMap::new(),
            early: Vec::new(),
            contents: HashMap::new(),
            programs: HashMap::new(),
            writing: None,
            read: HashSet::new(),
            closing: false,
            resting: false,
            behind: JoinSet::new(),
        });
        let (ended, task) = spawn_session_loop(loop_, lease);
        let task = Some(task);
        SessionHandle { id, sender, hub, store, blobs, submit, ended, task }
    }
}

/// Runs the loop as a task of its own, which says how it ended.
fn spawn_session_loop(
    loop_: Box<SessionLoop>,
    lease: Lease,
) -> (watch::Receiver<Option<Ended>>, JoinHandle<Result<(), EngineError>>) {
    let (over, ended) = watch::channel(None);
    let task = tokio::spawn(async move {
        let result = to_the_end(loop_, lease).await;
        let _ = over.send(Some(match &result {
            Ok(()) => Ended::Well,
            Err(EngineError::Crashed) => Ended::Crashed,
            Err(_) => Ended::Failed,
        }));
        result
    });
    (ended, task)
}

/// The loop of a session, and what is put in order once it has ended. A bug in it ends this session
/// and no other: whoever takes it up next finds it as its journal says.
async fn to_the_end(loop_: Box<SessionLoop>, lease: Lease) -> Result<(), EngineError> {
    let (workers, config) = (loop_.workers.clone(), loop_.session.config().cloned());
    let result = AssertUnwindSafe(loop_.run()).catch_unwind().await.unwrap_or_else(|_| {
        workers.context.hub.close();
        workers.children.stop();
        Err(EngineError::Crashed)
    });
    // Apart, so that a session at work keeps no room for it.
    Box::pin(settle_ended(workers, config, lease, result)).await
}

/// What is put in order once the loop of a session has ended with `result`.
async fn settle_ended(
    workers: Workers,
    config: Option<Arc<SessionConfig>>,
    lease: Lease,
    result: Result<(), EngineError>,
) -> Result<(), EngineError> {
    workers.children.wait_until_ended().await;
    workers.context.parts.processes.end_all(&lease.session).await;
    if let Err(why) = workers.commands.settle_jobs().await {
        tracing::warn!(%why, "what background jobs changed could not be saved");
    }
    workers.commands.stop_watching().await;
    // A sub-agent is no session of the person's.
    if let Some(config) = config.filter(|config| config.depth == 0) {
        let why = if result.is_ok() { "closed" } else { "error" };
        let fields = serde_json::json!({ "reason": why });
        workers.guards.notify_hooks(HookMoment::SessionEnd, &config, fields).await;
    }
    let given_back = workers.context.parts.store.release_lease(&lease).await;
    if let Err(error) = &result {
        tracing::error!(session = %lease.session, %error, "a session went down: its effects stopped");
    }
    result?;
    Ok(given_back?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a task of this kind keeps as long as it lives.
    fn future_bytes<A, B, F>(_task: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn q19_the_task_of_a_session_does_not_hold_it_again_in_each_future() {
        let (task, session) = (future_bytes(to_the_end), size_of::<SessionLoop>());
        assert!(task < session * 2, "{task} bytes around a loop of {session}");
    }
}
