//! `write_shell_input`: text for a background job's standard input.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, FeedEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, JobInfo, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::text;

pub(crate) struct WriteShellInput;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As `j1`.
    job: String,
    /// End a line with a line feed.
    text: String,
}

#[async_trait]
impl ActionTool for WriteShellInput {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "write_shell_input",
                ToolGroup::Skill,
                "Writes text to the standard input of a background job.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let shown = text::one_line(&input.text, 80);
        let summary = format!("Write to job {}: {shown}", input.job);
        let jobs = cx.processes.jobs(&cx.session).await;
        let fed = jobs.into_iter().filter(|job| job.job == input.job && job.end.is_none());
        let feed = |job: JobInfo| {
            Some(FeedEffect { hosts: job.reaches?, job: job.job, command: job.command })
        };
        let feeds: Vec<FeedEffect> = fed.filter_map(feed).collect();
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            // A shell that waits for input runs it as a command.
            let paths = workspace.keys_named_by(&input.text, ".");
            let effects = Effects { jobs: vec![input.job], feeds, paths, ..Effects::default() };
            CallPlan::new(EffectClass::Once, effects, summary)
        })
        .await
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        match cx.processes.write_job_input(&cx.session, &input.job, &input.text).await {
            Ok(()) => RawResult::ok(format!(
                "Wrote {} to job {}; read_shell_output shows what it answers",
                text::size_text(input.text.len() as u64),
                input.job
            )),
            Err(why) => RawResult::error(why),
        }
    }
}
