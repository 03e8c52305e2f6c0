//! The screens that the app opens, by what they are for. Not here: the screens.

use weir_core::ids::Timestamp;

use super::Screen;
use super::approval::ApprovalDialog;
use super::choose::{ChoiceScreen, ChoiceSubject};
use super::decide::DecisionScreen;
use super::help::HelpScreen;
use super::pager::TextPager;
use super::rewind::RewindScreen;
use super::sessions::SessionsScreen;
use super::transcript::ConversationScreen;
use crate::link::{DecisionRequest, ReportKind, TextKind};
use crate::text::theme::Theme;

/// Cells for which lines are made that the pager breaks to the real width.
const WIDE: usize = 4_000;

/// Everything about what waits for an answer.
pub(crate) fn approval_screen(dialog: &ApprovalDialog, theme: &Theme) -> Box<dyn Screen> {
    Box::new(TextPager::with_styled_lines("What is asked", dialog.all_lines(WIDE, theme), 4))
}

/// A text of the other end.
pub(crate) fn report_screen(report: ReportKind, arguments: &str) -> Box<dyn Screen> {
    Box::new(TextPager::for_report(report.title(), report, arguments))
}

/// What a person is to decide.
pub(crate) fn decision_screen(request: DecisionRequest) -> Box<dyn Screen> {
    Box::new(DecisionScreen::new(request))
}

/// A text that is there.
pub(crate) fn text_screen(title: &str, text: String) -> Box<dyn Screen> {
    Box::new(TextPager::new(title, text, TextKind::Plain))
}

/// The sessions in which these words stand.
pub(crate) fn sessions_screen(words: &str, now: Timestamp) -> Box<dyn Screen> {
    Box::new(SessionsScreen::new(words, now))
}

/// The models that can be chosen.
pub(crate) fn models_screen() -> Box<dyn Screen> {
    Box::new(ChoiceScreen::new(ChoiceSubject::Models))
}

/// The profiles that can be chosen.
pub(crate) fn profiles_screen() -> Box<dyn Screen> {
    Box::new(ChoiceScreen::new(ChoiceSubject::Profiles))
}

/// How much the model may think.
pub(crate) fn thinking_screen() -> Box<dyn Screen> {
    Box::new(ChoiceScreen::new(ChoiceSubject::Thinking))
}

/// The whole conversation.
pub(crate) fn transcript_screen() -> Box<dyn Screen> {
    Box::new(ConversationScreen::new())
}

/// Back to an earlier message.
pub(crate) fn rewind_screen() -> Box<dyn Screen> {
    Box::new(RewindScreen::new())
}

/// Keys and commands.
pub(crate) fn help_screen() -> Box<dyn Screen> {
    Box::new(HelpScreen::new())
}

/// The themes that there are.
pub(crate) fn themes_screen(now: &str) -> Box<dyn Screen> {
    Box::new(ChoiceScreen::for_themes(Theme::NAMES, now))
}
