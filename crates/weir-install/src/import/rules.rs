//! Rules of other agents as ours. Where a rule cannot say the same here, a deny or ask rule may say
//! more and an allow rule may say less; else it is left with the reason, and what a deny or ask rule
//! that is left is about is not allowed either. Not here: where rules stand.

use weir_core::governance::rules::RuleAction;

use super::marked::MarkedField;
use super::server::name_here;
use super::{ImportFindings, ImportItem, ImportMapping};

/// A rule here, and what is not the same.
pub(super) type MappedRule = Result<(String, Vec<String>), String>;

/// A rule of another agent.
pub(super) struct ForeignRule<'a> {
    /// What it does with what it is about.
    pub(super) action: RuleAction,
    /// It in words.
    pub(super) says: &'a str,
    /// The kind of rule here that it is about, if there is one.
    pub(super) about: Option<&'a str>,
}

/// A rule that was mapped.
pub(super) fn put_rule<'f>(
    field: &MarkedField<'_>,
    rule: &ForeignRule<'_>,
    mapped: MappedRule,
    found: &'f mut ImportFindings,
) -> &'f mut ImportItem {
    let ForeignRule { action, says, about } = *rule;
    let (becomes, notes) = match mapped {
        Ok((here, notes)) => (ImportMapping::Rule(action, here), notes),
        Err(why) => {
            if let Some(about) = about.filter(|_| action != RuleAction::Allow) {
                found.unsaid.add_denial(about, &field.place_text());
            }
            (ImportMapping::Nothing(why), Vec::new())
        }
    };
    field.settle_value(says.to_owned(), becomes, notes, found)
}

/// The kind of rule here that a permission of Claude Code is about.
pub(super) fn claude_rule_kind(text: &str) -> Option<&'static str> {
    let text = text.trim();
    match text.split('(').next().unwrap_or(text).trim() {
        "Bash" => Some("Shell"),
        "Read" | "NotebookRead" => Some("Read"),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Some("Edit"),
        "WebFetch" => Some("Web"),
        "Task" | "Agent" => Some("Agent"),
        mcp if mcp.starts_with("mcp__") => Some("Mcp"),
        "*" => Some("*"),
        _ => None,
    }
}

/// A permission of Claude Code: `Bash(npm run test:*)`, `Read(./.env)`, `mcp__github__search`.
/// `base` is where a path from `/` begins: none for the workspace, else a folder below the home.
pub(super) fn map_claude_rule(action: RuleAction, text: &str, base: Option<&str>) -> MappedRule {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("mcp__") {
        return map_mcp_rule(rest);
    }
    let (tool, specifier) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => {
            let inner = rest.strip_suffix(')').ok_or("has no closing parenthesis")?;
            (tool, Some(inner.trim()).filter(|inner| !inner.is_empty() && *inner != "*"))
        }
    };
    match (tool, specifier) {
        ("Bash", None) => Ok(("Shell".into(), Vec::new())),
        ("Bash", Some(command)) => command_of(action, command),
        ("Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "NotebookRead", specifier) => {
            let reads = tool == "Read" || tool == "NotebookRead";
            let kind = if reads { "Read" } else { "Edit" };
            let path = specifier.map(|path| claude_path(path, base)).transpose()?;
            Ok((
                match (path, action) {
                    (Some(path), _) => format!("{kind}({path})"),
                    // A bare allow rule is about the workspace there.
                    (None, RuleAction::Allow) => format!("{kind}(**)"),
                    (None, RuleAction::Ask | RuleAction::Deny) => kind.to_owned(),
                },
                Vec::new(),
            ))
        }
        ("WebFetch", None) => Ok(("Web".into(), Vec::new())),
        ("WebFetch", Some(specifier)) => match specifier.strip_prefix("domain:") {
            Some(host) => Ok(map_web_host(host.trim())),
            None => Err("has no domain: in it".into()),
        },
        ("Task" | "Agent", None) => Ok(("Agent".into(), Vec::new())),
        ("Task" | "Agent", Some(name)) => Ok((format!("Agent({name})"), Vec::new())),
        ("Glob" | "Grep" | "LS" | "TodoWrite" | "TodoRead" | "ExitPlanMode" | "BashOutput", _) => {
            Err("is about a tool that only looks: it needs no rule here".into())
        }
        _ => Err(format!("is about {tool}, which is no tool here")),
    }
}

/// `server__tool`, `server__*`, `server`.
fn map_mcp_rule(rest: &str) -> MappedRule {
    let (server, tool) = rest.split_once("__").unwrap_or((rest, "*"));
    let tool = if tool.is_empty() { "*" } else { tool };
    if tool != "*" && tool.contains('*') {
        return Err("has a pattern within the name of a tool".into());
    }
    if server.contains('*') {
        return Err("is about the tools of several servers".into());
    }
    Ok((format!("Mcp({}:{tool})", name_here(server)), Vec::new()))
}

