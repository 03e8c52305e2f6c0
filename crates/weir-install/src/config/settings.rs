//! What can be set (C8): one struct per table. Doc comments are the descriptions that
//! `weir config show`, the JSON Schema and the generated reference print; `Default` is what holds
//! when nobody says anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::model::{Price, Thinking};
use weir_core::profile::{Limits, PROGRAM_STEPS, PermissionMode};
use weir_core::routing::RouteRule;
use weir_core::schedule::MissedTicks;

use super::plugins::{CommandsSettings, PluginSettings};
use super::serve_mcp::McpServeSettings;
use super::servers::McpServerSettings;
use crate::duration::TimeSpan;

/// Settings of Weir: `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The model, as provider/name. Without it: the first provider with a key, then a local server.
    pub model: Option<String>,
    /// Which tools, instructions and limits the agent has (`weir profiles list`).
    pub profile: String,
    /// How much the model thinks before it answers: off, low, medium or high. Without it: medium where
    /// the model can think.
    pub thinking: Option<Thinking>,
    /// How much passes without asking: plan, ask, auto-edit or full.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "PermissionMode"))]
    pub permission: PermissionMode,
    /// Bounds of every run.
    pub limits: LimitSettings,
    /// Caps on money that runs have in common.
    pub spending: SpendingSettings,
    /// Rules. Those of all files add up; deny beats ask beats allow.
    pub permissions: RuleSettings,
    /// Endpoints beside the built-in ones, or other addresses and keys for those: one table each.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// What is known of models, where the built-in list is wrong or silent: one table each.
    pub models: BTreeMap<String, ModelSettings>,
    /// Which other models a session may speak with, and when.
    pub routing: RoutingSettings,
    /// Which model does side work; empty: the session's own.
    pub helpers: HelperSettings,
    /// How the model's window is used.
    pub context: ContextSettings,
    /// What is remembered beyond a session.
    pub memory: MemorySettings,
    /// Your own knowledge store.
    pub brain: BrainSettings,
    /// What Weir should know of you.
    pub person: PersonSettings,
    /// Known ways to do a kind of task.
    pub recipes: RecipeSettings,
    /// Scheduled agents (`weir agents`).
    pub agents: AgentSettings,
    /// What stands in the prompt.
    pub prompt: PromptSettings,
    /// The network.
    pub web: WebSettings,
    /// Secrets that tools may name and never see: one table each.
    pub secrets: BTreeMap<String, SecretSettings>,
    /// Detectors beside the rules.
    pub security: SecuritySettings,
    /// Confinement of commands.
    pub sandbox: SandboxSettings,
    /// Commands that look at calls and events: one list per event.
    pub hooks: BTreeMap<String, Vec<HookSettings>>,
    /// Servers whose tools the agent may use: one table each.
    pub mcp_servers: BTreeMap<String, McpServerSettings>,
    /// Weir's own tools for other agents (`weir mcp`).
    pub mcp_server: McpServeSettings,
    /// What commands see of your variables, and commands that have a name, for the agent: one table
    /// each.
    pub commands: CommandsSettings,
    /// What is set for plugins (`weir plugins list`): one table each.
    pub plugins: BTreeMap<String, PluginSettings>,
    /// The server (`weir serve`).
    pub server: ServerSettings,
    /// Measurements for others.
    pub telemetry: TelemetrySettings,
    /// Where keys are kept that `weir auth set` is given.
    pub keys: KeySettings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            model: None,
            profile: "agent".into(),
            thinking: None,
            permission: PermissionMode::default(),
            limits: LimitSettings::default(),
            spending: SpendingSettings::default(),
            permissions: RuleSettings::default(),
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            routing: RoutingSettings::default(),
            helpers: HelperSettings::default(),
            context: ContextSettings::default(),
            memory: MemorySettings::default(),
            brain: BrainSettings::default(),
            person: PersonSettings::default(),
            recipes: RecipeSettings::default(),
            agents: AgentSettings::default(),
            prompt: PromptSettings::default(),
            web: WebSettings::default(),
            secrets: BTreeMap::new(),
            security: SecuritySettings::default(),
            sandbox: SandboxSettings::default(),
            hooks: BTreeMap::new(),
            mcp_servers: BTreeMap::new(),
            mcp_server: McpServeSettings::default(),
            commands: CommandsSettings::default(),
            plugins: BTreeMap::new(),
            server: ServerSettings::default(),
            telemetry: TelemetrySettings::default(),
            keys: KeySettings::default(),
        }
    }
}

/// Model calls of a run where nobody set how many: more than any real task, fewer than one that never
/// ends.
pub(crate) const MODEL_CALLS_MAX: u32 = 1_000;

