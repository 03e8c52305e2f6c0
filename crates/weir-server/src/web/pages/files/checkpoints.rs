//! Checkpoints of the person's folder: what was saved before each change, by file or by session, and
//! one of them put back (G7). What somebody changed since is left alone. A whole run is taken back
//! from its chat.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, Query};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::tool::{FileState, PlannedChange};
use weir_core::view::plain::visible_text;
use weir_engine::family;
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, Checkpoints, StoreError};
use weir_engine::undo::{RestorePlan, compute_restore_plan};
use weir_engine::workspace::Workspace;

use super::with_path;
use crate::api::checkpoints::{RestoreBody, problem_from_undo_error, taken_back};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::pages::chat::undo::{can_merge_cleanly, render_preview};
use crate::web::parts::{page_with, render_badge, render_empty, render_moment};

/// Checkpoints that are looked through.
const LOOKED_AT_MAX: usize = 1000;
/// Checkpoints on a page.
const SHOWN_MAX: usize = 100;

pub(super) fn checkpoint_page_routes() -> Vec<Route> {
    vec![
        Route::get("/files/checkpoints", show_checkpoints),
        Route::get("/files/checkpoints/{id}", show_checkpoint),
        Route::post("/files/checkpoints/{id}/restore", restore_checkpoint),
    ]
}

/// A filter of checkpoints.
#[derive(Debug, Default, Deserialize)]
struct CheckpointsQuery {
    /// Of this file only.
    #[serde(default)]
    path: String,
    /// Of this session only.
    #[serde(default)]
    session: String,
}

/// What is restored, and how.
#[derive(Debug, Default, Deserialize)]
struct RestoreForm {
    /// This path only; empty: all.
    #[serde(default)]
    path: String,
    /// Merges without overlap are written too.
    #[serde(default)]
    merge: String,
}

/// Everything that a restore works with.
struct RestoreContext {
    workspace: Arc<Workspace>,
    checkpoints: Arc<dyn Checkpoints>,
}

async fn restore_context(owner: &CallerSpace) -> HandlerResult<RestoreContext> {
    let CallerSpace { space, .. } = owner;
    let workspace = space.workspace(None)?;
    let checkpoints = space.engine().await?.parts().checkpoints.clone();
    Ok(RestoreContext { workspace, checkpoints })
}

