//! Text that is being written, given out in pieces that no longer change: lines, or paragraphs for
//! a screen reader. Pure. Not here: how a piece is said.

use std::mem::take;

/// Longest piece that is held back, in bytes: then it is given out as it is.
const HELD_BYTES_MAX: usize = 16 * 1024;

/// How large the pieces are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PieceSize {
    /// Whole lines.
    #[default]
    Lines,
    /// Whole paragraphs; code between fences is one of them.
    Paragraphs,
}

/// One text of the model, as it comes.
#[derive(Debug, Default)]
pub(super) struct PieceStream {
    pieces: PieceSize,
    /// Everything of this text so far.
    all: String,
    /// How much of it was given out, in bytes.
    given: usize,
}

impl PieceStream {
    /// Nothing yet.
    pub(super) fn new(pieces: PieceSize) -> PieceStream {
        PieceStream { pieces, ..PieceStream::default() }
    }

    /// Whether something of it was given out.
    pub(super) fn has_begun(&self) -> bool {
        self.given > 0
    }

    /// More text: the pieces that became whole.
    pub(super) fn push(&mut self, text: &str) -> Vec<String> {
        self.all.push_str(text);
        let mut out = Vec::new();
        while let Some(end) = self.end_of_piece() {
            out.push(self.all[self.given..end].trim_end_matches('\n').to_owned());
            self.given = end;
        }
        out
    }

    /// The text is over and reads `whole`: what of it was not given out. `None`: what was given out
    /// is not how it begins, and the whole text is given out again.
    pub(super) fn finish(&mut self, whole: &str) -> Option<String> {
        let given = take(&mut self.given);
        let all = take(&mut self.all);
        whole.strip_prefix(&all[..given]).map(str::to_owned)
    }

    /// It was in vain: it begins again.
    pub(super) fn restart(&mut self) -> String {
        let rest = self.all[self.given..].to_owned();
        self.all.clear();
        self.given = 0;
        rest
    }

    fn end_of_piece(&self) -> Option<usize> {
        let open = &self.all[self.given..];
        let end = match self.pieces {
            PieceSize::Lines => open.find('\n').map(|at| at + 1),
            PieceSize::Paragraphs => end_of_paragraph(open),
        };
        let end = end.or_else(|| (open.len() > HELD_BYTES_MAX).then(|| find_cut(open)))?;
        Some(self.given + end)
    }
}

/// A place to cut what has grown too long: after a line or a word, where there is one.
fn find_cut(open: &str) -> usize {
    let most = open.floor_char_boundary(HELD_BYTES_MAX);
    let place = open[..most].rfind('\n').or_else(|| open[..most].rfind(' '));
    place.map_or(most, |at| at + 1)
}

/// Where the first paragraph ends: after the empty line that follows it or its closing fence.
fn end_of_paragraph(open: &str) -> Option<usize> {
    let mut at = 0;
    let mut fence: Option<&str> = None;
    let mut words = false;
    for line in open.split_inclusive('\n') {
        if !line.ends_with('\n') {
            return None;
        }
        let text = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (Some(begun), Some(mark)) if begun == mark => return Some(at + line.len()),
            (None, Some(_)) if words => return Some(at),
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if text.is_empty() && words => return Some(at + line.len()),
            (None, None) => words |= !text.is_empty(),
            (Some(_), _) => (),
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pieces: PieceSize, text: &str, step: usize) -> (Vec<String>, Option<String>) {
        let mut stream = PieceStream::new(pieces);
        let characters: Vec<char> = text.chars().collect();
        let mut out = Vec::new();
        for some in characters.chunks(step) {
            out.extend(stream.push(&some.iter().collect::<String>()));
        }
        let rest = stream.finish(text);
        (out, rest)
    }

    #[test]
    fn f1_lines_and_paragraphs_are_the_same_however_the_text_comes() {
        let text = "One\ntwo.\n\nThree:\n```rust\nfn a() {}\n\nfn b() {}\n```\nend\n\nlast";
        for step in [1, 2, 3, 7, 1000] {
            let (lines, rest) = pieces(PieceSize::Lines, text, step);
            assert_eq!(lines.len(), 11, "{step}: {lines:?}");
            assert_eq!(rest.as_deref(), Some("last"));
            let (paragraphs, rest) = pieces(PieceSize::Paragraphs, text, step);
            let expected = ["One\ntwo.", "Three:", "```rust\nfn a() {}\n\nfn b() {}\n```", "end"];
            assert_eq!(paragraphs, expected, "{step}");
            assert_eq!(rest.as_deref(), Some("last"));
        }
    }

    #[test]
    fn f1_what_grows_without_end_is_given_out_all_the_same() {
        let text = "é ".repeat(20_000);
        let (out, rest) = pieces(PieceSize::Paragraphs, &text, 100);
        assert!(out.iter().all(|piece| piece.len() <= HELD_BYTES_MAX), "a bound");
        assert_eq!(out.concat() + &rest.expect("it is the text"), text);
    }

    #[test]
    fn f1_a_text_that_turned_out_otherwise_is_known() {
        let mut stream = PieceStream::new(PieceSize::Lines);
        assert_eq!(stream.push("first\nsec"), ["first"]);
        assert_eq!(stream.finish("second\n"), None);
        assert_eq!(stream.push("a\nb"), ["a"]);
        assert_eq!(stream.restart(), "b");
        assert_eq!(stream.finish("whole").as_deref(), Some("whole"));
    }
}
