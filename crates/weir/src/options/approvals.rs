//! The words of `weir approvals` (G4, Z2).

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, Span, span};

/// `weir approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    List(ApprovalsListArgs),
    Show(ApprovalsShowArgs),
    Answer(ApprovalsAnswerArgs),
    Revoke(ApprovalsRevokeArgs),
}

/// What waits for a person: approvals, questions; and the leases that were granted
#[derive(Debug, Args)]
#[command(
    long_about = "Every approval and question that waits for a person, in every session of this \
                  store, with its age and its end; and the leases that approvals for a session \
                  granted, with what is left of them.",
    after_help = "Examples:\n  weir approvals list\n  weir approvals list --all --json"
)]
pub(crate) struct ApprovalsListArgs {
    /// Look into sessions at rest too: their leases hold when they are taken up again
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// One approval or question: the exact arguments, the whole command, the difference
#[derive(Debug, Args)]
#[command(
    long_about = "Everything about one approval: the exact arguments, the whole command, the \
                  difference of files, why it is asked, what the model had read before it asked. \
                  Characters that hide or turn a line round are written out (<U+202E>); words \
                  whose letters look like others are named.",
    after_help = "Examples:\n  \
        weir approvals show 0198c5e0-a1\n  \
        weir approvals show 0198c5e0-a1 --full | less"
)]
pub(crate) struct ApprovalsShowArgs {
    /// The approval or question; the beginning of its session's id will do: 0198c5e0-a1
    pub(crate) id: String,
    /// Every line, however long it is
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Answer an approval or a question, whichever program runs its session
#[derive(Debug, Args)]
#[command(
    long_about = "Answer an approval or a question of any session of this store. A program that \
                  runs the session hears of it at once; where none does, the answer is kept and \
                  `weir run --resume` goes on with it. The first answer wins: exit status 0 when \
                  it was this one, 1 when it was not.",
    after_help = "Examples:\n  \
        weir approvals answer 0198c5e0-a1 once\n  \
        weir approvals answer 0198c5e0-a1 session --uses 5\n  \
        weir approvals answer 0198c5e0-a1 session --for 10m\n  \
        weir approvals answer 0198c5e0-a1 deny --reason \"not on a Friday\"\n  \
        weir approvals answer 0198c5e0-q2 --text \"the second one\""
)]
pub(crate) struct ApprovalsAnswerArgs {
    /// The approval or question (`weir approvals list`)
    pub(crate) id: String,
    /// The answer to an approval
    #[arg(value_enum, required_unless_present = "text")]
    pub(crate) answer: Option<AnswerWord>,
    /// With deny: why; the model reads it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// With session: for so many further calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) uses: Option<u32>,
    /// With session: for so long, such as 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    pub(crate) span: Option<Span>,
    /// The answer to a question
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["answer", "reason", "uses", "span"])]
    pub(crate) text: Option<String>,
}

/// An answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerWord {
    /// This call
    Once,
    /// This and like calls in this session, as far as --uses and --for reach
    Session,
    /// This and like calls from now on: the rule is kept in your configuration
    Always,
    /// Not this call
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

/// Take a lease back: what it allowed asks again
#[derive(Debug, Args)]
#[command(
    long_about = "Take back what an approval for a session granted. Calls that are judged from \
                  now on ask again.",
    after_help = "Example:\n  weir approvals revoke 0198c5e0 2"
)]
pub(crate) struct ApprovalsRevokeArgs {
    /// The session; the beginning of its id will do
    pub(crate) session: String,
    /// The lease's number (`weir approvals list`)
    pub(crate) lease: u32,
}
