//! Takes secrets out of text: known values in every form they travel in, and the shapes of tokens.
//!
//! It detects, it does not protect: what may leave is decided by the gate. A value of fewer than
//! four characters is not looked for, it would stand everywhere.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use super::private_keys::find_private_key;
use super::{Filter, FilterContext, ResultDraft};
use crate::message::MessageBlock;
use crate::model::{ModelReply, ReplyBlock};
use crate::tool::ResultEffect;

/// Shortest known value that is looked for, in characters.
const SECRET_CHARS_MIN: usize = 4;
/// Shortest known value that is looked for in encoded forms, in bytes.
const ENCODED_BYTES_MIN: usize = 8;

pub(super) struct RedactFilter;

impl Filter for RedactFilter {
    fn name(&self) -> &'static str {
        "redact"
    }
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>) {
        let needles = secret_needles(context.secrets);
        redact_in_place(&mut draft.summary, &needles);
        redact_blocks(&mut draft.blocks, &needles);
        if let Some(value) = draft.structured.take() {
            // As text, so that names of fields are looked through too.
            let mut text = value.to_string();
            redact_in_place(&mut text, &needles);
            draft.structured = serde_json::from_str(&text).ok();
        }
    }
}

/// `text` without the values of `secrets` and without anything that looks like a token.
pub fn redact_text<'a>(text: &'a str, secrets: &[String]) -> Cow<'a, str> {
    redact_with_needles(text, &secret_needles(secrets))
}

/// Takes the values of `secrets` out of every text in `value`. Shapes of tokens stay: a model may
/// write an example of one.
pub fn mask_value(value: &mut Value, secrets: &[String]) {
    let needles = secret_needles(secrets);
    mask_texts(value, &needles);
}

/// Takes the values of `secrets` out of what a model replied (Z7): a key that it says back stands
/// in no journal. What the vendor sealed with a text that is changed no longer fits it and is dropped.
pub fn mask_reply(reply: &mut ModelReply, secrets: &[String]) {
    let needles = secret_needles(secrets);
    match reply {
        ModelReply::Failed { message, .. } => {
            mask_known_values(message, &needles);
        }
        ModelReply::Whole { blocks, .. } => {
            for block in blocks {
                match block {
                    ReplyBlock::Said(
                        MessageBlock::Text { text, seal, .. }
                        | MessageBlock::Thinking { text, seal },
                    ) => {
                        if mask_known_values(text, &needles) {
                            *seal = None;
                        }
                    }
                    ReplyBlock::Call(call) => {
                        if mask_known_values(&mut call.arguments, &needles) {
                            call.seal = None;
                        }
                    }
                    ReplyBlock::Said(
                        MessageBlock::Call(_)
                        | MessageBlock::Result { .. }
                        | MessageBlock::Image { .. }
                        | MessageBlock::Document { .. },
                    )
                    | ReplyBlock::Image { .. } => (),
                }
            }
        }
    }
}

/// `text` without the values of `secrets`; shapes of tokens stay.
pub fn mask_text(text: &mut String, secrets: &[String]) {
    mask_known_values(text, &secret_needles(secrets));
}

/// Whether a known value stood in `text`, which is now without it.
fn mask_known_values(text: &mut String, needles: &[Needle]) -> bool {
    let hits = needles.iter().flat_map(|needle| needle_hits(text, needle)).collect();
    match cover_hits(text, hits) {
        Cow::Borrowed(_) => false,
        Cow::Owned(clean) => {
            *text = clean;
            true
        }
    }
}

