//! What a person wrote, and what they meant it as. Pure. Not here: what becomes of it.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::link::Attached;

/// What was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Written {
    /// The words, pasted texts put in.
    pub text: String,
    /// Files and pictures that go along.
    pub attached: Vec<Attached>,
    /// What it is meant as.
    pub kind: Kind,
}

/// What is meant by what was written: the box tells, not the words, for a pasted text that is shown
/// as one thing may begin with anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Words for the model.
    #[default]
    Words,
    /// A command for the shell: `!` was seen at its start.
    Shell,
    /// A command of the face or of the session: `/` was seen at its start.
    Command,
}

impl Kind {
    /// What a text is that stands in the box like this.
    pub(super) fn of(seen: &str) -> Kind {
        match seen.graphemes(true).next() {
            Some("!") => Kind::Shell,
            Some("/") => Kind::Command,
            _ => Kind::Words,
        }
    }
}

impl Written {
    /// What somebody wrote who saw all of it.
    #[cfg(test)]
    pub(crate) fn seen(text: &str) -> Written {
        Written { text: text.to_owned(), attached: Vec::new(), kind: Kind::of(text) }
    }

    /// The command line, where it is one for the shell: what follows the `!`.
    pub fn shell(&self) -> Option<&str> {
        let line = self.text.strip_prefix('!').filter(|_| self.kind == Kind::Shell)?;
        Some(line.trim()).filter(|line| !line.is_empty())
    }

    /// The text as it may stand in the box: what was no command is none there either.
    pub(super) fn boxed(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Words => as_words(&self.text),
            Kind::Shell | Kind::Command => Cow::Borrowed(&self.text),
        }
    }
}

/// A text that the box takes for words: a blank before what it would take for a command.
pub(super) fn as_words(text: &str) -> Cow<'_, str> {
    match Kind::of(text) {
        Kind::Words => Cow::Borrowed(text),
        Kind::Shell | Kind::Command => Cow::Owned(format!(" {text}")),
    }
}