impl RestoreContext {
    /// The checkpoint of this name, in full. A beginning is not enough: it could come to mean
    /// another.
    async fn find_checkpoint(&self, id: &str) -> HandlerResult<CheckpointInfo> {
        let missing = || ProblemDetails::not_found("this checkpoint");
        match self.checkpoints.load(self.workspace.root(), id).await {
            Ok((info, _)) if info.id.as_str() == id => Ok(info),
            Ok(_) | Err(StoreError::Missing { .. }) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    async fn plan_restore(
        &self,
        info: &CheckpointInfo,
        wish: &RestoreForm,
    ) -> HandlerResult<RestorePlan> {
        let only = match wish.path.as_str() {
            "" => Vec::new(),
            path => vec![path.to_owned()],
        };
        let one = std::slice::from_ref(info);
        let planned =
            compute_restore_plan(self.checkpoints.as_ref(), &self.workspace, one, &only).await;
        let mut restore = planned.map_err(problem_from_undo_error)?;
        if !wish.merge.is_empty() {
            restore.accept_merges();
        }
        Ok(restore)
    }
}

async fn show_checkpoints(
    owner: CallerSpace,
    Query(which): Query<CheckpointsQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let case = restore_context(&owner).await?;
    let session = Some(which.session.as_str()).filter(|id| !id.is_empty()).map(SessionId::new);
    let filter = CheckpointFilter { session, limit: Some(LOOKED_AT_MAX) };
    let mut found = case.checkpoints.list(case.workspace.root(), &filter).await?;
    if !which.path.is_empty() {
        found.retain(|info| info.changes.iter().any(|change| change.path == which.path));
    }
    let more = found.len().saturating_sub(SHOWN_MAX);
    found.truncate(SHOWN_MAX);
    let body = html! {
        h1 { "Checkpoints" }
        p { a href="/files" { "Files" } }
        @if !which.path.is_empty() { p { "Of the file " span.mono { (visible_text(&which.path)) } "." } }
        @if !which.session.is_empty() { p { "Of one chat." } }
        @if found.is_empty() {
            (render_empty("No checkpoints yet.", "Weir saves a file before a chat changes it."))
        } @else {
            (render_checkpoint_table(&found, app.current_time()))
            @if more > 0 { p.muted { (more) " older ones are not shown." } }
        }
    };
    Ok(page_with(caller, "Checkpoints", "/files", super::ASSETS, &body))
}

fn render_checkpoint_table(found: &[CheckpointInfo], now: Timestamp) -> Markup {
    html! {
        div.table-wrap role="group" aria-label="Checkpoints" tabindex="0" {
            table {
                caption.unseen { "Checkpoints, newest first" }
                thead {
                    tr {
                        th scope="col" { "When" }
                        th scope="col" { "What" }
                        th scope="col" { "Files" }
                        th scope="col" { "Chat" }
                    }
                }
                tbody {
                    @for info in found {
                        tr {
                            td { (render_moment(info.ts, now)) }
                            th scope="row" {
                                a href={ "/files/checkpoints/" (info.id.as_str()) } { (visible_text(&info.label)) }
                                @if info.call.is_none() { " " (render_badge("info", "restore")) }
                            }
                            td { (render_paths(&info.changes)) }
                            td { a href={ "/chats/" (family::root_session(&info.session)) } { "Run " (visible_text(&info.run)) } }
                        }
                    }
                }
            }
        }
    }
}

fn render_paths(changes: &[PlannedChange]) -> Markup {
    html! {
        @for (at, change) in changes.iter().take(3).enumerate() {
            @if at > 0 { ", " }
            a.mono href=(with_path("/files/checkpoints", &change.path)) { (visible_text(&change.path)) }
        }
        @if changes.len() > 3 { " and " (changes.len() - 3) " more" }
    }
}

async fn show_checkpoint(
    owner: CallerSpace,
    Path(id): Path<String>,
    Query(wish): Query<RestoreForm>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let case = restore_context(&owner).await?;
    let info = case.find_checkpoint(&id).await?;
    let restore = case.plan_restore(&info, &wish).await?;
    let can = !restore.entries.is_empty() || restore.conflicts.iter().any(can_merge_cleanly);
    let body = html! {
        h1 { (visible_text(&info.label)) }
        p { a href="/files/checkpoints" { "All checkpoints" } }
        p.muted { "Saved " (render_moment(info.ts, app.current_time())) ", before run " (visible_text(&info.run)) " changed these files." }
        (render_changed_files(&info, &wish))
        (render_preview(&restore))
        @if can {
            (post_form(caller, html! { "/files/checkpoints/" (id) "/restore" }, "card stack", &html! {
                input type="hidden" name="path" value=(wish.path);
                @if restore.conflicts.iter().any(can_merge_cleanly) {
                    label { input type="checkbox" name="merge" value="yes"; " Merge changes that do not conflict" }
                }
                (submit_button(ButtonLook::Primary, "Restore these files"))
                p.hint { "The current files are saved first, so you can undo this too." }
            }))
        } @else {
            p.notice { "Nothing to restore." }
        }
    };
    Ok(page_with(caller, "Checkpoint", "/files", super::ASSETS, &body))
}

/// The files of a checkpoint, each of which can be put back alone.
fn render_changed_files(info: &CheckpointInfo, wish: &RestoreForm) -> Markup {
    let what = |change: &PlannedChange| match (&change.before, &change.after) {
        (FileState::Absent, _) => "created",
        (_, FileState::Absent) => "deleted",
        _ => "changed",
    };
    html! {
        @if info.changes.len() > 1 {
            h2 { "Files" }
            ul {
                @for change in &info.changes {
                    li {
                        @let here = format!("/files/checkpoints/{}", info.id.as_str());
                        a.mono href=(with_path(&here, &change.path))
                            aria-current=[(wish.path == change.path).then_some("true")] { (visible_text(&change.path)) }
                        " " (what(change))
                    }
                }
            }
            @if !wish.path.is_empty() {
                p { a href={ "/files/checkpoints/" (info.id.as_str()) } { "All of them together" } }
            }
        }
    }
}

async fn restore_checkpoint(
    owner: CallerSpace,
    Path(id): Path<String>,
    Form(wish): Form<RestoreForm>,
) -> HandlerResult<Redirect> {
    let info = restore_context(&owner).await?.find_checkpoint(&id).await?;
    let body = RestoreBody {
        paths: Some(wish.path).filter(|path| !path.is_empty()).into_iter().collect(),
        merge: !wish.merge.is_empty(),
        ..RestoreBody::default()
    };
    taken_back(&owner, &format!("{}.{id}", info.session), body).await?;
    Ok(Redirect::to(&format!("/files/checkpoints/{id}")))
}
