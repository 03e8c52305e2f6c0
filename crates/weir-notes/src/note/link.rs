//! One link, taken apart: path, what it names in the file, what is shown. And links in properties and
//! canvases. Not here: finding links in a text (`inline`, `body`), where they lead (`resolve`).

use unicode_normalization::UnicodeNormalization;

use super::{ByteSpan, LinkForm, NoteHeading, NoteLink};

/// A link as it is found: the text it stands in, all of it, what stands in its brackets.
pub(super) struct WrittenLink<'a> {
    pub(super) text: &'a str,
    pub(super) at: ByteSpan,
    /// `target|display` of a wiki link, the address of another.
    pub(super) target: ByteSpan,
    pub(super) embed: bool,
    pub(super) display: String,
}

/// A wiki link; `None`: it names nothing.
pub(super) fn wiki_link(form: LinkForm, written: &WrittenLink<'_>) -> Option<NoteLink> {
    let inner = written.target.slice_of(written.text);
    let (target, display) = match inner.split_once('|') {
        Some((target, display)) => (target, Some(display.trim().to_owned())),
        None => (inner, None),
    };
    // In a table the stroke is escaped.
    let target = match display {
        Some(_) => target.strip_suffix('\\').unwrap_or(target),
        None => target,
    };
    let parts = TargetParts::split_target(target, written.target.start);
    let path: String = parts.path.replace('\u{a0}', " ").nfc().collect();
    if path.is_empty() && parts.subpath.is_empty() {
        return None;
    }
    Some(NoteLink {
        form,
        embed: written.embed,
        path,
        subpath: parts.subpath.to_owned(),
        display,
        at: written.at,
        path_at: parts.path_at,
    })
}

/// A Markdown link; `None`: it leads out of the vault, or nowhere.
pub(super) fn markdown_link(form: LinkForm, written: &WrittenLink<'_>) -> Option<NoteLink> {
    let target = written.target.slice_of(written.text);
    if target.is_empty() || has_scheme(target) || target.starts_with("//") {
        return None;
    }
    let parts = TargetParts::split_target(target, written.target.start);
    let path: String = decode_percent(&unescape_target(parts.path)).nfc().collect();
    let subpath = decode_percent(parts.subpath);
    if path.is_empty() && subpath.is_empty() {
        return None;
    }
    let display = Some(written.display.clone()).filter(|text| !text.is_empty());
    let (at, path_at, embed) = (written.at, parts.path_at, written.embed);
    Some(NoteLink { form, embed, path, subpath, display, at, path_at })
}

struct TargetParts<'a> {
    path: &'a str,
    subpath: &'a str,
    path_at: ByteSpan,
}

impl<'a> TargetParts<'a> {
    fn split_target(target: &'a str, start: usize) -> TargetParts<'a> {
        let (path, subpath) = target.split_once('#').unwrap_or((target, ""));
        let lead = path.len() - path.trim_start().len();
        let path = path.trim();
        let path_at = ByteSpan::new(start + lead, start + lead + path.len());
        TargetParts { path, subpath: subpath.trim(), path_at }
    }
}

fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

/// `\` before punctuation means nothing in an address.
fn unescape_target(target: &str) -> String {
    let mut text = String::with_capacity(target.len());
    let mut letters = target.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation);
        if !escapes {
            text.push(letter);
        } else if let Some(next) = letters.next() {
            text.push(next);
        }
    }
    text
}

/// The address of a Markdown link whose bracket closes at or after `from`: without angle brackets and
/// title.
pub(super) fn destination_place(text: &str, from: usize, end: usize) -> Option<ByteSpan> {
    let rest = text.get(from..end)?;
    let open = rest.find("](")? + 2;
    let inner = rest[open..].trim_start();
    let start = end - inner.len();
    if let Some(angled) = inner.strip_prefix('<') {
        return Some(ByteSpan::new(start + 1, start + 1 + angled.find('>')?));
    }
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some(ByteSpan::new(start, start + at)),
            ')' => depth -= 1,
            c if c.is_whitespace() => return Some(ByteSpan::new(start, start + at)),
            _ => {}
        }
    }
    None
}

/// `%20` and its like as what they stand for; what is none stays.
pub fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                at += 3;
            }
            (byte, _, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

/// A path as the address of a Markdown link, as Obsidian writes it: blanks and what would end it are
/// encoded, letters stay.
pub fn encode_target(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            ' ' => text.push_str("%20"),
            '%' => text.push_str("%25"),
            '#' => text.push_str("%23"),
            '?' => text.push_str("%3F"),
            '(' => text.push_str("%28"),
            ')' => text.push_str("%29"),
            '<' => text.push_str("%3C"),
            '>' => text.push_str("%3E"),
            '\\' => text.push_str("%5C"),
            letter => text.push(letter),
        }
    }
    text
}

