//! What keys do to the text. Not here: lists of completions ([`super::offers`]), which key means
//! what ([`super::keys`]).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::{Buffer, TextPos};
use super::keys::{self, CursorTarget, EditAction, KillRange};
use super::layout::row_of;
use super::recall::{ComposerDraft, HistorySearch, SearchDirection};
use super::token::ComposerToken;
use super::undo::{BufferChange, CutDetails, CutSide, EditKind};
use super::written::as_words;
use super::{Composer, KeyOutcome, LastAction};
use crate::link::MessageAttachment;

impl Composer {
    pub(super) fn act_on(&mut self, key: KeyEvent) -> KeyOutcome {
        let prefixed = std::mem::take(&mut self.prefix);
        let Some(act) = keys::action_for_key(key) else { return KeyOutcome::Passed };
        if self.search.is_some()
            && let Some(did) = self.search_on(act)
        {
            return did;
        }
        if self.offer.is_some()
            && let Some(did) = self.offer_on(act)
        {
            return did;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('e') if prefixed && control => self.apply_action(EditAction::Editor),
            KeyCode::Char('u') if prefixed && control => self.apply_action(EditAction::Undo),
            _ => self.apply_action(act),
        }
    }

    fn apply_action(&mut self, act: EditAction) -> KeyOutcome {
        let last = std::mem::replace(&mut self.last, LastAction::Other);
        let goal = self.goal.take();
        match act {
            EditAction::Type(c) => {
                self.insert_text(c.encode_utf8(&mut [0; 4]), EditKind::Typed);
                self.settle_cursor();
                return self.offer_again();
            }
            EditAction::Tab => return self.handle_tab(),
            EditAction::Backspace => return self.delete_cluster(EditKind::Backspaced),
            EditAction::Delete | EditAction::DeleteOrLeave => {
                return self.delete_cluster(EditKind::Deleted);
            }
            _ => self.close_offer(),
        }
        match act {
            EditAction::Enter => return self.handle_enter(),
            EditAction::NewLine => self.insert_text("\n", EditKind::Whole),
            EditAction::Go(to) if !self.is_empty() => {
                self.cursor = self.target_position(to);
                self.undo.close_step();
            }
            EditAction::Up | EditAction::Down => return self.up_or_down(act, last, goal),
            EditAction::Kill(kill) if !self.is_empty() => self.kill_text(kill, last),
            EditAction::Yank => self.yank_last(),
            EditAction::YankOther => return self.yank_other(last),
            EditAction::Undo => return self.apply_undo_step(|undo, buffer| undo.undo(buffer)),
            EditAction::Redo => return self.apply_undo_step(|undo, buffer| undo.redo(buffer)),
            EditAction::Search => self.search = Some(HistorySearch::new(self.current_draft())),
            EditAction::Editor if self.is_asking() => self.not_yet(),
            EditAction::Editor => return KeyOutcome::Editor,
            EditAction::Clipboard => return self.ask_clipboard(),
            EditAction::Unfold => return self.unfold_paste(),
            EditAction::Clear if !self.is_empty() => self.clear(),
            EditAction::Prefix => self.prefix = true,
            _ => return KeyOutcome::Passed,
        }
        KeyOutcome::Took
    }

    /// Enter where no list is open.
    pub(super) fn handle_enter(&mut self) -> KeyOutcome {
        if self.buffer.grapheme_before(self.cursor) == Some("\\") {
            self.replace_range(self.buffer.previous(self.cursor), self.cursor, "\n");
            return KeyOutcome::Took;
        }
        if self.buffer.lines().iter().all(|line| line.trim().is_empty()) {
            return KeyOutcome::Passed;
        }
        if self.is_asking() {
            self.not_yet();
            return KeyOutcome::Took;
        }
        let written = self.current_message();
        if self.is_shell() && written.shell_command().is_none() {
            return KeyOutcome::Took;
        }
        self.remember_message(&written);
        self.buffer = Buffer::new();
        self.cursor = TextPos::default();
        self.undo.clear();
        self.recall.leave_history();
        self.tokens.retain_used(self.kills.texts());
        self.close_offer();
        KeyOutcome::Send(written)
    }

