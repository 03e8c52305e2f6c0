//! Claude Code: `~/.claude.json`, `~/.claude/settings.json`, and the workspace's
//! `.claude/settings.json` and `.claude/settings.local.json`.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::files::{ImportPlaces, ImportedFile, is_same};
use super::server::{ImportedServer, map_server};
use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget, rules, texts};
use crate::config::HookSettings;
use crate::duration::TimeSpan;

/// Names of its tools that matchers of hooks name, and ours.
const TOOLS: &[(&str, &str)] = &[
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

pub(super) fn read_claude_files(places: &ImportPlaces<'_>) -> Result<ImportFindings, String> {
    let mut found = ImportFindings::default();
    let state = places.home.join(".claude.json");
    if let Some(text) = ImportedFile::read_noted(&state, &mut found)? {
        of_state(&text, places, &mut found)?;
    }
    let of_user = places.home.join(".claude/settings.json");
    if let Some(text) = ImportedFile::read_noted(&of_user, &mut found)? {
        of_settings(&text, ImportTarget::User, &mut found)?;
    }
    for name in [".claude/settings.json", ".claude/settings.local.json"] {
        let path = places.workspace.join(name);
        if is_same(&path, &of_user) {
            continue;
        }
        if let Some(text) = ImportedFile::read_noted(&path, &mut found)? {
            of_settings(&text, ImportTarget::Project, &mut found)?;
        }
    }
    let own = places.home.join(".claude");
    texts::collect_instructions(&own.join("CLAUDE.md"), "claude-code", &mut found)?;
    texts::collect_slash_commands(&own.join("commands"), &mut found)?;
    texts::note_agent_definitions(&own.join("agents"), &mut found);
    let mcp = places.workspace.join(crate::servers::FILE);
    if mcp.is_file() {
        found.items.push(ImportItem {
            place: mcp.display().to_string(),
            says: "servers of the workspace".into(),
            becomes: ImportMapping::Nothing(
                "is read as it is, once you trust the workspace (`weir trust`)".into(),
            ),
            target: ImportTarget::Project,
            notes: Vec::new(),
        });
    }
    Ok(found)
}

/// `~/.claude.json`: servers for everywhere, and those and the tools for this folder.
fn of_state(
    text: &ImportedFile,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> Result<(), String> {
    let json = text.to_json()?;
    collect_claude_servers(text, &json, places, &[], found);
    let folder = places.workspace.display().to_string();
    let Some(project) = json.get("projects").and_then(|projects| projects.get(&folder)) else {
        return Ok(());
    };
    let note = ["it was for this folder only; here it holds everywhere".to_owned()];
    collect_claude_servers(text, project, places, &note, found);
    for rule in text_items(project.get("allowedTools")) {
        rule_item(text, RuleAction::Allow, rule, ImportTarget::Project, found);
    }
    Ok(())
}

fn collect_claude_servers(
    text: &ImportedFile,
    json: &Value,
    places: &ImportPlaces<'_>,
    notes: &[String],
    found: &mut ImportFindings,
) {
    for (name, value) in json.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        let (becomes, mut told) = match parse_claude_server(value) {
            Ok((foreign, mut told)) => {
                let (becomes, more) = map_server(name, foreign, places.environment);
                told.extend(more);
                (becomes, told)
            }
            Err(why) => (ImportMapping::Nothing(why), Vec::new()),
        };
        told.extend_from_slice(notes);
        let (place, says) = (text.place_of_quoted(name), format!("server {name}"));
        found.items.push(ImportItem {
            place,
            says,
            becomes,
            target: ImportTarget::User,
            notes: told,
        });
    }
}

/// A server in the shape of `.mcp.json`, and which of its fields are not known here.
fn parse_claude_server(value: &Value) -> Result<(ImportedServer, Vec<String>), String> {
    let fields = value.as_object().ok_or("is no object")?;
    let mut foreign = ImportedServer::default();
    let mut notes = Vec::new();
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("type", Value::String(kind)) if kind == "sse" => {
                return Err("uses the transport sse, which is gone from the protocol".into());
            }
            ("type", _) => {}
            ("command", Value::String(command)) => foreign.command.insert(0, command.clone()),
            ("args", Value::Array(_)) => {
                foreign.command.extend(text_items(Some(value)).map(String::from));
            }
            ("env", Value::Object(_)) => foreign.env = text_table(value),
            ("url", Value::String(url)) => foreign.url = url.clone(),
            ("headers", Value::Object(_)) => foreign.headers = text_table(value),
            ("timeout", Value::Number(ms)) => {
                let ms = ms.as_u64().filter(|ms| *ms > 0);
                foreign.rest.timeout = ms.map(|ms| TimeSpan { ms });
            }
            ("disabled", Value::Bool(disabled)) => foreign.rest.enabled = !disabled,
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    Ok((foreign, notes))
}

/// One file of settings: permissions and hooks.
fn of_settings(
    text: &ImportedFile,
    target: ImportTarget,
    found: &mut ImportFindings,
) -> Result<(), String> {
    let json = text.to_json()?;
    let permissions = json.get("permissions");
    for (set, action) in
        [("deny", RuleAction::Deny), ("ask", RuleAction::Ask), ("allow", RuleAction::Allow)]
    {
        for rule in text_items(permissions.and_then(|permissions| permissions.get(set))) {
            rule_item(text, action, rule, target, found);
        }
    }
    let mode = permissions.and_then(|permissions| permissions.get("defaultMode"));
    if let Some(mode) = mode.and_then(Value::as_str) {
        found.items.push(ImportItem {
            place: text.place_of_quoted("defaultMode"),
            says: format!("mode {mode}"),
            becomes: of_mode(mode),
            target,
            notes: Vec::new(),
        });
    }
    for folder in text_items(permissions.and_then(|p| p.get("additionalDirectories"))) {
        let why = "has no counterpart: add a rule Read(…) or Edit(…) for it";
        found.items.push(left_item(
            text.place_of_quoted(folder),
            format!("folder {folder}"),
            why,
            target,
        ));
    }
    for key in
        ["env", "enabledMcpjsonServers", "enableAllProjectMcpServers", "apiKeyHelper", "model"]
    {
        if json.get(key).is_some() {
            let why = match key {
                "env" => "variables of the program are not settings here",
                "model" => "its names are others here: `weir models`, then `weir config set model`",
                "apiKeyHelper" => "keys are kept with `weir auth set`",
                _ => "servers of a workspace are accepted with `weir trust` and `weir mcp-servers`",
            };
            found.items.push(left_item(text.place_of_quoted(key), key.to_owned(), why, target));
        }
    }
    collect_claude_hooks(text, json.get("hooks"), target, found);
    Ok(())
}

/// Something that is left.
fn left_item(place: String, says: String, why: &str, target: ImportTarget) -> ImportItem {
    ImportItem {
        place,
        says,
        becomes: ImportMapping::Nothing(why.to_owned()),
        target,
        notes: Vec::new(),
    }
}

fn rule_item(
    text: &ImportedFile,
    action: RuleAction,
    rule: &str,
    target: ImportTarget,
    found: &mut ImportFindings,
) {
    let base = (target == ImportTarget::User).then_some("~/.claude");
    let (becomes, notes) = match rules::map_claude_rule(action, rule, base) {
        Ok((here, notes)) => (ImportMapping::Rule(action, here), notes),
        Err(why) => (ImportMapping::Nothing(why), Vec::new()),
    };
    let (place, says) = (text.place_of_quoted(rule), format!("{action} {rule}"));
    found.items.push(ImportItem { place, says, becomes, target, notes });
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

/// `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`.
fn collect_claude_hooks(
    text: &ImportedFile,
    hooks: Option<&Value>,
    target: ImportTarget,
    found: &mut ImportFindings,
) {
    for (event, groups) in hooks.and_then(Value::as_object).into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
            for hook in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
                let (becomes, notes) = match hook_here(event, matcher, hook) {
                    Ok((settings, notes)) => (ImportMapping::Hook(event.clone(), settings), notes),
                    Err(why) => (ImportMapping::Nothing(why), Vec::new()),
                };
                let on = if matcher.is_empty() { String::new() } else { format!(" on {matcher}") };
                let says = format!("hook {event}{on}: {command}");
                found.items.push(ImportItem {
                    place: text.place_of_quoted(command),
                    says,
                    becomes,
                    target,
                    notes,
                });
            }
        }
    }
}

