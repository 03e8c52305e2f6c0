//! Facts as spans, by the semantic conventions for generative AI: run → turn → model request, and
//! turn → call → gate, approval, tool. A sub-agent's run lies below the call that started it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, Span};
use serde_json::json;
use weir_core::event::{
    CallFinished, CallJudged, CallProposed, Event, ModelReplied, ModelRequested, RunFinished,
    RunStatus,
};
use weir_core::governance::GateName;
use weir_core::ids::{ApprovalId, CallId, SessionId, Timestamp};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::model::{StopReason, Usage};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_text;
use weir_engine::ports::Observer;

/// Sessions that are remembered while no run of theirs is under way.
const SESSIONS_MAX: usize = 4_096;
/// Characters of content on one span.
const CONTENT_CHARS_MAX: usize = 64 * 1024;

/// Makes spans of facts.
pub(super) struct FactSpans {
    tracer: SdkTracer,
    content: bool,
    sessions: Mutex<HashMap<SessionId, OpenSpans>>,
}

/// What is open of one session.
#[derive(Default)]
struct OpenSpans {
    profile: Option<String>,
    /// The call of another session that started this one.
    parent: Option<SpanContext>,
    said: String,
    run: Option<Span>,
    turn: Option<Span>,
    request: Option<Span>,
    calls: HashMap<CallId, OpenCall>,
    approvals: HashMap<ApprovalId, Span>,
}

struct OpenCall {
    span: Span,
    gate: Option<Span>,
    tool: Option<Span>,
    name: String,
    arguments: Option<String>,
}

fn to_system_time(ts: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(ts.micros()).unwrap_or(0))
}

fn context_below(parent: Option<&SpanContext>) -> Context {
    match parent {
        Some(parent) => Context::new().with_remote_span_context(parent.clone()),
        None => Context::new(),
    }
}

/// The name that the conventions have for a provider.
fn convention_provider_name(name: &str) -> String {
    match name {
        "gemini" | "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "vertex" => "gcp.vertex_ai",
        other => other,
    }
    .to_owned()
}

fn count_attribute(name: &'static str, number: u64) -> KeyValue {
    KeyValue::new(name, i64::try_from(number).unwrap_or(i64::MAX))
}

fn token_attributes(usage: &Usage) -> [KeyValue; 5] {
    [
        // The conventions count what came from and went to the cache as input too.
        count_attribute(
            "gen_ai.usage.input_tokens",
            usage.input + usage.cache_read + usage.cache_write,
        ),
        count_attribute("gen_ai.usage.output_tokens", usage.output),
        count_attribute("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        count_attribute("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
        count_attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
    ]
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::Calls => "tool_call",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Interrupted => "interrupted",
    }
}

fn truncate_content(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(CONTENT_CHARS_MAX) {
        text.truncate(at);
    }
    text
}

/// Messages as the conventions write them.
fn message_json(role: &str, blocks: &[MessageBlock], stop: Option<StopReason>) -> String {
    let part = |block: &MessageBlock| match block {
        MessageBlock::Call(call) => Some(json!({
            "type": "tool_call",
            "id": call.call.to_string(),
            "name": call.tool,
            "arguments": call.input,
        })),
        MessageBlock::Text { text, .. } => Some(json!({ "type": "text", "content": text })),
        _ => None,
    };
    let mut message = json!({
        "role": role,
        "parts": blocks.iter().filter_map(part).collect::<Vec<_>>(),
    });
    if let Some(stop) = stop {
        message["finish_reason"] = finish_reason(stop).into();
    }
    truncate_content(json!([message]).to_string())
}