    /// Tab where no list is open: opens one, if there is something to complete and the person did
    /// not close it. It must not do something else just because an answer is not yet there.
    fn handle_tab(&mut self) -> KeyOutcome {
        if !self.can_complete() {
            return KeyOutcome::Passed;
        }
        if self.waiting.is_some() { KeyOutcome::Took } else { self.offer_again() }
    }

    fn target_position(&self, to: CursorTarget) -> TextPos {
        let at = self.cursor;
        match to {
            CursorTarget::Previous => self.buffer.previous(at),
            CursorTarget::Next => self.buffer.next(at),
            CursorTarget::PreviousWord => self.buffer.word_start(at),
            CursorTarget::NextWord => self.buffer.word_end(at),
            CursorTarget::LineStart => TextPos { line: at.line, byte: 0 },
            CursorTarget::LineEnd => self.buffer.line_end(at.line),
            CursorTarget::Start => TextPos::default(),
            CursorTarget::End => self.buffer.end(),
        }
    }

    fn delete_cluster(&mut self, kind: EditKind) -> KeyOutcome {
        if self.is_empty() {
            self.close_offer();
            return KeyOutcome::Passed;
        }
        let (from, to) = match kind {
            EditKind::Backspaced => (self.buffer.previous(self.cursor), self.cursor),
            _ => (self.cursor, self.buffer.next(self.cursor)),
        };
        if from < to {
            let change = BufferChange { kind, from, to, before: self.cursor };
            self.cursor = self.undo.apply_change(&mut self.buffer, &change, "");
            self.settle_cursor();
        }
        self.offer_again()
    }

    fn kill_text(&mut self, kill: KillRange, last: LastAction) {
        let at = self.cursor;
        let start = usize::from(at.line == 0 && self.is_shell());
        let (from, to, side) = match kill {
            // At the end of a line the break is what is left of it.
            KillRange::LineRest if at == self.buffer.line_end(at.line) => {
                (at, self.buffer.next(at), CutSide::After)
            }
            KillRange::LineRest => (at, self.buffer.line_end(at.line), CutSide::After),
            KillRange::LineStart if at.byte <= start => {
                (self.buffer.previous(at), at, CutSide::Before)
            }
            KillRange::LineStart => (TextPos { line: at.line, byte: start }, at, CutSide::Before),
            KillRange::WordAfter => (at, self.buffer.word_end(at), CutSide::After),
            KillRange::WordBefore => (self.buffer.word_start(at), at, CutSide::Before),
            KillRange::BlankWordBefore => (self.buffer.blank_word_start(at), at, CutSide::Before),
        };
        if from < to {
            let cut = CutDetails { side, again: last == LastAction::Cut };
            self.kills.push(self.buffer.slice(from, to), cut);
            self.replace_range(from, to, "");
            self.last = LastAction::Cut;
        }
    }

    fn yank_last(&mut self) {
        let Some(text) = self.kills.last_text().map(str::to_owned) else { return };
        self.last = LastAction::Yanked(self.cursor);
        self.insert_text(&text, EditKind::Whole);
    }

    fn yank_other(&mut self, last: LastAction) -> KeyOutcome {
        let LastAction::Yanked(from) = last else { return KeyOutcome::Passed };
        // What is around it may have joined what was put in: then its end is further on.
        let put = self.kills.last_text().map_or(from, |text| super::buffer::end_of(from, text));
        self.kills.rotate_ring();
        let text = self.kills.last_text().unwrap_or_default().to_owned();
        self.replace_range(from, put, &text);
        self.last = LastAction::Yanked(from);
        KeyOutcome::Took
    }

    fn apply_undo_step(
        &mut self,
        step: impl FnOnce(&mut super::undo::UndoHistory, &mut Buffer) -> Option<TextPos>,
    ) -> KeyOutcome {
        self.recall.leave_history();
        if let Some(at) = step(&mut self.undo, &mut self.buffer) {
            self.cursor = at;
        }
        KeyOutcome::Took
    }

