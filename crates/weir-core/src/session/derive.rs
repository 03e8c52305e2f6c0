//! What follows from state alone: one fact at a time, until nothing follows.
//!
//! Because each derived fact is a function of the state before it, a session that was dropped
//! between any two of them derives the rest when it is replayed.

use crate::event::CancelCause;
use crate::event::{
    AlertRaised, ApprovalResolved, Decision, Event, ImageProduced, InputWithdrawn, NOBODY,
    PlanUpdated, QuestionAnswered, QuestionAsked, RunFinished, RunStarted, RunStatus, RunTrigger,
    SteeringReminded, TurnStarted,
};
use crate::ids::{QuestionId, RunId, Timestamp, TurnId};
use crate::message::plain_text;
use crate::sorting::sort_stably_by_key;
use crate::tool::AgentControl;

use super::apply::task_list;
use super::call::{CallStage, OpenApproval};
use super::calls::answer_result;
use super::{CallState, RunPhase, RunState, Session, TurnStage, TurnState, limits};

impl Session {
    /// Whether a fact follows at `now` from what the session is, and is not recorded. With the moment of its
    /// last fact: a program died before it had recorded all that followed.
    pub fn owes_fact(&self, now: Timestamp) -> bool {
        next(self, now).is_some()
    }
}

/// The next fact that follows, if any.
pub(super) fn next(session: &Session, now: Timestamp) -> Option<Event> {
    session.config.as_ref()?;
    if let Some((turn, media)) = session.images_due.front() {
        let (media_type, blob) = (media.media_type.clone(), media.blob.clone());
        // A reply has no name for a picture but that of its file.
        let path = media.name.clone();
        return Some(ImageProduced { turn: *turn, media_type, blob, path }.into());
    }
    if let Some((alert, detail)) = session.alerts_due.front() {
        let (alert, detail) = (alert.clone(), detail.clone());
        return Some(AlertRaised { alert, detail }.into());
    }
    if let Some(fact) = session.due.front() {
        return Some(fact.clone());
    }
    if let Some(event) = session.condensing_next() {
        return Some(event);
    }
    let Some(run) = &session.run else { return begin_run(session) };
    if run.cancel.is_some() {
        return settle_cancelled_run(session, run);
    }
    if let RunPhase::Ending(status, error) = &run.phase {
        // Its end would begin the next run with what was said meanwhile.
        let begins = run.paused.is_some() && leaves_inputs(*status) && !session.queue.is_empty();
        return (!begins).then(|| finish_run(session, run, *status, error.clone()));
    }
    limits::overtime_fact(session, now).or_else(|| match &run.phase {
        RunPhase::Look | RunPhase::Verify | RunPhase::Remember | RunPhase::Ending(..) => None,
        RunPhase::Plan => session.planning_next(),
        RunPhase::Between => fact_between_turns(session, run, now),
        RunPhase::Turning => {
            let turn = session.turn.as_ref()?;
            match turn.stage {
                TurnStage::Stepping => session.step_fact(turn),
                // What a reply cost that is not used counts before the next one is asked for.
                TurnStage::Due => limits::budget_fact(session).or_else(|| session.refit_fact(turn)),
                TurnStage::Thinking => None,
                TurnStage::Working => turn_fact(session, run, turn, now),
            }
        }
    })
}

/// An idle session with input starts a run.
fn begin_run(session: &Session) -> Option<Event> {
    if session.condensing.is_some() {
        return None;
    }
    let first = session.queue.front()?;
    let trigger = match session.open_question() {
        Some(_) => RunTrigger::Resume,
        None if first.scheduled => RunTrigger::Schedule,
        None if session.config.as_ref().is_some_and(|config| config.depth > 0) => RunTrigger::Agent,
        None => RunTrigger::User,
    };
    Some(RunStarted { run: RunId(session.next.run + 1), trigger }.into())
}

