//! The dialog about a question: options by number or arrow, several by the space bar, or the
//! person's own words. Pure. It stands in the live region of the chat.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use weir_core::event::{QuestionAsked, SharedFact};

use super::approval::DialogState;
use super::typed::DialogLineInput;
use crate::text::markdown;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, wrap_line};
use crate::words::{count_text, one_line};

/// The dialog.
#[derive(Debug, Clone)]
pub(crate) struct QuestionDialog {
    fact: SharedFact<QuestionAsked>,
    /// Which option the arrow stands at; one past the last: the person's own words.
    at: usize,
    /// Options that are ticked.
    ticked: Vec<bool>,
    own: DialogLineInput,
}

/// What a key meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QuestionKeyOutcome {
    /// Nothing here.
    Passed,
    /// It changed.
    Took,
    /// This is the answer.
    Reply(String),
    /// It stays open, and the person types.
    Leave,
}

impl QuestionDialog {
    /// A dialog about a question.
    pub(crate) fn new(fact: SharedFact<QuestionAsked>) -> QuestionDialog {
        let count = fact.options.len();
        QuestionDialog { fact, at: 0, ticked: vec![false; count], own: DialogLineInput::default() }
    }

    /// What is asked.
    pub(crate) fn question_fact(&self) -> &QuestionAsked {
        &self.fact
    }

    fn on_own(&self) -> bool {
        self.at >= self.ticked.len()
    }

    /// Pasted text: the person's own words.
    pub(crate) fn handle_paste(&mut self, text: &str) -> QuestionKeyOutcome {
        self.at = self.ticked.len();
        self.own.handle_paste(text);
        QuestionKeyOutcome::Took
    }

    /// A key.
    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> QuestionKeyOutcome {
        let fact = self.fact.clone();
        let (options, multiple) = (fact.options.len(), fact.multiple);
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(options),
            KeyCode::Enter => return self.build_reply(),
            KeyCode::Esc => return QuestionKeyOutcome::Leave,
            KeyCode::Char(' ') if multiple && !self.on_own() => {
                self.ticked[self.at] = !self.ticked[self.at];
            }
            KeyCode::Char(c @ '1'..='9') if plain && self.own.is_empty() && options > 0 => {
                let n = usize::from(c as u8 - b'1');
                if n >= options {
                    return QuestionKeyOutcome::Took;
                }
                self.at = n;
                match multiple {
                    true => self.ticked[n] = !self.ticked[n],
                    false => return self.build_reply(),
                }
            }
            _ if self.own.handle_key(key) => self.at = options,
            _ => return QuestionKeyOutcome::Passed,
        }
        QuestionKeyOutcome::Took
    }

    fn build_reply(&self) -> QuestionKeyOutcome {
        let fact = self.fact.clone();
        let own = Some(self.own.text().to_owned()).filter(|text| !text.is_empty());
        if self.on_own() && !fact.multiple {
            return own.map_or(QuestionKeyOutcome::Took, QuestionKeyOutcome::Reply);
        }
        if !fact.multiple {
            return fact
                .options
                .get(self.at)
                .cloned()
                .map_or(QuestionKeyOutcome::Took, QuestionKeyOutcome::Reply);
        }
        let ticked = fact.options.iter().zip(&self.ticked).filter(|(_, on)| **on);
        let mut chosen: Vec<String> = ticked.map(|(option, _)| option.clone()).collect();
        chosen.extend(own);
        match chosen.is_empty() {
            // Nothing ticked: what the arrow stands at is meant.
            true => fact
                .options
                .get(self.at)
                .cloned()
                .map_or(QuestionKeyOutcome::Took, QuestionKeyOutcome::Reply),
            false => QuestionKeyOutcome::Reply(chosen.join(", ")),
        }
    }

    /// The dialog in at most `rows_max` lines, and where the cursor stands.
    pub(crate) fn render_dialog(
        &self,
        width: usize,
        rows_max: usize,
        theme: &Theme,
        standing: DialogState,
    ) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let fact = self.question_fact();
        let more = match standing.others {
            0 => String::new(),
            n => format!(" ({n} more after it)"),
        };
        let title = Line::styled(format!("─ A question for you{more} ─"), theme.warn);
        let mut head = vec![cut_line(title, width)];
        let options = self.option_lines(fact, width, theme, standing);
        let (own, cell) = self.own.render_line(&self.own_sign(standing), width, theme);
        let hint = wrap_line(&Line::styled(hint_text(fact, standing), theme.quiet), width, 2);
        let fixed = 2 + hint.len();
        let room = rows_max.saturating_sub(fixed);
        let text_max = room.saturating_sub(options.len()).max(room / 2);
        let text = markdown::render_markdown(&fact.text, width, theme);
        head.extend(shorten_lines(text, 0, text_max, width, theme));
        let room = rows_max.saturating_sub(head.len() + 1 + hint.len());
        head.extend(shorten_lines(options, self.at, room, width, theme));
        let cursor = (standing.focused && self.on_own()).then_some((head.len(), cell));
        head.push(own);
        head.extend(hint);
        head.truncate(rows_max);
        (head, cursor)
    }

    fn own_sign(&self, standing: DialogState) -> String {
        let arrow = if standing.focused && self.on_own() { "› " } else { "  " };
        let words = if self.ticked.is_empty() { "Your answer: " } else { "In your own words: " };
        format!("{arrow}{words}")
    }

    fn option_lines(
        &self,
        fact: &QuestionAsked,
        width: usize,
        theme: &Theme,
        standing: DialogState,
    ) -> Vec<Line<'static>> {
        let line = |(n, option): (usize, &String)| {
            let here = standing.focused && n == self.at;
            let tick = match (fact.multiple, self.ticked.get(n)) {
                (true, Some(true)) => "[x] ",
                (true, _) => "[ ] ",
                (false, _) => "",
            };
            let arrow = if here { "› " } else { "  " };
            let style = if here { theme.chosen } else { theme.text };
            let text = format!("{}. {tick}{}", n + 1, one_line(option));
            let line = Line::from(vec![Span::raw(arrow), Span::styled(text, style)]);
            cut_line(line, width)
        };
        fact.options.iter().enumerate().map(line).collect()
    }
}

fn hint_text(fact: &QuestionAsked, standing: DialogState) -> &'static str {
    if fact.server.is_some() && !standing.focused {
        return "Tab: answer this";
    }
    match (standing.focused, fact.options.is_empty(), fact.multiple) {
        (false, ..) => "Tab: answer this · a message that you send answers it too",
        (true, true, _) => "Enter answers · Esc leaves it open",
        (true, false, false) => "A number or Enter answers · Esc leaves it open",
        (true, false, true) => "Space ticks · Enter answers · Esc leaves it open",
    }
}

/// At most `rows_max` lines around the one at `at`, with what is left out said.
fn shorten_lines(
    lines: Vec<Line<'static>>,
    at: usize,
    rows_max: usize,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if lines.len() <= rows_max {
        return lines;
    }
    let shown = rows_max.saturating_sub(1);
    let first = (at + 1).saturating_sub(shown).min(lines.len().saturating_sub(shown));
    let left = lines.len() - shown;
    let mut kept: Vec<Line<'static>> = lines.into_iter().skip(first).take(shown).collect();
    let text = format!("  … {}", count_text(left, "more line"));
    kept.push(cut_line(Line::styled(text, theme.quiet), width));
    kept.truncate(rows_max);
    kept
}
