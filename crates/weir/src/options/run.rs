//! The words of `weir run` and `weir demo` (C2).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{PermissionWord, Span, ThinkingWord, span};

const EXAMPLES: &str = "\
Examples:
  weir run \"fix the failing test\"
  weir run --permission auto-edit --allow 'Shell(cargo test:*)' \"make the tests pass\"
  weir run --output json --max-iterations 10 \"list the public functions\" > answer.json
  weir run - < task.md                        the task, in your own words, from a file
  git diff | weir run \"review this\" -        what is piped in goes with the task as an attachment
  weir run --continue \"now the documentation too\"
  weir run --resume 0198c5e0 \"yes, use the second one\"
  weir run --attach screenshot.png \"why does this page look wrong?\"
  weir run --ask-elsewhere \"tidy up\" &       waits for `weir approvals answer`
  weir run --dry-run \"anything\"               shows what the model would be told

Nobody can be asked when a run is not attended (standard input or standard error is no terminal):
what would ask is then denied, listed in `denials`, and the run ends with status `needs_input`.
With --ask-elsewhere it waits for `weir approvals answer` instead, at most as long as the setting
limits.approval_timeout says (24h); no answer is a denial.

Exit status: 0 completed, 1 failed, 2 usage or configuration error (nothing was run), 3 stopped by
a limit, 4 needs a person, 5 Weir is paused, 130 and 143 cancelled by SIGINT and SIGTERM.";

/// One run without a screen: a task in, an answer out
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "One run without a screen. Progress goes to standard error, the final answer \
                  alone to standard output. Every call of a tool passes the gate; every change \
                  of a file is saved first (`weir undo`); everything stands in the journal \
                  (`weir sessions show`).",
    after_help = EXAMPLES
)]
pub(crate) struct RunArgs {
    /// The task; `-` alone or nothing reads it from standard input
    pub(crate) prompt: Option<String>,
    /// Beside a task: standard input goes with it as an attachment, in somebody else's words
    #[arg(value_name = "-")]
    pub(crate) beside: Option<String>,
    /// The model, as PROVIDER/NAME (`weir models` lists them) or `script:FILE`
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Which tools, instructions and limits the agent has (`weir profiles list`)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// How much the model thinks [default: medium where it can]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) thinking: Option<ThinkingWord>,
    /// How much passes without asking [default: ask]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// A rule that lets calls pass, such as 'Shell(cargo test:*)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// A rule that refuses calls, such as 'Edit(/etc/**)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// What stands on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// With --output jsonl: streamed text and output of commands too
    #[arg(long)]
    pub(crate) deltas: bool,
    /// Go on with this session; without a prompt an interrupted run goes on where it stopped
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) resume: Option<String>,
    /// Go on with the newest session of this folder
    #[arg(long = "continue", group = "which")]
    pub(crate) continue_last: bool,
    /// Begin a new session with the history of this one
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) fork: Option<String>,
    /// An image, PDF or text file to go with the prompt; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Most model calls of the run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Most calls of tools in the run
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls: Option<u32>,
    /// Most USD the run may cost (needs a model whose price is known)
    #[arg(long, value_name = "X", value_parser = usd)]
    pub(crate) budget_usd: Option<f64>,
    /// Most tokens the run may use
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
    /// Most time the run may take: 90s, 10m
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub(crate) timeout: Option<Span>,
    /// This file instead of Weir's system prompt
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    pub(crate) system_prompt: Option<PathBuf>,
    /// This file together with Weir's system prompt
    #[arg(long, value_name = "FILE")]
    pub(crate) append_system_prompt: Option<PathBuf>,
    /// The final answer must match the JSON Schema in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// What asks waits for `weir approvals answer`, whether there is a terminal or not
    #[arg(long)]
    pub(crate) ask_elsewhere: bool,
    /// Any denial fails the run
    #[arg(long)]
    pub(crate) strict: bool,
    /// No progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print what would be sent, by section with sizes, and send nothing
    #[arg(long, conflicts_with_all = ["fork", "deltas"])]
    pub(crate) dry_run: bool,
}

/// What a run prints on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer
    #[default]
    Text,
    /// One object: the `run.finished` event
    Json,
    /// Every event as it happens, one a line; the last is `run.finished`
    Jsonl,
}

/// A complete run on a throwaway folder with a scripted model: no key, no network
#[derive(Debug, Clone, Default, Args)]
#[command(
    long_about = "A complete run on a throwaway folder with the built-in scripted model, through \
                  the real engine, wire format, gate and store. No key and no network are needed. \
                  The model is scripted: it plays written replies, it does not think.",
    after_help = "Examples:\n  \
        weir demo\n  \
        weir demo --keep         then try `weir undo`, `weir audit tail`"
)]
pub(crate) struct DemoArgs {
    /// What stands on standard output
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Keep folder and session, and say where they are
    #[arg(long)]
    pub(crate) keep: bool,
    /// No progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(super) fn usd(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("an amount of US dollars above 0, such as 0.50".to_owned()),
    }
}
