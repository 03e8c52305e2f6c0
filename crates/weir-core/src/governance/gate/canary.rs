//! The word in the prompt that must never leave (G3): a call that carries it, plainly or encoded,
//! is denied, and the session stops the run and raises an alert.
//!
//! Pure, and bounded: what is searched grows with the arguments, not with what an attacker nests in
//! them. It finds the word, or half of it, in the forms that are listed in `canary/decode.rs` and
//! in any nesting of a few of them. It does not find what was compressed, encrypted, put into a
//! cipher of the model's own, or told letter by letter over many calls: it is an alarm, no wall.

use serde_json::Value;

use super::{CallFacts, Gate, GateContext, GateName, Opinion, deny};

mod decode;
mod fold;
#[cfg(test)]
mod tests;

use decode::{each_decoding, readable, unescaped};
use fold::folded;

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

pub(super) struct Canary;

impl Gate for Canary {
    fn name(&self) -> GateName {
        GateName::Canary
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        let word = context.provenance.canary?;
        let texts = texts(call);
        // Words of earlier days stood in the same prompt: whoever kept one must not get it out.
        let earlier = context.provenance.canaries_before.iter().map(String::as_str);
        let mut words = std::iter::once(word).chain(earlier);
        words.find_map(|word| self.watched(word, &texts, call, context))
    }
}

impl Canary {
    /// What is to be said of one word.
    fn watched(
        &self,
        word: &str,
        texts: &[String; 3],
        call: &CallFacts<'_>,
        context: &GateContext<'_>,
    ) -> Option<Opinion> {
        let rule = Some("security.canary".to_string());
        let Some(watch) = Watch::new(word) else {
            let reason = "The confidential word of this session is too short to be watched, so \
                          nothing may run. Begin a new session.";
            return Some(deny(self, rule, reason));
        };
        let length: usize = texts.iter().map(String::len).sum();
        let work_left = length.saturating_mul(WORK_PER_BYTE).max(WORK_MIN);
        let mut search = Search { watch, work_left };
        let finding = texts.iter().find_map(|text| search.text(text, 0));
        // A word that is told in pieces over several calls is whole again when they are put
        // together; the calls before this one are remembered as the repetition gate remembers them.
        let finding = finding
            .or_else(|| told_in_pieces(call, context, &search.watch).then_some(Finding::Word));
        let reason = match finding? {
            Finding::Word => {
                "The confidential word of this session stands in this call, plainly or encoded. \
                 The run is stopped."
            }
            Finding::TooDeep => {
                "This call is encoded in so many layers that it cannot be searched for the \
                 confidential word of this session. The run is stopped."
            }
        };
        Some(deny(self, rule, reason))
    }
}

/// Longest value that is looked at for pieces of the word: an address or a query.
const PIECE_IN_MAX: usize = 240;
/// Letters of one piece that are told from chance in so little text.
const PIECE: usize = 4;

