//! opencode: `opencode.json` and `opencode.jsonc` of the person (`~/.config/opencode`) and of the
//! workspace.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use weir_core::governance::rules::RuleAction;

use super::files::{Places, Text, is_same};
use super::server::{Foreign, server};
use super::{Becomes, Found, Item, Target, rules, texts};
use crate::duration::Span;

pub(super) fn read(places: &Places<'_>) -> Result<Found, String> {
    let mut found = Found::default();
    let own = places.home.join(".config/opencode");
    for (folder, target) in [(own.as_path(), Target::User), (places.workspace, Target::Project)] {
        if target == Target::Project && is_same(folder, &own) {
            continue;
        }
        for name in ["opencode.json", "opencode.jsonc"] {
            if let Some(text) = Text::read(&folder.join(name), &mut found)? {
                of_file(&text, target, places, &mut found)?;
            }
        }
    }
    texts::instructions(&own.join("AGENTS.md"), "opencode", &mut found)?;
    for name in ["command", "commands"] {
        texts::commands(&own.join(name), &mut found)?;
    }
    for name in ["agent", "agents"] {
        texts::agents(&own.join(name), &mut found);
    }
    Ok(found)
}

fn of_file(
    text: &Text,
    target: Target,
    places: &Places<'_>,
    found: &mut Found,
) -> Result<(), String> {
    let json = text.jsonc()?;
    for (name, value) in json.get("mcp").and_then(Value::as_object).into_iter().flatten() {
        found.items.push(of_server(text, name, value, target, places));
    }
    match json.get("permission") {
        Some(Value::String(word)) => {
            for kind in ["edit", "bash", "webfetch"] {
                permission(text, kind, &Value::String(word.clone()), target, found);
            }
        }
        Some(Value::Object(kinds)) => {
            for (kind, value) in kinds {
                permission(text, kind, value, target, found);
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
            let becomes = Becomes::Nothing(why.into());
            let (place, says) = (text.place(key), key.to_owned());
            found.items.push(Item { place, says, becomes, target, notes: Vec::new() });
        }
    }
    Ok(())
}

/// One kind of permission: a word, or patterns with a word each, of which the last that fits counts.
fn permission(text: &Text, kind: &str, value: &Value, target: Target, found: &mut Found) {
    let (says, becomes) = match value {
        Value::Object(patterns) => return patterns_of(text, kind, patterns, target, found),
        Value::String(word) => {
            let becomes = match action(word) {
                Some(action) => all_of(kind, action),
                None => Becomes::Nothing("is no answer that is known here".into()),
            };
            (format!("{kind}: {word}"), becomes)
        }
        _ => (kind.to_owned(), Becomes::Nothing("is neither a word nor patterns".into())),
    };
    found.items.push(Item { place: text.place(kind), says, becomes, target, notes: Vec::new() });
}

fn action(word: &str) -> Option<RuleAction> {
    RuleAction::ALL.into_iter().find(|action| action.as_str() == word)
}

/// Everything of a kind.
fn all_of(kind: &str, action: RuleAction) -> Becomes {
    let allows = action == RuleAction::Allow;
    let asks = action == RuleAction::Ask;
    let rule = match kind {
        "edit" if allows => "Edit(**)",
        "edit" if asks => return usual("files ask before they are changed in the mode ask"),
        "edit" => "Edit",
        "bash" if asks => return usual("commands ask in every mode but full"),
        "bash" => "Shell",
        "webfetch" => "Web",
        "read" if allows => return usual("what is in the workspace is read without asking"),
        "read" => "Read",
        "task" if !allows => "Agent",
        "list" | "glob" | "grep" | "lsp" | "todowrite" | "todoread" => {
            return usual("tools that only look ask nobody");
        }
        _ => return Becomes::Nothing(format!("{kind} is nothing that rules are about here")),
    };
    Becomes::Rule(action, rule.to_owned())
}

fn usual(why: &str) -> Becomes {
    Becomes::Nothing(format!("needs no rule: {why}"))
}

/// Here deny beats ask beats allow, there the last pattern wins. What an earlier, stronger answer
/// would make void is left, so that nothing passes here that would not there.
fn patterns_of(
    text: &Text,
    kind: &str,
    patterns: &Map<String, Value>,
    target: Target,
    found: &mut Found,
) {
    let answers: Vec<(&String, Option<RuleAction>)> =
        patterns.iter().map(|(pattern, word)| (pattern, word.as_str().and_then(action))).collect();
    let all = answers.iter().find(|(pattern, _)| matches!(pattern.as_str(), "*" | "**"));
    let all_denied = all.is_some_and(|(_, answer)| *answer == Some(RuleAction::Deny));
    for (at, (pattern, answer)) in answers.iter().enumerate() {
        let word = answer.map_or("?", RuleAction::as_str);
        let says = format!("{kind} {pattern}: {word}");
        let later = answers[at + 1..].iter().find(|(later, weaker)| {
            covers(later, pattern) && weaker.is_some() && *weaker != *answer
        });
        let (becomes, notes) = match answer {
            None => (Becomes::Nothing("is no answer that is known here".into()), Vec::new()),
            Some(RuleAction::Allow) if later.is_some() => {
                (Becomes::Nothing("a later pattern covers it".into()), Vec::new())
            }
            Some(_) if matches!(pattern.as_str(), "*" | "**") => match answer {
                Some(answer) => (all_of(kind, *answer), Vec::new()),
                None => (Becomes::Nothing(String::new()), Vec::new()),
            },
            Some(RuleAction::Allow | RuleAction::Ask) if all_denied => (
                Becomes::Nothing("everything is denied, and here no rule lifts a denial".into()),
                Vec::new(),
            ),
            Some(answer) => match pattern_here(kind, *answer, pattern) {
                Ok((rule, notes)) => (Becomes::Rule(*answer, rule), notes),
                Err(why) => (Becomes::Nothing(why), Vec::new()),
            },
        };
        found.items.push(Item { place: text.place(pattern), says, becomes, target, notes });
    }
}

/// Whether every text that fits `narrow` fits `wide`, as far as prefixes tell.
fn covers(wide: &str, narrow: &str) -> bool {
    match wide.strip_suffix('*') {
        Some(prefix) => !prefix.contains('*') && narrow.starts_with(prefix.trim_end()),
        None => wide == narrow,
    }
}

fn pattern_here(kind: &str, action: RuleAction, pattern: &str) -> rules::Mapped {
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
            Ok(rules::web(host))
        }
        "task" => Ok((format!("Agent({pattern})"), Vec::new())),
        _ => Err(format!("{kind} is nothing that rules are about here")),
    }
}

fn of_server(text: &Text, name: &str, value: &Value, target: Target, places: &Places<'_>) -> Item {
    let mut notes = Vec::new();
    let mut foreign = Foreign::default();
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
                foreign.rest.start_timeout = ms.map(|ms| Span { ms });
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
        Some(why) => Becomes::Nothing(why),
        None => {
            let (becomes, more) = server(name, foreign, places.environment);
            notes.extend(more);
            if target == Target::Project {
                notes.push("it was for this folder only; here it holds everywhere".into());
            }
            becomes
        }
    };
    // Of a workspace's file too: its settings may be somebody else's to read.
    Item {
        place: text.place(name),
        says: format!("server {name}"),
        becomes,
        target: Target::User,
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
            assert_eq!(covers(wide, narrow), covered, "{wide} {narrow}");
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
