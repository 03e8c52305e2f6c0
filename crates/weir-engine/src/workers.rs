//! Starts what a session is owed: one future per effect, answers come back as inputs.
//!
//! Nothing is decided here. A worker asks the port that the effect names, turns what comes back
//! into an [`Answer`], and ends early when its token fires.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use weir_core::event::Note;
use weir_core::governance::filter::{mask_reply, mask_text};
use weir_core::governance::label::Label;
use weir_core::governance::{FilterContext, Permit, clean, label};
use weir_core::ids::{BlobId, CallId, InputId, SessionId, Timestamp, TurnId};
use weir_core::input::{Answer, journaled};
use weir_core::message::Block;
use weir_core::model::{ModelRequest, Reply, ReplyBlock, Signal};
use weir_core::prompt;
use weir_core::session::{Call, Session, SessionConfig};
use weir_core::tool::{Access, Change, Clean, Place, Raw};

use crate::asking::Asking;
use crate::blobs::StagedBlobs;
use crate::children::{Birth, Children};
use crate::commands::{Commands, Ended};
use crate::engine::{Hands, Parts};
use crate::hub::{Hub, SignalKind};
use crate::knowledge::Known;
use crate::media::Conversions;
use crate::nested::{Foresight, Nest};
use crate::ports::{
    Blobs, Content, Conversation, MediaMap, Model, NoPerson, NoPlugins, Profiles, ProgressSink,
    Scripts, Servers, SignalSink, Snapshot, SnapshotEntry, ToolContext,
};
use crate::scene::{Deeper, Glance, Lookout, SceneOptions};
use crate::session_loop::Message;
use crate::session_time::SessionTime;
use crate::streaming::Stream;
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;

/// Time a cancelled call has to end by itself before it is given up (L14: within a second).
const STOP_GRACE: Duration = Duration::from_millis(950);
/// Most text, and most thoughts, of a reply under way that are kept in case it is cut off, in bytes.
const STREAMED_BYTES_MAX: usize = 1 << 20;
/// Largest file whose content a checkpoint keeps, in bytes.
const CHECKPOINT_FILE_MAX: u64 = 256 << 20;

fn lock(streamed: &Mutex<Streamed>) -> MutexGuard<'_, Streamed> {
    streamed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// New contents of files by path, made when a call was planned.
pub(crate) type Contents = Arc<BTreeMap<String, Arc<[u8]>>>;

/// What all workers of one session share.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) parts: Arc<Parts>,
    /// The tools of the session.
    pub(crate) toolbox: Arc<Toolbox>,
    /// What runs the code of tools that were made at run time.
    pub(crate) scripts: Arc<dyn Scripts>,
    /// Its foreign servers.
    pub(crate) servers: Arc<dyn Servers>,
    /// The model that is asked about calls and foreign content.
    pub(crate) judge: Arc<dyn Model>,
    /// The model that summarises what no longer fits.
    pub(crate) condenser: Arc<dyn Model>,
    /// The model that fills recipes in.
    pub(crate) planner: Arc<dyn Model>,
    pub(crate) profiles: Arc<dyn Profiles>,
    /// What it can reach beside the shared parts: its children have the same.
    pub(crate) hands: Hands,
    /// The way to its own loop, for news of children. Weak: it keeps no session open.
    pub(crate) sender: mpsc::WeakSender<Message>,
    /// Those who follow its children.
    pub(crate) children: Children,
    pub(crate) session: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) blobs: Arc<StagedBlobs>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) scene: Arc<SceneOptions>,
    /// What `SessionStart` hooks wanted the model to know: asked once in the life of the program.
    pub(crate) hooked: Arc<OnceCell<Vec<String>>>,
    /// Instruction files of folders below that calls touched.
    pub(crate) deeper: Arc<Deeper>,
    /// What is kept of the workspace while commands run.
    pub(crate) commands: Commands,
    /// Attachments in the form that the model takes.
    pub(crate) conversions: Arc<Conversions>,
    /// The session's time.
    pub(crate) time: SessionTime,
    /// What has come of the reply that is under way.
    pub(crate) streamed: Arc<Mutex<Streamed>>,
}

