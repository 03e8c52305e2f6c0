//! The text of the box as lines, and places in it. Every place that it gives lies between two
//! grapheme clusters. Not here: what is undone, what keys mean.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::token;

/// A place: a line and a byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct TextPos {
    pub(super) line: usize,
    pub(super) byte: usize,
}

/// Lines; there is always one.
#[derive(Debug)]
pub(super) struct Buffer {
    lines: Vec<String>,
    version: u64,
}

/// What a grapheme cluster is when words are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GraphemeClass {
    Blank,
    Sign,
    Word,
}

impl GraphemeClass {
    pub(super) fn of_grapheme(grapheme: &str) -> GraphemeClass {
        match grapheme.chars().next() {
            None => GraphemeClass::Blank,
            Some(c) if c.is_whitespace() => GraphemeClass::Blank,
            Some(c) if c.is_alphanumeric() || c == '_' || token::is_token(c) => GraphemeClass::Word,
            Some(_) => GraphemeClass::Sign,
        }
    }
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        Buffer { lines: vec![String::new()], version: 0 }
    }

    /// Another number after every change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(super) fn line(&self, line: usize) -> &str {
        self.lines.get(line).map_or("", String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.len() == 1 && self.lines[0].is_empty()
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(super) fn end(&self) -> TextPos {
        let line = self.lines.len() - 1;
        TextPos { line, byte: self.lines[line].len() }
    }

    pub(super) fn line_end(&self, line: usize) -> TextPos {
        TextPos { line, byte: self.line(line).len() }
    }

    /// The text between two places.
    pub(super) fn slice(&self, from: TextPos, to: TextPos) -> String {
        if from.line == to.line {
            return self.line(from.line)[from.byte..to.byte].to_owned();
        }
        let mut out = self.line(from.line)[from.byte..].to_owned();
        for line in from.line + 1..to.line {
            out.push('\n');
            out.push_str(self.line(line));
        }
        out.push('\n');
        out.push_str(&self.line(to.line)[..to.byte]);
        out
    }

    /// Puts `new` in place of what is between two places: gives back what was there.
    pub(super) fn splice(&mut self, from: TextPos, to: TextPos, new: &str) -> String {
        self.version += 1;
        let removed = self.slice(from, to);
        if from.line == to.line && !new.contains('\n') {
            self.lines[from.line].replace_range(from.byte..to.byte, new);
            return removed;
        }
        let rest = self.lines[to.line].split_off(to.byte);
        self.lines[from.line].truncate(from.byte);
        let mut fresh: Vec<String> = Vec::new();
        for (index, part) in new.split('\n').enumerate() {
            if index == 0 {
                self.lines[from.line].push_str(part);
            } else {
                fresh.push(part.to_owned());
            }
        }
        match fresh.last_mut() {
            Some(last) => last.push_str(&rest),
            None => self.lines[from.line].push_str(&rest),
        }
        self.lines.splice(from.line + 1..=to.line, fresh);
        removed
    }

    /// The grapheme cluster after a place; a line break at the end of a line.
    pub(super) fn grapheme_after(&self, pos: TextPos) -> Option<&str> {
        let rest = &self.line(pos.line)[pos.byte..];
        match rest.graphemes(true).next() {
            Some(grapheme) => Some(grapheme),
            None if pos.line + 1 < self.lines.len() => Some("\n"),
            None => None,
        }
    }

    /// The grapheme cluster before a place.
    pub(super) fn grapheme_before(&self, pos: TextPos) -> Option<&str> {
        if pos.byte == 0 {
            return (pos.line > 0).then_some("\n");
        }
        Some(&self.line(pos.line)[self.previous(pos).byte..pos.byte])
    }

    /// The place one grapheme cluster on; the end stays the end.
    pub(super) fn next(&self, pos: TextPos) -> TextPos {
        let line = self.line(pos.line);
        if pos.byte >= line.len() {
            let last = pos.line + 1 >= self.lines.len();
            return if last { pos } else { TextPos { line: pos.line + 1, byte: 0 } };
        }
        let mut cursor = GraphemeCursor::new(pos.byte, line.len(), true);
        let byte = cursor.next_boundary(line, 0).ok().flatten().unwrap_or(line.len());
        TextPos { line: pos.line, byte }
    }

    /// The place one grapheme cluster back; the start stays the start.
    pub(super) fn previous(&self, pos: TextPos) -> TextPos {
        if pos.byte == 0 {
            return if pos.line == 0 { pos } else { self.line_end(pos.line - 1) };
        }
        let line = self.line(pos.line);
        let mut cursor = GraphemeCursor::new(pos.byte, line.len(), true);
        let byte = cursor.prev_boundary(line, 0).ok().flatten().unwrap_or(0);
        TextPos { line: pos.line, byte }
    }

    /// The place itself or, where a change has joined what stands around it, the next one between
    /// two grapheme clusters.
    pub(super) fn snap_to_boundary(&self, pos: TextPos) -> TextPos {
        let line = self.line(pos.line);
        let mut cursor = GraphemeCursor::new(pos.byte, line.len(), true);
        match cursor.is_boundary(line, 0) {
            Ok(true) => pos,
            _ => self.next(pos),
        }
    }

    /// The end of the word at or after a place.
    pub(super) fn word_end(&self, pos: TextPos) -> TextPos {
        let start = self.skip_on(pos, |class| class != GraphemeClass::Word);
        self.skip_on(start, |class| class == GraphemeClass::Word)
    }

    /// The start of the word at or before a place.
    pub(super) fn word_start(&self, pos: TextPos) -> TextPos {
        let end = self.skip_back(pos, |class| class != GraphemeClass::Word);
        self.skip_back(end, |class| class == GraphemeClass::Word)
    }

    /// The start of what stands between blanks at or before a place.
    pub(super) fn blank_word_start(&self, pos: TextPos) -> TextPos {
        let end = self.skip_back(pos, |class| class == GraphemeClass::Blank);
        self.skip_back(end, |class| class != GraphemeClass::Blank)
    }

    fn skip_on(&self, mut pos: TextPos, skipped: impl Fn(GraphemeClass) -> bool) -> TextPos {
        while let Some(grapheme) = self.grapheme_after(pos)
            && skipped(GraphemeClass::of_grapheme(grapheme))
        {
            pos = self.next(pos);
        }
        pos
    }

    fn skip_back(&self, mut pos: TextPos, skipped: impl Fn(GraphemeClass) -> bool) -> TextPos {
        while let Some(grapheme) = self.grapheme_before(pos)
            && skipped(GraphemeClass::of_grapheme(grapheme))
        {
            pos = self.previous(pos);
        }
        pos
    }
}

