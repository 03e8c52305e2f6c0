//! Files as they were before a message (G7), also where the session is a copy and its original made
//! the changes. Not here: going back to a checkpoint (`checkpoints`), and the copy of the
//! conversation (`sessions`).

use std::path::Path as FsPath;

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId};
use weir_engine::rewind;

use super::checkpoints::{RestoreBody, RestoreReport, TakeBack, put_back};
use super::sessions::find_own_session;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

/// The routes of this file.
pub(crate) fn rewind_api_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/sessions/{id}/rewind", rewind_files)
            .summary(
                "Files as they were before an input; with `preview` only say what would change",
            )
            .body::<RewindBody>()
            .gives_json::<RewindReport>(200),
    ]
}

/// Until where.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewindBody {
    /// The place of the input before which files are to be as they were.
    before: Seq,
    /// Change nothing, say what would be done.
    #[serde(default)]
    preview: bool,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct RewindReport {
    /// Which paths.
    #[serde(flatten)]
    restored: RestoreReport,
    /// Sessions that this one is a copy of and whose changes since are taken back too.
    originals: Vec<SessionId>,
    /// One that it is a copy of and that is not there any more: its changes since stay.
    missing: Option<SessionId>,
}

async fn rewind_files(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RewindBody>,
) -> HandlerResult<Json<RewindReport>> {
    let id = find_own_session(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let store = home.store();
    let meta = store
        .session_meta(&id)
        .await?
        .ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))?;
    let checkpoints = home.engine().await?.parts().checkpoints.clone();
    let folder = FsPath::new(&meta.workspace);
    let since =
        rewind::changes_since(store.as_ref(), checkpoints.as_ref(), folder, &id, body.before);
    let since = since.await?;
    let run = since.changes.first().map(|info| info.run.clone()).unwrap_or_default();
    let how = RestoreBody { preview: body.preview, ..RestoreBody::default() };
    let back = TakeBack { chosen: since.changes, run, call: None, body: how };
    let restored = put_back(&app, &caller, &id, back).await?;
    Ok(Json(RewindReport { restored, originals: since.originals, missing: since.missing }))
}
