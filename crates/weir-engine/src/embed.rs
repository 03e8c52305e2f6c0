//! An agent in a program of one's own (F5): [`AgentBuilder`] puts the parts of an engine and the
//! settings of one session together, with defaults that let nothing happen unasked. Not here: any
//! model, store or tool; and nothing that `EngineParts` and `SessionOptions` could not say.
//!
//! Without more being said, an agent reads in its folder and nothing else: what would change a file,
//! run a command or reach a host asks, and where no person attends an ask is a denial. There is no
//! network, no process, no checkpoint, no hook, no memory of other sessions.
//!
//! ```
//! use std::sync::Arc;
//!
//! use weir_engine::embed::AgentBuilder;
//! use weir_scripted_model::ScriptedModel;
//! use weir_store::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let model = Arc::new(ScriptedModel::from_text("says: Hello.\n")?);
//! let store = Arc::new(MemoryStore::new());
//! let agent = AgentBuilder::new(model, store, folder.path()).open_session().await?;
//! let finished = agent.run_task("Say hello.").await?;
//! assert_eq!(finished.text, "Hello.");
//! agent.close_session().await?;
//! # Ok(())
//! # }
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use weir_core::governance::rules::{RuleAction, RuleContext, RuleError, RuleOrigin, RuleSet};
use weir_core::ids::SessionId;
use weir_core::profile::{Limits, PermissionMode, Profile, built_in_profiles};
use weir_core::prompt::{self, PromptScene};
use weir_core::session::{MemoryPolicy, RecipePolicy, SessionConfig};
use weir_core::tool::defer::{self, ToolLoading};

use crate::blocking::run_blocking;
use crate::engine::{
    Engine, EngineError, EngineParts, SNAPSHOT_EVERY, SessionOptions, SessionResources,
};
use crate::lease_owner::this_process;
use crate::ports::{
    Checkpoints, Model, NoDocuments, NoHooks, NoProcesses, NoProfiles, NoWeb, OwnGate, Store, Tool,
};
use crate::scene::SceneOptions;
use crate::system_clock::SystemClock;
use crate::toolbox::{DuplicateTool, Toolbox};
use crate::workspace::{Workspace, WorkspaceOptions};

mod agent;
mod no_checkpoints;
mod store_layer;

pub use agent::EmbeddedAgent;
pub use no_checkpoints::NoCheckpoints;
pub use store_layer::StoreLayer;

/// On whose behalf an agent acts that no person attends.
const NOBODY: &str = "program";
/// Where a rule of [`AgentBuilder::with_rule`] stands, in words.
const RULE_ORIGIN: &str = "this program";

/// Why an agent could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The folder cannot be used: a sentence that names it and says why.
    #[error("{0}")]
    Workspace(String),
    /// Two tools have one name.
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
    /// A rule is none, or can never match.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The store refused, or the session exists, or it does not.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A change of the settings, made last.
type SettingsChange = Box<dyn FnOnce(&mut SessionConfig) + Send>;

/// What an agent is made of. Everything but a model, a store and a folder has a default, and each
/// default is the narrow one.
#[must_use = "an agent is there once `open_session` was called"]
pub struct AgentBuilder {
    parts: EngineParts,
    model: Arc<dyn Model>,
    root: PathBuf,
    own_folders: Vec<PathBuf>,
    tools: Vec<Arc<dyn Tool>>,
    profile: Option<Profile>,
    permission: Option<PermissionMode>,
    rules: Vec<(RuleAction, String)>,
    instructions: Option<String>,
    attended: bool,
    changes: Vec<SettingsChange>,
}

