//! The words of `weir worktrees` (R7).

use clap::{Args, Subcommand};

use super::JsonFlag;

/// What to do with the worktrees of sessions.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum WorktreesCommand {
    /// List the worktrees of this project, with their sessions
    #[command(after_help = "Example:\n  weir worktrees list")]
    List(JsonFlag),
    /// Show what was changed in a worktree
    #[command(after_help = "Example:\n  weir worktrees diff fix-login")]
    Diff(WorktreeArgs),
    Merge(WorktreesMergeArgs),
    Drop(WorktreesDropArgs),
}

/// A worktree.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorktreeArgs {
    /// Name of the worktree, or id of a session that works in it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Take the changes of a worktree over into the project
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Take the changes of a worktree over into the project. A file that changed in both \
                  is merged line by line; if the same lines changed, nothing is changed at all. The \
                  files are saved first: `weir undo`, in the project, takes the merge back.",
    after_help = "Examples:\n  \
        weir worktrees merge fix-login\n  \
        weir worktrees merge fix-login --drop     and remove the worktree\n  \
        weir worktrees merge 0198c5e0 --dry-run   by a session that works in it\n\n\
        Exit status: 0 merged or nothing to do, 1 conflicts (nothing was changed)."
)]
pub(crate) struct WorktreesMergeArgs {
    #[command(flatten)]
    pub(crate) worktree: WorktreeArgs,
    /// Show what would be done and change nothing
    #[arg(long, conflicts_with = "drop")]
    pub(crate) dry_run: bool,
    /// Remove the worktree once its changes are in the project
    #[arg(long)]
    pub(crate) drop: bool,
}

/// Remove a worktree and what was changed in it
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Remove a worktree and what was changed in it. One with changes that are not in the \
                  project is removed with --force only. Its sessions can be shown, but not continued.",
    after_help = "Example:\n  weir worktrees drop fix-login --force"
)]
pub(crate) struct WorktreesDropArgs {
    /// Name of the worktree, or id of a session that works in it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Remove it even if its changes are not in the project
    #[arg(long)]
    pub(crate) force: bool,
}
