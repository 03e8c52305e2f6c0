//! The dialog of a decision that the person began by a command: all that would count, and a yes or no
//! to exactly that. Pure. Not here: what can be decided ([`crate::decisions`]), who does it.
//!
//! Nobody says yes by mistake: a yes is the letter `y` alone, it counts only when the end of the text was
//! on the screen, and only after a pause since then and since the key before it. So a key that was on
//! its way, one that is held down, Enter, and what is pasted do nothing. `e` puts the words that may be
//! changed into the box, behind the command that shows them once more: it decides nothing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;
use weir_core::ids::Timestamp;
use weir_core::view::plain::visible_text;

use super::frame::{FrameSize, frame_view, key_line, title_line};
use super::pager::TextPager;
use super::scroll::{is_close_key, scroll_move_for_key};
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::app::QUIET_MS;
use crate::link::{CommandTicket, DecisionRequest, DecisionReview, TextKind, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;
use crate::text::wrap::cut_line;
use crate::words::one_line;

/// What stands where the text will be.
const AWAITED: &str = "It is being looked at.";

/// How far the dialog has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DialogStage {
    /// What is to be decided was asked for.
    Awaited,
    /// It is shown, and waits for the person.
    Shown(Box<DecisionReview>),
    /// The person said yes.
    Agreed,
    /// Nothing can be decided: why stands in place of the text.
    Failed,
}

/// The dialog.
pub(crate) struct DecisionScreen {
    request: DecisionRequest,
    pager: TextPager,
    stage: DialogStage,
    ticket: Option<CommandTicket>,
    /// When the text was painted first.
    seen: Option<Timestamp>,
    /// When the end of the text was painted first.
    read: Option<Timestamp>,
    /// The last key, whatever it was for.
    pressed: Timestamp,
    /// Why the last key did nothing, until the next one.
    told: &'static str,
}

impl DecisionScreen {
    /// About this; it asks for what would count.
    pub(crate) fn new(request: DecisionRequest) -> DecisionScreen {
        let title = one_line(&request.typed_line());
        DecisionScreen {
            pager: TextPager::new(&title, AWAITED.into(), TextKind::Plain),
            request,
            stage: DialogStage::Awaited,
            ticket: None,
            seen: None,
            read: None,
            pressed: Timestamp(0),
            told: "",
        }
    }

    fn show_text(&mut self, text: &str) {
        // Whoever wrote it: nothing in it hides, and nothing turns what is read.
        let lines: Vec<String> = text.trim_end().lines().map(visible_text).collect();
        self.pager.set_text(lines.join("\n"), TextKind::Plain);
        self.seen = None;
        self.read = None;
    }

    /// Lets the person change the words, where they may and saw them.
    fn edit_words(&mut self, with: &ScreenContext<'_>, before: Timestamp) -> ScreenStep {
        let DialogStage::Shown(review) = &self.stage else { return ScreenStep::Idle };
        let (Some(text), Some(seen)) = (&review.editable, self.seen) else {
            return ScreenStep::Idle;
        };
        // What was typed before the dialog came must not close it.
        if with.now.ms_since(seen.max(before)) < QUIET_MS {
            self.told = "That was too quick: press e once more after a moment";
            return ScreenStep::Stay;
        }
        ScreenStep::PutCommand(self.request.typed_line_with(text))
    }

    /// A yes at this moment, where it is one.
    fn agree(&mut self, with: &ScreenContext<'_>, before: Timestamp) -> ScreenStep {
        let DialogStage::Shown(review) = &self.stage else { return ScreenStep::Idle };
        let Some(read) = self.read else {
            self.told = "Read it to its end first";
            return ScreenStep::Stay;
        };
        if with.now.ms_since(read.max(before)) < QUIET_MS {
            self.told = "That was too quick: press y once more after a moment";
            return ScreenStep::Stay;
        }
        let (request, as_shown) = (self.request.clone(), review.as_shown.clone());
        let ticket = with.next_ticket();
        self.ticket = Some(ticket);
        self.stage = DialogStage::Agreed;
        ScreenStep::Do(vec![UiCommand::Decide { request, as_shown, ticket }])
    }

