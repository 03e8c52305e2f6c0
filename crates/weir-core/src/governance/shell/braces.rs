//! Braces of the shell: which words have a list or a range in them, and what they become. Not here: patterns, and
//! words that a variable or a command gives.

/// Words that one with braces becomes; in the others all from the next brace on is taken for anything.
const WORDS_MAX: usize = 64;
/// Longest word whose braces are looked at, in bytes: no path is longer.
const WORD_BYTES_MAX: usize = 4_096;

/// How much of what makes a pair of braces a list or a range stands in a word, outside of quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BraceSigns {
    Nothing,
    /// `{`
    Open,
    /// `{a,` or `{a..`
    Parted,
    /// `{a,b}`
    Whole,
}

impl BraceSigns {
    /// The same with what stands behind it.
    pub(super) fn add_signs(mut self, behind: &str) -> BraceSigns {
        use BraceSigns::{Nothing, Open, Parted, Whole};
        if self == Whole || (self == Nothing && !behind.contains('{')) {
            return self;
        }
        for (at, byte) in behind.bytes().enumerate() {
            self = match (self, byte) {
                (Nothing, b'{') => Open,
                (Open, b',') => Parted,
                (Open, b'.') if behind[at + 1..].starts_with('.') => Parted,
                (Parted, b'}') => Whole,
                _ => self,
            };
        }
        self
    }
}

/// What a word with braces becomes, in the order of the shell: `{a,b/c}.txt` is two. A range is taken for anything,
/// and so is all from the next brace on where it would be very many.
pub fn expand_braces(word: &str) -> Vec<String> {
    let mut open = vec![word.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        let pair = if text.len() <= WORD_BYTES_MAX { first_pair(&text) } else { None };
        let Some(pair) = pair else {
            done.push(text);
            continue;
        };
        let (before, after) = (&text[..pair.from], &text[pair.to + 1..]);
        if pair.commas.is_empty() {
            open.push(format!("{before}*{after}"));
            continue;
        }
        if open.len() + done.len() >= WORDS_MAX {
            let rest = after.rsplit('}').next().unwrap_or_default();
            done.push(format!("{before}*{rest}"));
            continue;
        }
        let mut from = pair.from + 1;
        for to in pair.commas.iter().copied().chain([pair.to]) {
            open.push(format!("{before}{}{after}", &text[from..to]));
            from = to + 1;
        }
    }
    done.reverse();
    done
}

/// A pair of braces that the shell expands.
struct BracePair {
    from: usize,
    to: usize,
    /// Where its own commas are; none: it is a range.
    commas: Vec<usize>,
}

/// The outermost pair that begins first.
fn first_pair(text: &str) -> Option<BracePair> {
    let bytes = text.as_bytes();
    let mut open: Vec<(usize, Vec<usize>, bool)> = Vec::new();
    let mut first: Option<BracePair> = None;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            // `${NAME}` is a variable.
            b'{' if at == 0 || bytes[at - 1] != b'$' => open.push((at, Vec::new(), false)),
            b',' => {
                if let Some((_, commas, _)) = open.last_mut() {
                    commas.push(at);
                }
            }
            b'.' if bytes.get(at + 1) == Some(&b'.') => {
                if let Some((_, _, is_range)) = open.last_mut() {
                    *is_range = true;
                }
            }
            b'}' => {
                let Some((from, commas, is_range)) = open.pop() else { continue };
                let expands = !commas.is_empty() || is_range;
                if expands && first.as_ref().is_none_or(|first| from < first.from) {
                    first = Some(BracePair { from, to: at, commas });
                }
            }
            _ => {}
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g6_braces_become_the_words_that_a_shell_makes_of_them() {
        for (word, expected) in [
            ("a", &["a"][..]),
            ("{a,b}.txt", &["a.txt", "b.txt"]),
            ("{a,b/c}.txt", &["a.txt", "b/c.txt"]),
            ("x{,.bak}", &["x", "x.bak"]),
            ("{a,{b,c}}", &["a", "b", "c"]),
            ("{a}{b,c}", &["{a}b", "{a}c"]),
            ("{{a,b}}", &["{a}", "{b}"]),
            ("a{1..9}b", &["a*b"]),
            ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
            ("${a,b}", &["${a,b}"]),
            ("{a,b", &["{a,b"]),
            ("a}b{", &["a}b{"]),
        ] {
            assert_eq!(expand_braces(word), expected, "{word}");
        }
        let many = expand_braces(&"{a,b}".repeat(200));
        assert!(many.len() <= 2 * WORDS_MAX && many.iter().any(|word| word.ends_with('*')));
    }
}
