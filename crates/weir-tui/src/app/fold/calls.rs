//! Calls of tools from their proposal to their end, what people are asked about them, and
//! sub-agents.

use weir_core::event::{AgentNews, ApprovalResolved, CallFinished, Event, QuestionAnswered};
use weir_core::governance::Verdict;
use weir_core::ids::CallId;

use super::super::entries::{Agent, Entry, Row, Stage, What};
use super::super::status::Doing;
use super::super::words::{brief, decided, one_line};
use super::super::writing::Print;
use super::{Ask, Fold, Happened, Job, Placed, Told, Unsure};

/// Jobs that are listed; more than a session ever has at once.
const JOBS_MAX: usize = 64;
/// Calls of unknown outcome that are kept; more than a run ever leaves.
const UNKNOWN_MAX: usize = 64;
/// Lines and bytes of a long output that are kept of its end.
const LAST_LINES: usize = 4;
const LAST_BYTES_MAX: usize = 2_000;
/// Characters of a command that a job is listed with.
const COMMAND_CHARS_MAX: usize = 200;

impl Fold {
    fn row(&mut self, call: CallId, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.transcript.row_mut(call) {
            change(row);
        }
    }

    /// A call is over: its row is printed.
    fn over(&mut self, call: CallId) {
        let printed = self.outputs.remove(&call).unwrap_or_default();
        self.row(call, |row| {
            if row.finished().is_some_and(|fact| fact.full.is_some()) {
                row.last = last_lines(&printed).to_owned();
            }
        });
        let place = self.transcript.close(call);
        if !self.calls_run() {
            self.doing_now(Doing::Working);
        }
        if let Some(place) = place {
            self.print(Print::Entry(place));
        }
    }

