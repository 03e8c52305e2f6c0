//! opencode's permissions as rules. There the last pattern that fits counts; here deny beats ask
//! beats allow, so what would let more pass is left: also what is allowed beside a denial that no
//! rule here can say. Not here: where they stand.

use serde_json::{Map, Value};
use weir_core::governance::rules::RuleAction;

use super::super::marked::MarkedField;
use super::super::{ImportFindings, ImportMapping, rules};

/// One word for everything, or a table of kinds.
pub(super) fn collect_permissions(permission: &MarkedField<'_>, found: &mut ImportFindings) {
    if let Some(word) = permission.take_text() {
        for kind in ["edit", "bash", "webfetch"] {
            push_permission(permission, kind, &Value::from(word), found);
        }
    }
    for (at, kind) in permission.table_fields().into_iter().enumerate() {
        // The last that fits counts: a later one about every kind may take back what is allowed.
        if at > 0 && kind.key.contains('*') && *kind.peek_value() != "allow" {
            found.unsaid.add_denial("*", &kind.place_text());
        }
        let value = match kind.table_fields().is_empty() {
            true => kind.take_value(),
            false => kind.peek_value(),
        };
        push_permission(&kind, &kind.key, value, found);
    }
}

/// One kind of permission: a word, or patterns with a word each, of which the last that fits
/// counts.
fn push_permission(field: &MarkedField<'_>, kind: &str, value: &Value, found: &mut ImportFindings) {
    let (says, becomes) = match value {
        Value::Object(patterns) => return patterns_of(field, kind, patterns, found),
        Value::String(word) => {
            let becomes = match parse_rule_action(word) {
                Some(action) => all_of(kind, action),
                None => {
                    found.unsaid.add_denial(rule_kind(kind), &field.place_text());
                    ImportMapping::Nothing("is no answer that is known here".into())
                }
            };
            (format!("{kind}: {word}"), becomes)
        }
        _ => (kind.to_owned(), ImportMapping::Nothing("is neither a word nor patterns".into())),
    };
    field.settle_value(says, becomes, Vec::new(), found);
}

/// The kind of rule here that one of theirs is about; nothing is allowed by another.
fn rule_kind(kind: &str) -> &str {
    match kind {
        "bash" => "Shell",
        "edit" => "Edit",
        "read" => "Read",
        "webfetch" => "Web",
        "task" => "Agent",
        other => other,
    }
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
    field: &MarkedField<'_>,
    kind: &str,
    patterns: &Map<String, Value>,
    found: &mut ImportFindings,
) {
    let entries = field.table_fields();
    if let ImportMapping::Nothing(why) = all_of(kind, RuleAction::Deny) {
        field.settle_value(kind.to_owned(), ImportMapping::Nothing(why), Vec::new(), found);
        return;
    }
    let answers: Vec<(&str, Option<RuleAction>)> = patterns
        .iter()
        .take(entries.len())
        .map(|(pattern, word)| (pattern.as_str(), word.as_str().and_then(parse_rule_action)))
        .collect();
    let all = answers.iter().find(|(pattern, _)| is_everything(pattern));
    let all_denied = all.is_some_and(|(_, answer)| *answer == Some(RuleAction::Deny));
    for (at, ((pattern, answer), entry)) in answers.iter().zip(&entries).enumerate() {
        let word = answer.map_or("?", RuleAction::as_str);
        let is_covered = answers[at + 1..].iter().any(|(later, other)| {
            covers_pattern(later, pattern) && other.is_some() && *other != *answer
        });
        let (becomes, mut notes) = match answer {
            None => (ImportMapping::Nothing("is no answer that is known here".into()), Vec::new()),
            Some(RuleAction::Allow) if is_covered => {
                (ImportMapping::Nothing("a later pattern covers it".into()), Vec::new())
            }
            Some(answer) if is_everything(pattern) => (all_of(kind, *answer), Vec::new()),
            Some(RuleAction::Allow | RuleAction::Ask) if all_denied => {
                let why = "everything is denied, and here no rule lifts a denial";
                (ImportMapping::Nothing(why.into()), Vec::new())
            }
            Some(answer) => match pattern_here(kind, *answer, pattern) {
                Ok((rule, notes)) => (ImportMapping::Rule(*answer, rule), notes),
                Err(why) => (ImportMapping::Nothing(why), Vec::new()),
            },
        };
        let is_unsaid = match (answer, &becomes) {
            (None, _) => true,
            (Some(RuleAction::Allow), _) => false,
            (Some(_), ImportMapping::Nothing(_)) => !is_everything(pattern) && !all_denied,
            (Some(_), _) if is_said_whole(kind, pattern) => false,
            (Some(_), _) => {
                notes.push("it is about more there, where * goes across folders".to_owned());
                true
            }
        };
        if is_unsaid {
            found.unsaid.add_denial(rule_kind(kind), &entry.place_text());
        }
        entry.settle_value(format!("{kind} {pattern}: {word}"), becomes, notes, found);
    }
}

