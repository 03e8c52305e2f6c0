//! The words of `weir skills` (C1, M1).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonFlag;

/// What `weir skills` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Every skill, where it is from, what is wrong with it, and what waits for you
    #[command(after_help = "Examples:\n  weir skills list\n  weir skills list --json")]
    List(JsonFlag),
    /// A skill whole: text, files, trigger, hash
    #[command(after_help = "Example:\n  weir skills show code-review")]
    Show(SkillArgs),
    /// Hold a skill's folder against the format; exit status 1 when anything is wrong
    #[command(after_help = "Example:\n  weir skills validate .agents/skills/release-notes")]
    Validate(SkillsValidateArgs),
    /// Put a skill's folder among your own: it is copied, and holds in every workspace
    #[command(after_help = "Example:\n  weir skills add ~/Downloads/release-notes")]
    Add(SkillsAddArgs),
    /// Take a skill of your own away; it is kept beside the others and can be moved back
    #[command(after_help = "Example:\n  weir skills remove release-notes")]
    Remove(SkillArgs),
    /// What an agent proposed: whole texts, and whose words went into them
    #[command(after_help = "Examples:\n  weir skills inbox\n  weir skills inbox --json")]
    Inbox(JsonFlag),
    /// Accept what an agent proposed: it is a skill of yours from then on
    #[command(
        visible_alias = "approve",
        after_help = "Examples:\n  weir skills accept release-notes\n  \
                      weir skills accept release-notes --untrusted"
    )]
    Accept(SkillsAcceptArgs),
    /// Say no to what an agent proposed
    #[command(after_help = "Example:\n  weir skills reject release-notes")]
    Reject(SkillArgs),
}

/// One skill.
#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    /// Its name
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
    /// The folder of the skill
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which proposal is accepted.
#[derive(Debug, Args)]
pub(crate) struct SkillsAcceptArgs {
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