fn hook_here(
    event: &str,
    matcher: &str,
    hook: &Value,
) -> Result<(HookSettings, Vec<String>), String> {
    let is_command = hook.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "command");
    let command = hook.get("command").and_then(Value::as_str).filter(|_| is_command);
    let command = command.ok_or("is no command, and only commands are hooks here")?;
    for variable in ["CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE"] {
        if command.contains(variable) {
            return Err(format!("needs the variable {variable}, which is not set here"));
        }
    }
    let command = command.replace("CLAUDE_PROJECT_DIR", "WEIR_PROJECT_DIR");
    let about_tools = matches!(event, "PreToolUse" | "PostToolUse");
    let matcher = match about_tools {
        true => matcher_here(matcher)?,
        false if matches!(matcher, "" | "*") => String::new(),
        false => return Err(format!("has a matcher, and {event} is about no tool here")),
    };
    let timeout = hook.get("timeout").and_then(Value::as_u64).unwrap_or(60);
    let timeout = u32::try_from(timeout).unwrap_or(u32::MAX);
    let mut notes = Vec::new();
    if about_tools {
        notes.push("it is told the names of our tools and their arguments".to_owned());
    }
    let settings = HookSettings { matcher, command, timeout, on_failure: None };
    Ok((settings, notes))
}

/// A list of names with `|` between, in our names.
fn matcher_here(matcher: &str) -> Result<String, String> {
    if matches!(matcher, "" | "*" | ".*") {
        return Ok(String::new());
    }
    let names = matcher.split('|').map(|name| {
        let known = TOOLS.iter().find(|(theirs, _)| *theirs == name.trim());
        known.map(|(_, ours)| *ours).ok_or_else(|| {
            format!("has the matcher {matcher:?}, and {name:?} is no name that is known here")
        })
    });
    let mut names: Vec<&str> = names.collect::<Result<_, String>>()?;
    names.dedup();
    Ok(names.join("|"))
}

fn text_items(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn text_table(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    fields.map(|(name, value)| (name.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_matchers_of_hooks_name_our_tools() {
        for (theirs, ours) in [
            ("", ""),
            ("*", ""),
            ("Bash", "run_shell"),
            ("Edit|MultiEdit|Write", "edit_file|apply_patch|write_file|append_to_file"),
        ] {
            assert_eq!(matcher_here(theirs).as_deref(), Ok(ours));
        }
        assert!(matcher_here("Notebook.*").is_err(), "a pattern is not guessed at");
        assert!(matcher_here("Bash|mcp__x__y").is_err());
    }
}
