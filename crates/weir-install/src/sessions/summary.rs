//! A session in a few lines: runs, what they came to, what they changed, what is open.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;
use weir_core::event::{ApprovalRequested, Denial, Event, QuestionAsked, RunFinished, RunStatus};
use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::view::transcript::{PendingAsk, Transcript, TranscriptChange, VisibleSettings};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_text;
use weir_engine::ports::SessionMeta;

use super::used::UsedSoFar;
use super::whole::WholeSession;
use crate::wording::{single_visible_line, timestamp_text};

/// What `weir sessions show` says before the conversation.
#[derive(Debug, Serialize)]
pub struct SessionSummary {
    session: SessionId,
    title: String,
    status: String,
    workspace: String,
    model: String,
    profile: String,
    permission: String,
    created: Timestamp,
    updated: Timestamp,
    facts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<SessionId>,
    /// Absent where only the end of the journal was read.
    #[serde(flatten)]
    work: Option<SessionWork>,
    usage: Usage,
    cost_usd: Option<f64>,
    /// Waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionAsked>,
    /// Wait for a decision.
    approvals: Vec<OpenApproval>,
}

/// What was done: all facts tell it.
#[derive(Debug, Default, Serialize)]
pub(super) struct SessionWork {
    runs: Vec<RunLine>,
    turns: usize,
    calls: usize,
    denials: Vec<Denial>,
    changed_files: BTreeSet<String>,
}

/// A call that waits for a decision.
#[derive(Debug, Serialize)]
struct OpenApproval {
    #[serde(flatten)]
    request: ApprovalRequested,
    /// The profiles on the way to the sub-agent that asks; absent: the session itself does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunLine {
    run: RunId,
    started: Timestamp,
    /// Absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<RunStatus>,
    iterations: u32,
    tool_calls: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SessionSummary {
    /// The summary of `facts`.
    pub fn from_facts(
        meta: &SessionMeta,
        status: String,
        facts: &[PublishedFact],
    ) -> SessionSummary {
        let mut whole = WholeSession::default();
        facts.iter().for_each(|fact| whole.apply_fact(fact));
        whole.into_summary(meta, status)
    }

    /// The same with what was done in it.
    pub(super) fn with_work(self, work: SessionWork) -> SessionSummary {
        SessionSummary { work: Some(work), ..self }
    }

    /// The summary without what was done in it: how a session stands at its end. `asks`: what waits for an
    /// answer.
    pub(super) fn at_end(
        meta: &SessionMeta,
        status: String,
        settings: &VisibleSettings,
        used: &UsedSoFar,
        asks: &[PendingAsk],
    ) -> SessionSummary {
        let requests = asks.iter().filter_map(|ask| Some((ask, ask.request()?)));
        SessionSummary {
            session: meta.id.clone(),
            title: meta.title.clone(),
            status,
            workspace: meta.workspace.clone(),
            model: meta.model.clone(),
            profile: meta.profile.clone(),
            permission: settings.permission.map_or(String::new(), |mode| mode.to_string()),
            created: meta.created,
            updated: meta.updated,
            facts: meta.facts,
            parent: meta.parent.clone(),
            work: None,
            usage: used.usage(),
            cost_usd: used.cost_usd(),
            question: asks.iter().rev().find_map(PendingAsk::question).cloned(),
            approvals: requests
                .map(|(ask, request)| OpenApproval {
                    request: request.clone(),
                    agents: ask.agent_path().to_vec(),
                })
                .collect(),
        }
    }

    /// For people.
    pub fn summary_text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<12}{}", single_visible_line(value));
        };
        line("session", self.session.as_str());
        line("title", &self.title);
        line("status", &self.status);
        line("workspace", &self.workspace);
        line("model", &format!("{} (profile {})", self.model, self.profile));
        line("permission", &self.permission);
        line("opened", &timestamp_text(self.created));
        line("last event", &format!("{} ({} events)", timestamp_text(self.updated), self.facts));
        if let Some(parent) = &self.parent {
            line("forked from", parent.as_str());
        }
        if let Some(work) = &self.work {
            let (runs, turns, calls) = (work.runs.len(), work.turns, work.calls);
            line("work", &format!("{runs} runs, {turns} turns, {calls} calls"));
        }
        line("tokens", &describe_token_usage(&self.usage));
        let cost = self.cost_usd.map_or("unknown".into(), |usd| format!("{usd:.4} USD"));
        line("cost", &cost);
        if let Some(work) = &self.work {
            work.write_lines(&mut line);
        }
        for approval in &self.approvals {
            let OpenApproval { request, agents } = approval;
            let by = match agents.is_empty() {
                true => String::new(),
                false => format!(" (asked by the agent {})", agents.join(", then ")),
            };
            line("waits for", &format!("approval {}: {}{by}", request.approval, request.summary));
        }
        if let Some(question) = &self.question {
            line("asks", &question.text);
            let answer = format!("weir run --resume {} \"your answer\"", self.session);
            line("answer", &answer);
        }
        text
    }
}

impl SessionWork {
    /// For people: `line` writes one, with its name.
    fn write_lines(&self, line: &mut impl FnMut(&str, &str)) {
        for run in &self.runs {
            let status = run.status.map_or("not finished".into(), status_text);
            let error = run.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
            let calls = format!("{} model calls, {} tool calls", run.iterations, run.tool_calls);
            line(&format!("run {}", run.run), &format!("{status}, {calls}{error}"));
        }
        for denial in &self.denials {
            let what = if denial.summary.is_empty() { &denial.tool } else { &denial.summary };
            line("denied", &format!("{what} (by {}: {})", denial.by, denial.reason));
        }
        for file in &self.changed_files {
            line("changed", file);
        }
    }

    pub(super) fn count_change(&mut self, change: &TranscriptChange, seen: &Transcript) {
        match change {
            TranscriptChange::RunEnded(at) => self.end_run(&at.fact),
            TranscriptChange::CallAdded(_) => self.calls += 1,
            TranscriptChange::CallChanged(call) | TranscriptChange::CallEnded(call) => {
                let finished = seen.find_call(*call).and_then(|entry| entry.finished.as_ref());
                self.changed_files.extend(finished.into_iter().flat_map(|f| f.changed.clone()));
            }
            _ => (),
        }
    }

    /// Numbers of runs and turns are no person's to see but here.
    pub(super) fn count_fact(&mut self, fact: &PublishedFact) {
        match fact.event.as_ref() {
            Event::RunStarted(f) => self.runs.push(RunLine {
                run: f.run,
                started: fact.ts,
                status: None,
                iterations: 0,
                tool_calls: 0,
                usage: Usage::default(),
                cost_usd: None,
                error: None,
            }),
            Event::TurnStarted(_) => self.turns += 1,
            _ => (),
        }
    }

    fn end_run(&mut self, fact: &RunFinished) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.run == fact.run) {
            run.status = Some(fact.status);
            run.iterations = fact.iterations;
            run.tool_calls = fact.tool_calls;
            run.usage = fact.usage;
            run.cost_usd = fact.cost_usd;
            run.error.clone_from(&fact.error);
        }
        self.denials.extend(fact.denials.iter().cloned());
    }
}

fn describe_token_usage(usage: &Usage) -> String {
    format!(
        "{} ({} in, {} out, {} read from cache, {} written to cache)",
        usage.total_tokens(),
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write
    )
}
