//! The words of `weir skills` (C1, M1).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{EditFlags, JsonFlag, ReviewFlags};

/// What `weir skills` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List skills, where each comes from, its problems, and what waits for your decision
    #[command(after_help = "Examples:\n  weir skills list\n  weir skills list --json")]
    List(JsonFlag),
    /// Show a skill: text, files, trigger, hash
    #[command(after_help = "Example:\n  weir skills show code-review")]
    Show(SkillArgs),
    /// Check that skill folders follow the format; exit status 1 if anything is wrong
    #[command(after_help = "Example:\n  weir skills validate .agents/skills/release-notes")]
    Validate(SkillsValidateArgs),
    /// Add a skill of your own: copies the folder; it applies in all workspaces
    #[command(after_help = "Example:\n  weir skills add ~/Downloads/release-notes")]
    Add(SkillsAddArgs),
    /// Remove a skill of your own; its folder is renamed, not deleted
    #[command(after_help = "Example:\n  weir skills remove release-notes")]
    Remove(SkillArgs),
    /// Show skills that agents proposed: full text, and what content was involved
    #[command(after_help = "Examples:\n  weir skills inbox\n  weir skills inbox --json")]
    Inbox(JsonFlag),
    /// Accept a proposed skill: it becomes one of your own
    #[command(
        visible_alias = "approve",
        after_help = "Examples:\n  weir skills accept release-notes\n  \
                      weir skills accept release-notes --untrusted\n  \
                      weir skills accept release-notes --edit"
    )]
    Accept(SkillsAcceptArgs),
    /// Reject a proposed skill
    #[command(after_help = "Example:\n  weir skills reject release-notes")]
    Reject(SkillsRejectArgs),
}

/// One skill.
#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    /// Name of the skill
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which folders are held against the format.
#[derive(Debug, Args)]
pub(crate) struct SkillsValidateArgs {
    /// Folders of skills
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which folder becomes a skill of the person's own.
#[derive(Debug, Args)]
pub(crate) struct SkillsAddArgs {
    /// Folder of the skill
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which proposal is accepted.
#[derive(Debug, Args)]
pub(crate) struct SkillsAcceptArgs {
    /// Name of the skill
    pub(crate) name: String,
    /// Accept it although outside content was involved; read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) words: EditFlags,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which proposal is rejected.
#[derive(Debug, Args)]
pub(crate) struct SkillsRejectArgs {
    /// Name of the skill
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
