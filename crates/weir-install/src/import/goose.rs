//! goose: `~/.config/goose` with `config.yaml`, hints, recipes and permissions, `.goosehints` and
//! recipes of the workspace, and its sessions. Not here: sessions that are kept in a database
//! (`database`), and its extensions of the kind builtin, which are parts of that program and have
//! no counterpart.

use std::path::Path;

use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::definitions::AgentDefinition;
use super::files::{ImportPlaces, ImportedFile, list_files};
use super::history::{HistoryFile, ImportedHistory, SessionFiles, list_history_files, text_at};
use super::marked::{MarkedDocument, MarkedField, leave_known};
use super::model::put_model;
use super::server::{
    ImportedServer, MappedServer, OLD_TRANSPORT, map_server, name_here, put_server, text_table,
};
use super::skills::{collect_shared_skills, collect_skills};
use super::texts::SlashCommand;
use super::{ImportFindings, ImportMapping, ImportReader, texts};
use crate::duration::TimeSpan;

mod database;

pub(super) const READER: ImportReader = ImportReader {
    name: "goose",
    files: "~/.config/goose, and .goosehints and .goose of the workspace",
    read: read_goose_files,
};

/// What has no counterpart in its settings, and why.
const LEFT: &[(&str, &str)] = &[
    ("GOOSE_TEMPERATURE", "the temperature is not set here"),
    ("GOOSE_MAX_TOKENS", "the most that a model writes is data of the model here"),
    ("GOOSE_MAX_TURNS", "is a limit here: `weir config set limits.max_iterations`"),
    ("GOOSE_LEAD_PROVIDER", HELPERS),
    ("GOOSE_LEAD_MODEL", HELPERS),
    ("GOOSE_PLANNER_PROVIDER", HELPERS),
    ("GOOSE_PLANNER_MODEL", HELPERS),
    ("GOOSE_TOOLSHIM", "models that write calls as text are understood here without a switch"),
    ("GOOSE_TOOLSHIM_OLLAMA_MODEL", "calls as text are understood here without a model"),
    ("GOOSE_CLI_MIN_PRIORITY", LOOKS),
    ("GOOSE_CLI_THEME", LOOKS),
    ("GOOSE_CLI_LIGHT_THEME", LOOKS),
    ("GOOSE_CLI_DARK_THEME", LOOKS),
    ("GOOSE_CLI_SHOW_COST", "costs are always shown here: `weir usage`"),
    ("GOOSE_ALLOWLIST", "servers are approved one by one here: `weir mcp-servers approve`"),
    ("GOOSE_RECIPE_GITHUB_REPO", "recipes are read from this machine only"),
    ("GOOSE_AUTO_COMPACT_THRESHOLD", "when the context is condensed is a setting of its own here"),
    ("GOOSE_SEARCH_PATHS", "commands see the usual PATH here"),
    ("GOOSE_TELEMETRY_ENABLED", "nothing is sent to anybody here"),
    ("SECURITY_PROMPT_ENABLED", GUARDED),
    ("SECURITY_PROMPT_THRESHOLD", GUARDED),
    ("SECURITY_PROMPT_CLASSIFIER_ENABLED", GUARDED),
    ("SECURITY_PROMPT_CLASSIFIER_ENDPOINT", GUARDED),
    ("SECURITY_PROMPT_CLASSIFIER_TOKEN", GUARDED),
    ("otel_exporter_otlp_endpoint", "where traces go is said here with the usual OTEL variables"),
    ("otel_exporter_otlp_timeout", "where traces go is said here with the usual OTEL variables"),
    ("OLLAMA_HOST", "is read from the variable of this name"),
];
const SESSIONS: SessionFiles = SessionFiles { endings: &[".jsonl"], folder: None };
const HELPERS: &str = "which model helps is said here in [helpers]";
const LOOKS: &str = "how the terminal looks is not taken over";
const GUARDED: &str = "foreign words are labelled and judged here without a switch";

