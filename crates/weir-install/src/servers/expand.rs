//! `${VAR}` and `${VAR:-default}` in what another agent's file says of a server.
//!
//! Filled in from the variables that commands see: a workspace's file cannot name a key of the
//! person's and have it sent somewhere. Pure but for the environment that is handed in.

use std::collections::BTreeMap;

use weir_sandbox::filtered_environment;

use crate::config::McpServerSettings;
use crate::environment::ProcessEnvironment;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart<'a> {
    /// As it stands.
    Text(&'a str),
    /// A variable, and what stands there when it is not set.
    Variable(&'a str, Option<&'a str>),
}

/// The variables that may be filled in, and which exist beside them.
pub(super) struct FillableVariables {
    values: BTreeMap<String, String>,
    held_back: Vec<String>,
}

/// What of the environment may be filled in.
pub(super) fn fillable_variables(environment: &ProcessEnvironment) -> FillableVariables {
    let values: BTreeMap<String, String> = filtered_environment(environment.all_variables(), &[])
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let all = environment.all_variables().filter_map(|(name, _)| name.into_string().ok());
    let held_back = all.filter(|name| !values.contains_key(name)).collect();
    FillableVariables { values, held_back }
}

/// The parts of a text. A `${` without its end, or with no name in it, is text.
pub fn split_template(text: &str) -> Vec<TemplatePart<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        let inner = &rest[at + 2..at + length];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let end = at + length + 1;
        if is_name(name) {
            if at > 0 {
                pieces.push(TemplatePart::Text(&rest[..at]));
            }
            pieces.push(TemplatePart::Variable(name, default));
        } else {
            pieces.push(TemplatePart::Text(&rest[..end]));
        }
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        pieces.push(TemplatePart::Text(rest));
    }
    pieces
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The server with every variable filled in.
///
/// # Errors
/// A variable that is not set or not handed on, and what to do.
pub(super) fn fill_server_variables(
    server: &McpServerSettings,
    passed: &FillableVariables,
) -> Result<McpServerSettings, String> {
    let fill = |text: &String| fill_text_variables(text, passed);
    let table = |table: &BTreeMap<String, String>| -> Result<BTreeMap<String, String>, String> {
        table.iter().map(|(name, value)| Ok((name.clone(), fill(value)?))).collect()
    };
    let filled = McpServerSettings {
        command: fill(&server.command)?,
        args: server.args.iter().map(fill).collect::<Result<_, String>>()?,
        env: table(&server.env)?,
        url: fill(&server.url)?,
        headers: table(&server.headers)?,
        ..server.clone()
    };
    match crate::config::find_server_problem(&filled) {
        None => Ok(filled),
        Some((field, why)) => Err(format!("with its variables filled in, {field} {why}")),
    }
}

fn fill_text_variables(text: &str, passed: &FillableVariables) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    for piece in split_template(text) {
        match piece {
            TemplatePart::Text(text) => filled.push_str(text),
            TemplatePart::Variable(name, default) => match (passed.values.get(name), default) {
                (Some(value), _) => filled.push_str(value),
                (None, _) if passed.held_back.iter().any(|held| held == name) => {
                    return Err(format!(
                        "the variable {name} is not handed on to servers of a workspace; declare \
                         the server in your own settings, with [secrets.…] for what is secret"
                    ));
                }
                (None, Some(default)) => filled.push_str(default),
                (None, None) => {
                    return Err(format!(
                        "the variable {name} is not set; set it, or write ${{{name}:-…}}"
                    ));
                }
            },
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, String> {
        let environment = ProcessEnvironment::of(&[
            ("HOME", "/h"),
            ("GITHUB_TOKEN", "marker-1"),
            ("MY_ROOT", "/r"),
        ]);
        fill_text_variables(text, &fillable_variables(&environment))
    }

    #[test]
    fn f4_variables_are_filled_in_and_nothing_else() {
        for (text, filled) in [
            ("plain", "plain"),
            ("${HOME}/x", "/h/x"),
            ("a${HOME}b${HOME}", "a/hb/h"),
            ("${NONE:-d}", "d"),
            ("${NONE:-}", ""),
            ("${HOME:-d}", "/h"),
            ("$HOME ${ ${} ${a b} ${1}", "$HOME ${ ${} ${a b} ${1}"),
            ("${HOME", "${HOME"),
            ("é${HOME}", "é/h"),
        ] {
            assert_eq!(told(text), Ok(filled.to_owned()), "{text}");
        }
        assert!(told("${NONE}").is_err_and(|why| why.contains("NONE is not set")));
    }

    #[test]
    fn z7_a_workspace_cannot_name_a_key() {
        for text in ["${GITHUB_TOKEN}", "Bearer ${GITHUB_TOKEN:-none}", "${MY_ROOT}"] {
            let why = told(text).expect_err(text);
            assert!(why.contains("is not handed on") && !why.contains("marker"), "{why}");
        }
    }
}
