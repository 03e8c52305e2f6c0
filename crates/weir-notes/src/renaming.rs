//! A heading or an alias that gets another name, and every link that names it. Not here: files that move
//! (`rewrite`), reading and writing notes.

use crate::index::{FoundLink, IndexedLink, NoteIndex};
use crate::note::{
    LinkForm, NoteFacts, NoteHeading, NoteLink, decode_percent, encode_target, heading_key,
};
use crate::properties::{PropertyChange, change_properties};
use crate::resolve::FileNumber;
use crate::rewrite::{LinkEdits, TextEdit};
use crate::span::ByteSpan;

/// Longest name of a heading or an alias.
const NAME_CHARS_MAX: usize = 500;

/// What gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenamedPart<'a> {
    /// A heading, as a link names it: `Heading`, or `Above#Heading` where several are called so.
    Heading(&'a str),
    /// An alias.
    Alias(&'a str),
}

/// A part of a note and its new name.
#[derive(Debug, Clone, Copy)]
pub struct RenamePlan<'a> {
    /// The note.
    pub note: FileNumber,
    /// The part.
    pub part: RenamedPart<'a>,
    /// Its new name.
    pub to: &'a str,
}

/// The texts of notes, as they were indexed.
pub trait NoteTexts {
    /// The text of this file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn note_text(&self, path: &str) -> Result<String, String>;
}

/// Edits by which the part has its new name and links name it so.
///
/// # Errors
/// A sentence: there is no such part, the name is taken, or cannot be one.
pub fn plan_rename(
    index: &NoteIndex,
    plan: &RenamePlan<'_>,
    texts: &dyn NoteTexts,
) -> Result<LinkEdits, String> {
    let file = index.file_at(plan.note).ok_or("there is no such note")?;
    let facts = index.facts_at(plan.note).ok_or_else(|| format!("{} is no note", file.path))?;
    let facts = facts.as_ref();
    let to = plan.to.trim();
    if to.is_empty() || to.contains(['\n', '\r']) || to.chars().count() > NAME_CHARS_MAX {
        return Err(format!("the new name must be one line of 1 to {NAME_CHARS_MAX} characters"));
    }
    let text = texts.note_text(file.path)?;
    let mut edits = LinkEdits::new();
    let note = NamedNote { path: file.path, facts, text: &text };
    let change = match plan.part {
        RenamedPart::Heading(from) => rename_heading(&note, from, to)?,
        RenamedPart::Alias(from) => rename_alias(&note, from, to)?,
    };
    put_edit(&mut edits, index, plan.note, change.own);
    let backlinks = index.backlinks_of(plan.note);
    let backlinks = backlinks.into_iter().filter_map(|place| index.link_at(place));
    let own = |link: &NoteLink| FoundLink { source: plan.note, link: link.clone() };
    let bare = facts.links.iter().filter(|link| link.path.is_empty()).map(own);
    let to_itself = facts.links.iter().filter(|link| {
        let link = IndexedLink { source: plan.note, link };
        !link.link.path.is_empty() && index.link_target(link) == Some(plan.note)
    });
    let mut held: Option<(FileNumber, String)> = None;
    for found in backlinks.chain(bare).chain(to_itself.map(own)) {
        let Some(source) = index.file_at(found.source) else { continue };
        if !change.wish.concerns(&found.link, facts) {
            continue;
        }
        if held.as_ref().is_none_or(|(number, _)| *number != found.source) {
            held = Some((found.source, texts.note_text(source.path)?));
        }
        let Some((_, text)) = &held else { continue };
        if let Some(edit) = change.wish.edit_link(&found.link, text, facts) {
            put_edit(&mut edits, index, found.source, edit);
        }
    }
    for file in edits.values_mut() {
        file.edits.sort_by_key(|edit| edit.at.start);
    }
    Ok(edits)
}

struct NamedNote<'a> {
    path: &'a str,
    facts: &'a NoteFacts,
    text: &'a str,
}

/// The edit of the note itself, and what links need.
struct PartChange {
    own: TextEdit,
    wish: LinkWish,
}

enum LinkWish {
    /// Of links to the heading of this number: its new name.
    Heading { at: usize, to: String },
    /// Of links that show this alias: the new one.
    Alias { from: String, to: String },
}

fn put_edit(edits: &mut LinkEdits, index: &NoteIndex, file: FileNumber, edit: TextEdit) {
    let own = edits.entry(index.name_table().path_of(file).to_owned()).or_default();
    if own.edits.is_empty() {
        own.hash = index.hash_of(file);
    }
    own.edits.push(edit);
}

