//! Claude Code: `~/.claude.json`, `~/.claude` and the workspace's `.claude` and `CLAUDE.md`, and
//! what was said in its sessions. Not here: what Weir reads where it is, skills and a workspace's
//! agents.

use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::definitions::{AgentDefinition, collect_definitions};
use super::files::{ImportPlaces, ImportedFile, is_same};
use super::history::{HistoryFile, ImportedHistory, SessionFiles, list_history_files, text_at};
use super::hook::{HookDialect, collect_hooks};
use super::marked::{MarkedField, leave_known};
use super::model::put_model;
use super::server::{FOLDER_ONLY, ServerDialect, collect_servers};
use super::{ImportFindings, ImportMapping, ImportReader, ImportTarget, rules, skills, texts};
use crate::profiles::claude::{TOOLS, split_word_list};

pub(super) const READER: ImportReader = ImportReader {
    name: "claude-code",
    files: "~/.claude.json, ~/.claude, and .claude and CLAUDE.md of the workspace",
    read: read_claude_files,
};

/// Its names of tools in matchers of hooks, and ours.
const MATCHED: &[(&str, &str)] = &[
    ("Bash", "run_shell"),
    ("Read", "read_file"),
    ("Edit", "edit_file|apply_patch"),
    ("MultiEdit", "edit_file|apply_patch"),
    ("Write", "write_file|append_to_file"),
    ("Glob", "glob"),
    ("Grep", "search_files"),
    ("LS", "list_files"),
    ("WebFetch", "web_fetch"),
    ("TodoWrite", "update_todo_list"),
    ("Task", "new_task"),
    ("Agent", "new_task"),
];

/// Its events have the names that ours have.
pub(super) const HOOKS: HookDialect = HookDialect {
    events: &[],
    tools: MATCHED,
    per_second: 1,
    project_variable: "CLAUDE_PROJECT_DIR",
    beside_its_file: false,
    note: None,
};

const SERVERS: ServerDialect =
    ServerDialect { sse_addresses: false, to_variables: str::to_owned, note: None };

const SESSIONS: SessionFiles = SessionFiles { endings: &[".jsonl"], folder: None };

/// What has no counterpart in its settings, and why.
const LEFT: &[(&str, &str)] = &[
    ("env", "variables of the program are not settings here"),
    ("apiKeyHelper", "keys are kept with `weir auth set`"),
    ("enabledMcpjsonServers", PROJECT_SERVERS),
    ("disabledMcpjsonServers", PROJECT_SERVERS),
    ("enableAllProjectMcpServers", PROJECT_SERVERS),
    ("enabledPlugins", "plugins are installed with `weir plugins`"),
    ("extraKnownMarketplaces", "plugins are installed with `weir plugins`"),
    ("statusLine", "the status line is not a program's here"),
    ("outputStyle", "how the agent speaks is said in SOUL.md or in a profile"),
    ("cleanupPeriodDays", "sessions are kept here until you delete them"),
    ("includeCoAuthoredBy", "what a commit says stands in instructions here"),
    ("attribution", "what a commit says stands in instructions here"),
    ("sandbox", "the sandbox follows from the rules here: Edit(…) and Web(…)"),
    ("$schema", "is about the file itself"),
];
const PROJECT_SERVERS: &str =
    "servers of a workspace are accepted with `weir trust` and `weir mcp-servers`";

fn read_claude_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let (own, ours) = (places.home.join(".claude"), places.workspace.join(".claude"));
    if let Some(text) = ImportedFile::read_noted(&places.home.join(".claude.json"), places, found) {
        of_state(&text, places, found);
    }
    let of_user = own.join("settings.json");
    for path in [of_user.clone(), ours.join("settings.json"), ours.join("settings.local.json")] {
        if path != of_user && is_same(&path, &of_user) {
            continue;
        }
        if let Some(text) = ImportedFile::read_noted(&path, places, found) {
            of_settings(&text, places, found);
        }
    }
    texts::collect_instructions(&own.join("CLAUDE.md"), "claude-code", places, found);
    texts::collect_slash_commands(&own.join("commands"), places, found);
    collect_definitions(&own.join("agents"), places, read_field, found);
    skills::collect_shared_skills(&own.join("skills"), "skills", places, found);
    if !is_same(&own, &ours) {
        let mcp = places.workspace.join(crate::servers::FILE);
        for (path, says) in [
            (places.workspace.join("CLAUDE.md"), "instructions for this workspace"),
            (ours.join("commands"), "commands of the workspace"),
            (ours.join("agents"), "agents of the workspace"),
            (ours.join("skills"), "skills of the workspace"),
            (mcp, "servers of the workspace"),
        ] {
            texts::note_read_in_place(&path, says, places, found);
        }
    }
    for (name, says, why) in [
        ("plugins", "plugins", "plugins are installed with `weir plugins`"),
        ("output-styles", "output styles", "how the agent speaks is said in SOUL.md"),
        (".credentials.json", "keys", "keys are never imported; `weir auth set` keeps them"),
    ] {
        texts::note_left(&own.join(name), says, why, places, found);
    }
    collect_sessions(places, found);
}

