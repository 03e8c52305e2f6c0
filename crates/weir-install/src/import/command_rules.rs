//! Codex' rules of commands: calls of `prefix_rule` in a small part of Starlark, read without
//! running anything. What is more than such a call is left with its line.

use weir_core::governance::rules::RuleAction;

use super::files::ImportedFile;
use super::{ImportFindings, ImportMapping};

/// Rules that one call may stand for, by its alternatives.
const ALTERNATIVES_MAX: usize = 50;
/// Words of the pattern of one call, and bytes of one word and of a command.
const WORDS_MAX: usize = 100;
const WORD_BYTES_MAX: usize = 200;
const COMMAND_BYTES_MAX: usize = 2_000;
/// Signs of meaning of one file.
const TOKENS_MAX: usize = 500_000;
/// Lists in lists.
const DEPTH_MAX: usize = 8;

/// Decisions that let less pass.
const NARROWING: [&str; 2] = ["prompt", "forbidden"];

/// A value of such a file.
#[derive(Debug, Clone, PartialEq)]
enum RuleValue {
    Text(String),
    List(Vec<RuleValue>),
}

/// One sign of meaning, with its line.
#[derive(Debug, Clone, PartialEq)]
enum RuleToken {
    Name(String),
    Text(String),
    Sign(char),
}

/// Every call of the file.
pub(super) fn collect_command_rules(text: &ImportedFile, found: &mut ImportFindings) {
    let tokens = match tokens_of(&text.text) {
        Ok(tokens) => tokens,
        Err((line, why)) => {
            let place = format!("{}:{line}", text.name);
            // What it forbids cannot be known.
            found.unsaid.add_denial("Shell", &place);
            return found.break_file(&place, &why, text.target);
        }
    };
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].1;
        let place = format!("{}:{line}", text.name);
        match parse_call(&tokens, &mut at) {
            Ok((name, fields)) => put_rules(text, &place, &name, &fields, found),
            Err(why) => {
                let begin = at;
                // On to the next thing that begins like a call.
                at += 1;
                while at < tokens.len()
                    && !matches!(
                        (&tokens[at].0, tokens.get(at + 1).map(|next| &next.0)),
                        (RuleToken::Name(_), Some(RuleToken::Sign('(')))
                    )
                {
                    at += 1;
                }
                let narrows = |token: &PlacedToken| matches!(&token.0, RuleToken::Text(text) if NARROWING.contains(&text.as_str()));
                if tokens[begin..at].iter().any(narrows) {
                    found.unsaid.add_denial("Shell", &place);
                }
                found.leave_item(place, "a rule".into(), &why, text.target);
            }
        }
    }
}

fn put_rules(
    text: &ImportedFile,
    place: &str,
    name: &str,
    fields: &[(String, RuleValue)],
    found: &mut ImportFindings,
) {
    if name != "prefix_rule" {
        let why = "is no rule for the beginning of a command; write it with `weir permissions add`";
        return found.leave_item(place.to_owned(), name.to_owned(), why, text.target);
    }
    let field = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let decision = match field("decision") {
        Some(RuleValue::Text(decision)) => decision.as_str(),
        Some(RuleValue::List(_)) => "?",
        None => "allow",
    };
    let words = match field("pattern") {
        Some(RuleValue::List(words)) => commands_of(words),
        Some(RuleValue::Text(_)) | None => Err("has no list `pattern`".to_owned()),
    };
    let action = match decision {
        "allow" => Some(RuleAction::Allow),
        "prompt" => Some(RuleAction::Ask),
        "forbidden" => Some(RuleAction::Deny),
        _ => None,
    };
    if action != Some(RuleAction::Allow) && (words.is_err() || action.is_none()) {
        found.unsaid.add_denial("Shell", place);
    }
    let (commands, action) = match (words, action) {
        (Err(why), _) => {
            return found.leave_item(
                place.to_owned(),
                format!("{decision}: a rule"),
                &why,
                text.target,
            );
        }
        (Ok(commands), None) => {
            let says = format!("{decision}: {}", commands.join(", "));
            return found.leave_item(
                place.to_owned(),
                says,
                "is no decision that is known here",
                text.target,
            );
        }
        (Ok(commands), Some(action)) => (commands, action),
    };
    for command in commands {
        let becomes = ImportMapping::Rule(action, format!("Shell({command}:*)"));
        found.add_item(place.to_owned(), format!("{decision}: {command}"), becomes, text.target);
    }
    let known = ["pattern", "decision", "justification", "match", "not_match"];
    let others = fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    for (name, _) in others {
        found.leave_item(place.to_owned(), name.clone(), "is not known here", text.target);
    }
}

