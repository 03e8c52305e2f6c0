//! What Obsidian adds to Markdown within lines: comments, wiki links, tags, ids of blocks. Only in
//! places that nothing covers.

use super::cover::CoveredPlaces;
use super::{ByteSpan, LinkForm, NoteBlock, NoteLink, NoteTag, link, tag};

/// Longest link that is one.
const LINK_BYTES_MAX: usize = 4_000;

/// `%% … %%`, on a line or over several. What is never closed covers the rest only where it begins
/// a line.
pub(super) fn find_comments(text: &str, start: usize, covered: &CoveredPlaces) -> Vec<ByteSpan> {
    let mut found = Vec::new();
    let mut at = start;
    while let Some(open) = next_uncovered(text, "%%", at, covered) {
        let Some(close) = next_uncovered(text, "%%", open + 2, covered) else {
            let line = text[..open].rfind('\n').map_or(0, |end| end + 1).max(start);
            if text[line..open].trim().is_empty() {
                found.push(ByteSpan::new(open, text.len()));
            }
            break;
        };
        found.push(ByteSpan::new(open, close + 2));
        at = close + 2;
    }
    found
}

/// `[[target]]` and `![[target]]`.
pub(super) fn wiki_links(text: &str, start: usize, covered: &CoveredPlaces) -> Vec<NoteLink> {
    let mut found = Vec::new();
    let mut at = start;
    let mut closes = NextClose::default();
    while let Some(open) = next_uncovered(text, "[[", at, covered) {
        at = open + 2;
        if is_escaped(text, open, start) {
            continue;
        }
        let Some(close) = closes.close_after(text, at) else { break };
        if close - at > LINK_BYTES_MAX {
            continue;
        }
        let inner = &text[at..close];
        if inner.contains(['\n', '\r']) {
            continue;
        }
        // `[[a [[b]]` is a link to b.
        if let Some(last) = inner.rfind("[[") {
            at += last;
            continue;
        }
        let close = close - at;
        let embed =
            open > start && text[..open].ends_with('!') && !is_escaped(text, open - 1, start);
        let whole = ByteSpan::new(open - usize::from(embed), at + close + 2);
        let inner = ByteSpan::new(at, at + close);
        // Code may stand in what is shown and in a heading's name: [[Note#`code`|`shown`]].
        let path = inner.slice_of(text).find(['|', '#']).unwrap_or(inner.end - inner.start);
        if covered.has_code_outside(whole, ByteSpan::new(inner.start + path, inner.end)) {
            continue;
        }
        let wiki =
            link::WrittenLink { text, at: whole, target: inner, embed, display: String::new() };
        if let Some(link) = link::wiki_link(LinkForm::Wiki, &wiki) {
            at = whole.end;
            found.push(link);
        }
    }
    found
}

/// Where `]]` stands next: looked for once, however many brackets open before it.
#[derive(Default)]
struct NextClose(usize);

impl NextClose {
    fn close_after(&mut self, text: &str, from: usize) -> Option<usize> {
        if self.0 < from {
            self.0 = from + text.get(from..)?.find("]]")?;
        }
        Some(self.0)
    }
}

/// `#tag` at the beginning of a word.
pub(super) fn find_tags(text: &str, start: usize, covered: &CoveredPlaces) -> Vec<NoteTag> {
    let mut found = Vec::new();
    let mut at = start;
    while let Some(sign) = next_uncovered(text, "#", at, covered) {
        at = sign + 1;
        if !begins_word(&text[start..sign]) {
            continue;
        }
        let name = tag::name_at(&text[at..]);
        if tag::is_tag(name) {
            let end = at + name.len();
            found.push(NoteTag { name: name.to_owned(), at: Some(ByteSpan::new(sign, end)) });
            at = end;
        }
    }
    found
}

/// `^id` at the end of a line.
pub(super) fn block_ids(text: &str, start: usize, covered: &CoveredPlaces) -> Vec<NoteBlock> {
    let mut found = Vec::new();
    let mut line_start = start;
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(sign) = bare.rfind('^') {
            let id = &bare[sign + 1..];
            let lone = sign == 0 || bare[..sign].ends_with(char::is_whitespace);
            let fits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            let at = ByteSpan::new(line_start + sign, line_start + bare.len());
            if lone && fits && covered.end_around(at.start).is_none() {
                found.push(NoteBlock { id: id.to_owned(), at });
            }
        }
        line_start += line.len();
    }
    found
}

/// Where `sign` stands next, not in a covered place.
fn next_uncovered(
    text: &str,
    sign: &str,
    mut from: usize,
    covered: &CoveredPlaces,
) -> Option<usize> {
    loop {
        let at = from + text.get(from..)?.find(sign)?;
        match covered.end_around(at) {
            Some(end) => from = end,
            None => return Some(at),
        }
    }
}

fn is_escaped(text: &str, at: usize, start: usize) -> bool {
    let before = &text.as_bytes()[start..at];
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Whether a word can begin behind `before`: after a blank, the beginning, the edge of a table's cell,
/// or signs of emphasis that begin there themselves.
fn begins_word(before: &str) -> bool {
    let bare = before.trim_end_matches(['*', '_', '~', '=']);
    bare.is_empty() || bare.ends_with(|c: char| c.is_whitespace() || c == '|')
}
