//! `call_tool`: calls a tool that `find_tool` loaded.
//!
//! Such a call becomes a call of that tool before anything is judged or journaled
//! (`weir_core::tool::defer`), so what is here is reached only by arguments that name none.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

/// What is said where no tool is named.
const UNUSABLE: &str = "name a tool that find_tool loaded, and its arguments as an object: \
                        {\"tool\": \"NAME\", \"arguments\": {…}}";

pub(crate) struct CallTool;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read from the reply, before there is a call; here is its schema")]
pub(crate) struct Input {
    /// Its name.
    tool: String,
    /// As its schema says.
    arguments: Map<String, Value>,
}

#[async_trait]
impl ActionTool for CallTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec("call_tool", ToolGroup::Agent, "Calls a tool that find_tool loaded.")
        }
    }

    async fn plan_call(_: Input, _: &ToolContext) -> CallPlan {
        empty_plan("Call a tool that is not named").with_failure(UNUSABLE)
    }

    async fn run_call(_: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::error(UNUSABLE)
    }
}