fn mask_texts(value: &mut Value, needles: &[Needle]) {
    match value {
        Value::String(text) => {
            mask_known_values(text, needles);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, needles)),
        Value::Object(map) => map.values_mut().for_each(|item| mask_texts(item, needles)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes secrets out of what a call wants remembered.
pub(super) fn redact_effects(news: &mut [ResultEffect], secrets: &[String]) {
    let needles = secret_needles(secrets);
    for news in news {
        match news {
            ResultEffect::Remembered { note } => redact_in_place(&mut note.text, &needles),
            ResultEffect::Skill { skill } => redact_in_place(&mut skill.text, &needles),
            ResultEffect::Recalled { words, .. } => redact_in_place(words, &needles),
            ResultEffect::Step { summary, .. } => redact_in_place(summary, &needles),
            ResultEffect::Unapproved { reason, .. } => redact_in_place(reason, &needles),
            ResultEffect::Made { tool } => redact_in_place(&mut tool.description, &needles),
            ResultEffect::Links { links } => {
                links.iter_mut().for_each(|link| redact_in_place(link, &needles));
            }
            ResultEffect::Found { .. }
            | ResultEffect::Unmade { .. }
            | ResultEffect::Used { .. }
            | ResultEffect::Job { .. } => (),
        }
    }
}

fn redact_in_place(text: &mut String, needles: &[Needle]) {
    if let Cow::Owned(clean) = redact_with_needles(text, needles) {
        *text = clean;
    }
}

fn redact_blocks(blocks: &mut [MessageBlock], needles: &[Needle]) {
    for block in blocks {
        match block {
            MessageBlock::Text { text, citations, .. } => {
                redact_in_place(text, needles);
                citations.iter_mut().for_each(|value| redact_value(value, needles));
            }
            MessageBlock::Thinking { text, .. } => redact_in_place(text, needles),
            MessageBlock::Result { blocks, .. } => redact_blocks(blocks, needles),
            MessageBlock::Call(call) => redact_value(&mut call.input, needles),
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                if let Some(name) = &mut media.name {
                    redact_in_place(name, needles);
                }
            }
        }
    }
}

fn redact_value(value: &mut Value, needles: &[Needle]) {
    match value {
        Value::String(text) => redact_in_place(text, needles),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, needles)),
        Value::Object(map) => map.values_mut().for_each(|item| redact_value(item, needles)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A form of a known value.
pub(super) struct Needle {
    pub(super) text: String,
    pub(super) kind: &'static str,
}

impl std::fmt::Debug for Needle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Needle(a {})", self.kind)
    }
}

/// Every form in which the values of `secrets` may stand in a text.
pub(super) fn secret_needles(secrets: &[String]) -> Vec<Needle> {
    let mut found = Vec::new();
    for secret in secrets {
        let secret = secret.trim();
        if secret.chars().count() < SECRET_CHARS_MIN {
            continue;
        }
        let mut add = |text: String, kind| found.push(Needle { text, kind });
        add(secret.to_string(), "secret");
        let json = Value::String(secret.to_string()).to_string();
        let json = &json[1..json.len() - 1];
        if json != secret {
            add(json.to_string(), "secret");
        }
        if secret.len() < ENCODED_BYTES_MIN {
            continue;
        }
        let bytes = secret.as_bytes();
        let hex = crate::record::encode_hex(bytes);
        add(hex.to_uppercase(), "secret in hex");
        add(hex, "secret in hex");
        for form in percent_forms(bytes) {
            if form != secret {
                add(form, "secret in percent encoding");
            }
        }
        for offset in 0..3 {
            for table in [BASE64, BASE64_URL] {
                add(base64_middle(bytes, offset, table), "secret in base64");
            }
        }
    }
    // The longest first, so that a value that contains another one goes whole.
    found.sort_by(|a, b| b.text.len().cmp(&a.text.len()).then_with(|| a.text.cmp(&b.text)));
    found.dedup_by(|a, b| a.text == b.text);
    found
}

/// The value with its special characters escaped, and with every byte escaped.
fn percent_forms(bytes: &[u8]) -> [String; 4] {
    let mut forms: [String; 4] = Default::default();
    for byte in bytes {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        for (i, form) in forms.iter_mut().enumerate() {
            // Forms 0 and 1 escape what must be, 2 and 3 everything.
            let _ = match (plain && i < 2, i % 2) {
                (true, _) => write!(form, "{}", char::from(*byte)),
                (false, 0) => write!(form, "%{byte:02X}"),
                (false, _) => write!(form, "%{byte:02x}"),
            };
        }
    }
    forms
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters that every base64 text has which contains `bytes` after `offset` other bytes.
fn base64_middle(bytes: &[u8], offset: usize, table: &[u8; 64]) -> String {
    let first_bit = offset * 8;
    let last_bit = first_bit + bytes.len() * 8;
    let bit = |at: usize| (bytes[at / 8 - offset] >> (7 - at % 8)) & 1;
    (first_bit.div_ceil(6)..last_bit / 6)
        .map(|group| {
            let index = (group * 6..group * 6 + 6).fold(0, |value, at| value << 1 | bit(at));
            char::from(table[usize::from(index)])
        })
        .collect()
}

fn redact_with_needles<'a>(text: &'a str, needles: &[Needle]) -> Cow<'a, str> {
    let mut found: Vec<RedactionHit<'_>> =
        needles.iter().flat_map(|needle| needle_hits(text, needle)).collect();
    found.extend(find_tokens(text));
    cover_hits(text, found)
}