/// What has come of a reply: kept in case somebody ends the run in the middle of it (L14).
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    turn: Option<TurnId>,
    text: String,
    thinking: String,
}

impl Streamed {
    fn heard(&mut self, signal: &Signal) {
        let (kept, more) = match signal {
            Signal::Text(more) => (&mut self.text, more),
            Signal::Thinking(more) => (&mut self.thinking, more),
            Signal::CallBegun(_) => return,
        };
        if kept.len() + more.len() <= STREAMED_BYTES_MAX {
            kept.push_str(more);
        }
    }
}

/// A request that is to be encoded.
pub(crate) struct Preparing {
    pub(crate) conversation: Box<dyn Conversation>,
    pub(crate) request: ModelRequest,
    /// Blobs that its history mentions.
    pub(crate) media: Vec<BlobId>,
    pub(crate) not_before: Timestamp,
    /// What stands in it.
    pub(crate) label: Label,
}

/// A call that is to be run.
pub(crate) struct Running {
    pub(crate) permit: Permit,
    pub(crate) call: Call,
    pub(crate) config: Arc<SessionConfig>,
    /// What its plan computed, unless the program that planned it is gone.
    pub(crate) contents: Option<Contents>,
    /// The session, for tools that tell about it.
    pub(crate) about: Value,
    /// What the model had read when it asked for the call.
    pub(crate) label: Label,
    /// The session, for a tool that works by other tools.
    pub(crate) session: Option<Arc<Session>>,
    /// For a call that starts an agent: what it is started with.
    pub(crate) birth: Option<Birth>,
}

/// What a finished worker brings back.
pub(crate) enum Outcome {
    /// An answer for the session.
    Answer(Answer),
    /// The same, and the contents that the plan computed.
    Planned(Answer, CallId, Contents),
    /// The conversation comes back with the answer to what was asked of it.
    Conversation(Box<dyn Conversation>, Option<Answer>),
    /// The settings of another profile, with its model where that is another.
    Switched(Answer, Option<Arc<dyn Model>>),
    /// A moment has come.
    Tick,
    /// It was cancelled.
    Nothing,
}

impl Desk {
    fn context(
        &self,
        call: &Call,
        config: &Arc<SessionConfig>,
        cancel: CancellationToken,
        label: Label,
    ) -> ToolContext {
        let hub = self.hub.clone();
        let subject = call.id.to_string();
        let spec = self.toolbox.get(&call.tool).map(|tool| tool.spec().clone());
        ToolContext {
            session: self.session.clone(),
            call: call.id,
            workspace: self.workspace.clone(),
            processes: self.parts.processes.clone(),
            web: self.parts.web.clone(),
            documents: self.parts.documents.clone(),
            blobs: self.blobs.clone(),
            checkpoints: self.parts.checkpoints.clone(),
            mode: config.permission,
            cancel,
            timeout_ms: spec.and_then(|s| s.timeout_ms).unwrap_or(config.limits.tool_timeout_ms),
            progress: ProgressSink::new(move |text| hub.signal(SignalKind::Output, &subject, text)),
            foreign: call.is_foreign(),
            knows: Arc::new(Known {
                parts: self.parts.clone(),
                session: self.session.clone(),
                workspace: self.workspace.clone(),
                scene: self.scene.clone(),
                profiles: self.profiles.clone(),
                config: config.clone(),
                label,
                toolbox: self.toolbox.clone(),
                scripts: self.scripts.clone(),
            }),
            plugins: self.scene.skills.plugins.clone().unwrap_or_else(|| Arc::new(NoPlugins)),
            nested: Arc::new(Foresight { toolbox: self.toolbox.clone() }),
            person: Arc::new(NoPerson),
            servers: self.servers.clone(),
            agents: Arc::new(self.brood(call.id, config, None)),
            about: Arc::new(Value::Null),
            contents: Contents::default(),
        }
    }