/// Bounds of a run (L4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Model calls per run; at 60 % of it the agent is asked to wrap up. No real task ends there: what a
    /// run may cost is for a budget to say. A profile may set its own; what is written down beats it.
    pub max_iterations: u32,
    /// Calls of tools per run; none: no bound. WEIR_MAX_TOOL_CALLS sets it too.
    pub max_tool_calls: Option<u32>,
    /// Errors of tools in a row that end a run; 0: off.
    pub(crate) consecutive_mistake_limit: u32,
    /// Least milliseconds between two model calls; 0: off.
    pub(crate) rate_limit_ms: u64,
    /// After so many model calls the agent is reminded of its task; 0: off.
    pub(crate) power_steering_frequency: u32,
    /// How deep agents may start agents.
    pub(crate) max_subtask_depth: u32,
    /// Reads in flight at once.
    pub(crate) parallel_calls: u32,
    /// Steps that one program of run_program may ask for.
    pub(crate) program_steps: u32,
    /// Most USD a run may cost; none: no bound. A model without a known price is held by
    /// budget_tokens alone.
    pub budget_usd: Option<f64>,
    /// Most tokens a run may use; none: no bound.
    pub budget_tokens: Option<u64>,
    /// Most time a run may take, such as "10m"; none: no bound.
    pub(crate) run_timeout: Option<TimeSpan>,
    /// Most time a call of a tool may take, where the tool sets none; then its processes end.
    pub(crate) tool_timeout: TimeSpan,
    /// How long an approval waits for an answer, such as "24h"; then it is a denial.
    pub approval_timeout: TimeSpan,
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        LimitSettings {
            max_iterations: MODEL_CALLS_MAX,
            max_tool_calls: None,
            consecutive_mistake_limit: 3,
            rate_limit_ms: 0,
            power_steering_frequency: 0,
            max_subtask_depth: 2,
            parallel_calls: 8,
            program_steps: PROGRAM_STEPS,
            budget_usd: None,
            budget_tokens: None,
            run_timeout: None,
            tool_timeout: TimeSpan { ms: 120_000 },
            approval_timeout: TimeSpan { ms: 24 * 3_600_000 },
        }
    }
}

impl LimitSettings {
    /// The bounds of a session for which neither flag nor profile says anything.
    pub(crate) fn to_limits(&self) -> Limits {
        Limits {
            max_iterations: self.max_iterations,
            max_tool_calls: self.max_tool_calls,
            consecutive_mistake_limit: self.consecutive_mistake_limit,
            rate_limit_ms: self.rate_limit_ms,
            power_steering_frequency: self.power_steering_frequency,
            max_subtask_depth: self.max_subtask_depth,
            parallel_calls: self.parallel_calls,
            program_steps: self.program_steps,
            budget_usd: self.budget_usd,
            budget_tokens: self.budget_tokens,
            session_usd: None,
            run_timeout_ms: self.run_timeout.map(|span| span.ms),
            tool_timeout_ms: self.tool_timeout.ms,
            approval_timeout_ms: Some(self.approval_timeout.ms),
        }
    }
}

/// Caps on money that runs have in common (R11). Days and months are those of UTC. Before each request what
/// it costs at most is set aside, so that at most one goes beyond a cap. A model whose price is not known
/// is not asked under a cap: `weir models prices` gives it one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SpendingSettings {
    /// Most USD that a session may cost, all its runs and sub-agents together; none: no cap. Each of
    /// several sub-agents at once can go beyond its share by one request.
    pub session_usd: Option<f64>,
    /// Most USD that all your sessions may cost on one day; none: no cap.
    pub day_usd: Option<f64>,
    /// Most USD that all sessions of one person may cost in a calendar month; none: no cap.
    pub person_usd: Option<f64>,
    /// Most USD that a scheduled agent may cost on one day, unless it has a cap of its own; 0: no cap. A
    /// model without a known price is held by schedule_run_tokens alone.
    pub schedule_usd: f64,
    /// Most USD that one run of a scheduled agent may cost where nothing else bounds its money, also
    /// beside a bound in tokens; 0: no bound.
    pub schedule_run_usd: f64,
    /// Most tokens that one run of a scheduled agent may use where its model has no known price and
    /// nothing else bounds its tokens; 0: no bound.
    pub schedule_run_tokens: u64,
    /// Most USD that everybody on this server may cost together on one day; none: no cap.
    pub server_usd: Option<f64>,
}