/// Where something that is taken out stands, and what it is.
type RedactionHit<'a> = (Range<usize>, &'a str);

fn needle_hits<'a>(text: &str, needle: &'a Needle) -> Vec<RedactionHit<'a>> {
    let found = text.match_indices(needle.text.as_str());
    found.map(|(at, hit)| (at..at + hit.len(), needle.kind)).collect()
}

/// `text` with what was found covered.
fn cover_hits<'a>(text: &'a str, mut found: Vec<RedactionHit<'_>>) -> Cow<'a, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by(|(a, _), (b, _)| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, kind) in found {
        if range.start >= done {
            out.push_str(&text[done..range.start]);
            let _ = write!(out, "[redacted: {kind}]");
        }
        done = done.max(range.end);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// The shape of one kind of token.
struct TokenShape {
    prefix: &'static str,
    kind: &'static str,
    /// Fewest characters after the prefix.
    min: usize,
    /// Most characters after the prefix; longer ones are no such token.
    max: usize,
    alphabet: Alphabet,
    /// A digit must stand among them.
    digit: bool,
}

#[derive(Clone, Copy)]
enum Alphabet {
    Alphanumeric,
    Upper,
    /// With `_` and `-`.
    Url,
    /// With `_`.
    Word,
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Url => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Alphabet::Word => byte.is_ascii_alphanumeric() || byte == b'_',
        }
    }
}

/// `length`: how many characters may follow the prefix.
const fn token_shape(
    prefix: &'static str,
    kind: &'static str,
    length: RangeInclusive<usize>,
    alphabet: Alphabet,
) -> TokenShape {
    TokenShape { prefix, kind, min: *length.start(), max: *length.end(), alphabet, digit: false }
}

const ANY: usize = usize::MAX;

/// Longer prefixes before shorter ones that begin the same.
const SHAPES: &[TokenShape] = &[
    token_shape("sk-ant-", "Anthropic key", 16..=ANY, Alphabet::Url),
    TokenShape { digit: true, ..token_shape("sk-", "API key", 20..=ANY, Alphabet::Url) },
    token_shape("github_pat_", "GitHub token", 20..=ANY, Alphabet::Word),
    token_shape("ghp_", "GitHub token", 20..=ANY, Alphabet::Alphanumeric),
    token_shape("gho_", "GitHub token", 20..=ANY, Alphabet::Alphanumeric),
    token_shape("ghu_", "GitHub token", 20..=ANY, Alphabet::Alphanumeric),
    token_shape("ghs_", "GitHub token", 20..=ANY, Alphabet::Alphanumeric),
    token_shape("ghr_", "GitHub token", 20..=ANY, Alphabet::Alphanumeric),
    token_shape("glpat-", "GitLab token", 20..=ANY, Alphabet::Url),
    token_shape("AKIA", "AWS key id", 16..=16, Alphabet::Upper),
    token_shape("ASIA", "AWS key id", 16..=16, Alphabet::Upper),
    token_shape("xoxb-", "Slack token", 10..=ANY, Alphabet::Url),
    token_shape("xoxp-", "Slack token", 10..=ANY, Alphabet::Url),
    token_shape("xoxa-", "Slack token", 10..=ANY, Alphabet::Url),
    token_shape("xoxr-", "Slack token", 10..=ANY, Alphabet::Url),
    token_shape("xoxs-", "Slack token", 10..=ANY, Alphabet::Url),
    token_shape("AIza", "Google key", 35..=35, Alphabet::Url),
    token_shape("npm_", "npm token", 36..=36, Alphabet::Alphanumeric),
    TokenShape {
        digit: true,
        ..token_shape("hf_", "Hugging Face token", 30..=ANY, Alphabet::Alphanumeric)
    },
    TokenShape { digit: true, ..token_shape("gsk_", "Groq key", 30..=ANY, Alphabet::Alphanumeric) },
    TokenShape { digit: true, ..token_shape("xai-", "xAI key", 40..=ANY, Alphabet::Alphanumeric) },
];

