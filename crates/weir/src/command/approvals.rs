//! `weir approvals`: what waits for a person, answered from any terminal (G4), and the leases that
//! answers granted (Z2).
//!
//! An approval is a fact of its session's journal; everything here reads and writes journals, or
//! leaves a letter for the program that has the session now. What an answer means is the core's.

use std::process::ExitCode;

use weir_core::ids::{ApprovalId, QuestionId, SessionId};
use weir_engine::ports::Store;

use crate::failure::usage;
use crate::options::ApprovalsCommand;

mod answer;
mod deliver;
pub(super) mod fold;
mod list;
mod run_pause;
mod show;
mod tell;

use fold::FoldedSession;
pub(super) use run_pause::{pause_run, resume_run};
pub(super) use tell::{
    DIFF_LINES_MAX, describe_answer_words, describe_approval_request, describe_decision,
    join_rules, resolve_typed_choice,
};
use weir_install::context::InstallationContext;
use weir_install::session_ids;

/// Does what was asked.
pub(crate) async fn run_approvals_command(
    cx: &InstallationContext,
    command: ApprovalsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        ApprovalsCommand::List(args) => list::list_approvals(cx, &args).await?,
        ApprovalsCommand::Show(args) => show::show_pending_item(cx, &args).await?,
        ApprovalsCommand::Answer(args) => return answer::answer_pending_item(cx, &args).await,
        ApprovalsCommand::Revoke(args) => return answer::revoke_lease(cx, &args).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Something that a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PendingItem {
    /// Whether a call may run.
    Approval(ApprovalId),
    /// A question of the agent.
    Question(QuestionId),
}

/// The session and the thing that `text` names: `SESSION-a1`, `SESSION-q2`; the beginning of the
/// session's id will do.
///
/// # Errors
/// A usage error: no such session, or it is not a name of that kind.
async fn find_pending_item(
    store: &dyn Store,
    text: &str,
) -> anyhow::Result<(SessionId, PendingItem)> {
    let wrong = || {
        usage(format!(
            "{text:?} is not the id of an approval or question (such as 0198c5e0-a1); `weir \
             approvals list` shows the ids"
        ))
    };
    let (session, number) = text.trim().rsplit_once('-').ok_or_else(wrong)?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let is_approval = number.strip_prefix('a').is_some_and(is_number);
    if !is_approval && !number.strip_prefix('q').is_some_and(is_number) {
        return Err(wrong());
    }
    let session = session_ids::find_session_id(store, session).await?;
    let whole = format!("{session}-{number}");
    let asked = if is_approval {
        PendingItem::Approval(ApprovalId::new(whole))
    } else {
        PendingItem::Question(QuestionId::new(whole))
    };
    Ok((session, asked))
}

/// The session never asked what is named so.
fn no_such_item(session: &SessionId, id: &str) -> anyhow::Error {
    usage(format!(
        "session {session} has no approval or question {id}; `weir approvals list` shows the open \
         ones"
    ))
}

/// A length of time for people, in its two largest units: `3 h 20 min`.
fn describe_duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g4_times_are_told_in_two_units() {
        for (ms, text) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_600_000, "1 h 0 min"),
            (86_399_000, "23 h 59 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(describe_duration(ms), text);
        }
    }

    #[tokio::test]
    async fn g4_what_names_nothing_is_refused() {
        let store = weir_store::MemoryStore::new();
        for text in ["", "a1", "-", "x-b1", "x-a", "x-a1x", "x-a1", "\u{202E}-a1"] {
            let error = find_pending_item(&store, text).await.expect_err(text);
            assert_eq!(crate::failure::exit_status(&error), Some(2), "{text}");
        }
    }
}
