//! Gemini CLI's words for what may pass: tools of its settings and rules of its policies. A denial or
//! question that cannot be said here is noted, so that nothing it may be about is allowed. Not here:
//! where they stand.

use serde_json::Value;
use weir_core::governance::rules::RuleAction;

use super::super::ImportFindings;
use super::super::history::text_at;
use super::super::marked::MarkedField;
use super::super::rules::{ForeignRule, MappedRule, put_rule};
use super::super::server::name_here;

/// `run_shell_command(git status)`, `read_file`, `mcp__server__tool` of its settings.
pub(super) fn put_tool_rule(
    field: &MarkedField<'_>,
    action: RuleAction,
    text: &str,
    found: &mut ImportFindings,
) {
    let (tool, specifier) = match text.split_once('(') {
        Some((tool, rest)) => {
            let rest = rest.trim_end();
            (tool.trim(), rest.strip_suffix(')').unwrap_or(rest).trim())
        }
        None => (text.trim(), ""),
    };
    let mapped = tool_rule(action, tool, specifier);
    let says = format!("{action} {text}");
    put_rule(field, &ForeignRule { action, says: &says, about: tool_kind(tool) }, mapped, found);
}

/// The kind of rule here that is about a tool.
fn tool_kind(tool: &str) -> Option<&'static str> {
    match tool {
        all if all.is_empty() || all == "*" => Some("*"),
        "run_shell_command" | "ShellTool" => Some("Shell"),
        "write_file" | "replace" | "WriteFileTool" | "EditTool" => Some("Edit"),
        "web_fetch" | "google_web_search" | "WebFetchTool" => Some("Web"),
        mcp if mcp.starts_with("mcp_") || mcp.contains("__") => Some("Mcp"),
        wide if wide.contains('*') => Some("*"),
        _ => None,
    }
}

fn tool_rule(action: RuleAction, tool: &str, specifier: &str) -> MappedRule {
    let allows = action == RuleAction::Allow;
    let rule = match (tool, specifier) {
        ("run_shell_command" | "ShellTool", "") => "Shell".to_owned(),
        ("run_shell_command" | "ShellTool", words) if words.contains('*') => {
            return Err("has * within the command; here a rule knows whole words".into());
        }
        ("run_shell_command" | "ShellTool", words) => format!("Shell({words}:*)"),
        (_, words) if allows && !words.is_empty() => {
            return Err("says more of the call than a rule for this tool can here".into());
        }
        ("write_file" | "replace" | "WriteFileTool" | "EditTool", _) => match allows {
            true => "Edit(**)".to_owned(),
            false => "Edit".to_owned(),
        },
        ("web_fetch" | "google_web_search" | "WebFetchTool", _) => "Web".to_owned(),
        ("read_file" | "read_many_files" | "glob" | "list_directory" | "grep_search", _) => {
            return Err(match action {
                RuleAction::Deny => "is about a tool that only looks: deny a path, Read(…)".into(),
                RuleAction::Allow | RuleAction::Ask => "only looks: it needs no rule here".into(),
            });
        }
        // `mcp__server__tool`, in older files `server__tool`.
        (mcp, _) if mcp.starts_with("mcp_") || mcp.contains("__") => {
            let rest = mcp.strip_prefix("mcp_").map_or(mcp, |rest| rest.trim_start_matches('_'));
            let named = rest.split_once("__");
            let (server, tool) = named.ok_or("does not say where the name of the server ends")?;
            return server_rule(action, server, tool);
        }
        (tool, _) => return Err(format!("is about {tool}, which is no tool here")),
    };
    Ok((rule, Vec::new()))
}

/// A rule about a tool of a server, or all of them.
fn server_rule(action: RuleAction, server: &str, tool: &str) -> MappedRule {
    let tool = if tool.is_empty() { "*" } else { tool };
    match (server, tool) {
        ("*", "*") => Ok(("Mcp".to_owned(), Vec::new())),
        (server, _) if server.contains('*') => {
            Err("is about the tools of several servers; here a rule names one".into())
        }
        (_, tool) if tool != "*" && tool.contains('*') => {
            Err("has a pattern within the name of a tool".into())
        }
        // Two servers may be called the same here: what is allowed of one is not of the other.
        (server, _) if action == RuleAction::Allow && name_here(server) != server => {
            Err(format!("is about {server}, which has another name here"))
        }
        _ => Ok((format!("Mcp({}:{tool})", name_here(server)), Vec::new())),
    }
}