/// Everything in `text` that looks like a token.
fn find_tokens(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let mut runs = AlphabetRuns::default();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let boundary = at == 0 || !Alphabet::Word.has(bytes[at - 1]);
        let hit = match bytes[at] {
            b'-' | b'M' => find_private_key(text, at),
            b'B' | b'b' if boundary => {
                find_bearer_token(text, at).or_else(|| find_private_key(text, at))
            }
            b'b' => find_private_key(text, at),
            b'e' if boundary => json_web_token(bytes, at, &mut runs),
            b's' | b'g' | b'A' | b'x' | b'n' | b'h' if boundary => {
                find_shaped_token(bytes, at, &mut runs)
            }
            _ => None,
        };
        at = match hit {
            Some((range, kind)) => {
                let end = range.end;
                found.push((range, kind));
                end
            }
            None => at + 1,
        };
    }
    found
}

/// Runs of characters of one alphabet that were measured: many beginnings of tokens can stand in
/// one run, and each of them asks for its end again.
#[derive(Default)]
struct AlphabetRuns([AlphabetRun; 7]);

#[derive(Default, Clone, Copy)]
struct AlphabetRun {
    from: usize,
    end: usize,
    /// One after its last digit; 0: it has none.
    after_digit: usize,
}

impl AlphabetRuns {
    /// The run at `from`. Each use has a slot of its own, so that none drives out another's.
    fn run_at(
        &mut self,
        slot: usize,
        bytes: &[u8],
        from: usize,
        alphabet: Alphabet,
    ) -> AlphabetRun {
        let known = &mut self.0[slot];
        if !(known.from..known.end).contains(&from) {
            let length = bytes[from..].iter().take_while(|b| alphabet.has(**b)).count();
            let end = from + length;
            let digit = bytes[from..end].iter().rposition(u8::is_ascii_digit);
            *known = AlphabetRun { from, end, after_digit: digit.map_or(0, |at| from + at + 1) };
        }
        *known
    }
}

fn find_shaped_token(
    bytes: &[u8],
    at: usize,
    runs: &mut AlphabetRuns,
) -> Option<(Range<usize>, &'static str)> {
    let shape = SHAPES.iter().find(|s| bytes[at..].starts_with(s.prefix.as_bytes()))?;
    let from = at + shape.prefix.len();
    let run = runs.run_at(shape.alphabet as usize, bytes, from, shape.alphabet);
    let fits = (shape.min..=shape.max).contains(&(run.end - from))
        && (!shape.digit || run.after_digit > from);
    fits.then_some((at..run.end, shape.kind))
}

/// `eyJ….….…`
fn json_web_token(
    bytes: &[u8],
    at: usize,
    runs: &mut AlphabetRuns,
) -> Option<(Range<usize>, &'static str)> {
    const PART_MIN: usize = 8;
    const SLOTS: usize = 4;
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let mut end = at;
    for part in 0..3 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let run = runs.run_at(SLOTS + part, bytes, end, Alphabet::Url);
        if run.end - end < PART_MIN {
            return None;
        }
        end = run.end;
    }
    Some((at..end, "JSON web token"))
}

/// `Bearer …`: the scheme stays, the token goes.
fn find_bearer_token(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    const TOKEN_MIN: usize = 16;
    let bytes = text.as_bytes();
    let scheme = bytes.get(at..at + 6)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return None;
    }
    let blanks = bytes[at + 6..].iter().take_while(|b| **b == b' ').count();
    let from = at + 6 + blanks;
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b);
    let length = bytes[from..].iter().take_while(|b| is_token(b)).count();
    let token = &bytes[from..from + length];
    let fits = blanks > 0 && length >= TOKEN_MIN && token.iter().any(u8::is_ascii_digit);
    fits.then_some((from..from + length, "bearer token"))
}
