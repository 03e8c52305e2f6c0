//! What the world still owes the session: a pure function of state.

use crate::effect::Effect;

use super::{Call, CallStage, Phase, Session, Turn, TurnStage, limits};

impl Session {
    /// Everything that is owed now. What a driver has in flight and does not find here is to be
    /// cancelled.
    pub fn todo(&self) -> Vec<Effect> {
        let mut owed = Vec::new();
        let looking = matches!(self.condensing, Some(super::condense::Pending::Looking(..)));
        let Some(run) = &self.run else {
            owed.extend(looking.then_some(Effect::Condense));
            return owed;
        };
        if run.cancel.is_some() {
            let calls = self.turn.iter().flat_map(|turn| &turn.calls);
            owed.extend(calls.filter_map(Call::ending));
            let cut = self.turn.iter().filter(|turn| turn.stage == TurnStage::Thinking);
            owed.extend(cut.map(|turn| Effect::Salvage { turn: turn.id }));
            return owed;
        }
        owed.extend(limits::deadline(self).map(|until| Effect::Wait { until }));
        if looking {
            owed.push(Effect::Condense);
            return owed;
        }
        match &run.phase {
            Phase::Look => owed.push(Effect::Look),
            Phase::Plan => owed.push(Effect::PlanRecipe),
            Phase::Between if !self.unlooked().is_empty() => owed.push(Effect::Look),
            Phase::Between if self.switching.is_some() => owed.push(Effect::Switch),
            Phase::Between => owed.extend(self.pace()),
            Phase::Remember => owed.push(Effect::Remember),
            Phase::Verify => owed.push(Effect::Verify),
            Phase::Ending(..) => (),
            Phase::Turning => {
                if let Some(turn) = &self.turn {
                    self.owed_by_turn(turn, &mut owed);
                }
            }
        }
        owed
    }

    fn pace(&self) -> Option<Effect> {
        limits::next_turn_at(self).map(|until| Effect::Wait { until })
    }

    fn owed_by_turn(&self, turn: &Turn, owed: &mut Vec<Effect>) {
        match turn.stage {
            TurnStage::Stepping => (),
            TurnStage::Due => {
                owed.push(Effect::Prepare { turn: turn.id, not_before: turn.not_before });
            }
            TurnStage::Thinking => owed.push(Effect::Ask { turn: turn.id }),
            TurnStage::Working => {
                owed.extend(turn.scope(self).filter_map(|call| self.owed_by_call(call)));
                let asking = turn.scope(self).filter_map(Call::open_approval);
                owed.extend(
                    asking.filter_map(|open| open.expires).map(|until| Effect::Wait { until }),
                );
            }
        }
    }

    fn owed_by_call(&self, call: &Call) -> Option<Effect> {
        match &call.stage {
            CallStage::Proposed => Some(Effect::Inspect { call: call.id }),
            CallStage::Asking(open) => Some(Effect::AskPerson { approval: open.approval.clone() }),
            CallStage::Questioning(question) => {
                Some(Effect::AskQuestion { question: question.clone() })
            }
            CallStage::Ready(clearance) => {
                let saves = call.needs_checkpoint() && !clearance.saved && call.fails().is_none();
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

impl Call {
    /// What is owed by a call of a run that is being ended.
    fn ending(&self) -> Option<Effect> {
        match self.stage {
            CallStage::Started(_) => Some(Effect::Stop { call: self.id }),
            CallStage::Reconciling(_) => Some(Effect::Reconcile { call: self.id }),
            _ => None,
        }
    }
}
