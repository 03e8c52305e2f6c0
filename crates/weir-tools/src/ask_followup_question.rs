//! `ask_followup_question`: puts a question to the person and waits for the answer.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{AgentControl, EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

const OPTIONS_MAX: usize = 10;

pub(crate) struct AskFollowupQuestion;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The question.
    question: String,
    /// Answers to choose from, at most 10; a free answer is always possible.
    #[serde(default)]
    options: Vec<String>,
    /// Several options may be chosen.
    #[serde(default)]
    multiple: bool,
}

#[async_trait]
impl ActionTool for AskFollowupQuestion {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "ask_followup_question",
                ToolGroup::Agent,
                "Asks the person a question and waits. Only for what you cannot find out and cannot \
                 reasonably decide yourself.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let summary = format!("Ask: {}", text::one_line(&input.question, 120));
        if input.question.trim().is_empty() {
            return empty_plan(summary)
                .with_failure("question is empty; say what you want to know");
        }
        if input.options.len() > OPTIONS_MAX {
            return empty_plan(summary).with_failure(format!(
                "there are {} options; give at most {OPTIONS_MAX}",
                input.options.len()
            ));
        }
        let control = Some(AgentControl::Ask {
            text: input.question,
            options: input.options,
            multiple: input.multiple,
        });
        CallPlan::new(EffectClass::Read, Effects { control, ..Effects::default() }, summary)
    }

    async fn run_call(_: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::ok("The question was put to the person")
    }
}