fn read_goose_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let own = places.home.join(".config/goose");
    let mut commands = Vec::new();
    if let Some(text) = ImportedFile::read_noted(&own.join("config.yaml"), places, found)
        && let Some(document) = text.to_yaml(found)
    {
        commands = of_config(&document, places, found);
    }
    if let Some(text) = ImportedFile::read_noted(&own.join("permission.yaml"), places, found)
        && let Some(document) = text.to_yaml(found)
    {
        of_permissions(&document, found);
    }
    texts::collect_instructions(&own.join(".goosehints"), "goose", places, found);
    let hints = places.workspace.join(".goosehints");
    texts::collect_instructions(&hints, "goosehints", places, found);
    let agents = places.workspace.join("AGENTS.md");
    texts::note_read_in_place(&agents, "instructions for this workspace", places, found);
    for folder in [own.join("recipes"), places.workspace.join(".goose/recipes")] {
        for name in list_files(&folder, &[".yaml", ".yml", ".json"], places, found) {
            of_recipe(&folder.join(&name), &commands, places, found);
        }
    }
    for folder in [own.join("skills"), places.workspace.join(".goose/skills")] {
        collect_skills(&folder, places, found);
    }
    let shared = places.home.join(".agents/skills");
    collect_shared_skills(&shared, "shared skills", places, found);
    let data = places.home.join(".local/share/goose/sessions");
    for (path, says, why) in [
        (own.join("secrets.yaml"), "keys", "keys are never imported; `weir auth set` keeps them"),
        (own.join("prompts"), "prompts", "are parts of that program's own prompt"),
        (
            own.join("permissions"),
            "decisions while it ran",
            "are decisions about single calls; rules here are written with `weir permissions add`",
        ),
        (
            places.home.join(".agents/plugins"),
            "plugins with hooks",
            "plugins are installed with `weir plugins`",
        ),
        (places.workspace.join(".gooseignore"), ".gooseignore", "copy it to .weirignore"),
    ] {
        texts::note_left(&path, says, why, places, found);
    }
    // It has those of the files as they were when it was made, and what was said in them since.
    database::collect_sessions(&data.join("sessions.db"), places, found);
    collect_sessions(&data, places, found);
}