fn rename_heading(note: &NamedNote<'_>, from: &str, to: &str) -> Result<PartChange, String> {
    let path = note.path;
    let from = from.trim().trim_start_matches('#').trim();
    let number =
        find_heading_numbers(&note.facts.headings, from).and_then(|found| found.last().copied());
    let Some(number) = number else {
        let there: Vec<&str> =
            note.facts.headings.iter().take(20).map(|heading| heading.text.as_str()).collect();
        return Err(match there.is_empty() {
            true => format!("{path} has no headings"),
            false => format!("{path} has no heading {from}; it has {}", there.join(", ")),
        });
    };
    let key = heading_key(to);
    if key.is_empty() {
        return Err(format!("{to:?} has no letters that a link could name"));
    }
    let taken =
        |(at, other): (usize, &NoteHeading)| at != number && heading_key(&other.text) == key;
    if note.facts.headings.iter().enumerate().any(taken) {
        return Err(format!("{path} has a heading {to} already; links could not tell them apart"));
    }
    let heading = &note.facts.headings[number];
    let lines = heading.at.slice_of(note.text);
    // Behind the signs that make it one.
    let lead = lines.len() - lines.trim_start().trim_start_matches('#').len();
    let within = lines.get(lead..).and_then(|rest| rest.find(&heading.text));
    let Some(within) = within.filter(|_| !heading.text.is_empty()) else {
        return Err(format!("the heading {from} of {path} cannot be written anew; use edit_file"));
    };
    let start = heading.at.start + lead + within;
    let at = ByteSpan::new(start, start + heading.text.len());
    let (text, was) = (to.to_owned(), heading.text.clone());
    let own = TextEdit { at, text, form: LinkForm::Wiki, was };
    Ok(PartChange { own, wish: LinkWish::Heading { at: number, to: link_heading(to) } })
}