fn is_everything(pattern: &str) -> bool {
    matches!(pattern, "*" | "**")
}

/// Whether the rule that a pattern becomes is about all that it is about: there a * in a path goes
/// across folders, and a ? is any sign.
fn is_said_whole(kind: &str, pattern: &str) -> bool {
    if pattern.contains('?') {
        return false;
    }
    if !matches!(kind, "edit" | "read") || is_everything(pattern) {
        return true;
    }
    let path = pattern.strip_prefix("**/").unwrap_or(pattern);
    let path = path.strip_suffix("/**").or_else(|| path.strip_suffix("/*")).unwrap_or(path);
    // A name without a folder is one in every folder here too.
    let path = if path.contains('/') { path } else { path.strip_prefix('*').unwrap_or(path) };
    !path.contains('*')
}

/// Whether every text that fits `narrow` fits `wide`, as far as prefixes tell.
fn covers_pattern(wide: &str, narrow: &str) -> bool {
    match wide.ends_with('*').then(|| wide.trim_end_matches('*')) {
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

#[cfg(test)]
mod tests {
    use super::super::super::ImportTarget;
    use super::super::super::marked::{MarkedDocument, NameForm};
    use super::*;

    #[test]
    fn c1_import_opencodes_patterns_never_let_more_pass() {
        for (wide, narrow, covered) in [
            ("*", "git push", true),
            ("git *", "git push *", true),
            ("git push *", "git *", false),
            ("git status", "git status", true),
            ("git*", "github x", true),
            ("**", "src/*", true),
            ("src/**", "src/a/b", true),
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

    /// What becomes of a table of permissions: rules, and whether one of these is held back.
    fn told(permission: &str, allowed: &str) -> (Vec<String>, bool) {
        let text = format!("{{\"permission\": {permission}}}");
        let root: Value = serde_json::from_str(&text).expect("JSON");
        let target = ImportTarget::User;
        let document = MarkedDocument::new("f".into(), text, NameForm::Quoted, root, target);
        let mut found = ImportFindings::default();
        let field = document.root_field().enter_key("permission").expect("permissions");
        collect_permissions(&field, &mut found);
        document.leave_rest(&mut found);
        let rules = found.items.iter().filter_map(|item| match &item.becomes {
            ImportMapping::Rule(action, rule) => Some(format!("{action} {rule}")),
            _ => None,
        });
        (rules.collect(), found.unsaid.denial_against(allowed).is_some())
    }

    #[test]
    fn r8_opencodes_denials_that_cannot_be_said_take_what_they_may_be_about() {
        for (permission, allowed, rules, is_held) in [
            (
                r#"{"bash": {"git *": "allow", "*push*": "deny"}}"#,
                "Shell(git:*)",
                &["allow Shell(git:*)"][..],
                true,
            ),
            (
                r#"{"bash": {"git *": "allow", "git push *": "deny"}}"#,
                "Shell(git:*)",
                &["allow Shell(git:*)", "deny Shell(git push:*)"],
                false,
            ),
            (
                r#"{"bash": {"ls": "allow", "rm ?": "deny"}}"#,
                "Shell(ls)",
                &["allow Shell(ls)", "deny Shell(rm ?)"],
                true,
            ),
            (r#"{"edit": {"src/*": "allow", "**": "ask"}}"#, "Edit(src/*)", &[], false),
            (
                r#"{"edit": {"src/*": "allow", "src/*.key": "deny"}}"#,
                "Edit(src/*)",
                &["allow Edit(src/*)", "deny Edit(src/*.key)"],
                true,
            ),
            (
                r#"{"edit": {"src/*": "allow", "**/*.key": "deny", "lib/*": "deny"}}"#,
                "Edit(src/*)",
                &["allow Edit(src/*)", "deny Edit(**/*.key)", "deny Edit(lib/**)"],
                false,
            ),
            (r#"{"bash": "allow", "*": "ask"}"#, "Shell", &["allow Shell"], true),
            (r#"{"bash": "perhaps", "edit": "allow"}"#, "Edit(**)", &["allow Edit(**)"], false),
            (r#"{"bash": "perhaps"}"#, "Shell(ls)", &[], true),
        ] {
            let expected: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
            assert_eq!(told(permission, allowed), (expected, is_held), "{permission}");
        }
        let many: String = (0..3_000).map(|at| format!("\"c{at}\": \"deny\",")).collect();
        let (rules, is_held) = told(&format!("{{\"bash\": {{{many}\"ls\": \"allow\"}}}}"), "Shell");
        assert!(rules.len() <= 3_000 && is_held, "more patterns than are read");
    }
}
