//! Cursor: `~/.cursor` and the workspace's `.cursor` with MCP servers, rules, commands, agents,
//! skills, hooks, permissions and the settings of its command line, `.cursorrules`, and the
//! transcripts of its agents. Rules of the person are kept by the editor and cannot be read.

use std::path::Path;

use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::definitions::{AgentDefinition, ToolNames, collect_definitions};
use super::files::{ImportPlaces, ImportedFile, is_same, list_files};
use super::history::{HistoryFile, ImportedHistory, SessionFiles, list_history_files, text_at};
use super::hook::{HookDialect, put_hook};
use super::listing::{TreeBounds, list_tree};
use super::marked::{MarkedField, NameForm, leave_known};
use super::model::put_model;
use super::server::{ServerDialect, collect_servers, name_here};
use super::skills::{ImportedSkillFile, collect_skills};
use super::texts::SlashCommand;
use super::{ImportFindings, ImportMapping, ImportReader, rules, texts};

pub(super) const READER: ImportReader = ImportReader {
    name: "cursor",
    files: "~/.cursor, and .cursor and .cursorrules of the workspace",
    read: read_cursor_files,
};

const TOOLS: ToolNames = &[
    ("Shell", &["run_shell", "read_shell_output", "kill_shell"]),
    ("Read", &["read_file", "list_files"]),
    ("Grep", &["search_files"]),
    ("Write", &["write_file", "edit_file", "apply_patch"]),
];

const HOOKS: HookDialect = HookDialect {
    events: &[
        ("preToolUse", "PreToolUse"),
        ("postToolUse", "PostToolUse"),
        ("beforeShellExecution", "PreToolUse run_shell"),
        ("afterShellExecution", "PostToolUse run_shell"),
        ("beforeReadFile", "PreToolUse read_file"),
        ("afterFileEdit", "PostToolUse write_file|edit_file|apply_patch|append_to_file"),
        ("beforeSubmitPrompt", "UserPromptSubmit"),
        ("stop", "Stop"),
        ("subagentStop", "SubagentStop"),
        ("sessionStart", "SessionStart"),
        ("sessionEnd", "SessionEnd"),
        ("preCompact", "PreCompact"),
    ],
    tools: &[
        ("Shell", "run_shell"),
        ("Read", "read_file"),
        ("Write", "write_file|edit_file|apply_patch|append_to_file"),
        ("Grep", "search_files"),
        ("Task", "new_task"),
    ],
    per_second: 1,
    project_variable: "CURSOR_PROJECT_DIR",
    beside_its_file: true,
    note: Some(
        "it gets other fields on standard input here, and of its answers only exit status 2 stops \
         a call (docs/hooks.md): try it before you rely on it",
    ),
};

const SERVERS: ServerDialect = ServerDialect { sse_addresses: false, to_variables, note: None };

/// What has no counterpart in the settings of its command line, and why.
const LEFT: &[(&str, &str)] = &[
    ("version", "is about the file itself"),
    ("editor", LOOKS),
    ("display", LOOKS),
    ("notifications", LOOKS),
    ("channel", "updates are those of the package here"),
    ("authInfo", "keys are kept with `weir auth set`"),
    ("privacyCache", "is about that program"),
    ("hasChangedDefaultModel", "is about that program"),
    ("maxMode", "how much a model thinks is set here with `weir config set thinking`"),
    ("network", "is about that program"),
    ("sandbox", "commands are confined here; `weir doctor` says how"),
    ("attribution", "what a commit says stands in instructions here"),
    ("webFetchDomainAllowlist", "write Web(HOST) with `weir permissions add allow`"),
    ("$schema", "is about the file itself"),
];
const TRANSCRIPTS: &str = "agent-transcripts";
const SESSIONS: SessionFiles = SessionFiles { endings: &[".jsonl"], folder: Some(TRANSCRIPTS) };
const OLDER: TreeBounds = TreeBounds { depth_max: 6, entries_max: 50_000 };
const LOOKS: &str = "how the terminal looks is not taken over";
/// The editor's own database, below the folder of programs' data.
const EDITOR: &str = "Cursor/User/globalStorage/state.vscdb";
const IN_EDITOR: &str = "are in a database whose format the editor does not document; only \
                         transcripts in files (~/.cursor/projects) are read";

