//! The word in the prompt that must never leave (G3): a call that carries it, plainly or encoded,
//! is denied, and the session stops the run and raises an alert.
//!
//! Pure, and bounded: what is searched grows with the arguments, not with what an attacker nests in
//! them. It finds the word, or half of it, in the forms that are listed in `canary/decode.rs` and
//! in any nesting of a few of them. It does not find what was compressed, encrypted, put into a
//! cipher of the model's own, or told letter by letter over many calls: it is an alarm, no wall.

use serde_json::Value;

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};

mod decode;
mod fold;
mod pieces;
#[cfg(test)]
mod tests;

use decode::{each_decoding, readable_text, unescape_text};
use fold::fold_text;
pub use pieces::CanaryText;
use pieces::{PLACES, are_most_pieces_in, place_of_letters, push_short_values};

/// Letters and digits of the word that give it away: half of a word as the program makes it.
const WINDOW: usize = 8;
/// How deep encodings may be nested in one another.
const DEPTH_MAX: usize = 4;
/// Bytes that are searched, for each byte of the call: nested encodings that stay readable on every
/// level take a few, and honest calls one or two.
const WORK_PER_BYTE: usize = 12;
/// Bytes that may be searched at least, so that short calls are never called too deep.
const WORK_MIN: usize = 1 << 20;
/// Longer values stand beside their keys with both ends only: their middle is searched by itself.
const BESIDE_KEY_MAX: usize = 256;
/// What stands before the part that is secret.
const PREFIX: &str = "weir";

pub(super) struct CanaryGate;

impl Gate for CanaryGate {
    fn name(&self) -> GateName {
        GateName::Canary
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let word = context.provenance.canary?;
        let texts = outgoing_texts(call);
        let values = short_values(call, context);
        // Words of earlier days stood in the same prompt: whoever kept one must not get it out.
        let earlier = context.provenance.canaries_before.iter().map(String::as_str);
        let words: Vec<&str> = std::iter::once(word).chain(earlier).collect();
        if is_free_of_words(&words, &texts, &values) {
            return None;
        }
        words.into_iter().find_map(|word| self.judge_word(word, &texts, &values))
    }
}

/// Whether there is nothing to be said of any of these words, as of nearly every call. One search for the pieces of
/// all learns it: which texts are searched and what that counts does not depend on what is looked for, so where it
/// comes to its end the search for each word does too. Where it does not, only those tell what is to be said.
fn is_free_of_words(words: &[&str], texts: &[String; 3], values: &[u8]) -> bool {
    let watched: Option<Vec<WatchedWord>> =
        words.iter().map(|word| WatchedWord::new(word)).collect();
    let Some(watched) = watched else { return false };
    let all = watched.iter().flat_map(|watch| &watch.pieces).copied().collect();
    CanarySearch::new(all, texts).search_texts(texts).is_none()
        && !watched.iter().any(|watch| are_most_pieces_in(values, &watch.secret))
}

impl CanaryGate {
    /// What is to be said of one word. `values`: [`short_values`].
    fn judge_word(&self, word: &str, texts: &[String; 3], values: &[u8]) -> Option<GateOpinion> {
        let rule = Some("security.canary".to_string());
        let Some(WatchedWord { secret, pieces }) = WatchedWord::new(word) else {
            let reason = "The confidential word of this session is too short to be watched, so \
                          nothing may run. Begin a new session.";
            return Some(denying_opinion(self, rule, reason));
        };
        let finding = CanarySearch::new(pieces, texts).search_texts(texts);
        // A word that is told in pieces over several calls is whole again when they are put
        // together; the calls before this one are remembered as the repetition gate remembers them.
        let finding =
            finding.or_else(|| are_most_pieces_in(values, &secret).then_some(CanaryFinding::Word));
        let reason = match finding? {
            CanaryFinding::Word => {
                "The confidential word of this session stands in this call, plainly or encoded. \
                 The run is stopped."
            }
            CanaryFinding::TooDeep => {
                "This call is encoded in so many layers that it cannot be searched for the \
                 confidential word of this session. The run is stopped."
            }
        };
        Some(denying_opinion(self, rule, reason))
    }
}

/// Letters and digits of the short values of the last calls and of this one. The same for every word that is watched.
fn short_values(call: &JudgedCall<'_>, context: &GateContext<'_>) -> Vec<u8> {
    let mut values = Vec::new();
    for earlier in context.recent {
        values.extend_from_slice(earlier.canary.short_values(&earlier.input));
    }
    push_short_values(call.input, &mut values);
    values
}

/// Why a call may not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CanaryFinding {
    Word,
    TooDeep,
}

/// Everything of a call that leaves: values beside each other, so that a word split over several is
/// whole again; the same with keys between, and the tool's name; what the tool makes of them.
fn outgoing_texts(call: &JudgedCall<'_>) -> [String; 3] {
    let (mut values, mut all, mut effects) = (String::new(), String::new(), String::new());
    gather_strings(call.input, &mut |text, is_key| {
        if !is_key {
            values.push_str(text);
            values.push('\n');
        }
        match text_ends(text).filter(|_| !is_key) {
            Some((first, last)) => all.extend([first, "\n", last, "\n"]),
            None => all.extend([text, "\n"]),
        }
    });
    all.push_str(call.tool);
    // Effects are plain data; should they ever not be, the arguments are searched all the same.
    let declared = serde_json::to_value(&call.inspection.effects).unwrap_or_default();
    gather_strings(&declared, &mut |text, is_key| {
        if !is_key {
            effects.push_str(text);
            effects.push('\n');
        }
    });
    [values, all, effects]
}

