//! The words of `weir agents` (C9, M7).

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, OutputFormat, PermissionWord, Span, ThinkingWord, span};

const ADD_EXAMPLES: &str = "\
Examples:
  weir agents add digest --cron \"0 8 * * MON-FRI\" --timezone Europe/Berlin \\
      --tools read_file,list_files,search_files --prompt \"Sum up what changed in notes/ yesterday.\"
  weir agents add tidy --cron @daily --tools read_file,edit_file --permission auto-edit \\
      --prompt @prompts/tidy.md --max-tool-calls 40 --budget-usd 0.20
  weir agents add report --after digest --prompt \"Write the report.\" --tools read_file,write_file \\
      --on-ask queue

A cron expression has five fields (minute hour day month weekday), six with seconds first, or is one
of @hourly, @daily, @weekly, @monthly, @yearly. It is read in the time zone; when clocks go forward
a time that does not exist comes at the end of the gap, when they go back a time comes once.";

/// `weir agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Every scheduled agent: when it is due next, and how its last run ended
    #[command(after_help = "Examples:\n  weir agents list\n  weir agents list --json")]
    List(JsonFlag),
    /// One scheduled agent: prompt, tools, limits
    #[command(after_help = "Example:\n  weir agents show digest")]
    Show(AgentNameArgs),
    Add(Box<AgentsAddArgs>),
    Run(AgentsRunArgs),
    /// Stop an agent's ticks and what waits of it; a run under way goes on
    #[command(after_help = "Example:\n  weir agents pause digest")]
    Pause(AgentNameArgs),
    /// Let a paused agent's ticks count again, from now on
    #[command(after_help = "Example:\n  weir agents resume digest")]
    Resume(AgentNameArgs),
    History(AgentsHistoryArgs),
    /// Take an agent away; its history and sessions stay
    #[command(after_help = "Example:\n  weir agents remove digest")]
    Remove(AgentNameArgs),
    Daemon(AgentsDaemonArgs),
}

/// One scheduled agent.
#[derive(Debug, Args)]
pub(crate) struct AgentNameArgs {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Add a scheduled agent, which works in the current folder
#[derive(Debug, Args)]
#[command(
    long_about = "Add a scheduled agent, which works in the current folder. Nobody sits beside it: \
                  it sees the tools that are declared and no others, and what would ask a person \
                  is denied, or waits for `weir approvals answer` with --on-ask queue. What is due \
                  is started by `weir agents daemon`.",
    after_help = ADD_EXAMPLES
)]
pub(crate) struct AgentsAddArgs {
    /// Its name: lower-case letters, digits, - and _
    pub(crate) name: String,
    /// What it is to do; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) prompt: String,
    /// When; without it: by hand, or after another
    #[arg(long, value_name = "EXPR")]
    pub(crate) cron: Option<String>,
    /// The zone in which the expression is read [default: the setting prompt.timezone]
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Run whenever a run of this agent has completed
    #[arg(long, value_name = "NAME")]
    pub(crate) after: Option<String>,
    /// The tools that it sees, by name; none: none
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Its instructions and limits (`weir profiles list`); of its tools only those declared here
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Its model, as PROVIDER/NAME or `script:FILE`
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// How much passes without asking [default: that of profile or settings]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// How much its model thinks [default: that of profile or settings, or as usual for the model]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) thinking: Option<ThinkingWord>,
    /// Whether its prompt stands before Weir's own, or instead of it
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) prompt_mode: PromptModeWord,
    /// Calls of tools per run
    #[arg(long, value_name = "N", default_value_t = weir_core::schedule::TOOL_CALLS_DEFAULT)]
    pub(crate) max_tool_calls: u32,
    /// Model calls per run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Most USD a run may cost
    #[arg(long, value_name = "X", value_parser = super::run::usd)]
    pub(crate) budget_usd: Option<f64>,
    /// Most tokens a run may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,
    /// Most time a run may take, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub(crate) timeout: Option<Span>,
    /// Ticks that passed while nothing could be started: run the newest, or report them [default:
    /// the setting agents.missed]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) missed: Option<MissedWord>,
    /// What becomes of a call that asks
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) on_ask: OnAskWord,
    /// Take the place of the agent that has this name
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Where the agent's own prompt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PromptModeWord {
    /// Before the standard prompt
    #[default]
    #[value(name = "combined")]
    Combined,
    /// In its place
    #[value(name = "agent_only")]
    AgentOnly,
}

/// What becomes of missed ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissedWord {
    /// The newest is run, once
    Run,
    /// They stand in the history
    Report,
}

/// What becomes of a call that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnAskWord {
    /// Denied at once
    #[default]
    Deny,
    /// It waits for `weir approvals answer`
    Queue,
}

/// Run a scheduled agent now, whether it is due or not
#[derive(Debug, Args)]
#[command(
    long_about = "Run a scheduled agent now, here, as strictly as when it is due. It takes no place \
                  among the background runs and waits for none; while a run of the same agent is \
                  under way it is refused. Exit status as of `weir run`.",
    after_help = "Examples:\n  weir agents run digest\n  weir agents run digest --output json"
)]
pub(crate) struct AgentsRunArgs {
    /// Its name
    pub(crate) name: String,
    /// What stands on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Say nothing on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The runs of an agent, newest first, each with its session
#[derive(Debug, Args)]
#[command(
    long_about = "The runs of an agent, newest first, each with its session (`weir sessions show \
                  ID` shows everything that happened in it); and the ticks that were missed or \
                  skipped, with the reason.",
    after_help = "Examples:\n  weir agents history digest\n  weir agents history digest --json --limit 5"
)]
pub(crate) struct AgentsHistoryArgs {
    /// Its name
    pub(crate) name: String,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Start what is due, until it is ended
#[derive(Debug, Args)]
#[command(
    long_about = "Start what is due, until SIGINT or SIGTERM: then runs are closed where they are, \
                  and the next daemon goes on with them. One line on standard error for each \
                  beginning and end. A second daemon over the same store is harmless: a tick runs \
                  once, and the bounds of the settings hold for both together.",
    after_help = "Example:\n  weir agents daemon"
)]
pub(crate) struct AgentsDaemonArgs {
    /// Say nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}
