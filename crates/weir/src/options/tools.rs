//! Words of `weir tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonFlag;

/// `weir tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Every tool with its group: built in, made, and of this workspace's files
    #[command(after_help = "Examples:\n  weir tools list\n  weir tools list --json")]
    List(JsonFlag),
    /// What a model reads about a tool; of a made one all of its code
    #[command(
        after_help = "Examples:\n  weir tools show edit_file\n  weir tools show edit_file --json"
    )]
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    Add(ToolsAddArgs),
    Accept(ToolsAcceptArgs),
    /// Switch a made tool off; it stays there
    #[command(after_help = "Example:\n  weir tools disable count_words")]
    Disable(ToolNameArgs),
    /// Take a made tool away for good
    #[command(after_help = "Example:\n  weir tools remove count_words")]
    Remove(ToolNameArgs),
}

/// Make a tool from a definition: JSON with its JavaScript
#[derive(Debug, Args)]
#[command(
    long_about = "Make a tool from a definition, a JSON object: `name`, `description`, \
                  `input_schema`, `effects` (`reads`, `writes`, `deletes`, `hosts`, `tools`) and \
                  `code`, or `code_file` beside it. All of it is shown, then you are asked. Agents \
                  have it from their next session on.",
    after_help = "Examples:\n  weir tools add count_words.json\n  weir tools add count_words.json --yes"
)]
pub(crate) struct ToolsAddArgs {
    /// The definition
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Let a tool be used: one of this workspace's files, or one that is off
#[derive(Debug, Args)]
#[command(
    long_about = "Let a tool be used: one that stands in `.weir/tools/` of this workspace, or one \
                  that is switched off. All of it is shown, then you are asked. It holds for \
                  exactly this text: a change switches the tool off until it is accepted again.",
    after_help = "Examples:\n  weir tools accept count_words\n  weir tools accept count_words --yes"
)]
pub(crate) struct ToolsAcceptArgs {
    /// Its name
    pub(crate) name: String,
    /// Accept it although words from outside went into it: read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which made tool.
#[derive(Debug, Args)]
pub(crate) struct ToolNameArgs {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
