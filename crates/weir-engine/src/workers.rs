//! Does what a session is owed: one future per effect, answers come back as inputs.
//!
//! Nothing is decided here. Each worker stands in a module of its own, knows the context that all of
//! them share and none of the others; here one effect is led through those that it needs. A worker
//! asks the port that the effect names and ends early when its token fires.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use weir_core::event::{CondenseReason, PromptNote};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, InputId, Timestamp};
use weir_core::input::EffectAnswer;
use weir_core::model::ModelInfo;
use weir_core::prompt;
use weir_core::session::condense::{CondenseWork, KeepRequest};
use weir_core::session::{CallState, PlanWork, Session, SessionConfig};
use weir_core::tool::RawResult;

use self::model::PartialReply;
use self::spending::AskingTurn;
use crate::children::{CallSubAgents, ChildOpener, ChildTasks, SpawnParameters};
use crate::commands::{CallEndMoment, CommandWatch};
use crate::condensing::{self, RunReview};
use crate::guards::Guards;
use crate::hub::SignalKind;
use crate::knowledge::CallKnowledge;
use crate::media::DocumentConverter;
use crate::nested::StepPlanner;
use crate::planner;
use crate::ports::{
    Conversation, HookMoment, Model, NoModelPrompter, NoPerson, NoPlugins, ProgramAccess,
    ProgressSink, ToolContext,
};
use crate::recover::{self, ReconciledOutcome};
use crate::scene::{self, NestedInstructions, SceneGatherer, SceneRequest};
use crate::spending::{CappedModel, SharedCallBounds, SharedSpending};
use crate::worker_context::WorkerContext;

mod model;
mod planning;
mod running;
mod spending;

pub(crate) use model::EncodingWork;
pub(crate) use running::RunningCall;

/// New contents of files by path, made when a call was planned.
pub(crate) type PlannedContents = Arc<BTreeMap<String, Arc<[u8]>>>;

/// The workers of one session, each with what it alone keeps.
#[derive(Clone)]
pub(crate) struct Workers {
    pub(crate) context: Arc<WorkerContext>,
    /// Hooks, and the model that is asked about calls and foreign content.
    pub(crate) guards: Guards,
    /// What is kept of the workspace while commands run.
    pub(crate) commands: CommandWatch,
    /// Those who follow its children.
    pub(crate) children: ChildTasks,
    opener: Arc<dyn ChildOpener>,
    /// The model that summarises what no longer fits.
    condenser: Arc<dyn Model>,
    /// The model that fills recipes in.
    planner: Arc<dyn Model>,
    /// Attachments in the form that the model takes.
    converter: Arc<DocumentConverter>,
    /// What `SessionStart` hooks wanted the model to know: asked once in the life of the program.
    hooked: Arc<OnceCell<Vec<String>>>,
    /// Instruction files of folders below that calls touched.
    deeper: Arc<NestedInstructions>,
    /// What has come of the reply that is under way.
    partial_reply: Arc<Mutex<PartialReply>>,
    /// Caps that it has in common with other sessions.
    spending: Option<SharedSpending>,
    /// The turn for which something may be set aside under them.
    asking: Arc<Mutex<AskingTurn>>,
}

/// What a finished worker brings back.
pub(crate) enum WorkerOutcome {
    /// An answer for the session.
    Answer(EffectAnswer),
    /// The same, and the contents that the plan computed.
    Planned(EffectAnswer, CallId, PlannedContents),
    /// The conversation comes back with the answer to what was asked of it.
    Conversation(Box<dyn Conversation>, Option<EffectAnswer>),
    /// The settings of another profile, with its model where that is another.
    Switched(EffectAnswer, Option<Arc<dyn Model>>),
    /// A moment has come.
    Tick,
    /// It was cancelled.
    Nothing,
}

impl Workers {
    /// The workers of a session that speaks with `model`; helpers that nobody named are it too.
    pub(crate) fn new(
        context: Arc<WorkerContext>,
        model: &Arc<dyn Model>,
        opener: Arc<dyn ChildOpener>,
    ) -> Workers {
        let parts = &context.parts;
        let bounds = context.helper_bounds(None);
        let own_or = |named: &Option<Arc<dyn Model>>| {
            let helper = named.clone().unwrap_or_else(|| model.clone());
            CappedModel::wrap(helper, bounds.clone())
        };
        Workers {
            guards: Guards {
                context: context.clone(),
                judge: parts.judge.clone().unwrap_or_else(|| model.clone()),
            },
            commands: CommandWatch::new(context.clone()),
            children: ChildTasks::default(),
            opener,
            condenser: own_or(&parts.condenser),
            planner: own_or(&parts.planner),
            converter: Arc::new(DocumentConverter::new(context.clone())),
            hooked: Arc::default(),
            deeper: Arc::default(),
            partial_reply: Arc::default(),
            spending: bounds.spending,
            asking: Arc::default(),
            context,
        }
    }