/// Where `text` ends that begins at `from`.
pub(super) fn end_of(from: TextPos, text: &str) -> TextPos {
    match text.rfind('\n') {
        None => TextPos { line: from.line, byte: from.byte + text.len() },
        Some(at) => {
            let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
            TextPos { line: from.line + breaks, byte: text.len() - at - 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, byte: usize) -> TextPos {
        TextPos { line, byte }
    }

    fn filled(text: &str) -> Buffer {
        let mut buffer = Buffer::new();
        buffer.splice(at(0, 0), at(0, 0), text);
        buffer
    }

    #[test]
    fn f1_a_part_is_put_in_place_of_another() {
        for (text, from, to, new, expected, removed) in [
            ("", at(0, 0), at(0, 0), "a\nb", "a\nb", ""),
            ("ab", at(0, 1), at(0, 1), "\n", "a\nb", ""),
            ("a\nb", at(0, 1), at(1, 0), "", "ab", "\n"),
            ("one\ntwo\nthree", at(0, 1), at(2, 2), "X", "oXree", "ne\ntwo\nth"),
            ("one\ntwo", at(0, 3), at(1, 3), "\n\n", "one\n\n", "\ntwo"),
            ("x", at(0, 0), at(0, 1), "", "", "x"),
        ] {
            let mut buffer = filled(text);
            assert_eq!(buffer.splice(from, to, new), removed, "{text:?}");
            assert_eq!(buffer.text(), expected, "{text:?}");
            let back = buffer.splice(from, end_of(from, new), removed);
            assert_eq!((back.as_str(), buffer.text().as_str()), (new, text));
        }
    }

    #[test]
    fn f1_places_move_by_clusters_and_words() {
        let buffer = filled("ae\u{301}👨‍👩‍👧 漢\nb");
        let mut stops = vec![at(0, 0)];
        while buffer.next(stops[stops.len() - 1]) != stops[stops.len() - 1] {
            stops.push(buffer.next(stops[stops.len() - 1]));
        }
        let expected = [0, 1, 4, 22, 23, 26].map(|byte| at(0, byte));
        assert_eq!(stops[..6], expected);
        assert_eq!(stops[6..], [at(1, 0), at(1, 1)]);
        for pair in stops.windows(2) {
            assert_eq!(buffer.previous(pair[1]), pair[0]);
        }
        let words = filled("ab, c-d\n\nüx");
        assert_eq!(words.word_end(at(0, 0)), at(0, 2));
        assert_eq!(words.word_end(at(0, 2)), at(0, 5));
        assert_eq!(words.word_end(at(0, 7)), at(2, 3));
        assert_eq!(words.word_start(at(2, 0)), at(0, 6));
        assert_eq!(words.blank_word_start(at(0, 7)), at(0, 4));
        assert_eq!(words.blank_word_start(at(0, 4)), at(0, 0));
    }

    #[test]
    fn f1_a_place_within_a_cluster_is_moved_out_of_it() {
        let buffer = filled("ae\u{301}b");
        assert_eq!(buffer.snap_to_boundary(at(0, 2)), at(0, 4));
        assert_eq!(buffer.snap_to_boundary(at(0, 1)), at(0, 1));
    }
}
