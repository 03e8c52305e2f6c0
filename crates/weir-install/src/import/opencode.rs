//! opencode: `~/.config/opencode` with `opencode.json` or `opencode.jsonc`, instructions, commands,
//! agents and skills, the same of the workspace, and what was said in its sessions. Not here:
//! sessions that are kept in a database (`database`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::definitions::{AgentDefinition, ToolNames, collect_definitions};
use super::files::{ImportPlaces, ImportedFile, is_same};
use super::history::{
    HistoryFile, ImportedHistory, SessionFiles, list_history_files, parse_bounded, text_at,
};
use super::listing::{TreeBounds, list_tree};
use super::marked::{MarkedField, leave_known};
use super::model::put_model;
use super::server::{ImportedServer, MappedServer, map_server, put_server, text_table};
use super::skills::collect_skills;
use super::texts::SlashCommand;
use super::{ImportFindings, ImportMapping, ImportReader, texts};
use crate::duration::TimeSpan;

mod database;
mod permission;

pub(super) const READER: ImportReader = ImportReader {
    name: "opencode",
    files: "~/.config/opencode, and opencode.json and .opencode of the workspace",
    read: read_opencode_files,
};

const SESSIONS: SessionFiles = SessionFiles { endings: &[".json"], folder: None };
/// Messages of a session, and parts of a message.
const OF_SESSION: TreeBounds = TreeBounds { depth_max: 0, entries_max: 50_000 };

const TOOLS: ToolNames = &[
    ("bash", &["run_shell", "read_shell_output", "kill_shell"]),
    ("read", &["read_file"]),
    ("list", &["list_files"]),
    ("glob", &["glob"]),
    ("grep", &["search_files"]),
    ("write", &["write_file", "create_folder", "append_to_file"]),
    ("edit", &["edit_file", "apply_patch"]),
    ("patch", &["apply_patch"]),
    ("webfetch", &["web_fetch"]),
    ("todowrite", &["update_todo_list"]),
    ("todoread", &["update_todo_list"]),
    ("task", &["new_task"]),
];

/// What has no counterpart in its settings, and why.
const LEFT: &[(&str, &str)] = &[
    ("small_model", "which model helps is said here in [helpers]"),
    ("mode", "is not read: profiles say which tools an agent has (`weir profiles`)"),
    ("tools", "is not read: profiles say which tools an agent has (`weir profiles`)"),
    ("default_agent", "is chosen here with `weir config set profile`"),
    ("instructions", "is a list of files: name them with @ in AGENTS.md"),
    ("provider", "endpoints are declared here with [providers.NAME]"),
    ("disabled_providers", "a provider without a key is not used here"),
    ("enabled_providers", "a provider without a key is not used here"),
    ("plugin", "plugins are programs of that agent"),
    ("formatter", "is a hook here: PostToolUse with a command"),
    ("lsp", "no language servers are started here"),
    ("keybinds", LOOKS),
    ("theme", LOOKS),
    ("tui", LOOKS),
    ("layout", LOOKS),
    ("username", LOOKS),
    ("autoupdate", "updates are those of the package here"),
    ("share", "sessions are shared only by a person here"),
    ("snapshot", "what changes files is always checkpointed here"),
    ("compaction", "when the context is condensed is a setting of its own here"),
    ("watcher", "what is hidden stands in .weirignore here"),
    ("server", "is set up here with `weir serve`"),
    ("experimental", "is a switch of that program"),
    ("$schema", "is about the file itself"),
];
const LOOKS: &str = "how the terminal looks is not taken over";

fn read_opencode_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let own = places.home.join(".config/opencode");
    let ours = places.workspace.join(".opencode");
    for folder in [&own, places.workspace, &ours] {
        if *folder != own && is_same(folder, &own) {
            continue;
        }
        for name in ["opencode.json", "opencode.jsonc"] {
            if let Some(text) = ImportedFile::read_noted(&folder.join(name), places, found) {
                of_file(&text, places, found);
            }
        }
    }
    texts::collect_instructions(&own.join("AGENTS.md"), "opencode", places, found);
    of_folder(&own, places, found);
    if !is_same(&own, &ours) {
        of_folder(&ours, places, found);
    }
    let agents = places.workspace.join("AGENTS.md");
    texts::note_read_in_place(&agents, "instructions for this workspace", places, found);
    let data = places.home.join(".local/share/opencode");
    let keys = "keys are never imported; `weir auth set` keeps them";
    texts::note_left(&data.join("auth.json"), "keys", keys, places, found);
    // It has those of the files too, and what was said in them since.
    database::collect_sessions(&data, places, found);
    collect_sessions(&data.join("storage"), places, found);
}

