//! Words of `weir context`.

use clap::Args;

/// The prompt by section and the context meter: what a request is made of, and what was condensed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir context                    the prompt of a new session of this folder, by section
  weir context last               how full the window of the newest session is
  weir context last --preview     what condensing would hide, without doing it
  weir context last --condense    do it; --undo takes the last one back
  weir context last --condense --keep \"the names of the tables\"")]
pub(crate) struct ContextArgs {
    /// A session: its id, the beginning of one, or `last`
    pub(crate) session: Option<String>,
    /// Show what condensing would do
    #[arg(long, conflicts_with_all = ["condense", "undo"])]
    pub(crate) preview: bool,
    /// Make the context shorter now
    #[arg(long, conflicts_with = "undo")]
    pub(crate) condense: bool,
    /// What the summary must keep
    #[arg(long, value_name = "WORDS", requires = "condense")]
    pub(crate) keep: Option<String>,
    /// Take the last condensing back
    #[arg(long)]
    pub(crate) undo: bool,
    /// The model whose window counts, and that summarises where no helper is set
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// The profile of the prompt that is shown
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub(crate) profile: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
