//! All that a session can be owed by the world.
//!
//! An effect is a name, small and comparable: the driver asks the session for the details when it
//! starts one, and what is no longer owed is cancelled.

use crate::ids::{ApprovalId, CallId, QuestionId, Timestamp, TurnId};

/// Something that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Look at clock, instructions, workspace: the notes of this run.
    Look,
    /// Encode the request of this turn.
    Prepare {
        /// Number of the turn in its session.
        turn: TurnId,
        /// Not before this moment: back-off after a failure.
        not_before: Timestamp,
    },
    /// Send it and wait for the reply.
    Ask {
        /// Number of the turn in its session.
        turn: TurnId,
    },
    /// Tell what of its reply had come when somebody ended the run.
    Salvage {
        /// Number of the turn in its session.
        turn: TurnId,
    },
    /// Wake the session at or after this moment.
    Wait {
        /// The time until which to wait, in microseconds since 1970 (UTC).
        until: Timestamp,
    },
    /// Find out about a call: does the tool exist, are the arguments valid, what would it do.
    Inspect {
        /// Number of the call in its session.
        call: CallId,
    },
    /// Ask a person about a call.
    AskPerson {
        /// The approval.
        approval: ApprovalId,
    },
    /// Put a question to the person.
    AskQuestion {
        /// Id of the question.
        question: QuestionId,
    },
    /// Save the files that a call will touch.
    Checkpoint {
        /// Number of the call in its session.
        call: CallId,
    },
    /// Run a call: take its permit with `Session::issue_permit`.
    Run {
        /// Number of the call in its session.
        call: CallId,
    },
    /// End a running call soon; its result is still awaited.
    Stop {
        /// Number of the call in its session.
        call: CallId,
    },
    /// Find out what became of a call that had started before a crash.
    Reconcile {
        /// Number of the call in its session.
        call: CallId,
    },
    /// Hold the final answer against the schema.
    Verify,
    /// Ask a helper for what condensing needs: `Session::condense_work` says what.
    Condense,
    /// Ask the planner to fill a recipe in: `Session::plan_work` says which.
    PlanRecipe,
    /// Look a finished run through for facts worth keeping.
    Remember,
    /// Put the settings of another profile together: `Session::pending_switch` says which.
    Switch,
    /// Make another model ready: `Session::model_wish` says which.
    SwitchModel,
}
