//! Skills that come with the program: their folders stand in `crates/weir-engine/skills`. Another one
//! is a folder there and a line here.

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
    fn m1_the_program_s_own_skills_are_without_fault() {
        for skill in BUNDLED {
            let parsed = parse_skill(skill.text.as_bytes(), skill.name);
            assert_eq!(parsed.findings, [], "{}", skill.name);
            assert!(parsed.head.is_some_and(|head| !head.trigger.is_none()), "{}", skill.name);
        }
    }
}
