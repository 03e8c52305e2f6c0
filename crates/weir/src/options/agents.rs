//! The words of `weir agents` (C9, M7).

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, OutputFormat, PermissionWord, ThinkingWord, TimeSpan, parse_time_span};

const ADD_EXAMPLES: &str = "\
Examples:
  weir agents add digest --cron \"0 8 * * MON-FRI\" --timezone Europe/Berlin \\
      --tools read_file,list_files,search_files --prompt \"Sum up what changed in notes/ yesterday.\"
  weir agents add tidy --cron @daily --tools read_file,edit_file --permission auto-edit \\
      --prompt @prompts/tidy.md --max-tool-calls 40 --budget-usd 0.20
  weir agents add report --after digest --prompt \"Write the report.\" --tools read_file,write_file \\
      --on-ask queue

A cron expression has five fields (minute hour day month weekday), or six with seconds first, or is
one of @hourly, @daily, @weekly, @monthly, @yearly. It is read in the agent's time zone. When clocks
go forward, a time that is skipped runs at the end of the gap; when they go back, a time that occurs
twice runs once.";

/// `weir agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List scheduled agents, with the next start and the outcome of the last run
    #[command(after_help = "Examples:\n  weir agents list\n  weir agents list --json")]
    List(JsonFlag),
    /// Show the prompt, tools and limits of a scheduled agent
    #[command(after_help = "Example:\n  weir agents show digest")]
    Show(AgentNameArgs),
    Add(Box<AgentsAddArgs>),
    Run(AgentsRunArgs),
    /// Pause an agent: start none of its runs, including waiting ones; a current run continues
    #[command(after_help = "Example:\n  weir agents pause digest")]
    Pause(AgentNameArgs),
    /// Resume a paused agent; times missed meanwhile are not made up for
    #[command(after_help = "Example:\n  weir agents resume digest")]
    Resume(AgentNameArgs),
    History(AgentsHistoryArgs),
    /// Remove an agent; its history and sessions are kept
    #[command(after_help = "Example:\n  weir agents remove digest")]
    Remove(AgentNameArgs),
    Daemon(AgentsDaemonArgs),
}

/// One scheduled agent.
#[derive(Debug, Args)]
pub(crate) struct AgentNameArgs {
    /// Name of the agent
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Add a scheduled agent that works in the current folder
#[derive(Debug, Args)]
#[command(
    long_about = "Add a scheduled agent that works in the current folder. It runs unattended: it \
                  has only the tools you declare here, and a call that needs approval is denied, \
                  or waits for `weir approvals answer` with --on-ask queue. `weir agents daemon` \
                  or `weir serve` must be running to start it on time.",
    after_help = ADD_EXAMPLES
)]
pub(crate) struct AgentsAddArgs {
    /// Name of the agent: lower-case letters, digits, - and _
    pub(crate) name: String,
    /// Prompt for each run; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) prompt: String,
    /// Schedule as a cron expression; without it, start it by hand or with --after
    #[arg(long, value_name = "EXPR")]
    pub(crate) cron: Option<String>,
    /// Time zone of the cron expression, such as Europe/Berlin [default: setting prompt.timezone]
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Run each time the named agent has completed a run
    #[arg(long, value_name = "NAME")]
    pub(crate) after: Option<String>,
    /// Tools the agent may use, separated by commas [default: none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Profile for instructions and limits (`weir profiles list`); tools come from --tools only
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Model, as PROVIDER/NAME or `script:FILE`
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Permission mode: what is allowed without asking [default: from profile or settings]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// How much the model thinks [default: from profile or settings, or as usual for the model]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) thinking: Option<ThinkingWord>,
    /// Put the agent's prompt before Weir's own system prompt, or replace it
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) prompt_mode: PromptModeWord,
    /// Maximum number of tool calls per run
    #[arg(long, value_name = "N", default_value_t = weir_core::schedule::TOOL_CALLS_DEFAULT)]
    pub(crate) max_tool_calls: u32,
    /// Maximum number of model calls per run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Maximum cost of a run, in US dollars, such as 0.50
    #[arg(long, value_name = "X", value_parser = super::run::parse_usd, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
    /// Maximum cost of all its runs of one day (UTC), in US dollars [default: setting
    /// spending.schedule_usd]
    #[arg(long, value_name = "X", value_parser = super::run::parse_usd, allow_negative_numbers = true)]
    pub(crate) day_usd: Option<f64>,
    /// Maximum number of tokens a run may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,
    /// Maximum duration of a run, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span)]
    pub(crate) timeout: Option<TimeSpan>,
    /// What to do about times missed while nothing could be started [default: setting
    /// agents.missed]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) missed: Option<MissedWord>,
    /// What to do with a call that needs approval
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) on_ask: OnAskWord,
    /// Replace an existing agent of this name
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Where the agent's own prompt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PromptModeWord {
    /// Before the standard system prompt
    #[default]
    #[value(name = "combined")]
    Combined,
    /// Instead of the standard system prompt
    #[value(name = "agent_only")]
    AgentOnly,
}

/// What becomes of missed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissedWord {
    /// Run once, for the most recent one
    Run,
    /// Only record them in the history
    Report,
}

/// What becomes of a call that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnAskWord {
    /// Deny it at once
    #[default]
    Deny,
    /// Wait for `weir approvals answer`
    Queue,
}

/// Run a scheduled agent now, whether it is due or not
#[derive(Debug, Args)]
#[command(
    long_about = "Run a scheduled agent now, in this process, with the same tools and limits as a \
                  scheduled run. It does not count towards the maximum number of concurrent runs \
                  and does not wait for them. It is refused while another run of the same agent \
                  is active. The exit status is that of `weir run`.",
    after_help = "Examples:\n  weir agents run digest\n  weir agents run digest --output json"
)]
pub(crate) struct AgentsRunArgs {
    /// Name of the agent
    pub(crate) name: String,
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Print no progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// List an agent's runs, newest first, each with its session
#[derive(Debug, Args)]
#[command(
    long_about = "List an agent's runs, newest first, each with its session (`weir sessions show \
                  ID` shows everything that happened in it), and the scheduled times that were \
                  missed or skipped, with the reason.",
    after_help = "Examples:\n  weir agents history digest\n  weir agents history digest --json --limit 5"
)]
pub(crate) struct AgentsHistoryArgs {
    /// Name of the agent
    pub(crate) name: String,
    /// Maximum number of entries to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Start scheduled agents when they are due, until stopped
#[derive(Debug, Args)]
#[command(
    long_about = "Start scheduled agents when they are due, until SIGINT or SIGTERM. Active runs \
                  are then interrupted, and the next daemon continues them. Each start and end is \
                  one line on standard error. A second daemon on the same store is harmless: each \
                  scheduled time runs once, and the limits in the settings apply to both together.",
    after_help = "Example:\n  weir agents daemon"
)]
pub(crate) struct AgentsDaemonArgs {
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}
