//! Takes known secrets out of a stream of bytes, wherever its pieces end (Z7): for what is written as it
//! comes. Not here: the shapes of tokens, which need the whole text.

use std::borrow::Cow;

use super::redact::{Needle, secret_needles};

/// A stream without the values of some secrets, in every form in which they travel.
pub struct StreamRedactor {
    /// The longest first.
    needles: Vec<Needle>,
    /// Numbers of those that begin with each byte.
    by_first: Vec<Vec<usize>>,
    /// What may be the beginning of one: no byte of it is given out before that is certain.
    held: Vec<u8>,
    /// So many bytes of it belong to one that was covered.
    covered: usize,
}

impl StreamRedactor {
    /// Of these values.
    pub fn new(secrets: &[String]) -> StreamRedactor {
        let needles = secret_needles(secrets);
        let mut by_first = vec![Vec::new(); 256];
        for (number, needle) in needles.iter().enumerate() {
            if let Some(first) = needle.text.bytes().next() {
                by_first[usize::from(first)].push(number);
            }
        }
        StreamRedactor { needles, by_first, held: Vec::new(), covered: 0 }
    }

    /// What is certain after these bytes. What is held back is a part of a value, and shorter than it.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.needles.is_empty() {
            return Cow::Borrowed(bytes);
        }
        self.held.extend_from_slice(bytes);
        let whole = self.releasable_length();
        Cow::Owned(self.release_bytes(whole))
    }

    /// Ends the stream and returns the bytes that were held back.
    pub fn finish(&mut self) -> Vec<u8> {
        let whole = self.held.len();
        self.release_bytes(whole)
    }

    /// Where the first value begins that may go on in the next bytes; the end if there is none.
    fn releasable_length(&self) -> usize {
        let longest = self.needles.first().map_or(0, |needle| needle.text.len());
        let from = (self.held.len() + 1).saturating_sub(longest);
        let begins = |at: &usize| {
            let rest = &self.held[*at..];
            self.matching_needles(rest).any(|needle| {
                rest.len() < needle.text.len() && needle.text.as_bytes().starts_with(rest)
            })
        };
        (from..self.held.len()).find(begins).unwrap_or(self.held.len())
    }

    /// The needles that begin as `rest` does.
    fn matching_needles(&self, rest: &[u8]) -> impl Iterator<Item = &Needle> {
        let first =
            rest.first().map_or(&[][..], |first| self.by_first[usize::from(*first)].as_slice());
        first.iter().map(|number| &self.needles[*number])
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
}
