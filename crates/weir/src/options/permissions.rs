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
    long_about = "Look at a call as the engine would, let every gate judge it, and print the \
                  verdict, each gate's opinion, the rule with file and line, and what would change \
                  it. Nothing is run. `read PATH` and `write PATH` say which line of which list \
                  decides about a path.",
    after_help = "Examples:\n  \
        weir permissions explain run_shell '{\"command\": \"cargo test\"}'\n  \
        weir permissions explain read_file '{\"path\": \"a.rs\"}' --profile plan\n  \
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
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
