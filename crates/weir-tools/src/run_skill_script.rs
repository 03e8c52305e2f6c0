//! `run_skill_script`: a script of a skill. It is a command like any other: judged by its words,
//! confined, checkpointed; only where its line comes from differs from `run_shell`.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, CommandCall, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::{named_command, run_shell, text};

pub(crate) struct RunSkillScript;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    name: String,
    /// As `scripts/check.py`.
    script: String,
    #[serde(default)]
    args: Vec<String>,
    /// Hosts to reach; else none.
    #[serde(default)]
    network: Vec<String>,
}

#[async_trait]
impl ActionTool for RunSkillScript {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            timeout_ms: Some(run_shell::TIMEOUT_SECONDS_MAX * 1_000),
            ..tool_spec(
                "run_skill_script",
                ToolGroup::Skill,
                "Runs a script of a skill in the workspace, in the sandbox, as run_shell would.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let what = format!("Run {} of the skill {}", input.script, input.name);
        let what = text::one_line(&what, 200);
        let script = match cx.knows.skill_script(&input.name, &input.script, &input.args).await {
            Ok(script) => script,
            Err(why) => return empty_plan(what).with_failure(why),
        };
        let (command, label) = (script.command, script.label);
        let call = CommandCall { plugin: None, command, hosts: input.network, label };
        named_command::plan_command(call, what, cx).await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = cx.knows.ready_skill(&input.name).await {
            return RawResult::error(format!(
                "The files of {} cannot be made ready: {why}",
                input.name
            ));
        }
        run_shell::run(effects, cx, Some(run_shell::TIMEOUT_SECONDS_MAX)).await
    }
}