/// The settings; which recipes are run by which name.
fn of_config(
    document: &MarkedDocument,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> Vec<(String, String)> {
    let root = document.root_field();
    let text = |key: &str| root.enter_key(key).and_then(|field| field.take_text());
    // The newer form says the provider otherwise.
    let vendor = text("GOOSE_PROVIDER").or_else(|| text("active_provider"));
    if let Some(model) = root.enter_key("GOOSE_MODEL")
        && let Some(name) = model.take_text()
    {
        put_model(&model, vendor, name, places.models, found);
    }
    if let Some(providers) = root.enter_key("providers") {
        for provider in providers.table_fields() {
            let is_active = vendor == Some(provider.key.as_str());
            if let Some(model) = provider.enter_key("model").filter(|_| is_active)
                && let Some(name) = model.take_text()
            {
                put_model(&model, vendor, name, places.models, found);
            } else {
                provider.leave_value("endpoints are declared here with [providers.NAME]", found);
            }
        }
    }
    if let Some(mode) = root.enter_key("GOOSE_MODE")
        && let Some(word) = mode.take_text()
    {
        let becomes = match word {
            "approve" | "smart_approve" => ImportMapping::Mode(PermissionMode::Ask),
            "chat" => ImportMapping::Mode(PermissionMode::Plan),
            "auto" => ImportMapping::Mode(PermissionMode::Full),
            _ => ImportMapping::Nothing("is no mode that there is here".into()),
        };
        mode.settle_value(format!("mode {word}"), becomes, Vec::new(), found);
    }
    for extension in root.enter_key("extensions").map(|all| all.table_fields()).unwrap_or_default()
    {
        of_extension(&extension, places, found);
    }
    let mut commands = Vec::new();
    for command in
        root.enter_key("slash_commands").map(|all| all.list_entries()).unwrap_or_default()
    {
        let field = |key: &str| command.enter_key(key).and_then(|field| field.take_text());
        if let (Some(name), Some(path)) = (field("command"), field("recipe_path")) {
            let is_read = path.contains("goose/recipes/");
            commands.push((name.to_owned(), path.to_owned()));
            if !is_read {
                let why = "its recipe is in another folder: put it into ~/.config/goose/recipes";
                command.leave_value(why, found);
            }
        }
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
    commands
}

/// An extension: a server, or a part of that program.
fn of_extension(
    extension: &MarkedField<'_>,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let value = extension.take_value();
    let kind = text_at(value, "/type");
    let name = match text_at(value, "/name") {
        "" => &extension.key,
        name => name,
    };
    match kind {
        "stdio" | "streamable_http" => {}
        "sse" => return extension.leave_value(OLD_TRANSPORT, found),
        "builtin" | "platform" => return extension.leave_value("is a part of that program", found),
        _ => return extension.leave_value("is of a kind that is not known here", found),
    }
    let mut foreign = ImportedServer::default();
    let mut notes = Vec::new();
    for (field, value) in value.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("type" | "name" | "display_name" | "description" | "bundled", _) => {}
            ("cmd", Value::String(command)) => foreign.command.insert(0, command.clone()),
            ("args", Value::Array(args)) => {
                foreign.command.extend(args.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            ("envs", Value::Object(_)) => {
                foreign.env.extend(text_table(value, str::to_owned));
            }
            ("env_keys", Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                foreign.env.extend(names.map(|name| (name.to_owned(), format!("${{{name}}}"))));
            }
            ("uri", Value::String(url)) => foreign.url = url.clone(),
            ("headers", Value::Object(_)) => foreign.headers = text_table(value, str::to_owned),
            ("enabled", Value::Bool(enabled)) => foreign.rest.enabled = *enabled,
            ("timeout", Value::Number(seconds)) => {
                let seconds = seconds.as_u64().filter(|seconds| (1..86_400).contains(seconds));
                foreign.rest.timeout = seconds.map(|seconds| TimeSpan { ms: seconds * 1_000 });
            }
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    let (becomes, more) = map_server(name, foreign, places.environment);
    notes.extend(more);
    put_server(extension, MappedServer { name, becomes, notes }, places, found);
}

/// `user: {always_allow: [server__tool], ask_before: […], never_allow: […]}`.
fn of_permissions(document: &MarkedDocument, found: &mut ImportFindings) {
    let root = document.root_field();
    for (key, action) in [
        ("always_allow", RuleAction::Allow),
        ("ask_before", RuleAction::Ask),
        ("never_allow", RuleAction::Deny),
    ] {
        for tool in
            root.field_at(&["user", key]).map(|tools| tools.take_texts()).unwrap_or_default()
        {
            let Some(name) = tool.take_text() else { continue };
            // Newer ones write the tools of that program without its part.
            let becomes = match name.split_once("__").unwrap_or(("developer", name)) {
                ("developer", "shell") => ImportMapping::Rule(action, "Shell".into()),
                ("developer", "write" | "edit" | "text_editor") => {
                    let all = if action == RuleAction::Allow { "Edit(**)" } else { "Edit" };
                    ImportMapping::Rule(action, all.into())
                }
                ("developer" | "platform" | "memory" | "todo", _) => {
                    ImportMapping::Nothing("is a tool of that program".into())
                }
                (server, tool) => {
                    ImportMapping::Rule(action, format!("Mcp({}:{tool})", name_here(server)))
                }
            };
            tool.settle_value(format!("{key} {name}"), becomes, Vec::new(), found);
        }
    }
    let why = "are guesses of that program about single tools";
    leave_known(&root, &[("smart_approve", why)], found);
    document.leave_rest(found);
}

/// A recipe: with a prompt it is a command, with instructions alone an agent.
fn of_recipe(
    path: &Path,
    commands: &[(String, String)],
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let Some(text) = ImportedFile::read_noted(path, places, found) else { return };
    let Some(document) = text.to_yaml(found) else { return };
    let root = document.root_field();
    let field =
        |key: &str| root.enter_key(key).and_then(|field| field.take_text()).unwrap_or_default();
    let (title, line) = (field("title"), field("description"));
    let (instructions, prompt) = (field("instructions"), field("prompt"));
    field("version");
    let named = commands.iter().find(|(_, recipe)| path.ends_with(recipe.trim_start_matches("~/")));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = named.map_or(stem, |(name, _)| name.clone());
    let mut notes = Vec::new();
    let mut parameters = Vec::new();
    for parameter in root.enter_key("parameters").map(|all| all.list_entries()).unwrap_or_default()
    {
        let key = text_at(parameter.take_value(), "/key").to_owned();
        if parameter.peek_value().get("default").is_some() {
            notes.push(format!("the default of {key} is not taken over: say it"));
        }
        parameters.push(key);
    }
    let description = if line.is_empty() { title } else { line }.to_owned();
    if prompt.trim().is_empty() {
        let role = instructions.to_owned();
        let definition =
            AgentDefinition { name, description, role, notes, ..AgentDefinition::default() };
        let says = format!("recipe {}", definition.name);
        let (becomes, notes) = definition.into_mapping();
        found.add_item(text.name.clone(), says, becomes, text.target).notes = notes;
    } else {
        let body = [instructions, prompt].map(str::trim).join("\n\n").trim().to_owned();
        let body = with_places(&texts::escape_places(&body), &parameters);
        if body.contains("{{") || body.contains("{%") {
            notes.push("what stands in {{ }} or {% %} stays as it is written".to_owned());
        }
        let command = SlashCommand { description, body: format!("{body}\n"), notes };
        texts::put_command(&text, &name, command, found);
    }
    leave_known(
        &root,
        &[
            ("extensions", "servers are declared in the settings here"),
            ("settings", "a command uses the session's model and limits"),
            ("sub_recipes", "sub-agents are started by the model here"),
            ("activities", "are buttons of that program"),
            ("response", "a schema is said here with `weir run --schema`"),
            ("retry", "a command is not repeated here"),
            ("author", "is about the file itself"),
        ],
        found,
    );
    document.leave_rest(found);
}

/// `{{ name }}` as a place for an argument: the only one is all of them.
fn with_places(text: &str, parameters: &[String]) -> String {
    const PLACES_MAX: usize = 9;
    let mut text = text.to_owned();
    for (at, key) in parameters.iter().take(PLACES_MAX).enumerate() {
        let place = match parameters.len() {
            1 => "$ARGUMENTS".to_owned(),
            _ => format!("${}", at + 1),
        };
        for written in [format!("{{{{ {key} }}}}"), format!("{{{{{key}}}}}")] {
            text = text.replace(&written, &place);
        }
    }
    text
}

/// `sessions/NAME.jsonl`: what it is first, then a message a line.
fn collect_sessions(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    for path in list_history_files(folder, &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        file.fill_history(&mut history, |history, value| {
            let role = text_at(value, "/role");
            if matches!(role, "user" | "assistant") {
                let at = value.get("created").and_then(Value::as_i64);
                let at = at.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
                let at = at.map(|time| time.to_string()).unwrap_or_default();
                history.say_content(role, value.get("content").unwrap_or(&Value::Null), &at);
            } else if history.head.workspace.is_empty() {
                history.head.workspace = text_at(value, "/working_dir").to_owned();
                history.head.title = text_at(value, "/description").to_owned();
            }
        });
        file.add_history(history, found);
    }
}