/// A host, with its subdomains here.
pub(super) fn map_web_host(host: &str) -> (String, Vec<String>) {
    let notes = match host.parse::<std::net::IpAddr>().is_ok() || host.starts_with("*.") {
        true => Vec::new(),
        false => vec!["here it covers subdomains too".to_owned()],
    };
    (format!("Web({host})"), notes)
}

/// `npm run test:*`, `npm run test *`, `git status`.
fn command_of(action: RuleAction, command: &str) -> MappedRule {
    let prefix = command.strip_suffix(":*").or_else(|| command.strip_suffix(" *"));
    match prefix {
        Some(prefix) if !prefix.contains('*') => Ok((format!("Shell({prefix}:*)"), Vec::new())),
        None if !command.contains('*') => Ok((format!("Shell({command})"), Vec::new())),
        Some(_) | None => wild_command(action, command),
    }
}

/// A command with `*` in other places. Only whole words before the first one can be said here: that
/// is more than was meant, so it holds for deny and ask and not for allow.
pub(super) fn wild_command(action: RuleAction, command: &str) -> MappedRule {
    let before = command.split('*').next().unwrap_or_default();
    let words = match before.ends_with(' ') {
        true => before.trim_end(),
        false => before.rsplit_once(' ').map(|(words, _)| words).unwrap_or_default().trim_end(),
    };
    match (action, words.trim_end_matches(':')) {
        (RuleAction::Allow, _) => {
            Err("has * within the command; here a rule knows whole words at the beginning".into())
        }
        (RuleAction::Ask | RuleAction::Deny, "") => {
            Err("has * in its first word; a deny rule for all commands would be Shell".into())
        }
        (RuleAction::Ask | RuleAction::Deny, words) => {
            let note = format!("here it covers every command that begins with {words}");
            Ok((format!("Shell({words}:*)"), vec![note]))
        }
    }
}

/// A path of Claude Code: `//abs`, `~/home`, `/from the file's folder`, `relative`.
fn claude_path(path: &str, base: Option<&str>) -> Result<String, String> {
    if let Some(absolute) = path.strip_prefix("//") {
        return Ok(format!("/{absolute}"));
    }
    match (path.strip_prefix('/'), base) {
        (Some(rest), None) => Ok(format!("./{rest}")),
        (Some(rest), Some(base)) => Ok(format!("{base}/{rest}")),
        (None, _) => Ok(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_claude_codes_permissions_say_the_same_or_less() {
        use RuleAction::{Allow, Deny};
        for (action, text, rule) in [
            (Allow, "Bash", "Shell"),
            (Allow, "Bash(*)", "Shell"),
            (Allow, "Bash(npm run test:*)", "Shell(npm run test:*)"),
            (Allow, "Bash(npm run *)", "Shell(npm run:*)"),
            (Allow, "Bash(git status)", "Shell(git status)"),
            (Deny, "Bash(git * --force)", "Shell(git:*)"),
            (Deny, "Bash(rm -r*)", "Shell(rm:*)"),
            (Allow, "Read", "Read(**)"),
            (Deny, "Read(./.env)", "Read(./.env)"),
            (Deny, "Read(//etc/**)", "Read(/etc/**)"),
            (Deny, "Read(~/.ssh/**)", "Read(~/.ssh/**)"),
            (Deny, "Edit(/src/**)", "Edit(./src/**)"),
            (Deny, "Write", "Edit"),
            (Allow, "Write(docs/**)", "Edit(docs/**)"),
            (Allow, "WebFetch(domain:docs.rs)", "Web(docs.rs)"),
            (Deny, "WebFetch", "Web"),
            (Allow, "mcp__github__search", "Mcp(github:search)"),
            (Allow, "mcp__github", "Mcp(github:*)"),
            (Allow, "mcp__my server__*", "Mcp(my-server:*)"),
            (Allow, "Task(reviewer)", "Agent(reviewer)"),
        ] {
            let mapped = map_claude_rule(action, text, None).map(|(rule, _)| rule);
            assert_eq!(mapped.as_deref(), Ok(rule), "{text}");
        }
        let of_user = map_claude_rule(Deny, "Read(/x)", Some("~/.claude")).map(|(rule, _)| rule);
        assert_eq!(of_user.as_deref(), Ok("Read(~/.claude/x)"));
        for (action, text, part) in [
            (Allow, "Bash(git * --force)", "whole words"),
            (Allow, "Bash(npm run test*)", "whole words"),
            (Deny, "Bash(*sudo*)", "first word"),
            (Allow, "Grep", "needs no rule"),
            (Allow, "WebSearch", "no tool here"),
            (Allow, "WebFetch(x)", "no domain"),
            (Allow, "Bash(ls", "parenthesis"),
            (Allow, "mcp__a__get_*", "pattern"),
            (Deny, "mcp__*__delete", "several servers"),
        ] {
            let why = map_claude_rule(action, text, None).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
