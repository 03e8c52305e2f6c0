//! `execute_command`: a command that a plugin or the configuration gave a name (T11). Not here: what
//! the name stands for (`weir_engine::plugins`).

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{self, ActionTool, empty_plan};
use crate::{named_command, run_shell, text};

pub(crate) struct ExecuteCommand;

/// What the model is told of it.
pub(crate) fn execute_command_spec() -> ToolSpec {
    <ExecuteCommand as ActionTool>::spec()
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// `plugin:name`, or a name of the configuration.
    command: String,
    /// Its arguments by name.
    #[serde(default)]
    args: Map<String, Value>,
}

#[async_trait]
impl ActionTool for ExecuteCommand {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            timeout_ms: Some(run_shell::TIMEOUT_SECONDS_MAX * 1_000),
            ..built::tool_spec(
                "execute_command",
                ToolGroup::Skill,
                "Runs a named command of a plugin or of the configuration, in the sandbox, as \
                 run_shell would. A name that does not exist is answered with those that do.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let what = text::one_line(&format!("Run the command {}", input.command), 120);
        match cx.plugins.resolve_command(&cx.session, &input.command, &input.args).await {
            Ok(call) => named_command::plan_command(call, what, cx).await,
            Err(why) => empty_plan(what).with_failure(why),
        }
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        match cx.plugins.resolve_command(&cx.session, &input.command, &input.args).await {
            Ok(call) => named_command::run(call, effects, cx).await,
            Err(why) => RawResult::error(format!("Not run: {why}")),
        }
    }
}
