//! `run_program`: one JavaScript program instead of many calls; each of its steps is a call of its own
//! (U7). Not here: its steps, which the session judges and the engine makes, and the engine of scripts.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ProgramTask, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

/// Wall time of one program, in milliseconds; waiting for persons is not counted.
const TIME_MS: u64 = 600_000;
/// Longest program, in bytes.
const CODE_BYTES_MAX: usize = 64 << 10;

pub(crate) struct RunProgram;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The body of an async JavaScript function; what it returns is the result.
    code: String,
}

#[async_trait]
impl ActionTool for RunProgram {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            timeout_ms: Some(TIME_MS),
            ..tool_spec(
                weir_core::tool::built_in::PROGRAM_RUNNER,
                ToolGroup::Skill,
                "Runs a JavaScript program that calls your tools: one call instead of many, for \
                 loops, selection and arithmetic over results. Each tool is an async function of \
                 its name that takes its arguments as one object: const text = await read_file({ \
                 path: 'a.md' }). Its result is text, or the value where the text is JSON; what is \
                 refused or fails throws. Promise.all runs reads beside each other, and what a \
                 person must agree to becomes one question. Each step is judged and undone as a \
                 call of its own. Only what the program returns \
                 comes back, with a table of its steps. No imports, files, network or timers, and \
                 the clock stands still.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let lines = text::count_noun(input.code.lines().count(), "line");
        let summary = format!("Run a program of {lines}: {}", text::one_line(&input.code, 100));
        if input.code.trim().is_empty() || input.code.len() > CODE_BYTES_MAX {
            let why = format!("code must have 1 to {CODE_BYTES_MAX} bytes");
            return empty_plan(summary).with_failure(why);
        }
        CallPlan::new(EffectClass::Program, Effects::default(), summary)
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let program = &cx.program;
        let task = ProgramTask {
            code: input.code,
            tools: program.tools.clone(),
            now_ms: program.now_ms,
            seed: program.seed,
        };
        let scripts = cx.knows.scripts();
        let done = scripts.run_program(task, program.host.as_ref(), &cx.cancel).await;
        match done {
            Ok(value) if value == "undefined" => {
                RawResult::ok("The program returned nothing.").with_summary("returned nothing")
            }
            Ok(value) => {
                let line = text::one_line(&value, 120);
                RawResult::ok(value).with_summary(line)
            }
            Err(_) if cx.cancel.is_cancelled() => RawResult::error(format!(
                "The program was ended: the run was ended, or it took longer than {} s (waiting \
                 for persons not counted). What its steps did stays done.",
                cx.timeout_ms / 1_000
            )),
            Err(why) => RawResult::error(format!(
                "The program failed: {why}. What its steps did stays done."
            )),
        }
    }
}
