//! One question about several steps of a program (U8): what a program has asked for at once, and a person
//! must let pass, is put before them together. Which steps may stand in such a question, when it is
//! asked, and what it says. Not here: that a step is a call with stages of its own (`call`,
//! `program`), and what the fold makes of the answer (`apply`).
//!
//! To know what else will be asked, steps that are not due are looked at ahead, one after the other. What
//! comes of that counts only where a person is asked about it together with the first: everything else is
//! looked at again when it is due. What stays a question of its own is whatever one yes too many would be
//! dear for: money, rights, what the flow table warns of but for sending, what leaves the sandbox.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::event::{ApprovalLine, ApprovalRequested, CallJudged, Event, LineTarget, TargetSource};
use crate::governance::flow::{FlowCell, Sink, cell_of_rule};
use crate::governance::gate::without_lease;
use crate::governance::{GateName, GateOpinion, Provenance, Verdict, canonical_json};
use crate::ids::{CallId, Timestamp};
use crate::label::Label;
use crate::record::sha256_hex;
use crate::tool::built_in::PROGRAM_RUNNER;
use crate::tool::{ActKind, Effects, Inspection, PathEffect};

use super::call::CallClearance;
use super::{CallStage, CallState, Session, TurnState};

/// Steps that one question is about at most: what a person can read. The rest is asked afterwards.
const LINES_MAX: usize = 40;
/// Bytes of arguments and differences of one question; a step with more is asked about alone.
const LINES_BYTES_MAX: usize = 128 * 1024;

/// Whether a step that was judged so may be asked about with others. Closed: what is not known to be fit
/// is asked about alone.
pub(super) fn is_joinable(f: &CallJudged) -> bool {
    let found = &f.inspection;
    let fits = |opinion: &GateOpinion| match opinion.verdict {
        Verdict::Allow => true,
        Verdict::Ask => fits_a_line(opinion, &found.effects),
        Verdict::Deny => false,
    };
    f.verdict == Verdict::Ask
        && f.gates.iter().all(fits)
        && f.link_bits.is_none()
        && found.fails.is_none()
        && found.confirm.is_none()
        && has_plain_effects(&found.effects)
}

/// Whether a line among others says enough of what this gate asks about. What the flow table warns of is
/// a question of its own, but where a declared tool sends: the line names whom that reaches, and warns.
fn fits_a_line(opinion: &GateOpinion, effects: &Effects) -> bool {
    let cell = opinion.rule.as_deref().and_then(cell_of_rule);
    let acts = &effects.acts;
    let sends = || !acts.is_empty() && acts.iter().all(|act| act.kind == ActKind::Send);
    match (&opinion.gate, cell) {
        (GateName::Rules | GateName::Labels, Some((Sink::SendOther, FlowCell::AskWarned))) => {
            sends()
        }
        (GateName::Rules | GateName::Labels, Some((_, FlowCell::AskExactly))) => true,
        (GateName::Rules | GateName::Labels, _) => !opinion.exact,
        _ => false,
    }
}

/// Whether the flow table warns of a call that was judged so.
pub(super) fn is_warned_of(f: &CallJudged) -> bool {
    let rules = f.gates.iter().filter_map(|opinion| opinion.rule.as_deref());
    rules.filter_map(cell_of_rule).any(|(_, cell)| cell == FlowCell::AskWarned)
}

/// Whether a person can read from the arguments all that would be done, and none of it is of the kinds
/// that are agreed to one by one.
fn has_plain_effects(effects: &Effects) -> bool {
    let Effects { acts, commands, .. } = effects;
    let plain = |kind| matches!(kind, ActKind::Own | ActKind::Send | ActKind::Destroy);
    !effects.unknown
        && !effects.consults
        && effects.control.is_none()
        && effects.spawns.is_none()
        && effects.brain.is_none()
        && effects.enables.is_empty()
        && effects.remembers.is_empty()
        && effects.feeds.is_empty()
        && effects.jobs.is_empty()
        && effects.hosts.iter().all(|host| host.secret.is_none())
        && acts.iter().all(|act| plain(act.kind))
        && commands.iter().all(|run| !run.has_network() && !run.outside_sandbox && !run.background)
}

/// Whether what `later` is judged by could be otherwise once `earlier` is done.
fn is_changed_by(later: &Effects, earlier: &Effects) -> bool {
    let changes = |effects: &Effects| {
        effects.unknown
            || !effects.commands.is_empty()
            || !effects.changes.is_empty()
            || effects.paths.iter().any(|path| path.access.is_write())
    };
    if !changes(earlier) {
        return false;
    }
    let touches_files = !later.paths.is_empty() || !later.changes.is_empty();
    let looks_anywhere = later.unknown || !later.commands.is_empty();
    let wide = earlier.unknown || !earlier.commands.is_empty();
    looks_anywhere || wide && touches_files || share_a_path(later, earlier)
}