impl FactSpans {
    /// Over this tracer. `content`: messages, arguments and results go along.
    pub(super) fn new(tracer: SdkTracer, content: bool) -> FactSpans {
        FactSpans { tracer, content, sessions: Mutex::default() }
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, OpenSpans>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_span(
        &self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        at: Timestamp,
        parent: Option<&SpanContext>,
        attributes: Vec<KeyValue>,
    ) -> Span {
        let span = self.tracer.span_builder(name).with_kind(SpanKind::Internal);
        self.begin_span(span.with_attributes(attributes), at, parent)
    }

    fn begin_span(&self, span: SpanBuilder, at: Timestamp, parent: Option<&SpanContext>) -> Span {
        let span = span.with_start_time(to_system_time(at));
        span.start_with_context(&self.tracer, &context_below(parent))
    }

    fn run_started(&self, session: &SessionId, open: &mut OpenSpans, at: Timestamp) {
        let name = match &open.profile {
            Some(profile) => format!("invoke_agent {profile}"),
            None => "invoke_agent".into(),
        };
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.conversation.id", session.to_string()),
        ];
        let profile = open.profile.clone();
        attributes.extend(profile.map(|name| KeyValue::new("gen_ai.agent.name", name)));
        if self.content && !open.said.is_empty() {
            let said = [MessageBlock::text(std::mem::take(&mut open.said))];
            attributes
                .push(KeyValue::new("gen_ai.input.messages", message_json("user", &said, None)));
        }
        open.run = Some(self.start_span(name, at, open.parent.as_ref(), attributes));
    }

