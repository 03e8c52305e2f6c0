//! Definitions of agents as profiles: their names of tools are translated, models by the catalogue;
//! what has no counterpart is a note. A permission that a definition gives itself is never taken.

use std::path::Path;

use serde_json::Value;

use super::files::{ImportPlaces, ImportedFile, list_files};
use super::marked::{MarkedDocument, MarkedField, NameForm};
use super::model::model_here;
use super::texts::{file_name_problem, split_head};
use super::{ImportFindings, ImportMapping};
use crate::profiles::check_profile_text;
use crate::profiles::claude::{ALWAYS, split_word_list};

/// Kinds of tools of an agent that may only read, and those of the tools that have a counterpart.
const READING: &str = "[read, vault, agent, skill]";
const READING_TOOLS: [&str; 5] =
    ["read_file", "list_files", "search_files", "glob", "update_todo_list"];

/// Their names of tools, and ours.
pub(super) type ToolNames = &'static [(&'static str, &'static [&'static str])];

/// A definition as it is collected.
#[derive(Debug, Default)]
pub(super) struct AgentDefinition {
    /// Its name.
    pub(super) name: String,
    /// A line for lists.
    pub(super) description: String,
    /// Who the agent is.
    pub(super) role: String,
    /// Tools that it has; `None`: all.
    pub(super) tools: Option<Vec<String>>,
    /// Tools that it does not have.
    pub(super) denied: Vec<String>,
    /// It changes nothing.
    pub(super) reads_only: bool,
    /// Its model here.
    pub(super) model: Option<String>,
    /// What is not the same.
    pub(super) notes: Vec<String>,
}

impl AgentDefinition {
    /// The profile, as a file.
    fn to_profile(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        // A bare name such as 007 or true would not be read back as a text.
        let mut head = format!("---\nname: {}\n", quoted(&self.name));
        if !self.description.is_empty() {
            let line = self.description.split_whitespace().collect::<Vec<_>>().join(" ");
            head.push_str(&format!("description: {}\n", quoted(&line)));
        }
        if let Some(tools) = &self.tools {
            let kept = tools.iter().filter(|tool| !self.denied.contains(tool));
            let tools: Vec<&str> = ALWAYS.into_iter().chain(kept.map(String::as_str)).collect();
            // Only the named ones: no group brings more.
            head.push_str(&format!("groups: []\ntools: [{}]\n", tools.join(", ")));
        } else {
            if self.reads_only {
                head.push_str(&format!("groups: {READING}\n"));
            }
            if !self.denied.is_empty() {
                head.push_str(&format!("tools:\n  deny: [{}]\n", self.denied.join(", ")));
            }
        }
        if let Some(model) = &self.model {
            head.push_str(&format!("model: {}\n", quoted(model)));
        }
        format!("{head}---\n{}\n", self.role.trim())
    }

    /// What it becomes, and what a person should know.
    pub(super) fn into_mapping(mut self) -> (ImportMapping, Vec<String>) {
        self.drop_writing_tools();
        let becomes = match self.to_checked_profile() {
            Ok(text) => ImportMapping::File(format!("profiles/{}.md", self.name), text),
            Err(why) => ImportMapping::Nothing(why),
        };
        (becomes, self.notes)
    }

    /// The profile, where the project's own reader understands it: one that it does not would stop
    /// every run.
    fn to_checked_profile(&self) -> Result<String, String> {
        if let Some(why) = file_name_problem(&self.name) {
            return Err(why);
        }
        if self.role.trim().is_empty() {
            return Err("says nothing of who the agent is".into());
        }
        let text = self.to_profile();
        check_profile_text(&text).map_err(|why| format!("would be no profile: {why}"))?;
        Ok(text)
    }

    /// Of one that changes nothing, only tools that change nothing.
    fn drop_writing_tools(&mut self) {
        let Some(tools) = self.tools.as_mut().filter(|_| self.reads_only) else { return };
        let (kept, left): (Vec<String>, Vec<String>) = std::mem::take(tools)
            .into_iter()
            .partition(|tool| READING_TOOLS.contains(&tool.as_str()));
        *tools = kept;
        if !left.is_empty() {
            let left = left.join(", ");
            self.notes.push(format!("it only reads, so these tools are not taken over: {left}"));
        }
    }

    /// What the fields of a table say of it.
    pub(super) fn read_fields(
        &mut self,
        table: &MarkedField<'_>,
        places: &ImportPlaces<'_>,
        read_field: ReadField,
    ) {
        for field in table.table_fields() {
            match (field.key.as_str(), field.take_value()) {
                ("name", Value::String(name)) => self.name = name.trim().to_owned(),
                ("description", Value::String(text)) => self.description = text.clone(),
                _ if read_field(&field, self, places) => {}
                _ => self.notes.push(format!("its field {} has no effect here", field.key)),
            }
        }
    }

