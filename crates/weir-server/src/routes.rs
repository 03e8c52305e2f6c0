//! All addresses together, and their description. Not here: what a route is and the router of a table
//! (`route`), and which routes there are (`api`, `web`).

use std::collections::BTreeMap;

use axum::Json;
use serde_json::Value;

use crate::openapi;
use crate::route::{Route, RouteAccess};

/// All routes: API first, then MCP and pages.
pub fn all_routes() -> Vec<Route> {
    let mut all = crate::api::api_routes();
    all.push(openapi_route());
    all.extend(crate::mcp::mcp_routes());
    all.extend(crate::web::web_routes());
    all
}

/// The OpenAPI 3.1 document.
pub fn openapi_document() -> Value {
    openapi::read_document()
}

/// The route that gives it.
fn openapi_route() -> Route {
    Route::get(openapi::PATH, get_openapi)
        .access(RouteAccess::Anyone)
        .summary("This description")
        .gives_json::<BTreeMap<String, Value>>(200)
}

async fn get_openapi() -> Json<Value> {
    Json(openapi_document())
}
