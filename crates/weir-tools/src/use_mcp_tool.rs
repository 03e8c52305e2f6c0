//! `use_mcp_tool`: calls any tool of a foreign server by server and name.
//!
//! Such a call becomes a call of that tool before anything is judged or journaled
//! (`weir_core::tool::foreign`), so what is here is reached only by arguments that name none.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

/// What is said where no tool is named.
const UNUSABLE: &str = "name a server, one of its tools, and its arguments as an object: \
                        {\"server\": \"NAME\", \"tool\": \"NAME\", \"arguments\": {…}}; \
                        read_mcp_tool lists both";

pub(crate) struct UseMcpTool;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read from the reply, before there is a call; here is its schema")]
pub(crate) struct Input {
    /// The server.
    server: String,
    /// Its tool.
    tool: String,
    /// As the tool's schema says.
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[async_trait]
impl ActionTool for UseMcpTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec("use_mcp_tool", ToolGroup::Mcp, "Calls a tool of an MCP server.")
        }
    }

    async fn plan_call(_: Input, _: &ToolContext) -> CallPlan {
        empty_plan("Call a tool of a server that is not named").with_failure(UNUSABLE)
    }

    async fn run_call(_: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::error(UNUSABLE)
    }
}
