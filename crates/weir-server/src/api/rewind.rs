//! Files as they were before a message (G7), also where the session is a copy and its original made
//! the changes. Not here: going back to a checkpoint (`checkpoints`), and the copy of the
//! conversation (`sessions`).

use std::path::Path as FsPath;

use axum::Json;
use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId};
use weir_engine::rewind;

use super::checkpoints::{RestoreBody, RestoreReport, TakeBack, put_back};
use crate::problem::HandlerResult;
use crate::request::{CallerSession, CallerSpace};
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

/// The place to which files go back.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct RewindBody {
    /// The place of the input before which files are to be as they were.
    before: Seq,
    /// Change nothing, say what would be done.
    #[serde(default)]
    preview: bool,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RewindReport {
    /// The paths that are put back.
    #[serde(flatten)]
    restored: RestoreReport,
    /// Sessions that this one is a copy of and whose changes since are taken back too.
    originals: Vec<SessionId>,
    /// One that it is a copy of and that is not there any more: its changes since stay.
    missing: Option<SessionId>,
}

async fn rewind_files(
    CallerSession { owner, id, meta }: CallerSession,
    Json(body): Json<RewindBody>,
) -> HandlerResult<Json<RewindReport>> {
    let CallerSpace { space, .. } = &owner;
    let store = space.store();
    let checkpoints = space.engine().await?.parts().checkpoints.clone();
    let folder = FsPath::new(&meta.workspace);
    let since =
        rewind::changes_since(store.as_ref(), checkpoints.as_ref(), folder, &id, body.before);
    let since = since.await?;
    let run = since.changes.first().map(|info| info.run.clone()).unwrap_or_default();
    let how = RestoreBody { preview: body.preview, ..RestoreBody::default() };
    let back = TakeBack { chosen: since.changes, run, call: None, body: how };
    let restored = put_back(&owner, &meta, back).await?;
    Ok(Json(RewindReport { restored, originals: since.originals, missing: since.missing }))
}