/// Beginning and end of a long text.
fn text_ends(text: &str) -> Option<(&str, &str)> {
    let half = BESIDE_KEY_MAX / 2;
    let long = text.len() > BESIDE_KEY_MAX;
    let last = text.len().saturating_sub(half);
    long.then(|| (&text[..text.floor_char_boundary(half)], &text[text.ceil_char_boundary(last)..]))
}

/// Every string of a value in order, keys and numbers too; the flag says which are keys.
fn gather_strings(value: &Value, take: &mut impl FnMut(&str, bool)) {
    match value {
        Value::String(text) => take(text, false),
        Value::Number(number) => take(&number.to_string(), false),
        Value::Array(items) => items.iter().for_each(|item| gather_strings(item, take)),
        Value::Object(map) => {
            for (key, item) in map {
                take(key, true);
                gather_strings(item, take);
            }
        }
        Value::Null | Value::Bool(_) => (),
    }
}

/// A word that is watched.
struct WatchedWord {
    /// The part that is secret, in lower case.
    secret: Vec<u8>,
    /// Every piece of [`WINDOW`] characters of the secret part, forwards and backwards, plain and
    /// with letters moved by thirteen.
    pieces: Vec<u64>,
}

/// What is looked for.
struct WatchedPieces {
    sorted: Vec<u64>,
    /// The places of the last letters that a piece can have: most of a text is told apart by these alone.
    ends: Vec<bool>,
}

impl WatchedWord {
    /// `None`: the word is too short to be told from chance.
    fn new(word: &str) -> Option<WatchedWord> {
        let mut lower = fold_text(word);
        lower.retain(u8::is_ascii_alphanumeric);
        lower.make_ascii_lowercase();
        let secret = lower.strip_prefix(PREFIX.as_bytes()).unwrap_or(&lower);
        if secret.len() < WINDOW {
            return None;
        }
        let moved: Vec<u8> = secret.iter().copied().map(rot13).collect();
        let mut pieces = Vec::new();
        for form in [secret.to_vec(), moved] {
            let backwards: Vec<u8> = form.iter().rev().copied().collect();
            for letters in [form, backwards] {
                pieces.extend(
                    letters.windows(WINDOW).map(|piece| piece.iter().fold(0, shift_window)),
                );
            }
        }
        Some(WatchedWord { secret: secret.to_vec(), pieces })
    }
}

impl WatchedPieces {
    fn new(mut pieces: Vec<u64>) -> WatchedPieces {
        pieces.sort_unstable();
        let mut ends = vec![false; PLACES];
        for piece in &pieces {
            ends[end_of(*piece)] = true;
        }
        WatchedPieces { sorted: pieces, ends }
    }

    /// Whether a piece stands in `text` when everything but letters and digits is left out, in
    /// either case.
    fn has_piece_in(&self, text: &[u8]) -> bool {
        let mut window = 0;
        for byte in text {
            if !byte.is_ascii_alphanumeric() {
                continue;
            }
            window = shift_window(window, &byte.to_ascii_lowercase());
            // Fewer letters than a window leave zeros in it, which no piece has.
            if self.ends[end_of(window)] && self.sorted.binary_search(&window).is_ok() {
                return true;
            }
        }
        false
    }
}

fn shift_window(window: u64, letter: &u8) -> u64 {
    window << 8 | u64::from(*letter)
}

/// Where the last four letters of a window have their place.
fn end_of(window: u64) -> usize {
    place_of_letters(window as u32)
}

fn rot13(letter: u8) -> u8 {
    match letter {
        b'a'..=b'z' => (letter - b'a' + 13) % 26 + b'a',
        _ => letter,
    }
}

/// A search under way.
struct CanarySearch {
    pieces: WatchedPieces,
    work_left: usize,
}

impl CanarySearch {
    fn new(pieces: Vec<u64>, texts: &[String; 3]) -> CanarySearch {
        let length: usize = texts.iter().map(String::len).sum();
        let work_left = length.saturating_mul(WORK_PER_BYTE).max(WORK_MIN);
        CanarySearch { pieces: WatchedPieces::new(pieces), work_left }
    }

    fn search_texts(&mut self, texts: &[String; 3]) -> Option<CanaryFinding> {
        texts.iter().find_map(|text| self.search_text(text, 0))
    }

    /// Searches a text and what it decodes to.
    fn search_text(&mut self, text: &str, depth: usize) -> Option<CanaryFinding> {
        let Some(left) = self.work_left.checked_sub(text.len()) else {
            return Some(CanaryFinding::TooDeep);
        };
        self.work_left = left;
        let letters = fold_text(text);
        if self.pieces.has_piece_in(&letters) {
            return Some(CanaryFinding::Word);
        }
        if depth == DEPTH_MAX {
            return None;
        }
        if let Some(plain) = unescape_text(text)
            && let Some(finding) = self.search_text(&plain, depth + 1)
        {
            return Some(finding);
        }
        let mut finding = None;
        each_decoding(&letters, |bytes| {
            finding = self.search_bytes(bytes, depth);
            finding.is_none()
        });
        finding
    }

    /// Searches what came out of a decoder: all of it, and once more whatever of it is readable.
    /// Of an ordinary text next to nothing is.
    fn search_bytes(&mut self, bytes: &[u8], depth: usize) -> Option<CanaryFinding> {
        if self.pieces.has_piece_in(bytes) {
            return Some(CanaryFinding::Word);
        }
        let readable = readable_text(bytes);
        if readable.is_empty() { None } else { self.search_text(&readable, depth + 1) }
    }
}