    /// The notes of this run.
    pub(crate) async fn look(
        self,
        config: Arc<SessionConfig>,
        glance: Glance,
        input: InputId,
    ) -> Outcome {
        let hooked = self.hooked.clone();
        let told = hooked.get_or_init(|| self.session_started(&config)).await.join("\n");
        let lookout = Lookout {
            parts: self.parts.clone(),
            options: self.scene.clone(),
            workspace: self.workspace.clone(),
            deeper: self.deeper.clone(),
        };
        let scene = lookout.look(&config, glance).await;
        let mut label = Label::default();
        scene.active.iter().for_each(|skill| label.join(&skill.label));
        scene.memory.iter().for_each(|fact| label.join(&fact.fact.label));
        scene.recipes.iter().for_each(|found| label.join(&found.recipe.label));
        let mut notes = prompt::notes(&scene);
        if !told.is_empty() {
            notes.push(Note { section: "hooks".into(), text: told });
        }
        let recipe = scene.recipes.into_iter().next().map(Box::new);
        Outcome::Answer(Answer::Seen { notes, skills: scene.active, label, input, recipe })
    }

    /// Waits until the request may be made, then encodes it.
    pub(crate) async fn prepare(self, work: Preparing, cancel: CancellationToken) -> Outcome {
        let Preparing { mut conversation, mut request, mut media, not_before, label } = work;
        // What came in by another way than a result, or was started since the words were read.
        if let Some(said) = self.stop_older_jobs(&label).await {
            self.say_later(said).await;
        }
        let mut made = MediaMap::new();
        if self.time.now() < not_before {
            tokio::select! {
                () = cancel.cancelled() => return Outcome::Conversation(conversation, None),
                () = self.time.sleep_until(not_before) => (),
            }
        }
        if !media.is_empty() {
            let takes = conversation.takes();
            let converted = tokio::select! {
                () = cancel.cancelled() => return Outcome::Conversation(conversation, None),
                converted = self.convert(&mut request, takes) => converted,
            };
            media.retain(|blob| !converted.gone.contains(blob));
            made = converted.made;
        }
        let mut media = self.media(media).await;
        media.extend(made);
        let prepared = conversation.prepare(&request, &media);
        let answer = Answer::Prepared {
            turn: request.turn,
            bytes: prepared.bytes,
            prefix_bytes: prepared.prefix_bytes,
            prefix_expected: prepared.prefix_expected,
        };
        Outcome::Conversation(conversation, Some(answer))
    }

    async fn media(&self, wanted: Vec<BlobId>) -> MediaMap {
        use base64::Engine as _;
        let mut media = MediaMap::new();
        for id in wanted {
            if let Ok(bytes) = self.blobs.get(&id).await {
                let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
                media.insert(id, Arc::from(text));
            }
        }
        media
    }

