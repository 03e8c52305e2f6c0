//! The words of `weir memory` (M4).

use clap::{Args, Subcommand, ValueEnum};
use weir_core::memory::{IMPORTANCE_DEFAULT, MemoryKind, MemoryStatus};

use super::JsonFlag;

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

/// Facts that are remembered: about this workspace and about every one, newest first
#[derive(Debug, Args)]
#[command(
    long_about = "Facts that are remembered beyond one session: about this workspace, and about \
                  every one. The newest stand first. What was made from words that anybody may \
                  have written is marked UNTRUSTED: a model is told of it as data only.",
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

/// Facts in which at least one of these words stands, the best fit first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir memory search release script\n  weir memory search tabs --all"
)]
pub(crate) struct MemorySearchArgs {
    /// Words to look for, in text and topics
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
    /// Only facts of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindWord>,
    /// Facts in this state instead of those that are kept
    #[arg(long, value_enum, value_name = "STATE", conflicts_with = "all")]
    pub(crate) status: Option<StatusWord>,
    /// Facts of every workspace and in every state
    #[arg(long)]
    pub(crate) all: bool,
    /// At most so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

/// Remember a fact yourself: it counts at once
#[derive(Debug, Args)]
#[command(
    long_about = "Remember a fact yourself: it counts at once, from the next session's first \
                  message on. Who you are and how you want things done is remembered everywhere; \
                  other facts belong to this workspace, unless --everywhere says otherwise. A fact \
                  that was rejected, forgotten or replaced comes back.",
    after_help = "Examples:\n  \
        weir memory add \"The release script is scripts/release.sh\" --topic release\n  \
        weir memory add \"Answer in German\" --kind preference --importance 5\n  \
        weir memory add \"Never rebase a branch that others use\" --kind lesson --everywhere"
)]
pub(crate) struct MemoryAddArgs {
    /// The fact: one sentence or two, such as "Tests run with `just test`"
    pub(crate) text: String,
    /// What it is about
    #[arg(long, value_enum, value_name = "KIND", default_value = "project")]
    pub(crate) kind: KindWord,
    /// From 1 (may be lost) to 5 (always told)
    #[arg(
        long,
        value_name = "N",
        default_value_t = IMPORTANCE_DEFAULT,
        value_parser = clap::value_parser!(u8).range(1..=5)
    )]
    pub(crate) importance: u8,
    /// A word to find it by; may be given several times
    #[arg(long = "topic", value_name = "WORD")]
    pub(crate) topics: Vec<String>,
    /// It holds in every workspace
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Sessions that are told of it count as holding private data
    #[arg(long)]
    pub(crate) private: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Facts that an agent wants remembered and that wait for you
#[derive(Debug, Args)]
#[command(
    long_about = "Facts that an agent wants remembered, of every workspace: what it wrote, where \
                  it came from, and whether words from outside went into it. Nothing of it is used \
                  until you accept it.",
    after_help = "Examples:\n  weir memory inbox\n  weir memory inbox --json"
)]
pub(crate) struct MemoryInboxArgs {
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Facts by their ids
#[derive(Debug, Args)]
pub(crate) struct MemoryIdsArgs {
    /// The facts (`weir memory inbox`); the beginning of an id will do
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Keep facts: they are told from now on
#[derive(Debug, Args)]
#[command(
    long_about = "Keep facts: they are told from now on, as your own. One that takes the place of \
                  another does so now. Written down beside private data it is private no longer, \
                  unless you say --private: read it before. A fact from outside stays untrusted: a \
                  model is told of it as data, never as an instruction.",
    after_help = "Examples:\n  weir memory accept 3f2a\n  weir memory accept 3f2a 91c0 --private"
)]
pub(crate) struct MemoryAcceptArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
    /// Sessions that are told of them count as holding private data
    #[arg(long)]
    pub(crate) private: bool,
}

/// Say no to facts: they are not used, and not proposed again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weir memory reject 3f2a 91c0")]
pub(crate) struct MemoryRejectArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
}

/// Take facts away: they are not used any more, but may be learned anew
#[derive(Debug, Args)]
#[command(
    long_about = "Take facts away: they are not told any more. Should one be said again, it is \
                  new; `weir memory reject` is for what must not come back. `weir memory accept` \
                  brings it back.",
    after_help = "Example:\n  weir memory forget 3f2a"
)]
pub(crate) struct MemoryForgetArgs {
    #[command(flatten)]
    pub(crate) which: MemoryIdsArgs,
}

/// The memory as a page of Markdown
#[derive(Debug, Args)]
#[command(
    long_about = "The memory as a page of Markdown, by state and kind: facts about this workspace \
                  and about every one, with all that is known of each.",
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
    /// What was learned from a failure or a correction
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
    /// It waits in the inbox
    Proposed,
    /// It is used
    Kept,
    /// You said no
    Rejected,
    /// You took it away
    Forgotten,
    /// Another fact took its place
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
