//! Known ways to do a kind of task (M5), as journals, tools and stores name them. Not here: which
//! fits, what a run teaches, and what the fast path makes of one (`crate::recipe`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Timestamp;
use crate::label::Label;

/// A known way to do a kind of task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Its name in files and commands: `[a-z0-9-]{1,64}`.
    pub id: String,
    /// Name that people read.
    pub name: String,
    /// One or two sentences: when it fits and what it does.
    pub description: String,
    /// Words and phrases of which some stand in a message that it fits.
    pub triggers: Vec<String>,
    /// Words and phrases that rule it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// What differs from use to use; steps name them as `{{name}}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<RecipeParameter>,
    /// What is done, in order.
    pub steps: Vec<RecipeStep>,
    /// Whether the program brings it, a person wrote it, or runs taught it.
    #[serde(default)]
    pub source: RecipeSource,
    /// Profiles in which it may be used; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// A message with attachments may use it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attachments: bool,
    /// Whose words it was made from (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// What differs from use to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecipeParameter {
    /// Its name: `[a-z0-9_]+`.
    pub name: String,
    /// A description for the planner.
    #[serde(default)]
    pub description: String,
    /// The recipe can do without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// One call of a recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecipeStep {
    /// Name of the tool that is called.
    pub tool: String,
    /// Its arguments; texts may contain `{{parameter}}` and `{{step1.result}}`, the text that an
    /// earlier step gave.
    pub input: Value,
    /// The conditions that the result must satisfy for the recipe to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<StepExpectation>,
}

/// What the result of a step must satisfy. Everything that is set must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct StepExpectation {
    /// This text stands in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// This text does not stand in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// There is some text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub some: bool,
}

/// Where a recipe comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RecipeSource {
    /// It came with the program.
    Bundled,
    /// It was made from runs.
    Learned,
    /// A person wrote it.
    #[default]
    Written,
}

/// Uses after which a recipe may take the fast path (L16).
pub const FAST_FROM: i64 = 3;
/// A recipe with fewer points is neither told nor followed until a person accepts it again (M5).
pub const FLOOR: i64 = 0;

/// How often a recipe worked. Only use counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RecipeStanding {
    /// Runs that followed it and completed.
    pub successes: u32,
    /// Runs that followed it and failed, fell back, or were stopped or corrected by the person.
    pub failures: u32,
    /// When it was followed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
}

impl RecipeStanding {
    /// A success adds one, a failure subtracts one.
    pub fn points(&self) -> i64 {
        i64::from(self.successes) - i64::from(self.failures)
    }
    /// Whether the recipe may take the fast path.
    pub fn is_fast(&self) -> bool {
        self.points() >= FAST_FROM
    }
    /// Whether the recipe's points are below the floor, so that it is not used.
    pub fn is_demoted(&self) -> bool {
        self.points() < FLOOR
    }
}

/// A recipe that fits what was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeMatch {
    /// The recipe with its steps.
    pub recipe: Recipe,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// How often it worked.
    #[serde(default)]
    pub standing: RecipeStanding,
}

/// One call that the planner made of a recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PlannedCall {
    /// Name of the tool that is called.
    pub tool: String,
    /// Its arguments; `{{step1.result}}` is what the first call gave.
    pub input: Value,
    /// The conditions that the result must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<StepExpectation>,
}

/// What a run made of a recipe: counted once, with the fact that the run was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeUse {
    /// Id of the recipe.
    pub recipe: String,
    /// By the fast path; otherwise the agent followed it call by call.
    pub fast: bool,
    /// It completed, followed to its end.
    pub ok: bool,
}
