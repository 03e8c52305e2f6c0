//! What a person was told: the list behind the bell. Not here: where they want to be told further.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::App;
use crate::caller::Caller;
use crate::notify::NoticeEntry;
use crate::problem::HandlerResult;
use crate::route::Route;

/// The routes of this file.
pub(crate) fn notice_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/notices", list_notices)
            .summary("What one was told, the newest first")
            .gives_json::<Vec<NoticeEntry>>(200),
        Route::post("/api/v1/notices/seen", mark_notices_seen)
            .summary("Say that notices were seen")
            .body::<SeenNoticesBody>()
            .gives_nothing(204),
    ]
}

/// Which notices were seen.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SeenNoticesBody {
    /// One of them; without it: all.
    #[serde(default)]
    id: Option<String>,
}

async fn list_notices(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<Vec<NoticeEntry>>> {
    Ok(Json(app.bell.list_notices(&caller.person.id).await?))
}

async fn mark_notices_seen(
    State(app): State<App>,
    caller: Caller,
    Json(seen): Json<SeenNoticesBody>,
) -> HandlerResult<StatusCode> {
    app.bell.mark_seen(&caller.person.id, seen.id.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
