//! Sub-agents of one session (M6): what one would be, starting it or taking it up again, its answer.
//!
//! Authority and budget are computed by the core; here a session is opened with them. Not here:
//! following it while it runs (`follow`).

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use weir_core::event::{AgentNews, AgentSpawned, InputAddition};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, RunId, SessionId};
use weir_core::input::{PersonCommand, PersonMessage, SessionCommand};
use weir_core::message::MessageBlock;
use weir_core::prompt::PromptScene;
use weir_core::session::child::{self, BudgetShare};
use weir_core::session::{CallState, SessionConfig};
use weir_core::tool::{RawResult, SpawnEffect};

use crate::error::EngineError;
use crate::journal::{Loaded, load};
use crate::missing_model::MissingModel;
use crate::ports::{
    AgentTask, Divergence, HookMoment, Model, ProfileSettings, ProgressSink, SubAgents, ToolContext,
};
use crate::scene::SceneOptions;
use crate::session_handle::SessionHandle;
use crate::session_options::{SessionOptions, SessionResources};
use crate::skills::SkillPlaces;
use crate::worker_context::WorkerContext;
use crate::workspace::Workspace;

mod follow;
mod registry;
mod worktree;

pub(crate) use registry::{ChildTasks, ChildTerms};

/// Said to a sub-agent before its task, which is not a person's.
const OPENING: &str = "You work for another agent. Its task for you follows. Do it with the tools \
                       that you have; nobody can be asked back. Your last answer goes to that \
                       agent: put all of the result into it.";

/// What starting an agent needs beside the settings of its parent.
pub(crate) struct SpawnParameters {
    /// In which run of the parent.
    pub(crate) run: RunId,
    /// The part of the budget that the sub-agent may use up.
    pub(crate) share: BudgetShare,
    /// That it was started before, by a program that is gone.
    pub(crate) spawned: Option<AgentSpawned>,
    /// The model of the parent.
    pub(crate) model: Arc<dyn Model>,
    /// What the parent had read when it asked for it.
    pub(crate) label: Label,
}

/// Opens the sessions of sub-agents: the engine, which stands above the workers of any session.
#[async_trait]
pub(crate) trait ChildOpener: Send + Sync {
    /// Begins the session of a sub-agent that `parent` starts. Called once in the life of a child.
    ///
    /// # Errors
    /// The store refuses, or a session of this name exists.
    async fn open_child(
        &self,
        id: SessionId,
        parent: &SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError>;
    /// Takes up the session of one that was begun by a program that is gone.
    ///
    /// # Errors
    /// The store refuses, another process has it, or its journal is damaged.
    async fn resume_child(
        &self,
        id: SessionId,
        options: SessionOptions,
    ) -> Result<SessionHandle, EngineError>;
}

/// The agents of one session, as one call of it sees them.
pub(crate) struct CallSubAgents {
    pub(crate) context: Arc<WorkerContext>,
    pub(crate) opener: Arc<dyn ChildOpener>,
    /// Those who follow the agents of the session.
    pub(crate) children: ChildTasks,
    pub(crate) config: Arc<SessionConfig>,
    pub(crate) call: CallId,
    /// None while the call is looked at.
    pub(crate) spawn: Option<Arc<SpawnParameters>>,
}

/// An agent that is about to be followed.
struct OpenedAgent {
    agent: SessionId,
    config: Arc<SessionConfig>,
    worktree: bool,
    /// None: it came to rest before.
    handle: Option<SessionHandle>,
}

impl CallSubAgents {
    /// The settings of a child with this profile, and its model where that is another.
    fn child_settings(
        &self,
        profile: Option<&str>,
        share: &BudgetShare,
    ) -> Result<ProfileSettings, String> {
        let name = profile.unwrap_or(&self.config.profile.name);
        let own = self.context.profiles.child_settings(&self.config, name)?;
        let mut config = child::child_config(&self.config, &own.config, share);
        if config.depth > self.config.limits.max_subtask_depth {
            return Err(format!(
                "no agent may stand deeper than {} (max_subtask_depth); do it yourself",
                self.config.limits.max_subtask_depth
            ));
        }
        config.guards.stop_hooks = self.context.parts.hooks.has_listener(HookMoment::SubagentStop);
        Ok(ProfileSettings { config, ..own })
    }

