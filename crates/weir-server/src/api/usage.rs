//! Tokens and cost (S10).

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::header;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::route::Route;
use crate::usage::{UsageQuery, UsageReport, add_details, usage_report};

/// The routes of this file.
pub(crate) fn usage_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/usage", usage_rows)
            .summary("Tokens and cost by day, person, model, profile and agent")
            .query::<UsageQuery>()
            .gives_json::<UsageReport>(200),
        Route::get("/api/v1/usage/export", export_usage_csv)
            .summary("The same as CSV")
            .query::<UsageQuery>()
            .gives_as::<String>(200, "text/csv"),
    ]
}

async fn usage_rows(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> HandlerResult<Json<UsageReport>> {
    let mut report = usage_report(&app, &caller, &query).await?;
    add_details(&app, &caller, &query, &mut report).await?;
    Ok(Json(report))
}

async fn export_usage_csv(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> HandlerResult<Response> {
    let report = usage_report(&app, &caller, &query).await?;
    let name = format!("attachment; filename=\"usage-{}-{}.csv\"", report.from, report.to);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, report.to_csv()).into_response())
}
