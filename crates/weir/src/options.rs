//! Every word of the command line: commands, flags, help and examples.
//!
//! Only words. What a command does is in `command/`, one file each; which value wins between flag,
//! environment and files is decided in `wiring`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod agents;
mod approvals;
mod backup;
#[cfg(test)]
pub(crate) mod claims;
mod context;
mod duration;
mod import;
mod journal;
mod mcp_servers;
mod memory;
mod permissions;
mod plugins;
mod recipes;
mod run;
mod serve;
mod settings;
mod skills;
mod tools;
mod trust;
mod tui;

pub(crate) use agents::{
    AgentNameArgs, AgentsAddArgs, AgentsCommand, AgentsDaemonArgs, AgentsHistoryArgs,
    AgentsRunArgs, MissedWord, OnAskWord, PromptModeWord,
};
pub(crate) use approvals::{
    ApprovalsAnswerArgs, ApprovalsCommand, ApprovalsListArgs, ApprovalsRevokeArgs,
    ApprovalsShowArgs,
};
pub(crate) use backup::{BackupArgs, RestoreArgs};
pub(crate) use context::ContextArgs;
pub(crate) use duration::{Span, span};
pub(crate) use import::{ImportAgent, ImportArgs};
pub(crate) use journal::{
    AuditCommand, AuditExportArgs, AuditTailArgs, CheckpointsCommand, CheckpointsDiffArgs,
    CheckpointsGcArgs, CheckpointsListArgs, CheckpointsRestoreArgs, ReplayArgs, SessionFormat,
    SessionsCommand, SessionsDeleteArgs, SessionsExportArgs, SessionsForkArgs, SessionsListArgs,
    SessionsSearchArgs, SessionsShowArgs, UndoArgs,
};
pub(crate) use mcp_servers::{
    McpAddArgs, McpApproveArgs, McpListArgs, McpRestartArgs, McpServerArgs, McpServersCommand,
};
pub(crate) use memory::{
    MemoryAcceptArgs, MemoryAddArgs, MemoryCommand, MemoryExportArgs, MemoryIdsArgs,
    MemoryInboxArgs, MemoryListArgs, MemorySearchArgs, MemoryWhich,
};
pub(crate) use permissions::{
    ExplainArgs, LabelWord, PermissionsCommand, RuleAddArgs, RuleRemoveArgs, UnmarkArgs,
};
pub(crate) use plugins::{PluginArgs, PluginEnableArgs, PluginsCommand};
pub(crate) use recipes::{
    RecipeArgs, RecipesAcceptArgs, RecipesAddArgs, RecipesCommand, RecipesRejectArgs,
};
pub(crate) use run::{DemoArgs, OutputFormat, RunArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use settings::{
    AuthCommand, ConfigCommand, ConfigSetArgs, DoctorArgs, ManArgs, ModelsArgs, ProfilesCommand,
    SchemaKind, ScriptCommand, ScriptServeArgs, WorkflowsCommand,
};
pub(crate) use skills::{
    SkillArgs, SkillsAcceptArgs, SkillsAddArgs, SkillsCommand, SkillsValidateArgs,
};
pub(crate) use tools::{ToolNameArgs, ToolsAcceptArgs, ToolsAddArgs, ToolsCommand};
pub(crate) use trust::TrustArgs;
pub(crate) use tui::TuiArgs;

/// Printed by `weir --help` below the commands.
const EXAMPLES: &str = "\
Examples:
  weir                                       talk to an agent in the current folder
  weir --continue                            go on where the last session of this folder stopped
  weir demo                                  see it work: no key, no network
  weir run \"explain what this folder is\"     one task in the current folder
  weir run -C ~/notes --profile ask \"which notes mention the harbour?\"
  git diff | weir run -                      the task comes from standard input
  weir sessions list                         what was done
  weir undo                                  take the last run's file changes back
  weir doctor                                what works here, and what to do about the rest

Exit status of a run: 0 completed, 1 failed, 2 usage or configuration error, 3 stopped by a limit,
4 needs a person, 5 Weir is paused, 130 and 143 cancelled by a signal.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = env!("WEIR_VERSION"),
    about = "A governed agent: every effect passes one gate, everything stands in one journal",
    after_help = EXAMPLES,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(flatten)]
    pub(crate) tui: TuiArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GlobalOptions {
    /// Work in this folder instead of the current one
    #[arg(short = 'C', long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pub(crate) workspace: Option<PathBuf>,
    /// Keep journal, checkpoints and audit here instead of in the user's state folder
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "WEIR_STATE_DIR",
        hide_env_values = true,
        help_heading = "Everywhere"
    )]
    pub(crate) state_dir: Option<PathBuf>,
    /// Write a log of Weir's own workings to this file (WEIR_LOG chooses what: `debug`,
    /// `weir_engine=trace`)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    pub(crate) log_file: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Demo(DemoArgs),
    /// Sessions: list, show, export, delete, fork, search
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Files as they were before each change: list, compare, put back
    #[command(subcommand)]
    Checkpoints(CheckpointsCommand),
    Undo(UndoArgs),
    Replay(ReplayArgs),
    /// The audit log: show, verify its hash chain, export
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Rules: list, add, remove, and why a call would be allowed, asked or denied
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// What waits for a person: list, show, answer; leases: revoke
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    Trust(TrustArgs),
    Context(ContextArgs),
    Models(ModelsArgs),
    /// Settings with the origin of each value
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Keys of model providers
    #[command(subcommand)]
    Auth(AuthCommand),
    Doctor(DoctorArgs),
    /// Machine-readable contracts, generated from the types
    #[command(
        after_help = "Examples:\n  weir schema events > events.schema.json\n  weir schema config"
    )]
    Schema {
        /// Which contract
        #[arg(value_enum)]
        kind: SchemaKind,
    },
    /// Tools: list, show; add, accept, disable, remove those that run code of their own
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Profiles: which tools, instructions and limits an agent has
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// Slash commands and workflows: what can be typed as `/name`
    #[command(subcommand)]
    Workflows(WorkflowsCommand),
    /// Memory: what is remembered beyond one session, and what waits for you
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Skills: list, show, validate, add, remove; accept what an agent proposed
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Recipes: known ways to do a kind of task, written or learned; accept what was learned
    #[command(subcommand)]
    Recipes(RecipesCommand),
    /// Plugins: list, show, switch on and off
    #[command(subcommand)]
    Plugins(PluginsCommand),
    Import(ImportArgs),
    /// MCP servers: list, show, add, approve, restart, remove
    #[command(subcommand)]
    McpServers(McpServersCommand),
    /// The server with the browser's pages: sessions, schedules, people
    Serve(ServeArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    /// Scheduled agents: add, list, run, pause, and the daemon that starts what is due
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Throw the kill switch: running sessions of this store stop, nothing starts
    #[command(
        long_about = "Throw the kill switch of this machine's store: every running session stops \
                      within a second, and nothing starts until `weir release`. It holds across \
                      restarts.",
        after_help = "Examples:\n  weir pause\n  weir pause \"looking into a surprise\""
    )]
    Pause {
        /// Why, for those who find it paused
        reason: Option<String>,
    },
    /// Let sessions run again after `weir pause`
    #[command(after_help = "Example:\n  weir release")]
    Release,
    /// The scripted model
    #[command(subcommand)]
    Script(ScriptCommand),
    /// Print completions for a shell
    #[command(after_help = "Examples:\n  \
            weir completions bash > ~/.local/share/bash-completion/completions/weir\n  \
            weir completions zsh > \"${fpath[1]}/_weir\"\n  \
            weir completions fish > ~/.config/fish/completions/weir.fish")]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    Man(ManArgs),
}