/// A heading as a link names it: what would end the link, or mean something in it, is a blank.
fn link_heading(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if "#|^[]\\<>".contains(c) { ' ' } else { c }).collect();
    plain.replace("%%", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rename_alias(note: &NamedNote<'_>, from: &str, to: &str) -> Result<PartChange, String> {
    let path = note.path;
    let aliases = &note.facts.aliases;
    let Some(from) =
        aliases.iter().find(|alias| alias.to_lowercase() == from.trim().to_lowercase())
    else {
        return Err(match aliases.is_empty() {
            true => format!("{path} has no aliases"),
            false => format!("{path} has no alias {from}; it has {}", aliases.join(", ")),
        });
    };
    if to.contains(['|', '[', ']']) {
        return Err("an alias with | [ or ] cannot stand in a link".into());
    }
    let is_alias =
        |name: &str| ["aliases", "alias"].iter().any(|key| name.eq_ignore_ascii_case(key));
    let renamed = |value: &serde_json::Value| match value.as_str() == Some(from) {
        true => serde_json::Value::String(to.to_owned()),
        false => value.clone(),
    };
    let properties = note.facts.properties.iter().filter(|(name, _)| is_alias(name));
    let changes: Vec<PropertyChange> = properties
        .map(|(name, value)| {
            let value = match value {
                serde_json::Value::Array(items) => items.iter().map(renamed).collect(),
                one => renamed(one),
            };
            PropertyChange::Set { name: name.clone(), value }
        })
        .collect();
    let changed = change_properties(note.text, &changes).map_err(|why| format!("{path}: {why}"))?;
    let own = changed_part(note.text, &changed, from);
    Ok(PartChange { own, wish: LinkWish::Alias { from: from.clone(), to: to.to_owned() } })
}

/// What differs between two texts, as one edit.
fn changed_part(before: &str, after: &str, was: &str) -> TextEdit {
    let same = |a: (char, char)| a.0 == a.1;
    let head: usize = before
        .chars()
        .zip(after.chars())
        .take_while(|pair| same(*pair))
        .map(|(letter, _)| letter.len_utf8())
        .sum();
    let (old, new) = (&before[head..], &after[head..]);
    let tail: usize = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(|pair| same(*pair))
        .map(|(letter, _)| letter.len_utf8())
        .sum();
    let at = ByteSpan::new(head, before.len() - tail);
    let text = new[..new.len() - tail].to_owned();
    TextEdit { at, text, form: LinkForm::Wiki, was: was.to_owned() }
}

/// The numbers of the headings that a subpath names on its way, the one it leads to last.
fn find_heading_numbers(headings: &[NoteHeading], subpath: &str) -> Option<Vec<usize>> {
    let (mut from, mut end) = (0, headings.len());
    let mut numbers: Vec<usize> = Vec::new();
    for part in subpath.split('#').map(heading_key).filter(|part| !part.is_empty()) {
        let within = headings.get(from..end)?;
        let at = from + within.iter().position(|heading| heading_key(&heading.text) == part)?;
        let level = headings[at].level;
        if numbers.last().is_some_and(|above| level <= headings[*above].level) {
            return None;
        }
        let below = &headings[at + 1..end];
        let length = below.iter().position(|next| next.level <= level).unwrap_or(below.len());
        numbers.push(at);
        (from, end) = (at + 1, at + 1 + length);
    }
    (!numbers.is_empty()).then_some(numbers)
}

impl LinkWish {
    /// Whether a link to the note may have to be written anew.
    fn concerns(&self, link: &NoteLink, facts: &NoteFacts) -> bool {
        match self {
            LinkWish::Heading { at, .. } => {
                !link.subpath.starts_with('^')
                    && find_heading_numbers(&facts.headings, &link.subpath)
                        .is_some_and(|numbers| numbers.contains(at))
            }
            LinkWish::Alias { from, .. } => link.display.as_ref() == Some(from),
        }
    }
    fn edit_link(&self, link: &NoteLink, text: &str, facts: &NoteFacts) -> Option<TextEdit> {
        let (at, text) = match self {
            LinkWish::Heading { at, to } => {
                let numbers = find_heading_numbers(&facts.headings, &link.subpath)?;
                let place = subpath_place(link, text)?;
                let renamed = rename_in_subpath(&link.subpath, &numbers, *at, to);
                let written =
                    if link.form.is_encoded() { encode_subpath(&renamed) } else { renamed };
                (place, quote_for(link, text, &written))
            }
            LinkWish::Alias { from, to } => {
                (display_place(link, text, from)?, quote_for(link, text, to))
            }
        };
        Some(TextEdit { at, text, form: LinkForm::Wiki, was: link.target_text() })
    }
}

fn encode_subpath(subpath: &str) -> String {
    subpath.split('#').map(encode_target).collect::<Vec<_>>().join("#")
}

/// A text as it stands in the quotes of a property.
fn quote_for(link: &NoteLink, text: &str, written: &str) -> String {
    let quote = text.get(..link.at.start).and_then(|before| before.chars().next_back());
    match (link.form.is_property(), quote) {
        (true, Some('\'')) => written.replace('\'', "''"),
        (true, Some('"')) => written.replace('\\', "\\\\").replace('"', "\\\""),
        _ => written.to_owned(),
    }
}

fn rename_in_subpath(subpath: &str, numbers: &[usize], renamed: usize, to: &str) -> String {
    let mut numbers = numbers.iter();
    let parts = subpath.split('#').map(|part| match heading_key(part).is_empty() {
        true => part,
        false if numbers.next() == Some(&renamed) => to,
        false => part,
    });
    parts.collect::<Vec<_>>().join("#")
}

/// Where what stands behind `#` of a link is written.
fn subpath_place(link: &NoteLink, text: &str) -> Option<ByteSpan> {
    let rest = text.get(link.path_at.end..link.at.end)?;
    let start = link.path_at.end + rest.find('#')? + 1;
    let rest = text.get(start..link.at.end)?;
    let start = start + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    if !link.form.is_encoded() {
        return rest
            .starts_with(&link.subpath)
            .then(|| ByteSpan::new(start, start + link.subpath.len()));
    }
    let mut ends = rest.char_indices().filter(|(_, c)| c.is_whitespace() || *c == ')' || *c == '>');
    let end = ends.find(|(end, _)| decode_percent(&rest[..*end]) == link.subpath)?.0;
    Some(ByteSpan::new(start, start + end))
}

/// Where the text is written that a link shows.
fn display_place(link: &NoteLink, text: &str, display: &str) -> Option<ByteSpan> {
    let (start, end) = match link.form {
        LinkForm::Wiki | LinkForm::PropertyWiki => {
            let rest = text.get(link.path_at.end..link.at.end)?;
            (link.path_at.end + rest.find('|')? + 1, link.at.end)
        }
        LinkForm::Markdown | LinkForm::PropertyMarkdown => {
            let rest = text.get(link.at.start..link.path_at.start)?;
            (link.at.start + rest.find('[')? + 1, link.path_at.start)
        }
        LinkForm::Canvas => return None,
    };
    let at = start + text.get(start..end)?.find(display)?;
    Some(ByteSpan::new(at, at + display.len()))
}
