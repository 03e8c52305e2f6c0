//! What a person was told: the list behind the bell. Not here: where they want to be told further.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::caller::Caller;
use crate::notify::NoticeEntry;
use crate::problem::HandlerResult;
use crate::request::body::{ReplyTo, SentBody};
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

/// The notices that were seen.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenNoticesBody {
    /// One of them; without it: all.
    #[serde(default)]
    id: Option<String>,
}

async fn list_notices(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<Vec<NoticeEntry>>> {
    Ok(Json(app.notices.list_notices(&caller.person.id).await?))
}

pub(crate) async fn mark_notices_seen(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    SentBody(seen): SentBody<SeenNoticesBody>,
) -> HandlerResult<Response> {
    app.notices.mark_seen(&caller.person.id, seen.id.as_deref()).await?;
    Ok(reply.answer_done("/notifications", StatusCode::NO_CONTENT))
}
