//! Skills (M1): folders of instructions in the Agent Skills format, and the rules of that format.
//! Pure. Not here: what a session knows of one (`knowledge`), where skills are found, how YAML is
//! read.

mod head;
mod said;
mod trigger;
mod write;

pub use head::{
    COMPATIBILITY_CHARS_MAX, DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX, SkillFinding, SkillHead,
    check_fields, name_problem, split_frontmatter,
};
pub use said::{fill_arguments, names_in};
pub use trigger::{SkillTrigger, TriggerWords};
pub use write::{BODY_CHARS_MAX, SkillDraft, skill_md};

pub use crate::knowledge::skill::{SkillLine, SkillNote};