    /// Sends what was prepared and waits for the reply.
    pub(crate) async fn ask(
        self,
        mut conversation: Box<dyn Conversation>,
        turn: TurnId,
        cancel: CancellationToken,
    ) -> Outcome {
        let secrets = &self.parts.secrets;
        let stream = Arc::new(Stream::new(self.hub.clone(), turn.to_string(), secrets));
        let (told, streamed) = (stream.clone(), self.streamed.clone());
        *lock(&streamed) = Streamed { turn: Some(turn), ..Streamed::default() };
        let sink = SignalSink::new(move |signal| {
            lock(&streamed).heard(&signal);
            told.tell(&signal);
        });
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = conversation.send(&sink) => Some(reply),
        };
        if reply.is_some() {
            stream.finish();
        }
        let answer = reply.map(|mut reply| {
            mask_reply(&mut reply, &self.parts.secrets);
            let images = self.keep_images(&reply);
            Answer::Replied { turn, reply, images, jitter: self.parts.clock.random() }
        });
        Outcome::Conversation(conversation, answer)
    }

    /// What had come of the reply of this turn.
    pub(crate) fn salvage(&self, turn: TurnId) -> Outcome {
        let streamed = std::mem::take(&mut *lock(&self.streamed));
        let Streamed { mut text, mut thinking, .. } = match streamed.turn {
            Some(of) if of == turn => streamed,
            Some(_) | None => Streamed::default(),
        };
        mask_text(&mut text, &self.parts.secrets);
        mask_text(&mut thinking, &self.parts.secrets);
        Outcome::Answer(Answer::Salvaged { turn, text, thinking })
    }

    fn keep_images(&self, reply: &Reply) -> Vec<BlobId> {
        let Reply::Whole { blocks, .. } = reply else { return Vec::new() };
        let keep = |block: &ReplyBlock| match block {
            ReplyBlock::Image { data, .. } => {
                Some(self.blobs.put(&self.session, Arc::from(data.as_slice())))
            }
            ReplyBlock::Said(_) | ReplyBlock::Call(_) => None,
        };
        blocks.iter().filter_map(keep).collect()
    }

    /// Finds out about a call.
    pub(crate) async fn inspect(
        self,
        call: Call,
        config: Arc<SessionConfig>,
        said: Vec<String>,
        cancel: CancellationToken,
    ) -> Outcome {
        let cx = self.context(&call, &config, cancel, Label::default());
        let inspect = AssertUnwindSafe(self.toolbox.inspect(&call, &cx)).catch_unwind();
        let id = call.id;
        match inspect.await {
            Ok((mut inspection, plan)) => {
                self.consult(&call, &config, &said, &mut inspection).await;
                let inspection = Box::new(inspection);
                let contents = Arc::new(plan.contents);
                Outcome::Planned(Answer::Inspected { call: id, inspection }, id, contents)
            }
            Err(_) => {
                // A tool that panics while it plans has unknown effects; the gate decides on that.
                let mut inspection = crate::recover::unknown_inspection(&call.tool);
                inspection.fails = Some(format!("{} failed while it was planned.", call.tool));
                let inspection = Box::new(inspection);
                Outcome::Answer(Answer::Inspected { call: id, inspection })
            }
        }
    }

    /// Saves what a call will touch (G7).
    pub(crate) async fn checkpoint(
        self,
        call: Call,
        config: Arc<SessionConfig>,
        contents: Option<Contents>,
        run: String,
    ) -> Outcome {
        let id = call.id;
        match self.try_checkpoint(&call, &config, contents, run).await {
            Ok((answer, contents)) => Outcome::Planned(answer, id, contents),
            Err(reason) => Outcome::Answer(Answer::NotSaved { call: id, reason }),
        }
    }

    async fn try_checkpoint(
        &self,
        call: &Call,
        config: &Arc<SessionConfig>,
        contents: Option<Contents>,
        run: String,
    ) -> Result<(Answer, Contents), String> {
        let inspection = call.inspection.clone().ok_or("it was never looked at")?;
        if call.changes_unknown() {
            let checkpoint = self.watch(call, run).await?;
            let answer = Answer::Saved { call: call.id, checkpoint, paths: Vec::new() };
            return Ok((answer, contents.unwrap_or_default()));
        }
        self.settle_jobs().await?;
        let contents = match contents {
            Some(contents) => contents,
            None => self.plan_again(call, config).await?,
        };
        let (workspace, at) = (self.workspace.clone(), inspection.clone());
        let made = contents.clone();
        let entries = tokio::task::spawn_blocking(move || entries(&workspace, &at.effects, &made))
            .await
            .map_err(|_| "reading them failed".to_string())??;
        let paths: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
        let snapshot = Snapshot {
            workspace: self.workspace.root().to_path_buf(),
            session: self.session.clone(),
            run,
            call: Some(call.id),
            ts: self.parts.clock.now(),
            label: inspection.summary.clone(),
            entries,
        };
        let taken = self.parts.checkpoints.take(snapshot).await;
        let checkpoint = taken.map_err(|error| error.to_string())?;
        Ok((Answer::Saved { call: call.id, checkpoint, paths }, contents))
    }

    /// The contents of a plan that was made by a program that is gone: planned again, and good
    /// only if it comes to the very same changes.
    async fn plan_again(
        &self,
        call: &Call,
        config: &Arc<SessionConfig>,
    ) -> Result<Contents, String> {
        let cx = self.context(call, config, CancellationToken::new(), Label::default());
        let (again, plan) = self.toolbox.inspect(call, &cx).await;
        let judged = call.inspection.as_ref().ok_or("it was never looked at")?;
        if again.effects != judged.effects {
            return Err("the files changed since this call was judged; look again".into());
        }
        Ok(Arc::new(plan.contents))
    }

    /// Runs a call.
    pub(crate) async fn run(self, work: Running, cancel: CancellationToken) -> Outcome {
        let Running { permit, call, config, contents, about, label, session, birth } = work;
        let mut cx = self.context(&call, &config, cancel.clone(), label);
        cx.about = Arc::new(about);
        if birth.is_some() {
            cx.agents = Arc::new(self.brood(call.id, &config, birth));
        }
        let nest = session.map(|session| Arc::new(Nest::new(self.toolbox.clone(), session)));
        if let Some(nest) = &nest {
            cx.nested = nest.clone();
        }
        cx.contents = match contents {
            Some(contents) => contents,
            None if permit.effects().changes.is_empty() => Contents::default(),
            None => match self.plan_again(&call, &config).await {
                Ok(contents) => contents,
                Err(why) => {
                    let raw = Raw::error(format!("Not run: {why}."));
                    return self.returned(&call, &config, raw).await;
                }
            },
        };
        if call.changes_unknown()
            && let Err(why) = self.still_watched(&call).await
        {
            let raw = Raw::error(format!("Not run: {why}."));
            return self.returned(&call, &config, raw).await;
        }
        let Some(tool) = self.toolbox.get(&call.tool) else {
            let raw = Raw::error(format!("There is no tool {}.", call.tool));
            return self.returned(&call, &config, raw).await;
        };
        let own = (self.session.clone(), call.id);
        let (hub, store) = (self.hub.clone(), self.parts.store.clone());
        let person = Arc::new(Asking::new(own, self.sender.clone(), hub, store));
        cx.person = person.clone();
        let mut raw = in_time(tool.run(permit, &cx), (&call.tool, &person), &cx, &cancel).await;
        person.over().await;
        if let Some(nest) = nest {
            nest.add_to(&mut raw);
        }
        let raw = self.settled(&call, raw, Ended::Now).await;
        self.returned(&call, &config, raw).await
    }

    /// Sends a result through the filters and writes its file, where it needs one (X1).
    pub(crate) async fn returned(
        &self,
        call: &Call,
        config: &SessionConfig,
        mut raw: Raw,
    ) -> Outcome {
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let given = effects.map(|effects| label::of_answer(effects, raw.ok, &raw.blocks));
        let label = given.unwrap_or_default().joined(&raw.label);
        raw.blocks.extend(self.stop_older_jobs(&label).await.map(Block::text));
        self.after_tool(call, config, &mut raw).await;
        let clean = self.clean(call, config, raw).await;
        let notes = self.beneath(call, &clean, config.model.window).await;
        Outcome::Answer(Answer::Returned { call: call.id, clean, notes })
    }

    /// Instruction files of the folders that the call touched (M2).
    async fn beneath(&self, call: &Call, clean: &Clean, window: u64) -> Vec<Note> {
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let paths: Vec<String> = effects
            .iter()
            .flat_map(|effects| &effects.paths)
            .filter(|path| path.place == Place::Inside && path.path != ".")
            .map(|path| path.path.clone())
            .collect();
        if paths.is_empty() || !clean.is_ok() {
            return Vec::new();
        }
        let (workspace, deeper) = (self.workspace.clone(), self.deeper.clone());
        let look = move || deeper.beneath(&workspace, &paths, window);
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    async fn clean(&self, call: &Call, config: &SessionConfig, raw: Raw) -> Clean {
        let folder = tmp_folder(&self.session);
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let given = effects.map(|effects| label::of_answer(effects, raw.ok, &raw.blocks));
        let mut label = given.unwrap_or_default();
        // What a fact of the memory or a skill came from is known only now.
        label.join(&raw.label);
        let withhold = self.screen(config, &label, &raw).await;
        let tool = self.toolbox.get(&call.tool);
        let cleaned = clean(
            raw,
            &FilterContext {
                call: call.id,
                tool: tool.as_ref().map(|tool| tool.spec()),
                label: &label,
                withhold: withhold.as_deref(),
                secrets: &self.parts.secrets,
                externalize_over: config.externalize_over,
                window: config.model.window,
                externalize_to: &folder,
            },
        );
        let mut written = true;
        if let Some((path, text)) = cleaned.file.clone() {
            self.blobs.put(&self.session, Arc::from(text.as_bytes()));
            let workspace = self.workspace.clone();
            let write = move || workspace.write_own(&path, &text).is_ok();
            written = tokio::task::spawn_blocking(write).await.unwrap_or(false);
        }
        journaled(cleaned, written)
    }
}

