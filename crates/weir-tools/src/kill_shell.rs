//! `kill_shell`: ends a background job with all its processes.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::job;

pub(crate) struct KillShell;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As `j1`.
    job: String,
}

#[async_trait]
impl ActionTool for KillShell {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "kill_shell",
                ToolGroup::Skill,
                "Ends a background job and all its processes.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        job::plan_for_job(EffectClass::Once, &input.job, format!("End job {}", input.job))
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        match cx.processes.kill_job(&cx.session, &input.job).await {
            Ok(info) => RawResult::ok(format!("Ended job {}", job::describe_job(&info)))
                .with_job(&info.job, false),
            Err(why) => RawResult::error(why),
        }
    }
}
