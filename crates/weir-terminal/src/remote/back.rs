//! Taking back: files of the last run, files and conversation since a message, with preview.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_tui::link::{CommandTicket, NoticeTone, RewindScope, TextKind, UiUpdate};

use super::controller::{OutcomeFollowUp, RequestContext, UiCommandOutcome};
use super::http::{ApiResult, RequestError};
use super::opening;
use crate::copies;

/// Paths that one line names.
const NAMED_MAX: usize = 5;
/// Longest preview, in bytes.
const PREVIEW_BYTES_MAX: usize = 4 << 20;

/// A checkpoint in a list.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CheckpointEntry {
    /// By which it is addressed.
    pub(super) id: String,
    /// In which run.
    pub(super) run: String,
    /// Before which call; `None`: before changes were taken back.
    #[serde(default)]
    pub(super) call: Option<String>,
    /// When.
    pub(super) at: Timestamp,
    /// What the call did.
    #[serde(default)]
    pub(super) label: String,
    /// Which paths.
    #[serde(default)]
    pub(super) paths: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct RemoteRestoredChange {
    path: String,
    what: String,
    diff: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct RemoteRestoreConflict {
    path: String,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Default, Deserialize)]
struct RemoteRestoreReport {
    #[serde(default)]
    changes: Vec<RemoteRestoredChange>,
    #[serde(default)]
    conflicts: Vec<RemoteRestoreConflict>,
    /// Paths that are as they were.
    #[serde(default)]
    already: Vec<String>,
    /// Originals of a copy whose changes are among them.
    #[serde(default)]
    originals: Vec<SessionId>,
    /// An original that is not there any more.
    #[serde(default)]
    missing: Option<SessionId>,
}

/// The session's checkpoints, newest first.
pub(super) async fn fetch_checkpoints(context: &RequestContext) -> ApiResult<Vec<CheckpointEntry>> {
    context.http.get(&["sessions", context.require_session()?.as_str(), "checkpoints"], &[]).await
}

fn nothing_to_restore(why: &str) -> RequestError {
    RequestError::Refused { status: 409, code: String::new(), why: why.to_owned() }
}

/// Takes the files of the last run back that changed any; done again, they are brought back.
pub(super) async fn undo_last_run(context: &RequestContext) -> ApiResult<UiCommandOutcome> {
    let all = fetch_checkpoints(context).await?;
    let newest = all
        .first()
        .ok_or_else(|| nothing_to_restore("no change of a file is saved for this session"))?;
    // Where the last change was an undo, that alone is taken back.
    let body = json!({ "whole_run": newest.call.is_some() });
    let restored = context.http.post_json(&["checkpoints", &newest.id, "restore"], &body).await?;
    Ok(UiCommandOutcome::from_update(describe_restore(&restored)))
}

fn describe_restore(restored: &RemoteRestoreReport) -> UiUpdate {
    let names = |paths: &[&str]| {
        let more = paths.len().saturating_sub(NAMED_MAX);
        let named = paths.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{named} and {more} more") } else { named }
    };
    let changed: Vec<&str> = restored.changes.iter().map(|change| change.path.as_str()).collect();
    let left: Vec<&str> = restored.conflicts.iter().map(|one| one.path.as_str()).collect();
    if changed.is_empty() && left.is_empty() {
        let text = match restored.already.is_empty() {
            true => "no file was changed since",
            false => "every file is as it was before already",
        };
        return UiUpdate::Notice { tone: NoticeTone::Quiet, text: text.into() };
    }
    let mut text = match changed.as_slice() {
        [] => "no file was put back".to_owned(),
        changed => format!("put back: {}", names(changed)),
    };
    if !left.is_empty() {
        let _ = write!(text, "; left alone, because somebody changed it since: {}", names(&left));
    }
    UiUpdate::Notice {
        tone: if left.is_empty() { NoticeTone::Good } else { NoticeTone::Bad },
        text,
    }
}

async fn request_rewind(
    context: &RequestContext,
    before: Seq,
    is_preview: bool,
) -> ApiResult<RemoteRestoreReport> {
    let body = json!({ "before": before, "preview": is_preview });
    context
        .http
        .post_json(&["sessions", context.require_session()?.as_str(), "rewind"], &body)
        .await
}

