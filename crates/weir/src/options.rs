//! Every word of the command line: commands, flags, help and examples.
//!
//! Only words. What a command does is in `command/`, one file each; which value wins between flag,
//! environment and files is decided in `wiring`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weir_install::context::{InstallationContext, NamedFolders};
pub(crate) use weir_install::duration::{TimeSpan, parse_time_span};
use weir_install::environment::ProcessEnvironment;

use crate::terminal;

mod acp;
mod agents;
mod alone;
mod approvals;
mod backup;
mod brain;
#[cfg(test)]
pub(crate) mod claims;
mod context;
mod import;
mod journal;
mod mcp;
mod mcp_servers;
mod memory;
mod permissions;
mod phone;
mod plugins;
mod recipes;
mod review;
mod run;
mod serve;
mod session_flags;
mod settings;
mod skills;
mod tools;
mod trust;
mod tui;
mod usage;
mod worktrees;

pub(crate) use acp::AcpArgs;
pub(crate) use agents::{
    AgentNameArgs, AgentsAddArgs, AgentsCommand, AgentsDaemonArgs, AgentsHistoryArgs,
    AgentsRunArgs, MissedWord, OnAskWord, PromptModeWord,
};
pub(crate) use alone::{RUN, parse_run_alone};
pub(crate) use approvals::{
    ApprovalsAnswerArgs, ApprovalsCommand, ApprovalsListArgs, ApprovalsRevokeArgs,
    ApprovalsShowArgs,
};
pub(crate) use backup::{BackupArgs, RestoreArgs};
pub(crate) use brain::{
    BrainAddArgs, BrainCommand, BrainEditArgs, BrainExportArgs, BrainIdsArgs, BrainListArgs,
    BrainSearchArgs, BrainShowArgs,
};
pub(crate) use context::ContextArgs;
pub(crate) use import::ImportArgs;
pub(crate) use journal::{
    AuditCommand, AuditExportArgs, AuditTailArgs, CheckpointsCommand, CheckpointsDiffArgs,
    CheckpointsGcArgs, CheckpointsListArgs, CheckpointsRestoreArgs, ReplayArgs, SessionsAttachArgs,
    SessionsCommand, SessionsDeleteArgs, SessionsExportArgs, SessionsForkArgs, SessionsListArgs,
    SessionsSearchArgs, SessionsShowArgs, UndoArgs,
};
pub(crate) use mcp::McpArgs;
pub(crate) use mcp_servers::{
    McpAddArgs, McpApproveArgs, McpDeclareArgs, McpListArgs, McpRestartArgs, McpServerArgs,
    McpServersCommand,
};
pub(crate) use memory::{
    MemoryAcceptArgs, MemoryAddArgs, MemoryCommand, MemoryExportArgs, MemoryIdsArgs,
    MemoryInboxArgs, MemoryListArgs, MemorySearchArgs, MemoryWhich,
};
pub(crate) use permissions::{
    ExplainArgs, LabelWord, PermissionsCommand, RuleAddArgs, RuleRemoveArgs, UnmarkArgs,
};
pub(crate) use phone::{
    PhoneArgs, PhoneCommand, PhoneDatabase, PhoneListArgs, PhonePairArgs, PhoneRevokeArgs,
};
pub(crate) use plugins::{PluginArgs, PluginEnableArgs, PluginsCommand};
pub(crate) use recipes::{
    RecipeArgs, RecipesAcceptArgs, RecipesAddArgs, RecipesCommand, RecipesRejectArgs,
};
pub(crate) use review::{EditFlags, ReviewFlags};
pub(crate) use run::{DemoArgs, OutputFormat, RunArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use session_flags::SessionFlags;
pub(crate) use settings::{
    AuthCommand, ConfigAcceptArgs, ConfigCommand, ConfigRejectArgs, ConfigSetArgs, ConfigUnsetArgs,
    DoctorArgs, ManArgs, ModelsArgs, ProfilesCommand, SchemaKind, ScriptCommand, ScriptServeArgs,
    WorkflowsCommand,
};
pub(crate) use skills::{
    SkillArgs, SkillsAcceptArgs, SkillsAddArgs, SkillsCommand, SkillsRejectArgs, SkillsValidateArgs,
};
pub(crate) use tools::{ToolNameArgs, ToolsAcceptArgs, ToolsAddArgs, ToolsCommand};
pub(crate) use trust::{TrustArgs, TrustCommand, TrustRemoveArgs};
pub(crate) use tui::TuiArgs;
pub(crate) use usage::{ModelsCommand, PricesArgs, UsageArgs, UsageBy};
pub(crate) use worktrees::{WorktreeArgs, WorktreesCommand, WorktreesDropArgs, WorktreesMergeArgs};

/// Printed by `weir --help` below the commands.
const EXAMPLES: &str = "\
Examples:
  weir                                       chat with an agent in the current folder
  weir --continue                            continue the last session of this folder
  weir demo                                  see it work, without a key or network
  weir run \"explain what this folder is\"     run one task in the current folder
  weir run -C ~/notes --profile ask \"which notes mention the harbour?\"
  git diff | weir run \"review this\" -       attach standard input to a task
  weir sessions list                         list past sessions
  weir undo                                  undo the file changes of the last run
  weir doctor                                check this machine and say how to fix problems

Exit status of a run: 0 completed, 1 failed, 2 usage or configuration error, 3 limit reached,
4 needs input from a person, 5 Weir is paused, 130 or 143 cancelled by SIGINT or SIGTERM.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = env!("WEIR_VERSION"),
    about = "An AI agent whose every action passes one gate and is recorded in one journal",
    after_help = EXAMPLES,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct CliOptions {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(flatten)]
    pub(crate) tui: TuiArgs,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GlobalOptions {
    /// Workspace folder [default: the current folder]
    #[arg(short = 'C', long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder for journal, checkpoints and audit log [default: your state folder]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "WEIR_STATE_DIR",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    pub(crate) state_dir: Option<PathBuf>,
    /// Write Weir's diagnostic log to this file; WEIR_LOG sets the level, such as `debug` or
    /// `weir_engine=trace`
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) log_file: Option<PathBuf>,
}

