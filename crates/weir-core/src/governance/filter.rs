//! The list of filters: what a tool returned becomes what anyone may see (G8).
//!
//! Adding a filter is one file and one line in [`FILTERS`]. They run in the order of the list, once
//! per result, and their work is journaled: a replay never filters again. Writing the file of an
//! externalised result is the engine's business.

use serde_json::Value;

use crate::ids::{BlobId, CallId};
use crate::label::Label;
use crate::message::{MessageBlock, plain_text};
use crate::record::sha256_hex;
use crate::tool::{CleanResult, HandleWords, RawResult, ResultEffect, ToolSpec, TypedFields};

mod cap;
mod externalize;
mod field_names;
mod handle;
mod label;
mod private_keys;
mod redact;
mod screen;
#[cfg(test)]
mod tests;
mod veil;

pub use cap::{RESULT_CHARS_MAX, RESULT_MEDIA_MAX};
pub use externalize::{REFERENCE_CHARS_MAX, ResultReference, parse_reference};
pub use handle::handle_name;
pub use redact::{mask_reply, mask_text, mask_value, redact_text};
pub use veil::StreamRedactor;

/// What a filter may know.
#[derive(Debug, Clone, Copy)]
pub struct FilterContext<'a> {
    /// Number of the call in its session.
    pub call: CallId,
    /// The tool it used; `None` for an unknown one.
    pub tool: Option<&'a ToolSpec>,
    /// Secret values that must never leave (keys in use).
    pub secrets: &'a [String],
    /// Results with more characters than this are externalised; 0: never (X1).
    pub externalize_over: usize,
    /// Tokens of the model's window; 0: not known. One result takes a part of it at most.
    pub window: u64,
    /// Folder for externalised results, relative to the workspace: `.weir/tmp/<task>`.
    pub externalize_to: &'a str,
    /// Where the result came from and how private it is (Z1).
    pub label: &'a Label,
    /// Foreign words are kept beside the context, as a handle (U6).
    pub as_handle: bool,
    /// Why the content must be withheld, when it must (`screen`).
    pub withhold: Option<&'a str>,
}

impl<'a> FilterContext<'a> {
    /// For a result with which nothing special is to be done, of a tool of which nothing is known: no key
    /// is in use, and all of it goes to the model as it is. What tests need of most results.
    pub fn of_plain_result(call: CallId, label: &'a Label) -> FilterContext<'a> {
        FilterContext {
            call,
            tool: None,
            secrets: &[],
            externalize_over: 0,
            window: 0,
            externalize_to: "",
            label,
            as_handle: false,
            withhold: None,
        }
    }
}

/// A clean result, and the file that the engine must write for it. If the file cannot be written,
/// the engine takes [`FilterOutput::whole`] instead (X1).
#[derive(Debug, Clone, PartialEq)]
pub struct FilterOutput {
    /// What is journaled and shown when the file was written, or none is needed.
    pub clean: CleanResult,
    /// The file to write first: path and text.
    pub file: Option<(String, String)>,
    /// The same result with its full (capped) text.
    pub whole: Option<CleanResult>,
}

/// A result on its way through the filters.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultDraft {
    /// What the model would be given.
    pub blocks: Vec<MessageBlock>,
    /// The line for people.
    pub summary: String,
    /// The blocks before they were externalised.
    pub whole: Option<Vec<MessageBlock>>,
    /// The file to write: path and text.
    pub file: Option<(String, String)>,
    /// Origins and privacy of the result.
    pub label: Label,
    /// Why the content was withheld, when it was.
    pub withheld: Option<String>,
    /// The answer as one value, where it is one.
    pub structured: Option<Value>,
    /// Which fields of it hold what.
    pub typed: TypedFields,
    /// The foreign words that are kept beside the context.
    pub handle: Option<Box<HandleWords>>,
}

/// One step from raw to clean.
pub trait Filter: Sync {
    /// The word by which people know it.
    fn name(&self) -> &'static str;
    /// Changes `draft`. Deterministic; never panics; never fails.
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>);
}

/// All filters, in order: nothing leaves before `redact`, and `cap` bounds whatever the others
/// left.
pub const FILTERS: &[&dyn Filter] = &[
    &redact::RedactFilter,
    &screen::ScreenFilter,
    &label::LabelFilter,
    &handle::HandleFilter,
    &externalize::ExternalizeFilter,
    &cap::CapFilter,
];

