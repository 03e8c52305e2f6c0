//! Taking back: files of the last run, files and conversation since a message, with preview.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_tui::link::{Back, News, TextKind, Ticket, Tone};

use super::desk::{Done, Ground, Then};
use super::http::{Answer, Trouble};
use super::opening;
use crate::tui::copies;

/// Paths that one line names.
const NAMED_MAX: usize = 5;
/// Longest preview, in bytes.
const PREVIEW_BYTES_MAX: usize = 4 << 20;

/// A checkpoint in a list.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Checkpoint {
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
struct Change {
    path: String,
    what: String,
    diff: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Conflict {
    path: String,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Default, Deserialize)]
struct Restored {
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    conflicts: Vec<Conflict>,
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
pub(super) async fn checkpoints(ground: &Ground) -> Answer<Vec<Checkpoint>> {
    ground.http.get(&["sessions", ground.session()?.as_str(), "checkpoints"], &[]).await
}

fn nothing(why: &str) -> Trouble {
    Trouble::Refused { status: 409, code: String::new(), why: why.to_owned() }
}

/// Takes the files of the last run back that changed any; done again, they are brought back.
pub(super) async fn undo(ground: &Ground) -> Answer<Done> {
    let all = checkpoints(ground).await?;
    let newest =
        all.first().ok_or_else(|| nothing("no change of a file is saved for this session"))?;
    // Where the last change was an undo, that alone is taken back.
    let body = json!({ "whole_run": newest.call.is_some() });
    let restored = ground.http.post(&["checkpoints", &newest.id, "restore"], &body).await?;
    Ok(Done::news(told(&restored)))
}

fn told(restored: &Restored) -> News {
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
        return News::Notice { tone: Tone::Quiet, text: text.into() };
    }
    let mut text = match changed.as_slice() {
        [] => "no file was put back".to_owned(),
        changed => format!("put back: {}", names(changed)),
    };
    if !left.is_empty() {
        let _ = write!(text, "; left alone, because somebody changed it since: {}", names(&left));
    }
    News::Notice { tone: if left.is_empty() { Tone::Good } else { Tone::Bad }, text }
}

async fn restored(ground: &Ground, before: Seq, is_preview: bool) -> Answer<Restored> {
    let body = json!({ "before": before, "preview": is_preview });
    ground.http.post(&["sessions", ground.session()?.as_str(), "rewind"], &body).await
}

/// What winding files back would change.
pub(super) async fn preview(ground: &Ground, before: Seq, ticket: Ticket) -> Answer<Done> {
    let restored = restored(ground, before, true).await?;
    let title = match restored.changes.len() {
        0 => "No file would change".to_owned(),
        1 => "1 file would change".to_owned(),
        many => format!("{many} files would change"),
    };
    Ok(Done::news(News::Text { ticket, title, text: diff(&restored), kind: TextKind::Diff }))
}

/// One unified diff of all of it.
fn diff(restored: &Restored) -> String {
    let notes = copies::notes(&restored.originals, restored.missing.as_ref());
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
pub(super) async fn rewind(ground: &Ground, before: Seq, back: Back) -> Answer<Done> {
    let mut done = Done::default();
    let copy = match back {
        Back::Files => None,
        Back::Conversation | Back::Both => {
            Some(opening::forked(&ground.http, ground.session()?, Some(before)).await?)
        }
    };
    if matches!(back, Back::Files | Back::Both) {
        match restored(ground, before, false).await {
            Ok(restored) => {
                let notes = copies::notes(&restored.originals, restored.missing.as_ref());
                let quiet = |text| News::Notice { tone: Tone::Quiet, text };
                done.news.extend(notes.into_iter().map(quiet));
                done.news.push(told(&restored));
            }
            Err(trouble) => {
                if let Some(copy) = &copy {
                    opening::dropped(&ground.http, copy).await;
                }
                return Err(trouble);
            }
        }
    }
    if let Some(copy) = copy {
        done.then = Then::Opened(Box::new(opening::existing(ground, copy).await?));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(changes: &[(&str, Option<&str>)], conflicts: &[&str]) -> Restored {
        let change = |(path, diff): &(&str, Option<&str>)| Change {
            path: (*path).into(),
            what: "changed".into(),
            diff: diff.map(str::to_owned),
        };
        let conflict = |path: &&str| Conflict { path: (*path).into() };
        Restored {
            changes: changes.iter().map(change).collect(),
            conflicts: conflicts.iter().map(conflict).collect(),
            ..Restored::default()
        }
    }

    #[test]
    fn f1_attach_what_is_put_back_and_what_is_left_alone_is_said() {
        let many: Vec<(&str, Option<&str>)> =
            ["a", "b", "c", "d", "e", "f", "g"].map(|p| (p, None)).into();
        for (given, tone, text) in [
            (restored(&[], &[]), Tone::Quiet, "no file was changed since"),
            (
                Restored { already: vec!["a".into()], ..Restored::default() },
                Tone::Quiet,
                "every file is as it was before already",
            ),
            (
                restored(&[], &["x"]),
                Tone::Bad,
                "no file was put back; left alone, because somebody changed it since: x",
            ),
            (restored(&[("a", None)], &[]), Tone::Good, "put back: a"),
            (restored(&many, &[]), Tone::Good, "put back: a, b, c, d, e and 2 more"),
            (
                restored(&[("a", None)], &["x"]),
                Tone::Bad,
                "put back: a; left alone, because somebody changed it since: x",
            ),
        ] {
            assert_eq!(told(&given), News::Notice { tone, text: text.into() });
        }
        let shown = diff(&restored(&[("a", Some("--- a\n+++ a\n")), ("b.png", None)], &["x"]));
        assert_eq!(
            shown,
            "# x would be left alone: somebody changed it since\n--- a\n+++ a\n# b.png would be changed\n"
        );
    }
}
