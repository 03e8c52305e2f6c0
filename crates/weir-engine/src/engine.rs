//! Opening sessions: the parts that they share, and the handle by which faces steer one.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use weir_core::event::{Added, CancelCause, CheckpointRestored, Decision, Event};
use weir_core::ids::{ApprovalId, InputId, QuestionId, Seq, SessionId};
use weir_core::input::{ApprovalAnswer, Command, Input, PersonCommand, PersonMessage};
use weir_core::message::Block;
use weir_core::prompt::Scene;
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_core::session::{Session, SessionConfig};

use crate::blobs::{StagedBlobs, decode_blob};
use crate::children::Children;
use crate::commands::Commands;
use crate::hub::{Hub, Updates};
use crate::ledger::{Ledger, fact_of};
use crate::ports::{
    Blobs, Checkpoints, Clock, Documents, HookMoment, Hooks, Lease, Model, NoScripts, NoServers,
    Observers, Owner, Processes, Profiles, Scripts, Servers, Store, StoreError, Web, Worktrees,
};
use crate::scene::{Glance, Lookout, SceneOptions, hold_marks};
use crate::session_loop::{Message, SessionLoop};
use crate::session_time::SessionTime;
use crate::submit::Submit;
use crate::toolbox::Toolbox;
use crate::workers::Desk;
use crate::workspace::Workspace;

/// Facts read at once when a session is opened.
const READ_BATCH: usize = 4_096;
/// Commands that may wait for the loop.
const COMMANDS_QUEUED: usize = 64;

/// What all sessions of an engine share.
pub struct Parts {
    /// Journal and what is kept beside it.
    pub store: Arc<dyn Store>,
    /// Files as they were.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Tools.
    pub toolbox: Arc<Toolbox>,
    /// Commands.
    pub processes: Arc<dyn Processes>,
    /// The network.
    pub web: Arc<dyn Web>,
    /// Readers of images and PDFs.
    pub documents: Arc<dyn Documents>,
    /// The person's hooks.
    pub hooks: Arc<dyn Hooks>,
    /// The model that is asked about calls and foreign content; none: each session's own.
    pub judge: Option<Arc<dyn Model>>,
    /// The model that summarises what no longer fits; none: each session's own.
    pub condenser: Option<Arc<dyn Model>>,
    /// The model that fills recipes in; none: each session's own.
    pub planner: Option<Arc<dyn Model>>,
    /// The stronger model that the agent may ask a few times a run; none: it cannot ask.
    pub flagship: Option<Arc<dyn Model>>,
    /// Who holds the leases.
    pub owner: Owner,
    /// On whose behalf: the name that stands in audit lines.
    pub principal: String,
    /// Version of the program.
    pub version: String,
    /// Values that must never reach model, log or screen.
    pub secrets: Vec<String>,
    /// Who measures.
    pub observers: Arc<Observers>,
}

/// What one session needs beside the shared parts.
pub struct SessionOptions {
    /// Its folder.
    pub workspace: Arc<Workspace>,
    /// Its model: the one that its configuration names.
    pub model: Arc<dyn Model>,
    /// What is looked at when a run starts.
    pub scene: SceneOptions,
    /// The profiles that the agent may propose to go on with.
    pub profiles: Arc<dyn Profiles>,
    /// What it can reach beyond the parts that all sessions share.
    pub hands: Hands,
    /// Its settings. For a session that exists and is at rest they replace those of the journal
    /// where they differ.
    pub config: SessionConfig,
}

/// What one session can reach beyond the parts that all sessions share.
#[derive(Clone, Default)]
pub struct Hands {
    /// Its tools, with those of its foreign servers and plugins; none: the engine's.
    pub toolbox: Option<Arc<Toolbox>>,
    /// What runs the code of tools that were made at run time; none: nothing does.
    pub scripts: Option<Arc<dyn Scripts>>,
    /// Its foreign servers; none: there are none.
    pub servers: Option<Arc<dyn Servers>>,
    /// Copies of its folder for sub-agents; none: there can be none.
    pub worktrees: Option<Arc<dyn Worktrees>>,
}

/// Why a session could not be opened or went down.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store refused: effects have stopped.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session exists already, or does not exist.
    #[error("{0}")]
    Session(String),
    /// The loop is gone.
    #[error("the session has stopped")]
    Stopped,
    /// The loop met a bug of its own; other sessions go on.
    #[error("the engine crashed in this session; the log says where")]
    Crashed,
    /// The command answers nothing that is open.
    #[error("{0}")]
    Refused(String),
}

