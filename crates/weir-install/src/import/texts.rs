//! Texts of other agents that are here the same: instructions for everywhere, and slash commands.
//! Each becomes a file below the person's own folder. Definitions of agents are named and left:
//! which tools they have is said in other words.

use std::path::Path;

use super::files::ImportedFile;
use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget};

/// Commands that are taken of one folder, and folders in each other.
const COMMANDS_MAX: usize = 500;
const DEPTH_MAX: usize = 4;

/// Instructions that hold everywhere: rules of the person, under the other agent's name.
pub(super) fn collect_instructions(
    path: &Path,
    agent: &str,
    found: &mut ImportFindings,
) -> Result<(), String> {
    let Some(text) = ImportedFile::read_noted(path, found)? else { return Ok(()) };
    if text.text.trim().is_empty() {
        return Ok(());
    }
    let includes = text.text.lines().any(|line| line.trim_start().starts_with('@'));
    let note = "files that it takes in with @ are not copied: paths are those of the new place";
    let becomes = ImportMapping::File(format!("rules/{agent}.md"), text.text);
    let (place, says) = (text.name, "instructions for everywhere".to_owned());
    let notes = includes.then(|| note.to_owned()).into_iter().collect();
    found.items.push(ImportItem { place, says, becomes, target: ImportTarget::User, notes });
    Ok(())
}

/// Slash commands: Markdown files, those in folders below too.
pub(super) fn collect_slash_commands(
    folder: &Path,
    found: &mut ImportFindings,
) -> Result<(), String> {
    let mut below = Vec::new();
    list_markdown_files(folder, "", 0, &mut below);
    below.sort_unstable();
    for name in below {
        let Some(text) = ImportedFile::read_noted(&folder.join(&name), found)? else { continue };
        let says = format!("command /{}", name.trim_end_matches(".md").replace('/', ":"));
        let becomes = match text.text.trim().is_empty() {
            true => ImportMapping::Nothing("is empty".into()),
            false => ImportMapping::File(format!("commands/{name}"), text.text),
        };
        let notes = Vec::new();
        found.items.push(ImportItem {
            place: text.name,
            says,
            becomes,
            target: ImportTarget::User,
            notes,
        });
    }
    Ok(())
}

/// Definitions of agents: named, and left.
pub(super) fn note_agent_definitions(folder: &Path, found: &mut ImportFindings) {
    let mut below = Vec::new();
    list_markdown_files(folder, "", 0, &mut below);
    below.sort_unstable();
    for name in below {
        let path = folder.join(&name).display().to_string();
        let why = "says its tools in other words: write it as profiles/NAME.md in your own folder \
                   (docs/profiles.md); those in .claude/agents of a workspace are read as they are";
        found.read.push(path.clone());
        found.items.push(ImportItem {
            place: path,
            says: format!("agent {}", name.trim_end_matches(".md")),
            becomes: ImportMapping::Nothing(why.into()),
            target: ImportTarget::User,
            notes: Vec::new(),
        });
    }
}

/// Names of Markdown files below `folder`, with `/` between.
fn list_markdown_files(folder: &Path, below: &str, depth: usize, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder.join(below)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') || name.contains(char::is_control) || out.len() >= COMMANDS_MAX {
            continue;
        }
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let path = folder.join(&name);
        if path.is_dir() && depth < DEPTH_MAX {
            list_markdown_files(folder, &name, depth + 1, out);
        } else if path.is_file() && name.ends_with(".md") {
            out.push(name);
        }
    }
}
