//! The word in the prompt that must never leave (G3): a call that carries it, plainly or encoded,
//! is denied, and the session stops the run and raises an alert.
//!
//! Pure, and bounded: what is searched grows with the arguments, not with what an attacker nests in
//! them. It finds the word, or half of it, in the forms that are listed in `canary/decode.rs` and
//! in any nesting of a few of them. It does not find what was compressed, encrypted, put into a
//! cipher of the model's own, or told letter by letter over many calls: it is an alarm, no wall.

use serde_json::Value;

use super::{CallFacts, Gate, GateContext, GateName, GateOpinion, denying_opinion};

mod decode;
mod fold;
#[cfg(test)]
mod tests;

use decode::{each_decoding, readable_text, unescape_text};
use fold::fold_text;

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
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let word = context.provenance.canary?;
        let texts = outgoing_texts(call);
        // Words of earlier days stood in the same prompt: whoever kept one must not get it out.
        let earlier = context.provenance.canaries_before.iter().map(String::as_str);
        let mut words = std::iter::once(word).chain(earlier);
        words.find_map(|word| self.judge_word(word, &texts, call, context))
    }
}

impl CanaryGate {
    /// What is to be said of one word.
    fn judge_word(
        &self,
        word: &str,
        texts: &[String; 3],
        call: &CallFacts<'_>,
        context: &GateContext<'_>,
    ) -> Option<GateOpinion> {
        let rule = Some("security.canary".to_string());
        let Some(watch) = WatchedWord::new(word) else {
            let reason = "The confidential word of this session is too short to be watched, so \
                          nothing may run. Begin a new session.";
            return Some(denying_opinion(self, rule, reason));
        };
        let length: usize = texts.iter().map(String::len).sum();
        let work_left = length.saturating_mul(WORK_PER_BYTE).max(WORK_MIN);
        let mut search = CanarySearch { watch, work_left };
        let finding = texts.iter().find_map(|text| search.search_text(text, 0));
        // A word that is told in pieces over several calls is whole again when they are put
        // together; the calls before this one are remembered as the repetition gate remembers them.
        let finding = finding.or_else(|| {
            told_in_pieces(call, context, &search.watch).then_some(CanaryFinding::Word)
        });
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

/// Longest value that is looked at for pieces of the word: an address or a query.
const PIECE_IN_MAX: usize = 240;
/// Letters of one piece that are told from chance in so little text.
const PIECE: usize = 4;

/// Whether the values of the last calls and of this one together hold most of the word in pieces.
fn told_in_pieces(call: &CallFacts<'_>, context: &GateContext<'_>, watch: &WatchedWord) -> bool {
    let earlier = context.recent.iter().map(|earlier| &earlier.input);
    let inputs = earlier.filter_map(|input| serde_json::from_str(input).ok());
    let mut told = vec![false; watch.secret.len()];
    for input in inputs.chain([call.input.clone()]) {
        gather_strings(&input, &mut |text, is_key| {
            if is_key || text.len() > PIECE_IN_MAX {
                return;
            }
            let mut letters = fold_text(text);
            letters.retain(u8::is_ascii_alphanumeric);
            letters.make_ascii_lowercase();
            for (at, piece) in watch.secret.windows(PIECE).enumerate() {
                if letters.windows(PIECE).any(|found| found == piece) {
                    told[at..at + PIECE].fill(true);
                }
            }
        });
    }
    let known = told.iter().filter(|told| **told).count();
    known * 4 >= watch.secret.len() * 3
}

/// Why a call may not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CanaryFinding {
    Word,
    TooDeep,
}

/// Everything of a call that leaves: values beside each other, so that a word split over several is
/// whole again; the same with keys between, and the tool's name; what the tool makes of them.
fn outgoing_texts(call: &CallFacts<'_>) -> [String; 3] {
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

/// What is looked for.
struct WatchedWord {
    /// The part that is secret, in lower case.
    secret: Vec<u8>,
    /// Every piece of [`WINDOW`] characters of the secret part, forwards and backwards, plain and
    /// with letters moved by thirteen. Sorted.
    pieces: Vec<u64>,
    /// The last two characters that a piece can have: most of a text is told apart by these alone.
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
        pieces.sort_unstable();
        let mut ends = vec![false; 1 << 16];
        for piece in &pieces {
            ends[end_of(*piece)] = true;
        }
        Some(WatchedWord { secret: secret.to_vec(), pieces, ends })
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
            if self.ends[end_of(window)] && self.pieces.binary_search(&window).is_ok() {
                return true;
            }
        }
        false
    }
}

fn shift_window(window: u64, letter: &u8) -> u64 {
    window << 8 | u64::from(*letter)
}

fn end_of(window: u64) -> usize {
    let bytes = window.to_le_bytes();
    usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn rot13(letter: u8) -> u8 {
    match letter {
        b'a'..=b'z' => (letter - b'a' + 13) % 26 + b'a',
        _ => letter,
    }
}

/// A search under way.
struct CanarySearch {
    watch: WatchedWord,
    work_left: usize,
}

impl CanarySearch {
    /// Searches a text and what it decodes to.
    fn search_text(&mut self, text: &str, depth: usize) -> Option<CanaryFinding> {
        let Some(left) = self.work_left.checked_sub(text.len()) else {
            return Some(CanaryFinding::TooDeep);
        };
        self.work_left = left;
        let letters = fold_text(text);
        if self.watch.has_piece_in(&letters) {
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
        if self.watch.has_piece_in(bytes) {
            return Some(CanaryFinding::Word);
        }
        let readable = readable_text(bytes);
        if readable.is_empty() { None } else { self.search_text(&readable, depth + 1) }
    }
}
