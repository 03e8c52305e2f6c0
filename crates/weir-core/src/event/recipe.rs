//! Facts about recipes: one fits, one is followed, one is left (L16, M5). The kinds stand in the list
//! of [`super::Event`]. Not here: what a session makes of them.

use serde::{Deserialize, Serialize};

use crate::ids::TurnId;
use crate::knowledge::recipe::PlannedCall;
use crate::message::CallBlock;
use crate::model::Usage;

/// A recipe fits what was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeMatched {
    /// Id of the recipe.
    pub recipe: String,
    /// Name that people read.
    pub name: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// It takes the fast path: its steps are followed without asking the model after each.
    pub fast: bool,
    /// Runs that followed it and completed.
    pub successes: u32,
    /// Runs that followed it and did not.
    pub failures: u32,
    /// How a person stops it: a sentence.
    pub stop: String,
}

/// The planner filled a recipe in, or could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipePlanned {
    /// Id of the recipe.
    pub recipe: String,
    /// The calls in their order; empty where there is no plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PlannedCall>,
    /// Why there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Tokens of the planner: they count.
    #[serde(default)]
    pub usage: Usage,
    /// The cost of the tokens, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Calls of a recipe are made in this turn; the model was not asked for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeStepped {
    /// Number of the turn whose calls the recipe gave.
    pub turn: TurnId,
    /// Id of the recipe.
    pub recipe: String,
    /// The step of the first of them, counted from 1.
    pub step: u32,
    /// The calls, with earlier results put in.
    pub calls: Vec<CallBlock>,
}

/// A recipe is not followed any further: the agent goes on by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeFallback {
    /// Id of the recipe.
    pub recipe: String,
    /// The step that it stopped at, counted from 1; absent: before or between steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The reason, as a sentence for people and the model.
    pub reason: String,
}