    /// Opens the child or takes it up.
    async fn open_child(
        &self,
        task: &AgentTask,
        spawn: &SpawnParameters,
    ) -> Result<OpenedAgent, String> {
        let agent = child::child_session_id(&self.context.session, self.call);
        let failed = |error: EngineError| format!("The agent could not be started: {error}.");
        let known = self.context.parts.store.session_meta(&agent).await;
        let known = known.map_err(|error| failed(error.into()))?;
        let kept = match known.filter(|meta| meta.facts > 0) {
            Some(_) => {
                let loaded =
                    load(self.context.parts.store.as_ref(), &agent).await.map_err(failed)?;
                Some(loaded)
            }
            None => None,
        };
        let (share, worktree) = match &spawn.spawned {
            Some(spawned) => (spawned.share, spawned.worktree.is_some()),
            None => (spawn.share, task.worktree),
        };
        let ProfileSettings { mut config, model, .. } =
            self.child_settings(task.profile.as_deref(), &share)?;
        if let Some(Loaded { session, .. }) = &kept
            && let Some(own) = session.config()
        {
            // What it was started with stays; whether anybody can be asked is as it is now.
            config = SessionConfig { attended: self.config.attended, ..own.as_ref().clone() };
        }
        let workspace = match worktree {
            true => self.own_folder(&agent).await?,
            false => self.context.workspace.clone(),
        };
        config.workspace = workspace.root().display().to_string();
        if worktree {
            // Its copy is of the workspace alone: what was added to that is not its own to change.
            config.rules = config.rules.without_added_folders();
        }
        if spawn.spawned.is_none() {
            let spawned = self.spawn_fact(&agent, task, spawn, &config);
            let known = tell_parent(&self.context, AgentNews::Spawned(Box::new(spawned))).await;
            known.map_err(failed)?;
        }
        let own = Arc::new(config.clone());
        let rests = |loaded: &Loaded| {
            let session = &loaded.session;
            session.run().is_none()
                && session.queued_inputs().is_empty()
                && session.last_run_finished().is_some()
        };
        if kept.as_ref().is_some_and(rests) {
            return Ok(OpenedAgent { agent, config: own, worktree, handle: None });
        }
        let said = kept.as_ref().is_some_and(|loaded| loaded.session.input_count() > 0);
        let usual = model.as_ref().unwrap_or(&spawn.model);
        let model = match &kept {
            Some(_) => self.kept_model(&config, usual).await,
            None => usual.clone(),
        };
        let options = self.child_session_options(config, workspace, model);
        let opened = match kept {
            Some(_) => self.opener.resume_child(agent.clone(), options).await,
            None => self.opener.open_child(agent.clone(), &self.context.session, options).await,
        };
        let handle = opened.map_err(failed)?;
        if !said && let Err(error) = handle.send_command(said_task(task, &self.config, spawn)).await
        {
            let _ = handle.close().await;
            return Err(failed(error));
        }
        Ok(OpenedAgent { agent, config: own, worktree, handle: Some(handle) })
    }

    /// The model that a child speaks with that is taken up with these settings. It may have gone on with another
    /// one than `usual`, its profile's or its parent's present one (V8): what it says is for that model, and
    /// nobody else is to read it or be paid for it. Where that cannot be had, its run passes on from it.
    async fn kept_model(&self, config: &SessionConfig, usual: &Arc<dyn Model>) -> Arc<dyn Model> {
        if usual.info().model == config.model.model {
            return usual.clone();
        }
        let named = config.routing.present();
        let named = named.map_or_else(|| config.model.model.to_string(), String::from);
        let why = match self.context.profiles.model_settings(config, &named).await {
            Ok(ProfileSettings { model: Some(model), .. }) => return model,
            Ok(_) => "it cannot be made ready".to_owned(),
            Err(why) => why,
        };
        let why = format!("The agent had gone on with {named}, and that cannot be had: {why}");
        Arc::new(MissingModel::new(&config.model, &why))
    }

    fn spawn_fact(
        &self,
        agent: &SessionId,
        task: &AgentTask,
        spawn: &SpawnParameters,
        config: &SessionConfig,
    ) -> AgentSpawned {
        AgentSpawned {
            agent: agent.clone(),
            call: self.call,
            run: spawn.run,
            profile: config.profile.name.clone(),
            task: task.task.clone(),
            depth: config.depth,
            permission: config.permission,
            model: config.model.model.to_string(),
            tools: config.tools.iter().map(|tool| tool.name.clone()).collect(),
            share: spawn.share,
            writes: child::may_write(config) && !task.worktree,
            worktree: task.worktree.then(|| config.workspace.clone()),
        }
    }

