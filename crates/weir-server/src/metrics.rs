//! Figures of the server for Prometheus (S15): what it answers, what runs, what models cost. Names
//! of people, sessions and files are never labels.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use weir_core::event::{Event, ModelReplied};
use weir_core::ids::SessionId;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_text;
use weir_engine::ports::Observer;

/// Bounds of the latency histogram, in seconds.
const LATENCY_BUCKETS: [f64; 10] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Labels of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    method: String,
    route: String,
    status: u16,
}

/// Labels of what took a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LatencyLabels {
    method: String,
    route: String,
}

/// One label: how something ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: String,
}

/// One label: which model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfModel {
    model: String,
}

/// Labels of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: String,
    kind: &'static str,
}

/// Labels of calls of tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolCallLabels {
    tool: String,
    ok: &'static str,
}

/// The figures since the start.
pub(crate) struct ServerMetrics {
    registry: Registry,
    answers: Family<ResponseLabels, Counter>,
    latency: Family<LatencyLabels, Histogram, fn() -> Histogram>,
    connections: Gauge,
    runs_started: Counter,
    runs_finished: Family<StatusLabel, Counter>,
    runs_active: Gauge,
    approvals_waiting: Gauge,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<OfModel, Counter<f64, AtomicU64>>,
    model_failures: Family<OfModel, Counter>,
    calls: Family<ToolCallLabels, Counter>,
    facts: Counter,
    appends: Counter,
    panics: Counter,
    /// The model that each session is waiting for.
    asked: Mutex<HashMap<SessionId, String>>,
}

fn latency_histogram() -> Histogram {
    Histogram::new(LATENCY_BUCKETS)
}

impl ServerMetrics {
    /// All at nothing.
    pub(crate) fn new() -> ServerMetrics {
        let mut metrics = ServerMetrics {
            registry: Registry::with_prefix("weir"),
            answers: Family::default(),
            latency: Family::new_with_constructor(latency_histogram),
            connections: Gauge::default(),
            runs_started: Counter::default(),
            runs_finished: Family::default(),
            runs_active: Gauge::default(),
            approvals_waiting: Gauge::default(),
            tokens: Family::default(),
            cost: Family::default(),
            model_failures: Family::default(),
            calls: Family::default(),
            facts: Counter::default(),
            appends: Counter::default(),
            panics: Counter::default(),
            asked: Mutex::default(),
        };
        metrics.register_server();
        metrics.register_sessions();
        metrics
    }

    fn register_server(&mut self) {
        let of = &mut self.registry;
        of.register("http_requests", "Answers by route and status", self.answers.clone());
        let words = "Time until the answer began";
        of.register_with_unit("http_duration", words, Unit::Seconds, self.latency.clone());
        of.register("connections_open", "Open connections", self.connections.clone());
        of.register("panics", "Handlers that panicked", self.panics.clone());
    }

    fn register_sessions(&mut self) {
        let of = &mut self.registry;
        of.register("runs_started", "Runs that began", self.runs_started.clone());
        of.register("runs_finished", "Runs that ended, by how", self.runs_finished.clone());
        of.register("runs_active", "Runs under way in this process", self.runs_active.clone());
        let words = "Approvals asked for in this process and not answered";
        of.register("approvals_waiting", words, self.approvals_waiting.clone());
        of.register("model_tokens", "Tokens by model and kind", self.tokens.clone());
        of.register("model_cost_usd", "Cost by model, where its price is known", self.cost.clone());
        let words = "Requests to models that failed for good";
        of.register("model_failures", words, self.model_failures.clone());
        of.register("calls", "Calls of tools that ended", self.calls.clone());
        of.register("facts", "Facts that became durable", self.facts.clone());
        of.register("appends", "Batches of facts that were written", self.appends.clone());
    }

    /// An answer began. `route`: as the table of routes has it.
    pub(crate) fn count_response(&self, method: &str, route: &str, status: u16, took: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        let timed = LatencyLabels { method: method.clone(), route: route.clone() };
        self.latency.get_or_create(&timed).observe(took.as_secs_f64());
        self.answers.get_or_create(&ResponseLabels { method, route, status }).inc();
    }

    /// A handler panicked.
    pub(crate) fn count_panic(&self) {
        self.panics.inc();
    }

