//! Changes that can be taken back, typed letters joined to words, and what was cut out. Not here:
//! the text that they change.

use std::collections::VecDeque;

use super::buffer::{Buffer, Class, Pos, end_of};

/// Steps that are kept.
const STEPS_MAX: usize = 1000;
/// Bytes that all steps may hold; the last one is kept in any case.
const STEPS_BYTES_MAX: usize = 64 << 20;
/// Texts that were cut out and can be put in again.
const KILLS_MAX: usize = 30;
/// Bytes that they may have together; the last one is kept in any case.
const KILLS_BYTES_MAX: usize = 32 << 20;

/// How a change came to be; only like ones are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Typed,
    Backspaced,
    Deleted,
    Whole,
}

#[derive(Debug, Clone)]
struct Step {
    kind: Kind,
    at: Pos,
    removed: String,
    inserted: String,
    before: Pos,
}

impl Step {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }
}

/// What was done, and what was taken back.
#[derive(Debug, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    bytes: usize,
    closed: bool,
}

/// A change.
pub(super) struct Change {
    pub(super) kind: Kind,
    pub(super) from: Pos,
    pub(super) to: Pos,
    /// Where the cursor stood.
    pub(super) before: Pos,
}

impl Undo {
    /// Makes a change and remembers it: gives back where what is new ends.
    pub(super) fn change(&mut self, buffer: &mut Buffer, change: &Change, new: &str) -> Pos {
        let removed = buffer.splice(change.from, change.to, new);
        self.undone.clear();
        let step = Step {
            kind: change.kind,
            at: change.from,
            removed,
            inserted: new.to_owned(),
            before: change.before,
        };
        self.bytes += step.bytes();
        match self.done.back_mut() {
            Some(last) if !self.closed && joins(last, &step) => join(last, &step),
            _ => self.done.push_back(step),
        }
        self.closed = false;
        while self.done.len() > STEPS_MAX || (self.bytes > STEPS_BYTES_MAX && self.done.len() > 1) {
            let oldest = self.done.pop_front();
            self.bytes -= oldest.map_or(0, |step| step.bytes());
        }
        end_of(change.from, new)
    }

    /// What comes is a step of its own.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Takes the last step back: where the cursor stood before it.
    pub(super) fn undo(&mut self, buffer: &mut Buffer) -> Option<Pos> {
        let step = self.done.pop_back()?;
        buffer.splice(step.at, end_of(step.at, &step.inserted), &step.removed);
        let before = step.before;
        self.bytes -= step.bytes();
        self.undone.push(step);
        self.closed = true;
        Some(before)
    }

    /// Makes the step again that was taken back last: where it ends.
    pub(super) fn redo(&mut self, buffer: &mut Buffer) -> Option<Pos> {
        let step = self.undone.pop()?;
        buffer.splice(step.at, end_of(step.at, &step.removed), &step.inserted);
        let after = end_of(step.at, &step.inserted);
        self.bytes += step.bytes();
        self.done.push_back(step);
        self.closed = true;
        Some(after)
    }

    pub(super) fn clear(&mut self) {
        *self = Undo::default();
    }
}

/// Letters of a word belong together, with the blanks after it.
fn joins(last: &Step, next: &Step) -> bool {
    if last.kind != next.kind {
        return false;
    }
    let starts_word = |before: &str, after: &str| {
        let class = |c: Option<char>| c.map(|c| Class::of(c.encode_utf8(&mut [0; 4])));
        class(before.chars().next_back()) == Some(Class::Blank)
            && class(after.chars().next()) != Some(Class::Blank)
    };
    match next.kind {
        Kind::Typed => {
            end_of(last.at, &last.inserted) == next.at
                && next.removed.is_empty()
                && !next.inserted.contains('\n')
                && !starts_word(&last.inserted, &next.inserted)
        }
        Kind::Backspaced => {
            end_of(next.at, &next.removed) == last.at && !starts_word(&next.removed, &last.removed)
        }
        Kind::Deleted => next.at == last.at && !starts_word(&last.removed, &next.removed),
        Kind::Whole => false,
    }
}

fn join(last: &mut Step, next: &Step) {
    match next.kind {
        Kind::Backspaced => {
            last.removed.insert_str(0, &next.removed);
            last.at = next.at;
        }
        Kind::Typed | Kind::Deleted | Kind::Whole => {
            last.inserted.push_str(&next.inserted);
            last.removed.push_str(&next.removed);
        }
    }
}

/// Which side of the cursor was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// How a text was cut out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) side: Side,
    /// The key before cut as well: both are one text.
    pub(super) again: bool,
}

/// What was cut out, the last at the end.
#[derive(Debug, Default)]
pub(super) struct Kills {
    texts: VecDeque<String>,
}

impl Kills {
    /// Keeps a cut text.
    pub(super) fn push(&mut self, text: String, cut: Cut) {
        match self.texts.back_mut().filter(|_| cut.again) {
            Some(last) if cut.side == Side::Before => last.insert_str(0, &text),
            Some(last) => last.push_str(&text),
            None => self.texts.push_back(text),
        }
        let mut bytes: usize = self.texts.iter().map(String::len).sum();
        while self.texts.len() > KILLS_MAX || (bytes > KILLS_BYTES_MAX && self.texts.len() > 1) {
            bytes -= self.texts.pop_front().map_or(0, |text| text.len());
        }
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.texts.back().map(String::as_str)
    }

    /// Lets the text before the last be the last.
    pub(super) fn turn(&mut self) {
        if !self.texts.is_empty() {
            self.texts.rotate_right(1);
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}