/// Whether one touches what the other touches, or what lies above or below it.
fn share_a_path(one: &Effects, other: &Effects) -> bool {
    let names = |effects: &Effects| -> Vec<String> {
        let written = effects.changes.iter().map(|change| change.path.clone());
        effects.paths.iter().map(|path: &PathEffect| path.path.clone()).chain(written).collect()
    };
    // Two spellings that differ in letter case may be one file.
    let fold = |name: &str| name.trim_end_matches('/').to_lowercase();
    let is_below = |name: &str, folder: &str| {
        folder.is_empty()
            || folder == "."
            || name
                .strip_prefix(folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let others: Vec<String> = names(other).iter().map(|name| fold(name)).collect();
    names(one)
        .iter()
        .map(|name| fold(name))
        .any(|name| others.iter().any(|other| is_below(&name, other) || is_below(other, &name)))
}

impl CallState {
    /// Whether it waits to be asked about, and may be with others.
    fn joins(&self) -> Option<&CallClearance> {
        match &self.stage {
            CallStage::ToAsk(clearance) if clearance.joinable && self.step.is_some() => {
                Some(clearance)
            }
            _ => None,
        }
    }

    fn question_bytes(&self) -> usize {
        let found = self.inspection.as_deref();
        let diff = found.and_then(|found| found.diff.as_ref()).map_or(0, String::len);
        self.input.to_string().len() + diff
    }
}

impl Session {
    /// The steps that are looked at before they are due, because a step of the same program is to be
    /// asked about: of each program one at a time, so that the order in which they are found out is
    /// that in which they were asked for.
    pub(super) fn steps_to_look_at<'a>(
        &'a self,
        turn: &'a TurnState,
    ) -> impl Iterator<Item = &'a CallState> {
        let programs = turn.calls.iter().filter(|call| call.is_program() && call.is_started());
        programs.filter_map(|program| self.next_to_look_at(turn, program.id))
    }

    fn next_to_look_at<'a>(&'a self, turn: &'a TurnState, of: CallId) -> Option<&'a CallState> {
        if !self.config.as_ref().is_some_and(|config| config.attended) {
            return None;
        }
        let mine = |step: &&CallState| step.program() == Some(of);
        let due: Vec<&CallState> = turn.open_steps(self).filter(mine).collect();
        // First what is due: it may have to be asked about alone, or change what is found later.
        let undecided = |step: &&CallState| step.stage == CallStage::Proposed;
        if due.iter().any(undecided) || !due.iter().any(|step| step.joins().is_some()) {
            return None;
        }
        let gathered = turn.steps.iter().filter(mine).filter(|step| step.joins().is_some());
        if gathered.count() >= LINES_MAX {
            return None;
        }
        turn.steps.iter().filter(mine).find(|step| {
            step.stage == CallStage::Proposed
                && !self.looked_ahead.contains_key(&step.id)
                && !self.runs_beside(step)
        })
    }

    /// What was found about a call. What is found of a step that is not due counts only where it is to
    /// be asked about with those before it, and none of them could change what was found.
    pub(super) fn take_inspection(
        &mut self,
        now: Timestamp,
        id: CallId,
        inspection: Arc<Inspection>,
    ) -> Option<Event> {
        let turn = self.turn.as_ref()?;
        let is_step = turn.steps.iter().any(|step| step.id == id);
        if !is_step || turn.open_steps(self).any(|step| step.id == id) {
            return self.accept_inspection(now, id, inspection);
        }
        if !self.steps_to_look_at(turn).any(|step| step.id == id) {
            return None;
        }
        let event = self.accept_inspection(now, id, inspection)?;
        let Event::CallJudged(f) = &event else { return None };
        let effects = &f.inspection.effects;
        if is_joinable(f)
            && self.step_refusal(id, &f.inspection).is_none()
            && !self.depends_on_earlier(id, effects)
        {
            return Some(event);
        }
        self.looked_ahead.insert(id, effects.clone());
        None
    }

    /// For whoever plays a journal again: what was found of steps that were looked at ahead and are to be looked
    /// at once more stands in no fact. `fact`, which comes next, came of it, so they are passed over.
    pub fn pass_over_steps(&mut self, fact: &Event) {
        let of = match fact {
            Event::CallJudged(f) => f.call,
            Event::ApprovalRequested(f) => f.call,
            _ => return,
        };
        while let Some(ahead) = self.step_ahead_of(of) {
            // That none of them changes what was found later is what the fact says.
            self.looked_ahead.insert(ahead, Effects::default());
        }
    }

    /// The step of the program of `id` that would be looked at next, where that is another one.
    fn step_ahead_of(&self, id: CallId) -> Option<CallId> {
        let of = self.find_call(id)?.program()?;
        let next = self.next_to_look_at(self.turn.as_ref()?, of)?;
        (next.id != id).then_some(next.id)
    }

    /// Whether a step before `id` that is not done could change what was found about it.
    fn depends_on_earlier(&self, id: CallId, effects: &Effects) -> bool {
        let Some(turn) = &self.turn else { return true };
        let mut earlier =
            turn.steps.iter().take_while(|step| step.id != id).filter(|step| !step.is_done());
        earlier.any(|step| {
            let found = step.inspection.as_ref().map(|found| &found.effects);
            match found.or_else(|| self.looked_ahead.get(&step.id)) {
                Some(before) => is_changed_by(effects, before),
                // A read that waits for its turn: it changes nothing.
                None => self.find_tool(&step.tool).is_none_or(|tool| !tool.parallel_safe),
            }
        })
    }

    /// The fact by which a person is asked about `call`: by itself, or with the other steps of its
    /// program. `None`: not yet, or it is asked about at another.
    pub(super) fn question_about(
        &self,
        call: &CallState,
        clearance: &CallClearance,
        now: Timestamp,
    ) -> Option<Event> {
        let turn = self.turn.as_ref()?;
        let attended = self.config.as_ref().is_some_and(|config| config.attended);
        let Some(of) = call.program().filter(|_| attended && self.may_join(call)) else {
            return self.approval_request(call, clearance, now);
        };
        let mine = |step: &&CallState| step.program() == Some(of);
        let undecided = |step: &CallState| step.stage == CallStage::Proposed;
        if turn.open_steps(self).filter(mine).any(undecided)
            || self.next_to_look_at(turn, of).is_some()
        {
            return None;
        }
        let lines = self.gathered_steps(turn, of);
        match lines.first() {
            Some(first) if first.id != call.id => None,
            Some(_) if lines.len() > 1 => self.shared_request(&lines, now),
            Some(_) | None => self.approval_request(call, clearance, now),
        }
    }

    /// Whether `call` may be asked about with others: nothing else must be told with it (D4), and it
    /// leaves room for another.
    fn may_join(&self, call: &CallState) -> bool {
        call.joins().is_some()
            && self.untold_outcomes(call).is_none()
            && call.question_bytes() <= LINES_BYTES_MAX / 2
    }

    /// The steps that the next question of a program is about, in the order in which it asked for them.
    fn gathered_steps<'a>(&'a self, turn: &'a TurnState, of: CallId) -> Vec<&'a CallState> {
        let mut room = LINES_BYTES_MAX;
        let waits = turn.steps.iter().filter(|step| step.program() == Some(of));
        let waits = waits.filter(|step| self.may_join(step)).take(LINES_MAX);
        let fits = |step: &&CallState| {
            let left = room.checked_sub(step.question_bytes());
            room = left.unwrap_or(0);
            left.is_some()
        };
        waits.take_while(fits).collect()
    }

    fn shared_request(&self, steps: &[&CallState], now: Timestamp) -> Option<Event> {
        let parts: Option<Vec<ApprovalRequested>> = steps
            .iter()
            .map(|step| match self.approval_request(step, step.joins()?, now)? {
                Event::ApprovalRequested(asked) => Some(asked),
                _ => None,
            })
            .collect();
        let parts = parts?;
        let lines: Option<Vec<ApprovalLine>> =
            steps.iter().zip(&parts).map(|(step, asked)| self.line_of(step, asked)).collect();
        let lines = lines?;
        let first = parts.first()?;
        let mut label = Label::default();
        parts.iter().for_each(|part| label.join(&part.label));
        let binds: Vec<&str> = parts.iter().map(|part| part.binds.as_str()).collect();
        let diffs: Option<Vec<&str>> = lines.iter().map(|line| line.diff.as_deref()).collect();
        Some(
            ApprovalRequested {
                approval: first.approval.clone(),
                call: first.call,
                tool: PROGRAM_RUNNER.into(),
                input: told_input(&lines),
                summary: steps_summary(&lines),
                diff: diffs.map(|diffs| joined_diffs(&diffs)),
                reason: steps_reason(&lines),
                unknown: Vec::new(),
                rules: Vec::new(),
                grant: None,
                often: false,
                binds: sha256_hex(canonical_json(&json!(binds)).as_bytes()),
                expires: first.expires,
                label,
                bound: false,
                lines,
            }
            .into(),
        )
    }

    fn line_of(&self, step: &CallState, asked: &ApprovalRequested) -> Option<ApprovalLine> {
        let config = self.config.as_ref()?;
        let context = self.gate_context_of_call(&config.rules, step)?;
        let found = step.inspection.as_deref()?;
        Some(ApprovalLine {
            call: step.id,
            step: step.step.as_ref()?.number,
            tool: asked.tool.clone(),
            input: asked.input.clone(),
            summary: asked.summary.clone(),
            diff: asked.diff.clone(),
            reason: without_lease(&asked.reason),
            reaches: targets(&found.effects, &context.provenance),
            warned: step.joins()?.warned,
            label: asked.label.clone(),
        })
    }

    /// The calls that the answer to a question at `call` is for.
    pub fn calls_asked_at(&self, call: CallId) -> Vec<CallId> {
        let calls = self.turn.iter().flat_map(TurnState::all_calls);
        let with =
            calls.filter(|one| one.open_approval().is_some_and(|open| open.at == Some(call)));
        std::iter::once(call).chain(with.map(|one| one.id)).collect()
    }
}

