//! `inspect_self`: the session's own model, profile, limits, usage, tools and rules.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

pub(crate) struct InspectSelf;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Only this part, such as `limits`; default: all.
    #[serde(default)]
    part: Option<String>,
}

#[async_trait]
impl ActionTool for InspectSelf {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            poll: true,
            ..tool_spec(
                "inspect_self",
                ToolGroup::Agent,
                "Shows your own session as JSON: model, profile, permission mode, limits, usage, \
                 tools, rules.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        match input.part {
            Some(part) => empty_plan(format!("Inspect the session's {part}")),
            None => empty_plan("Inspect the session"),
        }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let about: &Value = &cx.about;
        let shown = match &input.part {
            None => about,
            Some(part) => match about.get(part) {
                Some(value) => value,
                None => {
                    let parts: Vec<&str> = about
                        .as_object()
                        .map(|map| map.keys().map(String::as_str).collect())
                        .unwrap_or_default();
                    return RawResult::error(format!(
                        "there is no part {part:?}; the parts are: {}",
                        parts.join(", ")
                    ));
                }
            },
        };
        RawResult::ok(serde_json::to_string_pretty(shown).unwrap_or_else(|_| shown.to_string()))
    }
}
