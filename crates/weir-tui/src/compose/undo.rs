//! Changes that can be taken back, typed letters joined to words, and what was cut out. Not here:
//! the text that they change.

use std::collections::VecDeque;

use super::buffer::{Buffer, GraphemeClass, TextPos, end_of};

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
pub(super) enum EditKind {
    Typed,
    Backspaced,
    Deleted,
    Whole,
}

#[derive(Debug, Clone)]
struct UndoStep {
    kind: EditKind,
    at: TextPos,
    removed: String,
    inserted: String,
    before: TextPos,
}

impl UndoStep {
    fn byte_count(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }
}

/// What was done, and what was taken back.
#[derive(Debug, Default)]
pub(super) struct UndoHistory {
    done: VecDeque<UndoStep>,
    undone: Vec<UndoStep>,
    bytes: usize,
    closed: bool,
}

/// A change.
pub(super) struct BufferChange {
    pub(super) kind: EditKind,
    pub(super) from: TextPos,
    pub(super) to: TextPos,
    /// Where the cursor stood.
    pub(super) before: TextPos,
}

impl UndoHistory {
    /// Makes a change and remembers it: gives back where what is new ends.
    pub(super) fn apply_change(
        &mut self,
        buffer: &mut Buffer,
        change: &BufferChange,
        new: &str,
    ) -> TextPos {
        let removed = buffer.splice(change.from, change.to, new);
        self.undone.clear();
        let step = UndoStep {
            kind: change.kind,
            at: change.from,
            removed,
            inserted: new.to_owned(),
            before: change.before,
        };
        self.bytes += step.byte_count();
        match self.done.back_mut() {
            Some(last) if !self.closed && can_join(last, &step) => join_steps(last, &step),
            _ => self.done.push_back(step),
        }
        self.closed = false;
        while self.done.len() > STEPS_MAX || (self.bytes > STEPS_BYTES_MAX && self.done.len() > 1) {
            let oldest = self.done.pop_front();
            self.bytes -= oldest.map_or(0, |step| step.byte_count());
        }
        end_of(change.from, new)
    }

    /// What comes is a step of its own.
    pub(super) fn close_step(&mut self) {
        self.closed = true;
    }

    /// Takes the last step back: where the cursor stood before it.
    pub(super) fn undo(&mut self, buffer: &mut Buffer) -> Option<TextPos> {
        let step = self.done.pop_back()?;
        buffer.splice(step.at, end_of(step.at, &step.inserted), &step.removed);
        let before = step.before;
        self.bytes -= step.byte_count();
        self.undone.push(step);
        self.closed = true;
        Some(before)
    }

    /// Makes the step again that was taken back last: where it ends.
    pub(super) fn redo(&mut self, buffer: &mut Buffer) -> Option<TextPos> {
        let step = self.undone.pop()?;
        buffer.splice(step.at, end_of(step.at, &step.removed), &step.inserted);
        let after = end_of(step.at, &step.inserted);
        self.bytes += step.byte_count();
        self.done.push_back(step);
        self.closed = true;
        Some(after)
    }

    pub(super) fn clear(&mut self) {
        *self = UndoHistory::default();
    }
}

/// Letters of a word belong together, with the blanks after it.
fn can_join(last: &UndoStep, next: &UndoStep) -> bool {
    if last.kind != next.kind {
        return false;
    }
    let starts_word = |before: &str, after: &str| {
        let class =
            |c: Option<char>| c.map(|c| GraphemeClass::of_grapheme(c.encode_utf8(&mut [0; 4])));
        class(before.chars().next_back()) == Some(GraphemeClass::Blank)
            && class(after.chars().next()) != Some(GraphemeClass::Blank)
    };
    match next.kind {
        EditKind::Typed => {
            end_of(last.at, &last.inserted) == next.at
                && next.removed.is_empty()
                && !next.inserted.contains('\n')
                && !starts_word(&last.inserted, &next.inserted)
        }
        EditKind::Backspaced => {
            end_of(next.at, &next.removed) == last.at && !starts_word(&next.removed, &last.removed)
        }
        EditKind::Deleted => next.at == last.at && !starts_word(&last.removed, &next.removed),
        EditKind::Whole => false,
    }
}

fn join_steps(last: &mut UndoStep, next: &UndoStep) {
    match next.kind {
        EditKind::Backspaced => {
            last.removed.insert_str(0, &next.removed);
            last.at = next.at;
        }
        EditKind::Typed | EditKind::Deleted | EditKind::Whole => {
            last.inserted.push_str(&next.inserted);
            last.removed.push_str(&next.removed);
        }
    }
}

/// Which side of the cursor was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutSide {
    Before,
    After,
}

/// How a text was cut out.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutDetails {
    pub(super) side: CutSide,
    /// The key before cut as well: both are one text.
    pub(super) again: bool,
}

/// What was cut out, the last at the end.
#[derive(Debug, Default)]
pub(super) struct KillRing {
    texts: VecDeque<String>,
}

impl KillRing {
    /// Keeps a cut text.
    pub(super) fn push(&mut self, text: String, cut: CutDetails) {
        match self.texts.back_mut().filter(|_| cut.again) {
            Some(last) if cut.side == CutSide::Before => last.insert_str(0, &text),
            Some(last) => last.push_str(&text),
            None => self.texts.push_back(text),
        }
        let mut bytes: usize = self.texts.iter().map(String::len).sum();
        while self.texts.len() > KILLS_MAX || (bytes > KILLS_BYTES_MAX && self.texts.len() > 1) {
            bytes -= self.texts.pop_front().map_or(0, |text| text.len());
        }
    }

    pub(super) fn last_text(&self) -> Option<&str> {
        self.texts.back().map(String::as_str)
    }

    /// Lets the text before the last be the last.
    pub(super) fn rotate_ring(&mut self) {
        if !self.texts.is_empty() {
            self.texts.rotate_right(1);
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}
