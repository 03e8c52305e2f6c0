//! `open_handle`: puts the words of a handle into the context (U6). They arrive as its argument, put in by
//! the session, and their label comes with the call. Not here: what handles are.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::built_in::OPEN_HANDLE;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, tool_spec};

pub(crate) struct OpenHandle;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The handle, as it stands in a result: {{h12}}, {{h12/0/body}}.
    text: String,
}

#[async_trait]
impl ActionTool for OpenHandle {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                OPEN_HANDLE,
                ToolGroup::Agent,
                "Puts the words of a handle into the context. Only where you must read them: from then \
                 on what you send, change or run counts as led by them, and much of it asks the person. \
                 What is only passed on, or a few facts of it (extract_fields), needs no opening.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let size = input.text.chars().count();
        let summary = format!("Read {size} characters that came from outside");
        let effects = Effects { opens: true, ..Effects::default() };
        CallPlan::new(EffectClass::Read, effects, summary)
    }

    async fn run_call(input: Input, _: &Effects, _: &ToolContext) -> RawResult {
        let size = input.text.chars().count();
        RawResult::ok(input.text).with_summary(format!("{size} characters"))
    }
}
