//! The brain as a folder of Markdown (K12): a file for each entry, with everything that is known of it
//! as properties. Not here: which entries, and where the folder is.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::BrainEntry;
use crate::brain::BrainEntryState;
use crate::safe_text::is_deceptive;

/// Characters of a file's name without its ending.
const NAME_CHARS_MAX: usize = 80;
/// What a title without a usable letter is called.
const NAMELESS: &str = "entry";
/// Names that some file systems keep for devices.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrainFile {
    /// Its name, safe on every file system and of no other file of the folder.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// A file for each entry, in their order. The same entries make the same files.
pub fn export_files(entries: &[BrainEntry]) -> Vec<BrainFile> {
    let named = file_names(entries).into_iter().zip(entries);
    named.map(|(name, entry)| BrainFile { name, text: entry_markdown(entry) }).collect()
}

/// The names of these files.
pub fn file_names(entries: &[BrainEntry]) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |entry: &BrainEntry| {
        let stem = file_stem(&entry.title);
        let mut name = format!("{stem}.md");
        let mut number = 1;
        // Some file systems take two names for one that differ by case alone.
        while !taken.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{stem} {number}.md");
        }
        name
    };
    entries.iter().map(name).collect()
}

/// An entry as a file: properties, then its text.
pub fn entry_markdown(entry: &BrainEntry) -> String {
    let mut page = String::from("---\n");
    let mut add = |name: &str, value: &str| {
        let _ = writeln!(page, "{name}: {value}");
    };
    add("title", &quote_text(&entry.title));
    add("id", entry.id.as_str());
    add("kind", entry.kind.as_str());
    if !entry.topics.is_empty() {
        add("tags", &quote_list(&entry.topics));
    }
    add("created", &entry.created.to_string());
    add("changed", &entry.changed.to_string());
    add("version", &entry.version.to_string());
    if entry.state == BrainEntryState::Forgotten {
        add("state", entry.state.as_str());
    }
    add("by", &quote_text(&entry.origin.by));
    if let Some(session) = &entry.origin.session {
        add("session", &quote_text(session.as_str()));
    }
    if let Some(call) = entry.origin.call {
        add("call", &call.to_string());
    }
    if let Some(from) = &entry.origin.from {
        add("source", &quote_text(from));
    }
    if entry.label.is_external() {
        let origins: Vec<String> = entry.label.origins.iter().cloned().collect();
        add("outside", &quote_list(&origins));
    }
    if entry.label.is_private() {
        let sources: Vec<String> = entry.label.sources.iter().cloned().collect();
        add("private", &quote_list(&sources));
    }
    let _ = write!(page, "---\n\n{}\n", entry.text);
    page
}

/// A text as YAML writes it in double quotes: as JSON does.
fn quote_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn quote_list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote_text(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A title as the name of a file: no path, nothing hidden, nothing that a file system refuses or a
/// link of Obsidian cannot name.
fn file_stem(title: &str) -> String {
    let is_kept = |c: char| !c.is_control() && !is_deceptive(c) && !"/\\:*?\"<>|#^[]%".contains(c);
    let kept: String = title.chars().map(|c| if is_kept(c) { c } else { ' ' }).collect();
    let words = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(NAME_CHARS_MAX).collect();
    let stem = cut.trim_matches(['.', ' ', '-', '~']).to_owned();
    let first = stem.split('.').next().unwrap_or_default().trim().to_lowercase();
    match () {
        () if stem.is_empty() => NAMELESS.to_owned(),
        () if DEVICES.contains(&first.as_str()) => format!("{NAMELESS} {stem}"),
        () => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brain::{BrainEntryKind, BrainOrigin};
    use crate::ids::{BrainEntryId, CallId, SessionId, Timestamp};
    use crate::label::Label;

    fn entry(title: &str) -> BrainEntry {
        BrainEntry {
            id: BrainEntryId::new("a1"),
            title: title.into(),
            text: "# Tides\n\nHigh at six.".into(),
            kind: BrainEntryKind::Note,
            origin: BrainOrigin { by: "person".into(), ..BrainOrigin::default() },
            topics: Vec::new(),
            label: Label::default(),
            created: Timestamp(1_700_000_000_000_000),
            changed: Timestamp(1_700_000_000_000_000),
            state: BrainEntryState::Active,
            version: 1,
        }
    }

    #[test]
    fn k12_names_of_files_are_safe_and_unique() {
        let titles = [
            "Tides",
            "tides",
            "../../etc/passwd",
            "a: b? #c [d]",
            "...",
            ".hidden",
            "con.txt",
            "über Häfen",
        ];
        let entries: Vec<BrainEntry> = titles.iter().map(|title| entry(title)).collect();
        let names: Vec<String> = export_files(&entries).into_iter().map(|file| file.name).collect();
        let expected = [
            "Tides.md",
            "tides 2.md",
            "etc passwd.md",
            "a b c d.md",
            "entry.md",
            "hidden.md",
            "entry con.txt.md",
            "über Häfen.md",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn k12_a_file_says_all_that_is_known() {
        let mut known = entry("Say \"hi\"");
        known.topics = vec!["sea".into(), "harbour".into()];
        known.origin = BrainOrigin {
            by: "brain".into(),
            session: Some(SessionId::new("s1")),
            call: Some(CallId(3)),
            from: Some("https://a.example/tides".into()),
        };
        known.label = Label::external("a.example");
        known.state = BrainEntryState::Forgotten;
        known.version = 2;
        let expected = "---\ntitle: \"Say \\\"hi\\\"\"\nid: a1\nkind: note\n\
             tags: [\"sea\", \"harbour\"]\ncreated: 2023-11-14T22:13:20.000000Z\n\
             changed: 2023-11-14T22:13:20.000000Z\nversion: 2\nstate: forgotten\nby: \"brain\"\n\
             session: \"s1\"\ncall: c3\nsource: \"https://a.example/tides\"\n\
             outside: [\"a.example\"]\n---\n\n# Tides\n\nHigh at six.\n";
        assert_eq!(entry_markdown(&known), expected);
    }
}