    /// The tools of a list, or words with commas between.
    pub(super) fn set_tools(&mut self, theirs: &Value, names: ToolNames) {
        let words = split_word_list(theirs);
        if words.iter().any(|word| word == "*") {
            return;
        }
        let mut ours = Vec::new();
        for word in words.iter().filter(|word| !word.is_empty()) {
            match our_tools(word, names) {
                Some(tools) => ours.extend(tools.iter().map(|tool| (*tool).to_owned())),
                None => self.notes.push(format!("its tool {word} has no counterpart here")),
            }
        }
        self.tools = Some(without_twins(ours));
    }

    /// Tools that are taken from it.
    pub(super) fn deny_tools(&mut self, theirs: &[String], names: ToolNames) {
        for word in theirs {
            match our_tools(word, names) {
                Some(tools) => self.denied.extend(tools.iter().map(|tool| (*tool).to_owned())),
                None => self.notes.push(format!("its tool {word} has no counterpart here")),
            }
        }
        self.denied = without_twins(std::mem::take(&mut self.denied));
    }

    /// Its model, by the catalogue.
    pub(super) fn set_model(
        &mut self,
        vendor: Option<&str>,
        name: &str,
        places: &ImportPlaces<'_>,
    ) {
        match model_here(places.models, vendor, name) {
            Ok((model, notes)) => {
                self.model = Some(model);
                self.notes.extend(notes);
            }
            Err(why) if !matches!(name, "inherit" | "") => {
                self.notes.push(format!("its model {name} is not taken over: it {why}"));
            }
            Err(_) => {}
        }
    }
}

fn our_tools(theirs: &str, names: ToolNames) -> Option<&'static [&'static str]> {
    let bare = theirs.split('(').next().unwrap_or(theirs);
    names.iter().find(|(known, _)| *known == bare).map(|(_, ours)| *ours)
}

fn without_twins(mut names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// What one field of a head says of the agent; `false`: it is not known.
pub(super) type ReadField = fn(&MarkedField<'_>, &mut AgentDefinition, &ImportPlaces<'_>) -> bool;

/// Markdown files with a head: the text below is who the agent is.
pub(super) fn collect_definitions(
    folder: &Path,
    places: &ImportPlaces<'_>,
    read_field: ReadField,
    found: &mut ImportFindings,
) {
    for name in list_files(folder, &[".md"], places, found) {
        let path = folder.join(&name);
        let Some(text) = ImportedFile::read_noted(&path, places, found) else { continue };
        let (head, body) = split_head(&text.text);
        let stem = name.trim_end_matches(".md").replace('/', "-");
        let definition =
            AgentDefinition { name: stem, role: body.to_owned(), ..AgentDefinition::default() };
        let document = text.mark_values(Value::Object(head), NameForm::Bare);
        put_definition(&document, definition, places, read_field, found);
    }
}

/// A definition whose fields these are.
pub(super) fn put_definition(
    document: &MarkedDocument,
    mut definition: AgentDefinition,
    places: &ImportPlaces<'_>,
    read_field: ReadField,
    found: &mut ImportFindings,
) {
    definition.read_fields(&document.root_field(), places, read_field);
    let says = format!("agent {}", definition.name);
    let (becomes, notes) = definition.into_mapping();
    found.add_item(document.name.clone(), says, becomes, document.target).notes = notes;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> AgentDefinition {
        let role = "You test.".to_owned();
        AgentDefinition { name: name.to_owned(), role, ..AgentDefinition::default() }
    }

    #[test]
    fn r8_no_imported_agent_is_one_that_stops_every_run() {
        for name in ["007", "true", "null", "1.5", "tester"] {
            let (becomes, _) = named(name).into_mapping();
            let ImportMapping::File(below, text) = becomes else { panic!("{name}: {becomes:?}") };
            assert_eq!(below, format!("profiles/{name}.md"));
            assert_eq!(check_profile_text(&text), Ok(()), "{text}");
        }
        let huge = AgentDefinition { role: "x".repeat(300 * 1024), ..named("huge") };
        let long = named(&"n".repeat(65));
        for (definition, part) in [
            (huge, "at most 262144 are read"),
            (long, "is no name of a profile"),
            (named("two words"), "is no name of a profile"),
            (named("../evil"), "cannot be the name of a file"),
        ] {
            let (becomes, _) = definition.into_mapping();
            let ImportMapping::Nothing(why) = becomes else { panic!("{becomes:?}") };
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn r8_an_agent_that_only_reads_gets_no_tool_that_writes() {
        let tools = ["read_file", "run_shell", "edit_file"].map(str::to_owned).to_vec();
        let definition =
            AgentDefinition { tools: Some(tools), reads_only: true, ..named("reader") };
        let (becomes, notes) = definition.into_mapping();
        let ImportMapping::File(_, text) = becomes else { panic!("{becomes:?}") };
        assert!(text.contains("read_file]") && !text.contains("run_shell"), "{text}");
        assert!(notes[0].contains("run_shell, edit_file"), "{notes:?}");
        let denied = vec!["glob".to_owned()];
        let definition = AgentDefinition { denied, reads_only: true, ..named("reader") };
        let (becomes, _) = definition.into_mapping();
        let ImportMapping::File(_, text) = becomes else { panic!("{becomes:?}") };
        assert!(text.contains("groups: [read") && text.contains("deny: [glob]"), "{text}");
    }
}
