//! opencode: `opencode.json` and `opencode.jsonc` of the person (`~/.config/opencode`) and of the
//! workspace.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use weir_core::governance::rules::RuleAction;

use super::files::{ImportPlaces, ImportedFile, is_same};
use super::server::{ImportedServer, map_server};
use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget, rules, texts};
use crate::duration::TimeSpan;

pub(super) fn read_opencode_files(places: &ImportPlaces<'_>) -> Result<ImportFindings, String> {
    let mut found = ImportFindings::default();
    let own = places.home.join(".config/opencode");
    for (folder, target) in
        [(own.as_path(), ImportTarget::User), (places.workspace, ImportTarget::Project)]
    {
        if target == ImportTarget::Project && is_same(folder, &own) {
            continue;
        }
        for name in ["opencode.json", "opencode.jsonc"] {
            if let Some(text) = ImportedFile::read_noted(&folder.join(name), &mut found)? {
                of_file(&text, target, places, &mut found)?;
            }
        }
    }
    texts::collect_instructions(&own.join("AGENTS.md"), "opencode", &mut found)?;
    for name in ["command", "commands"] {
        texts::collect_slash_commands(&own.join(name), &mut found)?;
    }
    for name in ["agent", "agents"] {
        texts::note_agent_definitions(&own.join(name), &mut found);
    }
    Ok(found)
}