impl Default for SpendingSettings {
    fn default() -> SpendingSettings {
        SpendingSettings {
            session_usd: None,
            day_usd: None,
            person_usd: None,
            schedule_usd: 5.0,
            schedule_run_usd: 1.0,
            schedule_run_tokens: 1_000_000,
            server_usd: None,
        }
    }
}

/// Rules (C3).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// What is refused: ["Read(**/.env)"].
    pub deny: Vec<String>,
    /// What asks a person: ["Web(*)"].
    pub ask: Vec<String>,
    /// What passes: ["Shell(cargo test:*)"].
    pub allow: Vec<String>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// How it is spoken to: anthropic, openai-responses, openai-chat, gemini or ollama.
    pub dialect: Option<String>,
    /// Its address: <https://llm.example.org/v1>.
    pub base_url: Option<String>,
    /// The variable that holds its key.
    pub(crate) api_key_env: Option<String>,
    /// Headers that are sent along.
    pub headers: BTreeMap<String, String>,
    /// What its server is: ollama, lmstudio, llama.cpp, vllm or other. Without it a provider that is not built in
    /// is asked, where it speaks openai-chat.
    pub server: Option<String>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Its context window in tokens.
    pub window: Option<u64>,
    /// Most tokens it writes in one reply.
    pub max_output: Option<u64>,
    /// What it costs in USD per million tokens; 0 where it costs nothing.
    pub price: Option<Price>,
    /// The day on which its vendor asked that, such as "2026-11-29".
    pub priced_on: Option<String>,
    /// What it can: tools, images, pdf, thinking, structured.
    pub abilities: Option<Vec<String>>,
}

/// Other models than the chosen one (V8).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RoutingSettings {
    /// Models that go on where the session's own has failed for good, in this order:
    /// ["openai/gpt-5", "ollama/qwen3:8b"]. It is said each time; the next run begins with your model again.
    pub fallback: Vec<String>,
    /// Which model a run is for, by size and kind of work: the first rule of which everything holds. Where
    /// you or a profile name a model, no rule counts.
    pub rules: Vec<RouteRule>,
}

/// Models for side work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HelperSettings {
    /// Summarises old turns.
    pub condense: String,
    /// Judges calls and results.
    pub judge: String,
    /// Plans known tasks.
    pub plan: String,
    /// Answers a few questions a run of an agent that is stuck (consult_flagship); empty: it cannot
    /// ask.
    pub(crate) flagship: String,
    /// Names sessions.
    pub titles: String,
    /// Makes vectors of the workspace's texts for semantic_search, which are sent to it:
    /// ollama/nomic-embed-text. Empty: vectors are computed from the texts themselves.
    pub embed: String,
    /// Makes pictures for generate_image, from words that are sent to it: openai/gpt-image-2. Empty: there
    /// is no such tool.
    pub image: String,
}

/// The model's window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ContextSettings {
    /// Old turns are summarised when the window fills.
    pub(crate) condensing_enabled: bool,
    /// How full, in per cent.
    pub(crate) condensing_threshold: u32,
    /// Results with more characters go to a file below .weir/tmp/ and are given by their beginning;
    /// 0: never.
    pub(crate) externalize_over: usize,
    /// What servers, pages and other agents say stays beside the context, and the agent is given handles of
    /// it: auto, where it has a tool that is declared to send, commit or destroy something; off, never.
    pub(crate) handles: HandleSetting,
}

/// When foreign words stay beside the context (U6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HandleSetting {
    /// Where a tool of the session acts on others.
    #[default]
    Auto,
    /// Never.
    Off,
}

impl Default for ContextSettings {
    fn default() -> ContextSettings {
        ContextSettings {
            condensing_enabled: true,
            condensing_threshold: 70,
            externalize_over: 2000,
            handles: HandleSetting::Auto,
        }
    }
}

/// The memory (M4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MemorySettings {
    /// Facts are remembered, and what fits is told. Off: neither.
    pub enabled: bool,
    /// Facts are kept without waiting in the inbox (`weir memory inbox`). What words from outside
    /// went into waits all the same.
    pub accept: bool,
    /// A finished run of three model calls or more is looked through for facts worth keeping: one
    /// more model call (helpers.condense).
    pub after_run: bool,
}

impl Default for MemorySettings {
    fn default() -> MemorySettings {
        MemorySettings { enabled: true, accept: false, after_run: false }
    }
}

/// The brain (K12).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BrainSettings {
    /// Agents may keep, change and forget entries of your brain without asking. What words from
    /// outside went into is asked about all the same.
    pub agent_may_keep: bool,
}

/// What Weir should know of the person (U5).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PersonSettings {
    /// Your own addresses: mail addresses, names in a chat. What is sent to one of them and to nobody
    /// else asks nothing.
    pub addresses: Vec<String>,
}