/// What winding files back would change.
pub(super) async fn preview_rewind(
    context: &RequestContext,
    before: Seq,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let restored = request_rewind(context, before, true).await?;
    let title = match restored.changes.len() {
        0 => "No file would change".to_owned(),
        1 => "1 file would change".to_owned(),
        many => format!("{many} files would change"),
    };
    Ok(UiCommandOutcome::from_update(UiUpdate::Text {
        ticket,
        title,
        text: render_restore_diff(&restored),
        kind: TextKind::Diff,
    }))
}

/// One unified diff of all of it.
fn render_restore_diff(restored: &RemoteRestoreReport) -> String {
    let notes = copies::describe_copied_changes(&restored.originals, restored.missing.as_ref());
    let mut text: String = notes.iter().map(|note| format!("# {note}\n")).collect();
    for conflict in &restored.conflicts {
        let path = &conflict.path;
        let _ = writeln!(text, "# {path} would be left alone: somebody changed it since");
    }
    for change in &restored.changes {
        match &change.diff {
            Some(diff) if text.len() + diff.len() <= PREVIEW_BYTES_MAX => text.push_str(diff),
            _ => {
                let _ = writeln!(text, "# {} would be {}", change.path, change.what);
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// Winds back to before the input at `before`. The copy is made first: where there can be none, no
/// file is touched either.
pub(super) async fn rewind_session(
    context: &RequestContext,
    before: Seq,
    back: RewindScope,
) -> ApiResult<UiCommandOutcome> {
    let mut done = UiCommandOutcome::default();
    let copy = match back {
        RewindScope::Files => None,
        RewindScope::Conversation | RewindScope::Both => Some(
            opening::fork_session(&context.http, context.require_session()?, Some(before)).await?,
        ),
    };
    if matches!(back, RewindScope::Files | RewindScope::Both) {
        match request_rewind(context, before, false).await {
            Ok(restored) => {
                let notes =
                    copies::describe_copied_changes(&restored.originals, restored.missing.as_ref());
                let quiet = |text| UiUpdate::Notice { tone: NoticeTone::Quiet, text };
                done.news.extend(notes.into_iter().map(quiet));
                done.news.push(describe_restore(&restored));
            }
            Err(trouble) => {
                if let Some(copy) = &copy {
                    opening::remove_unused_fork(&context.http, copy).await;
                }
                return Err(trouble);
            }
        }
    }
    if let Some(copy) = copy {
        done.then = OutcomeFollowUp::Opened(Box::new(opening::open_existing(context, copy).await?));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(changes: &[(&str, Option<&str>)], conflicts: &[&str]) -> RemoteRestoreReport {
        let change = |(path, diff): &(&str, Option<&str>)| RemoteRestoredChange {
            path: (*path).into(),
            what: "changed".into(),
            diff: diff.map(str::to_owned),
        };
        let conflict = |path: &&str| RemoteRestoreConflict { path: (*path).into() };
        RemoteRestoreReport {
            changes: changes.iter().map(change).collect(),
            conflicts: conflicts.iter().map(conflict).collect(),
            ..RemoteRestoreReport::default()
        }
    }

    #[test]
    fn f1_attach_what_is_put_back_and_what_is_left_alone_is_said() {
        let many: Vec<(&str, Option<&str>)> =
            ["a", "b", "c", "d", "e", "f", "g"].map(|p| (p, None)).into();
        for (given, tone, text) in [
            (restored(&[], &[]), NoticeTone::Quiet, "no file was changed since"),
            (
                RemoteRestoreReport { already: vec!["a".into()], ..RemoteRestoreReport::default() },
                NoticeTone::Quiet,
                "every file is as it was before already",
            ),
            (
                restored(&[], &["x"]),
                NoticeTone::Bad,
                "no file was put back; left alone, because somebody changed it since: x",
            ),
            (restored(&[("a", None)], &[]), NoticeTone::Good, "put back: a"),
            (restored(&many, &[]), NoticeTone::Good, "put back: a, b, c, d, e and 2 more"),
            (
                restored(&[("a", None)], &["x"]),
                NoticeTone::Bad,
                "put back: a; left alone, because somebody changed it since: x",
            ),
        ] {
            assert_eq!(describe_restore(&given), UiUpdate::Notice { tone, text: text.into() });
        }
        let shown = render_restore_diff(&restored(
            &[("a", Some("--- a\n+++ a\n")), ("b.png", None)],
            &["x"],
        ));
        assert_eq!(
            shown,
            "# x would be left alone: somebody changed it since\n--- a\n+++ a\n# b.png would be changed\n"
        );
    }
}
