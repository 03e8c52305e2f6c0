//! Codex: `~/.codex` with `config.toml`, `AGENTS.md`, prompts, agents, skills, rules and hooks, the
//! same of a workspace's `.codex`, and what was said in its sessions.

use std::path::Path;

use serde_json::Value;
use weir_core::profile::PermissionMode;

use super::command_rules::collect_command_rules;
use super::definitions::{AgentDefinition, put_definition};
use super::files::{ImportPlaces, ImportedFile, is_same, list_files};
use super::history::{HistoryFile, ImportedHistory, SessionFiles, list_history_files, text_at};
use super::hook::collect_hooks;
use super::marked::{MarkedField, leave_known};
use super::model::put_model;
use super::server::{ImportedServer, MappedServer, map_server, put_server, text_table};
use super::skills::{collect_shared_skills, collect_skills};
use super::{ImportFindings, ImportMapping, ImportReader, claude, texts};
use crate::duration::TimeSpan;

pub(super) const READER: ImportReader = ImportReader {
    name: "codex",
    files: "~/.codex, and .codex of the workspace",
    read: read_codex_files,
};

const SESSIONS: SessionFiles = SessionFiles { endings: &[".jsonl"], folder: None };

/// What has no counterpart in its settings, and why.
const LEFT: &[(&str, &str)] = &[
    ("projects", "trust is given here with `weir trust`, for the files as they are"),
    ("sandbox_workspace_write", "the sandbox follows from the rules here: Edit(…) and Web(…)"),
    ("shell_environment_policy", "commands see no keys here; `weir doctor` says what they see"),
    ("profiles", "are sets of settings; profiles here say what an agent is (`weir profiles`)"),
    ("profile", "is a set of settings; profiles here say what an agent is (`weir profiles`)"),
    ("model_providers", "endpoints are declared here with [providers.NAME]"),
    ("notify", "is a program that is told at the end of a turn; here it is a hook for Stop"),
    ("history", "sessions are kept here until you delete them"),
    ("tui", "how the terminal looks is not taken over"),
    ("features", "are switches of that program"),
    ("plugins", "plugins are installed with `weir plugins`"),
    ("marketplaces", "plugins are installed with `weir plugins`"),
    ("otel", "where traces go is said here with the usual OTEL variables"),
    ("hide_agent_reasoning", "how the terminal looks is not taken over"),
    ("file_opener", "how the terminal looks is not taken over"),
    ("web_search", "the search is set up here in [web]"),
    ("tools", "which tools an agent has is said by profiles (`weir profiles`)"),
    ("project_doc_max_bytes", "the bound of instructions is a setting of its own here"),
    ("project_doc_fallback_filenames", "instructions here are AGENTS.md and CLAUDE.md"),
    ("model_reasoning_summary", "what a model thinks is shown here where it can be"),
    ("model_verbosity", "has no counterpart"),
    ("model_context_window", "windows are data of the model here: [models.\"NAME\"]"),
    ("preferred_auth_method", "keys are kept with `weir auth set`"),
];

fn read_codex_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let (own, ours) = (places.home.join(".codex"), places.workspace.join(".codex"));
    of_folder(&own, places, found);
    texts::collect_instructions(&own.join("AGENTS.md"), "codex", places, found);
    texts::collect_slash_commands(&own.join("prompts"), places, found);
    if !is_same(&own, &ours) {
        of_folder(&ours, places, found);
    }
    let agents = places.workspace.join("AGENTS.md");
    texts::note_read_in_place(&agents, "instructions for this workspace", places, found);
    let shared = places.home.join(".agents/skills");
    collect_shared_skills(&shared, "shared skills", places, found);
    let keys = "keys are never imported; `weir auth set` keeps them";
    texts::note_left(&own.join("auth.json"), "keys", keys, places, found);
    let typed = "is what was typed, without the answers: the sessions have it too";
    texts::note_left(&own.join("history.jsonl"), "what was typed", typed, places, found);
    for sessions in ["sessions", "archived_sessions"] {
        collect_sessions(&own.join(sessions), places, found);
    }
}