/// Whether the values of the last calls and of this one together hold most of the word in pieces.
fn told_in_pieces(call: &CallFacts<'_>, context: &GateContext<'_>, watch: &Watch) -> bool {
    let earlier = context.recent.iter().map(|earlier| &earlier.input);
    let inputs = earlier.filter_map(|input| serde_json::from_str(input).ok());
    let mut told = vec![false; watch.secret.len()];
    for input in inputs.chain([call.input.clone()]) {
        gather(&input, &mut |text, is_key| {
            if is_key || text.len() > PIECE_IN_MAX {
                return;
            }
            let mut letters = folded(text);
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
enum Finding {
    Word,
    TooDeep,
}

/// Everything of a call that leaves: values beside each other, so that a word split over several is
/// whole again; the same with keys between, and the tool's name; what the tool makes of them.
fn texts(call: &CallFacts<'_>) -> [String; 3] {
    let (mut values, mut all, mut effects) = (String::new(), String::new(), String::new());
    gather(call.input, &mut |text, is_key| {
        if !is_key {
            values.push_str(text);
            values.push('\n');
        }
        match ends(text).filter(|_| !is_key) {
            Some((first, last)) => all.extend([first, "\n", last, "\n"]),
            None => all.extend([text, "\n"]),
        }
    });
    all.push_str(call.tool);
    // Effects are plain data; should they ever not be, the arguments are searched all the same.
    let declared = serde_json::to_value(&call.inspection.effects).unwrap_or_default();
    gather(&declared, &mut |text, is_key| {
        if !is_key {
            effects.push_str(text);
            effects.push('\n');
        }
    });
    [values, all, effects]
}

/// Beginning and end of a long text.
fn ends(text: &str) -> Option<(&str, &str)> {
    let half = BESIDE_KEY_MAX / 2;
    let long = text.len() > BESIDE_KEY_MAX;
    let last = text.len().saturating_sub(half);
    long.then(|| (&text[..text.floor_char_boundary(half)], &text[text.ceil_char_boundary(last)..]))
}

/// Every string of a value in order, keys and numbers too; the flag says which are keys.
fn gather(value: &Value, take: &mut impl FnMut(&str, bool)) {
    match value {
        Value::String(text) => take(text, false),
        Value::Number(number) => take(&number.to_string(), false),
        Value::Array(items) => items.iter().for_each(|item| gather(item, take)),
        Value::Object(map) => {
            for (key, item) in map {
                take(key, true);
                gather(item, take);
            }
        }
        Value::Null | Value::Bool(_) => (),
    }
}

/// What is looked for.
struct Watch {
    /// The part that is secret, in lower case.
    secret: Vec<u8>,
    /// Every piece of [`WINDOW`] characters of the secret part, forwards and backwards, plain and
    /// with letters moved by thirteen. Sorted.
    pieces: Vec<u64>,
    /// Which last two characters a piece can have: most of a text is told apart by these alone.
    ends: Vec<bool>,
}

impl Watch {
    /// `None`: the word is too short to be told from chance.
    fn new(word: &str) -> Option<Watch> {
        let mut lower = folded(word);
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
                pieces.extend(letters.windows(WINDOW).map(|piece| piece.iter().fold(0, shifted)));
            }
        }
        pieces.sort_unstable();
        let mut ends = vec![false; 1 << 16];
        for piece in &pieces {
            ends[end_of(*piece)] = true;
        }
        Some(Watch { secret: secret.to_vec(), pieces, ends })
    }

    /// Whether a piece stands in `text` when everything but letters and digits is left out, in
    /// either case.
    fn finds(&self, text: &[u8]) -> bool {
        let mut window = 0;
        for byte in text {
            if !byte.is_ascii_alphanumeric() {
                continue;
            }
            window = shifted(window, &byte.to_ascii_lowercase());
            // Fewer letters than a window leave zeros in it, which no piece has.
            if self.ends[end_of(window)] && self.pieces.binary_search(&window).is_ok() {
                return true;
            }
        }
        false
    }
}

fn shifted(window: u64, letter: &u8) -> u64 {
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
struct Search {
    watch: Watch,
    work_left: usize,
}

impl Search {
    /// Searches a text and what it decodes to.
    fn text(&mut self, text: &str, depth: usize) -> Option<Finding> {
        let Some(left) = self.work_left.checked_sub(text.len()) else {
            return Some(Finding::TooDeep);
        };
        self.work_left = left;
        let letters = folded(text);
        if self.watch.finds(&letters) {
            return Some(Finding::Word);
        }
        if depth == DEPTH_MAX {
            return None;
        }
        if let Some(plain) = unescaped(text)
            && let Some(finding) = self.text(&plain, depth + 1)
        {
            return Some(finding);
        }
        let mut finding = None;
        each_decoding(&letters, |bytes| {
            finding = self.bytes(bytes, depth);
            finding.is_none()
        });
        finding
    }

    /// Searches what came out of a decoder: all of it, and once more whatever of it is readable.
    /// Of an ordinary text next to nothing is.
    fn bytes(&mut self, bytes: &[u8], depth: usize) -> Option<Finding> {
        if self.watch.finds(bytes) {
            return Some(Finding::Word);
        }
        let readable = readable(bytes);
        if readable.is_empty() { None } else { self.text(&readable, depth + 1) }
    }
}