    fn up_or_down(&mut self, act: EditAction, last: LastAction, goal: Option<usize>) -> KeyOutcome {
        if last != LastAction::Recalled && self.by_row(act, goal) {
            return KeyOutcome::Took;
        }
        let text = if act == EditAction::Up {
            let (buffer, cursor) = (&self.buffer, self.cursor);
            self.recall.older_message(|| ComposerDraft { text: buffer.text(), cursor })
        } else {
            self.recall.newer_message()
        };
        let Some(draft) = text else {
            self.last = last;
            return if last == LastAction::Recalled {
                KeyOutcome::Took
            } else {
                KeyOutcome::Passed
            };
        };
        self.replace_all(&draft.text);
        self.cursor = draft.cursor;
        if self.recall.is_on() {
            self.last = LastAction::Recalled;
        }
        KeyOutcome::Took
    }

    /// One row up or down; `false`: there is none.
    fn by_row(&mut self, act: EditAction, goal: Option<usize>) -> bool {
        let at = self.cursor;
        let rows = self.line_rows(at.line);
        let row = row_of(&rows, at.byte);
        let frame = self.line_layout(at.line);
        let cell = frame.cell_of_byte(self.buffer.line(at.line), rows[row], at.byte);
        let goal = goal.unwrap_or(cell);
        let (line, row) = match act {
            EditAction::Up if row > 0 => (at.line, row - 1),
            EditAction::Up if at.line > 0 => (at.line - 1, self.line_rows(at.line - 1).len() - 1),
            EditAction::Down if row + 1 < rows.len() => (at.line, row + 1),
            EditAction::Down if at.line + 1 < self.buffer.lines().len() => (at.line + 1, 0),
            _ => return false,
        };
        let rows = self.line_rows(line);
        let byte = self.line_layout(line).byte_of_cell(self.buffer.line(line), rows[row], goal);
        self.cursor = TextPos { line, byte };
        self.goal = Some(goal);
        self.undo.close_step();
        true
    }

    fn unfold_paste(&mut self) -> KeyOutcome {
        let (at, buffer) = (self.cursor, &self.buffer);
        let spots = [(at, buffer.next(at)), (buffer.previous(at), at)];
        for (from, to) in spots.into_iter().filter(|(from, to)| from < to) {
            let sign =
                self.buffer.grapheme_after(from).and_then(|grapheme| grapheme.chars().next());
            let text = match sign.and_then(|sign| self.tokens.get(sign)) {
                // What is unfolded at the start is still no command.
                Some(ComposerToken::Pasted(text)) if from == TextPos::default() => {
                    as_words(text).into_owned()
                }
                Some(ComposerToken::Pasted(text)) => text.to_string(),
                Some(ComposerToken::File(MessageAttachment::Path(path))) => path.clone(),
                // A picture from the clipboard is nothing but itself.
                Some(
                    ComposerToken::File(MessageAttachment::Bytes { .. })
                    | ComposerToken::Clipboard(_),
                ) => {
                    return KeyOutcome::Took;
                }
                None => continue,
            };
            self.replace_range(from, to, &text);
            return KeyOutcome::Took;
        }
        KeyOutcome::Passed
    }

    /// A key while earlier messages are searched; `None`: the search is over, and the key is for
    /// what it found.
    fn search_on(&mut self, act: EditAction) -> Option<KeyOutcome> {
        let (search, entries) = (self.search.as_mut()?, self.recall.entries());
        match act {
            EditAction::Type(c) => search.add_text(c.encode_utf8(&mut [0; 4]), entries),
            EditAction::Backspace => search.delete_last_letter(entries),
            EditAction::Search => search.find_next(entries, SearchDirection::Older),
            EditAction::SearchOn => search.find_next(entries, SearchDirection::Newer),
            EditAction::Escape | EditAction::Editor | EditAction::Clear => self.search = None,
            EditAction::Enter | EditAction::Tab => self.take_found(),
            _ => {
                self.take_found();
                return None;
            }
        }
        Some(KeyOutcome::Took)
    }

    fn take_found(&mut self) {
        let found = self.search.take().and_then(|search| search.found);
        let text = found.and_then(|index| self.recall.entries().get(index).cloned());
        if let Some(text) = text {
            self.recall.leave_history();
            self.replace_all(&text);
        }
    }
}