impl AgentBuilder {
    /// An agent that speaks with `model`, journals to `store`, and has the existing folder `workspace`
    /// to work in.
    pub fn new(
        model: Arc<dyn Model>,
        store: Arc<dyn Store>,
        workspace: impl Into<PathBuf>,
    ) -> AgentBuilder {
        let toolbox = Toolbox::new(Vec::new()).expect("an empty box has no two tools of one name");
        let parts = EngineParts {
            store,
            checkpoints: Arc::new(NoCheckpoints),
            clock: Arc::new(SystemClock::default()),
            toolbox: Arc::new(toolbox),
            processes: Arc::new(NoProcesses),
            web: Arc::new(NoWeb),
            documents: Arc::new(NoDocuments),
            hooks: Arc::new(NoHooks),
            gates: Vec::new(),
            judge: None,
            condenser: None,
            planner: None,
            flagship: None,
            owner: this_process("embedded"),
            principal: NOBODY.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            secrets: Vec::new(),
            snapshot_every: SNAPSHOT_EVERY,
            observers: Arc::default(),
        };
        AgentBuilder {
            parts,
            model,
            root: workspace.into(),
            own_folders: Vec::new(),
            tools: Vec::new(),
            profile: None,
            permission: None,
            rules: Vec::new(),
            instructions: None,
            attended: false,
            changes: Vec::new(),
        }
    }

    /// Gives it a tool.
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> AgentBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Gives it tools, such as the built-in ones of `weir-tools`.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> AgentBuilder {
        self.tools.extend(tools);
        self
    }

    /// Adds a gate, which can only narrow what the others let pass.
    pub fn with_gate(mut self, gate: impl OwnGate + 'static) -> AgentBuilder {
        self.parts.gates.push(Arc::new(gate));
        self
    }

    /// Files as they were before a call. Without them no call changes a file: nothing could be taken
    /// back.
    pub fn with_checkpoints(mut self, checkpoints: Arc<dyn Checkpoints>) -> AgentBuilder {
        self.parts.checkpoints = checkpoints;
        self
    }

    /// A person of this name attends: what asks waits for their answer, which whoever shows the
    /// session gives through [`EmbeddedAgent::session`]. Without one, what asks is denied.
    pub fn with_person(mut self, name: impl Into<String>) -> AgentBuilder {
        self.parts.principal = name.into();
        self.attended = true;
        self
    }

    /// Which tools it sees and what it is told to be; the profile `agent` where this is not said.
    pub fn with_profile(mut self, profile: Profile) -> AgentBuilder {
        self.profile = Some(profile);
        self
    }

    /// How much passes without asking; what the profile says, or [`PermissionMode::Ask`], where this
    /// is not said.
    pub fn with_permission(mut self, mode: PermissionMode) -> AgentBuilder {
        self.permission = Some(mode);
        self
    }

    /// A rule as people write it: `Edit(notes/**)`. An error in it is told when the agent is opened.
    pub fn with_rule(mut self, action: RuleAction, rule: impl Into<String>) -> AgentBuilder {
        self.rules.push((action, rule.into()));
        self
    }

    /// Words of this program that stand in the system prompt.
    pub fn with_instructions(mut self, text: impl Into<String>) -> AgentBuilder {
        self.instructions = Some(text.into());
        self
    }

    /// A folder of this program's own (its store, its keys) that may lie in the workspace: no tool
    /// sees it or writes to it.
    pub fn with_own_folder(mut self, folder: impl Into<PathBuf>) -> AgentBuilder {
        self.own_folders.push(folder.into());
        self
    }

    /// Changes the parts of the engine: processes, the network, hooks, helper models, secrets. What
    /// stands in `toolbox` gives way to the tools that were given here.
    pub fn with_parts(mut self, change: impl FnOnce(&mut EngineParts)) -> AgentBuilder {
        change(&mut self.parts);
        self
    }

    /// Changes the settings of the session, after everything else was put into them: limits, guards,
    /// a schema for the answer.
    pub fn with_config(
        mut self,
        change: impl FnOnce(&mut SessionConfig) + Send + 'static,
    ) -> AgentBuilder {
        self.changes.push(Box::new(change));
        self
    }

    /// Begins a session with a name of its own.
    ///
    /// # Errors
    /// The folder, a tool's name or a rule cannot be used, or the store refuses.
    pub async fn open_session(self) -> Result<EmbeddedAgent, EmbedError> {
        let clock = &self.parts.clock;
        let name = format!("{:016x}{:016x}", clock.now().0, clock.random_number());
        self.open_named_session(SessionId::new(name)).await
    }