/// A rule of its policies. There the priority decides; here deny beats ask beats allow, so no more
/// passes than there.
pub(super) fn put_policy(rule: &MarkedField<'_>, found: &mut ImportFindings) {
    let value = rule.take_value();
    let [tools, prefixes, servers] =
        ["toolName", "commandPrefix", "mcpName"].map(|key| texts_of(value, key));
    let decision = text_at(value, "/decision");
    let action = match decision {
        "allow" => Some(RuleAction::Allow),
        "deny" => Some(RuleAction::Deny),
        "ask_user" => Some(RuleAction::Ask),
        _ => None,
    };
    let problem = policy_problem(value)
        .or_else(|| action.is_none().then(|| "is no decision that is known here".to_owned()));
    // A decision that is not known may be one that lets less pass.
    let action = action.unwrap_or(RuleAction::Deny);
    let mut put = |says: &str, mapped: MappedRule, about: Option<&str>| {
        let mapped = match &problem {
            Some(why) => Err(why.clone()),
            None => mapped,
        };
        let says = format!("{decision} {says}");
        put_rule(rule, &ForeignRule { action, says: &says, about }, mapped, found);
    };
    let all = [""];
    let tools = if tools.is_empty() && !servers.is_empty() { &all[..] } else { &tools[..] };
    for server in &servers {
        for &tool in tools {
            let tool = if tool.is_empty() { "*" } else { tool };
            // As it is called here, so that it is held against what is allowed here.
            let here = if server.contains('*') { (*server).to_owned() } else { name_here(server) };
            let about = format!("Mcp({here}:{tool})");
            put(&format!("{server} {tool}"), server_rule(action, server, tool), Some(&about));
        }
    }
    for tool in tools.iter().filter(|_| servers.is_empty()) {
        let about = tool_kind(tool);
        if prefixes.is_empty() {
            put(tool, tool_rule(action, tool, ""), about);
        }
        for prefix in prefixes.iter().map(|prefix| prefix.trim()) {
            let mapped = match prefix.is_empty() {
                true => Err("has an empty commandPrefix".to_owned()),
                false => tool_rule(action, tool, prefix),
            };
            put(&format!("{tool}({prefix})"), mapped, about);
        }
    }
    if tools.is_empty() {
        put("a rule", Err("names no tool".to_owned()), Some("*"));
    }
}

/// The texts of a key, or its one text.
fn texts_of<'a>(policy: &'a Value, key: &str) -> Vec<&'a str> {
    match policy.get(key) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(value) => value.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// What of a policy no rule here has. A key that is not known may narrow it.
