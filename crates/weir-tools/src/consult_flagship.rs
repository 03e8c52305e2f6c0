//! `consult_flagship`: one answer of a stronger model, a few times a run (T2). Not here: how often,
//! which the gate `limits` says, and asking it (`weir_engine::flagship`).

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, RawResult, ResultEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, NO_FLAGSHIP, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

/// Longest question with its context, in characters.
const QUESTION_CHARS_MAX: usize = 60_000;
/// Wall time of the call.
const TIME_MS: u64 = 250_000;

pub(crate) struct ConsultFlagship;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// One question; it sees nothing else of your work.
    question: String,
    /// What it must know: code, errors, what was tried.
    #[serde(default)]
    context: String,
}

#[async_trait]
impl ActionTool for ConsultFlagship {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            timeout_ms: Some(TIME_MS),
            ..tool_spec(
                "consult_flagship",
                ToolGroup::Agent,
                "Asks a stronger model one question, at most 3 times a run: for what you are stuck \
                 on or unsure of.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Ask the stronger model: {}", text::one_line(&input.question, 160));
        let effects = Effects { consults: true, ..Effects::default() };
        let plan = CallPlan::new(EffectClass::Once, effects, summary.clone());
        if input.question.trim().is_empty() {
            return empty_plan(summary).with_failure("question is empty");
        }
        let length = input.question.chars().count() + input.context.chars().count();
        if length > QUESTION_CHARS_MAX {
            let why = format!(
                "question and context have {length} characters; at most {QUESTION_CHARS_MAX}. Keep \
                 what matters"
            );
            return empty_plan(summary).with_failure(why);
        }
        match cx.knows.flagship_name() {
            Some(model) => CallPlan { summary: format!("{} ({model})", plan.summary), ..plan },
            None => empty_plan(summary).with_failure(NO_FLAGSHIP),
        }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let question = match input.context.trim() {
            "" => input.question,
            context => format!("{}\n\n<context>\n{context}\n</context>", input.question),
        };
        let asked = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return RawResult::error("the question was cancelled"),
            asked = cx.knows.consult_flagship(&question) => asked,
        };
        match asked {
            Ok(answer) => {
                let news =
                    vec![ResultEffect::Used { usage: answer.usage, cost_usd: answer.cost_usd }];
                let raw =
                    RawResult::ok(format!("{} answers:\n\n{}", answer.model, answer.text.trim()));
                let summary = format!("{} answered", answer.model);
                RawResult { news, label: answer.label, ..raw.with_summary(summary) }
            }
            Err(error) => {
                let used = error.used.map(ResultEffect::from);
                RawResult { news: used.into_iter().collect(), ..RawResult::error(error.why) }
            }
        }
    }
}
