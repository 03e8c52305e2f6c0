//! What keys do to the text. Not here: lists of completions ([`super::offers`]), which key means
//! what ([`super::keys`]).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::{Buffer, Pos};
use super::keys::{self, Act, Kill, To};
use super::layout::row_of;
use super::recall::{Direction, Draft, Search};
use super::token::Token;
use super::undo::{Change, Cut, Kind, Side};
use super::written::as_words;
use super::{Composer, Did, Last};
use crate::link::Attached;

impl Composer {
    pub(super) fn act_on(&mut self, key: KeyEvent) -> Did {
        let prefixed = std::mem::take(&mut self.prefix);
        let Some(act) = keys::act(key) else { return Did::Passed };
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
            KeyCode::Char('e') if prefixed && control => self.act(Act::Editor),
            KeyCode::Char('u') if prefixed && control => self.act(Act::Undo),
            _ => self.act(act),
        }
    }

    fn act(&mut self, act: Act) -> Did {
        let last = std::mem::replace(&mut self.last, Last::Other);
        let goal = self.goal.take();
        match act {
            Act::Type(c) => {
                self.put(c.encode_utf8(&mut [0; 4]), Kind::Typed);
                self.settle();
                return self.offer_again();
            }
            Act::Tab => return self.tab(),
            Act::Backspace => return self.delete(Kind::Backspaced),
            Act::Delete | Act::DeleteOrLeave => return self.delete(Kind::Deleted),
            _ => self.close_offer(),
        }
        match act {
            Act::Enter => return self.enter(),
            Act::NewLine => self.put("\n", Kind::Whole),
            Act::Go(to) if !self.is_empty() => {
                self.cursor = self.place(to);
                self.undo.close();
            }
            Act::Up | Act::Down => return self.up_or_down(act, last, goal),
            Act::Kill(kill) if !self.is_empty() => self.kill(kill, last),
            Act::Yank => self.yank(),
            Act::YankOther => return self.yank_other(last),
            Act::Undo => return self.back(|undo, buffer| undo.undo(buffer)),
            Act::Redo => return self.back(|undo, buffer| undo.redo(buffer)),
            Act::Search => self.search = Some(Search::new(self.draft())),
            Act::Editor if self.is_asking() => self.not_yet(),
            Act::Editor => return Did::Editor,
            Act::Clipboard => return self.ask_clipboard(),
            Act::Unfold => return self.unfold(),
            Act::Clear if !self.is_empty() => self.clear(),
            Act::Prefix => self.prefix = true,
            _ => return Did::Passed,
        }
        Did::Took
    }

    /// Enter where no list is open.
    pub(super) fn enter(&mut self) -> Did {
        if self.buffer.before(self.cursor) == Some("\\") {
            self.replace(self.buffer.previous(self.cursor), self.cursor, "\n");
            return Did::Took;
        }
        if self.buffer.lines().iter().all(|line| line.trim().is_empty()) {
            return Did::Passed;
        }
        if self.is_asking() {
            self.not_yet();
            return Did::Took;
        }
        let written = self.written();
        if self.is_shell() && written.shell().is_none() {
            return Did::Took;
        }
        self.remember(&written);
        self.buffer = Buffer::new();
        self.cursor = Pos::default();
        self.undo.clear();
        self.recall.leave();
        self.tokens.keep(self.kills.texts());
        self.close_offer();
        Did::Send(written)
    }

    /// Tab where no list is open: opens one, if there is something to complete and the person did
    /// not close it. It must not do something else just because an answer is not yet there.
    fn tab(&mut self) -> Did {
        if !self.completes() {
            return Did::Passed;
        }
        if self.waiting.is_some() { Did::Took } else { self.offer_again() }
    }

    fn place(&self, to: To) -> Pos {
        let at = self.cursor;
        match to {
            To::Previous => self.buffer.previous(at),
            To::Next => self.buffer.next(at),
            To::PreviousWord => self.buffer.word_start(at),
            To::NextWord => self.buffer.word_end(at),
            To::LineStart => Pos { line: at.line, byte: 0 },
            To::LineEnd => self.buffer.line_end(at.line),
            To::Start => Pos::default(),
            To::End => self.buffer.end(),
        }
    }

    fn delete(&mut self, kind: Kind) -> Did {
        if self.is_empty() {
            self.close_offer();
            return Did::Passed;
        }
        let (from, to) = match kind {
            Kind::Backspaced => (self.buffer.previous(self.cursor), self.cursor),
            _ => (self.cursor, self.buffer.next(self.cursor)),
        };
        if from < to {
            let change = Change { kind, from, to, before: self.cursor };
            self.cursor = self.undo.change(&mut self.buffer, &change, "");
            self.settle();
        }
        self.offer_again()
    }

    fn kill(&mut self, kill: Kill, last: Last) {
        let at = self.cursor;
        let start = usize::from(at.line == 0 && self.is_shell());
        let (from, to, side) = match kill {
            // At the end of a line the break is what is left of it.
            Kill::LineRest if at == self.buffer.line_end(at.line) => {
                (at, self.buffer.next(at), Side::After)
            }
            Kill::LineRest => (at, self.buffer.line_end(at.line), Side::After),
            Kill::LineStart if at.byte <= start => (self.buffer.previous(at), at, Side::Before),
            Kill::LineStart => (Pos { line: at.line, byte: start }, at, Side::Before),
            Kill::WordAfter => (at, self.buffer.word_end(at), Side::After),
            Kill::WordBefore => (self.buffer.word_start(at), at, Side::Before),
            Kill::BlankWordBefore => (self.buffer.blank_word_start(at), at, Side::Before),
        };
        if from < to {
            let cut = Cut { side, again: last == Last::Cut };
            self.kills.push(self.buffer.slice(from, to), cut);
            self.replace(from, to, "");
            self.last = Last::Cut;
        }
    }

    fn yank(&mut self) {
        let Some(text) = self.kills.last().map(str::to_owned) else { return };
        self.last = Last::Yanked(self.cursor);
        self.put(&text, Kind::Whole);
    }

    fn yank_other(&mut self, last: Last) -> Did {
        let Last::Yanked(from) = last else { return Did::Passed };
        // What is around it may have joined what was put in: then its end is further on.
        let put = self.kills.last().map_or(from, |text| super::buffer::end_of(from, text));
        self.kills.turn();
        let text = self.kills.last().unwrap_or_default().to_owned();
        self.replace(from, put, &text);
        self.last = Last::Yanked(from);
        Did::Took
    }

    fn back(
        &mut self,
        step: impl FnOnce(&mut super::undo::Undo, &mut Buffer) -> Option<Pos>,
    ) -> Did {
        self.recall.leave();
        if let Some(at) = step(&mut self.undo, &mut self.buffer) {
            self.cursor = at;
        }
        Did::Took
    }

    fn up_or_down(&mut self, act: Act, last: Last, goal: Option<usize>) -> Did {
        if last != Last::Recalled && self.by_row(act, goal) {
            return Did::Took;
        }
        let text = if act == Act::Up {
            let (buffer, cursor) = (&self.buffer, self.cursor);
            self.recall.older(|| Draft { text: buffer.text(), cursor })
        } else {
            self.recall.newer()
        };
        let Some(draft) = text else {
            self.last = last;
            return if last == Last::Recalled { Did::Took } else { Did::Passed };
        };
        self.replace_all(&draft.text);
        self.cursor = draft.cursor;
        if self.recall.is_on() {
            self.last = Last::Recalled;
        }
        Did::Took
    }

    /// One row up or down; `false`: there is none.
    fn by_row(&mut self, act: Act, goal: Option<usize>) -> bool {
        let at = self.cursor;
        let rows = self.rows(at.line);
        let row = row_of(&rows, at.byte);
        let frame = self.frame(at.line);
        let cell = frame.cell(self.buffer.line(at.line), rows[row], at.byte);
        let goal = goal.unwrap_or(cell);
        let (line, row) = match act {
            Act::Up if row > 0 => (at.line, row - 1),
            Act::Up if at.line > 0 => (at.line - 1, self.rows(at.line - 1).len() - 1),
            Act::Down if row + 1 < rows.len() => (at.line, row + 1),
            Act::Down if at.line + 1 < self.buffer.lines().len() => (at.line + 1, 0),
            _ => return false,
        };
        let rows = self.rows(line);
        let byte = self.frame(line).byte(self.buffer.line(line), rows[row], goal);
        self.cursor = Pos { line, byte };
        self.goal = Some(goal);
        self.undo.close();
        true
    }

    fn unfold(&mut self) -> Did {
        let (at, buffer) = (self.cursor, &self.buffer);
        let spots = [(at, buffer.next(at)), (buffer.previous(at), at)];
        for (from, to) in spots.into_iter().filter(|(from, to)| from < to) {
            let sign = self.buffer.after(from).and_then(|grapheme| grapheme.chars().next());
            let text = match sign.and_then(|sign| self.tokens.get(sign)) {
                // What is unfolded at the start is still no command.
                Some(Token::Pasted(text)) if from == Pos::default() => as_words(text).into_owned(),
                Some(Token::Pasted(text)) => text.to_string(),
                Some(Token::File(Attached::Path(path))) => path.clone(),
                // A picture from the clipboard is nothing but itself.
                Some(Token::File(Attached::Bytes { .. }) | Token::Clipboard(_)) => {
                    return Did::Took;
                }
                None => continue,
            };
            self.replace(from, to, &text);
            return Did::Took;
        }
        Did::Passed
    }

    /// A key while earlier messages are searched; `None`: the search is over, and the key is for
    /// what it found.
    fn search_on(&mut self, act: Act) -> Option<Did> {
        let (search, entries) = (self.search.as_mut()?, self.recall.entries());
        match act {
            Act::Type(c) => search.add(c.encode_utf8(&mut [0; 4]), entries),
            Act::Backspace => search.shorten(entries),
            Act::Search => search.on(entries, Direction::Older),
            Act::SearchOn => search.on(entries, Direction::Newer),
            Act::Escape | Act::Editor | Act::Clear => self.search = None,
            Act::Enter | Act::Tab => self.take_found(),
            _ => {
                self.take_found();
                return None;
            }
        }
        Some(Did::Took)
    }

    fn take_found(&mut self) {
        let found = self.search.take().and_then(|search| search.found);
        let text = found.and_then(|index| self.recall.entries().get(index).cloned());
        if let Some(text) = text {
            self.recall.leave();
            self.replace_all(&text);
        }
    }
}