/// What `work` gives, within the time that its call has, and as long as that is wanted. The time in
/// which a person was waited for is not the call's.
async fn in_time(
    work: impl Future<Output = Raw>,
    (tool, person): (&str, &Asking),
    cx: &ToolContext,
    cancel: &CancellationToken,
) -> Raw {
    let timeout = Duration::from_millis(cx.timeout_ms);
    let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
    let crashed = |_| Raw::error(format!("{tool} crashed. Try another way."));
    tokio::select! {
        raw = &mut work => return raw.unwrap_or_else(crashed),
        () = cancel.cancelled() => (),
        () = over(timeout, person) => (),
    }
    let cancelled = cancel.is_cancelled();
    cancel.cancel();
    let late = tokio::time::timeout(STOP_GRACE, &mut work).await;
    let why = match cancelled {
        true => "The call was cancelled".to_string(),
        false => {
            format!("The call took longer than its {} ms and was ended", timeout.as_millis())
        }
    };
    match late {
        Ok(raw) => {
            let raw = raw.unwrap_or_else(crashed);
            if !cancelled && raw.ok { Raw::error(why) } else { raw }
        }
        Err(_) => Raw::error(format!("{why}; it did not stop by itself.")),
    }
}

/// Waits until a call has used up its time.
async fn over(timeout: Duration, person: &Asking) {
    /// How long at least until it is looked at again, while the person is waited for.
    const PAUSE: Duration = Duration::from_millis(100);
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(timeout).await;
    loop {
        let left = (timeout + person.time()).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.max(PAUSE)).await;
    }
}