/// Opens sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<Parts>,
}

impl Engine {
    /// An engine of these parts.
    pub fn new(parts: Parts) -> Engine {
        Engine { parts: Arc::new(parts) }
    }

    /// An engine of parts that another one has too.
    pub(crate) fn over(parts: Arc<Parts>) -> Engine {
        Engine { parts }
    }

    /// What its sessions share.
    pub fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// What a run of a session with these settings would be told, without what hooks add. Nothing is
    /// journaled and nothing changed.
    pub async fn preview(&self, options: &SessionOptions, glance: Glance) -> Scene {
        options.workspace.hold_rules(Arc::new(options.config.rules.clone()));
        let lookout = Lookout {
            parts: self.parts.clone(),
            options: Arc::new(options.scene.clone()),
            workspace: options.workspace.clone(),
            deeper: Arc::default(),
        };
        lookout.look(&options.config, glance).await
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
        self.begin(id, None, options).await
    }

    /// Begins the session of a sub-agent that `parent` starts.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub(crate) async fn open_child(
        &self,
        id: SessionId,
        parent: &SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        self.begin(id, Some(parent.clone()), options).await
    }

    async fn begin(
        &self,
        id: SessionId,
        parent: Option<SessionId>,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError> {
        let lease = self.parts.store.acquire(&id, &self.parts.owner).await?;
        if self.parts.store.meta(&id).await?.is_some_and(|meta| meta.facts > 0) {
            self.parts.store.release(&lease).await?;
            return Err(EngineError::Session(format!("session {id} exists already")));
        }
        let mut start = Start::new(self, lease, Session::new(id), None, &options);
        let engine = self.parts.version.clone();
        let config = Arc::new(options.config.clone());
        start.record(self, Command::Open { engine, config, parent });
        Ok(start.run(self, options))
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
        let lease = self.parts.store.acquire(&id, &self.parts.owner).await?;
        let loaded = match load(self.parts.store.as_ref(), &id).await {
            Ok(loaded) => loaded,
            Err(error) => {
                self.parts.store.release(&lease).await?;
                return Err(error);
            }
        };
        let Loaded { session, last, created, parent } = loaded;
        // A run that was under way goes on without another look: what it reads is judged by these.
        if let Some(config) = session.config().filter(|_| session.run().is_some()) {
            hold_marks(self.parts.store.as_ref(), &options.workspace, config).await;
        }
        let mut start = Start::new(self, lease, session, last.as_ref(), &options);
        start.ledger.born(created, parent);
        let engine = self.parts.version.clone();
        start.record(self, Command::Resume { engine });
        let changed = start.session.config().map(|old| differences(old, &options.config));
        if let Some(reason) = changed.filter(|reason| !reason.is_empty()) {
            let config = Arc::new(options.config.clone());
            let configure = PersonCommand::Configure { reason, config };
            start.record(self, configure.sent_by(self.parts.principal.clone()));
        }
        Ok(start.run(self, options))
    }
}

/// What of the settings is new, in words; empty when nothing is.
fn differences(old: &SessionConfig, new: &SessionConfig) -> String {
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
    } = new;
    note(old.workspace != *workspace, "another workspace");
    note(old.model != *model, "another model");
    note(old.profile != *profile, "another profile");
    note(old.permission != *permission, "another permission mode");
    note(old.rules != *rules, "other rules");
    note(old.limits != *limits, "other limits");
    note(old.tools != *tools, "other tools");
    note(old.system != *system, "another system prompt");
    note(old.thinking != *thinking, "another thinking effort");
    note(old.attended != *attended, "somebody can be asked or not");
    note(old.output_schema != *output_schema, "another output schema");
    note(old.guards != *guards, "other guards");
    note(old.strict != *strict, "another strictness");
    note(old.deferred != *deferred, "other tools to be found");
    note(old.condensing != *condensing, "another threshold");
    note(old.memory != *memory, "another memory policy");
    note(old.recipes != *recipes, "another recipe policy");
    note(old.depth != *depth, "another depth of sub-agents");
    note(old.externalize_over != *externalize_over, "another bound for results");
    words.join(", ")
}