    fn begin_request_span(&self, open: &mut OpenSpans, at: Timestamp, asked: &ModelRequested) {
        let provider = convention_provider_name(&asked.provider);
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", provider.clone()),
            KeyValue::new("gen_ai.request.model", asked.model.clone()),
            count_attribute("weir.request.bytes", asked.bytes),
            count_attribute("weir.request.prefix_bytes", asked.prefix_bytes),
        ];
        if let Some(run) = &mut open.run {
            run.set_attribute(KeyValue::new("gen_ai.provider.name", provider));
            run.set_attribute(KeyValue::new("gen_ai.request.model", asked.model.clone()));
        }
        let parent =
            open.turn.as_ref().or(open.run.as_ref()).map(|span| span.span_context().clone());
        let span = self.tracer.span_builder(format!("chat {}", asked.model));
        let span = span.with_kind(SpanKind::Client).with_attributes(attributes);
        open.request = Some(self.begin_span(span, at, parent.as_ref()));
    }

    fn end_request_span(&self, open: &mut OpenSpans, at: Timestamp, replied: &ModelReplied) {
        let Some(mut span) = open.request.take() else { return };
        span.set_attributes(token_attributes(&replied.usage));
        let reasons = vec![StringValue::from(finish_reason(replied.stop))];
        let reasons = Value::Array(Array::String(reasons));
        span.set_attribute(KeyValue::new("gen_ai.response.finish_reasons", reasons));
        if let Some(cost) = replied.cost_usd {
            span.set_attribute(KeyValue::new("weir.cost_usd", cost));
        }
        if self.content {
            let said = message_json("assistant", &replied.content, Some(replied.stop));
            span.set_attribute(KeyValue::new("gen_ai.output.messages", said));
        }
        span.end_with_timestamp(to_system_time(at));
    }

    fn begin_call_spans(&self, open: &mut OpenSpans, at: Timestamp, proposed: &CallProposed) {
        // A step stands below the call of its program.
        let program = proposed.of.and_then(|of| open.calls.get(&of)).map(|call| &call.span);
        let above = program.or(open.turn.as_ref()).or(open.run.as_ref());
        let parent = above.map(|span| span.span_context().clone());
        let attributes = vec![KeyValue::new("gen_ai.tool.name", proposed.tool.clone())];
        let span = self.start_span("call", at, parent.as_ref(), attributes);
        let gate = self.start_span("gate", at, Some(span.span_context()), Vec::new());
        let arguments = self.content.then(|| truncate_content(proposed.input.to_string()));
        let name = proposed.tool.clone();
        let call = OpenCall { span, gate: Some(gate), tool: None, name, arguments };
        open.calls.insert(proposed.call, call);
    }

    fn tool_started(&self, open: &mut OpenSpans, at: Timestamp, id: CallId) {
        let Some(call) = open.calls.get_mut(&id) else { return };
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", call.name.clone()),
            KeyValue::new("gen_ai.tool.call.id", id.to_string()),
            KeyValue::new("gen_ai.tool.type", "function"),
        ];
        let arguments = call.arguments.take();
        attributes.extend(arguments.map(|text| KeyValue::new("gen_ai.tool.call.arguments", text)));
        let name = format!("execute_tool {}", call.name);
        let parent = call.span.span_context().clone();
        call.tool = Some(self.start_span(name, at, Some(&parent), attributes));
    }

    fn call_finished(&self, open: &mut OpenSpans, at: Timestamp, finished: &CallFinished) {
        let Some(call) = open.calls.remove(&finished.call) else { return };
        let OpenCall { mut span, gate, tool, .. } = call;
        if let Some(mut gate) = gate {
            gate.end_with_timestamp(to_system_time(at));
        }
        span.set_attribute(KeyValue::new("weir.call.ok", finished.ok));
        if let Some(mut tool) = tool {
            count_result(&mut tool, finished);
            if self.content {
                let text = truncate_content(plain_text(&finished.result));
                tool.set_attribute(KeyValue::new("gen_ai.tool.call.result", text));
            }
            tool.end_with_timestamp(to_system_time(at));
        }
        span.end_with_timestamp(to_system_time(at));
    }

    fn apply_fact(
        &self,
        session: &SessionId,
        sessions: &mut HashMap<SessionId, OpenSpans>,
        fact: &PublishedFact,
    ) {
        let at = fact.ts;
        if let Event::AgentSpawned(spawned) = fact.event.as_ref() {
            let call = sessions.get(session).and_then(|open| open.calls.get(&spawned.call));
            let parent = call.map(|call| call.tool.as_ref().unwrap_or(&call.span));
            let parent = parent.map(|span| span.span_context().clone());
            sessions.entry(spawned.agent.clone()).or_default().parent = parent;
            return;
        }
        let open = sessions.entry(session.clone()).or_default();
        match fact.event.as_ref() {
            Event::SessionOpened(opened) => open.profile = Some(opened.profile.clone()),
            Event::SessionConfigured(configured) => {
                open.profile = Some(configured.config.profile.name.clone());
            }
            Event::InputAccepted(input) if self.content => {
                open.said = plain_text(&input.content);
            }
            Event::RunStarted(_) => self.run_started(session, open, at),
            Event::TurnStarted(turn) => {
                end_span(&mut open.turn, at);
                let parent = open.run.as_ref().map(|span| span.span_context().clone());
                let attributes = vec![count_attribute("weir.iteration", u64::from(turn.iteration))];
                open.turn = Some(self.start_span("turn", at, parent.as_ref(), attributes));
            }
            Event::ModelRequested(asked) => self.begin_request_span(open, at, asked),
            Event::ModelReplied(replied) => self.end_request_span(open, at, replied),
            Event::ModelRetried(retried) => {
                if let Some(span) = &mut open.request {
                    let attempt = count_attribute("weir.attempt", u64::from(retried.attempt));
                    span.add_event_with_timestamp("retry", to_system_time(at), vec![attempt]);
                }
            }
            Event::ModelFailed(failed) => {
                if let Some(mut span) = open.request.take() {
                    mark_span_failed(&mut span, &format!("{:?}", failed.class));
                    span.end_with_timestamp(to_system_time(at));
                }
            }
            Event::CallProposed(proposed) => self.begin_call_spans(open, at, proposed),
            Event::CallJudged(judged) => record_verdict(open, at, judged),
            Event::ApprovalRequested(asked) => {
                let parent =
                    open.calls.get(&asked.call).map(|call| call.span.span_context().clone());
                let span = self.start_span("approval", at, parent.as_ref(), Vec::new());
                open.approvals.insert(asked.approval.clone(), span);
            }
            Event::ApprovalResolved(resolved) => {
                if let Some(mut span) = open.approvals.remove(&resolved.approval) {
                    let allowed = resolved.decision.allows();
                    span.set_attribute(KeyValue::new("weir.approval.allowed", allowed));
                    span.end_with_timestamp(to_system_time(at));
                }
            }
            Event::CallStarted(started) => self.tool_started(open, at, started.call),
            Event::CallFinished(finished) => self.call_finished(open, at, finished),
            Event::RunFinished(finished) => run_finished(open, at, finished),
            _ => (),
        }
    }
}

