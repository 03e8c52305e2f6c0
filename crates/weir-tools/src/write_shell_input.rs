//! `write_shell_input`: text for a background job's standard input.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, FeedEffect, Group, Raw, ToolSpec};
use weir_engine::ports::{JobInfo, Plan, ToolContext};

use crate::built::{Act, spec};
use crate::text;

pub(crate) struct WriteShellInput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As `j1`.
    job: String,
    /// End a line with a line feed.
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

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let shown = text::one_line(&input.text, 80);
        let summary = format!("Write to job {}: {shown}", input.job);
        let jobs = cx.processes.jobs(&cx.session).await;
        let fed = jobs.into_iter().filter(|job| job.job == input.job && job.end.is_none());
        let feed = |job: JobInfo| {
            Some(FeedEffect { hosts: job.reaches?, job: job.job, command: job.command })
        };
        let feeds = fed.filter_map(feed).collect();
        let effects = Effects { jobs: vec![input.job], feeds, ..Effects::default() };
        Plan::new(EffectClass::Once, effects, summary)
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
