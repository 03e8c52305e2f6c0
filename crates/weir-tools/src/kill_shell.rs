//! `kill_shell`: ends a background job with all its processes.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, spec};
use crate::job;

pub(crate) struct KillShell;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As `j1`.
    job: String,
}

#[async_trait]
impl Act for KillShell {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "kill_shell",
                Group::Skill,
                "Ends a background job and all its processes.",
            )
        }
    }

    async fn plan(input: Input, _: &ToolContext) -> Plan {
        job::plan(EffectClass::Once, &input.job, format!("End job {}", input.job))
    }

    async fn act(input: Input, _: &Effects, cx: &ToolContext) -> Raw {
        match cx.processes.kill(&cx.session, &input.job).await {
            Ok(info) => {
                Raw::ok(format!("Ended job {}", job::describe(&info))).with_job(&info.job, false)
            }
            Err(why) => Raw::error(why),
        }
    }
}
