//! Gemini CLI: `~/.gemini` and the workspace's `.gemini` with settings, commands, agents, skills,
//! policies and extensions, `GEMINI.md`, and what was said in its sessions. Not here: its words for
//! what may pass (`policy`), and how its commands and extensions are written (`extension`).

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::definitions::{AgentDefinition, ToolNames, collect_definitions};
use super::files::{ImportPlaces, ImportedFile, is_same, list_files};
use super::history::{HistoryFile, ImportedHistory, SessionFiles, list_history_files, text_at};
use super::hook::{HookDialect, collect_hooks};
use super::marked::{MarkedDocument, MarkedField, leave_known};
use super::model::put_model;
use super::server::{ServerDialect, collect_servers};
use super::skills::collect_skills;
use super::{ImportFindings, ImportMapping, ImportReader, ImportTarget, texts};

mod extension;
mod policy;

pub(super) const READER: ImportReader = ImportReader {
    name: "gemini-cli",
    files: "~/.gemini, and .gemini and GEMINI.md of the workspace",
    read: read_gemini_files,
};

const SESSIONS: SessionFiles =
    SessionFiles { endings: &[".json", ".jsonl"], folder: Some("chats") };

const TOOLS: ToolNames = &[
    ("run_shell_command", &["run_shell", "read_shell_output", "kill_shell"]),
    ("read_file", &["read_file"]),
    ("read_many_files", &["read_file"]),
    ("list_directory", &["list_files"]),
    ("glob", &["glob"]),
    ("grep_search", &["search_files"]),
    ("search_file_content", &["search_files"]),
    ("write_file", &["write_file", "create_folder"]),
    ("replace", &["edit_file", "apply_patch"]),
    ("web_fetch", &["web_fetch"]),
    ("write_todos", &["update_todo_list"]),
];

const HOOKS: HookDialect = HookDialect {
    events: &[
        ("BeforeTool", "PreToolUse"),
        ("AfterTool", "PostToolUse"),
        ("BeforeAgent", "UserPromptSubmit"),
        ("AfterAgent", "Stop"),
        ("PreCompress", "PreCompact"),
    ],
    tools: &[
        ("run_shell_command", "run_shell"),
        ("read_file", "read_file"),
        ("list_directory", "list_files"),
        ("glob", "glob"),
        ("grep_search", "search_files"),
        ("search_file_content", "search_files"),
        ("write_file", "write_file|append_to_file"),
        ("replace", "edit_file|apply_patch"),
        ("web_fetch", "web_fetch"),
    ],
    per_second: 1_000,
    project_variable: "GEMINI_PROJECT_DIR",
    beside_its_file: false,
    note: Some("of its answers, deny is understood; changed arguments and results are not"),
};

const SERVERS: ServerDialect = ServerDialect { sse_addresses: true, to_variables, note: None };

/// What has no counterpart in its settings, and why.
const LEFT: &[(&str, &str)] = &[
    ("general.vimMode", LOOKS),
    ("general.preferredEditor", LOOKS),
    ("general.checkpointing", "what changes files is always checkpointed here"),
    ("general.sessionRetention", "sessions are kept here until you delete them"),
    ("general.disableAutoUpdate", LOOKS),
    ("general.previewFeatures", "is a switch of that program"),
    ("ui", LOOKS),
    ("ide", "editors speak to Weir by `weir acp`"),
    ("privacy", "nothing is sent to anybody here"),
    ("telemetry", "where traces go is said here with the usual OTEL variables"),
    ("model.maxSessionTurns", "is a limit here: `weir config set limits.max_iterations`"),
    ("model.compressionThreshold", "when the context is condensed is a setting of its own here"),
    ("model.chatCompression", "when the context is condensed is a setting of its own here"),
    ("context.includeDirectories", "add a rule Read(…) or Edit(…) for each folder"),
    ("context.fileFiltering", "what is hidden stands in .weirignore here"),
    ("tools.core", "which tools an agent has is said by profiles (`weir profiles`)"),
    ("tools.sandbox", "commands are confined here; `weir doctor` says how"),
    ("tools.discoveryCommand", "tools come from MCP servers here"),
    ("tools.callCommand", "tools come from MCP servers here"),
    ("tools.shell", LOOKS),
    ("mcp.serverCommand", "servers are declared one by one here"),
    ("mcp.allowed", "servers are approved one by one here: `weir mcp-servers approve`"),
    ("mcp.excluded", "do not approve these here, or disable them: `weir mcp-servers`"),
    ("security.auth", "keys are kept with `weir auth set`"),
    ("security.folderTrust", "trust is given here with `weir trust`"),
    ("security.disableYoloMode", "the mode full is asked for each time here"),
    ("advanced", "is about that program"),
    ("experimental", "is a switch of that program"),
    ("extensions", "plugins are installed with `weir plugins`"),
    ("selectedAuthType", "keys are kept with `weir auth set`"),
    ("theme", LOOKS),
    ("$schema", "is about the file itself"),
];
const LOOKS: &str = "how the terminal looks is not taken over";

