//! What the host does with each command of a person: whether it goes by letter, how long its facts
//! are waited for, what it is about, and when nothing is left to do of it. The one file outside of
//! `weir-core` that a new command changes. Not here: what a command means (`weir-core`), and the
//! waiting itself (`super`).

use std::time::Duration;

use weir_core::ids::{RunId, SessionId};
use weir_core::input::PersonCommand;

use super::SentCommand;
use super::state::SessionState;
use super::waits::{REMOTE_WAIT, RUN_WAIT, SETTLE_WAIT};

/// How the host handles one kind of command.
struct CommandHandling {
    /// It may be left for another process as a letter.
    by_letter: bool,
    /// How long its facts are waited for once the session took it in.
    taken_wait: Duration,
    /// How long somebody else's command of the same moment is waited for once it was refused; none:
    /// no other one would have done the same.
    refused_wait: Option<Duration>,
}

fn handling_of(command: &PersonCommand) -> CommandHandling {
    match command {
        // What was said is nobody else's.
        PersonCommand::Say(_) => {
            let refused_wait = Some(Duration::ZERO);
            CommandHandling { by_letter: true, taken_wait: RUN_WAIT, refused_wait }
        }
        // That the model got it looks as if it had been withdrawn: it waits no more.
        PersonCommand::Withdraw { .. } => {
            CommandHandling { by_letter: true, taken_wait: SETTLE_WAIT, refused_wait: None }
        }
        PersonCommand::Decide(_)
        | PersonCommand::Reply { .. }
        | PersonCommand::Cancel
        | PersonCommand::Pause
        | PersonCommand::Resume
        | PersonCommand::Revoke { .. } => CommandHandling {
            by_letter: true,
            taken_wait: SETTLE_WAIT,
            refused_wait: Some(SETTLE_WAIT),
        },
        // What changes a session between runs does not go by letter: a program of an earlier version
        // could not read it, and whoever sends it can have the session. That it was taken in is all
        // that there is to know of it at once.
        PersonCommand::Condense { .. }
        | PersonCommand::Uncondense
        | PersonCommand::Configure { .. } => CommandHandling {
            by_letter: false,
            taken_wait: Duration::ZERO,
            refused_wait: Some(Duration::ZERO),
        },
        PersonCommand::Yield => CommandHandling {
            by_letter: true,
            taken_wait: Duration::ZERO,
            refused_wait: Some(Duration::ZERO),
        },
    }
}

/// Whether a command goes by letter.
pub(super) fn goes_by_letter(command: &PersonCommand) -> bool {
    handling_of(command).by_letter
}

/// How long the facts of a command are waited for that the session `told` took in.
pub(super) fn after_taking(sent: &SentCommand, told: &SessionId) -> Duration {
    // A sub-agent gets it as a letter.
    if *told != sent.session {
        return REMOTE_WAIT;
    }
    handling_of(&sent.command).taken_wait
}

/// How long somebody else's command of the same moment is waited for, which was quicker; none: what was
/// refused stays refused.
pub(super) fn after_refusal(command: &PersonCommand) -> Option<Duration> {
    handling_of(command).refused_wait
}

/// Whether the facts that are known tell of what a command is about.
pub(super) fn knows_target(state: &SessionState, command: &PersonCommand) -> bool {
    match command {
        PersonCommand::Decide(answer) => state.approvals.contains_key(&answer.approval),
        PersonCommand::Reply { question, .. } => state.questions.contains_key(question),
        PersonCommand::Withdraw { input } => state.queued.contains(input),
        PersonCommand::Revoke { lease } => state.leases.contains(lease),
        PersonCommand::Cancel | PersonCommand::Pause | PersonCommand::Resume => state.run.is_some(),
        PersonCommand::Say(_)
        | PersonCommand::Condense { .. }
        | PersonCommand::Uncondense
        | PersonCommand::Configure { .. }
        | PersonCommand::Yield => true,
    }
}

/// Whether nothing is left to do of a command, by whomever it was done. `run`: the one that was on when
/// the command was given. None was known: the session itself says whether there is one to end.
pub fn is_command_settled(
    state: &SessionState,
    command: &PersonCommand,
    run: Option<RunId>,
) -> bool {
    match command {
        PersonCommand::Decide(answer) => state.resolution(&answer.approval).is_some(),
        PersonCommand::Reply { question, .. } => state.answer(question).is_some(),
        PersonCommand::Cancel => run.is_some() && (state.run != run || state.cancelled),
        PersonCommand::Pause => run.is_some() && (state.run != run || state.paused.is_some()),
        PersonCommand::Resume => run.is_some() && (state.run != run || state.paused.is_none()),
        PersonCommand::Withdraw { input } => !state.queued.contains(input),
        PersonCommand::Revoke { lease } => !state.leases.contains(lease),
        // That they were taken in is all that there is to know.
        PersonCommand::Say(_)
        | PersonCommand::Condense { .. }
        | PersonCommand::Uncondense
        | PersonCommand::Configure { .. }
        | PersonCommand::Yield => false,
    }
}