/// Prints JSON instead of text.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct JsonFlag {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much the model thinks, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingWord {
    /// Nothing is asked for
    Off,
    /// A little
    Low,
    /// Some
    Medium,
    /// Much
    High,
}

impl From<ThinkingWord> for weir_core::model::Thinking {
    fn from(word: ThinkingWord) -> Self {
        use weir_core::model::Thinking;
        match word {
            ThinkingWord::Off => Thinking::Off,
            ThinkingWord::Low => Thinking::Low,
            ThinkingWord::Medium => Thinking::Medium,
            ThinkingWord::High => Thinking::High,
        }
    }
}

/// How much passes without asking, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionWord {
    /// Reads only
    Plan,
    /// Reads in the workspace pass, everything else asks
    Ask,
    /// Reads and writes in the workspace pass, everything else asks
    AutoEdit,
    /// Everything passes but deny rules, protected paths and the hard floor
    Full,
}

impl From<PermissionWord> for weir_core::profile::PermissionMode {
    fn from(word: PermissionWord) -> Self {
        use weir_core::profile::PermissionMode;
        match word {
            PermissionWord::Plan => PermissionMode::Plan,
            PermissionWord::Ask => PermissionMode::Ask,
            PermissionWord::AutoEdit => PermissionMode::AutoEdit,
            PermissionWord::Full => PermissionMode::Full,
        }
    }
}
