//! Files of the person's folder (S10): browse, look, upload, download, rename, delete. A change that
//! a person makes here is theirs, and is noted as such. Not here: how a path is judged (the guarded
//! workspace of the engine).

use std::sync::Arc;

use async_trait::async_trait;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_engine::blocking::run_blocking;
use weir_engine::ports::DocumentReaders;
use weir_install::file_view::{self, FileView, MosaicSize, VIEW_BYTES_MAX};
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::auth::ClientInfo;
use crate::auth::events::{self, EventActor};
use crate::auth::shelf::TypedRecords;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
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
        Route::get("/api/v1/files/view", show_file_view)
            .summary("Shows a file as text, drawing or letters, and the notes that link to it")
            .query::<FileViewQuery>()
            .gives_json::<FileView>(200),
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

/// The folder that is listed.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FolderQuery {
    /// Below your folder; empty: the folder itself.
    #[serde(default)]
    pub(crate) path: String,
    /// Show names that begin with a dot too.
    #[serde(default)]
    pub(crate) hidden: bool,
}

/// The file that is downloaded, and how a browser is to take it.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileContentQuery {
    /// Below your folder.
    pub(crate) path: String,
    /// Show it in the browser where that is safe (images); everything else is downloaded.
    #[serde(default)]
    pub(crate) inline: bool,
}

/// Where an upload goes.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UploadQuery {
    /// Its path below your folder, the name included.
    pub(crate) path: String,
    /// What to do where a file is there already.
    #[serde(default)]
    pub(crate) conflict: OnConflict,
}

/// A path.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FilePathBody {
    /// Below your folder.
    pub(crate) path: String,
}

/// From where to where.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    owner: &CallerSpace,
    work: impl FnOnce(&PersonFolder) -> HandlerResult<T> + Send + 'static,
) -> HandlerResult<T> {
    let CallerSpace { space, .. } = owner;
    let workspace = space.workspace(None)?;
    let desk = PersonFolder::new(workspace);
    let done = run_blocking(move || work(&desk)).await;
    done.unwrap_or_else(|error| Err(ProblemDetails::internal_failure(error)))
}

/// The file that is looked at.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileViewQuery {
    /// Below your folder.
    pub(crate) path: String,
    /// An image is drawn in letters, at most so many in a line (at most 400); without it only its size
    /// is told.
    #[serde(default)]
    pub(crate) columns: Option<u16>,
}

/// Letters of a line in which an image is drawn.
const COLUMNS_MAX: u16 = 400;

async fn show_file_view(
    owner: CallerSpace,
    Query(query): Query<FileViewQuery>,
) -> HandlerResult<Json<FileView>> {
    let columns = query.columns.map(|columns| columns.clamp(1, COLUMNS_MAX));
    view_file(&owner, &query.path, columns).await.map(Json)
}

/// A file of the person's folder as it is looked at.
///
/// # Errors
/// It is not there, or larger than what is shown.
pub(crate) async fn view_file(
    owner: &CallerSpace,
    path: &str,
    columns: Option<u16>,
) -> HandlerResult<FileView> {
    let CallerSpace { space, .. } = owner;
    let asked = path.to_owned();
    let read = at_desk(owner, move |desk| desk.read_file(&asked, VIEW_BYTES_MAX)).await?;
    let workspace = space.workspace(None)?;
    owner.app.recent_workspaces.hold(&workspace, owner.app.current_time());
    let mosaic = columns.map(|columns| MosaicSize { columns, rows: columns });
    let documents = EngineReaders(space);
    Ok(file_view::view_file(&workspace, &documents, &read.path, read.bytes, mosaic).await)
}

/// The readers of a person's engine, which is made ready for the first document: a text is shown also
/// where the settings of sessions cannot be used.
struct EngineReaders<'a>(&'a UserSpace);

#[async_trait]
impl DocumentReaders for EngineReaders<'_> {
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        let engine = self.0.engine().await;
        let engine = engine.map_err(|error| DocumentError::Failed { why: error.to_string() })?;
        engine.parts().documents.inspect_document(wish, bytes).await
    }
}

