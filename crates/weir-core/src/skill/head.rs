//! The head of a `SKILL.md`: where it ends, and its fields held against the format (M1). The fields
//! come as plain values; reading YAML is the caller's business.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SkillTrigger;

/// Longest name (Agent Skills format), in characters.
pub const NAME_CHARS_MAX: usize = 64;
/// Longest description (Agent Skills format), in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Longest text of `compatibility` (Agent Skills format), in characters.
pub const COMPATIBILITY_CHARS_MAX: usize = 500;
/// Most entries of `metadata` and `allowed-tools`.
const ENTRIES_MAX: usize = 100;
/// Fields of the format, and `trigger`, which is Weir's.
const FIELDS: [&str; 7] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "trigger"];
/// Where a trigger may stand below `metadata`: the first that is there counts.
const TRIGGERS: [&str; 2] = ["trigger", "weir-trigger"];

/// What the head of a skill says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SkillHead {
    /// Its name: that of its folder.
    pub name: String,
    /// One or two sentences: its purpose, and when to use it.
    pub description: String,
    /// Under which licence it may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Programs and surroundings that the skill needs, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Further fields of the head, kept as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Tools that its author wants allowed. Shown to people; it allows nothing: rules do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// What in a message makes it active.
    #[serde(default, skip_serializing_if = "SkillTrigger::is_none")]
    pub trigger: SkillTrigger,
}

/// Something that is wrong with a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillFinding {
    /// The name of the field; `SKILL.md` when it is about the file.
    pub field: String,
    /// The mistake, as a sentence for people.
    pub wrong: String,
    /// What to write instead.
    pub write: String,
    /// The skill cannot be used like this. Otherwise only this field has no effect, or other programs
    /// may refuse it.
    pub fatal: bool,
}

impl SkillFinding {
    /// The skill cannot be used.
    pub fn fatal(
        field: impl Into<String>,
        wrong: impl Into<String>,
        write: impl Into<String>,
    ) -> SkillFinding {
        SkillFinding { field: field.into(), wrong: wrong.into(), write: write.into(), fatal: true }
    }

    /// The skill can be used all the same.
    pub fn advice(
        field: impl Into<String>,
        wrong: impl Into<String>,
        write: impl Into<String>,
    ) -> SkillFinding {
        SkillFinding { fatal: false, ..SkillFinding::fatal(field, wrong, write) }
    }
}

impl fmt::Display for SkillFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.field, self.wrong, self.write)
    }
}

/// Takes a `SKILL.md` apart: the YAML of its head, and the instructions below.
///
/// # Errors
/// It has no head, or the head has no end.
pub fn split_frontmatter(text: &str) -> Result<(&str, &str), SkillFinding> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let none = || {
        SkillFinding::fatal(
            "SKILL.md",
            "has no head",
            "begin it with a line `---`, then `name: …` and `description: …`, then a line `---`",
        )
    };
    let (first, after) = text.split_once('\n').ok_or_else(none)?;
    if first.trim_end() != "---" {
        return Err(none());
    }
    let mut at = 0;
    for line in after.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&after[..at], &after[at + line.len()..]));
        }
        at += line.len();
    }
    Err(SkillFinding::fatal("SKILL.md", "has a head without an end", "end it with a line `---`"))
}

