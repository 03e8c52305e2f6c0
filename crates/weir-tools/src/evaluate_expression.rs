//! `evaluate_expression`: computes something in JavaScript, with nothing but its input in reach.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::dynamic::CODE_BYTES_MAX;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, NoHost, ScriptKind, ScriptTask, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

/// Wall time of one computation.
const TIME_MS: u64 = 15_000;

pub(crate) struct EvaluateExpression;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// An expression or short script; the value of its last statement is the result.
    code: String,
    /// Values that the code finds in `input`.
    #[serde(default)]
    input: Map<String, Value>,
}

#[async_trait]
impl ActionTool for EvaluateExpression {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            timeout_ms: Some(TIME_MS + 1_000),
            ..tool_spec(
                "evaluate_expression",
                ToolGroup::Skill,
                "Computes the value of a JavaScript expression or short script, without files, \
                 network or timers.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let summary = format!("Compute {}", text::one_line(&input.code, 120));
        if input.code.trim().is_empty() || input.code.len() > CODE_BYTES_MAX {
            let why = format!("code must have 1 to {CODE_BYTES_MAX} bytes");
            return empty_plan(summary).with_failure(why);
        }
        CallPlan::new(EffectClass::Read, Effects::default(), summary)
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let script = ScriptTask {
            kind: ScriptKind::Expression,
            code: input.code,
            input: Value::Object(input.input),
            time: Duration::from_millis(TIME_MS),
        };
        match cx.knows.scripts().run(script, &NoHost, &cx.cancel).await {
            Ok(value) => RawResult::ok(value),
            Err(why) => RawResult::error(format!("The code failed: {why}")),
        }
    }
}
