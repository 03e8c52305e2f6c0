//! A `SKILL.md` as bytes becomes a head, findings and instructions. Whatever the bytes are: bounded in
//! time and memory, and never more than findings.

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::skill::{SkillFinding, SkillHead, check_fields, split_frontmatter};

/// Largest `SKILL.md`, in bytes.
pub const SKILL_BYTES_MAX: u64 = 256 * 1024;
/// A head must end within so many bytes: it is all that is read of a skill that is not used.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Tables and lists in each other. The format has two.
const DEPTH_MAX: usize = 8;
/// Values of a head.
const NODES_MAX: usize = 2_000;
/// Characters of what the reader of YAML says.
const WHY_CHARS_MAX: usize = 200;

/// What a `SKILL.md` says.
#[derive(Debug, Clone, Default)]
pub struct ParsedSkill {
    /// Its head; absent: it cannot be used.
    pub head: Option<SkillHead>,
    /// What is wrong with it.
    pub findings: Vec<SkillFinding>,
    /// The instructions below the head. Of a beginning: what there was of them.
    pub body: String,
}

impl ParsedSkill {
    fn from_finding(finding: SkillFinding) -> ParsedSkill {
        ParsedSkill { findings: vec![finding], ..ParsedSkill::default() }
    }
}

/// Reads a whole `SKILL.md` of a folder called `folder`.
pub fn parse_skill(bytes: &[u8], folder: &str) -> ParsedSkill {
    if bytes.len() as u64 > SKILL_BYTES_MAX {
        return ParsedSkill::from_finding(too_large(bytes.len() as u64));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_text(text, folder),
        Err(_) => ParsedSkill::from_finding(not_text()),
    }
}

/// The same of its first [`HEAD_BYTES_MAX`] bytes: for the catalogue. `size` is that of the file.
pub(super) fn parse_beginning(bytes: &[u8], size: u64, folder: &str) -> ParsedSkill {
    if size > SKILL_BYTES_MAX {
        return ParsedSkill::from_finding(too_large(size));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_text(text, folder),
        // The last character may be cut in two.
        Err(error) if error.error_len().is_none() && size > bytes.len() as u64 => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            parse_text(text, folder)
        }
        Err(_) => ParsedSkill::from_finding(not_text()),
    }
}

fn parse_text(text: &str, folder: &str) -> ParsedSkill {
    let (head, body) = match split_frontmatter(text) {
        Ok(parts) => parts,
        Err(finding) => return ParsedSkill::from_finding(finding),
    };
    if head.len() > HEAD_BYTES_MAX {
        let wrong = format!("has a head of more than {HEAD_BYTES_MAX} bytes");
        return ParsedSkill::from_finding(SkillFinding::fatal("SKILL.md", wrong, "keep it short"));
    }
    let fields = match parse_head_yaml(head) {
        Ok(fields) => fields,
        Err(finding) => return ParsedSkill::from_finding(finding),
    };
    let (head, mut findings) = check_fields(&fields, folder);
    if body.trim().is_empty() {
        findings.push(SkillFinding::advice(
            "SKILL.md",
            "has no instructions",
            "write below the head what is to be done",
        ));
    }
    ParsedSkill { head, findings, body: body.to_owned() }
}

/// A name as it is written.
#[derive(Deserialize)]
struct HeadName {
    name: String,
}

/// The fields of a head. No anchors, no aliases, no second document: a skill needs none of them.
fn parse_head_yaml(head: &str) -> Result<Map<String, Value>, SkillFinding> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_depth = DEPTH_MAX;
    budget.flow_nesting_limit = DEPTH_MAX;
    budget.max_nodes = NODES_MAX;
    budget.max_events = NODES_MAX * 4;
    budget.max_aliases = 0;
    budget.max_anchors = 0;
    budget.max_merge_keys = 0;
    budget.max_documents = 1;
    budget.max_total_scalar_bytes = HEAD_BYTES_MAX;
    // `y`, `no` and `on` are words, and names of skills, as in YAML 1.2.
    let options = serde_saphyr::options! {
        budget: Some(budget),
        with_snippet: false,
        strict_booleans: true,
    };
    let write = "write it as `name: value`, texts with a colon in quotes";
    // The line before the head counts, so that lines are those of the file.
    let head = format!("\n{head}");
    let read = serde_saphyr::from_str_with_options::<Value>(&head, options.clone());
    match read {
        Ok(Value::Object(mut fields)) => {
            // A folder may be called 007 or true: as a name it is its letters, whatever else it is.
            if matches!(fields.get("name"), Some(Value::Number(_) | Value::Bool(_)))
                && let Ok(HeadName { name }) = serde_saphyr::from_str_with_options(&head, options)
            {
                fields.insert("name".into(), Value::String(name));
            }
            Ok(fields)
        }
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(SkillFinding::fatal("SKILL.md", "has a head that is no table", write)),
        Err(error) => {
            let why: String = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            let why: String = why.chars().take(WHY_CHARS_MAX).collect();
            let wrong = format!("has a head that is no YAML ({why})");
            Err(SkillFinding::fatal("SKILL.md", wrong, write))
        }
    }
}