    /// Everything as text (OpenMetrics). `now`: figures that are asked for and not counted, with
    /// one sentence on each.
    pub(crate) fn render_text(&self, connections: usize, now: &[(&str, &str, f64)]) -> String {
        self.connections.set(i64::try_from(connections).unwrap_or(i64::MAX));
        let mut text = String::new();
        if prometheus_client::encoding::text::encode(&mut text, &self.registry).is_err() {
            tracing::error!("the figures could not be written");
        }
        let end = text.rfind("# EOF").unwrap_or(text.len());
        text.truncate(end);
        for (name, words, value) in now {
            let _ = writeln!(text, "# HELP weir_{name} {words}.");
            let _ = writeln!(text, "# TYPE weir_{name} gauge\nweir_{name} {value}");
        }
        text.push_str("# EOF\n");
        text
    }

    fn lock_asked(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_reply(&self, session: &SessionId, replied: &ModelReplied) {
        let model = self.lock_asked().remove(session).unwrap_or_else(|| "unknown".into());
        let usage = &replied.usage;
        for (kind, count) in [
            ("input", usage.input),
            ("output", usage.output),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
        ] {
            self.tokens.get_or_create(&TokenLabels { model: model.clone(), kind }).inc_by(count);
        }
        if let Some(cost) = replied.cost_usd.filter(|cost| *cost >= 0.0) {
            self.cost.get_or_create(&OfModel { model }).inc_by(cost);
        }
    }

    fn count_event(&self, session: &SessionId, event: &Event) {
        match event {
            Event::RunStarted(_) => {
                self.runs_started.inc();
                self.runs_active.inc();
            }
            Event::SessionResumed(resumed) if resumed.run.is_some() => {
                self.runs_active.inc();
            }
            Event::RunFinished(finished) => {
                self.runs_active.dec();
                let status = status_text(finished.status);
                self.runs_finished.get_or_create(&StatusLabel { status }).inc();
                self.lock_asked().remove(session);
            }
            Event::ModelRequested(asked) => {
                let model = format!("{}/{}", asked.provider, asked.model);
                self.lock_asked().insert(session.clone(), model);
            }
            Event::ModelReplied(replied) => self.count_reply(session, replied),
            Event::ModelFailed(_) => {
                let model = self.lock_asked().remove(session).unwrap_or_else(|| "unknown".into());
                self.model_failures.get_or_create(&OfModel { model }).inc();
            }
            Event::ApprovalRequested(_) => {
                self.approvals_waiting.inc();
            }
            Event::ApprovalResolved(_) => {
                self.approvals_waiting.dec();
            }
            Event::CallFinished(finished) => {
                let ok = if finished.ok { "true" } else { "false" };
                let tool = known_tool(&finished.tool);
                self.calls.get_or_create(&ToolCallLabels { tool, ok }).inc();
            }
            _ => (),
        }
    }
}

/// The name of a tool as a label: a model may write anything.
fn known_tool(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain && name.len() <= 64 { name.to_owned() } else { "other".into() }
}

impl Observer for ServerMetrics {
    fn observe_facts(&self, session: &SessionId, facts: &[PublishedFact]) {
        self.appends.inc();
        self.facts.inc_by(facts.len() as u64);
        for fact in facts {
            self.count_event(session, &fact.event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_figures_are_in_the_form_that_prometheus_reads() {
        let metrics = ServerMetrics::new();
        metrics.count_response("GET", "/chats/{id}", 200, Duration::from_millis(3));
        let text = metrics.render_text(7, &[("disk_free_bytes", "Bytes free", 12.0)]);
        let line =
            "weir_http_requests_total{method=\"GET\",route=\"/chats/{id}\",status=\"200\"} 1";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("weir_connections_open 7\n"), "{text}");
        assert!(text.contains("weir_disk_free_bytes 12\n# EOF\n"), "{text}");
        assert!(text.contains("weir_http_duration_seconds_bucket{le=\"0.005\""), "{text}");
    }

    #[test]
    fn s15_a_made_up_tool_makes_no_label() {
        assert_eq!(known_tool("read_file"), "read_file");
        assert_eq!(known_tool("x\"} 1\nweir_lies 1"), "other");
        assert_eq!(known_tool(&"a".repeat(65)), "other");
    }
}
