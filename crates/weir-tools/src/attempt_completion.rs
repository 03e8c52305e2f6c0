//! `attempt_completion`: ends the run with its result.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Control, EffectClass, Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, nothing, spec};

pub(crate) struct AttemptCompletion;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What the person is told: what was done, what was found, what is left.
    result: String,
}

#[async_trait]
impl Act for AttemptCompletion {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "attempt_completion",
                Group::Agent,
                "Ends the task and shows the result to the person. Call it once everything is done \
                 and checked, alone in its turn.",
            )
        }
    }

    async fn plan(input: Input, _: &ToolContext) -> Plan {
        if input.result.trim().is_empty() {
            return nothing("End the task").failing("result is empty; say what was done");
        }
        let control = Some(Control::Complete { result: input.result });
        Plan::new(EffectClass::Read, Effects { control, ..Effects::default() }, "End the task")
    }

    async fn act(_: Input, _: &Effects, _: &ToolContext) -> Raw {
        Raw::ok("The task is ended")
    }
}