fn read_gemini_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let (own, ours) = (places.home.join(".gemini"), places.workspace.join(".gemini"));
    let own_names = of_folder(&own, places, found);
    let mut names = own_names.clone();
    if !is_same(&own, &ours) {
        names.extend(of_folder(&ours, places, found));
    }
    collect_named_instructions(&own, &own_names, places, found);
    collect_named_instructions(places.workspace, &names, places, found);
    extension::collect_extensions(&own.join("extensions"), places, found);
    for (name, says) in [("oauth_creds.json", "keys"), ("google_accounts.json", "accounts")] {
        let why = "keys are never imported; `weir auth set` keeps them";
        texts::note_left(&own.join(name), says, why, places, found);
    }
    let trust = "trust is given here with `weir trust`, for the files as they are";
    texts::note_left(&own.join("trustedFolders.json"), "trusted folders", trust, places, found);
    collect_sessions(places, found);
}

/// Files of instructions beside each other. A workspace's settings never name files of the person's
/// own folder: what would be read there is told to a model, and may be keys.
fn collect_named_instructions(
    folder: &Path,
    names: &BTreeSet<String>,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let usual = BTreeSet::from(["GEMINI.md".to_owned()]);
    let names = if names.is_empty() { &usual } else { names };
    for name in names {
        let rule = match name.as_str() {
            "GEMINI.md" => "gemini-cli".to_owned(),
            other => format!("gemini-cli-{}", other.trim_end_matches(".md").to_lowercase()),
        };
        let path = folder.join(name);
        match (name.as_str(), places.target_of(&path)) {
            ("AGENTS.md" | "CLAUDE.md", ImportTarget::Project) => {
                let says = "instructions for this workspace";
                texts::note_read_in_place(&path, says, places, found);
            }
            _ => texts::collect_instructions(&path, &rule, places, found),
        }
    }
}

/// Why a name that settings say is no file of instructions: others may hold keys.
fn instruction_name_problem(name: &str) -> Option<&'static str> {
    if name.contains('/') {
        return Some("leads to another folder; only files beside the others are read");
    }
    let is_plain = name.ends_with(".md") && texts::file_name_problem(name).is_none();
    (!is_plain).then_some("is no plain file of instructions: only names that end with .md are read")
}

/// One folder with everything in it; the names of files of instructions that its settings say.
fn of_folder(
    folder: &Path,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(text) = ImportedFile::read_noted(&folder.join("settings.json"), places, found)
        && let Some(document) = text.to_json(found)
    {
        names = of_settings(&document, places, found);
    }
    extension::collect_commands(&folder.join("commands"), places, found);
    collect_definitions(&folder.join("agents"), places, read_field, found);
    collect_skills(&folder.join("skills"), places, found);
    let policies = folder.join("policies");
    for name in list_files(&policies, &[".toml"], places, found) {
        let path = policies.join(&name);
        let text = ImportedFile::read_noted(&path, places, found);
        let Some(document) = text.and_then(|text| text.to_toml(found)) else {
            // What it denies cannot be known.
            found.unsaid.add_denial("*", &path.display().to_string());
            continue;
        };
        let rules = document.root_field().enter_key("rule");
        for rule in rules.map(|rules| rules.list_entries()).unwrap_or_default() {
            policy::put_policy(&rule, found);
        }
        document.leave_rest(found);
    }
    names
}