/// Between two turns: limits, pace, then the next turn.
fn fact_between_turns(session: &Session, run: &RunState, now: Timestamp) -> Option<Event> {
    if run.paused.is_some() {
        return None;
    }
    // The model that a run is for is settled before anything is held to a sum: it has another price.
    if run.iterations == 0 && session.switching.is_none() && session.model_wish().is_some() {
        return None;
    }
    if let Some(event) =
        limits::hard_limit_fact(session).or_else(|| limits::soft_limit_fact(session))
    {
        return Some(event);
    }
    if let Some(event) = session.recipe_next(run) {
        return Some(event);
    }
    // The world is looked at, or another profile put together, before anything else is said.
    let looks = !session.unexamined_inputs().is_empty();
    let switches = session.switching.is_some() || session.model_wish().is_some();
    if looks || switches || session.condensing.is_some() {
        return None;
    }
    if limits::next_turn_at(session).is_some_and(|at| now < at) {
        return None;
    }
    if let Some(event) = steering_fact(session, run).or_else(|| session.condensing_due()) {
        return Some(event);
    }
    // A fact of its own: what waits is given back first, and that makes room again.
    if session.overflow_error().is_some() {
        return Some(limits::window_limit_fact(session));
    }
    Some(
        TurnStarted {
            turn: TurnId(session.next.turn + 1),
            iteration: run.iterations + 1,
            inputs: session.queue.iter().map(|queued| queued.input).collect(),
            recipe: false,
            told: Some(session.pending.told_parts()),
        }
        .into(),
    )
}

/// Every so many model calls the agent is reminded of who it is and which skills bind it (L10).
fn steering_fact(session: &Session, run: &RunState) -> Option<Event> {
    let config = session.config.as_ref()?;
    let every = config.limits.power_steering_frequency;
    let now = run.iterations;
    if every == 0 || now == 0 || !now.is_multiple_of(every) || run.reminded == now {
        return None;
    }
    let profile = &config.profile;
    let mut text = format!("Reminder: you are the agent {}. {}", profile.name, profile.role.trim());
    if !session.skills.is_empty() {
        let names: Vec<&str> = session.skills.keys().map(String::as_str).collect();
        text.push_str(&format!(" Skills that bind you: {}.", names.join(", ")));
    }
    text.push_str(" Stay on the person's task and within what they asked for.");
    Some(SteeringReminded { iteration: now, text }.into())
}

fn turn_fact(session: &Session, run: &RunState, turn: &TurnState, now: Timestamp) -> Option<Event> {
    if let Some(call) = turn.calls.get(turn.proposed) {
        return Some(call.proposal(turn.id));
    }
    let completed = |c: &CallState| {
        c.call_result().is_some_and(|result| result.ok)
            && matches!(c.control(), Some(AgentControl::Complete { .. }))
    };
    let done = turn.calls.iter().any(completed);
    let cap = session.config.as_ref().map_or(1, |c| c.limits.parallel_calls.max(1)) as usize;
    let running = turn.calls.iter().filter(|call| call.is_running()).count();
    for call in turn.open_calls(session) {
        if done && call.stage == CallStage::Proposed {
            let text = "Skipped: the task was completed by an earlier call of the same reply.";
            return Some(session.refusal_result(call.id, text).into());
        }
        let ready = matches!(call.stage, CallStage::Ready(_));
        if ready && call.failure_text().is_none() && running >= cap {
            continue;
        }
        // Two agents that change the same workspace never run beside each other (M6).
        let writes = |call: &CallState| call.is_running() && call.spawns_a_writer();
        if ready && call.spawns_a_writer() && turn.calls.iter().any(writes) {
            continue;
        }
        if let Some(event) = call_fact(session, run, call, now) {
            return Some(event);
        }
    }
    step_fact(session, run, turn, now)
}

/// What follows for the steps of programs. What is left of one that is over is settled.
fn step_fact(session: &Session, run: &RunState, turn: &TurnState, now: Timestamp) -> Option<Event> {
    let cap = session.config.as_ref().map_or(1, |c| c.limits.parallel_calls.max(1)) as usize;
    let running = turn.steps.iter().filter(|step| step.is_running()).count();
    for step in turn.open_steps(session) {
        let ready = matches!(step.stage, CallStage::Ready(_));
        let event = match turn.is_left_over(step) {
            true => {
                let (by, text) = turn.leftover_words(step);
                settle_call(session, step, by, text)
            }
            false if ready && step.failure_text().is_none() && running >= cap => None,
            false => call_fact(session, run, step, now),
        };
        if event.is_some() {
            return event;
        }
    }
    None
}

/// What stands in place of a call that a run did not wait for.
pub(super) const RUN_OVER: &str = "Not run: the run was ended first.";