/// Scheduled agents (M7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AgentSettings {
    /// Runs of scheduled agents at once, in the whole store. What a person starts is not counted.
    pub max_concurrent_runs: u32,
    /// Runs of scheduled agents that begin within an hour; the others wait. 0: no bound.
    pub max_runs_per_hour: u32,
    /// What happens to start times that passed while Weir was not running: run (the latest one, once)
    /// or report (in the history only). An agent can have a setting of its own.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "MissedTicks"))]
    pub missed: MissedTicks,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings {
            max_concurrent_runs: 3,
            max_runs_per_hour: 0,
            missed: MissedTicks::default(),
        }
    }
}

/// Recipes (M5, L16).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RecipeSettings {
    /// Recipes that fit a message are told or followed. Off: none is used and none learned.
    pub enabled: bool,
    /// One that has worked three times is followed without asking the model after each step: one
    /// call of a planner (helpers.plan), then its steps, each through the gate.
    pub(crate) fast_path: bool,
    /// What was solved three times in the same way is proposed as a recipe (`weir recipes list`).
    pub(crate) learn: bool,
    /// Learned recipes count without waiting for you. What words from outside went into waits all
    /// the same.
    pub(crate) accept_learned: bool,
    /// How well a recipe must fit a message, from 0 to 1.
    pub floor: f64,
}

impl Default for RecipeSettings {
    fn default() -> RecipeSettings {
        RecipeSettings {
            enabled: true,
            fast_path: true,
            learn: true,
            accept_learned: false,
            floor: 0.5,
        }
    }
}

/// The prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PromptSettings {
    /// Time zone of the date and time that the model is told: Europe/Zurich.
    pub timezone: String,
    /// What every agent is to do or leave, whatever its profile: "Answer in French.". Sub-agents
    /// are not told; rules/*.md beside this file are for them too.
    pub instructions: String,
}

impl Default for PromptSettings {
    fn default() -> PromptSettings {
        PromptSettings { timezone: "UTC".into(), instructions: String::new() }
    }
}

/// The network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct WebSettings {
    /// Hosts that need no asking, private ones too, named one by one: ["docs.rs"].
    pub allow_hosts: Vec<String>,
    /// How the web is searched.
    pub search: SearchSettings,
}

/// The search engine of web_search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// Which: searxng, brave, tavily, exa or kagi, or vendor: the model vendor's own search, with
    /// the vendor's key. The key of all others but the first is kept with `weir auth set KIND` or in
    /// a variable (BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY, KAGI_API_KEY).
    pub kind: String,
    /// With kind = "vendor", the model that searches: anthropic/claude-haiku-5-5. Empty: the
    /// session's own, where its vendor searches.
    pub model: String,
    /// Its address: that of the SearXNG instance, which may be a private one; empty: the one of the
    /// engine's maker.
    pub url: String,
    /// Another variable that holds the key; also for a SearXNG behind a bearer token.
    pub key_env: Option<String>,
}

impl Default for SearchSettings {
    fn default() -> SearchSettings {
        SearchSettings {
            kind: "searxng".into(),
            model: String::new(),
            url: String::new(),
            key_env: None,
        }
    }
}

/// A secret. Its value is never in a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SecretSettings {
    /// The variable that holds it.
    pub env: Option<String>,
    /// Or the file that holds it, which only you can read (mode 0600).
    pub file: Option<String>,
    /// Hosts that it may be sent to, exactly these, over https: ["api.github.com"].
    pub hosts: Vec<String>,
    /// The header that it is sent in.
    pub header: String,
    /// The header's value, with {} where the secret stands.
    pub format: String,
}

impl Default for SecretSettings {
    fn default() -> SecretSettings {
        SecretSettings {
            env: None,
            file: None,
            hosts: Vec::new(),
            header: "authorization".into(),
            format: "Bearer {}".into(),
        }
    }
}

/// Detectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SecuritySettings {
    /// What the permission mode asks about waits for a person. Off: it passes as in mode full; deny
    /// rules, protected paths and the hard floor hold all the same.
    pub confirmation: bool,
    /// A secret word in the prompt that must never leave; another every day.
    pub canary: bool,
    /// A judge model compares each action with what was asked for.
    pub validate_output: bool,
    /// A judge model looks for instructions in what comes from outside.
    pub screen_results: bool,
}

impl Default for SecuritySettings {
    fn default() -> SecuritySettings {
        SecuritySettings {
            confirmation: true,
            canary: false,
            validate_output: false,
            screen_results: false,
        }
    }
}

