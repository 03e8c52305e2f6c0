//! Tools that are made at run time (T5): what one is, what is wrong with one, and what a call of it
//! declares. Pure. Not here: running its code, keeping it, asking anybody.
//!
//! A definition says in advance which files and hosts its code uses; its arguments may stand in for
//! parts of their names. The code gets nothing else: each step is held to what was declared.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::governance::canonical_json;
use crate::record::sha256_hex;
use crate::safe_text::{is_deceptive, look_alikes};
use crate::tool::{ToolGroup, ToolSpec};

mod template;
#[cfg(test)]
mod tests;

pub use template::{CallDeclaration, PathWish};

/// Longest name.
const NAME_CHARS_MAX: usize = 48;
/// Longest description.
const DESCRIPTION_CHARS_MAX: usize = 1_000;
/// Longest code.
pub const CODE_BYTES_MAX: usize = 64 << 10;
/// Longest line of code: beyond it a person would have to look for what stands there.
const LINE_CHARS_MAX: usize = 300;
/// Most empty lines in a row: below them nobody looks.
const EMPTY_LINES_MAX: usize = 10;
/// Longest schema, as JSON.
const SCHEMA_BYTES_MAX: usize = 16 << 10;
/// How deep a schema may be.
const SCHEMA_DEPTH_MAX: usize = 16;
/// Most entries of each kind of effect.
const ENTRIES_MAX: usize = 32;
/// Longest path or host of a declaration.
const ENTRY_CHARS_MAX: usize = 300;
/// Wall time of one call, its steps included.
pub const CALL_TIME_MS: u64 = 60_000;
/// Beginning of the names of foreign tools.
const FOREIGN: &str = "mcp__";

/// A tool that somebody made: its whole text. What is hashed, shown and kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// Name by which it is called.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON Schema of its input: an object.
    pub input_schema: Value,
    /// A JavaScript module that exports `run(input, host)`.
    pub code: String,
    /// Everything that it may touch.
    #[serde(default)]
    pub effects: DeclaredEffects,
}

/// What the code of a tool may touch; nothing unless it stands here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DeclaredEffects {
    /// Paths it reads. `{{input.FIELD}}` stands for an argument, a trailing `/**` for all below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Paths it writes or creates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Paths it deletes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<String>,
    /// Hosts it reaches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<DeclaredHost>,
    /// MCP tools it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// A host that the code of a tool may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeclaredHost {
    /// `GET` when absent.
    #[serde(default = "get")]
    pub method: String,
    /// Its name, without scheme and path.
    pub host: String,
}

fn get() -> String {
    "GET".into()
}

impl ToolDefinition {
    /// SHA-256 of the definition, in hex: the same for every way to write the same JSON.
    pub fn hash(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        sha256_hex(canonical_json(&value).as_bytes())
    }

    /// The definition as it is kept.
    pub fn to_json_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The definition in a text, if it is one.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<ToolDefinition, String> {
        serde_json::from_str(text).map_err(|why| format!("it is no definition of a tool: {why}"))
    }

