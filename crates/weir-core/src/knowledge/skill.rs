//! Skills (M1) as journals and prompts name them: a line of the catalogue, and one that is active.
//! Not here: the format of their files and what makes one active (`crate::skill`).

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// One line of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SkillLine {
    /// Name of the skill.
    pub name: String,
    /// One or two sentences: its purpose, and when to use it.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SkillNote {
    /// Name of the skill.
    pub name: String,
    /// Path of the file, or the plugin, that the skill is from.
    pub source: String,
    /// The cause of its being active: `trigger`, `person`, `profile`, `read_skill`, `invoke_skill`.
    pub by: String,
    /// Instructions of the skill, without its head.
    pub text: String,
    /// Whose words they are.
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
    /// What the person wrote behind its name; it stands in the instructions where they have a place
    /// for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}