/// A session folded from its journal.
pub struct Loaded {
    /// The fold.
    pub session: Session,
    /// Its last record.
    pub last: Option<Record>,
    /// When it was opened.
    pub created: weir_core::ids::Timestamp,
    /// The session it was forked from.
    pub parent: Option<SessionId>,
}

/// Folds the journal of `id`.
///
/// # Errors
/// There is none, or it cannot be read.
pub async fn load(store: &dyn Store, id: &SessionId) -> Result<Loaded, EngineError> {
    let mut session = Session::new(id.clone());
    let mut loaded_last = None;
    let mut created = weir_core::ids::Timestamp::default();
    let mut parent = None;
    loop {
        let records = store.read(id, session.facts() + 1, READ_BATCH).await?;
        for record in &records {
            let fact = fact_of(record)?;
            if let Event::SessionOpened(opened) = fact.event.as_ref() {
                created = fact.ts;
                parent.clone_from(&opened.parent);
            }
            session.apply(fact.ts, &fact.event);
        }
        let done = records.len() < READ_BATCH;
        loaded_last = records.into_iter().last().or(loaded_last);
        if done {
            break;
        }
    }
    if session.facts() == 0 {
        return Err(EngineError::Session(format!("there is no session {id}")));
    }
    Ok(Loaded { session, last: loaded_last, created, parent })
}

/// All records of a session, with its hash chain checked.
///
/// # Errors
/// It cannot be read, or its chain is broken: the first break is named.
pub async fn read_verified(store: &dyn Store, id: &SessionId) -> Result<Vec<Record>, EngineError> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let from = records.len() as Seq + 1;
        let batch = store.read(id, from, READ_BATCH).await?;
        let done = batch.len() < READ_BATCH;
        records.extend(batch);
        if done {
            break;
        }
    }
    verify_chain(GENESIS, 1, &records).map_err(|error| {
        EngineError::Store(StoreError::Damaged {
            what: format!("the journal of session {id}"),
            why: error.to_string(),
        })
    })?;
    Ok(records)
}

/// A session about to run.
struct Start {
    session: Session,
    ledger: Ledger,
    lease: Lease,
    hub: Arc<Hub>,
}

impl Start {
    fn new(
        engine: &Engine,
        lease: Lease,
        mut session: Session,
        last: Option<&Record>,
        options: &SessionOptions,
    ) -> Start {
        session.share_tools(&options.config);
        let mut ledger = Ledger::new(lease.clone(), engine.parts.principal.clone(), last);
        ledger.guard(&engine.parts.secrets);
        let hub = Arc::new(Hub::new(session.facts()));
        Start { session, ledger, lease, hub }
    }

    fn record(&mut self, engine: &Engine, command: Command) {
        let now = engine.parts.clock.now().max(self.session.last());
        let facts = self.session.handle(now, Input::Command(command));
        self.ledger.push(&self.session, now, facts);
    }

    fn run(self, engine: &Engine, options: SessionOptions) -> SessionHandle {
        let (sender, messages) = mpsc::channel(COMMANDS_QUEUED);
        let hands = options.hands.clone();
        let id = self.session.id().clone();
        let parts = engine.parts.clone();
        let store = parts.store.clone();
        let blobs = Arc::new(StagedBlobs::new(store.clone()));
        let lease = self.lease;
        let hub = self.hub.clone();
        if let Some(config) = self.session.config() {
            options.workspace.hold_rules(Arc::new(config.rules.clone()));
        }
        let judge = parts.judge.clone().unwrap_or_else(|| options.model.clone());
        let condenser = parts.condenser.clone().unwrap_or_else(|| options.model.clone());
        let planner = parts.planner.clone().unwrap_or_else(|| options.model.clone());
        let scene = Arc::new(options.scene);
        let time = SessionTime::after(parts.clock.clone(), self.session.last());
        let submit = Submit {
            session: id.clone(),
            store: store.clone(),
            hooks: parts.hooks.clone(),
            cwd: self.session.config().map(|c| c.workspace.clone()).unwrap_or_default(),
            mode: self.session.config().map(|c| c.permission).unwrap_or_default(),
            workspace: options.workspace.clone(),
            scene: scene.clone(),
        };
        let loop_ = SessionLoop {
            submit: submit.clone(),
            desk: Desk {
                // Tools that this session makes are its own.
                toolbox: options.hands.toolbox.unwrap_or_else(|| Arc::new(parts.toolbox.copy())),
                scripts: options.hands.scripts.unwrap_or_else(|| Arc::new(NoScripts)),
                servers: options.hands.servers.unwrap_or_else(|| Arc::new(NoServers)),
                parts,
                judge,
                condenser,
                planner,
                profiles: options.profiles,
                hands,
                sender: sender.downgrade(),
                children: Children::default(),
                session: id.clone(),
                workspace: options.workspace,
                blobs: blobs.clone(),
                hub: hub.clone(),
                scene,
                hooked: Arc::default(),
                deeper: Arc::default(),
                commands: Commands::default(),
                conversions: Arc::default(),
                streamed: Arc::default(),
                time,
            },
            session: self.session,
            ledger: self.ledger,
            model: options.model,
            conversation: None,
            messages,
            flying: FuturesUnordered::new(),
            in_flight: HashMap::new(),
            early: Vec::new(),
            contents: HashMap::new(),
            writing: None,
            read: HashSet::new(),
            closing: false,
            learning: JoinSet::new(),
        };
        let (ended, task) = spawned(loop_, lease);
        let task = Some(task);
        SessionHandle { id, sender, hub, store, blobs, submit, ended, task }
    }
}