fn policy_problem(policy: &Value) -> Option<String> {
    const TEXTS: [&str; 3] = ["toolName", "commandPrefix", "mcpName"];
    const OTHERS: [&str; 6] = [
        "decision",
        "priority",
        "denyMessage",
        "deny_message",
        "allowRedirection",
        "allow_redirection",
    ];
    let is_text = |value: &Value| match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_string),
        value => value.is_string(),
    };
    policy.as_object().into_iter().flatten().find_map(|(key, value)| {
        match (TEXTS.contains(&key.as_str()), OTHERS.contains(&key.as_str())) {
            (true, _) if is_text(value) => None,
            (true, _) => Some(format!("has a {key} that is no text")),
            (false, true) => None,
            (false, false) => Some(format!("has {key}, which no rule here has")),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::marked::{MarkedDocument, NameForm};
    use super::super::super::{ImportMapping, ImportTarget};
    use super::*;

    fn told(rules: &Value) -> (Vec<String>, ImportFindings) {
        let root = json!({"rule": rules});
        let document = MarkedDocument::new(
            "f".into(),
            String::new(),
            NameForm::Bare,
            root,
            ImportTarget::User,
        );
        let mut found = ImportFindings::default();
        let rules = document.root_field().enter_key("rule").expect("rules");
        rules.list_entries().iter().for_each(|rule| put_policy(rule, &mut found));
        let told = |item: &super::super::super::ImportItem| match &item.becomes {
            ImportMapping::Rule(action, rule) => format!("{action} {rule}"),
            other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
        };
        (found.items.iter().map(told).collect(), found)
    }

    #[test]
    fn r8_policies_of_servers_deny_every_tool_that_they_name() {
        let (told, found) = told(&json!([
            {"mcpName": "hub", "toolName": ["delete", "drop"], "decision": "deny"},
            {"mcpName": ["a", "b"], "decision": "ask_user"},
            {"mcpName": "*", "decision": "deny"},
            {"mcpName": "my server", "toolName": "x", "decision": "allow"},
            {"mcpName": "my server", "toolName": "x", "decision": "deny"},
            {"toolName": ["hub__delete", "mcp__hub__drop"], "decision": "deny"},
        ]));
        assert_eq!(
            told,
            [
                "deny Mcp(hub:delete)",
                "deny Mcp(hub:drop)",
                "ask Mcp(a:*)",
                "ask Mcp(b:*)",
                "deny Mcp",
                "Nothing",
                "deny Mcp(my-server:x)",
                "deny Mcp(hub:delete)",
                "deny Mcp(hub:drop)",
            ]
        );
        assert!(found.unsaid.denial_against("Mcp(hub:x)").is_none());
    }

    #[test]
    fn r8_what_a_policy_denies_in_other_words_is_not_allowed() {
        for (rule, against, other) in [
            (
                json!({"toolName": "run_shell_command", "commandRegex": "^x", "decision": "deny"}),
                "Shell(git:*)",
                "Edit(**)",
            ),
            (
                json!({"toolName": "replace", "modes": ["plan"], "decision": "ask_user"}),
                "Edit(**)",
                "Shell(ls:*)",
            ),
            (
                json!({"mcpName": "*", "toolName": "delete", "decision": "deny"}),
                "Mcp(hub:*)",
                "Mcp(hub:search)",
            ),
            (
                json!({"toolName": "run_shell_command", "commandPrefix": "a*", "decision": "deny"}),
                "Shell(git:*)",
                "Web",
            ),
            (
                json!({"toolName": "run_shell_command", "decision": "perhaps"}),
                "Shell(git:*)",
                "Web",
            ),
            (
                json!({"mcpName": "my hub", "toolName": "get_*", "decision": "deny"}),
                "Mcp(my-hub:get_all)",
                "Mcp(hub:get_all)",
            ),
            (json!({"toolName": "mcp_hub_x", "decision": "deny"}), "Mcp(hub:x)", "Shell"),
            (json!({"toolName": "*", "decision": "deny"}), "Web(docs.rs)", ""),
            (json!({"toolName": 5, "decision": "deny"}), "Web(docs.rs)", ""),
        ] {
            let (told, found) = told(&json!([rule]));
            assert_eq!(told, ["Nothing"], "{rule}");
            assert!(found.unsaid.denial_against(against).is_some(), "{rule}");
            let is_wide = other.is_empty();
            assert_eq!(found.unsaid.denial_against(other).is_some(), is_wide, "{rule}");
        }
        for rule in [
            json!({"toolName": "replace", "modes": ["x"], "decision": "allow"}),
            json!({"toolName": "run_shell_command", "commandPrefix": 5, "decision": "allow"}),
            json!({"toolName": "run_shell_command", "commandPrefix": [], "decision": "allow"}),
            json!({"toolName": "run_shell_command", "commandPrefix": " ", "decision": "allow"}),
            json!({"toolName": "run_shell_command", "brandNew": 1, "decision": "allow"}),
        ] {
            let (told, found) = told(&json!([rule]));
            assert_eq!(told, ["Nothing"], "{rule}: it may narrow what is allowed");
            assert!(found.unsaid.denial_against("Shell").is_none(), "{rule}");
        }
    }
}
