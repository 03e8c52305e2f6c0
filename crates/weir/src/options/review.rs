//! The words by which a decision is looked at first and made later, by exactly what was shown (R10).

use clap::Args;

/// Looking at what would be decided, and deciding just that.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReviewFlags {
    /// Show what would be decided, and the hash that --as-shown takes; change nothing
    #[arg(long, conflicts_with = "as_shown")]
    pub(crate) preview: bool,
    /// Decide without asking, but only if it is still what --preview showed under this hash
    #[arg(long, value_name = "SHA256")]
    pub(crate) as_shown: Option<String>,
}

/// Other words in place of those that were proposed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EditFlags {
    /// Accept it in these words, in place of those that were proposed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "edit")]
    pub(crate) text: Option<String>,
    /// Change the proposed words in your editor ($VISUAL or $EDITOR) first
    #[arg(long, conflicts_with_all = ["preview", "as_shown"])]
    pub(crate) edit: bool,
}

impl EditFlags {
    /// Whether one of them was given.
    pub(crate) fn is_given(&self) -> bool {
        self.edit || self.text.is_some()
    }
}

impl ReviewFlags {
    /// Whether one of them was given.
    pub(crate) fn is_given(&self) -> bool {
        self.preview || self.as_shown.is_some()
    }
}
