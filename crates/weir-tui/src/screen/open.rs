//! The screens that the app opens, by what they are for. Not here: the screens.

use weir_core::ids::Timestamp;

use super::Screen;
use super::approval::Approval;
use super::choose::{Choose, Of};
use super::help::Help;
use super::pager::Pager;
use super::rewind::Rewind;
use super::sessions::Sessions;
use super::transcript::Conversation;
use crate::link::{Report, TextKind};
use crate::text::theme::Theme;

/// Cells for which lines are made that the pager breaks to the real width.
const WIDE: usize = 4_000;

/// Everything about what waits for an answer.
pub(crate) fn approval(dialog: &Approval, theme: &Theme) -> Box<dyn Screen> {
    Box::new(Pager::styled("What is asked", dialog.all(WIDE, theme), 4))
}

/// A text of the other end.
pub(crate) fn report(report: Report, arguments: &str) -> Box<dyn Screen> {
    Box::new(Pager::report(report.title(), report, arguments))
}

/// A text that is there.
pub(crate) fn text(title: &str, text: String) -> Box<dyn Screen> {
    Box::new(Pager::new(title, text, TextKind::Plain))
}

/// The sessions in which these words stand.
pub(crate) fn sessions(words: &str, now: Timestamp) -> Box<dyn Screen> {
    Box::new(Sessions::new(words, now))
}

/// The models that can be chosen.
pub(crate) fn models() -> Box<dyn Screen> {
    Box::new(Choose::new(Of::Models))
}

/// The profiles that can be chosen.
pub(crate) fn profiles() -> Box<dyn Screen> {
    Box::new(Choose::new(Of::Profiles))
}

/// How much the model may think.
pub(crate) fn thinking() -> Box<dyn Screen> {
    Box::new(Choose::new(Of::Thinking))
}

/// The whole conversation.
pub(crate) fn transcript() -> Box<dyn Screen> {
    Box::new(Conversation::new())
}

/// Back to an earlier message.
pub(crate) fn rewind() -> Box<dyn Screen> {
    Box::new(Rewind::new())
}

/// Keys and commands.
pub(crate) fn help() -> Box<dyn Screen> {
    Box::new(Help::new())
}

/// The themes that there are.
pub(crate) fn themes(now: &str) -> Box<dyn Screen> {
    Box::new(Choose::themes(Theme::NAMES, now))
}