/// Notes that a person changed a file of theirs.
///
/// # Errors
/// It could not be noted.
async fn note_file_change(
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

/// Puts an uploaded file where it belongs, and notes who did. There is no way for it to be executed
/// by being there: it has the mode of a document.
///
/// # Errors
/// It cannot be, or be noted.
pub(crate) async fn store_upload(
    owner: &CallerSpace,
    client: &ClientInfo,
    place: UploadQuery,
    bytes: Arc<[u8]>,
) -> HandlerResult<FileChangeResult> {
    let UploadQuery { path, conflict } = place;
    let done = at_desk(owner, move |desk| desk.put_file(&path, bytes, conflict)).await?;
    note_file_change(&owner.app, &owner.caller, client, "file_uploaded", &done.path).await?;
    Ok(done)
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
    owner: CallerSpace,
    Query(query): Query<FolderQuery>,
) -> HandlerResult<Json<FolderListing>> {
    at_desk(&owner, move |desk| desk.list_folder(&query.path, query.hidden)).await.map(Json)
}

async fn download_file(
    owner: CallerSpace,
    Query(query): Query<FileContentQuery>,
) -> HandlerResult<Response> {
    let FileContentQuery { path, inline } = query;
    let opened = at_desk(&owner, move |desk| desk.open_file(&path)).await?;
    download::file_response(opened, inline)
}

async fn upload_file(
    owner: CallerSpace,
    client: ClientInfo,
    Query(query): Query<UploadQuery>,
    body: Body,
) -> HandlerResult<Json<FileChangeResult>> {
    let _place = upload_place().await?;
    let bytes = to_bytes(body, UPLOAD_MAX).await.map_err(|_| too_large())?;
    store_upload(&owner, &client, query, Arc::from(&bytes[..])).await.map(Json)
}

async fn make_folder(
    owner: CallerSpace,
    client: ClientInfo,
    Json(place): Json<FilePathBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    create_folder(&owner, &client, place.path).await.map(Json)
}

async fn rename_file(
    owner: CallerSpace,
    client: ClientInfo,
    Json(wanted): Json<MoveFileBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    move_path(&owner, &client, wanted).await.map(Json)
}

async fn delete_file(
    owner: CallerSpace,
    client: ClientInfo,
    Query(place): Query<FilePathBody>,
) -> HandlerResult<Json<FileChangeResult>> {
    delete_path(&owner, &client, place.path).await.map(Json)
}

/// Makes a folder, and notes who did.
///
/// # Errors
/// It cannot be, or be noted.
pub(crate) async fn create_folder(
    owner: &CallerSpace,
    client: &ClientInfo,
    path: String,
) -> HandlerResult<FileChangeResult> {
    let done = at_desk(owner, move |desk| desk.make_folder(&path)).await?;
    note_file_change(&owner.app, &owner.caller, client, "folder_made", &done.path).await?;
    Ok(done)
}

/// Moves or renames a file or folder, and notes who did.
///
/// # Errors
/// It cannot be, or be noted.
pub(crate) async fn move_path(
    owner: &CallerSpace,
    client: &ClientInfo,
    MoveFileBody { from, to }: MoveFileBody,
) -> HandlerResult<FileChangeResult> {
    let old = from.clone();
    let done = at_desk(owner, move |desk| desk.rename_path(&from, &to)).await?;
    let detail = format!("{old} to {}", done.path);
    note_file_change(&owner.app, &owner.caller, client, "file_moved", &detail).await?;
    Ok(done)
}

/// Puts a file or folder into the trash, and notes who did.
///
/// # Errors
/// It cannot be, or be noted.
pub(crate) async fn delete_path(
    owner: &CallerSpace,
    client: &ClientInfo,
    path: String,
) -> HandlerResult<FileChangeResult> {
    let done = at_desk(owner, move |desk| desk.delete_path(&path)).await?;
    note_file_change(&owner.app, &owner.caller, client, "file_deleted", &done.path).await?;
    Ok(done)
}
