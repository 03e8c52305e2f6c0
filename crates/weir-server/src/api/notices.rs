//! What a person was told: the list behind the bell. Not here: where they want to be told further.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::App;
use crate::guard::Caller;
use crate::notify::Noticed;
use crate::problem::Answer;
use crate::route::Route;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/notices", list)
            .summary("What one was told, the newest first")
            .gives::<Vec<Noticed>>(200),
        Route::post("/api/v1/notices/seen", seen)
            .summary("Say that notices were seen")
            .body::<Seen>()
            .gives_nothing(204),
    ]
}

/// Which notices were seen.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Seen {
    /// One of them; without it: all.
    #[serde(default)]
    id: Option<String>,
}

async fn list(State(app): State<App>, caller: Caller) -> Answer<Json<Vec<Noticed>>> {
    Ok(Json(app.bell.list(&caller.person.id).await?))
}

async fn seen(
    State(app): State<App>,
    caller: Caller,
    Json(seen): Json<Seen>,
) -> Answer<StatusCode> {
    app.bell.saw(&caller.person.id, seen.id.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