/// Most characters of a summary line.
pub const SUMMARY_CHARS_MAX: usize = 120;

/// Sends `raw` through all filters.
pub fn filter_result(raw: RawResult, context: &FilterContext<'_>) -> FilterOutput {
    let RawResult { ok, blocks, summary, full_bytes, changed, mut news, .. } = raw;
    let RawResult { label: own, structured, typed, .. } = raw;
    // What it cost, where a redirect leads, and that a person was missed is so although the call
    // failed.
    news.retain(|news| match news {
        ResultEffect::Used { .. } | ResultEffect::Unapproved { .. } => true,
        ResultEffect::Links { .. } => context.withhold.is_none(),
        _ => ok && context.withhold.is_none(),
    });
    redact::redact_effects(&mut news, context.secrets);
    let text_bytes = plain_text(&blocks).len() as u64;
    let summary = summary.unwrap_or_else(|| first_line(&blocks));
    let mut draft = ResultDraft {
        blocks,
        summary,
        whole: None,
        file: None,
        label: Label::default(),
        withheld: None,
        // Only a handle is made of it.
        structured: structured.filter(|_| context.as_handle),
        typed,
        handle: None,
    };
    for filter in FILTERS {
        filter.clean_draft(&mut draft, context);
    }
    let ResultDraft { blocks, summary, whole, file, mut label, withheld, handle, .. } = draft;
    if handle.is_none() {
        label.join(&own);
    }
    let whole = whole.map(|blocks| CleanResult {
        ok,
        blocks,
        summary: one_line(&summary),
        bytes: full_bytes.unwrap_or(text_bytes),
        externalized: None,
        full: None,
        changed: changed.clone(),
        label: label.clone(),
        withheld: withheld.clone(),
        handle: handle.clone(),
        news: news.clone(),
    });
    let clean = CleanResult {
        ok,
        blocks,
        summary: one_line(&summary),
        bytes: full_bytes.unwrap_or(text_bytes),
        externalized: file.as_ref().map(|(path, _)| path.clone()),
        full: file.as_ref().map(|(_, text)| BlobId(sha256_hex(text.as_bytes()))),
        changed,
        label,
        withheld,
        handle,
        news,
    };
    FilterOutput { clean, file, whole }
}

/// The text of a block that is one.
fn text_of(block: &MessageBlock) -> Option<&str> {
    match block {
        MessageBlock::Text { text, .. } => Some(text),
        MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Result { .. }
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => None,
    }
}

/// The first line of the text that says anything. Longer than a summary may be, so that a secret
/// in it is still whole when it is looked for.
fn first_line(blocks: &[MessageBlock]) -> String {
    const CHARS_MAX: usize = 4_000;
    let is_said = |line: &&str| !line.trim().is_empty();
    let mut lines = blocks.iter().filter_map(text_of).filter_map(|text| text.lines().find(is_said));
    lines.next().map(|line| line.chars().take(CHARS_MAX).collect()).unwrap_or_default()
}

/// `text` as one short line: no control or direction characters, at most
/// [`SUMMARY_CHARS_MAX`] characters.
pub fn one_line(text: &str) -> String {
    if is_such_a_line(text) {
        return text.to_owned();
    }
    let hidden = |c: &char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
            || *c == '\u{feff}'
    };
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut out = String::new();
    // Characters of `out` from the first on that is no space: what is behind enough of them is cut.
    let mut count = 0;
    for c in spaced.filter(|c| !hidden(c)) {
        if c != ' ' || !(out.is_empty() || out.ends_with(' ')) {
            out.push(c);
            count += usize::from(count > 0 || !c.is_whitespace());
        }
        if count > SUMMARY_CHARS_MAX && !c.is_whitespace() {
            break;
        }
    }
    let line = out.trim();
    if line.chars().count() <= SUMMARY_CHARS_MAX {
        return line.to_string();
    }
    let mut cut: String = line.chars().take(SUMMARY_CHARS_MAX - 1).collect();
    cut.push('…');
    cut
}

/// Whether `text` is what [`one_line`] makes of it, as most are: letters with single spaces between them.
fn is_such_a_line(text: &str) -> bool {
    let mut last = b' ';
    text.len() <= SUMMARY_CHARS_MAX
        && text.bytes().all(|byte| {
            let before = std::mem::replace(&mut last, byte);
            matches!(byte, b'!'..=b'~') || (byte == b' ' && before != b' ')
        })
        && last != b' '
}