/// What follows for one call.
fn call_fact(session: &Session, run: &RunState, call: &CallState, now: Timestamp) -> Option<Event> {
    let attended = session.config.as_ref().is_some_and(|config| config.attended);
    if let Some((question, _)) = &call.during
        && (!call.is_started() || !session.hears_servers())
    {
        return Some(unanswered_question(question, NOBODY));
    }
    match &call.stage {
        CallStage::Proposed | CallStage::Reconciling(_) | CallStage::Done(_) => None,
        CallStage::ToAsk(clearance) => session.question_about(call, clearance, now),
        // It is settled with the call at which its question stands.
        CallStage::Asking(open) if open.at.is_some() => None,
        CallStage::Asking(open) if !attended => {
            // Fail closed: nobody can be asked, so the answer is no, at once (C2, G4).
            Some(resolution(call, open, Decision::Deny, NOBODY, "nobody can be asked in this run"))
        }
        CallStage::Asking(open) => open.expires.is_some_and(|expires| expires <= now).then(|| {
            let why = "nobody answered in time";
            resolution(call, open, Decision::Expired, "the time limit", why)
        }),
        CallStage::Refused(text) => Some(session.refusal_result(call.id, text).into()),
        // It begins when the run goes on.
        CallStage::Ready(_) if run.paused.is_some() => None,
        // What was decided before an outcome became unknown is asked again (D4).
        CallStage::Ready(clearance)
            if call.failure_text().is_none() && session.untold_outcomes(call).is_some() =>
        {
            session.approval_request(call, clearance, now)
        }
        CallStage::Ready(clearance) => session.ready_call_fact(call, clearance),
        CallStage::Started(_) => started_call_fact(session, call),
        CallStage::Questioning(question) => question_fact(session, run, call, question),
        CallStage::Answered(text) => {
            Some(answer_result(call.id, call.tool.clone(), true, text).into())
        }
    }
}

/// An answer to a question whether `call` may run that no person gave.
fn resolution(
    call: &CallState,
    open: &OpenApproval,
    decision: Decision,
    by: &str,
    reason: &str,
) -> Event {
    ApprovalResolved {
        approval: open.approval.clone(),
        call: call.id,
        decision,
        by: by.into(),
        reason: Some(reason.into()),
        terms: None,
    }
    .into()
}

fn started_call_fact(session: &Session, call: &CallState) -> Option<Event> {
    match call.control() {
        Some(AgentControl::Ask { text, options, multiple }) => Some(
            QuestionAsked {
                question: session.question_id(session.next.asked + 1),
                call: call.id,
                text: text.clone(),
                options: options.clone(),
                multiple: *multiple,
                server: None,
                field: None,
            }
            .into(),
        ),
        Some(AgentControl::Plan { items }) if session.plan != *items => {
            let told = task_list(items);
            Some(PlanUpdated { items: items.clone(), call: call.id, told }.into())
        }
        Some(
            AgentControl::Plan { .. }
            | AgentControl::Complete { .. }
            | AgentControl::Switch { .. }
            | AgentControl::Follow { .. },
        )
        | None => None,
    }
}

/// An open question takes the next input as its answer; where nobody attends, the run ends and the
/// question stays open (L13).
fn question_fact(
    session: &Session,
    run: &RunState,
    call: &CallState,
    question: &QuestionId,
) -> Option<Event> {
    if let Some(queued) = session.queue.front() {
        return Some(
            QuestionAnswered {
                question: question.clone(),
                answer: Some(plain_text(&queued.content)),
                by: "person".into(),
                input: Some(queued.input),
            }
            .into(),
        );
    }
    if session.config.as_ref().is_some_and(|config| config.attended) {
        return None;
    }
    let Some(AgentControl::Ask { text, .. }) = call.control() else { return None };
    let error = format!("A question is open: {text}");
    Some(finish_run(session, run, RunStatus::NeedsInput, Some(error)))
}

