//! A note as somebody reads it: the words that stand for a link, an address taken apart, the heading that
//! a link means. Pure. Not here: which file a link leads to (`resolve`), how a face paints it.

use unicode_normalization::UnicodeNormalization;

use crate::note::{NoteFacts, NoteLink, decode_percent};

/// The address of a Markdown link, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkAddress {
    /// The file it names; empty: the note itself.
    pub path: String,
    /// What it names in that file.
    pub subpath: String,
}

/// The words that are read in place of a link, as Obsidian shows them: its own; else what it names, with
/// `>` before each part. What only says how large an image is to be shown is not among them.
pub fn link_words(link: &NoteLink) -> String {
    let own = link.display.as_deref().map(str::trim).filter(|words| !words.is_empty());
    if let Some(words) = own.filter(|words| !(link.embed && is_image_size(words))) {
        return words.to_owned();
    }
    let parts = std::iter::once(link.path.as_str()).chain(link.subpath.split('#'));
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" > ")
}

/// `300` or `300x200`.
fn is_image_size(words: &str) -> bool {
    let is_number = |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
    match words.split_once('x') {
        Some((width, height)) => is_number(width) && is_number(height),
        None => is_number(words),
    }
}

/// Words as Markdown that says them and nothing else; also as an address in angle brackets.
pub fn escape_words(words: &str) -> String {
    let mut text = String::with_capacity(words.len() * 2);
    for letter in words.chars() {
        match letter {
            // A line break would end what it stands in.
            letter if letter.is_control() => text.push(' '),
            letter => {
                if letter.is_ascii_punctuation() {
                    text.push('\\');
                }
                text.push(letter);
            }
        }
    }
    text
}

/// Takes the address of a Markdown link apart. It leads into the vault or nowhere: whether it has a
/// scheme is for the caller to look at.
pub fn read_address(address: &str) -> LinkAddress {
    let (path, subpath) = address.split_once('#').unwrap_or((address, ""));
    LinkAddress {
        path: decode_percent(path.trim()).nfc().collect(),
        subpath: decode_percent(subpath.trim()),
    }
}

/// The number of the heading, from 1, that a link's subpath means: by its words, as Obsidian writes it, or
/// by the anchor that GitHub makes of them. `None`: there is none, or it means a block.
pub fn heading_number(facts: &NoteFacts, subpath: &str) -> Option<usize> {
    if subpath.is_empty() || subpath.starts_with('^') {
        return None;
    }
    let headings = &facts.headings;
    let anchor = subpath.to_lowercase();
    let named = facts
        .find_heading(subpath)
        .or_else(|| headings.iter().find(|heading| heading_anchor(&heading.text) == anchor))?;
    headings.iter().position(|heading| heading.at == named.at).map(|at| at + 1)
}

/// `How it works!` as `how-it-works`.
fn heading_anchor(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}
