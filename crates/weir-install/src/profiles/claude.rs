//! Agents of `.claude/agents` as profiles: their names of tools are translated, what has no
//! counterpart here is noted.

use serde_json::{Map, Value, json};

/// Their tools and ours. What is not here has no counterpart.
pub(crate) const TOOLS: &[(&str, &[&str])] = &[
    ("Read", &["read_file", "list_files"]),
    ("LS", &["list_files"]),
    ("Grep", &["search_files"]),
    ("Glob", &["glob"]),
    ("Write", &["write_file", "create_folder"]),
    ("Edit", &["edit_file", "apply_patch"]),
    ("MultiEdit", &["edit_file", "apply_patch"]),
    ("Bash", &["run_shell", "read_shell_output", "kill_shell"]),
    ("BashOutput", &["read_shell_output"]),
    ("KillShell", &["kill_shell"]),
    ("WebFetch", &["web_fetch"]),
    ("TodoWrite", &["update_todo_list"]),
];

/// Tools without which no agent can talk or end.
pub(crate) const ALWAYS: [&str; 2] = ["attempt_completion", "ask_followup_question"];

/// The fields of a profile.
pub(super) fn translate_agent_fields(
    fields: Map<String, Value>,
    notes: &mut Vec<String>,
) -> Map<String, Value> {
    let mut profile = Map::new();
    for (name, value) in fields {
        match name.as_str() {
            "name" | "description" => {
                profile.insert(name, value);
            }
            "tools" => {
                let mut ours: Vec<Value> = ALWAYS.iter().map(|tool| json!(tool)).collect();
                for theirs in split_word_list(&value) {
                    match TOOLS.iter().find(|(known, _)| *known == theirs) {
                        Some((_, names)) => ours.extend(names.iter().map(|tool| json!(tool))),
                        None => notes.push(format!("its tool {theirs} has no counterpart here")),
                    }
                }
                // Only the named ones: no group brings more.
                profile.insert("groups".into(), json!([]));
                profile.insert("tools".into(), Value::Array(ours));
            }
            // A bare word (sonnet, inherit) names no provider.
            "model" if value.as_str().is_some_and(|model| model.contains('/')) => {
                profile.insert(name, value);
            }
            other => notes.push(format!("its field {other} has no effect here")),
        }
    }
    profile
}

/// A list, or words with commas between.
pub(crate) fn split_word_list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(String::from).collect(),
        other => {
            let text = other.as_str().unwrap_or_default();
            text.split(',').map(|w| w.trim().to_owned()).filter(|w| !w.is_empty()).collect()
        }
    }
}
