//! Tokens and cost (S10).

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::header;

use crate::app::App;
use crate::guard::Caller;
use crate::problem::Answer;
use crate::route::Route;
use crate::usage::{UsageQuery, UsageReport, report};

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/usage", usage)
            .summary("Tokens and cost by day, person, model, profile and agent")
            .query::<UsageQuery>()
            .gives::<UsageReport>(200),
        Route::get("/api/v1/usage/export", export)
            .summary("The same as CSV")
            .query::<UsageQuery>()
            .gives_as::<String>(200, "text/csv"),
    ]
}

async fn usage(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> Answer<Json<UsageReport>> {
    Ok(Json(report(&app, &caller, &query).await?))
}

async fn export(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> Answer<Response> {
    let report = report(&app, &caller, &query).await?;
    let name = format!("attachment; filename=\"usage-{}-{}.csv\"", report.from, report.to);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, report.csv()).into_response())
}