/// Whom and what outside the effects reach, and where each comes from.
fn targets(effects: &Effects, provenance: &Provenance<'_>) -> Vec<LineTarget> {
    let sends = effects.sends.iter().map(|send| (None, &send.recipient));
    let acts = effects.acts.iter();
    let acts = acts.flat_map(|act| act.to.iter().map(|to| (Some(act.server.as_str()), to)));
    let hosts = effects.hosts.iter().map(|host| (None, &host.url));
    let mut found: Vec<LineTarget> = Vec::new();
    for (server, to) in sends.chain(acts).chain(hosts) {
        if !found.iter().any(|one| one.to == *to) {
            found.push(LineTarget { to: to.clone(), from: source_of(server, to, provenance) });
        }
    }
    found
}

fn source_of(server: Option<&str>, to: &str, provenance: &Provenance<'_>) -> TargetSource {
    let members = server.and_then(|server| provenance.members.get(server));
    match () {
        () if provenance.is_own(to) => TargetSource::Own,
        () if provenance.is_written_by_person(to) => TargetSource::Said,
        () if provenance.approved.contains(to) => TargetSource::Agreed,
        () if members.is_some_and(|members| members.contains(to)) => TargetSource::Member,
        () if provenance.label.is_external() => TargetSource::Read,
        () => TargetSource::Agent,
    }
}