    /// The session goes on with another model: helpers that nobody named are it too.
    pub(crate) fn use_model(&mut self, model: &Arc<dyn Model>) {
        let parts = self.context.parts.clone();
        let bound = CappedModel::wrap(model.clone(), self.context.helper_bounds(None));
        if parts.judge.is_none() {
            self.guards.judge = model.clone();
        }
        if parts.condenser.is_none() {
            self.condenser = bound.clone();
        }
        if parts.planner.is_none() {
            self.planner = bound.clone();
        }
    }

    fn tool_context(
        &self,
        call: &CallState,
        config: &Arc<SessionConfig>,
        cancel: CancellationToken,
        label: Label,
    ) -> ToolContext {
        let own = &self.context;
        let hub = own.hub.clone();
        let subject = call.id.to_string();
        let spec = own.toolbox.get(&call.tool).map(|tool| tool.spec().clone());
        let readers = own.resources.readers.as_ref();
        let reader = readers.map(|readers| readers.reader_of_call(call.id));
        let own_reader =
            || CappedModel::wrap(self.guards.judge.clone(), own.helper_bounds(Some(call.id)));
        ToolContext {
            session: own.session.clone(),
            call: call.id,
            workspace: own.workspace.clone(),
            processes: own.parts.processes.clone(),
            web: own.parts.web.clone(),
            documents: own.parts.documents.clone(),
            blobs: own.blobs.clone(),
            checkpoints: own.parts.checkpoints.clone(),
            mode: config.permission,
            cancel,
            now: scene::zoned_time(&own.scene.timezone, own.parts.clock.now()),
            timeout_ms: spec.and_then(|s| s.timeout_ms).unwrap_or(config.limits.tool_timeout_ms),
            progress: ProgressSink::new(move |text| {
                hub.send_signal(SignalKind::Output, &subject, text)
            }),
            foreign: call.is_foreign(),
            knows: Arc::new(CallKnowledge {
                context: own.clone(),
                call: call.id,
                config: config.clone(),
                label,
                reader: reader.unwrap_or_else(own_reader),
            }),
            plugins: own.scene.skills.plugins.clone().unwrap_or_else(|| Arc::new(NoPlugins)),
            nested: Arc::new(StepPlanner { toolbox: own.toolbox.clone() }),
            program: ProgramAccess::none(),
            person: Arc::new(NoPerson),
            model_prompter: Arc::new(NoModelPrompter),
            bounds: Arc::new(SharedCallBounds(own.helper_bounds(Some(call.id)))),
            servers: own.servers.clone(),
            agents: Arc::new(self.sub_agents_of_call(call.id, config, None)),
            about: Arc::new(Value::Null),
            contents: PlannedContents::default(),
        }
    }

    /// Its agents, as one call sees them.
    fn sub_agents_of_call(
        &self,
        call: CallId,
        config: &Arc<SessionConfig>,
        spawn: Option<SpawnParameters>,
    ) -> CallSubAgents {
        CallSubAgents {
            context: self.context.clone(),
            opener: self.opener.clone(),
            children: self.children.clone(),
            config: config.clone(),
            call,
            spawn: spawn.map(Arc::new),
        }
    }

    /// The notes of this run.
    pub(crate) async fn gather_notes(
        self,
        config: Arc<SessionConfig>,
        glance: SceneRequest,
        input: InputId,
    ) -> WorkerOutcome {
        let hooked = self.hooked.clone();
        let told = hooked.get_or_init(|| self.guards.session_started(&config)).await.join("\n");
        let lookout = SceneGatherer {
            parts: self.context.parts.clone(),
            options: self.context.scene.clone(),
            workspace: self.context.workspace.clone(),
            deeper: self.deeper.clone(),
        };
        let scene = lookout.gather_scene(&config, glance).await;
        let mut label = Label::default();
        scene.active.iter().for_each(|skill| label.join(&skill.label));
        scene.memory.iter().for_each(|fact| label.join(&fact.fact.label));
        scene.recipes.iter().for_each(|found| label.join(&found.recipe.label));
        let mut notes = prompt::prompt_notes(&scene);
        if !told.is_empty() {
            notes.push(PromptNote { section: "hooks".into(), text: told });
        }
        let recipe = scene.recipes.into_iter().next().map(Box::new);
        WorkerOutcome::Answer(EffectAnswer::Seen {
            notes,
            skills: scene.active,
            label,
            input,
            recipe,
        })
    }

    /// The model that summarises.
    pub(crate) fn condenser_model(&self) -> Arc<ModelInfo> {
        self.condenser.info()
    }

    /// Tells the hooks, and gets the summary that is needed, if one is.
    pub(crate) async fn condense(
        self,
        work: CondenseWork,
        config: Arc<SessionConfig>,
        label: Label,
    ) -> WorkerOutcome {
        let trigger = match work.reason {
            CondenseReason::Asked => "manual",
            CondenseReason::Threshold | CondenseReason::Overflow => "auto",
        };
        let wanted = work.keep.as_ref().map_or("", KeepRequest::as_str);
        let told = json!({ "trigger": trigger, "custom_instructions": wanted });
        self.guards.notify_hooks(HookMoment::PreCompact, &config, told).await;
        let model = self.condenser.as_ref();
        let answer = condensing::summarise_context(&self.context, model, work, &config, &label);
        WorkerOutcome::Answer(answer.await)
    }