/// Commands, agents and skills of a folder; each name is used with and without an s.
fn of_folder(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    for name in ["command", "commands"] {
        texts::collect_slash_commands(&folder.join(name), places, found);
    }
    for name in ["agent", "agents", "mode", "modes"] {
        collect_definitions(&folder.join(name), places, read_field, found);
    }
    for name in ["skill", "skills"] {
        collect_skills(&folder.join(name), places, found);
    }
    for name in ["plugin", "plugins", "tool", "tools"] {
        let why = "are programs of that agent; a hook or an MCP server does it here";
        texts::note_left(&folder.join(name), name, why, places, found);
    }
}

/// A field of a definition of an agent.
fn read_field(
    field: &MarkedField<'_>,
    agent: &mut AgentDefinition,
    places: &ImportPlaces<'_>,
) -> bool {
    match (field.key.as_str(), field.take_value()) {
        ("prompt", Value::String(text)) => agent.role = text.clone(),
        ("model", Value::String(model)) => agent.set_model(None, model, places),
        ("tools", Value::Object(tools)) => {
            let off = tools.iter().filter(|(_, on)| **on == Value::Bool(false));
            let off: Vec<String> = off.map(|(name, _)| name.clone()).collect();
            agent.deny_tools(&off, TOOLS);
        }
        // What it may not do is taken; what it may do more is judged here.
        ("permission", Value::Object(kinds)) => {
            let denied = kinds.iter().filter(|(_, word)| *word == "deny");
            // There one permission is for everything that changes files.
            let tools = denied.flat_map(|(kind, _)| match kind.as_str() {
                "edit" => vec!["edit".to_owned(), "write".to_owned(), "patch".to_owned()],
                kind => vec![kind.to_owned()],
            });
            agent.deny_tools(&tools.collect::<Vec<String>>(), TOOLS);
            agent.notes.push("of its permission only what is denied is taken over".into());
        }
        // Every profile can be spoken with and be a sub-agent.
        ("mode", Value::String(_)) => {}
        _ => return false,
    }
    true
}

