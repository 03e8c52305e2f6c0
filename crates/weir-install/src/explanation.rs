//! A call that is looked at and judged as the engine would, and not made: what is settled before
//! (`case`), and what would change the verdict (`advice`). Hooks and a judge model are not asked: they
//! may act, or cost money. Not here: how it is told.

mod advice;
mod case;

pub use advice::{GateAdvice, GateRemedy, find_gate_advice};
pub use case::{CallConditions, CallQuestion, ExplanationCase, label_of_taint};
