//! Taking back what a run changed in files: first shown, then done (G7). What somebody changed since
//! is left alone.

use axum::Form;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::view::plain::visible_text;
use weir_engine::ports::CheckpointInfo;
use weir_engine::undo::{Merge, RestorePlan, UndoConflict, compute_restore_plan};
use weir_install::user_space::UserSpace;

use crate::api::checkpoints::{
    RestoreBody, describe_path_change, of_session, problem_from_undo_error, taken_back,
};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render;
use crate::request::{CallerSession, CallerSpace};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_badge, render_empty, render_icon, render_moment};

/// Files up to which every difference is open from the start.
const OPEN_MAX: usize = 4;

/// The changes that are taken back.
#[derive(Debug, Default, Deserialize)]
pub(super) struct UndoQuery {
    /// A run, `r2`; none: the last that changed something.
    #[serde(default)]
    run: String,
    /// Merges without overlap are written too.
    #[serde(default)]
    merge: String,
}

/// The newest checkpoint of what is to be taken back. The newest change may itself be an undo: taking
/// that back brings the changes back.
fn choose_checkpoint<'a>(all: &'a [CheckpointInfo], run: &str) -> Option<&'a CheckpointInfo> {
    match run.is_empty() {
        true => all.first(),
        false => all.iter().find(|info| info.run == run && info.call.is_some()),
    }
}

/// What taking back means for the files of the session's folder as they are now.
async fn plan_undo(
    space: &UserSpace,
    folder: &str,
    info: &CheckpointInfo,
    all: &[CheckpointInfo],
) -> HandlerResult<RestorePlan> {
    let workspace = space.workspace(Some(folder))?;
    let checkpoints = space.engine().await?.parts().checkpoints.clone();
    let of_run = |one: &&CheckpointInfo| one.run == info.run && one.call.is_some();
    let found: Vec<CheckpointInfo> = match info.call {
        Some(_) => all.iter().filter(of_run).cloned().collect(),
        None => vec![info.clone()],
    };
    compute_restore_plan(checkpoints.as_ref(), &workspace, &found, &[])
        .await
        .map_err(problem_from_undo_error)
}

pub(super) async fn show_undo(
    CallerSession { owner, id, meta }: CallerSession,
    Query(which): Query<UndoQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = &owner;
    let all = of_session(space, &meta).await?;
    let found = choose_checkpoint(&all, &which.run);
    let restored = match found {
        Some(info) => Some((info, plan_undo(space.as_ref(), &meta.workspace, info, &all).await?)),
        None => None,
    };
    let shown = html! {
        h1 { "Undo file changes" }
        p { a href={ "/chats/" (id) } { "Back to the chat" } }
        @match &restored {
            None => (render_empty("Nothing to undo", "This chat has no saved file changes.")),
            Some((info, restored)) => {
                p.muted { (describe_checkpoint(info)) ", " (render_moment(info.ts, app.current_time())) }
                (render_preview(restored))
                (undo_form(caller, id.as_str(), &which.run, restored))
            },
        }
        (render_other_runs(&all, id.as_str(), found.map_or("", |info| info.run.as_str())))
    };
    let assets = ["pages/chat.css", "pages/code.css"];
    Ok(page_with(caller, "Undo file changes", "/chats", &assets, &shown))
}

fn describe_checkpoint(info: &CheckpointInfo) -> String {
    match info.call {
        None => "An undo: undoing it restores the changes".into(),
        Some(_) => format!("Run {}", visible_text(&info.run)),
    }
}

/// Whether both changes of a file fit together.
pub(in crate::web::pages) fn can_merge_cleanly(conflict: &UndoConflict) -> bool {
    matches!(conflict.merged, Some(Merge::Clean(_)))
}

/// Changes to undo, and what is left alone.
pub(in crate::web::pages) fn render_preview(restore: &RestorePlan) -> Markup {
    let entries = restore.entries.iter();
    let changes: Vec<_> =
        entries.map(|e| describe_path_change(&e.path, &e.before, &e.after)).collect();
    html! {
        @if !changes.is_empty() {
            section aria-labelledby="back" {
                h2 id="back" { "Changes to undo" }
                @for change in &changes {
                    details.card open[changes.len() <= OPEN_MAX] {
                        summary { span.mono { (visible_text(&change.path)) } " " (change_badge(&change.what)) }
                        @match &change.diff {
                            Some(diff) => (render::render_diff(diff)),
                            None => p.muted { "Binary or too large to show: it will be restored." },
                        }
                    }
                }
            }
        }
        @if !restore.already.is_empty() {
            p.muted { "Already restored: " (visible_text(&restore.already.join(", "))) }
        }
        @if !restore.conflicts.is_empty() {
            div.notice.warn {
                p { strong { "Not touched, because they were changed since" } }
                ul {
                    @for conflict in &restore.conflicts {
                        li { span.mono { (visible_text(&conflict.path)) } ": " (conflict_advice(conflict)) }
                    }
                }
            }
        }
    }
}

fn conflict_advice(conflict: &UndoConflict) -> &'static str {
    match conflict.merged {
        Some(Merge::Clean(_)) => "the changes do not conflict and can be merged",
        Some(Merge::Marked(_)) => "both changed the same lines; compare them in Files",
        None => "not text; compare them in Files",
    }
}

fn change_badge(what: &str) -> Markup {
    match what {
        "created" => render_badge("good", "restored"),
        "deleted" => render_badge("bad", "removed"),
        _ => render_badge("info", "changes"),
    }
}

fn undo_form(caller: &Caller, id: &str, run: &str, restore: &RestorePlan) -> Markup {
    let mergeable = restore.conflicts.iter().any(can_merge_cleanly);
    html! {
        @if !restore.entries.is_empty() || mergeable {
            (post_form(caller, html! { "/chats/" (id) "/undo" }, "card", &html! {
                input type="hidden" name="run" value=(run);
                @if mergeable {
                    p { label { input type="checkbox" name="merge" value="yes"; "Merge changes that do not conflict" } }
                }
                div.row {
                    (submit_button(ButtonLook::Primary, html! {
                        (render_icon("undo")) "Restore these files"
                    }))
                    a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
                }
                p.hint { "The current files are saved first, so you can undo this too." }
            }))
        }
    }
}

/// Other runs that changed files.
fn render_other_runs(all: &[CheckpointInfo], id: &str, shown: &str) -> Markup {
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
                        li { a href={ "/chats/" (id) "/undo?run=" (run) } { "Run " (visible_text(run)) } }
                    }
                }
            }
        }
    }
}

pub(super) async fn undo_changes(
    CallerSession { owner, id, meta }: CallerSession,
    Form(which): Form<UndoQuery>,
) -> HandlerResult<Response> {
    let CallerSpace { space, .. } = &owner;
    let all = of_session(space, &meta).await?;
    let nothing = || ProblemDetails::conflict("no file change is saved for this run");
    let info = choose_checkpoint(&all, &which.run).ok_or_else(nothing)?;
    let body = RestoreBody {
        whole_run: info.call.is_some(),
        merge: !which.merge.is_empty(),
        ..RestoreBody::default()
    };
    let checkpoint = format!("{}.{}", info.session, info.id);
    taken_back(&owner, &checkpoint, body).await?;
    Ok(Redirect::to(&format!("/chats/{id}")).into_response())
}