fn read_cursor_files(places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let (own, ours) = (places.home.join(".cursor"), places.workspace.join(".cursor"));
    of_folder(&own, places, found);
    if !is_same(&own, &ours) {
        of_folder(&ours, places, found);
    }
    let older = places.workspace.join(".cursorrules");
    texts::collect_instructions(&older, "cursorrules", places, found);
    let agents = places.workspace.join("AGENTS.md");
    texts::note_read_in_place(&agents, "instructions for this workspace", places, found);
    for (path, says, why) in [
        (
            own.join("chats"),
            "chats in databases",
            "are databases whose format that program does not document; only transcripts in files \
             (projects/) are read",
        ),
        (places.home.join(".config").join(EDITOR), "chats in the editor", IN_EDITOR),
        (
            places.home.join("Library/Application Support").join(EDITOR),
            "chats in the editor",
            IN_EDITOR,
        ),
        (own.join("extensions"), "extensions", "are those of the editor"),
        (places.workspace.join(".cursorignore"), ".cursorignore", "copy it to .weirignore"),
    ] {
        texts::note_left(&path, says, why, places, found);
    }
    collect_sessions(&own.join("projects"), places, found);
}

/// `~/.cursor`, or `.cursor` of the workspace.
fn of_folder(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    if let Some(text) = ImportedFile::read_noted(&folder.join("mcp.json"), places, found)
        && let Some(document) = text.to_json(found)
    {
        if let Some(servers) = document.root_field().enter_key("mcpServers") {
            collect_servers(&servers, &SERVERS, places, found);
        }
        document.leave_rest(found);
    }
    for name in ["cli-config.json", "cli.json"] {
        if let Some(text) = ImportedFile::read_noted(&folder.join(name), places, found) {
            of_settings(&text, places, found);
        }
    }
    if let Some(text) = ImportedFile::read_noted(&folder.join("permissions.json"), places, found) {
        of_allowlists(&text, found);
    }
    if let Some(text) = ImportedFile::read_noted(&folder.join("hooks.json"), places, found) {
        of_hooks(&text, found);
    }
    let rules = folder.join("rules");
    for name in list_files(&rules, &[".mdc", ".md"], places, found) {
        if let Some(text) = ImportedFile::read_noted(&rules.join(&name), places, found) {
            put_rule_file(&text, &name, found);
        }
    }
    texts::collect_slash_commands(&folder.join("commands"), places, found);
    collect_definitions(&folder.join("agents"), places, read_field, found);
    collect_skills(&folder.join("skills"), places, found);
}