/// The beginnings of commands that a pattern stands for.
fn commands_of(words: &[RuleValue]) -> Result<Vec<String>, String> {
    if words.len() > WORDS_MAX {
        return Err(format!("has more than {WORDS_MAX} words in its `pattern`"));
    }
    let mut commands = vec![String::new()];
    for word in words {
        let choices: Vec<&str> = match word {
            RuleValue::Text(text) => vec![text],
            RuleValue::List(items) => {
                let texts = items.iter().map(|item| match item {
                    RuleValue::Text(text) => Ok(text.as_str()),
                    RuleValue::List(_) => Err("has lists within alternatives".to_owned()),
                });
                texts.collect::<Result<_, _>>()?
            }
        };
        let plain = |word: &&str| {
            !word.is_empty()
                && !word.contains(|sign: char| sign.is_whitespace() || "()*\"'$\\".contains(sign))
        };
        if !choices.iter().all(plain) {
            return Err("has a word that no rule here can hold".into());
        }
        if choices.iter().any(|word| word.len() > WORD_BYTES_MAX) {
            return Err(format!("has a word of more than {WORD_BYTES_MAX} bytes"));
        }
        let longer = commands.iter().flat_map(|command| {
            choices.iter().map(move |word| format!("{command} {word}").trim_start().to_owned())
        });
        commands = longer.take(ALTERNATIVES_MAX + 1).collect();
        if commands.len() > ALTERNATIVES_MAX {
            return Err(format!("stands for more than {ALTERNATIVES_MAX} commands"));
        }
        if commands.iter().any(|command| command.len() > COMMAND_BYTES_MAX) {
            return Err(format!("stands for a command of more than {COMMAND_BYTES_MAX} bytes"));
        }
    }
    match commands.iter().any(String::is_empty) || commands.is_empty() {
        true => Err("has an empty `pattern`".into()),
        false => Ok(commands),
    }
}

type PlacedToken = (RuleToken, usize);

/// `name(key = value, …)`.
fn parse_call(
    tokens: &[PlacedToken],
    at: &mut usize,
) -> Result<(String, Vec<(String, RuleValue)>), String> {
    let strange = || "is more than a call with names, which is all that is read here".to_owned();
    let token = |at: usize| tokens.get(at).map(|(token, _)| token);
    let (Some(RuleToken::Name(name)), Some(RuleToken::Sign('('))) = (token(*at), token(*at + 1))
    else {
        return Err(strange());
    };
    let mut here = *at + 2;
    let mut fields = Vec::new();
    loop {
        match (token(here), token(here + 1)) {
            (Some(RuleToken::Sign(')')), _) => break,
            (Some(RuleToken::Name(key)), Some(RuleToken::Sign('='))) => {
                here += 2;
                let value = parse_value(tokens, &mut here, 0).ok_or_else(strange)?;
                fields.push((key.clone(), value));
            }
            _ => return Err(strange()),
        }
        if token(here) == Some(&RuleToken::Sign(',')) {
            here += 1;
        }
    }
    *at = here + 1;
    Ok((name.clone(), fields))
}

fn parse_value(tokens: &[PlacedToken], at: &mut usize, depth: usize) -> Option<RuleValue> {
    match &tokens.get(*at)?.0 {
        RuleToken::Text(text) => {
            *at += 1;
            Some(RuleValue::Text(text.clone()))
        }
        RuleToken::Sign('[') if depth < DEPTH_MAX => {
            *at += 1;
            let mut items = Vec::new();
            while tokens.get(*at)?.0 != RuleToken::Sign(']') {
                items.push(parse_value(tokens, at, depth + 1)?);
                if tokens.get(*at)?.0 == RuleToken::Sign(',') {
                    *at += 1;
                }
            }
            *at += 1;
            Some(RuleValue::List(items))
        }
        RuleToken::Sign(_) | RuleToken::Name(_) => None,
    }
}

