//! Texts of other agents that are here the same: instructions and slash commands. What is for
//! everywhere becomes a file of the person's own folder, what is for a workspace one of its
//! `.weir`. Not here: heads that say something of tools or models (`definitions`).

use std::path::Path;

use serde_json::{Map, Value};
use weir_notes::properties::{find_frontmatter, parse_properties};

use super::files::{ImportPlaces, ImportedFile, list_files};
use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget};

/// Instructions: a rule under the other agent's name.
pub(super) fn collect_instructions(
    path: &Path,
    agent: &str,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let Some(text) = ImportedFile::read_noted(path, places, found) else { return };
    let says = match text.target {
        ImportTarget::User => "instructions for everywhere",
        ImportTarget::Project => "instructions for this workspace",
    };
    put_instructions(&text, says, &format!("rules/{agent}.md"), text.text.clone(), found);
}

/// A file whose text instructs, as the file `below`.
pub(super) fn put_instructions<'f>(
    text: &ImportedFile,
    says: &str,
    below: &str,
    body: String,
    found: &'f mut ImportFindings,
) -> &'f mut ImportItem {
    let includes = body.lines().any(|line| line.trim_start().starts_with('@'));
    let becomes = match body.trim().is_empty() {
        true => ImportMapping::Nothing("is empty".into()),
        false => ImportMapping::File(below.to_owned(), body),
    };
    let item = found.add_item(text.name.clone(), says.to_owned(), becomes, text.target);
    if includes {
        let note = "files that it takes in with @ are not copied: paths are those of the new place";
        item.notes.push(note.to_owned());
    }
    item
}

/// Slash commands: Markdown files, those in folders below too.
pub(super) fn collect_slash_commands(
    folder: &Path,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    for name in list_files(folder, &[".md"], places, found) {
        let path = folder.join(&name);
        let Some(text) = ImportedFile::read_noted(&path, places, found) else { continue };
        let command = SlashCommand { body: text.text.clone(), ..SlashCommand::default() };
        put_command(&text, name.trim_end_matches(".md"), command, found);
    }
}

/// A text that a person runs by its name.
#[derive(Debug, Default)]
pub(super) struct SlashCommand {
    /// A line for lists; empty: the text has a head of its own, or none.
    pub(super) description: String,
    /// What it says.
    pub(super) body: String,
    /// What is not the same.
    pub(super) notes: Vec<String>,
}

impl SlashCommand {
    /// What it becomes under this name; folders of the name with `/` between.
    pub(super) fn to_mapping(&self, name: &str) -> ImportMapping {
        if self.body.trim().is_empty() {
            return ImportMapping::Nothing("is empty".into());
        }
        if let Some(why) = file_name_problem(name) {
            return ImportMapping::Nothing(why);
        }
        let line = self.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let head = match line.is_empty() {
            true => String::new(),
            false => format!("---\ndescription: {}\n---\n", Value::from(line)),
        };
        ImportMapping::File(format!("commands/{name}.md"), format!("{head}{}", self.body))
    }
}

/// The command that a file is.
pub(super) fn put_command(
    text: &ImportedFile,
    name: &str,
    command: SlashCommand,
    found: &mut ImportFindings,
) {
    let says = format!("command /{}", name.replace('/', ":"));
    let becomes = command.to_mapping(name);
    found.add_item(text.name.clone(), says, becomes, text.target).notes = command.notes;
}

/// A folder that Weir reads where it is.
pub(super) fn note_read_in_place(
    path: &Path,
    says: &str,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    if path.exists() {
        let why = match places.target_of(path) {
            ImportTarget::Project => {
                "is read as it is, once you trust the workspace (`weir trust`)"
            }
            ImportTarget::User => "is read where it is",
        };
        found.leave_item(path.display().to_string(), says.to_owned(), why, places.target_of(path));
    }
}

/// Something that is there and that nothing here reads.
pub(super) fn note_left(
    path: &Path,
    says: &str,
    why: &str,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    if std::fs::symlink_metadata(path).is_ok() {
        let target = places.target_of(path);
        found.leave_item(path.display().to_string(), says.to_owned(), why, target);
    }
}

/// Why a name from a file cannot be the name of one here: it must lead nowhere else.
pub(super) fn file_name_problem(name: &str) -> Option<String> {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.len() <= 100
            && !part.contains(|sign: char| sign.is_control() || matches!(sign, '\\' | ':'))
    };
    match name.split('/').all(plain) && !name.starts_with('/') {
        true => None,
        false => Some(format!("{name:?} cannot be the name of a file here; give it a plain one")),
    }
}

/// The head of a Markdown file and the text below it. A head that is no YAML is read line by line:
/// some programs write lists without quotation marks.
pub(super) fn split_head(text: &str) -> (Map<String, Value>, &str) {
    let Some(place) = find_frontmatter(text) else { return (Map::new(), text) };
    let (head, body) = (&text[place.yaml.start..place.yaml.end], &text[place.block.end..]);
    let fields = parse_properties(head).unwrap_or_else(|_| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let lines = lines.filter(|(name, _)| !name.starts_with([' ', '#', '-']));
        lines
            .map(|(name, value)| {
                let value = match value.trim() {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    text => Value::from(text.trim_matches('"')),
                };
                (name.trim().to_owned(), value)
            })
            .collect()
    });
    (fields, body)
}

/// `$1` and `$ARGUMENTS` are places for arguments here: where another agent has other words for
/// them, these are plain text.
pub(super) fn escape_places(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, sign) in text.char_indices() {
        let rest = &text[at + sign.len_utf8()..];
        let is_place =
            rest.starts_with(|next: char| next.is_ascii_digit()) || rest.starts_with("ARGUMENTS");
        if sign == '$' && is_place {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}