/// A rule: one for always is a rule here, one for files says for which, one with a description is a
/// skill, and one that is only called by its name is a command.
fn put_rule_file(text: &ImportedFile, name: &str, found: &mut ImportFindings) {
    let (head, body) = texts::split_head(&text.text);
    let document = text.mark_values(Value::Object(head), NameForm::Bare);
    let root = document.root_field();
    let taken = |key: &str| root.enter_key(key).map(|field| field.take_value().clone());
    let always = taken("alwaysApply") == Some(Value::Bool(true));
    let description = match taken("description") {
        Some(Value::String(line)) => line.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    let globs = match taken("globs") {
        Some(Value::String(globs)) => globs,
        Some(Value::Array(globs)) => {
            globs.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace('/', "-");
    let says = format!("rule {stem}");
    if let Some(why) = texts::file_name_problem(&stem) {
        found.leave_item(text.name.clone(), says, &why, text.target);
    } else if always || name.ends_with(".md") {
        texts::put_instructions(text, &says, &format!("rules/{stem}.md"), body.to_owned(), found);
    } else if !globs.trim().is_empty() {
        let body = format!("For files that match {}:\n\n{}", globs.trim(), body.trim_start());
        let below = format!("rules/{stem}.md");
        let note = "it is told always here, and says itself for which files it is";
        texts::put_instructions(text, &says, &below, body, found).notes.push(note.to_owned());
    } else if !description.is_empty() && !body.trim().is_empty() {
        let head = format!("---\nname: {stem}\ndescription: {}\n---\n", Value::from(description));
        let bytes = format!("{head}{body}").into_bytes();
        let problem = weir_engine::skills::parse_skill(&bytes, &stem);
        let becomes = match problem.findings.iter().find(|finding| finding.fatal) {
            None => {
                ImportMapping::Skill(stem, vec![ImportedSkillFile::plain_file("SKILL.md", bytes)])
            }
            Some(finding) => {
                let why = format!("as a skill its {} {}", finding.field, finding.wrong);
                ImportMapping::Nothing(why)
            }
        };
        found.add_item(text.name.clone(), says, becomes, text.target);
    } else {
        let note = "it is only read when it is named: here by typing its name as a command";
        let (body, notes) = (body.to_owned(), vec![note.to_owned()]);
        let command = SlashCommand { body, notes, ..SlashCommand::default() };
        texts::put_command(text, &stem, command, found);
    }
    document.leave_rest(found);
}

/// A field of a definition of an agent.
fn read_field(
    field: &MarkedField<'_>,
    agent: &mut AgentDefinition,
    places: &ImportPlaces<'_>,
) -> bool {
    match (field.key.as_str(), field.take_value()) {
        ("model", Value::String(model)) => agent.set_model(None, model, places),
        ("readonly", Value::Bool(reads_only)) => agent.reads_only = *reads_only,
        ("tools", theirs) => agent.set_tools(theirs, TOOLS),
        _ => return false,
    }
    true
}

/// Settings of the command line.
fn of_settings(text: &ImportedFile, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    for (set, action) in [("deny", RuleAction::Deny), ("allow", RuleAction::Allow)] {
        for rule in root.field_at(&["permissions", set]).map(|r| r.take_texts()).unwrap_or_default()
        {
            let Some(text) = rule.take_text() else { continue };
            let says = format!("{action} {text}");
            let about = rule_kind(text);
            let foreign = rules::ForeignRule { action, says: &says, about: about.as_deref() };
            rules::put_rule(&rule, &foreign, rule_here(action, text), found);
        }
    }
    if let Some(mode) = root.enter_key("approvalMode")
        && let Some(word) = mode.take_text()
    {
        let becomes = match word {
            "allowlist" => ImportMapping::Mode(PermissionMode::Ask),
            "unrestricted" => ImportMapping::Mode(PermissionMode::Full),
            _ => ImportMapping::Nothing("is no mode that there is here".into()),
        };
        mode.settle_value(format!("mode {word}"), becomes, Vec::new(), found);
    }
    if let Some(model) = root.enter_key("model") {
        let named = model.enter_key("modelId").unwrap_or(model);
        if let Some(name) = named.take_text() {
            put_model(&named, None, name, places.models, found);
        }
    }
    if let Some(model) = root.enter_key("model") {
        for key in ["displayModelId", "displayName", "displayNameShort", "aliases", "maxMode"] {
            if let Some(field) = model.enter_key(key) {
                field.take_value();
            }
        }
    }
    leave_known(&root, LEFT, found);
    document.leave_rest(found);
}

/// What a rule that cannot be said is about.
fn rule_kind(text: &str) -> Option<String> {
    match text.trim().split('(').next().unwrap_or_default() {
        "Shell" => Some("Shell".to_owned()),
        "Read" => Some("Read".to_owned()),
        "Write" => Some("Edit".to_owned()),
        "WebFetch" => Some("Web".to_owned()),
        // Which servers and tools, as far as it says.
        "Mcp" => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// `Shell(git)`, `Shell(curl:*)`, `Read(src/**)`, `Write(…)`, `WebFetch(host)`, `Mcp(server:tool)`.
fn rule_here(action: RuleAction, text: &str) -> rules::MappedRule {
    let (kind, rest) = text.trim().split_once('(').ok_or("has no parenthesis")?;
    let inner = rest.strip_suffix(')').ok_or("has no closing parenthesis")?.trim();
    match kind {
        "Shell" if matches!(inner, "*" | "**" | "") => Ok(("Shell".into(), Vec::new())),
        "Shell" => match inner.strip_suffix(":*").unwrap_or(inner) {
            words if words.contains([':', '*']) => {
                rules::wild_command(action, &words.replacen(':', " ", 1))
            }
            words => Ok((format!("Shell({words}:*)"), Vec::new())),
        },
        "Read" => Ok((format!("Read({inner})"), Vec::new())),
        "Write" => Ok((format!("Edit({inner})"), Vec::new())),
        "WebFetch" if inner == "*" => Ok(("Web".into(), Vec::new())),
        "WebFetch" => Ok(rules::map_web_host(inner)),
        "Mcp" => match inner.split_once(':') {
            Some(("*", "*")) => Ok(("Mcp".into(), Vec::new())),
            Some(("*", _)) => Err("is about the tools of every server".into()),
            _ if inner.split(':').next().is_some_and(|server| server.contains('*')) => {
                Err("is about the tools of several servers".into())
            }
            Some((server, tool)) => Ok((format!("Mcp({}:{tool})", name_here(server)), Vec::new())),
            None => Ok((format!("Mcp({}:*)", name_here(inner)), Vec::new())),
        },
        _ => Err(format!("is about {kind}, which is no kind of rule here")),
    }
}

/// Lists of what runs without a question.
fn of_allowlists(text: &ImportedFile, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    for (key, kind) in [("terminalAllowlist", "Shell"), ("mcpAllowlist", "Mcp")] {
        for entry in root.enter_key(key).map(|entries| entries.take_texts()).unwrap_or_default() {
            let Some(word) = entry.take_text() else { continue };
            let (says, action) = (format!("allow {kind} {word}"), RuleAction::Allow);
            let mapped = rule_here(action, &format!("{kind}({word})"));
            let foreign = rules::ForeignRule { action, says: &says, about: None };
            rules::put_rule(&entry, &foreign, mapped, found);
        }
    }
    let why = "is guidance for a judge; here that is said in [helpers] and instructions";
    leave_known(&root, &[("autoRun", why)], found);
    document.leave_rest(found);
}

/// `{"version": 1, "hooks": {"afterFileEdit": [{"command": "…"}]}}`.
fn of_hooks(text: &ImportedFile, found: &mut ImportFindings) {
    let Some(document) = text.to_json(found) else { return };
    let root = document.root_field();
    for event in root.enter_key("hooks").map(|hooks| hooks.table_fields()).unwrap_or_default() {
        for hook in event.list_entries() {
            let matcher = hook.enter_key("matcher").and_then(|field| field.take_text());
            put_hook(&hook, &event.key, matcher.unwrap_or_default(), &HOOKS, found);
        }
    }
    for key in ["version", "$schema"] {
        if let Some(field) = root.enter_key(key) {
            field.take_value();
        }
    }
    document.leave_rest(found);
}

/// `${env:NAME}` is `${NAME}`; the editor's own words for folders have no value here.
fn to_variables(text: &str) -> String {
    text.replace("${env:", "${").replace("${userHome}", "${HOME}").replace("${/}", "/")
}

/// `projects/FOLDER/agent-transcripts/ID.jsonl`, in newer ones within a folder of the id.
fn collect_sessions(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    for path in list_history_files(folder, &SESSIONS, places, found) {
        let Some(file) = HistoryFile::read_noted(&path, places, found) else { continue };
        let mut history = ImportedHistory::new(READER.name, &file.stem, &file.name);
        file.fill_history(&mut history, |history, value| {
            let role = text_at(value, "/role");
            if matches!(role, "user" | "assistant") {
                let content = value.pointer("/message/content").unwrap_or(&Value::Null);
                history.say_content(role, content, text_at(value, "/timestamp"));
            }
        });
        file.add_history(history, found);
    }
    for name in list_tree(folder, &OLDER).names {
        if name.ends_with(".txt") && name.split('/').any(|part| part == TRANSCRIPTS) {
            let why = "is an older transcript without structure; it can be read where it is";
            texts::note_left(&folder.join(name), "session", why, places, found);
        }
    }
}