fn of_settings(
    document: &MarkedDocument,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> BTreeSet<String> {
    let root = document.root_field();
    if let Some(servers) = root.enter_key("mcpServers") {
        collect_servers(&servers, &SERVERS, places, found);
    }
    for (path, action) in [
        (&["tools", "exclude"][..], RuleAction::Deny),
        (&["excludeTools"], RuleAction::Deny),
        (&["tools", "allowed"], RuleAction::Allow),
        (&["allowedTools"], RuleAction::Allow),
    ] {
        for tool in root.field_at(path).map(|tools| tools.take_texts()).unwrap_or_default() {
            let Some(text) = tool.take_text() else { continue };
            policy::put_tool_rule(&tool, action, text, found);
        }
    }
    if let Some(mode) = root.field_at(&["general", "defaultApprovalMode"])
        && let Some(word) = mode.take_text()
    {
        let becomes = match word {
            "default" => ImportMapping::Mode(PermissionMode::Ask),
            "auto_edit" => ImportMapping::Mode(PermissionMode::AutoEdit),
            "plan" => ImportMapping::Mode(PermissionMode::Plan),
            "yolo" => ImportMapping::Mode(PermissionMode::Full),
            _ => ImportMapping::Nothing("is no mode that there is here".into()),
        };
        mode.settle_value(format!("mode {word}"), becomes, Vec::new(), found);
    }
    // `model` is a name in the older form, and a table in the newer.
    let model = root.enter_key("model");
    let named = model.as_ref().and_then(|model| model.enter_key("name")).or(model);
    if let Some(model) = named
        && let Some(name) = model.take_text()
    {
        put_model(&model, Some("gemini"), name, places.models, found);
    }
    if let Some(hooks) = root.enter_key("hooks") {
        collect_hooks(&hooks, &HOOKS, found);
    }
    let mut names = BTreeSet::new();
    for path in [&["context", "fileName"][..], &["contextFileName"]] {
        for name in root.field_at(path).map(|names| names.take_texts()).unwrap_or_default() {
            let Some(text) = name.take_text() else { continue };
            match instruction_name_problem(text) {
                None => drop(names.insert(text.to_owned())),
                Some(why) => {
                    let becomes = ImportMapping::Nothing(why.to_owned());
                    name.settle_value(format!("instructions {text}"), becomes, Vec::new(), found);
                }
            }
        }
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
    names
}

/// A field of a definition of an agent.
fn read_field(
    field: &MarkedField<'_>,
    agent: &mut AgentDefinition,
    places: &ImportPlaces<'_>,
) -> bool {
    match (field.key.as_str(), field.take_value()) {
        ("tools", theirs) => agent.set_tools(theirs, TOOLS),
        ("model", Value::String(model)) => agent.set_model(Some("gemini"), model, places),
        ("kind", Value::String(kind)) if kind == "local" => {}
        _ => return false,
    }
    true
}

/// `$NAME` is `${NAME}`.
fn to_variables(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let name: String =
            after.chars().take_while(|sign| sign.is_ascii_alphanumeric() || *sign == '_').collect();
        out.push_str(&rest[..at]);
        match name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            true => out.push_str(&format!("${{{name}}}")),
            false => out.push_str(&format!("${name}")),
        }
        rest = &after[name.len()..];
    }
    out.push_str(rest);
    out
}

/// `~/.gemini/tmp/PROJECT/chats/session-….json`, and `.jsonl` of newer ones.
fn collect_sessions(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let folder = places.home.join(".gemini/tmp");
    for path in list_history_files(&folder, &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        let mut is_first = true;
        file.fill_history(&mut history, |history, value| {
            if std::mem::take(&mut is_first) {
                if !text_at(value, "/sessionId").is_empty() {
                    history.set_id(text_at(value, "/sessionId"));
                }
                history.head.started = text_at(value, "/startTime").to_owned();
            }
            match value.get("messages").and_then(Value::as_array) {
                Some(messages) => messages.iter().for_each(|one| say_message(one, history)),
                None => say_message(value, history),
            }
        });
        file.add_history(history, found);
    }
}

fn say_message(message: &Value, history: &mut ImportedHistory) {
    let at = text_at(message, "/timestamp");
    let role = match text_at(message, "/type") {
        "user" => "user",
        "gemini" => "assistant",
        _ => return,
    };
    history.say_content(role, message.get("content").unwrap_or(&Value::Null), at);
    let calls = message.get("toolCalls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        history.add_line("tool", text_at(call, "/name"), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_only_plain_files_of_instructions_are_named_by_settings() {
        for (name, is_plain) in [
            ("GEMINI.md", true),
            ("TEAM.md", true),
            (".env", false),
            ("oauth_creds.json", false),
            (".hidden.md", false),
            ("keys/all.md", false),
            ("../.ssh/x.md", false),
            ("/etc/x.md", false),
            ("a\\b.md", false),
            ("", false),
        ] {
            assert_eq!(instruction_name_problem(name).is_none(), is_plain, "{name}");
        }
    }

    #[test]
    fn r8_gemini_variables_are_written_as_ours() {
        for (theirs, ours) in [
            ("$HOME/x", "${HOME}/x"),
            ("${HOME}/x", "${HOME}/x"),
            ("Bearer $A_B", "Bearer ${A_B}"),
            ("5$ and $1", "5$ and $1"),
            ("ä$", "ä$"),
        ] {
            assert_eq!(to_variables(theirs), ours);
        }
    }
}
