//! Skills that come with the program: their folders stand in `crates/weir-engine/skills`. Another one
//! is a folder there and a line here.

use std::sync::{Arc, LazyLock};

use weir_core::skill::SkillHead;

/// What the heads of the files say, one a line and in the order of [`BUNDLED`], in the form that is read fastest:
/// every run lists skills before it asks a model, and reads no YAML for those that it brings along (Q1, Q5). A
/// test writes and compares it.
const READ: &str = include_str!("../../skills/bundled.jsonl");

static HEADS: LazyLock<Vec<Arc<SkillHead>>> =
    LazyLock::new(|| READ.lines().filter_map(|line| serde_json::from_str(line).ok()).collect());

/// The skills of the program with their heads.
pub(super) fn bundled_skills() -> impl Iterator<Item = (&'static BundledSkill, Arc<SkillHead>)> {
    BUNDLED.iter().zip(HEADS.iter().cloned())
}

/// A skill of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundledSkill {
    /// Name of the skill.
    pub(super) name: &'static str,
    /// Its `SKILL.md`.
    pub(super) text: &'static str,
}

/// All of them, by name.
pub(super) const BUNDLED: &[BundledSkill] = &[
    BundledSkill { name: "code-review", text: include_str!("../../skills/code-review/SKILL.md") },
    BundledSkill {
        name: "weekly-review",
        text: include_str!("../../skills/weekly-review/SKILL.md"),
    },
    BundledSkill {
        name: "write-a-skill",
        text: include_str!("../../skills/write-a-skill/SKILL.md"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::parse_skill;

    #[test]
    fn q1_the_kept_heads_are_what_the_files_say() {
        let heads = BUNDLED.iter().map(|skill| {
            parse_skill(skill.text.as_bytes(), skill.name).head.expect("one without fault")
        });
        let heads: Vec<SkillHead> = heads.collect();
        if std::env::var_os("UPDATE").is_some() {
            let line = |head| serde_json::to_string(head).expect("plain values") + "\n";
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/skills/bundled.jsonl");
            std::fs::write(path, heads.iter().map(line).collect::<String>()).expect("writable");
            return;
        }
        let kept: Vec<SkillHead> = bundled_skills().map(|(_, head)| (*head).clone()).collect();
        assert!(
            kept == heads,
            "skills/bundled.jsonl is not what the files say: run this test with UPDATE=1"
        );
    }

    #[test]
    fn m1_the_program_s_own_skills_are_without_fault() {
        for skill in BUNDLED {
            let parsed = parse_skill(skill.text.as_bytes(), skill.name);
            assert_eq!(parsed.findings, [], "{}", skill.name);
            assert!(parsed.head.is_some_and(|head| !head.trigger.is_none()), "{}", skill.name);
        }
    }
}
