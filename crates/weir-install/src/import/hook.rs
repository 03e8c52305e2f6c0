//! Hooks of other agents as ours: the name of the event, a matcher that is a list of known tools,
//! and the command. Whatever a hook is for, a person says yes to it: it is a program that would run.
//! Not here: where each agent keeps its hooks.

use serde_json::Value;

use super::marked::MarkedField;
use super::{ImportFindings, ImportMapping, ImportTarget};
use crate::config::{HookSettings, OnFailure};

/// How another agent writes hooks down.
pub(super) struct HookDialect {
    /// Their events, and ours; an event that is missing is left.
    pub(super) events: &'static [(&'static str, &'static str)],
    /// Their names of tools, and ours.
    pub(super) tools: &'static [(&'static str, &'static str)],
    /// How many of their units of time are a second.
    pub(super) per_second: u64,
    /// Their variable for the folder of the project.
    pub(super) project_variable: &'static str,
    /// A relative path in a person's own file is one beside that file: here hooks run in the
    /// workspace, whose file of that name is somebody else's.
    pub(super) beside_its_file: bool,
    /// What is not the same for each of them.
    pub(super) note: Option<&'static str>,
}

/// `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}`.
pub(super) fn collect_hooks(
    hooks: &MarkedField<'_>,
    dialect: &HookDialect,
    found: &mut ImportFindings,
) {
    for event in hooks.table_fields() {
        for group in event.list_entries() {
            let matcher = group.enter_key("matcher").and_then(|field| field.take_text());
            let matcher = matcher.unwrap_or_default();
            if let Some(sequential) = group.enter_key("sequential") {
                sequential.take_value();
            }
            for hook in
                group.enter_key("hooks").map(|hooks| hooks.list_entries()).unwrap_or_default()
            {
                put_hook(&hook, &event.key, matcher, dialect, found);
            }
        }
    }
}

/// One hook for an event of theirs.
pub(super) fn put_hook(
    hook: &MarkedField<'_>,
    event: &str,
    matcher: &str,
    dialect: &HookDialect,
    found: &mut ImportFindings,
) {
    let command = hook.enter_key("command").and_then(|field| field.take_text()).unwrap_or_default();
    let value = hook.take_value();
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_relative = first.contains('/') && !first.starts_with(['/', '~', '$', '"', '\'']);
    let made = match dialect.beside_its_file
        && hook.import_target() == ImportTarget::User
        && is_relative
    {
        true => Err(format!(
            "runs {first} beside its file, and here hooks run in the workspace: write the full path"
        )),
        false => hook_here(event, matcher, value, dialect),
    };
    let (becomes, notes) = match made {
        Ok((event, settings, notes)) => (ImportMapping::Hook(event, settings), notes),
        Err(why) => (ImportMapping::Nothing(why), Vec::new()),
    };
    let on = if matcher.is_empty() { String::new() } else { format!(" on {matcher}") };
    hook.settle_value(format!("hook {event}{on}: {command}"), becomes, notes, found);
}

fn hook_here(
    event: &str,
    matcher: &str,
    hook: &Value,
    dialect: &HookDialect,
) -> Result<(String, HookSettings, Vec<String>), String> {
    let ours = dialect.events.iter().find(|(theirs, _)| *theirs == event);
    let ours = ours.map_or(event, |(_, ours)| *ours);
    // An event that stands for one kind of tool: `PreToolUse run_shell`.
    let (ours, tools) = ours.split_once(' ').unwrap_or((ours, ""));
    let is_command = hook.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "command");
    let command = hook.get("command").and_then(Value::as_str).filter(|_| is_command);
    let command = command.ok_or("is no command, and only commands are hooks here")?;
    for variable in ["PLUGIN_ROOT", "CLAUDE_ENV_FILE", "extensionPath"] {
        if command.contains(variable) {
            return Err(format!("needs the variable {variable}, which is not set here"));
        }
    }
    let command = match dialect.project_variable {
        "" => command.to_owned(),
        variable => command.replace(variable, "WEIR_PROJECT_DIR"),
    };
    let about_tools = matches!(ours, "PreToolUse" | "PostToolUse");
    let matcher = match (about_tools, tools) {
        (true, "") => matcher_here(matcher, dialect.tools)?,
        (_, tools) if matches!(matcher, "" | "*") => tools.to_owned(),
        (true, _) => return Err(format!("has a matcher, and {event} is about one tool here")),
        (false, _) => return Err(format!("has a matcher, and {event} is about no tool here")),
    };
    let timeout = hook.get("timeout").and_then(Value::as_u64);
    let timeout = timeout.map_or(60, |units| units.div_ceil(dialect.per_second.max(1)));
    let timeout = u32::try_from(timeout).unwrap_or(u32::MAX);
    let blocks = hook.get("failClosed").and_then(Value::as_bool) == Some(true)
        || hook.get("on_failure").and_then(Value::as_str) == Some("block");
    let mut notes: Vec<String> = dialect.note.map(str::to_owned).into_iter().collect();
    if about_tools {
        notes.push("it is told the names of our tools and their arguments".to_owned());
    }
    const KNOWN: [&str; 8] = [
        "type",
        "command",
        "timeout",
        "failClosed",
        "on_failure",
        "name",
        "description",
        "matcher",
    ];
    let fields = hook.as_object().into_iter().flatten().map(|(name, _)| name);
    notes.extend(
        fields
            .filter(|name| !KNOWN.contains(&name.as_str()))
            .map(|name| format!("{name} is not taken over")),
    );
    let on_failure = blocks.then_some(OnFailure::Block);
    Ok((ours.to_owned(), HookSettings { matcher, command, timeout, on_failure }, notes))
}

/// A list of names with `|` between, in our names.
fn matcher_here(matcher: &str, tools: &[(&str, &str)]) -> Result<String, String> {
    if matches!(matcher, "" | "*" | ".*") {
        return Ok(String::new());
    }
    let names = matcher.split('|').map(|name| {
        let known = tools.iter().find(|(theirs, _)| *theirs == name.trim());
        known.map(|(_, ours)| *ours).ok_or_else(|| {
            format!("has the matcher {matcher:?}, and {name:?} is no name that is known here")
        })
    });
    let mut names: Vec<&str> = names.collect::<Result<_, String>>()?;
    names.dedup();
    Ok(names.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_matchers_of_hooks_name_our_tools() {
        let tools = [
            ("Bash", "run_shell"),
            ("Edit", "edit_file|apply_patch"),
            ("MultiEdit", "edit_file|apply_patch"),
            ("Write", "write_file|append_to_file"),
        ];
        for (theirs, ours) in [
            ("", ""),
            ("*", ""),
            ("Bash", "run_shell"),
            ("Edit|MultiEdit|Write", "edit_file|apply_patch|write_file|append_to_file"),
        ] {
            assert_eq!(matcher_here(theirs, &tools).as_deref(), Ok(ours));
        }
        assert!(matcher_here("Notebook.*", &tools).is_err(), "a pattern is not guessed at");
        assert!(matcher_here("Bash|mcp__x__y", &tools).is_err());
    }
}
