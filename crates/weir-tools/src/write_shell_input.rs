//! `write_shell_input`: text for a background job's standard input.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, spec};
use crate::{job, text};

pub(crate) struct WriteShellInput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Name of the job, such as `j1`.
    job: String,
    /// Text as it is; end a line with a line feed.
    text: String,
}

#[async_trait]
impl Act for WriteShellInput {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "write_shell_input",
                Group::Skill,
                "Writes text to the standard input of a background job.",
            )
        }
    }

    async fn plan(input: Input, _: &ToolContext) -> Plan {
        let shown = text::one_line(&input.text, 80);
        job::plan(EffectClass::Once, &input.job, format!("Write to job {}: {shown}", input.job))
    }

    async fn act(input: Input, _: &Effects, cx: &ToolContext) -> Raw {
        match cx.processes.input(&cx.session, &input.job, &input.text).await {
            Ok(()) => Raw::ok(format!(
                "Wrote {} to job {}; read_shell_output shows what it answers",
                text::size(input.text.len() as u64),
                input.job
            )),
            Err(why) => Raw::error(why),
        }
    }
}