fn too_large(bytes: u64) -> SkillFinding {
    let wrong = format!("has {bytes} bytes, {SKILL_BYTES_MAX} is the most");
    SkillFinding::fatal("SKILL.md", wrong, "move parts of it into files beside it")
}

fn not_text() -> SkillFinding {
    SkillFinding::fatal("SKILL.md", "is not valid UTF-8", "save it as UTF-8")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use weir_core::skill::{SkillDraft, SkillTrigger, skill_md};

    use super::*;

    fn wrong(text: &str) -> String {
        let parsed = parse_skill(text.as_bytes(), "a");
        assert!(parsed.head.is_none(), "{text:?} can be used");
        parsed.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn m1_yaml_in_all_its_forms_is_read() {
        let text = "---\nname: a # its name\ndescription: >-\n  Does\n  it: well\n\nlicense: 'MIT'\n\
                    metadata: {version: 1.0, trigger: 'x, y'}\nallowed-tools:\n  - Read\n---\n\nBody\n";
        let parsed = parse_skill(text.as_bytes(), "a");
        assert_eq!(parsed.findings, []);
        let head = parsed.head.expect("usable");
        assert_eq!(head.description, "Does it: well");
        assert_eq!(head.metadata.get("version").map(String::as_str), Some("1.0"));
        assert_eq!(head.trigger, SkillTrigger::Words(vec!["x".into(), "y".into()]));
        assert_eq!(head.allowed_tools, ["Read"]);
        assert_eq!(parsed.body.trim(), "Body");
    }

    #[test]
    fn m1_a_skill_may_be_called_what_yaml_takes_for_something_else() {
        for name in ["y", "n", "yes", "no", "on", "off", "true", "false", "7", "1e3", "007"] {
            let text = format!("---\nname: {name}\ndescription: x\n---\nBody\n");
            let parsed = parse_skill(text.as_bytes(), name);
            assert_eq!(parsed.findings, [], "{name}");
            assert_eq!(parsed.head.map(|head| head.name).as_deref(), Some(name));
        }
        // A name that is missing still is.
        assert!(wrong("---\nname:\ndescription: x\n---\nBody\n").contains("name is missing"));
    }

    #[test]
    fn m1_what_weir_writes_reads_back_as_it_was() {
        for description in ["x", "a: b # c", "\"q\" 'r' \\ --- é 😀 @ - * &", "- [x] {y}: |"] {
            let draft = SkillDraft {
                name: "a".into(),
                description: description.into(),
                body: "---\nDo\n---".into(),
                trigger: "/a[b-]--c/i".into(),
                metadata: BTreeMap::from([("author".into(), "weir".into())]),
            };
            let parsed = parse_skill(skill_md(&draft).as_bytes(), "a");
            assert_eq!(parsed.findings, [], "{description}");
            let head = parsed.head.expect("usable");
            assert_eq!(head.description, description);
            assert_eq!(head.trigger.to_string(), draft.trigger);
            assert_eq!(head.metadata["author"], "weir");
            assert_eq!(parsed.body.trim(), draft.body);
        }
    }

    #[test]
    fn m1_what_is_wrong_with_a_file_is_said_with_its_line() {
        for (text, said) in [
            ("no head", "has no head"),
            ("---\nname: a\n", "without an end"),
            ("---\nname: a\nname: b\n---\n", "line 3"),
            ("---\ndescription: a: b\nname: a\n---\n", "line 2"),
            ("---\n- a\n---\n", "no table"),
            ("---\n---\n", "name is missing"),
            ("---\na: &x 1\nb: *x\n---\n", "no YAML"),
        ] {
            let found = wrong(text);
            assert!(found.contains(said), "{text:?} -> {found}");
        }
        assert!(parse_skill(b"---\nname: \xff\n---\n", "a").findings[0].wrong.contains("UTF-8"));
        let large = vec![b'x'; SKILL_BYTES_MAX as usize + 1];
        assert!(parse_skill(&large, "a").findings[0].wrong.contains("is the most"));
    }

    #[test]
    fn m1_hostile_heads_are_bounded() {
        let bombs = [
            format!("---\na: {}\n---\n", "[".repeat(10_000)),
            format!("---\na: {}\n---\n", "{a: ".repeat(5_000)),
            format!("---\n{}---\n", "a: &a [*a,*a,*a,*a,*a,*a]\n".repeat(50)),
            format!("---\n{}---\n", (0..3_000).map(|n| format!("k{n}: 1\n")).collect::<String>()),
            format!("---\ndescription: {}\n---\n", "x".repeat(100_000)),
        ];
        for bomb in bombs {
            let began = Instant::now();
            wrong(&bomb);
            assert!(began.elapsed() < Duration::from_secs(30));
        }
    }

    #[test]
    fn m1_a_beginning_that_ends_in_a_character_is_read() {
        let text = format!("---\nname: a\ndescription: x\n---\n{}", "é".repeat(100));
        let parsed = parse_beginning(&text.as_bytes()[..40], text.len() as u64, "a");
        assert!(parsed.head.is_some());
        let whole = parse_beginning(&text.as_bytes()[..40], 40, "a");
        assert!(whole.head.is_none() || whole.body.is_char_boundary(whole.body.len()));
    }
}
