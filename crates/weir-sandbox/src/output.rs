//! A command's output in bounded memory: head and tail for the result, whole characters for
//! progress. Not here: where the bytes come from and where all of them are kept.

/// Room that the marker line in the middle may take.
const MARKER_BYTES_MAX: usize = 64;

/// Keeps the first and the last bytes of a stream of any length.
#[derive(Debug)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    head_max: usize,
    tail: Vec<u8>,
    tail_max: usize,
    total: u64,
}

impl HeadTail {
    /// Keeps at most `keep_bytes`, half from each end.
    pub(crate) fn new(keep_bytes: usize) -> HeadTail {
        let head_max = keep_bytes / 2;
        HeadTail {
            head: Vec::new(),
            head_max,
            tail: Vec::new(),
            tail_max: keep_bytes - head_max,
            total: 0,
        }
    }

    /// Bytes seen so far.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let to_head = bytes.len().min(self.head_max - self.head.len());
        let (first, rest) = bytes.split_at(to_head);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(self.tail_max)..]);
        // Twice the bound before anything moves, so that moving costs a constant per byte.
        if self.tail.len() >= self.tail_max.saturating_mul(2).max(1) {
            self.tail.drain(..self.tail.len() - self.tail_max);
        }
    }

    /// The text of the result, followed by `notes` on lines of their own; at most `keep_bytes` and
    /// the notes. Invalid UTF-8 is replaced.
    pub(crate) fn render(&self, notes: &[String]) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(self.tail_max)..];
        let kept = (self.head.len() + tail.len()) as u64;
        let mut text = if kept == self.total {
            let whole = [self.head.as_slice(), tail].concat();
            let whole = String::from_utf8_lossy(&whole);
            // Replacing invalid bytes makes them longer: the bound holds for what comes out.
            if whole.len() <= self.head_max + self.tail_max {
                whole.into_owned()
            } else {
                self.cut_middle(&whole, &whole)
            }
        } else {
            self.cut_middle(&String::from_utf8_lossy(&self.head), &String::from_utf8_lossy(tail))
        };
        for note in notes {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push('[');
            text.push_str(note);
            text.push(']');
        }
        text
    }

    /// The start of `head` and the end of `tail` around a line that says how much is left out.
    fn cut_middle(&self, head: &str, tail: &str) -> String {
        let room = (self.head_max + self.tail_max).saturating_sub(MARKER_BYTES_MAX);
        let head = &head[..head.floor_char_boundary(room / 2)];
        let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room - room / 2))..];
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let marker = format!("\n[... {left_out} bytes left out ...]\n");
        [head, &marker, tail].concat()
    }
}

/// Turns pieces of bytes into pieces of text without cutting a character in two.
#[derive(Debug, Default)]
pub(crate) struct CharacterDecoder {
    pending: Vec<u8>,
}

impl CharacterDecoder {
    /// The text that is complete after `bytes`; invalid UTF-8 is replaced.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let keep = match std::str::from_utf8(&self.pending) {
            Ok(_) => 0,
            Err(_) => incomplete_end(&self.pending),
        };
        let rest = self.pending.split_off(self.pending.len() - keep);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// What is left when no more bytes come.
    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

/// Length of the character at the very end of `bytes` of which only the beginning is there.
fn incomplete_end(bytes: &[u8]) -> usize {
    let last_chunk = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let could_go_on = std::str::from_utf8(last_chunk)
        .err()
        .is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
    if could_go_on { last_chunk.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_short_output_is_kept_whole() {
        let mut output = HeadTail::new(100);
        output.push(b"one\n");
        output.push("zw\u{00f6}lf\n".as_bytes());
        assert_eq!(output.render(&[]), "one\nzw\u{00f6}lf\n");
        assert_eq!(output.render(&["a note".into()]), "one\nzw\u{00f6}lf\n[a note]");
        assert_eq!(output.total_bytes(), 11);
    }

    #[test]
    fn t8_long_output_keeps_head_and_tail_within_the_bound() {
        for piece in [1, 7, 1000, 70_000] {
            let all: Vec<u8> = (0..100_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
            let mut output = HeadTail::new(1000);
            for bytes in all.chunks(piece) {
                output.push(bytes);
            }
            let text = output.render(&[]);
            assert!(text.len() <= 1000, "{} bytes", text.len());
            assert!(text.starts_with("0\n1\n2\n"));
            assert!(text.ends_with("99998\n99999\n"));
            let shown = text.lines().filter(|line| !line.starts_with('[')).count();
            assert!(shown > 100 && text.contains(" bytes left out ...]"));
        }
    }

    #[test]
    fn t8_invalid_bytes_do_not_break_the_bound() {
        let mut output = HeadTail::new(500);
        output.push(&[0xff; 499]);
        assert!(output.render(&[]).len() <= 500);
        output.push(&[0xff; 4990]);
        assert!(output.render(&[]).len() <= 500);
    }

    #[test]
    fn t8_a_bound_of_nothing_is_a_bound() {
        let mut output = HeadTail::new(0);
        output.push(b"text");
        assert!(output.render(&[]).len() <= MARKER_BYTES_MAX);
    }

    #[test]
    fn characters_are_not_cut_in_two() {
        let text = "a\u{00e4}\u{20ac}\u{1f980}z";
        for piece in 1..6 {
            let mut characters = CharacterDecoder::default();
            let mut out = String::new();
            for bytes in text.as_bytes().chunks(piece) {
                out += &characters.push(bytes);
            }
            out += &characters.finish();
            assert_eq!(out, text);
        }
        let mut characters = CharacterDecoder::default();
        assert_eq!(characters.push(b"a\xffb\xe2"), "a\u{fffd}b");
        assert_eq!(characters.finish(), "\u{fffd}");
    }
}
