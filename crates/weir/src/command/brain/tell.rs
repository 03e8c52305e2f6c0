//! Entries of the brain in words for a terminal. Everything that somebody else wrote is shown with its
//! hidden characters written out.

use weir_core::brain::{BrainEntry, BrainEntryState};
use weir_core::memory::BY_PERSON;
use weir_core::view::plain::visible_text;
use weir_engine::ports::BrainHit;
use weir_install::wording::{
    clip_line, external_origins_text, private_sources_text, single_visible_line, timestamp_text,
};

use crate::terminal::format_table;

/// Characters of a title in a sentence or list.
const TITLE_CHARS: usize = 60;
/// Characters of a passage.
const PASSAGE_CHARS: usize = 300;

/// A list: id, kind, day, title with what must be said of it.
pub(super) fn render_entry_rows(entries: &[BrainEntry]) -> String {
    let row = |entry: &BrainEntry| {
        let day = timestamp_text(entry.changed).chars().take(10).collect();
        let kind = entry.kind.as_str().to_owned();
        vec![entry.id.to_string(), kind, day, marked_title(entry)]
    };
    format_table(&entries.iter().map(row).collect::<Vec<_>>())
}

/// The title, its topics, and whether it is forgotten or from outside.
fn marked_title(entry: &BrainEntry) -> String {
    let mut title = short_title(&entry.title);
    if !entry.topics.is_empty() {
        title = format!("{title}  [{}]", single_visible_line(&entry.topics.join(", ")));
    }
    if let Some(origins) = external_origins_text(&entry.label) {
        title = format!("UNTRUSTED (from {origins}) {title}");
    }
    if entry.state == BrainEntryState::Forgotten {
        title = format!("(forgotten) {title}");
    }
    title
}

/// What a search found: the entry, then the passage that fits.
pub(super) fn describe_hit(hit: &BrainHit) -> String {
    let headings: String =
        hit.headings.iter().map(|heading| format!(" > {}", single_visible_line(heading))).collect();
    let passage = clip_line(&hit.passage, PASSAGE_CHARS);
    format!("{}  {}{headings}\n    {passage}\n", hit.entry.id, marked_title(&hit.entry))
}

/// An entry with everything that is known of it.
pub(super) fn describe_entry(entry: &BrainEntry) -> String {
    let mut page = format!("{}  {}\n", entry.id, single_visible_line(&entry.title));
    let mut add = |name: &str, value: &str| page.push_str(&format!("  {name:<10} {value}\n"));
    if let Some(origins) = external_origins_text(&entry.label) {
        add("UNTRUSTED", &format!("content from {origins} is in it; a model gets it as data only"));
    }
    if entry.state == BrainEntryState::Forgotten {
        add("forgotten", &format!("`weir brain restore {}` brings it back", entry.id));
    }
    if let Some(sources) = private_sources_text(&entry.label) {
        add("private", &format!("written beside private data ({sources})"));
    }
    add("kind", entry.kind.as_str());
    if !entry.topics.is_empty() {
        add("topics", &single_visible_line(&entry.topics.join(", ")));
    }
    add("from", &describe_origin(entry));
    add("created", &format!("{} UTC", timestamp_text(entry.created)));
    if entry.version > 1 {
        let changed = timestamp_text(entry.changed);
        add("changed", &format!("{changed} UTC, version {}", entry.version));
    }
    let text: Vec<String> = entry.text.lines().map(visible_text).collect();
    format!("{page}\n{}\n", text.join("\n"))
}

/// Who kept it, where, and where its words are from.
fn describe_origin(entry: &BrainEntry) -> String {
    let origin = &entry.origin;
    let mut text = match origin.by.as_str() {
        BY_PERSON => "you".to_owned(),
        _ => "an agent".to_owned(),
    };
    if let Some(session) = &origin.session {
        text.push_str(&format!(" in session {session}"));
    }
    if let Some(call) = origin.call {
        text.push_str(&format!(", call {call}"));
    }
    if let Some(from) = &origin.from {
        text.push_str(&format!(", {}", single_visible_line(from)));
    }
    text
}

/// A title in one line.
pub(super) fn short_title(title: &str) -> String {
    clip_line(title, TITLE_CHARS)
}