impl GlobalOptions {
    /// The surroundings that these options and the environment describe.
    ///
    /// # Errors
    /// The workspace does not exist, or no home folder is known.
    pub(crate) fn open_context(
        &self,
        environment: ProcessEnvironment,
    ) -> anyhow::Result<InstallationContext> {
        let named =
            NamedFolders { workspace: self.workspace.clone(), state_dir: self.state_dir.clone() };
        InstallationContext::new(&named, environment, terminal::NOTIFIER)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Run(Box<RunArgs>),
    Demo(DemoArgs),
    /// List, show, export, delete, fork and search sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List, compare, restore and clean up file checkpoints, saved before each change
    #[command(subcommand)]
    Checkpoints(CheckpointsCommand),
    Undo(UndoArgs),
    /// List, compare, merge and remove the worktrees that sessions work in
    #[command(subcommand)]
    Worktrees(WorktreesCommand),
    Replay(ReplayArgs),
    /// Show, verify and export the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// List, add and remove permission rules; explain why a call is allowed, asked or denied
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// List, show and answer pending approvals and questions; revoke leases
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    Trust(TrustArgs),
    Context(ContextArgs),
    Models(ModelsArgs),
    Usage(UsageArgs),
    /// Show and change settings, and where each value comes from
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Store, list and remove API keys of model providers
    #[command(subcommand)]
    Auth(AuthCommand),
    Doctor(DoctorArgs),
    /// Print machine-readable schemas: events, settings, server API, tools
    #[command(
        after_help = "Examples:\n  weir schema events > events.schema.json\n  weir schema config"
    )]
    Schema {
        /// Schema to print
        #[arg(value_enum)]
        kind: SchemaKind,
    },
    /// List and show tools; add, accept, disable and remove custom ones
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// List and show profiles: the tools, instructions and limits of an agent
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// List and show slash commands and workflows, which you type as `/name`
    #[command(subcommand)]
    Workflows(WorkflowsCommand),
    /// Manage facts remembered between sessions, and review those that agents propose
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Manage your brain, your own knowledge store: notes, snippets, pages, files
    #[command(subcommand)]
    Brain(BrainCommand),
    /// List, show, validate, add and remove skills; review those that agents propose
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Manage recipes, known ways to do a kind of task; review those that Weir learned
    #[command(subcommand)]
    Recipes(RecipesCommand),
    /// List, show, enable and disable plugins
    #[command(subcommand)]
    Plugins(PluginsCommand),
    Import(ImportArgs),
    /// List, show, add, approve, install, update, restart and remove MCP servers
    #[command(subcommand)]
    McpServers(McpServersCommand),
    Mcp(McpArgs),
    /// Start the server: web interface, API, scheduled agents, user accounts
    Serve(ServeArgs),
    Phone(PhoneArgs),
    Acp(AcpArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    /// Add, list, run and pause scheduled agents; run the daemon that starts them
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Stop all running sessions and start none until `weir release` (kill switch)
    #[command(
        long_about = "Stop all running sessions of this store within a second and start none until \
                      `weir release` (kill switch). The pause survives restarts.\n\n\
                      With --session one run is paused and not ended: what is under way is \
                      finished, nothing new begins until `weir release --session`, also after a \
                      restart.",
        after_help = "Examples:\n  weir pause\n  weir pause \"investigating an unexpected change\"\n  \
            weir pause --session 3f2a9c01"
    )]
    Pause {
        /// Reason, shown to anyone who finds Weir paused
        #[arg(conflicts_with = "session")]
        reason: Option<String>,
        /// Pause the run of this session alone; the beginning of its id will do
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Let sessions run again after `weir pause`
    #[command(after_help = "Examples:\n  weir release\n  weir release --session 3f2a9c01")]
    Release {
        /// Let the run of this session go on; the beginning of its id will do
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Serve a scripted model, for tests and demos
    #[command(subcommand)]
    Script(ScriptCommand),
    /// Print shell completions
    #[command(after_help = "Examples:\n  \
            weir completions bash > ~/.local/share/bash-completion/completions/weir\n  \
            weir completions zsh > \"${fpath[1]}/_weir\"\n  \
            weir completions fish > ~/.config/fish/completions/weir.fish")]
    Completions {
        /// Shell to print completions for
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    Man(ManArgs),
}

/// Prints JSON instead of text.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct JsonFlag {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much the model thinks, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingWord {
    /// No thinking requested
    Off,
    /// Little thinking
    Low,
    /// Moderate thinking
    Medium,
    /// Extensive thinking
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

/// What is allowed without asking, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionWord {
    /// Read only: allow reads, and commands that can neither write nor use the network
    Plan,
    /// Allow reads in the workspace and commands that only read; ask for everything else
    Ask,
    /// Also allow file changes in the workspace and sandboxed commands without network access
    AutoEdit,
    /// Allow everything except what rules, protected paths and the built-in hard floor stop
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
