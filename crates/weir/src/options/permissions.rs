//! The words of `weir permissions` (C3, C9).

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, PermissionWord};

/// `weir permissions`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Every rule that holds here: set, text, and the file and line it stands in
    #[command(after_help = "Examples:\n  weir permissions list\n  weir permissions list --json")]
    List(JsonFlag),
    Add(RuleAddArgs),
    Remove(RuleRemoveArgs),
    Explain(ExplainArgs),
    /// Files of this workspace that were written while foreign words stood in the context
    #[command(
        long_about = "Files of this workspace that an agent wrote while foreign words (a page, a \
                      server's answer, another marked file) stood in its context. Whoever reads \
                      them reads foreign words; `weir permissions unmark` vouches for one.",
        after_help = "Examples:\n  weir permissions marks\n  weir permissions marks --json"
    )]
    Marks(JsonFlag),
    Unmark(UnmarkArgs),
}

/// Vouch for a marked file: you have read it
#[derive(Debug, Args)]
#[command(
    long_about = "Take the mark of a file away: you have read it and vouch for every word in it. \
                  Sessions hear of it when their next run starts.",
    after_help = "Example:\n  weir permissions unmark notes/summary.md"
)]
pub(crate) struct UnmarkArgs {
    /// The file, as `weir permissions marks` prints it
    pub(crate) path: String,
}

/// The set a rule goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleWord {
    /// What it matches passes without asking
    Allow,
    /// What it matches asks a person
    Ask,
    /// What it matches is refused
    Deny,
}

impl From<RuleWord> for weir_core::governance::rules::RuleAction {
    fn from(word: RuleWord) -> Self {
        use weir_core::governance::rules::RuleAction;
        match word {
            RuleWord::Allow => RuleAction::Allow,
            RuleWord::Ask => RuleAction::Ask,
            RuleWord::Deny => RuleAction::Deny,
        }
    }
}

/// Where a rule is kept.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RuleTarget {
    /// In this workspace's .weir/config.toml (its allow rules hold only once it is trusted)
    #[arg(long, group = "target")]
    pub(crate) project: bool,
    /// In your own configuration, the default
    #[arg(long, group = "target")]
    pub(crate) user: bool,
    /// In this session alone; the beginning of its id will do
    #[arg(long, value_name = "ID", group = "target")]
    pub(crate) session: Option<String>,
}

/// Add a rule; it is checked first
#[derive(Debug, Args)]
#[command(
    long_about = "Add a rule. deny beats ask beats allow, whatever the order and the file.\n\n\
                  Rules: Edit(src/**), Read(**/.env), Shell(cargo test:*), Web(docs.rs), the name \
                  of a tool, or *. Read and Edit cover every tool that reads or changes a path.",
    after_help = "Examples:\n  \
        weir permissions add allow 'Shell(cargo test:*)'\n  \
        weir permissions add deny 'Read(**/*.pem)' --project\n  \
        weir permissions add ask 'Web(*)' --session 0198c5e0"
)]
pub(crate) struct RuleAddArgs {
    /// Its set
    #[arg(value_enum)]
    pub(crate) action: RuleWord,
    /// The rule
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) target: RuleTarget,
}

/// Remove a rule wherever it stands, or only from the named place
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir permissions remove 'Shell(cargo test:*)'\n  \
        weir permissions remove 'Read(**/*.pem)' --project")]
pub(crate) struct RuleRemoveArgs {
    /// The rule as `weir permissions list` prints it
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) target: RuleTarget,
}

/// Why a call would be allowed, asked or denied, without making it
#[derive(Debug, Args)]
#[command(
    long_about = "Look at a call as the engine would, let every gate judge it, and print what it \
                  would touch, each gate's opinion, the rule with file and line, and what would \
                  change it. Each change that is named was tried: it is printed only if the \
                  verdict becomes milder. Nothing is run; hooks and a judge model are not asked. \
                  `read PATH` and `write PATH` say which line of which list decides about a path.",
    after_help = "Examples:\n  \
        weir permissions explain run_shell '{\"command\": \"cargo test\"}'\n  \
        weir permissions explain read_file '{\"path\": \"a.rs\"}' --profile plan\n  \
        weir permissions explain web_fetch '{\"url\": \"https://docs.rs/\"}' --all-labels\n  \
        weir permissions explain run_shell '{\"command\": \"make\"}' --session last\n  \
        weir permissions explain read .env\n  \
        weir permissions explain write src/main.rs --json"
)]
pub(crate) struct ExplainArgs {
    /// A tool, or `read` or `write` for a path
    pub(crate) tool: String,
    /// The tool's arguments as JSON, or the path
    #[arg(value_name = "JSON|PATH")]
    pub(crate) input: Option<String>,
    /// As this profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// In this permission mode
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// With this in the context: words from outside, private data; several give a table
    #[arg(long, value_name = "LABEL", value_enum)]
    pub(crate) label: Vec<LabelWord>,
    /// The verdict for each of the four contexts
    #[arg(long)]
    pub(crate) all_labels: bool,
    /// As if the person had said this; addresses and names in it count as theirs
    #[arg(long, value_name = "TEXT")]
    pub(crate) said: Vec<String>,
    /// As the next call of this session: what it read, was told, granted and did before
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What stands in the context: a column of the flow table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabelWord {
    /// Neither words from outside nor private data
    Clean,
    /// Private data, such as files of the workspace
    Private,
    /// Words from outside, such as a page
    External,
    /// Both
    Both,
}

impl LabelWord {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [LabelWord; 4] =
        [LabelWord::Clean, LabelWord::Private, LabelWord::External, LabelWord::Both];
}
