//! `invoke_skill`: a skill with arguments, as a person would write `/name arguments`.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, spec};
use crate::{skill, text};

pub(crate) struct InvokeSkill;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    name: String,
    /// What stands for `$ARGUMENTS` and `$1` to `$9` in it.
    #[serde(default)]
    arguments: String,
}

#[async_trait]
impl Act for InvokeSkill {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "invoke_skill",
                Group::Agent,
                "Reads a skill with arguments put in, and follows it as read_skill does.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let what = format!("Follow the skill {} {}", input.name, input.arguments);
        skill::plan(cx, &input.name, None, text::one_line(&what, 200)).await
    }

    async fn act(input: Input, _: &Effects, cx: &ToolContext) -> Raw {
        skill::activate(cx, &input.name, Some(&input.arguments)).await
    }
}