fn tokens_of(text: &str) -> Result<Vec<PlacedToken>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        if tokens.len() >= TOKENS_MAX {
            return Err((line, format!("has more than {TOKENS_MAX} words and signs")));
        }
        match sign {
            '\n' => line += 1,
            '#' => while signs.next_if(|sign| *sign != '\n').is_some() {},
            '"' | '\'' => {
                let mut word = String::new();
                loop {
                    match signs.next() {
                        None | Some('\n') => {
                            return Err((
                                line,
                                "a text has no end: a quotation mark is missing".into(),
                            ));
                        }
                        Some('\\') => word.extend(signs.next()),
                        Some(end) if end == sign => break,
                        Some(other) => word.push(other),
                    }
                }
                tokens.push((RuleToken::Text(word), line));
            }
            sign if sign.is_whitespace() => {}
            sign if sign.is_alphanumeric() || sign == '_' => {
                let mut name = String::from(sign);
                while let Some(sign) = signs.next_if(|sign| sign.is_alphanumeric() || *sign == '_')
                {
                    name.push(sign);
                }
                tokens.push((RuleToken::Name(name), line));
            }
            sign => tokens.push((RuleToken::Sign(sign), line)),
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::super::ImportTarget;
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let file = ImportedFile { name: "r".into(), text: text.into(), target: ImportTarget::User };
        let mut found = ImportFindings::default();
        collect_command_rules(&file, &mut found);
        let told = |item: &super::super::ImportItem| match &item.becomes {
            ImportMapping::Rule(action, rule) => format!("{} {action} {rule}", item.place),
            ImportMapping::Nothing(why) => format!("{} left {why}", item.place),
            other => format!("{other:?}"),
        };
        found.items.iter().map(told).collect()
    }

    #[test]
    fn r8_codex_rules_of_commands_are_read_without_running_them() {
        let text = "# mine\nprefix_rule(\n  pattern = [\"git\", [\"push\", 'fetch']],\n  decision = \
                    \"prompt\",\n)\nprefix_rule(pattern=[\"ls\"])\nprefix_rule(pattern=[\"rm\", \
                    \"-rf\"], decision=\"forbidden\", justification=\"no\")\n";
        assert_eq!(
            told(text),
            [
                "r:2 ask Shell(git push:*)",
                "r:2 ask Shell(git fetch:*)",
                "r:6 allow Shell(ls:*)",
                "r:7 deny Shell(rm -rf:*)"
            ]
        );
        for (text, why) in [
            ("x = 1\nprefix_rule(pattern=[\"ls\"])", "more than a call"),
            ("host_executable(name=\"git\", paths=[\"/bin/git\"])", "no rule for the beginning"),
            ("prefix_rule(pattern=[\"a b\"])", "no rule here can hold"),
            ("prefix_rule(pattern=[])", "empty"),
            ("prefix_rule(pattern=[\"ls\"], decision=\"maybe\")", "no decision"),
            ("prefix_rule(pattern=[\"ls", "quotation mark"),
        ] {
            assert!(told(text)[0].contains(why), "{text}: {:?}", told(text));
        }
        let long = format!("prefix_rule(pattern=[{}])", "\"a\", ".repeat(100_000));
        assert!(told(&long)[0].contains("more than 100 words"), "{:?}", told(&long));
        let deep = format!("prefix_rule(pattern={})", "[".repeat(100_000));
        assert!(told(&deep)[0].contains("more than a call"));
        let word = format!("prefix_rule(pattern=[\"{}\"])", "a".repeat(1_000));
        assert!(told(&word)[0].contains("more than 200 bytes"), "{:?}", told(&word));
        let words = format!("\"{}\",", "a".repeat(190)).repeat(50);
        let wide = format!("prefix_rule(pattern=[{words}])");
        assert!(told(&wide)[0].contains("more than 2000 bytes"), "{:?}", told(&wide));
        assert!(told(&"(".repeat(600_000))[0].contains("more than 500000 words"));
    }

    #[test]
    fn r8_codex_denials_that_cannot_be_said_let_no_command_be_allowed() {
        for (text, is_unsaid) in [
            ("prefix_rule(pattern=[\"ls\"])", false),
            ("prefix_rule(pattern=[\"a b\"])", false),
            ("prefix_rule(pattern=[\"a b\"], decision=\"forbidden\")", true),
            ("prefix_rule(pattern=[\"ls\"], decision=\"perhaps\")", true),
            ("x = [f(\"forbidden\")]", true),
            ("prefix_rule(pattern=[\"ls", true),
        ] {
            let name = "r".to_owned();
            let file = ImportedFile { name, text: text.into(), target: ImportTarget::User };
            let mut found = ImportFindings::default();
            collect_command_rules(&file, &mut found);
            let against = found.unsaid.denial_against("Shell(ls:*)");
            assert_eq!(against.is_some(), is_unsaid, "{text}");
        }
    }
}
