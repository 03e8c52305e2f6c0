//! The words of `weir memory` (M4).

use clap::{Args, Subcommand, ValueEnum};
use weir_core::memory::{IMPORTANCE_DEFAULT, MemoryKind, MemoryStatus};

use super::{EditFlags, JsonFlag, ReviewFlags};

/// `weir memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    List(MemoryListArgs),
    Search(MemorySearchArgs),
    Add(MemoryAddArgs),
    Inbox(MemoryInboxArgs),
    Accept(MemoryAcceptArgs),
    Reject(MemoryRejectArgs),
    Forget(MemoryForgetArgs),
    Export(MemoryExportArgs),
}

/// List remembered facts about this workspace and about all workspaces, newest first
#[derive(Debug, Args)]
#[command(
    long_about = "List facts that are remembered between sessions, about this workspace and about \
                  all workspaces, newest first. Facts based on outside content, which anybody may \
                  have written, are marked UNTRUSTED: a model gets them as data only.",
    after_help = "Examples:\n  \
        weir memory list\n  \
        weir memory list --kind preference\n  \
        weir memory list --all --json"
)]
pub(crate) struct MemoryListArgs {
    #[command(flatten)]
    pub(crate) which: MemoryWhich,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Find facts that contain at least one of the given words, best match first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir memory search release script\n  weir memory search tabs --all"
)]
pub(crate) struct MemorySearchArgs {
    /// Words to search for, in texts and topics
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) which: MemoryWhich,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which facts.
#[derive(Debug, Clone, Args)]
pub(crate) struct MemoryWhich {
    /// List only facts of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindWord>,
    /// List facts in this state [default: kept]
    #[arg(long, value_enum, value_name = "STATE", conflicts_with = "all")]
    pub(crate) status: Option<StatusWord>,
    /// List facts of all workspaces, in any state
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of facts to list
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

/// Add a fact yourself; it needs no acceptance
#[derive(Debug, Args)]
#[command(
    long_about = "Add a fact yourself. It needs no acceptance and is used from the first message \
                  of the next session on. Facts of kind identity or preference apply in all \
                  workspaces, others in this workspace only, unless you add --everywhere. A fact \
                  that was rejected, forgotten or replaced is restored.",
    after_help = "Examples:\n  \
        weir memory add \"The release script is scripts/release.sh\" --topic release\n  \
        weir memory add \"Answer in German\" --kind preference --importance 5\n  \
        weir memory add \"Never rebase a branch that others use\" --kind lesson --everywhere"
)]
pub(crate) struct MemoryAddArgs {
    /// The fact, in one or two sentences, such as "Tests run with `just test`"
    pub(crate) text: String,
    /// What the fact is about
    #[arg(long, value_enum, value_name = "KIND", default_value = "project")]
    pub(crate) kind: KindWord,
    /// Importance, from 1 (may be dropped) to 5 (always used)
    #[arg(
        long,
        value_name = "N",
        default_value_t = IMPORTANCE_DEFAULT,
        value_parser = clap::value_parser!(u8).range(1..=5)
    )]
    pub(crate) importance: u8,
    /// Keyword to find the fact by; may be repeated
    #[arg(long = "topic", value_name = "WORD")]
    pub(crate) topics: Vec<String>,
    /// Use the fact in all workspaces
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Mark the fact as private: sessions that use it count as holding private data
    #[arg(long)]
    pub(crate) private: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// List facts that agents proposed and that wait for your decision
#[derive(Debug, Args)]
#[command(
    long_about = "List facts that agents proposed, in all workspaces: the text, where it came \
                  from, and whether outside content was involved. No fact is used before you \
                  accept it.",
    after_help = "Examples:\n  weir memory inbox\n  weir memory inbox --json"
)]
pub(crate) struct MemoryInboxArgs {
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Facts by their ids
#[derive(Debug, Args)]
pub(crate) struct MemoryIdsArgs {
    /// Ids of facts (`weir memory inbox`); their first characters are enough
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Accept facts: they are used from now on
#[derive(Debug, Args)]
#[command(
    long_about = "Accept facts: they are used from now on, as if you had written them. A fact that \
                  replaces another does so now. A fact written while private data was in the \
                  context no longer counts as private, unless you add --private: read it first. A \
                  fact based on outside content stays untrusted: a model gets it as data, never as \
                  an instruction. With --text or --edit one fact is accepted in your own words; \
                  those that were proposed are kept beside it as replaced.",
    after_help = "Examples:\n  weir memory accept 3f2a\n  weir memory accept 3f2a 91c0 --private\n  \
        weir memory accept 3f2a --edit\n  \
        weir memory accept 3f2a --text \"Releases are cut on Mondays\""
)]
pub(crate) struct MemoryAcceptArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
    /// Mark the facts as private: sessions that use them count as holding private data
    #[arg(long)]
    pub(crate) private: bool,
    #[command(flatten)]
    pub(crate) words: EditFlags,
}

/// Reject facts: they are not used, and not proposed again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weir memory reject 3f2a 91c0")]
pub(crate) struct MemoryRejectArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
}

/// Forget facts: they are no longer used, but may be learned again
#[derive(Debug, Args)]
#[command(
    long_about = "Forget facts: they are no longer used. The same fact may be proposed again; use \
                  `weir memory reject` for facts that must not come back. `weir memory accept` \
                  restores a forgotten fact.",
    after_help = "Example:\n  weir memory forget 3f2a"
)]
pub(crate) struct MemoryForgetArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
}

/// Export remembered facts as Markdown
#[derive(Debug, Args)]
#[command(
    long_about = "Export remembered facts about this workspace and about all workspaces as \
                  Markdown, by state and kind, with everything known about each.",
    after_help = "Examples:\n  weir memory export > memory.md\n  weir memory export --all"
)]
pub(crate) struct MemoryExportArgs {
    #[command(flatten)]
    pub(crate) which: MemoryWhich,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindWord {
    /// Who you are
    Identity,
    /// How you want things done
    Preference,
    /// About the workspace
    Project,
    /// Something that happened
    Event,
    /// Lesson from a failure or a correction
    Lesson,
}

impl From<KindWord> for MemoryKind {
    fn from(word: KindWord) -> Self {
        match word {
            KindWord::Identity => MemoryKind::Identity,
            KindWord::Preference => MemoryKind::Preference,
            KindWord::Project => MemoryKind::Project,
            KindWord::Event => MemoryKind::Event,
            KindWord::Lesson => MemoryKind::Lesson,
        }
    }
}

/// How far a fact has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    /// Waiting in the inbox
    Proposed,
    /// In use
    Kept,
    /// Rejected by you
    Rejected,
    /// Removed by you
    Forgotten,
    /// Replaced by another fact
    Superseded,
}

impl From<StatusWord> for MemoryStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Proposed => MemoryStatus::Proposed,
            StatusWord::Kept => MemoryStatus::Kept,
            StatusWord::Rejected => MemoryStatus::Rejected,
            StatusWord::Forgotten => MemoryStatus::Forgotten,
            StatusWord::Superseded => MemoryStatus::Superseded,
        }
    }
}