    fn child_session_options(
        &self,
        config: SessionConfig,
        workspace: Arc<Workspace>,
        model: Arc<dyn Model>,
    ) -> SessionOptions {
        let context = &self.context;
        SessionOptions {
            workspace,
            model,
            scene: SceneOptions {
                base: PromptScene { child: true, ..context.scene.base.clone() },
                skills: SkillPlaces {
                    own: Vec::new(),
                    bundled: false,
                    ..context.scene.skills.clone()
                },
                ..context.scene.as_ref().clone()
            },
            profiles: context.profiles.clone(),
            resources: SessionResources {
                toolbox: Some(context.toolbox.clone()),
                // They know the parent's calls, which have the same numbers.
                readers: None,
                ..context.resources.clone()
            },
            config,
        }
    }
}

/// The input by which a child hears its task. The words are the parent's model's: they have the
/// label of what it had read, and nothing in them counts as said by a person.
fn said_task(task: &AgentTask, parent: &SessionConfig, spawn: &SpawnParameters) -> SessionCommand {
    let source = format!("the agent {}", parent.profile.name);
    let text = format!("Task from {source}:\n\n{}", task.task);
    let added = vec![InputAddition { source, text, label: spawn.label.clone() }];
    let content = vec![MessageBlock::text(OPENING)];
    let message = PersonMessage { content, added, ..PersonMessage::default() };
    PersonCommand::from(message).sent_by("agent")
}

/// Brings news of a child into the journal of its parent. Durable when it returns; what is known
/// already changes nothing.
async fn tell_parent(parent: &WorkerContext, news: AgentNews) -> Result<(), EngineError> {
    match parent.sender.send_command(SessionCommand::Agent(news)).await {
        Err(EngineError::Stopped) => Err(EngineError::Stopped),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[async_trait]
impl SubAgents for CallSubAgents {
    async fn plan_spawn(&self, task: &AgentTask) -> Result<SpawnEffect, String> {
        let ProfileSettings { config, .. } =
            self.child_settings(task.profile.as_deref(), &BudgetShare::default())?;
        if task.worktree {
            self.context.resources.worktrees.as_ref().ok_or(worktree::NO_WORKTREES)?;
        }
        Ok(SpawnEffect {
            writes: child::may_write(&config),
            profile: config.profile.name,
            worktree: task.worktree,
        })
    }

    async fn run(&self, task: AgentTask, cx: &ToolContext) -> RawResult {
        let Some(spawn) = self.spawn.clone() else {
            return RawResult::error("Not started: the call is only being looked at.");
        };
        if cx.cancel.is_cancelled() {
            return RawResult::error("Not started: the call was cancelled.");
        }
        let started = match self.open_child(&task, &spawn).await {
            Ok(started) => started,
            Err(why) => return RawResult::error(why),
        };
        // It is followed to its end also when nobody waits for this call any more.
        let (done, answer) = oneshot::channel();
        let follow = self.agent_follower(&started, cx.progress.clone(), cx.cancel.clone());
        let handle = started.handle;
        self.children.track_task(tokio::spawn(async move {
            let raw = follow.until_its_end(handle).await;
            let _ = done.send(raw);
        }));
        let lost = || RawResult::error("The agent went down. Try again, or do it yourself.");
        answer.await.unwrap_or_else(|_| lost())
    }

    async fn worktree_changes(&self, agent: &str) -> Result<Vec<Divergence>, String> {
        self.left_by(agent).await
    }

    async fn worktree_label(&self, agent: &str) -> Result<Label, String> {
        self.label_left_by(agent).await
    }

    async fn discard_worktree(&self, agent: &str) {
        self.take_away(agent).await;
    }
}

impl CallSubAgents {
    /// A call that was to start an agent, in a run that is being ended. What a program that is gone
    /// had started is ended too, and counted.
    pub(crate) async fn never_began(&self, call: &CallState) -> RawResult {
        let profile = call.spawn_effect().map(|spawn| spawn.profile.clone());
        match self.end_earlier(profile).await {
            Ok(raw) => raw,
            Err(why) => RawResult::error(why),
        }
    }

    /// Ends the agent that an earlier program had started for this call.
    async fn end_earlier(&self, profile: Option<String>) -> Result<RawResult, String> {
        let never = || "Not run: the run was ended first.".to_string();
        let spawn = self.spawn.clone().ok_or_else(never)?;
        let spawned = spawn.spawned.as_ref().ok_or_else(never)?;
        let (task, worktree) = (spawned.task.clone(), spawned.worktree.is_some());
        let task = AgentTask { task, profile, worktree };
        let started = self.open_child(&task, &spawn).await?;
        let cancel = CancellationToken::new();
        cancel.cancel();
        let follow = self.agent_follower(&started, ProgressSink::none(), cancel);
        Ok(follow.until_its_end(started.handle).await)
    }

    fn agent_follower(
        &self,
        started: &OpenedAgent,
        progress: ProgressSink,
        cancel: CancellationToken,
    ) -> follow::AgentFollower {
        follow::AgentFollower {
            context: self.context.clone(),
            children: self.children.clone(),
            call: self.call,
            agent: started.agent.clone(),
            config: started.config.clone(),
            worktree: started.worktree,
            progress,
            cancel,
            stop: self.children.stop_token(),
        }
    }
}