    /// Begins a session of this name.
    ///
    /// # Errors
    /// As [`AgentBuilder::open_session`]; there is a session of this name.
    pub async fn open_named_session(self, id: SessionId) -> Result<EmbeddedAgent, EmbedError> {
        let by = self.parts.principal.clone();
        let settled = self.settle_parts().await?;
        let session = settled.engine.open(id, settled.options).await?;
        Ok(EmbeddedAgent::new(session, by))
    }

    /// Takes a session of this name up from its journal, where it was left or killed. A run that was
    /// under way goes on at once.
    ///
    /// # Errors
    /// As [`AgentBuilder::open_session`]; there is no such session, or another process has it.
    pub async fn resume_session(self, id: SessionId) -> Result<EmbeddedAgent, EmbedError> {
        let by = self.parts.principal.clone();
        let settled = self.settle_parts().await?;
        let session = settled.engine.resume(id, settled.options).await?;
        Ok(EmbeddedAgent::new(session, by))
    }

    async fn settle_parts(mut self) -> Result<SettledAgent, EmbedError> {
        self.parts.toolbox = Arc::new(Toolbox::new(std::mem::take(&mut self.tools))?);
        let workspace = self.open_workspace().await?;
        let profile = self.profile.take().unwrap_or_else(agent_profile);
        let permission = self.permission.or(profile.permission).unwrap_or_default();
        let info = self.model.info();
        let ToolLoading { loaded: tools, deferred } = match info.takes_tools() {
            true => {
                let writes = permission != PermissionMode::Plan;
                let visible = self.parts.toolbox.visible_specs(&profile, writes);
                defer::split_loading(visible, info.window)
            }
            false => ToolLoading::default(),
        };
        let base = PromptScene {
            profile: Some(profile.clone()),
            tools: tools.clone(),
            deferred: deferred.clone(),
            window: info.window,
            custom: self.instructions.take(),
            ..PromptScene::default()
        };
        let usual = Limits::default();
        let max_iterations = profile.max_iterations.unwrap_or(usual.max_iterations);
        let root = workspace.root().display().to_string();
        let rules = self.parse_rules(&root)?;
        let mut config = SessionConfig {
            permission,
            rules,
            tools,
            deferred,
            limits: Limits { max_iterations, ..usual },
            system: prompt::system_prompt(&base).into(),
            attended: self.attended,
            // Nothing of this session goes into others, and nothing of others into it.
            memory: MemoryPolicy { off: true, ..MemoryPolicy::default() },
            recipes: RecipePolicy { off: true, ..RecipePolicy::default() },
            ..SessionConfig::with_defaults(root, profile, info.as_ref().clone())
        };
        for change in std::mem::take(&mut self.changes) {
            change(&mut config);
        }
        let options = SessionOptions {
            workspace: Arc::new(workspace),
            model: self.model,
            scene: SceneOptions { base, timezone: "UTC".into(), ..SceneOptions::default() },
            profiles: Arc::new(NoProfiles),
            resources: SessionResources::default(),
            config,
        };
        Ok(SettledAgent { engine: Engine::new(self.parts), options })
    }

    async fn open_workspace(&self) -> Result<Workspace, EmbedError> {
        let options = WorkspaceOptions {
            root: self.root.clone(),
            extra_roots: Vec::new(),
            own_folders: self.own_folders.clone(),
        };
        let opened = run_blocking(move || Workspace::open(options)).await;
        let opened = opened.unwrap_or_else(|_| Err("opening the workspace failed".into()));
        opened.map_err(EmbedError::Workspace)
    }

    fn parse_rules(&self, root: &str) -> Result<RuleSet, RuleError> {
        let own = self.own_folders.iter().map(|folder| folder.display().to_string());
        let mut set = RuleSet::new(RuleContext {
            workspace: root.to_owned(),
            own_folders: own.collect(),
            ..RuleContext::default()
        });
        for (action, text) in &self.rules {
            let rule = set.parse_rule(*action, text, RuleOrigin::new(RULE_ORIGIN))?;
            set.add(rule);
        }
        Ok(set)
    }
}

/// An engine, and what its one session is opened with.
struct SettledAgent {
    engine: Engine,
    options: SessionOptions,
}

/// The profile of an agent of which nothing else was said.
fn agent_profile() -> Profile {
    built_in_profiles().remove(0)
}
