//! Everything that a person can tell a session, with the fact that shows it: one row for each variant
//! of `PersonCommand`. A variant without a row does not compile. Not here: where it is told, and what
//! must hold (`host`).

use std::sync::Arc;

use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, QuestionId};
use weir_core::input::{ApprovalAnswer, PersonCommand, PersonMessage};
use weir_core::message::MessageBlock;
use weir_core::profile::PermissionMode;
use weir_engine::host::SessionState;

/// Who tells it.
pub(super) const BY: &str = "ada (another place)";
/// The reason of a change of settings.
const ANOTHER_MODE: &str = "another mode";

/// How far the session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// An approval waits, and an input behind it.
    Approval,
    /// The same, and the run is paused.
    Paused,
    /// A question waits; the approval before it was for the session.
    Question,
    /// It has said what it had to say.
    Rest,
    /// The same, and its context was made shorter.
    Condensed,
}

/// What comes of a command where nothing goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// Whoever tells it sees its fact.
    Found,
    /// That it was taken in is all that is said of it.
    TakenIn,
}

/// Whether a person may tell it once more who does not know what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It counts once however often it is told.
    CountsOnce,
    /// Each time is another.
    CountsAgain,
}

/// A command, and how it is known what came of it.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) stage: Stage,
    /// Kind of its fact; none: no fact follows.
    pub(super) fact: Option<&'static str>,
    /// Words of that fact which no other of its kind has.
    pub(super) words: &'static str,
    pub(super) command: fn(&SessionState) -> PersonCommand,
    pub(super) settled: Settled,
    pub(super) shows: Shows,
    pub(super) repeat: Repeat,
}

type Settled = Box<dyn Fn(&SessionState) -> bool + Send + Sync>;

macro_rules! rows {
    ($($variant:pat => [$($case:expr),+ $(,)?]),+ $(,)?) => {
        /// Every command that can be told.
        pub(super) fn cases() -> Vec<Case> {
            vec![$($($case),+),+]
        }

        /// The names of the cases of this command.
        pub(super) fn names_of(command: &PersonCommand) -> Vec<&'static str> {
            match command {
                $($variant => vec![$($case.name),+]),+
            }
        }
    };
}

rows! {
    PersonCommand::Say(_) => [says_at_rest(), says_while_a_run_is_on()],
    PersonCommand::Decide(_) => [
        decides(Decision::Once),
        decides(Decision::Deny),
        decides(Decision::Session),
        decides(Decision::Always),
    ],
    PersonCommand::Reply { .. } => [replies()],
    PersonCommand::Cancel => [cancels()],
    PersonCommand::Pause => [pauses()],
    PersonCommand::Resume => [resumes()],
    PersonCommand::Withdraw { .. } => [withdraws()],
    PersonCommand::Revoke { .. } => [revokes()],
    PersonCommand::Condense { .. } => [condenses()],
    PersonCommand::Uncondense => [uncondenses()],
    PersonCommand::Configure { .. } => [configures()],
    PersonCommand::Yield => [yields()],
}

/// The case of this name.
pub(super) fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).expect("a row of the table")
}

pub(super) fn message(text: &str, client_id: &str) -> PersonCommand {
    let content = vec![MessageBlock::text(text)];
    let client_id = Some(client_id.to_owned());
    PersonMessage { content, client_id, ..PersonMessage::default() }.into()
}

pub(super) fn answer(decision: Decision) -> PersonCommand {
    let approval = ApprovalId::new("s-a1");
    PersonCommand::Decide(ApprovalAnswer { approval, decision, reason: None, terms: None })
}