fn count_result(tool: &mut Span, finished: &CallFinished) {
    tool.set_attribute(count_attribute("weir.result.bytes", finished.bytes));
    if !finished.ok {
        mark_span_failed(tool, "tool_error");
    }
}

/// What kind of failure, by the conventions: never the words, which may hold content.
fn mark_span_failed(span: &mut Span, kind: &str) {
    span.set_attribute(KeyValue::new("error.type", kind.to_owned()));
    span.set_status(Status::error(kind.to_owned()));
}

fn end_span(span: &mut Option<Span>, at: Timestamp) {
    if let Some(mut span) = span.take() {
        span.end_with_timestamp(to_system_time(at));
    }
}

fn record_verdict(open: &mut OpenSpans, at: Timestamp, judged: &CallJudged) {
    let Some(call) = open.calls.get_mut(&judged.call) else { return };
    let verdict = format!("{:?}", judged.verdict).to_lowercase();
    call.span.set_attribute(KeyValue::new("weir.verdict", verdict.clone()));
    if let Some(mut gate) = call.gate.take() {
        gate.set_attribute(KeyValue::new("weir.verdict", verdict));
        let name = judged.gate.as_ref().map(GateName::to_string);
        name.into_iter().for_each(|name| gate.set_attribute(KeyValue::new("weir.gate", name)));
        gate.end_with_timestamp(to_system_time(at));
    }
}

/// Everything that is still open of the run ends with it.
fn run_finished(open: &mut OpenSpans, at: Timestamp, finished: &RunFinished) {
    end_span(&mut open.request, at);
    for (_, call) in open.calls.drain() {
        for mut span in [call.gate, call.tool, Some(call.span)].into_iter().flatten() {
            span.end_with_timestamp(to_system_time(at));
        }
    }
    for (_, mut span) in open.approvals.drain() {
        span.end_with_timestamp(to_system_time(at));
    }
    end_span(&mut open.turn, at);
    let Some(mut run) = open.run.take() else { return };
    run.set_attributes(token_attributes(&finished.usage));
    let status = status_text(finished.status);
    if finished.status == RunStatus::Failed {
        mark_span_failed(&mut run, "run_failed");
    }
    run.set_attribute(KeyValue::new("weir.run.status", status));
    run.set_attribute(count_attribute("weir.run.iterations", u64::from(finished.iterations)));
    run.set_attribute(count_attribute("weir.run.tool_calls", u64::from(finished.tool_calls)));
    if let Some(cost) = finished.cost_usd {
        run.set_attribute(KeyValue::new("weir.cost_usd", cost));
    }
    run.end_with_timestamp(to_system_time(at));
}

impl Observer for FactSpans {
    fn observe_facts(&self, session: &SessionId, facts: &[PublishedFact]) {
        let mut sessions = self.lock_sessions();
        for fact in facts {
            self.apply_fact(session, &mut sessions, fact);
        }
        if sessions.len() > SESSIONS_MAX {
            sessions.retain(|_, open| open.run.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_providers_have_the_names_of_the_conventions() {
        let known =
            [("gemini", "gcp.gemini"), ("anthropic", "anthropic"), ("mistral", "mistral_ai")];
        for (ours, theirs) in known {
            assert_eq!(convention_provider_name(ours), theirs);
        }
    }

    #[test]
    fn f6_cached_tokens_are_counted_as_input() {
        let usage = Usage { input: 1, output: 2, cache_read: 10, cache_write: 100, reasoning: 1 };
        let [input, output, ..] = token_attributes(&usage);
        assert_eq!(input, KeyValue::new("gen_ai.usage.input_tokens", 111_i64));
        assert_eq!(output, KeyValue::new("gen_ai.usage.output_tokens", 2_i64));
    }
}