/// A field of a definition of an agent.
fn read_field(
    field: &MarkedField<'_>,
    agent: &mut AgentDefinition,
    places: &ImportPlaces<'_>,
) -> bool {
    match (field.key.as_str(), field.take_value()) {
        ("tools", theirs) => agent.set_tools(theirs, TOOLS),
        ("disallowedTools", theirs) => agent.deny_tools(&split_word_list(theirs), TOOLS),
        ("model", Value::String(model)) => agent.set_model(None, model, places),
        _ => return false,
    }
    true
}

/// `~/.claude.json`: servers for everywhere, and those and the tools for this folder.
fn of_state(text: &ImportedFile, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    if let Some(servers) = root.enter_key("mcpServers") {
        collect_servers(&servers, &SERVERS, places, found);
    }
    let folder = places.workspace.display().to_string();
    let mut others = 0;
    for project in
        root.enter_key("projects").map(|projects| projects.table_fields()).unwrap_or_default()
    {
        if project.key != folder {
            project.take_value();
            others += 1;
            continue;
        }
        if let Some(servers) = project.enter_key("mcpServers") {
            let dialect = ServerDialect { note: Some(FOLDER_ONLY), ..SERVERS };
            collect_servers(&servers, &dialect, places, found);
        }
        for rule in project.enter_key("allowedTools").map(|r| r.take_texts()).unwrap_or_default() {
            put_rule(&rule, RuleAction::Allow, ImportTarget::Project, found);
        }
        leave_known(&project, LEFT, found);
    }
    if others > 0 {
        let says = format!("settings of other folders ({others})");
        let why = "are imported when you run this in those folders";
        found.leave_item(document.name.clone(), says, why, document.target);
    }
    let account = "who signs in there is not who signs in here: `weir auth set`";
    leave_known(&root, &[("oauthAccount", account), ("customApiKeyResponses", account)], found);
    document.leave_rest(found);
}

/// One file of settings: permissions and hooks.
fn of_settings(text: &ImportedFile, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    if let Some(permissions) = root.enter_key("permissions") {
        for (set, action) in
            [("deny", RuleAction::Deny), ("ask", RuleAction::Ask), ("allow", RuleAction::Allow)]
        {
            for rule in
                permissions.enter_key(set).map(|rules| rules.take_texts()).unwrap_or_default()
            {
                put_rule(&rule, action, document.target, found);
            }
        }
        if let Some(mode) = permissions.enter_key("defaultMode")
            && let Some(word) = mode.take_text()
        {
            mode.settle_value(format!("mode {word}"), of_mode(word), Vec::new(), found);
        }
        let folders = permissions.enter_key("additionalDirectories");
        for folder in folders.map(|folders| folders.take_texts()).unwrap_or_default() {
            let says = format!("folder {}", folder.take_text().unwrap_or_default());
            let why = "has no counterpart: add a rule Read(…) or Edit(…) for it";
            folder.settle_value(says, ImportMapping::Nothing(why.into()), Vec::new(), found);
        }
        let why = "the mode full is asked for each time here, and nothing switches it off";
        leave_known(&permissions, &[("disableBypassPermissionsMode", why)], found);
    }
    if let Some(model) = root.enter_key("model")
        && let Some(name) = model.take_text()
    {
        put_model(&model, None, name, places.models, found);
    }
    if let Some(hooks) = root.enter_key("hooks") {
        collect_hooks(&hooks, &HOOKS, found);
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
}

fn put_rule(
    field: &MarkedField<'_>,
    action: RuleAction,
    target: ImportTarget,
    found: &mut ImportFindings,
) {
    let Some(rule) = field.take_text() else { return };
    let base = (target == ImportTarget::User).then_some("~/.claude");
    let mapped = rules::map_claude_rule(action, rule, base);
    let about = rules::claude_rule_kind(rule);
    let says = format!("{action} {rule}");
    let foreign = rules::ForeignRule { action, says: &says, about };
    rules::put_rule(field, &foreign, mapped, found).target = target;
}

fn of_mode(mode: &str) -> ImportMapping {
    match mode {
        "default" => ImportMapping::Mode(PermissionMode::Ask),
        "acceptEdits" => ImportMapping::Mode(PermissionMode::AutoEdit),
        "plan" => ImportMapping::Mode(PermissionMode::Plan),
        "bypassPermissions" => ImportMapping::Mode(PermissionMode::Full),
        _ => ImportMapping::Nothing("is no mode that there is here".into()),
    }
}

/// `~/.claude/projects/FOLDER/ID.jsonl`.
fn collect_sessions(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let folder = places.home.join(".claude/projects");
    for path in list_history_files(&folder, &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        file.fill_history(&mut history, |history, value| {
            let (kind, at) = (text_at(value, "/type"), text_at(value, "/timestamp"));
            if history.head.workspace.is_empty() {
                history.head.workspace = text_at(value, "/cwd").to_owned();
            }
            match kind {
                "summary" => history.head.title = text_at(value, "/summary").to_owned(),
                // What the program says to the agent in the person's name is not what they said.
                "user" if value.get("isMeta") == Some(&Value::Bool(true)) => {}
                "user" | "assistant" => {
                    let content = value.pointer("/message/content").unwrap_or(&Value::Null);
                    history.say_content(kind, content, at);
                }
                _ => {}
            }
        });
        file.add_history(history, found);
    }
}