fn says_at_rest() -> Case {
    Case {
        name: "say",
        stage: Stage::Rest,
        fact: Some("input.accepted"),
        words: "m9",
        command: |_| message("Once more.", "m9"),
        settled: Box::new(|state| state.sent.find_input("m9").is_some()),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn says_while_a_run_is_on() -> Case {
    Case { name: "say in a run", stage: Stage::Approval, ..says_at_rest() }
}

fn decides(decision: Decision) -> Case {
    let (name, command): (_, fn(&SessionState) -> PersonCommand) = match decision {
        Decision::Once => ("allow once", |_| answer(Decision::Once)),
        Decision::Session => ("allow for the session", |_| answer(Decision::Session)),
        Decision::Always => ("allow always", |_| answer(Decision::Always)),
        _ => ("deny", |_| answer(Decision::Deny)),
    };
    let settled = move |state: &SessionState| {
        let resolution = state.resolution(&ApprovalId::new("s-a1"));
        resolution.is_some_and(|f| f.by == BY && f.decision == Some(decision))
    };
    Case {
        name,
        stage: Stage::Approval,
        fact: Some("approval.resolved"),
        words: "",
        command,
        settled: Box::new(settled),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn question() -> QuestionId {
    QuestionId::new("s-q2")
}

fn replies() -> Case {
    Case {
        name: "reply",
        stage: Stage::Question,
        fact: Some("question.answered"),
        words: "",
        command: |_| PersonCommand::Reply { question: question(), answer: "b".into() },
        settled: Box::new(|state| state.answer(&question()).is_some_and(|f| f.by == BY)),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn cancels() -> Case {
    Case {
        name: "cancel",
        stage: Stage::Approval,
        fact: Some("cancel.requested"),
        words: "",
        command: |_| PersonCommand::Cancel,
        settled: Box::new(|state| state.run.is_none() || state.cancelled),
        shows: Shows::Found,
        repeat: Repeat::CountsAgain,
    }
}

fn pauses() -> Case {
    Case {
        name: "pause",
        stage: Stage::Approval,
        fact: Some("run.paused"),
        words: "",
        command: |_| PersonCommand::Pause,
        settled: Box::new(|state| state.paused.is_some()),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn resumes() -> Case {
    Case {
        name: "resume",
        stage: Stage::Paused,
        fact: Some("run.resumed"),
        words: "",
        command: |_| PersonCommand::Resume,
        settled: Box::new(|state| state.paused.is_none()),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn withdraws() -> Case {
    Case {
        name: "withdraw",
        stage: Stage::Approval,
        fact: Some("input.withdrawn"),
        words: "",
        command: |_| PersonCommand::Withdraw { input: InputId(2) },
        settled: Box::new(|state| !state.queued.contains(&InputId(2))),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn revokes() -> Case {
    Case {
        name: "revoke",
        stage: Stage::Rest,
        fact: Some("lease.revoked"),
        words: "",
        command: |state| {
            assert!(state.leases.contains(&1), "{:?}", state.leases);
            PersonCommand::Revoke { lease: 1 }
        },
        settled: Box::new(|state| !state.leases.contains(&1)),
        shows: Shows::Found,
        repeat: Repeat::CountsOnce,
    }
}

fn condenses() -> Case {
    Case {
        name: "condense",
        stage: Stage::Rest,
        fact: Some("context.condensing"),
        words: "",
        command: |_| PersonCommand::Condense { keep: None },
        settled: Box::new(|_| false),
        shows: Shows::TakenIn,
        repeat: Repeat::CountsAgain,
    }
}

fn uncondenses() -> Case {
    Case {
        name: "uncondense",
        stage: Stage::Condensed,
        fact: Some("context.uncondensed"),
        words: "",
        command: |_| PersonCommand::Uncondense,
        settled: Box::new(|_| false),
        shows: Shows::TakenIn,
        repeat: Repeat::CountsAgain,
    }
}

fn configures() -> Case {
    Case {
        name: "configure",
        stage: Stage::Rest,
        fact: Some("session.configured"),
        words: ANOTHER_MODE,
        command: |state| {
            let mut config = state.config.as_ref().expect("it is open").as_ref().clone();
            config.permission = PermissionMode::AutoEdit;
            PersonCommand::Configure { reason: ANOTHER_MODE.into(), config: Arc::new(config) }
        },
        settled: Box::new(|_| false),
        shows: Shows::TakenIn,
        repeat: Repeat::CountsAgain,
    }
}

fn yields() -> Case {
    Case {
        name: "yield",
        stage: Stage::Rest,
        fact: None,
        words: "",
        command: |_| PersonCommand::Yield,
        settled: Box::new(|_| false),
        shows: Shows::TakenIn,
        repeat: Repeat::CountsAgain,
    }
}
