//! Recipes (M5): which fits, what a run teaches, and what the fast path makes of one (L16). Not here:
//! what a recipe is (`knowledge`), where recipes are kept, and the session that follows one.

mod check;
mod learn;
mod matching;
mod placeholder;
pub mod plan;
mod words;

pub use check::{
    DESCRIPTION_CHARS_MAX, ID_CHARS_MAX, NAME_CHARS_MAX, PARAMETERS_MAX, STEPS_MAX, TRIGGERS_MAX,
    check_recipe, is_id,
};
pub use learn::{
    EVIDENCE_RUNS, LearnedRecipe, RecipeEvidence, SHAPE_CALLS_MAX, SHAPE_CALLS_MIN, SolvedCall,
    SolvedRun, learn_recipes, same_task,
};
pub use matching::{FLOOR_DEFAULT, MATCHES_MAX, RecipeCandidate, match_recipes, recipe_score};

pub use crate::knowledge::recipe::{
    FAST_FROM, FLOOR, PlannedCall, Recipe, RecipeMatch, RecipeParameter, RecipeSource,
    RecipeStanding, RecipeStep, RecipeUse, StepExpectation,
};