    pub(super) fn calls(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::CallProposed(f) => {
                let row = Row::new(f.call, at.event.clone());
                let what = What::Call(Box::new(row));
                self.transcript.push(Entry { seq: at.seq, ts: at.ts, what });
            }
            Event::CallJudged(f) => {
                let event = at.event.clone();
                self.row(f.call, |row| row.judged = Some(event));
            }
            Event::CheckpointTaken(f) if !f.paths.is_empty() => {
                let note = format!("Saved first: {}", one_line(&f.paths.join(", ")));
                self.row(f.call, |row| row.notes.push(note));
            }
            Event::CallStarted(f) => {
                let row = self.transcript.row(f.call);
                if let Some(asked) = row.and_then(Row::asked) {
                    let tool = one_line(&asked.tool);
                    self.doing_now(Doing::Calling(tool));
                }
                let now = at.ts;
                self.row(f.call, |row| {
                    row.stage = Stage::Running;
                    row.started = Some(now);
                });
            }
            Event::CallReconciled(f) => {
                let note = format!("It had not happened: {}", one_line(&f.evidence));
                self.unknown.retain(|unsure| unsure.call != f.call);
                self.row(f.call, |row| row.notes.push(note));
            }
            Event::CallFinished(f) => {
                self.jobs_of(f);
                self.unknown.retain(|unsure| unsure.call != f.call);
                for news in &f.news {
                    if let weir_core::tool::News::Used { usage, cost_usd } = news {
                        self.meters.used(usage, *cost_usd);
                    }
                }
                let event = at.event.clone();
                let unknown =
                    self.transcript.row(f.call).is_some_and(|r| r.stage == Stage::Unknown);
                self.row(f.call, |row| {
                    row.stage = ended(row, f.ok);
                    row.finished = Some(event);
                });
                if !unknown {
                    self.over(f.call);
                }
            }
            Event::CallUnknown(f) => {
                let reason = one_line(&f.reason);
                let (call, tool) = (f.call, one_line(&f.tool));
                self.unknown.push(Unsure { call, tool, why: reason.clone() });
                let over = self.unknown.len().saturating_sub(UNKNOWN_MAX);
                self.unknown.drain(..over);
                self.row(f.call, |row| {
                    row.stage = Stage::Unknown;
                    row.notes.push(reason);
                });
                self.over(f.call);
            }
            _ => (),
        }
    }

    /// Jobs in the background: begun by a call, ended by one, or seen to have ended.
    fn jobs_of(&mut self, fact: &CallFinished) {
        let Some(row) = self.transcript.row(fact.call) else { return };
        let Some(judged) = row.judged() else { return };
        let effects = &judged.inspection.effects;
        let begun = effects.commands.iter().find(|command| command.background);
        if let (Some(command), true) = (begun, fact.ok) {
            let name = fact.summary.split_whitespace().last().unwrap_or_default();
            let command = brief(&one_line(&command.command), COMMAND_CHARS_MAX);
            let job = Job { name: one_line(name), command };
            self.jobs.push(job);
            self.jobs.truncate(JOBS_MAX);
            return;
        }
        // The line of the tool itself, `j1 (serve): running for 1 s, …`: what the job printed, and
        // its command, can say anything.
        let state = fact.summary.rsplit_once("): ").map_or("", |(_, state)| state);
        let runs = fact.tool == "read_shell_output" && state.starts_with("running for ");
        let touches = fact.tool == "kill_shell" || fact.tool == "read_shell_output";
        if fact.ok && touches && !runs {
            let ended = effects.jobs.clone();
            self.jobs.retain(|job| !ended.contains(&job.name));
        }
    }

    pub(super) fn questions(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::ApprovalRequested(f) => {
                let approval = f.approval.clone();
                self.ask(Ask::Approval { approval, event: at.event.clone() });
                self.row(f.call, |row| row.stage = Stage::Waiting);
            }
            Event::ApprovalResolved(f) => self.resolved(f),
            Event::QuestionAsked(f) => {
                self.ask(Ask::Question(at.event.clone()));
                self.row(f.call, |row| row.stage = Stage::Waiting);
            }
            Event::QuestionAnswered(f) => self.answered(f),
            Event::PlanUpdated(f) => self.plan = f.items.clone(),
            _ => (),
        }
    }

    fn ask(&mut self, ask: Ask) {
        self.asks.push_back(ask);
        self.happened(Happened::Asked);
    }

    fn unask(&mut self, name: &str, words: String) {
        self.asks.retain(|ask| ask.name() != name);
        self.happened(Happened::Answered(name.to_owned(), words));
    }

    fn resolved(&mut self, fact: &ApprovalResolved) {
        let note = decided(fact.decision, &fact.by, fact.reason.as_deref());
        // Whoever allows a call settles what its question told them of, and nothing else (D4).
        let asked = self.asks.iter().find(|ask| ask.name() == fact.approval.as_str());
        let told = asked.map(Ask::unknown).unwrap_or_default().to_vec();
        if fact.decision.allows() {
            self.unknown.retain(|unsure| !told.contains(&unsure.call));
        }
        self.unask(fact.approval.as_str(), note.clone());
        self.row(fact.call, |row| {
            row.stage = if fact.decision.allows() { Stage::Proposed } else { Stage::Refused };
            row.notes.push(note);
        });
    }

    fn answered(&mut self, fact: &QuestionAnswered) {
        let words = match &fact.answer {
            Some(answer) => format!("{} answered: {}", one_line(&fact.by), one_line(answer)),
            None => "Not answered: the run was ended first".into(),
        };
        self.unask(fact.question.as_str(), words);
        if let Some(input) = fact.input {
            self.unqueue(input, Told::Delivered);
        }
    }

    /// Sub-agents, within the row of the call that started them.
    pub(super) fn agents(&mut self, at: &Placed) {
        let Some(news) = AgentNews::of(&at.event) else { return };
        let call = news.call();
        match news {
            AgentNews::Spawned(f) => {
                let (id, spawned) = (f.agent, at.event.clone());
                let agent = Agent { id, spawned, asks: false, ended: None };
                self.row(call, |row| row.agents.push(agent));
            }
            AgentNews::Asked(f) => {
                let approval = f.request.approval.clone();
                self.ask(Ask::Approval { approval, event: at.event.clone() });
                self.row(call, |row| row.agents.iter_mut().for_each(|a| a.asks |= a.id == f.agent));
            }
            AgentNews::Answered(f) => {
                let note = decided(f.decision, &f.by, None);
                self.unask(f.approval.as_str(), note.clone());
                self.row(call, |row| {
                    row.agents.iter_mut().for_each(|a| a.asks &= a.id != f.agent);
                    row.notes.push(note);
                });
            }
            AgentNews::Finished(f) => {
                self.meters.used(&f.usage, f.cost_usd);
                let over = (f.status, f.error.clone().unwrap_or_else(|| f.text.clone()));
                self.row(call, |row| {
                    if let Some(agent) = row.agents.iter_mut().find(|a| a.id == f.agent) {
                        (agent.asks, agent.ended) = (false, Some(over));
                    }
                });
            }
        }
    }
}

/// The last lines of what a call printed.
fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(LAST_LINES - 1).map_or(0, |(at, _)| at + 1);
    let from = from.max(text.len().saturating_sub(LAST_BYTES_MAX));
    text.get(text.floor_char_boundary(from)..).unwrap_or_default()
}

/// The stage of a call that was answered.
fn ended(row: &Row, ok: bool) -> Stage {
    let denied = row.judged().is_some_and(|fact| fact.verdict == Verdict::Deny);
    match (row.stage, ok) {
        (Stage::Unknown, _) => Stage::Unknown,
        (_, true) => Stage::Done,
        (Stage::Refused, false) => Stage::Refused,
        (_, false) if denied => Stage::Refused,
        (_, false) => Stage::Failed,
    }
}