    /// Looks a finished run through for facts worth keeping.
    pub(crate) async fn remember_run(
        self,
        review: RunReview,
        config: Arc<SessionConfig>,
    ) -> WorkerOutcome {
        let model = self.condenser.as_ref();
        WorkerOutcome::Answer(condensing::remember_run(&self.context, model, review, &config).await)
    }

    /// The calls that the planner makes of a recipe.
    pub(crate) async fn plan_recipe(
        self,
        work: PlanWork,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        tokio::select! {
            biased;
            () = cancel.cancelled() => WorkerOutcome::Nothing,
            answer = planner::plan_recipe(&self.context, self.planner.as_ref(), work) => {
                WorkerOutcome::Answer(answer)
            }
        }
    }

    /// Finds out what became of a call that had started when the program ended (D4).
    pub(crate) async fn reconcile(
        self,
        call: CallState,
        config: Arc<SessionConfig>,
    ) -> WorkerOutcome {
        let id = call.id;
        match recover::look_after_crash(&self.context, &call).await {
            ReconciledOutcome::NotRun(evidence) => {
                WorkerOutcome::Answer(EffectAnswer::NotRun { call: id, evidence })
            }
            ReconciledOutcome::Lost(reason) => {
                WorkerOutcome::Answer(EffectAnswer::Lost { call: id, reason })
            }
            ReconciledOutcome::Result(raw) => self.returned(&call, &config, raw).await,
            ReconciledOutcome::Ended { raw, after_ms } => {
                let raw = self
                    .commands
                    .settle_call_changes(&call, raw, CallEndMoment::After(after_ms))
                    .await;
                self.returned(&call, &config, raw).await
            }
            ReconciledOutcome::Unwatched(reason) => {
                self.commands
                    .settle_call_changes(&call, RawResult::error(&reason), CallEndMoment::Now)
                    .await;
                WorkerOutcome::Answer(EffectAnswer::Lost { call: id, reason })
            }
        }
    }

    /// A call that was to start an agent, in a run that is being ended. What a program that is gone
    /// had started is ended too, and counted.
    pub(crate) async fn agent_never_began(
        self,
        call: CallState,
        config: Arc<SessionConfig>,
        spawn: SpawnParameters,
    ) -> WorkerOutcome {
        let raw = self.sub_agents_of_call(call.id, &config, Some(spawn)).never_began(&call).await;
        self.returned(&call, &config, raw).await
    }

    /// A call that was marked as started and had not begun when the run was cancelled.
    pub(crate) async fn call_never_began(
        self,
        call: CallState,
        config: Arc<SessionConfig>,
    ) -> WorkerOutcome {
        let raw = RawResult::error("Not run: the run was ended first.");
        self.returned(&call, &config, raw).await
    }

    /// Holds the final answer against the schema, then asks the `Stop` hooks.
    pub(crate) async fn verify(self, config: Arc<SessionConfig>, text: String) -> WorkerOutcome {
        let result = match &config.output_schema {
            Some(schema) => crate::output::verify_output(&text, schema).map(Some),
            None => Ok(None),
        };
        let kept_going = match config.guards.stop_hooks && result.is_ok() {
            true => self.guards.may_stop(&config, &text).await,
            false => None,
        };
        WorkerOutcome::Answer(EffectAnswer::Verified { result, kept_going })
    }

    /// Makes another model ready, with the settings that follow from it (V8).
    pub(crate) async fn ready_model(
        self,
        config: Arc<SessionConfig>,
        model: String,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        let asked = self.context.profiles.model_settings(&config, &model);
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => return WorkerOutcome::Nothing,
            ready = asked => ready,
        };
        let ready = ready.and_then(|to| match self.unpriced_refusal(&to.config.model) {
            Some(why) => Err(why),
            None => Ok(to),
        });
        let (config, speaks) = match ready {
            Ok(to) => (Ok(Arc::new(to.config)), to.model),
            Err(why) => (Err(why), None),
        };
        WorkerOutcome::Switched(EffectAnswer::ModelReady { model, config }, speaks)
    }

    /// Waits for a moment of the session.
    pub(crate) async fn wait_until(
        self,
        until: Timestamp,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        tokio::select! {
            () = cancel.cancelled() => WorkerOutcome::Nothing,
            () = self.context.time.sleep_until(until) => WorkerOutcome::Tick,
        }
    }
}

/// The session as `inspect_self` shows it.
pub(crate) fn about_session(session: &Session) -> Value {
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
        "facts": session.fact_count(),
        "task_list": session.task_list(),
    })
}