/// A run that is cancelled: everything open is settled, each journaled, then it ends (L14).
fn settle_cancelled_run(session: &Session, run: &RunState) -> Option<Event> {
    let (cause, by) = run.cancel.as_ref()?;
    // What the model had said until now is told first.
    if session.turn.as_ref().is_some_and(|turn| turn.stage == TurnStage::Thinking) {
        return None;
    }
    if let Some(turn) = session.turn.as_ref().filter(|turn| turn.stage == TurnStage::Working) {
        if let Some(call) = turn.calls.get(turn.proposed) {
            return Some(call.proposal(turn.id));
        }
        for call in turn.all_calls().filter(|call| !call.is_done()) {
            match settle_call(session, call, by, RUN_OVER) {
                Some(event) => return Some(event),
                None if call.is_running() && !call.asks_person() => (),
                None => return None,
            }
        }
        if turn.all_calls().any(CallState::is_running) {
            return None;
        }
    }
    let (status, error) = match cause {
        CancelCause::Cancelled => (RunStatus::Cancelled, format!("Cancelled by {by}.")),
        CancelCause::Paused => (
            RunStatus::Paused,
            format!("Weir was paused by {by}. `weir release` lets runs start again."),
        ),
        CancelCause::Timeout => (RunStatus::Limit, "The run's time is over.".to_string()),
        CancelCause::Alert => {
            (RunStatus::Denied, format!("The run was stopped by {by}: an alert was raised."))
        }
    };
    Some(finish_run(session, run, status, Some(error)))
}

fn unanswered_question(question: &QuestionId, by: &str) -> Event {
    let question = question.clone();
    QuestionAnswered { question, answer: None, by: by.into(), input: None }.into()
}

fn settle_call(session: &Session, call: &CallState, by: &str, text: &str) -> Option<Event> {
    if let Some((question, _)) = &call.during {
        return Some(unanswered_question(question, by));
    }
    match &call.stage {
        CallStage::Asking(open) if open.at.is_some() => None,
        CallStage::Asking(open) => Some(
            ApprovalResolved {
                approval: open.approval.clone(),
                call: call.id,
                decision: Decision::Cancelled,
                by: by.into(),
                reason: None,
                terms: None,
            }
            .into(),
        ),
        CallStage::Questioning(question) => Some(unanswered_question(question, by)),
        CallStage::Started(_) if call.asks_person() => {
            Some(session.refusal_result(call.id, "Not asked: the run was ended.").into())
        }
        CallStage::Started(_) | CallStage::Reconciling(_) | CallStage::Done(_) => None,
        CallStage::Refused(text) => Some(session.refusal_result(call.id, text).into()),
        CallStage::Proposed
        | CallStage::ToAsk(_)
        | CallStage::Ready(_)
        | CallStage::Answered(_) => Some(session.refusal_result(call.id, text).into()),
    }
}

/// Whether what was said and not yet taken is left to the next run by one that ends so.
fn leaves_inputs(status: RunStatus) -> bool {
    matches!(status, RunStatus::Completed | RunStatus::NeedsInput)
}

/// The end of a run. What was said and not yet taken is given back first, unless the next run can
/// take it (L12).
fn finish_run(
    session: &Session,
    run: &RunState,
    status: RunStatus,
    error: Option<String>,
) -> Event {
    if let Some(untaken) = session.queue.front().filter(|_| !leaves_inputs(status)) {
        return InputWithdrawn { input: untaken.input }.into();
    }
    // What nobody could answer decides the outcome, whatever else was achieved (C2).
    let decides = matches!(status, RunStatus::Completed | RunStatus::Limit | RunStatus::Denied);
    let (status, error) = if decides && run.unanswered {
        let mut why = "A call needed a person's approval and nobody could be asked.".to_string();
        if let Some(error) = error {
            why.push(' ');
            why.push_str(&error);
        }
        (RunStatus::NeedsInput, Some(why))
    } else {
        (status, error)
    };
    // Calls that ran beside each other were answered in any order.
    let mut denials = run.denials.clone();
    sort_stably_by_key(&mut denials, |denial| denial.call);
    RunFinished {
        run: run.id,
        status,
        text: run.text.clone(),
        output: run.output.clone(),
        usage: run.usage,
        cost_usd: run.cost,
        iterations: run.iterations,
        tool_calls: run.tool_calls,
        denials,
        changed_files: run.changed.iter().cloned().collect(),
        marked_files: run.marked.iter().cloned().collect(),
        pictures: run.pictures.clone(),
        recipe: run.recipe_use(status),
        error,
    }
    .into()
}
