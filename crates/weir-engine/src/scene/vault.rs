//! What section 15 tells of a vault of notes (K15): how it writes links, where its notes of days,
//! templates and attachments stand, which properties and tags are in use, and what was open last. From
//! Obsidian's own settings and from the names that the index of notes kept: nothing is scanned for it.
//! Not here: the conventions of every vault (section 3), the index (`weir-tools`).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::governance::filter::one_line;
use weir_core::tool::{PathAccess, PathPlace};

use super::surroundings::kind_of;
use crate::ports::FileContent;
use crate::workspace::Workspace;

/// Largest of the files that are looked at, in bytes: the one that says what is open has more than it needs.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Names of each list that are told.
const NAMES_MAX: usize = 15;
/// Notes that are named as open last.
const RECENT_MAX: usize = 5;
/// Longest name that is told, in characters.
const NAME_CHARS_MAX: usize = 60;
/// The file of names in the state directory.
const NAMES_FILE: &str = "note-names.json";

/// Names in use in a vault, the most used first. Whoever indexes notes keeps them beside the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultNames {
    /// Properties.
    pub properties: Vec<String>,
    /// Tags, without their sign.
    pub tags: Vec<String>,
}

impl VaultNames {
    /// Keeps what may be told: names that are short and of letters, digits and few signs. Names come from
    /// notes, and a note may hold anything.
    pub fn new(
        properties: impl IntoIterator<Item = String>,
        tags: impl IntoIterator<Item = String>,
    ) -> VaultNames {
        let told = |names: &mut dyn Iterator<Item = String>| {
            names.filter(|name| is_plain_name(name)).take(NAMES_MAX).collect()
        };
        VaultNames {
            properties: told(&mut properties.into_iter()),
            tags: told(&mut tags.into_iter()),
        }
    }

    /// Keeps them for later sessions. That it fails costs a line of a prompt.
    pub fn keep_names(&self, workspace: &Workspace) {
        if let Ok(text) = serde_json::to_vec(self) {
            let _ = workspace.replace_derived(NAMES_FILE, &text);
        }
    }

    fn kept_names(workspace: &Workspace) -> VaultNames {
        let kept = workspace.read_derived(NAMES_FILE);
        kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

fn is_plain_name(name: &str) -> bool {
    let short = (1..=30).contains(&name.chars().count());
    short && name.chars().all(|letter| letter.is_alphanumeric() || "-_/".contains(letter))
}

/// What is told of a vault; `None`: the workspace is none, or there is nothing to tell.
pub(super) fn describe_vault(workspace: &Workspace) -> Option<String> {
    if kind_of(workspace.root()) != Some("notes") {
        return None;
    }
    let mut lines = Vec::new();
    let habits = list_habits(workspace);
    if !habits.is_empty() {
        lines.push(format!("Notes: {}", habits.join("; ")));
    }
    let names = VaultNames::kept_names(workspace);
    // What was kept may be of another version, or of another hand.
    let names = VaultNames::new(names.properties, names.tags);
    if !names.properties.is_empty() {
        lines.push(format!("Properties in use: {}", names.properties.join(", ")));
    }
    if !names.tags.is_empty() {
        let tags: Vec<String> = names.tags.iter().map(|tag| format!("#{tag}")).collect();
        lines.push(format!("Tags in use: {}", tags.join(", ")));
    }
    let recent = list_recent(workspace);
    if !recent.is_empty() {
        lines.push(format!("Open last: {}", recent.join(", ")));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// How notes are written here, as Obsidian is set up.
fn list_habits(workspace: &Workspace) -> Vec<String> {
    let app = read_settings(workspace, ".obsidian/app.json");
    let daily = read_settings(workspace, ".obsidian/daily-notes.json");
    let templates = read_settings(workspace, ".obsidian/templates.json");
    let mut habits = Vec::new();
    let form = match app["useMarkdownLinks"].as_bool() {
        Some(true) => Some("[Name](Name.md)"),
        Some(false) => Some("[[Name]]"),
        None => None,
    };
    let reach = match app["newLinkFormat"].as_str() {
        Some("relative") => Some("by the path from the note"),
        Some("absolute") => Some("by the path from the vault"),
        Some("shortest") => Some("by the name where it is the only one"),
        _ => None,
    };
    if form.is_some() || reach.is_some() {
        let words: Vec<&str> = [form, reach].into_iter().flatten().collect();
        habits.push(format!("links as {}", words.join(" ")));
    }
    let mut place = |what: &str, value: &Value| {
        if let Some(name) = told_name(value) {
            habits.push(format!("{what} in {name}"));
        }
    };
    place("new notes", &app["newFileFolderPath"]);
    place("attachments", &app["attachmentFolderPath"]);
    place("notes of days", &daily["folder"]);
    place("templates", &templates["folder"]);
    if let Some(format) = told_name(&daily["format"]) {
        habits.push(format!("notes of days are called {format}"));
    }
    habits
}

/// The notes that were open last and are there.
fn list_recent(workspace: &Workspace) -> Vec<String> {
    let open = read_settings(workspace, ".obsidian/workspace.json");
    let paths = open["lastOpenFiles"].as_array().map(Vec::as_slice).unwrap_or_default();
    let paths = paths.iter().filter_map(Value::as_str).filter(|path| path.ends_with(".md"));
    paths
        .filter(|path| {
            let at = workspace.resolve(path, PathAccess::Read);
            let open = at.place == PathPlace::Inside && at.ignored.is_none();
            open && at.sensitive.is_none()
                && at.marked.is_none()
                && workspace.stat_entry(&at).is_ok()
        })
        .filter_map(told_line)
        .take(RECENT_MAX)
        .collect()
}

/// A file of settings; null where it is not there, or cannot be read.
fn read_settings(workspace: &Workspace, path: &str) -> Value {
    let at = workspace.resolve(path, PathAccess::Read);
    if at.place != PathPlace::Inside || at.ignored.is_some() || at.marked.is_some() {
        return Value::Null;
    }
    match workspace.read(&at, SETTINGS_BYTES_MAX) {
        Ok(FileContent::File { bytes, .. }) => {
            serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        }
        _ => Value::Null,
    }
}

fn told_name(value: &Value) -> Option<String> {
    value.as_str().and_then(told_line)
}

/// A name in one line; `None`: it is empty, or too long to be one.
fn told_line(name: &str) -> Option<String> {
    let line = one_line(name.trim().trim_matches('/'));
    (!line.is_empty() && line.chars().count() <= NAME_CHARS_MAX).then_some(line)
}
