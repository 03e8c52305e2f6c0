//! `execute_recipe`: has the steps of a known recipe made, one after the other, without asking the
//! model after each (L16, M5).
//!
//! It fills the parameters in and touches nothing; the session makes the calls, and each is judged
//! like any other.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::label::Label;
use weir_core::recipe::{PlannedCall, Recipe, RecipeMatch, plan};
use weir_core::tool::{AgentControl, EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, Knowledge, ToolContext};

use crate::built::{ActionTool, empty_plan, quoting_failure, tool_spec};

/// Recipes that are named when one is not known.
const NAMED_MAX: usize = 20;

pub(crate) struct ExecuteRecipe;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its id.
    recipe: String,
    /// Its parameters by name.
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[async_trait]
impl ActionTool for ExecuteRecipe {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "execute_recipe",
                ToolGroup::Skill,
                "Makes the steps of a known recipe with these parameters, without asking you after \
                 each; you get all results together. Once a run. It stops at the first step that \
                 fails or is refused.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Follow the recipe {}", input.recipe);
        let found = match cx.knows.usable_recipes().await {
            Ok(found) => found,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        let mut gives = Label::default();
        found.iter().for_each(|one| gives.join(&one.recipe.label));
        match fill_recipe(&input, found, cx.knows.as_ref()) {
            // Why not is said with names and words of the recipes.
            Err(why) => quoting_failure(summary, gives, why),
            Ok((recipe, calls)) => {
                let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                let summary = format!("Follow the recipe {}: {}", recipe.id, tools.join(", "));
                let gives = recipe.label.clone();
                let control = Some(AgentControl::Follow { recipe: Box::new(recipe), calls });
                let effects = Effects { control, gives, ..Effects::default() };
                CallPlan::new(EffectClass::Read, effects, summary)
            }
        }
    }

    async fn run_call(input: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::ok(format!(
            "The steps of {} are made now; what they give follows.",
            input.recipe
        ))
    }
}

/// The recipe and its calls, or why it cannot be followed.
fn fill_recipe(
    input: &Input,
    found: Vec<RecipeMatch>,
    knows: &dyn Knowledge,
) -> Result<(Recipe, Vec<PlannedCall>), String> {
    let names: Vec<String> =
        found.iter().take(NAMED_MAX).map(|found| found.recipe.id.clone()).collect();
    let named = found.into_iter().find(|found| found.recipe.id == input.recipe.trim());
    let Some(RecipeMatch { recipe, standing, .. }) = named else {
        let others = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!("there is no recipe {:?} here; there are: {others}", input.recipe));
    };
    if standing.is_demoted() {
        return Err(format!(
            "{} failed more often than it worked and is not followed until a person accepts it \
             again; make the calls yourself",
            recipe.id
        ));
    }
    let calls = plan::fill_recipe(&recipe, &input.parameters)?;
    let (loaded, deferred) = (knows.loaded_tools(), knows.deferred_tools());
    let has = |tool: &str| loaded.iter().chain(deferred.iter()).any(|spec| spec.name == tool);
    match calls.iter().find(|call| !has(&call.tool)) {
        Some(call) => Err(format!("{} uses {}, which you do not have here", recipe.id, call.tool)),
        None => Ok((recipe, calls)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::recipe::RecipeStanding;
    use weir_engine::ports::NoKnowledge;

    use super::*;

    fn recipes(successes: u32, failures: u32) -> Vec<RecipeMatch> {
        let recipe = serde_json::from_value(json!({
            "id": "look", "name": "Look", "description": "Looks.", "triggers": ["look"],
            "parameters": [{ "name": "path" }],
            "steps": [{ "tool": "read_file", "input": { "path": "{{path}}" } }],
        }));
        let standing = RecipeStanding { successes, failures, last_used: None };
        vec![RecipeMatch { recipe: recipe.expect("a recipe"), score: 0.0, standing }]
    }

    /// `(input, successes, failures, why not)`
    #[test]
    fn l16_only_what_is_known_whole_and_has_its_tools_is_followed() {
        for (input, successes, failures, why) in [
            (json!({ "recipe": "other" }), 0, 0, "there are: look"),
            (json!({ "recipe": "look" }), 0, 0, "needs the parameter \"path\""),
            (json!({ "recipe": "look", "parameters": { "x": 1 } }), 0, 0, "no parameter \"x\""),
            (json!({ "recipe": "look", "parameters": { "path": "a" } }), 1, 2, "failed more often"),
            // Nothing is known outside a session, so there are no tools either.
            (
                json!({ "recipe": " look ", "parameters": { "path": "a" } }),
                0,
                0,
                "do not have here",
            ),
        ] {
            let parsed: Input = serde_json::from_value(input.clone()).expect("an input");
            let found = fill_recipe(&parsed, recipes(successes, failures), &NoKnowledge);
            let found = found.expect_err(why);
            assert!(found.contains(why), "{input}: {found}");
        }
    }
}