    /// The tool as the model sees it: named only, until it is looked for (T4).
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            group: ToolGroup::Skill,
            input_schema: self.input_schema.clone().into(),
            deferred: true,
            parallel_safe: false,
            poll: false,
            keeps_result: false,
            timeout_ms: Some(CALL_TIME_MS),
        }
    }

    /// Everything that is wrong with it, a sentence each; empty: nothing that can be seen without
    /// running it. `built_in` are the names that nothing else may have.
    pub fn findings(&self, built_in: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        found.extend(name_problem(&self.name, built_in));
        match self.description.trim().chars().count() {
            0 => found.push("the description is empty: say what it does and when to use it".into()),
            n if n > DESCRIPTION_CHARS_MAX => {
                found.push(format!(
                    "the description has {n} characters, at most {DESCRIPTION_CHARS_MAX}"
                ));
            }
            _ => (),
        }
        found.extend(schema_problem(&self.input_schema));
        found.extend(code_problem(&self.code));
        found.extend(self.effects_problems());
        found.extend(self.find_hidden_character());
        found
    }

    fn effects_problems(&self) -> Vec<String> {
        let effects = &self.effects;
        let fields: Vec<&str> = self.input_schema["properties"]
            .as_object()
            .map(|fields| fields.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let mut found = Vec::new();
        let paths = effects.reads.iter().chain(&effects.writes).chain(&effects.deletes);
        found.extend(paths.filter_map(|path| template::template_problem(path, &fields, true)));
        for host in &effects.hosts {
            found.extend(template::template_problem(&host.host, &fields, false));
            let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
            if !known.contains(&host.method.as_str()) {
                found.push(format!("{:?} is no method: {}", host.method, known.join(", ")));
            }
        }
        let long = |text: &&String| text.chars().count() > ENTRY_CHARS_MAX;
        let all = effects.reads.iter().chain(&effects.writes).chain(&effects.deletes);
        let all = all.chain(effects.hosts.iter().map(|host| &host.host)).chain(&effects.tools);
        found.extend(all.filter(long).take(1).map(|_| {
            format!("an entry of the effects has more than {ENTRY_CHARS_MAX} characters")
        }));
        let counts = [
            effects.reads.len(),
            effects.writes.len(),
            effects.deletes.len(),
            effects.hosts.len(),
            effects.tools.len(),
        ];
        if counts.iter().any(|count| *count > ENTRIES_MAX) {
            found.push(format!("at most {ENTRIES_MAX} effects of a kind can be declared"));
        }
        found
    }

    /// Characters that a person would not see, anywhere in it (Z10).
    fn find_hidden_character(&self) -> Option<String> {
        let effects = serde_json::to_value(&self.effects).unwrap_or_default();
        let schema = canonical_json(&self.input_schema);
        let rest = canonical_json(&effects);
        let texts = [
            ("description", self.description.as_str()),
            ("code", self.code.as_str()),
            ("input_schema", schema.as_str()),
            ("effects", rest.as_str()),
        ];
        texts.into_iter().find_map(|(what, text)| {
            let hides = |c: char| is_deceptive(c) || (c.is_control() && c != '\n' && c != '\t');
            let (at, c) = text.char_indices().find(|(_, c)| hides(*c))?;
            let line = text[..at].matches('\n').count() + 1;
            Some(format!(
                "{what} has U+{:04X} in line {line}, which nobody sees; in a string of the code \
                 write it as \\u{{{:x}}}, elsewhere leave it out",
                u32::from(c),
                u32::from(c)
            ))
        })
    }

    /// The whole of it as a person reads it before they agree: what it may touch first, then all of
    /// its code.
    pub fn describe_definition(&self) -> String {
        let mut out = format!("tool {}\n{}\n\nMay touch:\n", self.name, self.description.trim());
        let effects = &self.effects;
        let mut line = |text: String| {
            out.push_str("  ");
            out.push_str(&text);
            out.push('\n');
        };
        effects.reads.iter().for_each(|path| line(format!("reads {path}")));
        effects.writes.iter().for_each(|path| line(format!("writes {path}")));
        effects.deletes.iter().for_each(|path| line(format!("deletes {path}")));
        effects.hosts.iter().for_each(|host| line(format!("{} {}", host.method, host.host)));
        effects.tools.iter().for_each(|tool| line(format!("calls {tool}, whatever that does")));
        if *effects == DeclaredEffects::default() {
            line("nothing: it computes with its arguments".into());
        }
        for remark in look_alikes(&self.code) {
            out.push_str(&format!("\nNote: {remark}\n"));
        }
        let schema = serde_json::to_string_pretty(&self.input_schema).unwrap_or_default();
        out.push_str(&format!("\nInput:\n{schema}\n\nCode:\n{}\n", self.code.trim_end()));
        out
    }
}

/// Why nothing may have this name.
pub fn name_problem(name: &str, built_in: &[&str]) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if name.len() < 3 || name.len() > NAME_CHARS_MAX || !name.chars().all(plain) || !begins {
        return Some(format!(
            "the name must have 3 to {NAME_CHARS_MAX} lower-case letters a to z, digits and \
             underscores, and begin with a letter"
        ));
    }
    if name.starts_with(FOREIGN) {
        return Some(format!("names that begin with {FOREIGN} belong to foreign servers"));
    }
    let bare = |name: &str| name.replace('_', "");
    let taken = built_in.iter().find(|known| bare(known) == bare(name))?;
    Some(format!("{taken} is a built-in tool: choose a name that is not like it"))
}

fn schema_problem(schema: &Value) -> Option<String> {
    let bytes = schema.to_string().len();
    if schema["type"] != "object" {
        return Some("input_schema must be a JSON Schema with \"type\": \"object\"".into());
    }
    if bytes > SCHEMA_BYTES_MAX {
        return Some(format!("input_schema has {bytes} bytes, at most {SCHEMA_BYTES_MAX}"));
    }
    if schema_depth(schema, 0) > SCHEMA_DEPTH_MAX {
        return Some(format!("input_schema is more than {SCHEMA_DEPTH_MAX} levels deep"));
    }
    has_reference(schema).then(|| "input_schema has a $ref: write out what it refers to".into())
}

fn schema_depth(value: &Value, above: usize) -> usize {
    if above > SCHEMA_DEPTH_MAX {
        return above;
    }
    let below = |inner: &Value| schema_depth(inner, above + 1);
    match value {
        Value::Object(map) => map.values().map(below).max().unwrap_or(above),
        Value::Array(items) => items.iter().map(below).max().unwrap_or(above),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => above,
    }
}

/// Whether it refers to itself or elsewhere: cycles, and what others may change.
fn has_reference(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, inner)| {
            (["$ref", "$dynamicRef"].contains(&key.as_str()) && inner.is_string())
                || has_reference(inner)
        }),
        Value::Array(items) => items.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn code_problem(code: &str) -> Option<String> {
    if code.trim().is_empty() {
        return Some("the code is empty: a module with `export function run(input, host)`".into());
    }
    if code.len() > CODE_BYTES_MAX {
        return Some(format!("the code has {} bytes, at most {CODE_BYTES_MAX}", code.len()));
    }
    let mut empty = 0;
    for (number, line) in code.lines().enumerate() {
        let number = number + 1;
        let chars = line.chars().count();
        if chars > LINE_CHARS_MAX {
            return Some(format!(
                "line {number} of the code has {chars} characters, at most {LINE_CHARS_MAX}: a \
                 person has to read it"
            ));
        }
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty > EMPTY_LINES_MAX {
            return Some(format!(
                "line {number} of the code is the {}th empty one in a row: a person has to read \
                 what follows",
                EMPTY_LINES_MAX + 1
            ));
        }
    }
    None
}
