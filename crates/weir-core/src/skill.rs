//! Skills (M1): folders of instructions in the Agent Skills format, as the session sees them, and the
//! rules of that format. Pure: not here are where skills are found and how YAML is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governance::label::Label;

mod head;
mod said;
mod trigger;
mod write;

pub use head::{
    COMPATIBILITY_CHARS_MAX, DESCRIPTION_CHARS_MAX, Finding, NAME_CHARS_MAX, SkillHead, check,
    name_problem, split,
};
pub use said::{filled, names_in};
pub use trigger::{Trigger, TriggerWords};
pub use write::{BODY_CHARS_MAX, SkillDraft, skill_md};

/// One line of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillLine {
    /// Its name.
    pub name: String,
    /// What it is for and when to use it.
    pub description: String,
    /// Where it was found: `bundled`, `yours`, or a path of the workspace.
    pub source: String,
    /// The agent wrote it and a person accepted it (section 13).
    #[serde(default)]
    pub self_written: bool,
    /// The plugin that brings it (section 9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// A skill that is active: its text stands in section 10 and is told again after condensing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillNote {
    /// Its name.
    pub name: String,
    /// Where it was found.
    pub source: String,
    /// Who made it active: `trigger`, `person`, `profile`, `read_skill`, `invoke_skill`.
    pub by: String,
    /// Its instructions.
    pub text: String,
    /// Whose words they are.
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
    /// What the person wrote behind its name; it stands in the instructions where they have a place
    /// for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}
