//! Takes known secrets out of a stream of bytes, wherever its pieces end (Z7): for what is written as it
//! comes. Not here: the shapes of tokens, which need the whole text.

use std::borrow::Cow;
use std::sync::Arc;

use super::redact::{Needle, secret_needles};

/// A stream without the values of some secrets, in every form in which they travel. A copy of one to
/// which nothing was given is for another stream without the same values.
#[derive(Clone)]
pub struct StreamRedactor {
    /// By their first byte; of those with the same one, the longest first.
    needles: Arc<[Needle]>,
    /// Whether one begins with a byte.
    begins: [bool; 256],
    /// Bytes of the longest.
    longest: usize,
    /// What may be the beginning of one: no byte of it is given out before that is certain.
    held: Vec<u8>,
    /// So many bytes of it belong to one that was covered.
    covered: usize,
}

fn first_byte(needle: &Needle) -> Option<u8> {
    needle.text.bytes().next()
}

impl StreamRedactor {
    /// Of these values.
    pub fn new(secrets: &[String]) -> StreamRedactor {
        let mut needles = secret_needles(secrets);
        let longest = needles.first().map_or(0, |needle| needle.text.len());
        // It keeps the order of those with the same byte.
        needles.sort_by_key(first_byte);
        let mut begins = [false; 256];
        for first in needles.iter().filter_map(first_byte) {
            begins[usize::from(first)] = true;
        }
        StreamRedactor { needles: needles.into(), begins, longest, held: Vec::new(), covered: 0 }
    }

    /// What is certain after these bytes. What is held back is a part of a value, and shorter than it.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.held.is_empty() && self.covered == 0 && !self.may_hold_value(bytes) {
            return Cow::Borrowed(bytes);
        }
        self.held.extend_from_slice(bytes);
        let whole = self.releasable_length();
        Cow::Owned(self.release_bytes(whole))
    }

    /// Whether a value stands in these bytes, or may begin in them and go on in the next.
    fn may_hold_value(&self, bytes: &[u8]) -> bool {
        let begins = |at: usize| {
            let rest = &bytes[at..];
            self.matching_needles(rest).any(|needle| {
                let text = needle.text.as_bytes();
                rest.starts_with(text) || text.starts_with(rest)
            })
        };
        (0..bytes.len()).any(begins)
    }

    /// Ends the stream and returns the bytes that were held back.
    pub fn finish(&mut self) -> Vec<u8> {
        let whole = self.held.len();
        self.release_bytes(whole)
    }

    /// Where the first value begins that may go on in the next bytes; the end if there is none.
    fn releasable_length(&self) -> usize {
        let from = (self.held.len() + 1).saturating_sub(self.longest);
        let begins = |at: &usize| {
            let rest = &self.held[*at..];
            self.matching_needles(rest).any(|needle| {
                rest.len() < needle.text.len() && needle.text.as_bytes().starts_with(rest)
            })
        };
        (from..self.held.len()).find(begins).unwrap_or(self.held.len())
    }

    /// The needles that begin as `rest` does, the longest first.
    fn matching_needles(&self, rest: &[u8]) -> impl Iterator<Item = &Needle> {
        let first = rest.first().copied().filter(|first| self.begins[usize::from(*first)]);
        let from = first.map_or(self.needles.len(), |_| {
            self.needles.partition_point(|needle| first_byte(needle) < first)
        });
        self.needles[from..].iter().take_while(move |needle| first_byte(needle) == first)
    }

    /// Gives out the first `whole` bytes, covered.
    fn release_bytes(&mut self, whole: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(whole);
        let mut done = self.covered;
        for at in 0..whole {
            let rest = &self.held[at..];
            let Some(needle) =
                self.matching_needles(rest).find(|n| rest.starts_with(n.text.as_bytes()))
            else {
                continue;
            };
            if at >= done {
                out.extend_from_slice(&self.held[done..at]);
                out.extend_from_slice(format!("[redacted: {}]", needle.kind).as_bytes());
            }
            done = done.max(at + needle.text.len());
        }
        if done < whole {
            out.extend_from_slice(&self.held[done..whole]);
        }
        self.covered = done.saturating_sub(whole);
        self.held.drain(..whole);
        out
    }
}

impl std::fmt::Debug for StreamRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Veil").field("needles", &self.needles.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::redact_text;
    use super::*;

    fn through(secrets: &[&str], text: &[u8], piece: usize) -> String {
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        let mut veil = StreamRedactor::new(&secrets);
        let mut out = Vec::new();
        for bytes in text.chunks(piece) {
            out.extend_from_slice(&veil.push(bytes));
        }
        out.extend(veil.finish());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn z7_a_secret_is_covered_wherever_the_pieces_of_a_stream_end() {
        let key = "zq7marker0secret0value";
        let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("{key}{key} zq7marker0 {hex}\nzq7marker0secret0valu {key}");
        let whole = redact_text(&text, &[key.to_owned()]).into_owned();
        assert!(!whole.contains(key) && whole.contains("zq7marker0secret0valu "), "{whole}");
        for piece in 1..=text.len() {
            assert_eq!(through(&[key], text.as_bytes(), piece), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn z7_secrets_that_overlap_are_covered_as_one() {
        let secrets = ["abcd1234", "1234wxyz", "aaaaaaaa"];
        for piece in 1..20 {
            let out = through(&secrets, b"<abcd1234wxyz> aaaaaaaaaaaaa.", piece);
            assert_eq!(out, "<[redacted: secret]> [redacted: secret].", "pieces of {piece}");
        }
    }

    #[test]
    fn z7_what_is_no_secret_is_given_out_at_once() {
        let mut veil = StreamRedactor::new(&["zq7marker".to_owned()]);
        assert_eq!(&*veil.push(b"ready? "), b"ready? ");
        assert_eq!(&*veil.push(b"at z"), b"at ", "it may begin here");
        assert_eq!(&*veil.push(b"oo"), b"zoo");
        assert_eq!(&*veil.push(b"zq7"), b"");
        assert_eq!(veil.finish(), b"zq7");
        assert_eq!(&*StreamRedactor::new(&[]).push(b"\xff"), b"\xff");
    }

    #[test]
    fn z7_wherever_a_stream_is_cut_the_same_is_covered() {
        // Two letters: nearly everything is the beginning of a value, and values overlap.
        let secrets = ["aabaabaa", "abababab"];
        for bits in 0..1_u32 << 12 {
            let text: Vec<u8> =
                (0..12).map(|at| if (bits >> at) & 1 == 0 { b'a' } else { b'b' }).collect();
            let whole = through(&secrets, &text, text.len());
            for cut in 1..text.len() {
                let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
                let mut veil = StreamRedactor::new(&secrets).clone();
                let mut out = veil.push(&text[..cut]).into_owned();
                out.extend_from_slice(&veil.push(&text[cut..]));
                out.extend(veil.finish());
                assert_eq!(String::from_utf8_lossy(&out), whole, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn q19_what_holds_no_value_is_not_copied() {
        let mut veil = StreamRedactor::new(&["zq7marker".to_owned()]);
        assert!(matches!(veil.push(b"a lazy quiz."), Cow::Borrowed(_)), "none goes on from there");
        assert!(matches!(veil.push(b"zq7"), Cow::Owned(held) if held.is_empty()));
        assert_eq!(&*veil.push(b"marker, "), b"[redacted: secret], ");
        assert!(matches!(veil.push(b"and on."), Cow::Borrowed(_)), "it is over");
    }
}
