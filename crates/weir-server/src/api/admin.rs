//! Limits, health and backups, for admins (S15), and the API's own description.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use tokio_util::io::ReaderStream;
use weir_install::failure::InstallationError;
use weir_install::maintenance::{BackupLine, HealthFinding};

use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::ReplyTo;
use crate::route::{Route, RouteAccess};

/// Where the page of the server has its backups.
const PAGE: &str = "/admin#backups";

/// The routes of this file.
pub(crate) fn admin_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/admin/health", get_server_health)
            .access(RouteAccess::Admin)
            .summary("What works and what does not, with the limits that hold")
            .gives_json::<ServerOverview>(200),
        Route::get("/api/v1/admin/backups", list_backups)
            .access(RouteAccess::Admin)
            .summary("Backups that lie with the installation, the newest first")
            .gives_json::<Vec<BackupLine>>(200),
        Route::post("/api/v1/admin/backups", back_up)
            .access(RouteAccess::Admin)
            .summary("Make a backup of everything, without keys")
            .gives_json::<BackupLine>(201),
        Route::get("/api/v1/admin/backups/{name}", download_backup)
            .access(RouteAccess::Admin)
            .summary("The file of a backup")
            .gives_as::<String>(200, "application/gzip"),
        Route::delete("/api/v1/admin/backups/{name}", remove)
            .access(RouteAccess::Admin)
            .summary("Remove a backup")
            .gives_nothing(204),
    ]
}

/// How an installation is.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ServerOverview {
    /// Version of the program.
    pub(crate) version: String,
    /// What was looked at.
    pub(crate) findings: Vec<HealthFinding>,
    /// Connections that are open here.
    pub(crate) connections: usize,
    /// Sessions that run here.
    pub(crate) sessions: usize,
    /// The limits of this server.
    pub(crate) limits: ServerLimitsInfo,
}

/// How much this server takes at once; set in `config.toml` and read at its start.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ServerLimitsInfo {
    /// Open connections in all.
    pub(crate) connections_max: usize,
    /// Open connections from one address.
    pub(crate) connections_per_address_max: usize,
    /// Requests a minute of one person.
    pub(crate) requests_per_minute: u32,
    /// How long requests under way may go on at the end, in milliseconds.
    pub(crate) drain_ms_max: u64,
}

/// How this server is.
pub(crate) async fn server_overview(app: &App) -> ServerOverview {
    let limits = &app.options.limits;
    ServerOverview {
        version: app.installation.version().to_owned(),
        findings: app.health.current_findings(app).await.to_vec(),
        connections: app.connections.open_count(),
        sessions: app.sessions.count(),
        limits: ServerLimitsInfo {
            connections_max: limits.connections_max,
            connections_per_address_max: limits.connections_per_address_max,
            requests_per_minute: limits.requests_per_minute,
            drain_ms_max: limits.drain_ms_max,
        },
    }
}

async fn get_server_health(State(app): State<App>, _caller: Caller) -> Json<ServerOverview> {
    Json(server_overview(&app).await)
}

async fn list_backups(
    State(app): State<App>,
    _caller: Caller,
) -> HandlerResult<Json<Vec<BackupLine>>> {
    Ok(Json(app.installation.maintenance().list_backups().await?))
}

/// Makes one, and says who wanted it.
async fn make_backup(app: &App, caller: &Caller) -> HandlerResult<BackupLine> {
    tracing::info!(person = %caller.person.id, "a backup is being made");
    app.installation.maintenance().back_up().await.map_err(|error| match error {
        InstallationError::Refused(why) => ProblemDetails::conflict(why),
        error => error.into(),
    })
}

pub(crate) async fn back_up(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
) -> HandlerResult<Response> {
    let made = make_backup(&app, &caller).await?;
    Ok(reply.answer_done(PAGE, (StatusCode::CREATED, Json(made))))
}

/// Sends the file.
pub(crate) async fn download_backup(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let path = app.installation.maintenance().backup_file(&name).await?;
    let file = tokio::fs::File::open(&path).await.map_err(ProblemDetails::internal_failure)?;
    let bytes = file.metadata().await.map_err(ProblemDetails::internal_failure)?.len();
    tracing::info!(person = %caller.person.id, backup = name, "a backup is downloaded");
    let mut response = Body::from_stream(ReaderStream::new(file)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    // Names of backups are plain: `backup_file` finds no others.
    let saved_as = format!("attachment; filename=\"{name}\"");
    if let Ok(value) = HeaderValue::from_str(&saved_as) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    app.installation.maintenance().remove_backup(&name).await?;
    tracing::info!(person = %caller.person.id, backup = name, "a backup is removed");
    Ok(reply.answer_done(PAGE, StatusCode::NO_CONTENT))
}
