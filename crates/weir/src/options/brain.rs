//! The words of `weir brain` (K12).

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weir_core::brain::BrainEntryKind;

use super::JsonFlag;

/// `weir brain`.
#[derive(Debug, Subcommand)]
pub(crate) enum BrainCommand {
    List(BrainListArgs),
    Search(BrainSearchArgs),
    Show(BrainShowArgs),
    Add(BrainAddArgs),
    Edit(BrainEditArgs),
    Forget(BrainForgetArgs),
    Restore(BrainRestoreArgs),
    Delete(BrainDeleteArgs),
    Export(BrainExportArgs),
}

/// List the entries of your brain, the last changed first
#[derive(Debug, Args)]
#[command(
    long_about = "List the entries of your brain, the last changed first. Entries based on outside \
                  content, which anybody may have written, are marked UNTRUSTED: a model gets them \
                  as data only.",
    after_help = "Examples:\n  \
        weir brain list\n  \
        weir brain list --kind snippet\n  \
        weir brain list --forgotten --json"
)]
pub(crate) struct BrainListArgs {
    /// List only entries of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<BrainKindWord>,
    /// List forgotten entries instead
    #[arg(long, conflicts_with = "all")]
    pub(crate) forgotten: bool,
    /// List forgotten entries too
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of entries to list
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Find entries by words and by meaning, best match first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir brain search when is high water\n  weir brain search rope --json"
)]
pub(crate) struct BrainSearchArgs {
    /// A question or words
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Maximum number of entries to show
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Show an entry with everything known about it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir brain show 3f2a\n  weir brain show 3f2a --json")]
pub(crate) struct BrainShowArgs {
    /// Id of the entry (`weir brain list`); its first characters are enough
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Add an entry: a text, a file, or standard input
#[derive(Debug, Args)]
#[command(
    long_about = "Add an entry to your brain: a text, a text file, or standard input with `-`. \
                  Without --title its first line becomes the title. What looks like a key or \
                  password is taken out, because entries are given to models. A page (--kind page) \
                  counts as outside content: a model gets it as data only.",
    after_help = "Examples:\n  \
        weir brain add \"The chandler opens at seven.\" --topic boat\n  \
        weir brain add --file tides.md\n  \
        curl -s https://example.org | weir brain add - --kind page --source https://example.org"
)]
pub(crate) struct BrainAddArgs {
    /// The text, in Markdown; `-` reads standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// Read the text from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Title [default: the first line]
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// What the entry is [default: note; file with --file]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<BrainKindWord>,
    /// Word to find the entry by; may be repeated
    #[arg(long = "topic", value_name = "WORD")]
    pub(crate) topics: Vec<String>,
    /// Where it comes from, such as the address of a page [default: the path of --file]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Change an entry, in your editor or with a new text
#[derive(Debug, Args)]
#[command(
    long_about = "Change an entry. Without a new text, title or topics its text opens in your \
                  editor ($VISUAL or $EDITOR). If somebody else changed the entry meanwhile, \
                  nothing is overwritten and you are told. Outside content stays untrusted, \
                  whatever you change: add your own words as a new entry instead.",
    after_help = "Examples:\n  \
        weir brain edit 3f2a\n  \
        weir brain edit 3f2a --title \"Tides in May\"\n  \
        weir brain edit 3f2a - < tides.md"
)]
pub(crate) struct BrainEditArgs {
    /// Id of the entry (`weir brain list`); its first characters are enough
    pub(crate) id: String,
    /// The new text, in Markdown; `-` reads standard input
    #[arg(conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// Read the new text from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// New title
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// New words to find the entry by, instead of all that it has; may be repeated
    #[arg(long = "topic", value_name = "WORD")]
    pub(crate) topics: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Entries by their ids
#[derive(Debug, Args)]
pub(crate) struct BrainIdsArgs {
    /// Ids of entries (`weir brain list`); their first characters are enough
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Forget entries: they are found no more, until you restore them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weir brain forget 3f2a 91c0")]
pub(crate) struct BrainForgetArgs {
    #[command(flatten)]
    pub(crate) which: BrainIdsArgs,
}

/// Restore forgotten entries
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir brain list --forgotten\n  weir brain restore 3f2a")]
pub(crate) struct BrainRestoreArgs {
    #[command(flatten)]
    pub(crate) which: BrainIdsArgs,
}

/// Delete entries for good; this cannot be undone
#[derive(Debug, Args)]
#[command(
    long_about = "Delete entries for good; this cannot be undone. `weir brain forget` removes an \
                  entry from searches and keeps it.",
    after_help = "Example:\n  weir brain delete 3f2a"
)]
pub(crate) struct BrainDeleteArgs {
    #[command(flatten)]
    pub(crate) which: BrainIdsArgs,
}

/// Export entries as a folder of Markdown files
#[derive(Debug, Args)]
#[command(
    long_about = "Export your brain as a folder of Markdown files, one for each entry, with \
                  everything known about it as properties. A folder that holds other files is \
                  refused; the files of an earlier export are replaced.",
    after_help = "Examples:\n  weir brain export\n  weir brain export --to ~/notes/brain --all"
)]
pub(crate) struct BrainExportArgs {
    /// Folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "weir-brain")]
    pub(crate) to: PathBuf,
    /// Export forgotten entries too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BrainKindWord {
    /// Something written down
    Note,
    /// A piece to be used again: code, a command, a phrase
    Snippet,
    /// What a web page says
    Page,
    /// What a file says
    File,
}

impl From<BrainKindWord> for BrainEntryKind {
    fn from(word: BrainKindWord) -> Self {
        match word {
            BrainKindWord::Note => BrainEntryKind::Note,
            BrainKindWord::Snippet => BrainEntryKind::Snippet,
            BrainKindWord::Page => BrainEntryKind::Page,
            BrainKindWord::File => BrainEntryKind::File,
        }
    }
}
