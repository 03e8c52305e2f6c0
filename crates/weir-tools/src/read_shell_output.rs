//! `read_shell_output`: what a background job has printed, and whether it still runs.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::job;

/// Most bytes of output per call.
const OUTPUT_BYTES_MAX: usize = 30_000;

pub(crate) struct ReadShellOutput;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As `j1`.
    #[serde(default)]
    job: Option<String>,
    /// First byte; default 0.
    #[serde(default)]
    offset: Option<u64>,
}

#[async_trait]
impl ActionTool for ReadShellOutput {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            poll: true,
            keeps_result: true,
            ..tool_spec(
                "read_shell_output",
                ToolGroup::Skill,
                "Reads output of a background job (up to 30 kB) and tells whether it runs; without \
                 job it lists the jobs. Pass the offset of the last answer to read only what is \
                 new.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        match input.job {
            Some(job) => {
                job::plan_for_job(EffectClass::Read, &job, format!("Read output of job {job}"))
            }
            None => empty_plan("List background jobs"),
        }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let Some(job) = input.job else { return list_jobs(cx).await };
        let offset = input.offset.unwrap_or(0);
        let read = cx.processes.read_job_output(&cx.session, &job, offset, OUTPUT_BYTES_MAX).await;
        let (info, output) = match read {
            Ok(read) => read,
            Err(why) => return RawResult::error(why),
        };
        // A broken character is replaced by a longer one, so then only the request's own bound
        // tells where the next read begins.
        let bound = offset.saturating_add(OUTPUT_BYTES_MAX as u64).min(info.bytes);
        let exact = offset.saturating_add(output.len() as u64);
        let next = if output.contains('\u{fffd}') { bound } else { exact.min(bound) };
        let state = job::describe_job(&info);
        let body = match output.trim_end_matches('\n') {
            "" => "(no new output)",
            text => text,
        };
        let more = match (next < info.bytes, info.end.is_none()) {
            (true, _) => format!("; more follows, go on with offset: {next}"),
            (false, true) => format!("; next offset: {next}"),
            (false, false) => String::new(),
        };
        RawResult::ok(format!("{body}\n[{state}{more}]"))
            .with_summary(state)
            .with_job(&info.job, info.end.is_none())
    }
}

async fn list_jobs(cx: &ToolContext) -> RawResult {
    let jobs = cx.processes.jobs(&cx.session).await;
    if jobs.is_empty() {
        return RawResult::ok("No background jobs.");
    }
    let told = RawResult::ok(jobs.iter().map(job::describe_job).collect::<Vec<_>>().join("\n"))
        .with_summary(crate::text::count_noun(jobs.len(), "job"));
    jobs.iter().fold(told, |told, info| told.with_job(&info.job, info.end.is_none()))
}
