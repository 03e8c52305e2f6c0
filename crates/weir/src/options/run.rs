//! The words of `weir run` and `weir demo` (C2).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{SessionFlags, TimeSpan, parse_time_span};

const EXAMPLES: &str = "\
Examples:
  weir run \"fix the failing test\"
  weir run --permission auto-edit --allow 'Shell(cargo test:*)' \"make the tests pass\"
  weir run --output json --max-iterations 10 \"list the public functions\" > answer.json
  weir run - < task.md                        read the task from a file
  git diff | weir run \"review this\" -        attach standard input to the task
  weir run --continue \"now the documentation too\"
  weir run --resume 0198c5e0 \"yes, use the second one\"
  weir run --attach screenshot.png \"why does this page look wrong?\"
  weir run --ask-elsewhere \"tidy up\" &       wait for `weir approvals answer` in the background
  weir run --detach \"update the changelog\"    in the background; prints the session's id
  weir run --worktree \"try another parser\"    in a copy that `weir worktrees merge` takes over
  weir run --dry-run \"anything\"               show what would be sent to the model

Unattended runs (standard input or standard error is not a terminal) cannot ask for approval: a call
that needs it is denied and listed in `denials`, and the run ends with status `needs_input`. With
--ask-elsewhere the run waits for `weir approvals answer` instead, for at most the setting
limits.approval_timeout (24h by default); without an answer the call is denied.

Exit status: 0 completed, 1 failed, 2 usage or configuration error (nothing was run), 3 limit
reached, 4 needs input from a person, 5 Weir is paused, 130 or 143 cancelled by SIGINT or SIGTERM.";

/// Run one task without a user interface and print the answer
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "Run one task without a user interface. Progress goes to standard error; only the \
                  final answer goes to standard output. Every tool call passes the gate, every \
                  file is saved before it is changed (`weir undo`), and everything is recorded in \
                  the journal (`weir sessions show`).",
    after_help = EXAMPLES
)]
pub(crate) struct RunArgs {
    /// The task; without it, or with `-` alone, it is read from standard input
    pub(crate) prompt: Option<String>,
    /// After a task: attach standard input to it, as content that you did not write
    #[arg(value_name = "-")]
    pub(crate) beside: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionFlags,
    /// Work in a copy of the last commit, in a git worktree [default name: the session's id]; see
    /// `weir worktrees`
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["which", "dry_run"]
    )]
    pub(crate) worktree: Option<Option<String>>,
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// With --output jsonl: include streamed text and command output
    #[arg(long)]
    pub(crate) deltas: bool,
    /// Continue this session; without a prompt, an interrupted run continues where it stopped
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) resume: Option<String>,
    /// Continue the newest session of this folder
    #[arg(long = "continue", group = "which")]
    pub(crate) continue_last: bool,
    /// Start a new session with the history of this one
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) fork: Option<String>,
    /// Image, PDF or text file to attach to the prompt; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Maximum number of model calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Maximum number of tool calls
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls: Option<u32>,
    /// Maximum cost in US dollars, such as 0.50 (the price of the model must be known)
    #[arg(long, value_name = "X", value_parser = parse_usd, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
    /// Maximum number of tokens
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
    /// Maximum duration, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span)]
    pub(crate) timeout: Option<TimeSpan>,
    /// File whose text replaces Weir's system prompt
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    pub(crate) system_prompt: Option<PathBuf>,
    /// File whose text is added to Weir's system prompt
    #[arg(long, value_name = "FILE")]
    pub(crate) append_system_prompt: Option<PathBuf>,
    /// File with a JSON Schema that the final answer must match
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Wait for `weir approvals answer` when approval is needed, even at a terminal
    #[arg(long)]
    pub(crate) ask_elsewhere: bool,
    /// Run in the background: print the session's id and return once it has begun; see
    /// `weir sessions attach`. Implies --ask-elsewhere
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,
    /// The session of this program, which `--detach` has started in the background
    #[arg(long, value_name = "ID", hide = true, conflicts_with = "detach")]
    pub(crate) detached: Option<String>,
    /// Fail the run on any denial
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print no progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print what would be sent, by section and size, and send nothing
    #[arg(long, conflicts_with_all = ["fork", "deltas"])]
    pub(crate) dry_run: bool,
}

/// What a run prints on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer
    #[default]
    Text,
    /// One JSON object: the `run.finished` event
    Json,
    /// Every event as it happens, one JSON object per line; the last is `run.finished`
    Jsonl,
}

/// Run a demo in a temporary folder with a scripted model, without a key or network
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "Run a complete demo in a temporary folder with the built-in scripted model, \
                  through the real engine, wire format, gate and store. It needs no key and no \
                  network. The scripted model plays back prepared replies; it is not a language \
                  model.",
    after_help = "Examples:\n  \
        weir demo\n  \
        weir demo --keep         then try `weir undo` and `weir audit tail`"
)]
pub(crate) struct DemoArgs {
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Keep the folder and the session, and print where they are
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print no progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(super) fn parse_usd(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("an amount of US dollars above 0, such as 0.50".to_owned()),
    }
}