/// By what a heading and the end of a link are compared: words alone, in small letters.
pub fn heading_key(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if "!\"#$%&()*+,.:;<=>?@^`{|}~/[]\\\r\n".contains(c) { ' ' } else { c })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// `A#B`: the heading B below the heading A.
pub(super) fn find_heading<'a>(
    headings: &'a [NoteHeading],
    subpath: &str,
) -> Option<&'a NoteHeading> {
    let mut rest = headings;
    let mut found: Option<&NoteHeading> = None;
    for part in subpath.split('#').map(heading_key).filter(|part| !part.is_empty()) {
        let at = rest.iter().position(|heading| heading_key(&heading.text) == part)?;
        let heading = &rest[at];
        if found.is_some_and(|above| heading.level <= above.level) {
            return None;
        }
        let below = &rest[at + 1..];
        let end = below.iter().position(|next| next.level <= heading.level).unwrap_or(below.len());
        rest = &below[..end];
        found = Some(heading);
    }
    found
}

/// Links in properties: texts in quotes that are a link and nothing else.
pub(super) fn property_links(yaml: &str, start: usize) -> Vec<NoteLink> {
    let mut found = Vec::new();
    for text in quoted_texts(yaml) {
        let inner = text.slice_of(yaml);
        let at = ByteSpan::new(start + text.start, start + text.end);
        if let Some(target) = inner.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            if target.contains("[[") || target.contains("]]") {
                continue;
            }
            let target = ByteSpan::new(text.start + 2, text.end - 2);
            let written =
                WrittenLink { text: yaml, at: text, target, embed: false, display: String::new() };
            found.extend(
                wiki_link(LinkForm::PropertyWiki, &written).map(|link| shift_link(link, start)),
            );
        } else if let Some((shown, _)) =
            inner.strip_prefix('[').and_then(|rest| rest.split_once("]("))
        {
            let closed = destination_place(yaml, text.start, text.end);
            let Some(target) = closed.filter(|_| inner.ends_with(')')) else { continue };
            let display = shown.to_owned();
            let written = WrittenLink { text: yaml, at: text, target, embed: false, display };
            let link = markdown_link(LinkForm::PropertyMarkdown, &written);
            found.extend(link.map(|link| NoteLink { at, ..shift_link(link, start) }));
        }
    }
    found
}

fn shift_link(link: NoteLink, by: usize) -> NoteLink {
    let shift = |at: ByteSpan| ByteSpan::new(at.start + by, at.end + by);
    NoteLink { at: shift(link.at), path_at: shift(link.path_at), ..link }
}

/// What stands in quotes on a line, comments left out.
fn quoted_texts(yaml: &str) -> Vec<ByteSpan> {
    let mut found = Vec::new();
    let mut line_start = 0;
    for line in yaml.split_inclusive('\n') {
        let mut open: Option<(char, usize)> = None;
        let mut before = ' ';
        let mut letters = line.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            match open {
                None if letter == '#' && before.is_whitespace() => break,
                None if matches!(letter, '"' | '\'') && (" \t[,{:-".contains(before)) => {
                    open = Some((letter, at + 1));
                }
                Some(('"', _)) if letter == '\\' => {
                    letters.next();
                }
                Some((quote, start)) if letter == quote => {
                    if quote == '\'' && letters.peek().is_some_and(|(_, next)| *next == '\'') {
                        letters.next();
                        continue;
                    }
                    found.push(ByteSpan::new(line_start + start, line_start + at));
                    open = None;
                }
                _ => {}
            }
            before = letter;
        }
        line_start += line.len();
    }
    found
}

/// Files of a canvas: `"file": "path"`.
pub(super) fn canvas_links(text: &str) -> Vec<NoteLink> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("\"file\"").map(|at| from + at) {
        from = at + 6;
        let rest = text[from..].trim_start();
        let Some(rest) = rest.strip_prefix(':').map(str::trim_start) else { continue };
        let Some(inner) = rest.strip_prefix('"') else { continue };
        let start = text.len() - inner.len();
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, letter)| {
            let ends = *letter == '"' && !escaped;
            escaped = *letter == '\\' && !escaped;
            ends
        });
        let Some((length, _)) = end else { break };
        let written = ByteSpan::new(start, start + length);
        from = written.end;
        let quoted = format!("\"{}\"", written.slice_of(text));
        let Ok(path) = serde_json::from_str::<String>(&quoted) else { continue };
        let path: String = path.nfc().collect();
        found.push(NoteLink {
            form: LinkForm::Canvas,
            embed: true,
            path,
            subpath: String::new(),
            display: None,
            at: ByteSpan::new(at, written.end + 1),
            path_at: written,
        });
    }
    found
}
