//! What a person wrote, and what they meant it as. Pure. Not here: what becomes of it.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::link::MessageAttachment;

/// What was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenMessage {
    /// The words, pasted texts put in.
    pub text: String,
    /// Files and pictures that go along.
    pub attached: Vec<MessageAttachment>,
    /// What it is meant as.
    pub kind: WrittenKind,
}

/// What is meant by what was written: the box tells, not the words, for a pasted text that is shown
/// as one thing may begin with anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WrittenKind {
    /// Words for the model.
    #[default]
    Words,
    /// A command for the shell: `!` was seen at its start.
    Shell,
    /// A command of the face or of the session: `/` was seen at its start.
    Command,
}

impl WrittenKind {
    /// What a text is that stands in the box like this.
    pub(super) fn of_text(seen: &str) -> WrittenKind {
        match seen.graphemes(true).next() {
            Some("!") => WrittenKind::Shell,
            Some("/") => WrittenKind::Command,
            _ => WrittenKind::Words,
        }
    }
}

impl WrittenMessage {
    /// What somebody wrote who saw all of it.
    #[cfg(test)]
    pub(crate) fn seen(text: &str) -> WrittenMessage {
        WrittenMessage {
            text: text.to_owned(),
            attached: Vec::new(),
            kind: WrittenKind::of_text(text),
        }
    }

    /// The command line, where it is one for the shell: what follows the `!`.
    pub fn shell_command(&self) -> Option<&str> {
        let line = self.text.strip_prefix('!').filter(|_| self.kind == WrittenKind::Shell)?;
        Some(line.trim()).filter(|line| !line.is_empty())
    }

    /// The text as it may stand in the box: what was no command is none there either.
    pub(super) fn box_text(&self) -> Cow<'_, str> {
        match self.kind {
            WrittenKind::Words => as_words(&self.text),
            WrittenKind::Shell | WrittenKind::Command => Cow::Borrowed(&self.text),
        }
    }
}

/// A text that the box takes for words: a blank before what it would take for a command.
pub(super) fn as_words(text: &str) -> Cow<'_, str> {
    match WrittenKind::of_text(text) {
        WrittenKind::Words => Cow::Borrowed(text),
        WrittenKind::Shell | WrittenKind::Command => Cow::Owned(format!(" {text}")),
    }
}