/// What is wrong with the name of a skill; `None`: nothing.
pub fn name_problem(name: &str) -> Option<String> {
    let plain = |c: char| c == '-' || (c.is_alphanumeric() && c.to_lowercase().eq([c]));
    if name.is_empty() {
        return Some("is empty".into());
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(format!("is longer than {NAME_CHARS_MAX} characters"));
    }
    if let Some(bad) = name.chars().find(|c| !plain(*c)) {
        return Some(format!("has {bad:?} in it"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("begins or ends with a hyphen".into());
    }
    name.contains("--").then(|| "has two hyphens in a row".into())
}

/// Holds the fields of a head against the format. `folder` is the name of the skill's folder. The
/// head is absent when a finding is fatal; the trigger is absent when it cannot be used.
pub fn check_fields(
    fields: &Map<String, Value>,
    folder: &str,
) -> (Option<SkillHead>, Vec<SkillFinding>) {
    let mut found = Vec::new();
    let mut head = SkillHead {
        name: check_name(fields, folder, &mut found),
        description: check_description(fields, &mut found),
        ..SkillHead::default()
    };
    head.license = text_of(fields, "license", &mut found);
    head.compatibility = text_of(fields, "compatibility", &mut found);
    if head.compatibility.as_ref().is_some_and(|t| t.chars().count() > COMPATIBILITY_CHARS_MAX) {
        let wrong = format!("is longer than {COMPATIBILITY_CHARS_MAX} characters");
        found.push(SkillFinding::fatal("compatibility", wrong, "say only what the skill needs"));
    }
    head.allowed_tools = allowed_tools(fields, &mut found);
    head.metadata = check_metadata(fields, &mut found);
    head.trigger = read_trigger(fields, &mut found);
    for field in fields.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
        found.push(SkillFinding::advice(
            showable_name(field),
            "is no field of the format and has no effect",
            "take it away, or put it below `metadata`",
        ));
    }
    let usable = !found.iter().any(|finding| finding.fatal);
    (usable.then_some(head), found)
}

fn check_name(fields: &Map<String, Value>, folder: &str, found: &mut Vec<SkillFinding>) -> String {
    let Some(name) = text_of(fields, "name", found) else {
        if !found.iter().any(|finding| finding.field == "name") {
            found.push(SkillFinding::fatal(
                "name",
                "is missing",
                format!("write `name: {folder}`"),
            ));
        }
        return String::new();
    };
    if let Some(problem) = name_problem(&name) {
        let write =
            "write lower-case letters, digits and single hyphens, at most 64: `code-review`";
        found.push(SkillFinding::fatal("name", problem, write));
    } else if name != folder {
        let wrong = format!("is {name}, but the folder is called {}", showable_name(folder));
        found.push(SkillFinding::fatal("name", wrong, "give both the same name"));
    }
    name
}

fn check_description(fields: &Map<String, Value>, found: &mut Vec<SkillFinding>) -> String {
    let before = found.len();
    let text = text_of(fields, "description", found).unwrap_or_default();
    if found.len() > before {
        return text;
    }
    let write = "write what the skill does and when to use it, in a sentence or two";
    if text.trim().is_empty() {
        found.push(SkillFinding::fatal("description", "is missing", write));
    } else if text.chars().count() > DESCRIPTION_CHARS_MAX {
        let count = text.chars().count();
        let wrong = format!("has {count} characters, {DESCRIPTION_CHARS_MAX} is the most");
        found.push(SkillFinding::fatal("description", wrong, write));
    }
    text
}

/// A field that is one text; numbers and the like are taken as they are written.
fn text_of(
    fields: &Map<String, Value>,
    field: &str,
    found: &mut Vec<SkillFinding>,
) -> Option<String> {
    match fields.get(field)? {
        Value::Null => None,
        value => {
            let text = scalar_text(value);
            if text.is_none() {
                found.push(SkillFinding::fatal(
                    field,
                    "is not a text",
                    format!("write `{field}: …`"),
                ));
            }
            text.map(|text| text.trim().to_owned())
        }
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn allowed_tools(fields: &Map<String, Value>, found: &mut Vec<SkillFinding>) -> Vec<String> {
    let tools: Option<Vec<String>> = match fields.get("allowed-tools") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items.iter().map(scalar_text).collect(),
        Some(value) => scalar_text(value).map(|text| split_words(&text)),
    };
    match tools {
        Some(tools) if tools.len() <= ENTRIES_MAX => tools,
        Some(_) => {
            let wrong = format!("names more than {ENTRIES_MAX} tools");
            found.push(SkillFinding::advice("allowed-tools", wrong, "name those that it needs"));
            Vec::new()
        }
        None => {
            let write = "write the names with spaces between: `Bash(git:*) Read`";
            found.push(SkillFinding::advice("allowed-tools", "is not a list of names", write));
            Vec::new()
        }
    }
}

/// Words between spaces; what stands in brackets stays together.
fn split_words(text: &str) -> Vec<String> {
    let mut depth = 0_i32;
    let parts = text.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth <= 0 && (c.is_whitespace() || c == ',')
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn check_metadata(
    fields: &Map<String, Value>,
    found: &mut Vec<SkillFinding>,
) -> BTreeMap<String, String> {
    let table = match fields.get("metadata") {
        None | Some(Value::Null) => return BTreeMap::new(),
        Some(Value::Object(table)) if table.len() <= ENTRIES_MAX => table,
        Some(Value::Object(_)) => {
            let wrong = format!("has more than {ENTRIES_MAX} entries");
            found.push(SkillFinding::advice("metadata", wrong, "keep fewer"));
            return BTreeMap::new();
        }
        Some(_) => {
            let write = "write lines `name: text` below it";
            found.push(SkillFinding::fatal("metadata", "is not a table of texts", write));
            return BTreeMap::new();
        }
    };
    let mut metadata = BTreeMap::new();
    for (key, value) in table {
        match scalar_text(value) {
            Some(text) => {
                metadata.insert(key.clone(), text);
            }
            // A trigger may be a list; it is read as what it is.
            None if TRIGGERS.contains(&key.as_str()) || value.is_null() => {}
            None => {
                let field = format!("metadata.{}", showable_name(key));
                found.push(SkillFinding::advice(field, "is not a text", "write it in quotes"));
            }
        }
    }
    metadata
}

/// The trigger: in the head, or below `metadata`, where other programs let it stand.
fn read_trigger(fields: &Map<String, Value>, found: &mut Vec<SkillFinding>) -> SkillTrigger {
    let below = fields.get("metadata").and_then(Value::as_object);
    let below = below.and_then(|table| {
        TRIGGERS.iter().find_map(|key| Some((format!("metadata.{key}"), table.get(*key)?)))
    });
    let top = fields.get("trigger").map(|value| ("trigger".to_owned(), value));
    let Some((field, value)) = top.or(below).filter(|(_, value)| !value.is_null()) else {
        return SkillTrigger::None;
    };
    match SkillTrigger::from_value(value) {
        Ok(trigger) => trigger,
        Err((wrong, write)) => {
            found.push(SkillFinding::advice(field, wrong, write));
            SkillTrigger::None
        }
    }
}

/// A name from a file, fit to be shown in a message.
fn showable_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn findings(value: &Value) -> Vec<String> {
        let fields = value.as_object().cloned().unwrap_or_default();
        check_fields(&fields, "a").1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn m1_names_are_held_against_the_format() {
        for good in ["a", "code-review", "x2", "résumé", &"a".repeat(64)] {
            assert_eq!(name_problem(good), None, "{good}");
        }
        for (bad, why) in [
            ("", "empty"),
            ("Code", "'C'"),
            ("a_b", "'_'"),
            ("a b", "' '"),
            ("../a", "'.'"),
            ("-a", "hyphen"),
            ("a-", "hyphen"),
            ("a--b", "two hyphens"),
            ("É", "'É'"),
            ("a\0", "'\\0'"),
        ] {
            assert!(name_problem(bad).is_some_and(|p| p.contains(why)), "{bad}");
        }
        assert!(name_problem(&"a".repeat(65)).is_some());
    }

    #[test]
    fn m1_each_field_has_its_rule_and_says_what_to_write() {
        let good = json!({"name": "a", "description": "x", "license": "MIT", "metadata": {"v": 1}});
        assert_eq!(findings(&good), [] as [String; 0]);
        for (fields, said) in [
            (json!({"description": "x"}), "name is missing: write `name: a`"),
            (json!({"name": "b", "description": "x"}), "name is b, but the folder is called a"),
            (json!({"name": ["a"], "description": "x"}), "name is not a text"),
            (json!({"name": "a"}), "description is missing"),
            (json!({"name": "a", "description": "  "}), "description is missing"),
            (json!({"name": "a", "description": "x".repeat(1025)}), "has 1025 characters"),
            (
                json!({"name": "a", "description": "x", "compatibility": "y".repeat(501)}),
                "compatibility is longer than 500",
            ),
            (json!({"name": "a", "description": "x", "metadata": "y"}), "metadata is not a table"),
            (json!({"name": "a", "description": "x", "model": "y"}), "model is no field"),
        ] {
            let found = findings(&fields);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(said), "{found:?} has no {said:?}");
        }
        let (head, found) = check_fields(&Map::new(), "a");
        assert!(head.is_none() && found.iter().all(|finding| finding.fatal));
    }

    #[test]
    fn m1_a_trigger_stands_in_the_head_or_below_metadata() {
        let read = |value: Value| {
            let mut fields = json!({"name": "a", "description": "x"});
            let more = value.as_object().cloned().unwrap_or_default();
            fields.as_object_mut().expect("a table").extend(more);
            check_fields(fields.as_object().expect("a table"), "a").0.expect("usable").trigger
        };
        for place in [
            json!({"trigger": "one, two"}),
            json!({"trigger": ["one", "two"]}),
            json!({"metadata": {"trigger": "one, two"}}),
            json!({"metadata": {"weir-trigger": ["one", "two"]}}),
        ] {
            assert_eq!(read(place), SkillTrigger::Words(vec!["one".into(), "two".into()]));
        }
        assert_eq!(read(json!({"trigger": {"a": 1}})), SkillTrigger::None);
    }

    #[test]
    fn m1_a_head_ends_at_its_line() {
        assert_eq!(split_frontmatter("---\nname: a\n---\nbody"), Ok(("name: a\n", "body")));
        assert_eq!(split_frontmatter("\u{feff}---\r\nname: a\r\n---\r\n"), Ok(("name: a\r\n", "")));
        assert_eq!(split_frontmatter("---\na: x --- y\n---\n---\n"), Ok(("a: x --- y\n", "---\n")));
        for bad in ["", "name: a", "---", "---\nname: a\n", "--- \u{0}\n"] {
            assert!(split_frontmatter(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn m1_allowed_tools_keep_their_brackets_together() {
        assert_eq!(split_words("Bash(git add:*) Read,Write"), ["Bash(git add:*)", "Read", "Write"]);
    }
}