/// `~/.codex`, or `.codex` of the workspace.
fn of_folder(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    if let Some(text) = ImportedFile::read_noted(&folder.join("config.toml"), places, found) {
        of_config(&text, places, found);
    }
    if let Some(text) = ImportedFile::read_noted(&folder.join("hooks.json"), places, found)
        && let Some(document) = text.to_json(found)
    {
        if let Some(hooks) = document.root_field().enter_key("hooks") {
            collect_hooks(&hooks, &claude::HOOKS, found);
        }
        document.leave_rest(found);
    }
    let agents = folder.join("agents");
    for name in list_files(&agents, &[".toml"], places, found) {
        let path = agents.join(&name);
        let Some(text) = ImportedFile::read_noted(&path, places, found) else { continue };
        let Some(document) = text.to_toml(found) else { continue };
        let name = name.trim_end_matches(".toml").replace('/', "-");
        let definition = AgentDefinition { name, ..AgentDefinition::default() };
        put_definition(&document, definition, places, read_field, found);
    }
    let rules = folder.join("rules");
    for name in list_files(&rules, &[".rules"], places, found) {
        let path = rules.join(&name);
        match ImportedFile::read_noted(&path, places, found) {
            Some(text) => collect_command_rules(&text, found),
            // What it forbids cannot be known.
            None => found.unsaid.add_denial("Shell", &path.display().to_string()),
        }
    }
    collect_skills(&folder.join("skills"), places, found);
}

/// A field of a definition of an agent.
fn read_field(
    field: &MarkedField<'_>,
    agent: &mut AgentDefinition,
    places: &ImportPlaces<'_>,
) -> bool {
    match (field.key.as_str(), field.take_value()) {
        ("developer_instructions", Value::String(text)) => agent.role = text.clone(),
        ("model", Value::String(model)) => agent.set_model(Some("openai"), model, places),
        ("sandbox_mode", Value::String(mode)) if mode == "read-only" => agent.reads_only = true,
        _ => return false,
    }
    true
}

fn of_config(text: &ImportedFile, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let Some(document) = text.to_toml(found) else { return };
    let root = document.root_field();
    push_permission_mode(&root, found);
    for server in
        root.enter_key("mcp_servers").map(|servers| servers.table_fields()).unwrap_or_default()
    {
        of_server(&server, places, found);
    }
    let provider = root.enter_key("model_provider").and_then(|field| field.take_text());
    if let Some(model) = root.enter_key("model")
        && let Some(name) = model.take_text()
    {
        let vendor = provider.unwrap_or("openai");
        put_model(&model, Some(vendor), name, places.models, found);
    }
    if let Some(effort) = root.enter_key("model_reasoning_effort")
        && let Some(level) = effort.take_text()
    {
        effort.leave_value(&format!("{level} is set here with `weir config set thinking`"), found);
    }
    if let Some(hooks) = root.enter_key("hooks") {
        collect_hooks(&hooks, &claude::HOOKS, found);
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
}

/// `approval_policy` and `sandbox_mode` together are a permission mode.
fn push_permission_mode(config: &MarkedField<'_>, found: &mut ImportFindings) {
    let fields = ["approval_policy", "sandbox_mode"].map(|key| config.enter_key(key));
    let words = fields.each_ref().map(|field| field.as_ref().and_then(|field| field.take_text()));
    let Some(first) = fields.iter().flatten().next() else { return };
    let said = ["approval_policy", "sandbox_mode"].into_iter().zip(words);
    let says = said.filter_map(|(key, value)| Some(format!("{key} = {}", value?)));
    let says = says.collect::<Vec<_>>().join(", ");
    if says.is_empty() {
        return;
    }
    let (becomes, notes) = mode_here(words[0], words[1]);
    first.settle_value(says, becomes, notes, found);
}

fn mode_here(approval: Option<&str>, sandbox: Option<&str>) -> (ImportMapping, Vec<String>) {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    let asks_nobody = "what would ask there fails there; here a person is asked";
    let (mode, note) = match (approval, sandbox) {
        (Some("never"), Some("danger-full-access")) => (Full, None),
        (Some("never"), Some("read-only")) => (Plan, None),
        (Some("never"), Some("workspace-write")) => (AutoEdit, Some(asks_nobody)),
        (Some("untrusted"), _) => (Ask, None),
        (Some("on-request" | "on-failure") | None, Some("workspace-write")) => (AutoEdit, None),
        (Some("on-request" | "on-failure") | None, Some("read-only")) => (Ask, None),
        (Some("on-request" | "on-failure") | None, Some("danger-full-access")) => {
            (AutoEdit, Some("commands keep asking here"))
        }
        (Some("on-request" | "on-failure" | "never"), None) => {
            let why = "says nothing of what may be changed; the mode stays as it is";
            return (ImportMapping::Nothing(why.into()), Vec::new());
        }
        _ => return (ImportMapping::Nothing("is no value that is known here".into()), Vec::new()),
    };
    (ImportMapping::Mode(mode), note.map(str::to_owned).into_iter().collect())
}

fn of_server(server: &MarkedField<'_>, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let mut notes = Vec::new();
    let mut foreign = ImportedServer::default();
    let table = |value: &Value| text_table(value, str::to_owned);
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from).collect()
    };
    let span = |value: &Value| {
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds < 86_400.0)?;
        Some(TimeSpan { ms: (seconds * 1_000.0) as u64 })
    };
    for (field, value) in server.take_value().as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("command", Value::String(command)) => foreign.command.insert(0, command.clone()),
            ("args", value) => foreign.command.extend(texts(value)),
            ("env", value) => foreign.env = table(value),
            ("env_vars", value) => {
                let variables = texts(value).into_iter();
                foreign.env.extend(variables.map(|name| (name.clone(), format!("${{{name}}}"))));
            }
            ("cwd", Value::String(cwd)) => foreign.rest.cwd = cwd.clone(),
            ("url", Value::String(url)) => foreign.url = url.clone(),
            ("http_headers", value) => foreign.headers.extend(table(value)),
            ("env_http_headers", value) => {
                let headers = table(value).into_iter();
                foreign.headers.extend(headers.map(|(h, name)| (h, format!("${{{name}}}"))));
            }
            ("bearer_token_env_var", Value::String(name)) => {
                foreign.headers.insert("Authorization".into(), format!("Bearer ${{{name}}}"));
            }
            ("enabled", Value::Bool(enabled)) => foreign.rest.enabled = *enabled,
            ("tool_timeout_sec", value) => foreign.rest.timeout = span(value),
            ("startup_timeout_sec", value) => foreign.rest.start_timeout = span(value),
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    let (becomes, more) = map_server(&server.key, foreign, places.environment);
    notes.extend(more);
    put_server(server, MappedServer { name: &server.key, becomes, notes }, places, found);
}

