//! Asks the planner model to fill a recipe in (L16). Not here: what it is asked and how its answer is
//! read (`weir_core::recipe::plan`), and what comes of the plan.

use weir_core::event::RecipePlanned;
use weir_core::input::EffectAnswer;
use weir_core::recipe::{PlannedCall, plan};
use weir_core::session::PlanWork;

use crate::helper::{self, HelperReply};
use crate::ports::Model;
use crate::scene;
use crate::toolbox::Toolbox;
use crate::worker_context::WorkerContext;

/// Characters that a reason for having no plan may have.
const REASON_CHARS_MAX: usize = 300;

/// The calls that the planner makes of a recipe, each valid for its tool, or why there are none.
pub(crate) async fn plan_recipe(
    context: &WorkerContext,
    model: &dyn Model,
    work: PlanWork,
) -> EffectAnswer {
    let PlanWork { recipe, message, tools } = work;
    // What "today" means is not in the message.
    let now = scene::clock_sentence(&context.scene.timezone, context.parts.clock.now());
    let question = plan::planner_question(&format!("{message}\n\n[{now}]"), &recipe, &tools);
    let asked = helper::ask_in_time(model, &context.session, plan::PLANNER, question);
    let HelperReply { text, usage, cost_usd } = asked.await;
    let read = text.and_then(|answer| plan::parse_plan(&answer, &recipe));
    let (calls, failed) = match read.and_then(|calls| valid_calls(&context.toolbox, calls)) {
        Ok(calls) => (calls, None),
        Err(why) => (Vec::new(), Some(why.chars().take(REASON_CHARS_MAX).collect())),
    };
    tracing::debug!(recipe = recipe.id, calls = calls.len(), ?failed, "a recipe was planned");
    let fact = RecipePlanned { recipe: recipe.id, calls, failed, usage, cost_usd };
    EffectAnswer::RecipePlanned(fact)
}

/// Holds each call against the schema of its tool. What waits for an earlier result is held
/// against it once that is there, like any other call.
fn valid_calls(toolbox: &Toolbox, calls: Vec<PlannedCall>) -> Result<Vec<PlannedCall>, String> {
    for (index, call) in calls.iter().enumerate() {
        let number = index + 1;
        let Some(tool) = toolbox.get(&call.tool) else {
            return Err(format!(
                "call {number} of the plan uses {:?}, which is not here",
                call.tool
            ));
        };
        if plan::needs_results(&call.input) {
            continue;
        }
        if let Some(why) = toolbox.argument_errors(tool.spec(), &call.input) {
            return Err(format!("call {number} of the plan is not one of {}: {why}", call.tool));
        }
    }
    Ok(calls)
}
