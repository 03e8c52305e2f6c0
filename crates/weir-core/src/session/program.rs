//! Programs (U7): a call that works by steps, each of them a call of its own. What a step may know
//! when it is asked for, which steps may be worked on, and what is left of them when their program is
//! over. Not here: the stages that a step has as any call has them (`call`, `calls`, `derive`), and
//! running the code.
//!
//! What a foreign server asks the model while its call runs is a step of that call in the same way (R3). Such
//! a step is chosen by the server, so its words are foreign, and it carries nothing that stands beside the
//! context.
//!
//! A program has a label of its own that floats: from the fact on that ends a step, what the step gave
//! is in the program's hands, so every step that is asked for later was chosen by it (Z1). The
//! label of the session takes it in when the program gives its own result to the model.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::iter::Chain;
use std::slice::IterMut;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{CallProposed, Event};
use crate::ids::CallId;
use crate::label::Label;
use crate::message::plain_text;
use crate::model::{NESTING_MAX, nests_too_deep};
use crate::recipe::plan::StepOutput;
use crate::tool::{EffectClass, Inspection, foreign};

use super::{CallStage, CallState, RunPhase, Session, TurnStage, TurnState};

/// What makes a call a step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepPlace {
    /// The call of the program.
    pub of: CallId,
    /// Number of the step in its program, counted from 1, in the order in which it was asked for.
    pub number: u32,
    /// What had decided that it is made: the label of the turn, joined with what the program knew.
    pub(super) chosen: Label,
    /// The label of what it gave, once it is answered.
    pub(super) gave: Label,
}

/// A step that is answered, as its program hears of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    /// Number of the step in its program.
    pub number: u32,
    /// The tool did what it was asked for.
    pub ok: bool,
    /// What it gave, or why there is nothing, as text without the numbers of lines.
    pub text: String,
    /// What it came to, for people.
    pub summary: String,
}

/// Who answers what still asks about a step when its program is over.
pub(super) const PROGRAM_END: &str = "the end of its program";
/// What stands in place of a step that its program did not wait for.
pub(super) const PROGRAM_OVER: &str = "Not run: its program has ended.";
/// Who answers what still asks about a server's question to the model when its call is over.
pub(super) const SERVER_CALL_END: &str = "the end of the server's call";
/// What stands in place of a question for whose answer nobody waits.
pub(super) const SERVER_CALL_OVER: &str = "Not asked: the call of the server has ended.";

/// Why a program is ended that asks for more than `most` steps.
pub fn too_many_steps(most: u32) -> String {
    format!(
        "it asked for more than {most} steps (limits.program_steps); do the rest in another call, \
         or make it ask for less"
    )
}

impl CallState {
    /// Whether it is a program, once it was looked at.
    pub fn is_program(&self) -> bool {
        self.inspection.as_ref().is_some_and(|found| found.class == EffectClass::Program)
    }
}

impl TurnState {
    /// Every call of the turn: those that the model asked for, then the steps of programs.
    pub(super) fn all_calls(&self) -> impl Iterator<Item = &CallState> + Clone {
        self.calls.iter().chain(&self.steps)
    }

    pub(super) fn all_calls_mut(
        &mut self,
    ) -> Chain<IterMut<'_, CallState>, IterMut<'_, CallState>> {
        self.calls.iter_mut().chain(&mut self.steps)
    }

    /// The steps that may be worked on now, in the order in which they were asked for: reads beside
    /// each other, anything else alone and after all that was asked for before it.
    pub(super) fn open_steps<'a>(
        &'a self,
        session: &Session,
    ) -> impl Iterator<Item = &'a CallState> + Clone + use<'a> {
        let open = || self.steps.iter().filter(|call| !call.is_done());
        let reads = open().take_while(|call| session.runs_beside(call)).count();
        open().take(reads.max(1))
    }

    /// Whether the program of `step` is over: nothing more is done for it.
    pub(super) fn is_left_over(&self, step: &CallState) -> bool {
        let of = step.program();
        self.calls.iter().any(|call| Some(call.id) == of && call.is_done())
    }

    /// Who ends such a step, and what stands in its place.
    pub(super) fn leftover_words(&self, step: &CallState) -> (&'static str, &'static str) {
        let of = step.program();
        let mut outer = self.calls.iter().filter(|call| Some(call.id) == of);
        match outer.any(|call| call.is_asked_by_server(&step.tool)) {
            true => (SERVER_CALL_END, SERVER_CALL_OVER),
            false => (PROGRAM_END, PROGRAM_OVER),
        }
    }

    /// What the answered steps of a program gave.
    pub(super) fn program_label(&self, of: CallId) -> Label {
        let mut label = Label::default();
        for place in self.steps.iter().filter_map(|step| step.step.as_ref()) {
            if place.of == of {
                label.join(&place.gave);
            }
        }
        label
    }
}