/// All that is asked about, as a face reads it that knows nothing of lines.
fn told_input(lines: &[ApprovalLine]) -> Value {
    let steps = lines
        .iter()
        .map(|line| json!({ "step": line.step, "tool": line.tool, "arguments": line.input }));
    json!({ "steps": steps.collect::<Vec<_>>() })
}

fn joined_diffs(diffs: &[&str]) -> String {
    let ended = diffs.iter().map(|diff| match diff.ends_with('\n') {
        true => (*diff).to_string(),
        false => format!("{diff}\n"),
    });
    ended.collect()
}

/// How many steps, and by which tools: `3 steps of one program: email (2), write_file (1)`.
fn steps_summary(lines: &[ApprovalLine]) -> String {
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for line in lines {
        match tools.iter_mut().find(|(tool, _)| *tool == line.tool) {
            Some((_, count)) => *count += 1,
            None => tools.push((&line.tool, 1)),
        }
    }
    let tools: Vec<String> =
        tools.iter().map(|(tool, count)| format!("{tool} ({count})")).collect();
    format!("{} steps of one program: {}", lines.len(), tools.join(", "))
}

/// What is agreed to by an answer. Why each step is asked about stands with it: thirty reasons above thirty
/// lines would push these out of sight.
fn steps_reason(lines: &[ApprovalLine]) -> String {
    let warned = lines.iter().filter(|line| line.warned).count();
    let careful = match warned {
        0 => String::new(),
        1 => " One is what an attacker would want: its line says Careful.".into(),
        more => format!(" {more} are what an attacker would want: their lines say Careful."),
    };
    format!(
        "A program asked for {} steps at once. A yes is for all of these and for nothing else, a no \
         refuses all of them.{careful}",
        lines.len(),
    )
}

#[cfg(test)]
#[path = "together_tests.rs"]
mod tests;
