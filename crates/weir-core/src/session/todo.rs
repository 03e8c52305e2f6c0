//! What the world still owes the session: a pure function of state.

use crate::effect::Effect;

use super::{CallStage, CallState, RunPhase, Session, TurnStage, TurnState, limits};

impl Session {
    /// Everything that is owed now. What a driver has in flight and does not find here is to be
    /// cancelled; what it has not must not begin where [`Session::holds_back`] says so.
    pub fn todo(&self) -> Vec<Effect> {
        let mut owed = Vec::new();
        let looking =
            matches!(self.condensing, Some(super::condense::PendingCondensing::Looking(..)));
        let Some(run) = &self.run else {
            owed.extend(looking.then_some(Effect::Condense));
            return owed;
        };
        if run.cancel.is_some() {
            let calls = self.turn.iter().flat_map(TurnState::all_calls);
            owed.extend(calls.filter_map(CallState::ending_effect));
            let cut = self.turn.iter().filter(|turn| turn.stage == TurnStage::Thinking);
            owed.extend(cut.map(|turn| Effect::Salvage { turn: turn.id }));
            return owed;
        }
        // The time of a run that is paused stands still.
        let deadline = limits::run_deadline(self).filter(|_| run.paused.is_none());
        owed.extend(deadline.map(|until| Effect::Wait { until }));
        if looking {
            owed.push(Effect::Condense);
            return owed;
        }
        match &run.phase {
            RunPhase::Look => owed.push(Effect::Look),
            RunPhase::Plan => owed.push(Effect::PlanRecipe),
            RunPhase::Between if !self.unexamined_inputs().is_empty() => owed.push(Effect::Look),
            RunPhase::Between if self.switching.is_some() => owed.push(Effect::Switch),
            RunPhase::Between if self.model_wish().is_some() => owed.push(Effect::SwitchModel),
            RunPhase::Between if run.paused.is_some() => (),
            RunPhase::Between => owed.extend(self.pacing_effect()),
            RunPhase::Remember => owed.push(Effect::Remember),
            RunPhase::Verify => owed.push(Effect::Verify),
            RunPhase::Ending(..) => (),
            RunPhase::Turning => {
                if let Some(turn) = &self.turn {
                    self.owed_by_turn(turn, &mut owed);
                }
            }
        }
        owed
    }

    fn pacing_effect(&self) -> Option<Effect> {
        limits::next_turn_at(self).map(|until| Effect::Wait { until })
    }

    fn owed_by_turn(&self, turn: &TurnState, owed: &mut Vec<Effect>) {
        match turn.stage {
            TurnStage::Stepping => (),
            TurnStage::Due if self.falling.is_some() => owed.push(Effect::SwitchModel),
            // One that waits, for a back-off say, is made ready again when the run goes on.
            TurnStage::Due if self.paused_by().is_some() => (),
            TurnStage::Due => {
                owed.push(Effect::Prepare { turn: turn.id, not_before: turn.not_before });
            }
            TurnStage::Thinking => owed.push(Effect::Ask { turn: turn.id }),
            TurnStage::Working => {
                owed.extend(turn.open_calls(self).filter_map(|call| self.owed_by_call(call)));
                owed.extend(turn.open_steps(self).filter_map(
                    |step| match turn.is_left_over(step) {
                        false => self.owed_by_call(step),
                        true => step.ending_effect(),
                    },
                ));
                let ahead = self.steps_to_look_at(turn);
                owed.extend(ahead.map(|step| Effect::Inspect { call: step.id }));
                let open = turn.open_calls(self).chain(turn.open_steps(self));
                let asking = open.filter_map(CallState::open_approval);
                owed.extend(
                    asking.filter_map(|open| open.expires).map(|until| Effect::Wait { until }),
                );
            }
        }
    }

    fn owed_by_call(&self, call: &CallState) -> Option<Effect> {
        match &call.stage {
            CallStage::Proposed => Some(Effect::Inspect { call: call.id }),
            CallStage::Asking(open) if open.at.is_some() => None,
            CallStage::Asking(open) => Some(Effect::AskPerson { approval: open.approval.clone() }),
            CallStage::Questioning(question) => {
                Some(Effect::AskQuestion { question: question.clone() })
            }
            CallStage::Ready(clearance) => {
                let saves =
                    call.needs_checkpoint() && !clearance.saved && call.failure_text().is_none();
                saves.then_some(Effect::Checkpoint { call: call.id })
            }
            CallStage::Started(_) => (!call.asks_person()).then_some(Effect::Run { call: call.id }),
            CallStage::Reconciling(_) => Some(Effect::Reconcile { call: call.id }),
            CallStage::ToAsk(_)
            | CallStage::Refused(_)
            | CallStage::Answered(_)
            | CallStage::Done(_) => None,
        }
    }
}

impl CallState {
    /// What is owed by a call of a run that is being ended, or by a step whose program is over.
    fn ending_effect(&self) -> Option<Effect> {
        match self.stage {
            CallStage::Started(_) => Some(Effect::Stop { call: self.id }),
            CallStage::Reconciling(_) => Some(Effect::Reconcile { call: self.id }),
            _ => None,
        }
    }
}
