//! `attempt_completion`: ends the run with its result.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{AgentControl, EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

pub(crate) struct AttemptCompletion;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What the person is told: what was done, what was found, what is left.
    result: String,
}

#[async_trait]
impl ActionTool for AttemptCompletion {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "attempt_completion",
                ToolGroup::Agent,
                "Ends the task and shows the result to the person. Call it once everything is done \
                 and checked, alone in its turn.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        if input.result.trim().is_empty() {
            return empty_plan("End the task").with_failure("result is empty; say what was done");
        }
        let control = Some(AgentControl::Complete { result: input.result });
        CallPlan::new(EffectClass::Read, Effects { control, ..Effects::default() }, "End the task")
    }

    async fn run_call(_: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::ok("The task is ended")
    }
}