/// Confinement of commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSettings {
    /// Which: auto, namespaces, bubblewrap, landlock or none.
    pub tier: SandboxTier,
}

impl Default for SandboxSettings {
    fn default() -> SandboxSettings {
        SandboxSettings { tier: SandboxTier::Auto }
    }
}

/// A level of confinement, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SandboxTier {
    /// The strongest that works here.
    Auto,
    /// Namespaces that Weir makes itself.
    Namespaces,
    /// The program bubblewrap.
    Bubblewrap,
    /// The kernel's Landlock.
    Landlock,
    /// None.
    None,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HookSettings {
    /// Regular expression over names of tools; empty: all.
    #[serde(default)]
    pub matcher: String,
    /// The command.
    pub command: String,
    /// Seconds it may take.
    #[serde(default = "hook_timeout")]
    pub timeout: u32,
    /// What its failure means: block or continue.
    #[serde(default)]
    pub(crate) on_failure: Option<OnFailure>,
}

fn hook_timeout() -> u32 {
    30
}

/// What the failure of a hook means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The call is blocked.
    Block,
    /// It goes on.
    Continue,
}

/// The server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// Where it listens.
    pub bind: String,
    /// Where it keeps its data: sqlite:PATH or postgres://…; empty: the state folder.
    pub database: String,
    /// Where people's folders lie, each below its name; empty: ~/.local/share/weir/users.
    pub users_dir: String,
    /// Under which address people reach it: <https://weir.example.org>; empty: the one that it
    /// listens on.
    pub public_url: String,
    /// Its certificate with the chain above it, a PEM file. Looked at again when it changes.
    pub certificate: String,
    /// The key of the certificate, a PEM file.
    pub key: String,
    /// Addresses of proxies in front that speak TLS and are believed who asks: ["127.0.0.1"].
    pub proxies: Vec<String>,
    /// Open connections in all.
    pub connections_max: u32,
    /// Open connections from one address; this machine and the proxies are not counted.
    pub connections_per_address_max: u32,
    /// Requests a minute of one person; ten times as many from one address.
    pub requests_per_minute: u32,
    /// How long requests that are under way may go on when the server ends.
    pub drain: TimeSpan,
    /// The variable with the token that /metrics asks of other machines; empty: only this machine
    /// may look.
    pub metrics_token_env: String,
    /// What people without the role admin get of the installation.
    pub people: PeopleSettings,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            bind: "127.0.0.1:7717".into(),
            database: String::new(),
            users_dir: String::new(),
            people: PeopleSettings::default(),
            public_url: String::new(),
            certificate: String::new(),
            key: String::new(),
            proxies: Vec::new(),
            connections_max: 20_000,
            connections_per_address_max: 1_000,
            requests_per_minute: 1_200,
            drain: TimeSpan { ms: 10_000 },
            metrics_token_env: String::new(),
        }
    }
}

/// What people without the role admin get (S9). Their folder alone is theirs in any case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PeopleSettings {
    /// Servers of mcp_servers that they may use, by name; each approves for themselves.
    pub mcp_servers: Vec<String>,
    /// Secrets that their tools may name.
    pub secrets: Vec<String>,
    /// Commands of the configuration that their agents may run, by name.
    pub commands: Vec<String>,
    /// The hooks of the installation look at their calls too.
    pub hooks: bool,
    /// Tools that their agents never see.
    pub(crate) tools_denied: Vec<String>,
    /// The most that passes without asking: plan, ask, auto-edit or full.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "PermissionMode"))]
    pub(crate) max_permission: PermissionMode,
}

impl Default for PeopleSettings {
    fn default() -> PeopleSettings {
        PeopleSettings {
            mcp_servers: Vec::new(),
            secrets: Vec::new(),
            commands: Vec::new(),
            hooks: false,
            tools_denied: Vec::new(),
            max_permission: PermissionMode::AutoEdit,
        }
    }
}

/// Where keys are kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct KeySettings {
    /// auto: the system keyring where it is unlocked, else the file keys.toml; keyring: the keyring or
    /// an error; file: the file.
    pub store: KeyStore,
}

/// Where a new key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeyStore {
    /// The keyring where it can be used, else the file.
    #[default]
    Auto,
    /// The keyring, or an error.
    Keyring,
    /// The file.
    File,
}

/// Measurements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TelemetrySettings {
    /// Where OpenTelemetry traces go, over HTTP: <http://127.0.0.1:4318>; empty: nowhere.
    pub(crate) otlp_endpoint: String,
    /// Messages, arguments and results go along. Off: only names, counts and times.
    pub content: bool,
}
