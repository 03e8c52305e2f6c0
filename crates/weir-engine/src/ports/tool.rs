//! Tools: what the model can use, and what a tool may use. Not here: any tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::governance::Permit;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId};
use weir_core::profile::PermissionMode;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolSpec};

use super::{
    Blobs, CallBounds, Checkpoints, DocumentReaders, Knowledge, McpServers, ModelPrompter,
    PersonPrompter, Plugins, Processes, ProgramAccess, SubAgents, Web,
};
use crate::workspace::Workspace;

/// Something the model can use. One file in `weir-tools` each (T1).
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name, description, schema, group. Always the same value.
    fn spec(&self) -> &ToolSpec;

    /// Says what a call with this input would do, without doing it. `input` has passed the schema.
    /// May read the workspace through `cx`; must not change anything. A plan that fails may quote the
    /// paths in its effects, whose label its words then have (Z1); what else it quotes must stand in
    /// [`Effects::gives`].
    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan;

    /// Whose words its description and code are: clean, unless something foreign went into it.
    fn label(&self) -> Label {
        Label::default()
    }

    /// Whether it is declared to send, commit, change rights, or destroy what no undo brings back: where one is,
    /// foreign words are kept beside the context (U6).
    fn acts_on_others(&self) -> bool {
        false
    }

    /// Whether it works by other tools, through [`ToolContext::nested`].
    fn has_nested_calls(&self) -> bool {
        false
    }

    /// Whether the server behind it may ask the model while its call runs, through
    /// [`ToolContext::model_prompter`].
    fn asks_model(&self) -> bool {
        false
    }

    /// Whether it can be listed, and a model be told of it. What is not stands for something that nobody calls by
    /// its name: a server's questions to the model.
    fn is_offered(&self) -> bool {
        true
    }

    /// Does it. The permit is the only way in (G1). Must do no more than `permit.effects()`.
    /// Must return soon after `cx.cancel` fires. Bounded memory whatever the input (T7).
    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult;
}

/// What a tool says about a call before it runs.
#[derive(Debug, Clone)]
pub struct CallPlan {
    /// The effects that the call would have. Paths come from [`Workspace::resolve`], never from
    /// hand.
    pub effects: Effects,
    /// How it is recovered.
    pub class: EffectClass,
    /// One sentence for a person.
    pub summary: String,
    /// Unified diff of file changes.
    pub diff: Option<String>,
    /// The tool wants a person to confirm: why.
    pub confirm: Option<String>,
    /// It already knows that it will fail: the message for the model (what, why, what to try). It
    /// goes through the filters of results, and is labelled as a reading of the paths in `effects`.
    pub fails: Option<String>,
    /// New content of the files in `effects.changes`, for checkpoints and for
    /// `Workspace::apply`. Same paths as `effects.changes`; kept in memory, never journaled.
    pub contents: BTreeMap<String, Arc<[u8]>>,
}

impl CallPlan {
    /// A plan with these effects and nothing else.
    pub fn new(class: EffectClass, effects: Effects, summary: impl Into<String>) -> CallPlan {
        CallPlan {
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
    pub fn with_failure(mut self, message: impl Into<String>) -> CallPlan {
        self.fails = Some(message.into());
        self
    }
}

/// What a tool may use. Built per call; everything in it is bounded to the session's rights.
#[derive(Clone)]
pub struct ToolContext {
    /// Id of the session.
    pub session: SessionId,
    /// The call. In [`Tool::plan_call`] too.
    pub call: CallId,
    /// Files, guarded.
    pub workspace: Arc<Workspace>,
    /// Commands, supervised.
    pub processes: Arc<dyn Processes>,
    /// The network, guarded (Z5).
    pub web: Arc<dyn Web>,
    /// Readers of images and PDFs (X5).
    pub documents: Arc<dyn DocumentReaders>,
    /// Bytes kept beside the journal.
    pub blobs: Arc<dyn Blobs>,
    /// Files as they were.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// The session's permission mode: in `plan` a command is planned without any writable place.
    pub mode: PermissionMode,
    /// Fires when the call must end.
    pub cancel: CancellationToken,
    /// The present moment, in the zone that the person set.
    pub now: jiff::Zoned,
    /// Wall time that the call has, in milliseconds.
    pub timeout_ms: u64,
    /// Shows progress: becomes `call.output`.
    pub progress: ProgressSink,
    /// Foreign words stand in the context (Z1): a command then gets what later runs or instructs
    /// read-only. False while planning.
    pub foreign: bool,
    /// The session's past, memory, skills, and what is not loaded.
    pub knows: Arc<dyn Knowledge>,
    /// Plugins, and commands of the configuration.
    pub plugins: Arc<dyn Plugins>,
    /// Other tools, for a tool that [`Tool::has_nested_calls`]. Refuses everything while planning.
    pub nested: Arc<dyn NestedTools>,
    /// Steps, for a call of [`EffectClass::Program`] that runs. None for any other, and while planning.
    pub program: ProgramAccess,
    /// Sub-agents.
    pub agents: Arc<dyn SubAgents>,
    /// The person, for what a foreign server wants to know while its call runs. Nobody while
    /// planning.
    pub person: Arc<dyn PersonPrompter>,
    /// The model, for what a foreign server asks it while its call runs. Nobody is asked while planning.
    pub model_prompter: Arc<dyn ModelPrompter>,
    /// Bounds of money and tokens, for what a model is asked while its call runs.
    pub bounds: Arc<dyn CallBounds>,
    /// Foreign servers, to look at what they offer.
    pub servers: Arc<dyn McpServers>,
    /// The session as `inspect_self` shows it: model, profile, limits, usage, tools, rules.
    pub about: Arc<Value>,
    /// The plan made when the call was judged: its `contents` are what `Workspace::apply` needs.
    /// Empty while planning.
    pub contents: Arc<BTreeMap<String, Arc<[u8]>>>,
}

/// Other tools, as steps of a call that runs.
#[async_trait]
pub trait NestedTools: Send + Sync {
    /// Looks at a call of `tool`, lets the gates judge it, and runs it. Its effects must lie within
    /// those of `outer`; that it was made stands in the journal with the outer call's end. What is
    /// refused comes back as an error like any other.
    async fn call_tool(
        &self,
        outer: &Permit,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> RawResult;

    /// What a call of `tool` would touch, for the plan of a call that will make it as a step.
    ///
    /// # Errors
    /// There is no such tool, or the arguments are wrong: a sentence for the model.
    async fn plan_nested_call(
        &self,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> Result<CallPlan, String> {
        let _ = (input, cx);
        Err(format!("{tool} cannot be used from here"))
    }
}

/// No other tool can be used.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNested;

#[async_trait]
impl NestedTools for NoNested {
    async fn call_tool(&self, _: &Permit, tool: &str, _: Value, _: &ToolContext) -> RawResult {
        RawResult::error(format!("{tool} cannot be used from here."))
    }
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
