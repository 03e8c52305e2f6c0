//! Words of `weir context`.

use clap::Args;

/// Show the prompt by section and how full the context window is; condense a session
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir context                    show the prompt of a new session in this folder, by section
  weir context last               show how full the context window of the newest session is
  weir context last --preview     show what condensing would hide
  weir context last --condense    condense it; --undo reverts this
  weir context last --condense --keep \"the names of the tables\"")]
pub(crate) struct ContextArgs {
    /// Session id, its first characters, or `last`
    pub(crate) session: Option<String>,
    /// Show what condensing would hide, and change nothing
    #[arg(long, conflicts_with_all = ["condense", "undo"])]
    pub(crate) preview: bool,
    /// Condense the context now: summarise old turns
    #[arg(long, conflicts_with = "undo")]
    pub(crate) condense: bool,
    /// With --condense: what the summary must keep
    #[arg(long, value_name = "WORDS", requires = "condense")]
    pub(crate) keep: Option<String>,
    /// Undo the last condensing
    #[arg(long)]
    pub(crate) undo: bool,
    /// Model whose window is measured, and which summarises unless helpers.condense is set
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Profile whose prompt is shown
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub(crate) profile: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
