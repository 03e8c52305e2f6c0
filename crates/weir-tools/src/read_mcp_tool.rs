//! `read_mcp_tool`: looks at what foreign servers offer: their tools with schemas, their resources,
//! their prompts. Calls no tool of theirs.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{EffectClass, Effects, QueryEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ServerRead, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

pub(crate) struct ReadMcpTool;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The server; none: all of them are listed.
    #[serde(default)]
    server: Option<String>,
    /// One of its tools: its schema.
    #[serde(default)]
    tool: Option<String>,
    /// The address of one of its resources: its content.
    #[serde(default)]
    resource: Option<String>,
    /// One of its prompts: its text.
    #[serde(default)]
    prompt: Option<String>,
    /// What the prompt is filled in with.
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Input {
    /// What is to be read of it.
    fn requested_read(self) -> Result<(Option<String>, ServerRead), &'static str> {
        let Input { server, tool, resource, prompt, arguments } = self;
        let one_at_most = "name one of tool, resource and prompt, or none of them";
        let read = match (tool, resource, prompt) {
            (None, None, None) => ServerRead::Overview,
            (Some(tool), None, None) => ServerRead::Tool(tool),
            (None, Some(address), None) => ServerRead::Resource(address),
            (None, None, Some(name)) => {
                ServerRead::Prompt { name, arguments: Value::Object(arguments) }
            }
            _ => return Err(one_at_most),
        };
        if server.is_none() && read != ServerRead::Overview {
            return Err("name the server too");
        }
        Ok((server, read))
    }
}

#[async_trait]
impl ActionTool for ReadMcpTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..tool_spec(
                "read_mcp_tool",
                ToolGroup::Mcp,
                "Lists MCP servers and what each offers, shows a tool's schema, reads a resource or \
                 a prompt.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let (server, read) = match input.requested_read() {
            Ok(wanted) => wanted,
            Err(why) => return empty_plan("Look at a server").with_failure(why),
        };
        let Some(server) = server else { return empty_plan("List the MCP servers") };
        let what = match &read {
            ServerRead::Overview => "what it offers".to_owned(),
            ServerRead::Tool(tool) => format!("the tool {tool}"),
            ServerRead::Resource(address) => format!("the resource {address}"),
            ServerRead::Prompt { name, .. } => format!("the prompt {name}"),
        };
        let summary = text::one_line(&format!("Read of the server {server}: {what}"), 200);
        let from = format!("mcp:{server}");
        let asked = match &read {
            ServerRead::Overview | ServerRead::Tool(_) => None,
            ServerRead::Resource(address) => Some(Value::String(address.clone())),
            ServerRead::Prompt { arguments, .. } => Some(arguments.clone()),
        };
        let asked = asked.filter(|_| !cx.servers.is_contained(&server));
        let query = |asked| QueryEffect::from_arguments(from.clone(), &asked, &Value::Null.into());
        let queries = asked.map(query).into_iter().collect();
        let effects = Effects { queries, reads_from: vec![from], ..Effects::default() };
        let plan = CallPlan::new(EffectClass::Read, effects, summary);
        let standing = cx.servers.server_states();
        if standing.iter().any(|(name, _)| *name == server) {
            return plan;
        }
        let names: Vec<&str> = standing.iter().map(|(name, _)| name.as_str()).collect();
        let there = if names.is_empty() { "there is none".into() } else { names.join(", ") };
        plan.with_failure(format!("there is no server {server}; servers: {there}"))
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        match input.requested_read() {
            Ok((Some(server), read)) => cx.servers.read_server(&server, read, cx).await,
            Ok((None, _)) => list_servers(&cx.servers.server_states()),
            Err(why) => RawResult::error(why),
        }
    }
}

fn list_servers(standing: &[(String, String)]) -> RawResult {
    if standing.is_empty() {
        return RawResult::ok("There are no MCP servers here.");
    }
    let lines = standing.iter().map(|(name, how)| format!("- {name}: {how}"));
    RawResult::ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(input: Value) -> Result<(Option<String>, ServerRead), &'static str> {
        serde_json::from_value::<Input>(input).expect("it fits the schema").requested_read()
    }

    #[test]
    fn f4_one_thing_is_read_at_a_time() {
        assert_eq!(wanted(json!({})), Ok((None, ServerRead::Overview)));
        let server = Some("git".to_owned());
        assert_eq!(wanted(json!({ "server": "git" })), Ok((server.clone(), ServerRead::Overview)));
        let tool = ServerRead::Tool("push".into());
        assert_eq!(wanted(json!({ "server": "git", "tool": "push" })), Ok((server.clone(), tool)));
        let prompt = ServerRead::Prompt { name: "p".into(), arguments: json!({ "a": "b" }) };
        let input = json!({ "server": "git", "prompt": "p", "arguments": { "a": "b" } });
        assert_eq!(wanted(input), Ok((server, prompt)));
        assert!(wanted(json!({ "tool": "push" })).is_err());
        assert!(wanted(json!({ "server": "a", "tool": "b", "resource": "c" })).is_err());
    }

    #[test]
    fn f4_servers_are_listed_with_how_they_stand() {
        let listed =
            list_servers(&[("git".into(), "connected".into()), ("x".into(), "failed".into())]);
        let text = weir_core::message::plain_text(&listed.blocks);
        assert_eq!(text, "- git: connected\n- x: failed");
        assert!(list_servers(&[]).ok);
    }
}