/// Runs the loop as a task of its own, which says how it ended.
fn spawned(
    loop_: SessionLoop,
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
async fn to_the_end(loop_: SessionLoop, lease: Lease) -> Result<(), EngineError> {
    let (desk, config) = (loop_.desk.clone(), loop_.session.config().cloned());
    let result = AssertUnwindSafe(loop_.run()).catch_unwind().await.unwrap_or_else(|_| {
        desk.hub.close();
        desk.children.stop();
        Err(EngineError::Crashed)
    });
    desk.children.ended().await;
    desk.parts.processes.end_all(&lease.session).await;
    if let Err(why) = desk.settle_jobs().await {
        tracing::warn!(%why, "what background jobs changed could not be saved");
    }
    desk.stop_watching().await;
    // A sub-agent is no session of the person's.
    if let Some(config) = config.filter(|config| config.depth == 0) {
        let why = if result.is_ok() { "closed" } else { "error" };
        let fields = serde_json::json!({ "reason": why });
        desk.notify(HookMoment::SessionEnd, &config, fields).await;
    }
    let given_back = desk.parts.store.release(&lease).await;
    if let Err(error) = &result {
        tracing::error!(session = %lease.session, %error, "a session went down: its effects stopped");
    }
    result?;
    Ok(given_back?)
}

/// How a session went down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was closed.
    Well,
    /// The store refused.
    Failed,
    /// The engine met a bug of its own.
    Crashed,
}

/// A running session. Dropping it lets the session come to rest where it is and stops it.
pub struct SessionHandle {
    id: SessionId,
    sender: mpsc::Sender<Message>,
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    blobs: Arc<StagedBlobs>,
    submit: Submit,
    ended: watch::Receiver<Option<Ended>>,
    task: Option<JoinHandle<Result<(), EngineError>>>,
}

impl SessionHandle {
    /// Its name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Listens from the fact after `after` on.
    pub fn updates(&self, after: Seq) -> Updates {
        self.hub.listen(self.id.clone(), self.store.clone(), after)
    }

    /// Listens to facts alone, from the one after `after` on: nothing that is streamed wakes it.
    pub fn facts(&self, after: Seq) -> Updates {
        self.hub.listen_to_facts(self.id.clone(), self.store.clone(), after)
    }

    /// The newest fact that whoever listens may have heard of.
    pub(crate) fn published(&self) -> Seq {
        self.hub.published()
    }

    /// The store of its journal.
    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Where attachments are put before they are said.
    pub fn blobs(&self) -> &dyn Blobs {
        self.blobs.as_ref()
    }

    /// Sends a command; returns when it is durable.
    ///
    /// # Errors
    /// The session has stopped, the store refused, or the command answers nothing that is open.
    pub async fn command(&self, command: Command) -> Result<(), EngineError> {
        let (done, answered) = oneshot::channel();
        let message = Message::Command(command, done);
        self.sender.send(message).await.map_err(|_| self.hub.silence())?;
        answered.await.map_err(|_| self.hub.silence())?
    }