impl CallState {
    /// Whether a step of it by `tool` is a question of its foreign server to the model. A program's step is
    /// none, whatever it is called.
    fn is_asked_by_server(&self, tool: &str) -> bool {
        !self.is_program() && foreign::is_sampling_of(&self.tool, tool)
    }

    /// The program that asked for it, where it is a step.
    pub(super) fn program(&self) -> Option<CallId> {
        self.step.as_ref().map(|place| place.of)
    }
}

impl Session {
    /// Whether a call may run beside others like it.
    pub(super) fn runs_beside(&self, call: &CallState) -> bool {
        self.find_tool(&call.tool).is_none_or(|tool| tool.parallel_safe)
    }

    /// The label of what decided that `call` is made (Z1): of the request that it answers; for a
    /// step, also of what its program knew when it asked.
    pub fn label_of_call<'a>(&'a self, call: &'a CallState) -> &'a Label {
        call.chosen.as_ref().unwrap_or_else(|| self.base_label(call))
    }

    /// The same without the words that it carries itself.
    pub(super) fn base_label<'a>(&'a self, call: &'a CallState) -> &'a Label {
        call.step.as_ref().map_or(self.turn_label(), |place| &place.chosen)
    }

    /// The tools without being listed that `call` may use: those that were loaded in this run; a step,
    /// all that the session has, since a program names them by itself.
    pub(super) fn callable_by(&self, call: &CallState) -> Cow<'_, BTreeSet<String>> {
        match (&call.step, &self.config) {
            (Some(place), _)
                if self
                    .find_call(place.of)
                    .is_some_and(|outer| outer.is_asked_by_server(&call.tool)) =>
            {
                Cow::Owned(BTreeSet::from([call.tool.clone()]))
            }
            (Some(_), Some(config)) => {
                Cow::Owned(config.deferred.iter().map(|tool| tool.name.clone()).collect())
            }
            _ => Cow::Borrowed(&self.found),
        }
    }

    /// The label of what `call` gives: a program gives what its steps gave.
    pub(super) fn given_label(&self, call: &CallState, own: Label) -> Label {
        match &self.turn {
            Some(turn) => own.joined_with(&turn.program_label(call.id)),
            None => own,
        }
    }

    /// The steps of a program, in the order in which it asked for them.
    pub fn program_steps(&self, of: CallId) -> impl Iterator<Item = &CallState> {
        let steps = self.turn.iter().flat_map(|turn| &turn.steps);
        steps.filter(move |step| step.program() == Some(of))
    }

    /// The steps of a program that are answered, in the order in which the journal answers them: a
    /// program that is run again hears of them in this order.
    pub fn answered_steps(&self, of: CallId) -> Vec<StepEnd> {
        let answered = self.turn.iter().flat_map(|turn| &turn.answered_steps);
        let ends = answered.filter_map(|id| self.step_end(*id));
        ends.filter(|(program, _)| *program == of).map(|(_, end)| end).collect()
    }

    /// The end of a step with the call of its program; none of a call that is no step, or is open.
    pub fn step_end(&self, id: CallId) -> Option<(CallId, StepEnd)> {
        let call = self.find_call(id)?;
        let (place, result) = (call.step.as_ref()?, call.call_result()?);
        let (number, ok, summary) = (place.number, result.ok, result.summary.clone());
        let given = plain_text(result.given_blocks());
        let text = StepOutput::from_result(&call.tool, given, result.whole);
        Some((place.of, StepEnd { number, ok, text: text.text, summary }))
    }

    /// Why a program may not ask for its next step, by `tool`; or a server whose call runs, the model.
    ///
    /// # Errors
    /// A sentence; the program is to be ended.
    pub fn may_step(
        &self,
        of: CallId,
        number: u32,
        tool: &str,
        input: &Value,
    ) -> Result<(), String> {
        let goes_on =
            |run: &super::RunState| run.cancel.is_none() && run.phase == RunPhase::Turning;
        let turn = self.turn.as_ref().filter(|turn| turn.stage == TurnStage::Working);
        let steps = |call: &CallState| call.is_program() || call.is_asked_by_server(tool);
        let open = |call: &CallState| call.id == of && call.is_started() && steps(call);
        if !self.run.as_ref().is_some_and(goes_on)
            || !turn.is_some_and(|turn| turn.calls.iter().any(open))
        {
            return Err("its call has ended".into());
        }
        let most = self.config.as_ref().map_or(0, |config| config.limits.program_steps);
        if number > most {
            return Err(too_many_steps(most));
        }
        let asked = u32::try_from(self.program_steps(of).count()).unwrap_or(u32::MAX);
        if number != asked.saturating_add(1) {
            return Err(format!("step {number} was asked for after step {asked}"));
        }
        if nests_too_deep(input) {
            return Err(format!("its arguments are nested more than {NESTING_MAX} levels deep"));
        }
        Ok(())
    }

    /// The fact by which a program asks for a step.
    pub(super) fn step_proposal(
        &self,
        of: CallId,
        number: u32,
        tool: String,
        input: Value,
    ) -> Option<Event> {
        self.may_step(of, number, &tool, &input).ok()?;
        let turn = self.turn.as_ref()?.id;
        let call = CallId(self.next.call + 1);
        Some(CallProposed { call, turn, tool, input, of: Some(of), step: Some(number) }.into())
    }

    /// The fold of it.
    pub(super) fn step_proposed(&mut self, f: &CallProposed, of: CallId) {
        self.next.call = self.next.call.max(f.call.0);
        let Some(turn) = &mut self.turn else { return };
        let mut chosen = turn.label.clone().joined_with(&turn.program_label(of));
        // Words that the program itself was written with chose its steps.
        let program = turn.calls.iter().find(|call| call.id == of);
        program.iter().for_each(|program| chosen.join(&program.carried_label()));
        let is_sampling = program.is_some_and(|outer| outer.is_asked_by_server(&f.tool));
        if let Some((server, _)) = foreign::split_name(&f.tool).filter(|_| is_sampling) {
            chosen.join(&Label::external(format!("mcp:{server}")));
        }
        let number = f.step.unwrap_or_default();
        let place = StepPlace { of, number, chosen: chosen.clone(), gave: Label::default() };
        let call = CallState {
            step: Some(place),
            ..CallState::new(f.call, f.tool.clone(), f.input.clone())
        };
        turn.steps.push(match is_sampling {
            // A server that names a handle gets nothing of what stands behind it.
            true => call,
            false => call.with_carried(&self.handles, &chosen),
        });
    }

    /// A step is answered: what it gave is in the hands of its program from now on.
    pub(super) fn note_step_answered(&mut self, id: CallId, gave: &Label) {
        let Some(turn) = &mut self.turn else { return };
        let Some(place) =
            turn.steps.iter_mut().find(|step| step.id == id).and_then(|step| step.step.as_mut())
        else {
            return;
        };
        place.gave = gave.clone();
        turn.answered_steps.push(id);
    }

    /// Why a step may not do what it wants of the agent.
    pub(super) fn step_refusal(&self, id: CallId, found: &Inspection) -> Option<&'static str> {
        self.find_call(id)?.step.as_ref()?;
        let effects = &found.effects;
        match () {
            () if effects.control.is_some() => {
                Some("Not run: it steers the agent, which a step of a program does not.")
            }
            () if effects.spawns.is_some() => {
                Some("Not run: it starts another agent, which a step of a program does not.")
            }
            () if found.class == EffectClass::Program => {
                Some("Not run: a program is no step of another.")
            }
            () => None,
        }
    }

    /// Whether a program does nothing but wait until a person has answered about its steps, or lets the run
    /// go on.
    pub fn waits_by_steps(&self, of: CallId) -> bool {
        let is_paused = self.paused_by().is_some();
        self.steps_wait(of, |step| awaits_answer(step) || (is_paused && !step.is_running()))
    }

    /// Whether it does nothing but wait until a person has answered.
    pub(super) fn asks_by_steps(&self, of: CallId) -> bool {
        self.steps_wait(of, awaits_answer)
    }

    fn steps_wait(&self, of: CallId, waits: impl Fn(&CallState) -> bool) -> bool {
        let Some(turn) = &self.turn else { return false };
        let mut open = turn.open_steps(self).filter(|step| step.program() == Some(of));
        open.clone().next().is_some() && open.all(waits)
    }
}

fn awaits_answer(step: &CallState) -> bool {
    matches!(step.stage, CallStage::Asking(_)) || step.during.is_some()
}