    /// The line above the keys.
    fn question_line(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let line = match &self.stage {
            _ if !self.told.is_empty() => Line::styled(self.told, theme.warn),
            DialogStage::Awaited => Line::default(),
            DialogStage::Shown(review) if review.changed => {
                let text = format!(
                    "It changed meanwhile, and nothing was done: read it again. {}",
                    one_line(&review.question)
                );
                Line::styled(text, theme.warn)
            }
            DialogStage::Shown(review) => Line::styled(one_line(&review.question), theme.warn),
            DialogStage::Agreed => Line::styled("It is being done.", theme.quiet),
            DialogStage::Failed => Line::styled("Nothing was changed.", theme.bad),
        };
        cut_line(line, columns)
    }

    fn key_hints(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let open = matches!(self.stage, DialogStage::Shown(_));
        let mut pairs = match (open, self.read.is_some()) {
            (true, true) => vec![("y", "yes"), ("n", "no"), ("Space", "page"), ("↑↓", "line")],
            (true, false) => vec![("Space", "read on"), ("G", "to its end"), ("n", "no")],
            (false, _) => vec![("q", "closes"), ("Space", "page"), ("↑↓", "line")],
        };
        if matches!(&self.stage, DialogStage::Shown(review) if review.editable.is_some()) {
            pairs.insert(2, ("e", "edit"));
        }
        key_line(&pairs, columns, theme)
    }
}

impl Screen for DecisionScreen {
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        self.pressed = with.now;
        let ticket = with.next_ticket();
        self.ticket = Some(ticket);
        ScreenStep::Do(vec![UiCommand::Review { request: self.request.clone(), ticket }])
    }

    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        let before = std::mem::replace(&mut self.pressed, with.now);
        self.told = "";
        if is_close_key(key) {
            return ScreenStep::Close;
        }
        // Esc and a letter behind it may come as Alt and the letter: that decides nothing.
        if (key.modifiers - KeyModifiers::SHIFT).is_empty() {
            match key.code {
                KeyCode::Char('y' | 'Y') => return self.agree(with, before),
                KeyCode::Char('n' | 'N') => return ScreenStep::Close,
                KeyCode::Char('e' | 'E') => return self.edit_words(with, before),
                KeyCode::Enter if matches!(self.stage, DialogStage::Shown(_)) => {
                    self.told = "Enter decides nothing: y is yes, n is no";
                    return ScreenStep::Stay;
                }
                _ => (),
            }
        }
        match scroll_move_for_key(key, self.pager.page_rows()) {
            Some(by) => self.pager.scroll_by(by),
            None => return ScreenStep::Idle,
        }
        ScreenStep::Stay
    }

    fn handle_paste(&mut self, _: &str, with: &ScreenContext<'_>) -> ScreenStep {
        self.pressed = with.now;
        ScreenStep::Idle
    }

    fn handle_update(&mut self, news: &UiUpdate, _: &ScreenContext<'_>) -> ScreenStep {
        match news {
            UiUpdate::Review { ticket, review } if self.ticket == Some(*ticket) => {
                self.show_text(&review.text);
                self.stage = DialogStage::Shown(review.clone());
            }
            UiUpdate::Failed { ticket, why } if self.ticket == Some(*ticket) => {
                self.show_text(why);
                self.stage = DialogStage::Failed;
            }
            UiUpdate::Decided { ticket, .. } if self.ticket == Some(*ticket) => {
                return ScreenStep::Close;
            }
            _ => return ScreenStep::Idle,
        }
        ScreenStep::Stay
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView {
        let size = FrameSize::from_size(size);
        let body = size.body_size();
        // The question keeps its row; of the text at least one line is seen, or nothing is agreed to.
        let room = FrameSize { rows: body.rows.saturating_sub(1), ..body };
        let (mut lines, place) = self.pager.visible_rows(room, theme);
        if room.rows > 0 && matches!(self.stage, DialogStage::Shown(_)) {
            self.seen.get_or_insert(with.now);
            if self.pager.is_at_end() {
                self.read.get_or_insert(with.now);
            }
        }
        lines.truncate(room.rows);
        lines.resize(room.rows, Line::default());
        lines.push(self.question_line(size.columns, theme));
        let title = one_line(&self.request.typed_line());
        let head = title_line(&title, &place, size.columns, theme);
        frame_view(size, head, lines, self.key_hints(size.columns, theme))
    }
}