    /// Says something, with the text of the command that it names (M3), unless a `UserPromptSubmit`
    /// hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; the command cannot be used; a hook refused it, with its words.
    pub async fn say(&self, content: Vec<Block>, by: &str) -> Result<(), EngineError> {
        self.tell_session(by, PersonMessage { content, ..PersonMessage::default() }.into()).await
    }

    /// Tells the session what a person wants; returns when it is durable. What is said goes with the
    /// text of the command that it names (M3), unless a `UserPromptSubmit` hook refuses it (G11).
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; what is said cannot be used, or a hook refused it.
    pub async fn tell_session(&self, by: &str, command: PersonCommand) -> Result<(), EngineError> {
        let command = match command {
            PersonCommand::Say(mut message) => {
                for blob in std::mem::take(&mut message.blobs) {
                    let bytes = decode_blob(&blob);
                    let bytes = bytes.map_err(|error| EngineError::Refused(error.to_string()))?;
                    self.blobs.put(&self.id, bytes);
                }
                message.added.extend(self.submitted(&message.content).await?);
                PersonCommand::Say(message)
            }
            other => other,
        };
        self.command(command.sent_by(by)).await
    }

    /// What goes with an input beside the person's words.
    pub(crate) async fn submitted(&self, content: &[Block]) -> Result<Vec<Added>, EngineError> {
        self.submit.added(content).await
    }

    /// Takes back a queued input.
    ///
    /// # Errors
    /// As [`SessionHandle::command`]; it was delivered already.
    pub async fn withdraw(&self, input: InputId) -> Result<(), EngineError> {
        self.command(PersonCommand::Withdraw { input }.sent_by(String::new())).await
    }

    /// Answers an approval; the first answer wins.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn decide(
        &self,
        approval: ApprovalId,
        decision: Decision,
        by: &str,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let answer = ApprovalAnswer { approval, decision, reason, terms: None };
        self.command(PersonCommand::Decide(answer).sent_by(by)).await
    }

    /// Answers a question.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn reply(
        &self,
        question: QuestionId,
        answer: String,
        by: &str,
    ) -> Result<(), EngineError> {
        self.command(PersonCommand::Reply { question, answer }.sent_by(by)).await
    }

    /// Ends the run now.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn cancel(&self, cause: CancelCause, by: &str) -> Result<(), EngineError> {
        self.command(Command::Cancel { cause, by: by.into() }).await
    }

    /// Notes that a person took changes back.
    ///
    /// # Errors
    /// As [`SessionHandle::command`].
    pub async fn restored(&self, restored: CheckpointRestored) -> Result<(), EngineError> {
        self.command(Command::Restored(restored)).await
    }

    /// Stops the session if nothing of it is under way and nothing waits to be delivered; otherwise
    /// it changes nothing. What is said to it in the same moment may come too late:
    /// [`EngineError::Stopped`], and it is to be taken up again.
    pub async fn rest(&self) {
        let _ = self.sender.send(Message::Rest).await;
    }

    /// Stops the session where it is, as [`SessionHandle::close`] does, and does not wait for it.
    pub async fn stop(&self) {
        let _ = self.sender.send(Message::Close).await;
    }

    /// Whether the session goes down or is down: it takes nothing and tells nothing any more.
    pub fn is_closed(&self) -> bool {
        self.hub.is_closed()
    }

    /// Waits until the session has gone down and others can have it.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        // A sender that is gone without a word met a bug after the loop's own end.
        let over = ended.wait_for(Option::is_some).await;
        over.ok().and_then(|over| *over).unwrap_or(Ended::Crashed)
    }

    /// Waits until the session went down by itself.
    ///
    /// # Errors
    /// Why it did: the store refused, or the engine crashed in it.
    pub async fn down(&mut self) -> Result<(), EngineError> {
        let Some(task) = &mut self.task else { return Err(EngineError::Stopped) };
        let ended = task.await;
        self.task = None;
        ended.map_err(|_| EngineError::Stopped)?
    }

    /// Stops the session where it is: what is known is made durable, what is in flight ends.
    ///
    /// # Errors
    /// Why the session went down before.
    pub async fn close(mut self) -> Result<(), EngineError> {
        let _ = self.sender.send(Message::Close).await;
        match self.task.take() {
            Some(task) => task.await.map_err(|_| EngineError::Stopped)?,
            None => Ok(()),
        }
    }
}
