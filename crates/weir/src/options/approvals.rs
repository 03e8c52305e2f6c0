//! The words of `weir approvals` (G4, Z2).

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, TimeSpan, parse_time_span};

/// `weir approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    List(ApprovalsListArgs),
    Show(ApprovalsShowArgs),
    Answer(ApprovalsAnswerArgs),
    Revoke(ApprovalsRevokeArgs),
}

/// List pending approvals and questions, and the leases that were granted
#[derive(Debug, Args)]
#[command(
    long_about = "List every approval and question that waits for a person, in every session of \
                  this store, with its age and expiry; and the leases (approvals granted for a \
                  session), with the calls or time left on each.",
    after_help = "Examples:\n  weir approvals list\n  weir approvals list --all --json"
)]
pub(crate) struct ApprovalsListArgs {
    /// Include inactive sessions; their leases apply again when they are resumed
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Show an approval or question: exact arguments, whole command, diff
#[derive(Debug, Args)]
#[command(
    long_about = "Show everything about one approval: the exact arguments, the whole command, the \
                  file diff, why it needs approval, and what the model had read before. Invisible \
                  characters and characters that reverse text are written out (<U+202E>); words \
                  with look-alike letters are pointed out.",
    after_help = "Examples:\n  \
        weir approvals show 0198c5e0-a1\n  \
        weir approvals show 0198c5e0-a1 --full | less"
)]
pub(crate) struct ApprovalsShowArgs {
    /// Id of the approval or question, such as 0198c5e0-a1; the session part may be abbreviated
    pub(crate) id: String,
    /// Show every line in full, however many there are
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Answer an approval or question of any session
#[derive(Debug, Args)]
#[command(
    long_about = "Answer an approval or question of any session of this store. A running session \
                  gets the answer at once; otherwise it is saved, and `weir run --resume` \
                  continues with it. The first answer counts: the exit status is 0 if it was this \
                  one, 1 if there was an earlier one.",
    after_help = "Examples:\n  \
        weir approvals answer 0198c5e0-a1 once\n  \
        weir approvals answer 0198c5e0-a1 session --uses 5\n  \
        weir approvals answer 0198c5e0-a1 session --for 10m\n  \
        weir approvals answer 0198c5e0-a1 deny --reason \"not on a Friday\"\n  \
        weir approvals answer 0198c5e0-q2 --text \"the second one\""
)]
pub(crate) struct ApprovalsAnswerArgs {
    /// Id of the approval or question (`weir approvals list`)
    pub(crate) id: String,
    /// Answer to an approval
    #[arg(value_enum, required_unless_present = "text")]
    pub(crate) answer: Option<AnswerWord>,
    /// With deny: reason, given to the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// With session: number of further calls to allow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) uses: Option<u32>,
    /// With session: how long to allow them, such as 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_time_span)]
    pub(crate) span: Option<TimeSpan>,
    /// Answer to a question
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["answer", "reason", "uses", "span"])]
    pub(crate) text: Option<String>,
}

/// An answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerWord {
    /// Allow this call
    Once,
    /// Allow this and similar calls in this session, within --uses and --for
    Session,
    /// Allow this and similar calls in this project from now on; saves a rule in your configuration
    Always,
    /// Deny this call
    Deny,
}

impl From<AnswerWord> for weir_core::event::Decision {
    fn from(word: AnswerWord) -> Self {
        use weir_core::event::Decision;
        match word {
            AnswerWord::Once => Decision::Once,
            AnswerWord::Session => Decision::Session,
            AnswerWord::Always => Decision::Always,
            AnswerWord::Deny => Decision::Deny,
        }
    }
}

/// Revoke a lease: what it allowed needs approval again
#[derive(Debug, Args)]
#[command(
    long_about = "Revoke a lease, which an approval for a session granted. From then on, calls \
                  that it allowed need approval again.",
    after_help = "Example:\n  weir approvals revoke 0198c5e0 2"
)]
pub(crate) struct ApprovalsRevokeArgs {
    /// Session id; its first characters are enough
    pub(crate) session: String,
    /// Number of the lease (`weir approvals list`)
    pub(crate) lease: u32,
}