fn of_file(
    text: &ImportedFile,
    target: ImportTarget,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> Result<(), String> {
    let json = text.json_with_comments()?;
    for (name, value) in json.get("mcp").and_then(Value::as_object).into_iter().flatten() {
        found.items.push(of_server(text, name, value, target, places));
    }
    match json.get("permission") {
        Some(Value::String(word)) => {
            for kind in ["edit", "bash", "webfetch"] {
                push_permission(text, kind, &Value::String(word.clone()), target, found);
            }
        }
        Some(Value::Object(kinds)) => {
            for (kind, value) in kinds {
                push_permission(text, kind, value, target, found);
            }
        }
        _ => {}
    }
    for key in ["agent", "mode", "tools", "model", "instructions", "command"] {
        if json.get(key).is_some() {
            let why = match key {
                "model" => "its names are others here: `weir models`, then `weir config set model`",
                "instructions" => "is a list of files: name them with @ in AGENTS.md",
                "command" => "is written in a file here: commands/NAME.md in your own folder",
                _ => "is not read: profiles say which tools an agent has (`weir profiles`)",
            };
            let becomes = ImportMapping::Nothing(why.into());
            let (place, says) = (text.place_of_quoted(key), key.to_owned());
            found.items.push(ImportItem { place, says, becomes, target, notes: Vec::new() });
        }
    }
    Ok(())
}

/// One kind of permission: a word, or patterns with a word each, of which the last that fits counts.
fn push_permission(
    text: &ImportedFile,
    kind: &str,
    value: &Value,
    target: ImportTarget,
    found: &mut ImportFindings,
) {
    let (says, becomes) = match value {
        Value::Object(patterns) => return patterns_of(text, kind, patterns, target, found),
        Value::String(word) => {
            let becomes = match parse_rule_action(word) {
                Some(action) => all_of(kind, action),
                None => ImportMapping::Nothing("is no answer that is known here".into()),
            };
            (format!("{kind}: {word}"), becomes)
        }
        _ => (kind.to_owned(), ImportMapping::Nothing("is neither a word nor patterns".into())),
    };
    found.items.push(ImportItem {
        place: text.place_of_quoted(kind),
        says,
        becomes,
        target,
        notes: Vec::new(),
    });
}

fn parse_rule_action(word: &str) -> Option<RuleAction> {
    RuleAction::ALL.into_iter().find(|action| action.as_str() == word)
}

/// Everything of a kind.
fn all_of(kind: &str, action: RuleAction) -> ImportMapping {
    let allows = action == RuleAction::Allow;
    let asks = action == RuleAction::Ask;
    let rule = match kind {
        "edit" if allows => "Edit(**)",
        "edit" if asks => {
            return needs_no_rule("files ask before they are changed in the mode ask");
        }
        "edit" => "Edit",
        "bash" if asks => return needs_no_rule("commands ask in every mode but full"),
        "bash" => "Shell",
        "webfetch" => "Web",
        "read" if allows => {
            return needs_no_rule("what is in the workspace is read without asking");
        }
        "read" => "Read",
        "task" if !allows => "Agent",
        "list" | "glob" | "grep" | "lsp" | "todowrite" | "todoread" => {
            return needs_no_rule("tools that only look ask nobody");
        }
        _ => return ImportMapping::Nothing(format!("{kind} is nothing that rules are about here")),
    };
    ImportMapping::Rule(action, rule.to_owned())
}

fn needs_no_rule(why: &str) -> ImportMapping {
    ImportMapping::Nothing(format!("needs no rule: {why}"))
}

/// Here deny beats ask beats allow, there the last pattern wins. What an earlier, stronger answer
/// would make void is left, so that nothing passes here that would not there.
fn patterns_of(
    text: &ImportedFile,
    kind: &str,
    patterns: &Map<String, Value>,
    target: ImportTarget,
    found: &mut ImportFindings,
) {
    let answers: Vec<(&String, Option<RuleAction>)> = patterns
        .iter()
        .map(|(pattern, word)| (pattern, word.as_str().and_then(parse_rule_action)))
        .collect();
    let all = answers.iter().find(|(pattern, _)| matches!(pattern.as_str(), "*" | "**"));
    let all_denied = all.is_some_and(|(_, answer)| *answer == Some(RuleAction::Deny));
    for (at, (pattern, answer)) in answers.iter().enumerate() {
        let word = answer.map_or("?", RuleAction::as_str);
        let says = format!("{kind} {pattern}: {word}");
        let later = answers[at + 1..].iter().find(|(later, weaker)| {
            covers_pattern(later, pattern) && weaker.is_some() && *weaker != *answer
        });
        let (becomes, notes) = match answer {
            None => (ImportMapping::Nothing("is no answer that is known here".into()), Vec::new()),
            Some(RuleAction::Allow) if later.is_some() => {
                (ImportMapping::Nothing("a later pattern covers it".into()), Vec::new())
            }
            Some(_) if matches!(pattern.as_str(), "*" | "**") => match answer {
                Some(answer) => (all_of(kind, *answer), Vec::new()),
                None => (ImportMapping::Nothing(String::new()), Vec::new()),
            },
            Some(RuleAction::Allow | RuleAction::Ask) if all_denied => (
                ImportMapping::Nothing(
                    "everything is denied, and here no rule lifts a denial".into(),
                ),
                Vec::new(),
            ),
            Some(answer) => match pattern_here(kind, *answer, pattern) {
                Ok((rule, notes)) => (ImportMapping::Rule(*answer, rule), notes),
                Err(why) => (ImportMapping::Nothing(why), Vec::new()),
            },
        };
        found.items.push(ImportItem {
            place: text.place_of_quoted(pattern),
            says,
            becomes,
            target,
            notes,
        });
    }
}

/// Whether every text that fits `narrow` fits `wide`, as far as prefixes tell.
fn covers_pattern(wide: &str, narrow: &str) -> bool {
    match wide.strip_suffix('*') {
        Some(prefix) => !prefix.contains('*') && narrow.starts_with(prefix.trim_end()),
        None => wide == narrow,
    }
}

fn pattern_here(kind: &str, action: RuleAction, pattern: &str) -> rules::MappedRule {
    match kind {
        "bash" => match pattern.strip_suffix(" *") {
            Some(words) if !words.contains('*') => Ok((format!("Shell({words}:*)"), Vec::new())),
            None if !pattern.contains('*') => Ok((format!("Shell({pattern})"), Vec::new())),
            Some(_) | None => rules::wild_command(action, pattern),
        },
        "edit" | "read" => {
            let kind = if kind == "read" { "Read" } else { "Edit" };
            // There a * goes across folders.
            let wide = action != RuleAction::Allow;
            let path = match pattern.strip_suffix("/*") {
                Some(folder) if wide => format!("{folder}/**"),
                Some(_) | None => pattern.to_owned(),
            };
            Ok((format!("{kind}({path})"), Vec::new()))
        }
        "webfetch" => {
            let host = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
            let host = host.strip_suffix("/*").unwrap_or(host);
            if host.contains('/') {
                return Err("names a part of a host; rules here name hosts".into());
            }
            Ok(rules::map_web_host(host))
        }
        "task" => Ok((format!("Agent({pattern})"), Vec::new())),
        _ => Err(format!("{kind} is nothing that rules are about here")),
    }
}

fn of_server(
    text: &ImportedFile,
    name: &str,
    value: &Value,
    target: ImportTarget,
    places: &ImportPlaces<'_>,
) -> ImportItem {
    let mut notes = Vec::new();
    let mut foreign = ImportedServer::default();
    let mut problem = None;
    // `{env:NAME}` is their word for `${NAME}`.
    let plain = |text: &str| text.replace("{env:", "${");
    let table = |value: &Value| -> BTreeMap<String, String> {
        let fields = value.as_object().into_iter().flatten();
        fields.filter_map(|(k, v)| Some((k.clone(), plain(v.as_str()?)))).collect()
    };
    for (field, value) in value.as_object().into_iter().flatten() {
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
            let (becomes, more) = map_server(name, foreign, places.environment);
            notes.extend(more);
            if target == ImportTarget::Project {
                notes.push("it was for this folder only; here it holds everywhere".into());
            }
            becomes
        }
    };
    // Of a workspace's file too: its settings may be somebody else's to read.
    ImportItem {
        place: text.place_of_quoted(name),
        says: format!("server {name}"),
        becomes,
        target: ImportTarget::User,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_opencodes_patterns_never_let_more_pass() {
        for (wide, narrow, covered) in [
            ("*", "git push", true),
            ("git *", "git push *", true),
            ("git push *", "git *", false),
            ("git status", "git status", true),
            ("git*", "github x", true),
        ] {
            assert_eq!(covers_pattern(wide, narrow), covered, "{wide} {narrow}");
        }
        use RuleAction::{Allow, Ask, Deny};
        for (kind, action, pattern, rule) in [
            ("bash", Allow, "git status *", Some("Shell(git status:*)")),
            ("bash", Allow, "ls", Some("Shell(ls)")),
            ("bash", Allow, "git*", None),
            ("bash", Ask, "git push*", Some("Shell(git:*)")),
            ("read", Deny, "*.env", Some("Read(*.env)")),
            ("edit", Deny, "src/*", Some("Edit(src/**)")),
            ("edit", Allow, "src/*", Some("Edit(src/*)")),
            ("webfetch", Deny, "https://x.example/*", Some("Web(x.example)")),
        ] {
            let here = pattern_here(kind, action, pattern).map(|(rule, _)| rule).ok();
            assert_eq!(here.as_deref(), rule, "{kind} {pattern}");
        }
    }
}