fn of_file(text: &ImportedFile, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    for server in root.enter_key("mcp").map(|servers| servers.table_fields()).unwrap_or_default() {
        of_server(&server, places, found);
    }
    if let Some(permission) = root.enter_key("permission") {
        permission::collect_permissions(&permission, found);
    }
    if let Some(model) = root.enter_key("model")
        && let Some(name) = model.take_text()
    {
        put_model(&model, None, name, places.models, found);
    }
    for agent in root.enter_key("agent").map(|agents| agents.table_fields()).unwrap_or_default() {
        let mut definition =
            AgentDefinition { name: agent.key.clone(), ..AgentDefinition::default() };
        definition.read_fields(&agent, places, read_field);
        let (becomes, notes) = definition.into_mapping();
        agent.settle_value(format!("agent {}", agent.key), becomes, notes, found);
    }
    for command in
        root.enter_key("command").map(|commands| commands.table_fields()).unwrap_or_default()
    {
        put_command(&command, found);
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
}

/// `"name": {"template": "…", "description": "…"}`.
fn put_command(command: &MarkedField<'_>, found: &mut ImportFindings) {
    let value = command.take_value();
    let fields = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let notes = fields
        .filter(|name| !matches!(*name, "template" | "description"))
        .map(|name| format!("{name} is not taken over"));
    let slash = SlashCommand {
        description: text_at(value, "/description").to_owned(),
        body: format!("{}\n", text_at(value, "/template")),
        notes: notes.collect(),
    };
    let (says, becomes) = (format!("command /{}", command.key), slash.to_mapping(&command.key));
    command.settle_value(says, becomes, slash.notes, found);
}

fn of_server(server: &MarkedField<'_>, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let mut notes = Vec::new();
    let mut foreign = ImportedServer::default();
    let mut problem = None;
    // `{env:NAME}` is their word for `${NAME}`.
    let plain = |text: &str| text.replace("{env:", "${");
    let table = |value: &Value| text_table(value, plain);
    for (field, value) in server.take_value().as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("type", _) => {}
            ("command", Value::Array(words)) => {
                foreign.command = words.iter().filter_map(Value::as_str).map(plain).collect();
            }
            ("environment", value) => foreign.env = table(value),
            ("url", Value::String(url)) => foreign.url = plain(url),
            ("headers", value) => foreign.headers = table(value),
            ("enabled", Value::Bool(enabled)) => foreign.rest.enabled = *enabled,
            ("timeout", value) => {
                let ms = value.as_u64().filter(|ms| *ms > 0);
                foreign.rest.start_timeout = ms.map(|ms| TimeSpan { ms });
            }
            ("oauth", Value::Object(oauth)) => {
                let id = oauth.get("clientId").and_then(Value::as_str).unwrap_or_default();
                foreign.rest.oauth.client_id = plain(id);
                if oauth.get("clientSecret").is_some() {
                    notes.push("its client secret is not taken over: use [secrets.NAME]".into());
                }
                let scopes = oauth.get("scope").and_then(Value::as_str).unwrap_or_default();
                foreign.rest.oauth.scopes = scopes.split_whitespace().map(String::from).collect();
            }
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    let words = foreign.command.iter().chain(foreign.env.values()).chain(foreign.headers.values());
    if words.chain([&foreign.url]).any(|word| word.contains("{file:")) {
        problem =
            Some("takes a value from a file ({file:…}), which settings here do not".to_owned());
    }
    let becomes = match problem {
        Some(why) => ImportMapping::Nothing(why),
        None => {
            let (becomes, more) = map_server(&server.key, foreign, places.environment);
            notes.extend(more);
            becomes
        }
    };
    put_server(server, MappedServer { name: &server.key, becomes, notes }, places, found);
}

/// `session/PROJECT/ses_….json`, with `message/ses_…/msg_….json` and `part/msg_…/prt_….json`.
fn collect_sessions(storage: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    for path in list_history_files(&storage.join("session"), &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        file.fill_history(&mut history, |history, value| {
            history.head.title = text_at(value, "/title").to_owned();
            history.head.workspace = text_at(value, "/directory").to_owned();
            history.head.started = time_text(value.pointer("/time/created"));
            say_messages(&file.stem, storage, places, history);
        });
        file.add_history(history, found);
    }
}

/// The messages of a session in their order, each with its parts.
fn say_messages(
    session: &str,
    storage: &Path,
    places: &ImportPlaces<'_>,
    history: &mut ImportedHistory,
) {
    for message in files_of_session(&storage.join("message").join(session), history) {
        let Some(message) = values_of(&message, places) else { continue };
        let (role, id) = (text_at(&message, "/role"), text_at(&message, "/id"));
        let at = time_text(message.pointer("/time/created"));
        if !matches!(role, "user" | "assistant") || texts::file_name_problem(id).is_some() {
            continue;
        }
        for part in files_of_session(&storage.join("part").join(id), history) {
            if history.is_full() {
                return history.cut_rest();
            }
            let Some(part) = values_of(&part, places) else { continue };
            if part.get("synthetic") != Some(&Value::Bool(true)) {
                history.say_content(role, &Value::Array(vec![part]), &at);
            }
        }
    }
}

/// Files of messages or parts, by their names, which begin with when they were made.
fn files_of_session(folder: &Path, history: &mut ImportedHistory) -> Vec<PathBuf> {
    let listing = list_tree(folder, &OF_SESSION);
    if !listing.left.is_empty() {
        history.cut_rest();
    }
    let names = listing.names.into_iter().filter(|name| name.ends_with(".json"));
    names.map(|name| folder.join(name)).collect()
}

/// A small file of a session; what cannot be understood says nothing.
fn values_of(path: &Path, places: &ImportPlaces<'_>) -> Option<Value> {
    const BYTES_MAX: u64 = 4 << 20;
    let bytes = places.read_bytes(path, BYTES_MAX).ok()??;
    parse_bounded(std::str::from_utf8(&bytes).ok()?)
}

/// Milliseconds since 1970 as a time.
fn time_text(ms: Option<&Value>) -> String {
    let ms = ms.and_then(Value::as_i64);
    let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}
