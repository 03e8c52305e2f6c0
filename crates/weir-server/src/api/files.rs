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
use crate::auth::ClientInfo;
use crate::auth::events::{self, EventActor};
use crate::auth::shelf::TypedRecords;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

pub(crate) mod desk;
pub(crate) mod download;

pub(crate) use desk::{FileChangeResult, FileLine, FolderListing, OnConflict, PersonFolder};

/// Largest file that can be uploaded, in bytes. Held in memory until it stands in its folder.
pub(crate) const UPLOAD_MAX: usize = 64 << 20;
/// Uploads in memory at once; others wait.
static UPLOADS: Semaphore = Semaphore::const_new(4);

/// The routes of this file.
pub(crate) fn file_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/files", list_folder)
            .summary("Lists a folder of yours")
            .query::<FolderQuery>()
            .gives_json::<FolderListing>(200),
        Route::get("/api/v1/files/content", download_file)
            .summary("Downloads a file")
            .query::<FileContentQuery>()
            .gives_as::<String>(200, "application/octet-stream"),
        Route::put("/api/v1/files/content", upload_file)
            .summary("Uploads a file; its bytes are the body")
            .query::<UploadQuery>()
            .body_as::<String>("application/octet-stream")
            .body_max(UPLOAD_MAX)
            .gives_json::<FileChangeResult>(200),
        Route::post("/api/v1/files/folder", make_folder)
            .summary("Makes a folder")
            .body::<FilePathBody>()
            .gives_json::<FileChangeResult>(200),
        Route::post("/api/v1/files/move", rename_file)
            .summary("Renames or moves a file or folder")
            .body::<MoveFileBody>()
            .gives_json::<FileChangeResult>(200),
        Route::delete("/api/v1/files", delete_file)
            .summary("Moves a file or folder to the trash")
            .query::<FilePathBody>()
            .gives_json::<FileChangeResult>(200),
    ]
}

/// Which folder.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct FolderQuery {
    /// Below your folder; empty: the folder itself.
    #[serde(default)]
    pub(crate) path: String,
    /// Show names that begin with a dot too.
    #[serde(default)]
    pub(crate) hidden: bool,
}

/// Which file, and how.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct FileContentQuery {
    /// Below your folder.
    pub(crate) path: String,
    /// Show it in the browser where that is safe (images); everything else is downloaded.
    #[serde(default)]
    pub(crate) inline: bool,
}

/// Where an upload goes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct UploadQuery {
    /// Its path below your folder, the name included.
    pub(crate) path: String,
    /// What to do where a file is there already.
    #[serde(default)]
    pub(crate) conflict: OnConflict,
}

/// A path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FilePathBody {
    /// Below your folder.
    pub(crate) path: String,
}

/// From where to where.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MoveFileBody {
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
    work: impl FnOnce(&PersonFolder) -> HandlerResult<T> + Send + 'static,
) -> HandlerResult<T> {
    let home = app.home(&caller.person).await?;
    let workspace = home.workspace(None)?;
    let desk = PersonFolder::new(workspace);
    let done = tokio::task::spawn_blocking(move || work(&desk)).await;
    done.unwrap_or_else(|error| Err(ProblemDetails::internal_failure(error)))
}

/// Notes that a person changed a file of theirs.
///
/// # Errors
/// It could not be noted.
pub(crate) async fn note_file_change(
    app: &App,
    caller: &Caller,
    client: &ClientInfo,
    what: &str,
    detail: &str,
) -> HandlerResult<()> {
    let shelf = TypedRecords::new(app.records.clone(), app.clock.clone());
    let by = caller.journal_name();
    let doer = EventActor { by: &by, address: Some(client.address) };
    events::record_event(&shelf, doer, what, &caller.person.name, detail).await
}

/// Puts an uploaded file where it belongs. There is no way for it to be executed by being there:
/// it has the mode of a document.
pub(crate) async fn store_upload(
    app: &App,
    caller: &Caller,
    path: String,
    conflict: OnConflict,
    bytes: Arc<[u8]>,
) -> HandlerResult<FileChangeResult> {
    at_desk(app, caller, move |desk| desk.put_file(&path, bytes, conflict)).await
}

/// A place for an upload in memory.
pub(crate) async fn upload_place() -> HandlerResult<tokio::sync::SemaphorePermit<'static>> {
    UPLOADS.acquire().await.map_err(ProblemDetails::internal_failure)
}

/// What is said to a body that is too long.
pub(crate) fn too_large() -> ProblemDetails {
    let most = UPLOAD_MAX >> 20;
    ProblemDetails::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("a file that is uploaded has at most {most} MiB; copy larger ones to the machine"),
    )
}

async fn list_folder(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<FolderQuery>,
) -> HandlerResult<Json<FolderListing>> {
    at_desk(&app, &caller, move |desk| desk.list_folder(&query.path, query.hidden)).await.map(Json)
}

async fn download_file(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<FileContentQuery>,
) -> HandlerResult<Response> {
    let FileContentQuery { path, inline } = query;
    let opened = at_desk(&app, &caller, move |desk| desk.open_file(&path)).await?;
    download::file_response(opened, inline)
}

async fn upload_file(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    Query(query): Query<UploadQuery>,
    body: Body,
) -> HandlerResult<Json<FileChangeResult>> {
    let _place = upload_place().await?;
    let bytes = to_bytes(body, UPLOAD_MAX).await.map_err(|_| too_large())?;
    let done =
        store_upload(&app, &caller, query.path, query.conflict, Arc::from(&bytes[..])).await?;
    note_file_change(&app, &caller, &client, "file_uploaded", &done.path).await?;
    Ok(Json(done))
}

async fn make_folder(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    Json(place): Json<FilePathBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    let done = at_desk(&app, &caller, move |desk| desk.make_folder(&place.path)).await?;
    note_file_change(&app, &caller, &client, "folder_made", &done.path).await?;
    Ok(Json(done))
}

async fn rename_file(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    Json(MoveFileBody { from, to }): Json<MoveFileBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    let old = from.clone();
    let done = at_desk(&app, &caller, move |desk| desk.rename_path(&from, &to)).await?;
    note_file_change(&app, &caller, &client, "file_moved", &format!("{old} to {}", done.path))
        .await?;
    Ok(Json(done))
}

async fn delete_file(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    Query(place): Query<FilePathBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    let done = at_desk(&app, &caller, move |desk| desk.delete_path(&place.path)).await?;
    note_file_change(&app, &caller, &client, "file_deleted", &done.path).await?;
    Ok(Json(done))
}
