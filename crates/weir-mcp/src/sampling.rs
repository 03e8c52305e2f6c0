//! What a server asks the model, as a call of the session (R3): what it would do, and doing it. The gate of the
//! session judges it between the two. Not here: who may ask, and how much (`handler`), and the model itself.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::governance::Permit;
use weir_core::model::Usage;
use weir_core::tool::{
    EffectClass, Effects, RawResult, ResultEffect, ToolGroup, ToolSpec, foreign,
};
use weir_engine::ports::{CallPlan, Tool, ToolContext};

use crate::ports::{Sampler, SamplingFailure, SamplingRequest, SamplingResult};
use crate::server::McpServer;
use crate::text::visible_text;
use crate::tool::origin_label;

/// Most characters of a question in the line that a person reads; the whole of it stands below.
const SUMMARY_CHARS_MAX: usize = 200;

/// The questions of one server.
pub(crate) struct SamplingTool {
    server: String,
    sampler: Arc<dyn Sampler>,
    spec: ToolSpec,
}

impl SamplingTool {
    /// None for a server that may not ask, or where no model answers.
    pub(crate) fn of_server(server: &McpServer) -> Option<SamplingTool> {
        let sampler = server.sampler()?.clone();
        let name = &server.spec.name;
        let spec = ToolSpec {
            keeps_result: true,
            ..ToolSpec::new(
                foreign::sampling_name(name),
                format!("Has the model answer the server {name}."),
                ToolGroup::Mcp,
                question_schema(),
            )
        };
        Some(SamplingTool { server: name.clone(), sampler, spec })
    }
}

#[async_trait]
impl Tool for SamplingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_offered(&self) -> bool {
        false
    }

    async fn plan_call(&self, input: &Value, _: &ToolContext) -> CallPlan {
        let effects = Effects {
            samples: Some(self.server.clone()),
            reads_from: vec![origin_label(&self.server)],
            ..Effects::default()
        };
        let summary = format!("The server {} asks the model: {}", self.server, last_words(input));
        CallPlan::new(EffectClass::Read, effects, summary)
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let question: SamplingRequest = match serde_json::from_value(permit.input().clone()) {
            Ok(question) => question,
            Err(why) => return RawResult::error(format!("It is no question: {why}.")),
        };
        let asked = self.sampler.sample(&self.server, question, cx.bounds.clone());
        let answered = tokio::select! {
            biased;
            answered = asked => answered,
            () = cx.cancel.cancelled() => return RawResult::error("The question was withdrawn."),
        };
        let used = |(usage, cost_usd): (Usage, Option<f64>)| ResultEffect::Used { usage, cost_usd };
        match answered {
            Ok(SamplingResult { text, usage, cost_usd }) => {
                RawResult { news: vec![used((usage, cost_usd))], ..RawResult::ok(text) }
            }
            Err(SamplingFailure { why, used: spent }) => {
                let news = spent.map(used).into_iter().collect();
                RawResult { news, ..RawResult::error(format!("No answer: {why}.")) }
            }
        }
    }
}

/// What a [`SamplingRequest`] is as arguments.
fn question_schema() -> Value {
    let message = json!({
        "type": "object",
        "properties": {
            "role": { "enum": ["user", "assistant"] },
            "text": { "type": "string" },
        },
        "required": ["role", "text"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "system": { "type": "string" },
            "messages": { "type": "array", "items": message, "minItems": 1 },
            "tokens_max": { "type": "integer", "minimum": 0 },
        },
        "required": ["messages", "tokens_max"],
        "additionalProperties": false,
    })
}

/// The beginning of what it asks last, in one line.
fn last_words(input: &Value) -> String {
    let messages = input.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let text = last.and_then(|last| last.get("text")).and_then(Value::as_str).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible_text(&line, SUMMARY_CHARS_MAX)
}