/// `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`.
fn collect_sessions(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    for path in list_history_files(folder, &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        if let Some(meta) = file.find_value(|value| text_at(value, "/type") == "session_meta") {
            let id = text_at(&meta, "/payload/id");
            if !id.is_empty() {
                history.set_id(id);
            }
            history.head.workspace = text_at(&meta, "/payload/cwd").to_owned();
            history.head.started = text_at(&meta, "/payload/timestamp").to_owned();
        }
        file.fill_history(&mut history, |history, value| {
            if text_at(value, "/type") != "response_item" {
                return;
            }
            let at = text_at(value, "/timestamp");
            match (text_at(value, "/payload/type"), text_at(value, "/payload/role")) {
                ("message", role @ ("user" | "assistant")) => {
                    let content = value.pointer("/payload/content").unwrap_or(&Value::Null);
                    history.say_content(role, content, at);
                }
                ("function_call" | "custom_tool_call", _) => {
                    history.add_line("tool", text_at(value, "/payload/name"), at);
                }
                ("local_shell_call", _) => history.add_line("tool", "local_shell", at),
                _ => {}
            }
        });
        file.add_history(history, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_codexs_two_settings_are_one_mode() {
        use PermissionMode::{Ask, AutoEdit, Full, Plan};
        for (approval, sandbox, mode) in [
            (Some("never"), Some("danger-full-access"), Some(Full)),
            (Some("never"), Some("workspace-write"), Some(AutoEdit)),
            (Some("never"), Some("read-only"), Some(Plan)),
            (Some("on-request"), Some("workspace-write"), Some(AutoEdit)),
            (Some("on-request"), Some("read-only"), Some(Ask)),
            (Some("untrusted"), Some("danger-full-access"), Some(Ask)),
            (Some("untrusted"), None, Some(Ask)),
            (None, Some("danger-full-access"), Some(AutoEdit)),
            (Some("never"), None, None),
            (Some("sometimes"), Some("read-only"), None),
        ] {
            let here = match mode_here(approval, sandbox).0 {
                ImportMapping::Mode(mode) => Some(mode),
                _ => None,
            };
            assert_eq!(here, mode, "{approval:?} {sandbox:?}");
        }
    }
}
