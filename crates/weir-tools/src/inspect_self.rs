//! `inspect_self`: the session's own model, profile, limits, usage, tools and rules.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use weir_core::tool::{Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, nothing, spec};

pub(crate) struct InspectSelf;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Only this part, such as `limits`; default: all.
    #[serde(default)]
    part: Option<String>,
}

#[async_trait]
impl Act for InspectSelf {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            poll: true,
            ..spec::<Input>(
                "inspect_self",
                Group::Agent,
                "Shows your own session as JSON: model, profile, permission mode, limits, usage, \
                 tools, rules.",
            )
        }
    }

    async fn plan(input: Input, _: &ToolContext) -> Plan {
        match input.part {
            Some(part) => nothing(format!("Inspect the session's {part}")),
            None => nothing("Inspect the session"),
        }
    }

    async fn act(input: Input, _: &Effects, cx: &ToolContext) -> Raw {
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
                    return Raw::error(format!(
                        "there is no part {part:?}; the parts are: {}",
                        parts.join(", ")
                    ));
                }
            },
        };
        Raw::ok(serde_json::to_string_pretty(shown).unwrap_or_else(|_| shown.to_string()))
    }
}
