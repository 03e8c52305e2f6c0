//! The words of `weir trust` (C1, C9).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{JsonFlag, ReviewFlags};

/// Trust a workspace: let its files define hooks, MCP servers, scripts and allow rules
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "Trust a workspace: let its files define hooks, MCP servers, skill scripts, \
                  custom tools, allow rules, endpoints, and settings that allow more than your \
                  own. Shows each of these with its file and asks for confirmation. When one of \
                  the files changes, none of them is loaded until you confirm again. Deny rules, \
                  ignore lists and protect lists always apply.\n\n\
                  --json prints the same and changes nothing, unless you add --yes. An agent \
                  cannot trust a workspace: the command is refused if an agent started it.",
    after_help = "Examples:\n  \
        weir trust\n  \
        weir trust ~/src/project\n  \
        weir trust --json\n  \
        weir trust list\n  \
        weir trust remove ~/src/project\n\n\
        A folder that is called `list` or `remove` is named by its path: `weir trust ./list`.\n\n\
        Exit status: 0 trusted (or only shown), 1 you refused, 2 it cannot be trusted."
)]
pub(crate) struct TrustArgs {
    /// What to do; nothing: trust the workspace
    #[command(subcommand)]
    pub(crate) command: Option<TrustCommand>,
    /// Workspace folder [default: the current folder]
    #[arg(value_name = "DIR", conflicts_with = "list")]
    pub(crate) folder: Option<PathBuf>,
    /// The same as `weir trust list`
    #[arg(long, conflicts_with_all = ["remove", "yes", "preview", "as_shown"])]
    pub(crate) list: bool,
    /// The same as `weir trust remove`
    #[arg(long, conflicts_with_all = ["yes", "preview", "as_shown"])]
    pub(crate) remove: bool,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Below `weir trust`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List the workspaces that you trusted, and whether they still are trusted
    #[command(after_help = "Examples:\n  weir trust list\n  weir trust list --json")]
    List(JsonFlag),
    /// Stop trusting a workspace
    #[command(after_help = "Examples:\n  weir trust remove\n  weir trust remove ~/src/project")]
    Remove(TrustRemoveArgs),
}

/// `weir trust remove`.
#[derive(Debug, Args)]
pub(crate) struct TrustRemoveArgs {
    /// Workspace folder, also one that is gone [default: the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

impl TrustArgs {
    /// Whether the trusted workspaces are listed.
    pub(crate) fn is_list(&self) -> bool {
        self.list || matches!(self.command, Some(TrustCommand::List(_)))
    }

    /// Whether a workspace is trusted no longer.
    pub(crate) fn is_removal(&self) -> bool {
        self.remove || matches!(self.command, Some(TrustCommand::Remove(_)))
    }

    /// `list` or `remove` behind a flag: there the parser takes them for the name of a folder.
    pub(crate) fn misplaced_word(&self) -> Option<&str> {
        let word = self.folder.as_deref()?.to_str()?;
        matches!(word, "list" | "remove").then_some(word)
    }
}
