//! `invoke_skill`: a skill with arguments, as a person would write `/name arguments`.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::{skill, text};

pub(crate) struct InvokeSkill;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    name: String,
    /// What stands for `$ARGUMENTS` and `$1` to `$9` in it.
    #[serde(default)]
    arguments: String,
}

#[async_trait]
impl ActionTool for InvokeSkill {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "invoke_skill",
                ToolGroup::Agent,
                "Reads a skill with arguments put in, and follows it as read_skill does.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let what = format!("Follow the skill {} {}", input.name, input.arguments);
        skill::plan_skill_read(cx, &input.name, None, text::one_line(&what, 200)).await
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        skill::activate_skill(cx, &input.name, Some(&input.arguments)).await
    }
}
