//! Declared names with placeholders: `out/{{input.name}}.md`, `{{input.folder}}/**`. Filled in with
//! the arguments of a call. Not here: where a path leads, which the workspace says.

use serde_json::Value;

use super::ToolDefinition;

/// What stands before the name of an argument.
const OPEN: &str = "{{input.";
const CLOSE: &str = "}}";
/// All that lies below.
const BELOW: &str = "/**";

/// A path that a call declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWish {
    /// As it was written, arguments filled in.
    pub path: String,
    /// With all that lies below.
    pub tree: bool,
}

/// What one call of a tool declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallDeclaration {
    /// Paths it reads.
    pub reads: Vec<PathWish>,
    /// Paths it writes.
    pub writes: Vec<PathWish>,
    /// Paths it deletes.
    pub deletes: Vec<PathWish>,
    /// Method and host.
    pub hosts: Vec<(String, String)>,
}

impl ToolDefinition {
    /// What a call with this input declares. An entry whose argument is not there declares nothing.
    ///
    /// # Errors
    /// An argument cannot stand in a name: a sentence.
    pub fn declare_call(&self, input: &Value) -> Result<CallDeclaration, String> {
        let paths = |templates: &[String]| -> Result<Vec<PathWish>, String> {
            let wishes = templates.iter().map(|template| {
                // Only the template says that a folder is meant with all below it.
                let (plain, tree) = match template.strip_suffix(BELOW) {
                    Some(plain) => (plain, true),
                    None => (template.as_str(), false),
                };
                let path = fill_template(plain, input)?;
                Ok(path.map(|path| PathWish { path, tree }))
            });
            wishes.filter_map(Result::transpose).collect()
        };
        let hosts = self.effects.hosts.iter().map(|declared| {
            let host = fill_template(&declared.host, input)?;
            Ok(host.map(|host| (declared.method.clone(), host)))
        });
        Ok(CallDeclaration {
            reads: paths(&self.effects.reads)?,
            writes: paths(&self.effects.writes)?,
            deletes: paths(&self.effects.deletes)?,
            hosts: hosts.filter_map(Result::transpose).collect::<Result<_, String>>()?,
        })
    }
}

/// `template` with the arguments in it; `None`: one of them is not there.
fn fill_template(template: &str, input: &Value) -> Result<Option<String>, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (name, after) = after.split_once(CLOSE).ok_or("a placeholder has no end")?;
        out.push_str(before);
        let value = name.trim().split('.').try_fold(input, |value, part| value.get(part));
        match value {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => {
                return Err(format!("{} is empty, and names what is touched", name.trim()));
            }
            Some(Value::String(text)) => out.push_str(text),
            Some(Value::Number(number)) => out.push_str(&number.to_string()),
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(format!(
                    "{} must be text: it names what the tool touches",
                    name.trim()
                ));
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(Some(out))
}

/// What is wrong with a template; `fields` are the arguments that there are.
pub(super) fn template_problem(template: &str, fields: &[&str], path: bool) -> Option<String> {
    let wrong = |why: String| Some(format!("{template:?} in effects: {why}"));
    let plain = match path {
        true => template.strip_suffix(BELOW).unwrap_or(template),
        false => template,
    };
    if plain.trim().is_empty() {
        return wrong("it names nothing; `./**` is the whole workspace".into());
    }
    let mut literal = String::new();
    let mut rest = plain;
    while let Some((before, after)) = rest.split_once("{{") {
        literal.push_str(before);
        let Some((inside, after)) = after.split_once(CLOSE) else {
            return wrong("a `{{` has no `}}`".into());
        };
        let Some(name) = inside.trim().strip_prefix("input.") else {
            return wrong("a placeholder is {{input.FIELD}}".into());
        };
        if !inside.starts_with("input.") {
            return wrong("a placeholder is {{input.FIELD}}, without blanks".into());
        }
        let first = name.split('.').next().unwrap_or_default().trim();
        if !fields.contains(&first) {
            return wrong(format!("input_schema has no field {first:?}"));
        }
        rest = after;
    }
    literal.push_str(rest);
    if path && literal.contains('*') {
        return wrong("of patterns only a trailing /** is understood".into());
    }
    if !path && literal.contains(['/', ':', '*', '@', ' ']) {
        return wrong("a host is a name alone, without scheme, port, path or pattern".into());
    }
    None
}
