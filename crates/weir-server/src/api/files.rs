//! Files of the person's folder (S10): browse, look, upload, download, rename, delete. A change that
//! a person makes here is theirs, and is noted as such. Not here: how a path is judged (the guarded
//! workspace of the engine).

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::auth::Client;
use crate::auth::events::{self, Doer};
use crate::auth::shelf::Shelf;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

pub(crate) mod desk;
pub(crate) mod download;

pub(crate) use desk::{Changed, Desk, FileLine, Listing, OnConflict};

/// Largest file that can be uploaded, in bytes. Held in memory until it stands in its folder.
pub(crate) const UPLOAD_MAX: usize = 64 << 20;
/// Uploads in memory at once; others wait.
static UPLOADS: Semaphore = Semaphore::const_new(4);

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/files", list)
            .summary("Lists a folder of yours")
            .query::<Where>()
            .gives::<Listing>(200),
        Route::get("/api/v1/files/content", content)
            .summary("Downloads a file")
            .query::<Fetch>()
            .gives_as::<String>(200, "application/octet-stream"),
        Route::put("/api/v1/files/content", upload)
            .summary("Uploads a file; its bytes are the body")
            .query::<Upload>()
            .body_as::<String>("application/octet-stream")
            .body_max(UPLOAD_MAX)
            .gives::<Changed>(200),
        Route::post("/api/v1/files/folder", make_folder)
            .summary("Makes a folder")
            .body::<Place>()
            .gives::<Changed>(200),
        Route::post("/api/v1/files/move", rename)
            .summary("Renames or moves a file or folder")
            .body::<Move>()
            .gives::<Changed>(200),
        Route::delete("/api/v1/files", delete)
            .summary("Moves a file or folder to the trash")
            .query::<Place>()
            .gives::<Changed>(200),
    ]
}

/// Which folder.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Where {
    /// Below your folder; empty: the folder itself.
    #[serde(default)]
    pub(crate) path: String,
    /// Show names that begin with a dot too.
    #[serde(default)]
    pub(crate) hidden: bool,
}

/// Which file, and how.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Fetch {
    /// Below your folder.
    pub(crate) path: String,
    /// Show it in the browser where that is safe (images); everything else is downloaded.
    #[serde(default)]
    pub(crate) inline: bool,
}

/// Where an upload goes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Upload {
    /// Its path below your folder, the name included.
    pub(crate) path: String,
    /// What to do where a file is there already.
    #[serde(default)]
    pub(crate) conflict: OnConflict,
}

/// A path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Place {
    /// Below your folder.
    pub(crate) path: String,
}

/// From where to where.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Move {
    /// What is moved.
    pub(crate) from: String,
    /// Its new path, the name included.
    pub(crate) to: String,
}

/// Does something with the person's folder, on a thread that may block.
///
/// # Errors
/// As `work`; the folder cannot be used.
pub(crate) async fn at_desk<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    work: impl FnOnce(&Desk) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let home = app.home(&caller.person).await?;
    let workspace = home.workspace(None)?;
    let desk = Desk::new(workspace);
    let done = tokio::task::spawn_blocking(move || work(&desk)).await;
    done.unwrap_or_else(|error| Err(Problem::failed(error)))
}

/// Notes that a person changed a file of theirs.
///
/// # Errors
/// It could not be noted.
pub(crate) async fn note(
    app: &App,
    caller: &Caller,
    client: &Client,
    (what, detail): (&str, &str),
) -> Answer<()> {
    let shelf = Shelf::new(app.records.clone(), app.clock.clone());
    let by = caller.by();
    let doer = Doer { by: &by, address: Some(client.address) };
    events::note(&shelf, doer, (what, &caller.person.name), detail).await
}

/// Puts an uploaded file where it belongs. There is no way for it to be executed by being there:
/// it has the mode of a document.
pub(crate) async fn put(
    app: &App,
    caller: &Caller,
    (path, conflict): (String, OnConflict),
    bytes: Arc<[u8]>,
) -> Answer<Changed> {
    at_desk(app, caller, move |desk| desk.put(&path, bytes, conflict)).await
}

/// A place for an upload in memory.
pub(crate) async fn upload_place() -> Answer<tokio::sync::SemaphorePermit<'static>> {
    UPLOADS.acquire().await.map_err(Problem::failed)
}

/// What is said to a body that is too long.
pub(crate) fn too_large() -> Problem {
    let most = UPLOAD_MAX >> 20;
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("a file that is uploaded has at most {most} MiB; copy larger ones to the machine"),
    )
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<Where>,
) -> Answer<Json<Listing>> {
    at_desk(&app, &caller, move |desk| desk.list(&query.path, query.hidden)).await.map(Json)
}

async fn content(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<Fetch>,
) -> Answer<Response> {
    let Fetch { path, inline } = query;
    let opened = at_desk(&app, &caller, move |desk| desk.open(&path)).await?;
    download::answer(opened, inline)
}

async fn upload(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Query(query): Query<Upload>,
    body: Body,
) -> Answer<Json<Changed>> {
    let _place = upload_place().await?;
    let bytes = to_bytes(body, UPLOAD_MAX).await.map_err(|_| too_large())?;
    let done = put(&app, &caller, (query.path, query.conflict), Arc::from(&bytes[..])).await?;
    note(&app, &caller, &client, ("file_uploaded", &done.path)).await?;
    Ok(Json(done))
}

async fn make_folder(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Json(place): Json<Place>,
) -> Answer<Json<Changed>> {
    let done = at_desk(&app, &caller, move |desk| desk.make_folder(&place.path)).await?;
    note(&app, &caller, &client, ("folder_made", &done.path)).await?;
    Ok(Json(done))
}

async fn rename(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Json(Move { from, to }): Json<Move>,
) -> Answer<Json<Changed>> {
    let old = from.clone();
    let done = at_desk(&app, &caller, move |desk| desk.rename(&from, &to)).await?;
    note(&app, &caller, &client, ("file_moved", &format!("{old} to {}", done.path))).await?;
    Ok(Json(done))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Query(place): Query<Place>,
) -> Answer<Json<Changed>> {
    let done = at_desk(&app, &caller, move |desk| desk.delete(&place.path)).await?;
    note(&app, &caller, &client, ("file_deleted", &done.path)).await?;
    Ok(Json(done))
}
