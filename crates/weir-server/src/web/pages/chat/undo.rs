//! Taking back what a run changed in files: first shown, then done (G7). What somebody changed since
//! is left alone.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::SessionId;
use weir_core::view::plain::visible;
use weir_engine::ports::CheckpointInfo;
use weir_engine::undo::{Conflict, Merge, Restore, UndoError, plan};
use weir_install::user_space::UserSpace;

use crate::api::checkpoints::{RestoreBody, change, of_session, taken_back};
use crate::api::sessions::own;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::render;
use crate::web::parts::{badge, csrf, empty, icon, moment, page_with};

/// Files up to which every difference is open from the start.
const OPEN_MAX: usize = 4;

/// Which changes.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    /// A run, `r2`; none: the last that changed something.
    #[serde(default)]
    run: String,
    /// Merges without overlap are written too.
    #[serde(default)]
    merge: String,
}

/// The newest checkpoint of what is to be taken back. The newest change may itself be an undo: taking
/// that back brings the changes back.
fn chosen<'a>(all: &'a [CheckpointInfo], run: &str) -> Option<&'a CheckpointInfo> {
    match run.is_empty() {
        true => all.first(),
        false => all.iter().find(|info| info.run == run && info.call.is_some()),
    }
}

/// What taking back means for the files as they are now.
async fn planned(
    home: &UserSpace,
    session: &SessionId,
    (info, all): (&CheckpointInfo, &[CheckpointInfo]),
) -> Answer<Restore> {
    let meta = home.store().meta(session).await?.ok_or_else(|| Problem::missing("this chat"))?;
    let workspace = home.workspace(Some(&meta.workspace))?;
    let checkpoints = home.engine().await?.parts().checkpoints.clone();
    let of_run = |one: &&CheckpointInfo| one.run == info.run && one.call.is_some();
    let found: Vec<CheckpointInfo> = match info.call {
        Some(_) => all.iter().filter(of_run).cloned().collect(),
        None => vec![info.clone()],
    };
    plan(checkpoints.as_ref(), &workspace, &found, &[]).await.map_err(failed)
}

/// Why files could not be compared or put back, for people.
pub(in crate::web::pages) fn failed(error: UndoError) -> Problem {
    match error {
        UndoError::Store(error) => error.into(),
        UndoError::File(error) => Problem::conflict(error.to_string()),
    }
}

pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(which): Query<Which>,
) -> Answer<Markup> {
    let session = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let all = of_session(&home, &session).await?;
    let found = chosen(&all, &which.run);
    let restored = match found {
        Some(info) => Some((info, planned(home.as_ref(), &session, (info, &all)).await?)),
        None => None,
    };
    let shown = html! {
        h1 { "Undo file changes" }
        p { a href={ "/chats/" (id) } { "Back to the chat" } }
        @match &restored {
            None => (empty("Nothing to undo", "This chat has no saved file changes.")),
            Some((info, restored)) => {
                p.muted { (about(info)) ", " (moment(info.ts, app.now())) }
                (preview(restored))
                (form(&caller, &id, &which.run, restored))
            },
        }
        (others(&all, &id, found.map_or("", |info| info.run.as_str())))
    };
    let assets = ["pages/chat.css", "pages/code.css"];
    Ok(page_with(&caller, "Undo file changes", "/chats", &assets, &shown))
}

fn about(info: &CheckpointInfo) -> String {
    match info.call {
        None => "An undo: undoing it restores the changes".into(),
        Some(_) => format!("Run {}", visible(&info.run)),
    }
}

/// Whether both changes of a file fit together.
pub(in crate::web::pages) fn fits(conflict: &Conflict) -> bool {
    matches!(conflict.merged, Some(Merge::Clean(_)))
}

/// Changes to undo, and what is left alone.
pub(in crate::web::pages) fn preview(restore: &Restore) -> Markup {
    let entries = restore.entries.iter();
    let changes: Vec<_> = entries.map(|e| change(&e.path, &e.before, &e.after)).collect();
    html! {
        @if !changes.is_empty() {
            section aria-labelledby="back" {
                h2 id="back" { "Changes to undo" }
                @for change in &changes {
                    details.card open[changes.len() <= OPEN_MAX] {
                        summary { span.mono { (visible(&change.path)) } " " (kind(&change.what)) }
                        @match &change.diff {
                            Some(diff) => (render::diff(diff)),
                            None => p.muted { "Binary or too large to show: it will be restored." },
                        }
                    }
                }
            }
        }
        @if !restore.already.is_empty() {
            p.muted { "Already restored: " (visible(&restore.already.join(", "))) }
        }
        @if !restore.conflicts.is_empty() {
            div.notice.warn {
                p { strong { "Not touched, because they were changed since" } }
                ul {
                    @for conflict in &restore.conflicts {
                        li { span.mono { (visible(&conflict.path)) } ": " (advice(conflict)) }
                    }
                }
            }
        }
    }
}

fn advice(conflict: &Conflict) -> &'static str {
    match conflict.merged {
        Some(Merge::Clean(_)) => "the changes do not conflict and can be merged",
        Some(Merge::Marked(_)) => "both changed the same lines; compare them in Files",
        None => "not text; compare them in Files",
    }
}

fn kind(what: &str) -> Markup {
    match what {
        "created" => badge("good", "restored"),
        "deleted" => badge("bad", "removed"),
        _ => badge("info", "changes"),
    }
}

fn form(caller: &Caller, id: &str, run: &str, restore: &Restore) -> Markup {
    let mergeable = restore.conflicts.iter().any(fits);
    html! {
        @if !restore.entries.is_empty() || mergeable {
            form.card method="post" action={ "/chats/" (id) "/undo" } {
                (csrf(caller))
                input type="hidden" name="run" value=(run);
                @if mergeable {
                    p { label { input type="checkbox" name="merge" value="yes"; "Merge changes that do not conflict" } }
                }
                div.row {
                    button.btn.primary type="submit" { (icon("undo")) "Restore these files" }
                    a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
                }
                p.hint { "The current files are saved first, so you can undo this too." }
            }
        }
    }
}

/// Other runs that changed files.
fn others(all: &[CheckpointInfo], id: &str, shown: &str) -> Markup {
    let mut runs: Vec<&str> = Vec::new();
    for info in all.iter().filter(|info| info.call.is_some() && info.run != shown) {
        if !runs.contains(&info.run.as_str()) {
            runs.push(&info.run);
        }
    }
    html! {
        @if !runs.is_empty() {
            section aria-labelledby="others" {
                h2 id="others" { "Other runs that changed files" }
                ul {
                    @for run in runs {
                        li { a href={ "/chats/" (id) "/undo?run=" (run) } { "Run " (visible(run)) } }
                    }
                }
            }
        }
    }
}

pub(super) async fn undo(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Form(which): Form<Which>,
) -> Answer<Response> {
    let session = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let all = of_session(&home, &session).await?;
    let nothing = || Problem::conflict("no file change is saved for this run");
    let info = chosen(&all, &which.run).ok_or_else(nothing)?;
    let body = RestoreBody {
        whole_run: info.call.is_some(),
        merge: !which.merge.is_empty(),
        ..RestoreBody::default()
    };
    let checkpoint = format!("{}.{}", info.session, info.id);
    taken_back(&app, &caller, (&checkpoint, body)).await?;
    Ok(Redirect::to(&format!("/chats/{id}")).into_response())
}
