//! The `SKILL.md` that Weir writes: in the form that other programs of the format accept, its
//! reference validator among them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX, SkillFinding, SkillTrigger, name_problem};

/// Longest instructions of a skill that Weir writes, in characters: what is longer belongs into files
/// beside it.
pub const BODY_CHARS_MAX: usize = 50_000;

/// A skill that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillDraft {
    /// Its name: that of its folder.
    pub name: String,
    /// One or two sentences: its purpose, and when to use it.
    pub description: String,
    /// Its instructions, in Markdown.
    pub body: String,
    /// Keywords with commas between, or `/…/`; empty: none.
    pub trigger: String,
    /// Further fields of the head, kept as they are.
    pub metadata: BTreeMap<String, String>,
}

impl SkillDraft {
    /// What is wrong with it; empty: nothing.
    pub fn findings(&self) -> Vec<SkillFinding> {
        let mut found = Vec::new();
        // A name that looks like another one must not take its place.
        let foreign = self.name.chars().find(|c| !c.is_ascii());
        let foreign = foreign.map(|c| format!("has {c:?} in it"));
        if let Some(problem) = name_problem(&self.name).or(foreign) {
            let write = format!(
                "write lower-case letters a to z, digits and single hyphens, at most {NAME_CHARS_MAX}"
            );
            found.push(SkillFinding::fatal("name", problem, write));
        }
        let described = one_line(&self.description).chars().count();
        if described == 0 || described > DESCRIPTION_CHARS_MAX {
            let wrong = format!("has {described} characters");
            let write =
                format!("say what it does and when to use it, in 1 to {DESCRIPTION_CHARS_MAX}");
            found.push(SkillFinding::fatal("description", wrong, write));
        }
        let length = self.body.trim().chars().count();
        if length == 0 {
            found.push(SkillFinding::fatal(
                "body",
                "is empty",
                "write the instructions in Markdown",
            ));
        } else if length > BODY_CHARS_MAX {
            let wrong = format!("has {length} characters, {BODY_CHARS_MAX} is the most");
            found.push(SkillFinding::fatal("body", wrong, "keep to what the task needs"));
        }
        if !self.trigger.trim().is_empty()
            && let Err((wrong, write)) =
                SkillTrigger::from_value(&Value::String(one_line(&self.trigger)))
        {
            found.push(SkillFinding::fatal("trigger", wrong, write));
        }
        found
    }
}

/// The whole text of the file. Of what [`SkillDraft::findings`] finds fault with nothing is mended.
pub fn skill_md(draft: &SkillDraft) -> String {
    let mut metadata = draft.metadata.clone();
    if !draft.trigger.trim().is_empty() {
        metadata.insert("trigger".into(), draft.trigger.clone());
    }
    let mut text = String::from("---\n");
    let _ = writeln!(text, "name: {}", quote_yaml(&draft.name));
    let _ = writeln!(text, "description: {}", quote_yaml(&draft.description));
    if !metadata.is_empty() {
        text.push_str("metadata:\n");
        for (key, value) in &metadata {
            let _ = writeln!(text, "  {}: {}", quote_yaml(key), quote_yaml(value));
        }
    }
    text.push_str("---\n\n");
    text.push_str(draft.body.trim());
    text.push('\n');
    text
}

/// A text as JSON and YAML both quote it, without `--`: readers that end the head at the first `---`
/// they see find none in it.
fn quote_yaml(text: &str) -> String {
    Value::String(one_line(text)).to_string().replace("--", "-\\u002d")
}

/// Without line ends and what YAML does not let stand.
fn one_line(text: &str) -> String {
    let blank = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let text: String = text.chars().map(|c| if blank(c) { ' ' } else { c }).collect();
    text.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_a_written_skill_keeps_the_trigger_below_metadata() {
        let draft = SkillDraft {
            name: "a".into(),
            description: "Says: \"x\" --- y\nand z".into(),
            body: "\nDo it.\n".into(),
            trigger: "one, two".into(),
            metadata: BTreeMap::from([("author".into(), "weir".into())]),
        };
        assert_eq!(draft.findings(), []);
        assert_eq!(
            skill_md(&draft),
            "---\nname: \"a\"\ndescription: \"Says: \\\"x\\\" -\\u002d- y and z\"\nmetadata:\n  \
             \"author\": \"weir\"\n  \"trigger\": \"one, two\"\n---\n\nDo it.\n"
        );
    }

    #[test]
    fn m1_a_draft_is_told_what_is_wrong_with_it() {
        let bad = SkillDraft { name: "../x".into(), trigger: "//".into(), ..SkillDraft::default() };
        let fields: Vec<String> = bad.findings().into_iter().map(|f| f.field).collect();
        assert_eq!(fields, ["name", "description", "body", "trigger"]);
        let lookalike = SkillDraft { name: "соde".into(), ..SkillDraft::default() };
        assert_eq!(lookalike.findings()[0].field, "name");
    }
}
