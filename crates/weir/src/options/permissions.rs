//! The words of `weir permissions` (C3, C9).

use clap::{Args, Subcommand, ValueEnum};
use weir_core::governance::label::Taint;

use super::{JsonFlag, PermissionWord, ReviewFlags};

/// `weir permissions`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules that apply here: allow, ask or deny, the rule, and its file and line
    #[command(after_help = "Examples:\n  weir permissions list\n  weir permissions list --json")]
    List(JsonFlag),
    Add(RuleAddArgs),
    Remove(RuleRemoveArgs),
    Explain(ExplainArgs),
    /// List files of this workspace that were written with outside content in the context
    #[command(
        long_about = "List files of this workspace that an agent wrote while outside content (a \
                      web page, a server's answer, another marked file) was in its context. An \
                      agent that reads a marked file counts as having read outside content. When \
                      you have checked a file, `weir permissions unmark` removes its mark.",
        after_help = "Examples:\n  weir permissions marks\n  weir permissions marks --json"
    )]
    Marks(JsonFlag),
    Unmark(UnmarkArgs),
}

/// Remove the mark of a file that you have checked
#[derive(Debug, Args)]
#[command(
    long_about = "Remove the mark of a file: you have read it and vouch for every word in it. \
                  Sessions notice this when their next run starts.",
    after_help = "Example:\n  weir permissions unmark notes/summary.md"
)]
pub(crate) struct UnmarkArgs {
    /// File, as `weir permissions marks` prints it
    pub(crate) path: String,
}

/// The set a rule goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleWord {
    /// Allow matching calls without asking
    Allow,
    /// Ask a person about matching calls
    Ask,
    /// Deny matching calls
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
    /// Use this workspace's .weir/config.toml (its allow rules apply only if it is trusted)
    #[arg(long, group = "target")]
    pub(crate) project: bool,
    /// Use your own configuration (default)
    #[arg(long, group = "target")]
    pub(crate) user: bool,
    /// Use this session only; the first characters of its id are enough
    #[arg(long, value_name = "ID", group = "target")]
    pub(crate) session: Option<String>,
}

/// Add a rule
#[derive(Debug, Args)]
#[command(
    long_about = "Add a rule, after checking it. Deny takes precedence over ask, and ask over \
                  allow, whatever their order and file.\n\n\
                  Examples of rules: Edit(src/**), Read(**/.env), Shell(cargo test:*), \
                  Web(docs.rs), the name of a tool, or *. Read and Edit apply to every tool that \
                  reads or changes a path.",
    after_help = "Examples:\n  \
        weir permissions add allow 'Shell(cargo test:*)'\n  \
        weir permissions add deny 'Read(**/*.pem)' --project\n  \
        weir permissions add ask 'Web(*)' --session 0198c5e0"
)]
pub(crate) struct RuleAddArgs {
    /// What to do with matching calls
    #[arg(value_enum)]
    pub(crate) action: RuleWord,
    /// Rule, such as 'Shell(cargo test:*)'
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) target: RuleTarget,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Remove a rule from all files, or only from the one given
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir permissions remove 'Shell(cargo test:*)'\n  \
        weir permissions remove 'Read(**/*.pem)' --project")]
pub(crate) struct RuleRemoveArgs {
    /// Rule, as `weir permissions list` prints it
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) target: RuleTarget,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Explain why a call would be allowed, asked about or denied, without making it
#[derive(Debug, Args)]
#[command(
    long_about = "Check a call against every gate without making it, and print what it would \
                  access, each gate's verdict, the rule with file and line, and what would change \
                  the verdict. Each suggestion was tried out and is printed only if it leads to a \
                  milder verdict. Hooks and the judge model are not consulted. `read PATH` and \
                  `write PATH` show which line of which list decides about a path.",
    after_help = "Examples:\n  \
        weir permissions explain run_shell '{\"command\": \"cargo test\"}'\n  \
        weir permissions explain read_file '{\"path\": \"a.rs\"}' --profile plan\n  \
        weir permissions explain web_fetch '{\"url\": \"https://docs.rs/\"}' --all-labels\n  \
        weir permissions explain run_shell '{\"command\": \"make\"}' --session last\n  \
        weir permissions explain read .env\n  \
        weir permissions explain write src/main.rs --json"
)]
pub(crate) struct ExplainArgs {
    /// Name of a tool, or `read` or `write` for a path
    pub(crate) tool: String,
    /// Arguments of the tool as JSON, or the path
    #[arg(value_name = "JSON|PATH")]
    pub(crate) input: Option<String>,
    /// Profile to assume
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Permission mode to assume
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// What the context contains; several print a table
    #[arg(long, value_name = "LABEL", value_enum)]
    pub(crate) label: Vec<LabelWord>,
    /// Print the verdict for each of the four --label values
    #[arg(long)]
    pub(crate) all_labels: bool,
    /// Text that the person is assumed to have written; addresses and names in it count as theirs
    #[arg(long, value_name = "TEXT")]
    pub(crate) said: Vec<String>,
    /// Judge it as the next call of this session (its id or `last`), with all its history
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What stands in the context: a column of the flow table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabelWord {
    /// Neither outside content nor private data
    Clean,
    /// Private data, such as files of the workspace
    Private,
    /// Outside content, such as a web page
    External,
    /// Both private data and outside content
    Both,
}

impl From<LabelWord> for Taint {
    fn from(word: LabelWord) -> Taint {
        match word {
            LabelWord::Clean => Taint::Clean,
            LabelWord::Private => Taint::Private,
            LabelWord::External => Taint::External,
            LabelWord::Both => Taint::Both,
        }
    }
}

impl LabelWord {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [LabelWord; 4] =
        [LabelWord::Clean, LabelWord::Private, LabelWord::External, LabelWord::Both];
}
