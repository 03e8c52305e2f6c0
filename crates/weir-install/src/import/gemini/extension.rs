//! Gemini CLI's slash commands, which are TOML, and its extensions: their servers, instructions,
//! commands and skills. Not here: its own folders and settings.

use std::path::Path;

use super::super::files::{ImportPlaces, ImportedFile, list_files};
use super::super::marked::leave_known;
use super::super::server::{collect_servers, name_here};
use super::super::skills::collect_skills;
use super::super::texts::SlashCommand;
use super::super::{ImportFindings, ImportTarget, texts};
use super::{SERVERS, instruction_name_problem};

/// Extensions that are looked at.
const EXTENSIONS_MAX: usize = 200;

/// `commands/git/commit.toml` with `prompt` and `description`.
pub(super) fn collect_commands(
    folder: &Path,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    for name in list_files(folder, &[".toml"], places, found) {
        let path = folder.join(&name);
        let Some(text) = ImportedFile::read_noted(&path, places, found) else { continue };
        let Some(document) = text.to_toml(found) else { continue };
        let root = document.root_field();
        let field = |key: &str| root.enter_key(key).and_then(|field| field.take_text());
        let (prompt, description) = (field("prompt").unwrap_or_default(), field("description"));
        let mut notes = Vec::new();
        for (sign, what) in [("!{", "no command is run for it"), ("@{", "no file is put into it")] {
            if prompt.contains(sign) {
                notes.push(format!("{sign}…}} stays as it is written: {what}"));
            }
        }
        let body = texts::escape_places(prompt).replace("{{args}}", "$ARGUMENTS");
        let description = description.unwrap_or_default().to_owned();
        let command = SlashCommand { description, body, notes };
        texts::put_command(&text, name.trim_end_matches(".toml"), command, found);
        document.leave_rest(found);
    }
}

/// Every extension of a folder.
pub(super) fn collect_extensions(
    folder: &Path,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let mut names = folders_in(folder);
    if names.len() > EXTENSIONS_MAX {
        let place = folder.display().to_string();
        let why = format!("at most {EXTENSIONS_MAX} are looked at");
        found.leave_item(place, "more extensions".into(), &why, ImportTarget::User);
        names.truncate(EXTENSIONS_MAX);
    }
    for name in names {
        of_extension(&folder.join(&name), &name, places, found);
    }
}

/// An extension: its servers, instructions, commands and skills.
fn of_extension(folder: &Path, name: &str, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let manifest = folder.join("gemini-extension.json");
    let Some(text) = ImportedFile::read_noted(&manifest, places, found) else { return };
    // Its own folder is a variable of its own.
    let path = folder.display().to_string();
    let plain = text.text.replace("${extensionPath}", &path).replace("${/}", "/");
    let text = ImportedFile { text: plain, ..text };
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    if let Some(servers) = root.enter_key("mcpServers") {
        collect_servers(&servers, &SERVERS, places, found);
    }
    let file = root.enter_key("contextFileName").and_then(|field| field.take_text());
    let file = file.unwrap_or("GEMINI.md");
    let rule = format!("gemini-cli-{}", name_here(name));
    match instruction_name_problem(file) {
        Some(why) => {
            let says = format!("instructions {file}");
            found.leave_item(text.name.clone(), says, why, text.target);
        }
        None => {
            texts::collect_instructions(&folder.join(file), &rule, places, found);
        }
    }
    for key in ["name", "version", "description"] {
        if let Some(field) = root.enter_key(key) {
            field.take_value();
        }
    }
    leave_known(&root, &[("excludeTools", "which tools an agent has is said by profiles")], found);
    document.leave_rest(found);
    collect_commands(&folder.join("commands"), places, found);
    collect_skills(&folder.join("skills"), places, found);
}

/// Names of the folders in a folder, one more than are looked at.
fn folders_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(EXTENSIONS_MAX + 1).collect();
    names.sort_unstable();
    names
}