/// Folder for the externalised results of a session, relative to the workspace.
pub(crate) fn tmp_folder(session: &SessionId) -> String {
    format!(".weir/tmp/{session}")
}

/// What a checkpoint keeps of the paths that a call will touch.
fn entries(
    workspace: &Workspace,
    effects: &weir_core::tool::Effects,
    contents: &BTreeMap<String, Arc<[u8]>>,
) -> Result<Vec<SnapshotEntry>, String> {
    let mut before = Vec::new();
    for change in &effects.changes {
        // Deleting is the access that looks at a link itself and not at what it leads to.
        let at = workspace.resolve(&change.path, Access::Delete);
        let content = workspace.read(&at, CHECKPOINT_FILE_MAX).map_err(|e| e.to_string())?;
        if content.image() != change.before {
            return Err(format!("{} changed since this call was judged; look again", change.path));
        }
        before.push(content);
    }
    // What only moves has no new content of its own: it is found where it was.
    let moved = |change: &Change| before.iter().find(|c| c.image() == change.after).cloned();
    let entry = |(change, before): (&Change, &Content)| {
        let after = crate::recover::content_after(change, contents)
            .or_else(|| moved(change))
            .ok_or_else(|| format!("the new content of {} is missing", change.path))?;
        Ok(SnapshotEntry { path: change.path.clone(), before: before.clone(), after })
    };
    effects.changes.iter().zip(&before).map(entry).collect()
}

/// The session as `inspect_self` shows it.
pub(crate) fn about(session: &Session) -> Value {
    let Some(config) = session.config() else { return Value::Null };
    json!({
        "session": session.id(),
        "model": config.model.model.to_string(),
        "window": config.model.window,
        "profile": config.profile.name,
        "permission": config.permission,
        "workspace": config.workspace,
        "limits": config.limits,
        "tools": config.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "rules": config.rules,
        "usage": session.usage(),
        "cost_usd": session.cost_usd(),
        "iterations": session.iterations(),
        "facts": session.facts(),
        "task_list": session.plan(),
    })
}
