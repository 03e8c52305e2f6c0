//! Checkpoints of the person's folder: what was saved before each change, by file or by session, and
//! one of them put back (G7). What somebody changed since is left alone. A whole run is taken back
//! from its chat.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::tool::{Change, Image};
use weir_core::view::plain::visible;
use weir_engine::family;
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, Checkpoints, StoreError};
use weir_engine::undo::{Restore, plan};
use weir_engine::workspace::Workspace;

use super::with_path;
use crate::api::checkpoints::{RestoreBody, taken_back};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;
use crate::web::pages::chat::undo::{failed, fits, preview};
use crate::web::parts::{badge, csrf, empty, moment, page_with};

/// Checkpoints that are looked through.
const LOOKED_AT_MAX: usize = 1000;
/// Checkpoints on a page.
const SHOWN_MAX: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/files/checkpoints", list),
        Route::get("/files/checkpoints/{id}", show),
        Route::post("/files/checkpoints/{id}/restore", restore),
    ]
}

/// Which checkpoints.
#[derive(Debug, Default, Deserialize)]
struct Which {
    /// Of this file only.
    #[serde(default)]
    path: String,
    /// Of this session only.
    #[serde(default)]
    session: String,
}

/// What is restored, and how.
#[derive(Debug, Default, Deserialize)]
struct Wish {
    /// This path only; empty: all.
    #[serde(default)]
    path: String,
    /// Merges without overlap are written too.
    #[serde(default)]
    merge: String,
}

/// Everything that a restore works with.
struct Case {
    workspace: Arc<Workspace>,
    checkpoints: Arc<dyn Checkpoints>,
}

async fn case(app: &App, caller: &Caller) -> Answer<Case> {
    let home = app.home(&caller.person).await?;
    let workspace = home.workspace(None)?;
    let checkpoints = home.engine().await?.parts().checkpoints.clone();
    Ok(Case { workspace, checkpoints })
}

impl Case {
    /// The checkpoint of this name, in full. A beginning is not enough: it could come to mean
    /// another.
    async fn find(&self, id: &str) -> Answer<CheckpointInfo> {
        let missing = || Problem::missing("this checkpoint");
        match self.checkpoints.load(self.workspace.root(), id).await {
            Ok((info, _)) if info.id.as_str() == id => Ok(info),
            Ok(_) | Err(StoreError::Missing { .. }) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    async fn planned(&self, info: &CheckpointInfo, wish: &Wish) -> Answer<Restore> {
        let only = match wish.path.as_str() {
            "" => Vec::new(),
            path => vec![path.to_owned()],
        };
        let one = std::slice::from_ref(info);
        let planned = plan(self.checkpoints.as_ref(), &self.workspace, one, &only).await;
        let mut restore = planned.map_err(failed)?;
        if !wish.merge.is_empty() {
            restore.accept_merges();
        }
        Ok(restore)
    }
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(which): Query<Which>,
) -> Answer<Markup> {
    let case = case(&app, &caller).await?;
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
        @if !which.path.is_empty() { p { "Of the file " span.mono { (visible(&which.path)) } "." } }
        @if !which.session.is_empty() { p { "Of one chat." } }
        @if found.is_empty() {
            (empty("No checkpoints yet.", "Weir saves a file before a chat changes it."))
        } @else {
            (table(&found, app.now()))
            @if more > 0 { p.muted { (more) " older ones are not shown." } }
        }
    };
    Ok(page_with(&caller, "Checkpoints", "/files", super::ASSETS, &body))
}

fn table(found: &[CheckpointInfo], now: Timestamp) -> Markup {
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
                            td { (moment(info.ts, now)) }
                            th scope="row" {
                                a href={ "/files/checkpoints/" (info.id.as_str()) } { (visible(&info.label)) }
                                @if info.call.is_none() { " " (badge("info", "restore")) }
                            }
                            td { (paths(&info.changes)) }
                            td { a href={ "/chats/" (family::root(&info.session)) } { "Run " (visible(&info.run)) } }
                        }
                    }
                }
            }
        }
    }
}

fn paths(changes: &[Change]) -> Markup {
    html! {
        @for (at, change) in changes.iter().take(3).enumerate() {
            @if at > 0 { ", " }
            a.mono href=(with_path("/files/checkpoints", &change.path)) { (visible(&change.path)) }
        }
        @if changes.len() > 3 { " and " (changes.len() - 3) " more" }
    }
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(wish): Query<Wish>,
) -> Answer<Markup> {
    let case = case(&app, &caller).await?;
    let info = case.find(&id).await?;
    let restore = case.planned(&info, &wish).await?;
    let can = !restore.entries.is_empty() || restore.conflicts.iter().any(fits);
    let body = html! {
        h1 { (visible(&info.label)) }
        p { a href="/files/checkpoints" { "All checkpoints" } }
        p.muted { "Saved " (moment(info.ts, app.now())) ", before run " (visible(&info.run)) " changed these files." }
        (changed(&info, &wish))
        (preview(&restore))
        @if can {
            form.card.stack method="post" action={ "/files/checkpoints/" (id) "/restore" } {
                (csrf(&caller))
                input type="hidden" name="path" value=(wish.path);
                @if restore.conflicts.iter().any(fits) {
                    label { input type="checkbox" name="merge" value="yes"; " Merge changes that do not conflict" }
                }
                button.btn.primary type="submit" { "Restore these files" }
                p.hint { "The current files are saved first, so you can undo this too." }
            }
        } @else {
            p.notice { "Nothing to restore." }
        }
    };
    Ok(page_with(&caller, "Checkpoint", "/files", super::ASSETS, &body))
}

/// The files of a checkpoint, each of which can be put back alone.
fn changed(info: &CheckpointInfo, wish: &Wish) -> Markup {
    let what = |change: &Change| match (&change.before, &change.after) {
        (Image::Absent, _) => "created",
        (_, Image::Absent) => "deleted",
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
                            aria-current=[(wish.path == change.path).then_some("true")] { (visible(&change.path)) }
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

async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Form(wish): Form<Wish>,
) -> Answer<Redirect> {
    let info = case(&app, &caller).await?.find(&id).await?;
    let body = RestoreBody {
        paths: Some(wish.path).filter(|path| !path.is_empty()).into_iter().collect(),
        merge: !wish.merge.is_empty(),
        ..RestoreBody::default()
    };
    taken_back(&app, &caller, (&format!("{}.{id}", info.session), body)).await?;
    Ok(Redirect::to(&format!("/files/checkpoints/{id}")))
}
