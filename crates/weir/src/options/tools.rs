//! Words of `weir tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{JsonFlag, ReviewFlags};

/// `weir tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List tools with their groups: built-in ones, custom ones, and those of this workspace
    #[command(after_help = "Examples:\n  weir tools list\n  weir tools list --json")]
    List(JsonFlag),
    /// Show what a model reads about a tool, and the code of a custom tool
    #[command(
        after_help = "Examples:\n  weir tools show edit_file\n  weir tools show edit_file --json"
    )]
    Show {
        /// Name of the tool
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    Add(ToolsAddArgs),
    Accept(ToolsAcceptArgs),
    /// Disable a custom tool without removing it
    #[command(after_help = "Example:\n  weir tools disable count_words")]
    Disable(ToolNameArgs),
    /// Remove a custom tool permanently
    #[command(after_help = "Example:\n  weir tools remove count_words")]
    Remove(ToolNameArgs),
}

/// Add a custom tool from a definition: JSON with JavaScript code
#[derive(Debug, Args)]
#[command(
    long_about = "Add a custom tool from a definition, a JSON object with `name`, `description`, \
                  `input_schema`, `effects` (`reads`, `writes`, `deletes`, `hosts`, `tools`) and \
                  `code`, or `code_file`, the path of a file next to it. You see all of it and are \
                  asked to confirm. Agents can use the tool from their next session on.",
    after_help = "Examples:\n  weir tools add count_words.json\n  weir tools add count_words.json --yes"
)]
pub(crate) struct ToolsAddArgs {
    /// File with the definition
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Accept a custom tool: one from this workspace's files, or a disabled one
#[derive(Debug, Args)]
#[command(
    long_about = "Accept a custom tool: one from `.weir/tools/` of this workspace, or one that is \
                  disabled. You see all of it and are asked to confirm. This applies to exactly \
                  this text: a change disables the tool until you accept it again.",
    after_help = "Examples:\n  weir tools accept count_words\n  weir tools accept count_words --yes"
)]
pub(crate) struct ToolsAcceptArgs {
    /// Name of the tool
    pub(crate) name: String,
    /// Accept it although outside content was involved; read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which custom tool.
#[derive(Debug, Args)]
pub(crate) struct ToolNameArgs {
    /// Name of the tool
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
