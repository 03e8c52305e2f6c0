//! Models and providers. A key goes in and never comes out.

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::secret::Secret;
use weir_install::user_space::{ModelLine, ProviderLine};

use super::page::{ListPage, PageQuery};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::{Route, RouteAccess};

/// Which models.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ModelsQuery {
    /// Endpoints that have a key, and local servers, are asked what they offer.
    probe: bool,
    /// At most so many (1 to 200, default 50).
    limit: Option<usize>,
    /// The `next` of the part before.
    after: Option<String>,
}

/// A key of a provider.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProviderKeyBody {
    /// The key: one word. It is never sent back.
    key: String,
}

/// The routes of this file.
pub(crate) fn model_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/models", list_models)
            .summary("Models that are known")
            .query::<ModelsQuery>()
            .gives_json::<ListPage<ModelLine>>(200),
        Route::get("/api/v1/providers", list_providers)
            .summary("Who offers models, and whether there is a key")
            .query::<PageQuery>()
            .gives_json::<ListPage<ProviderLine>>(200),
        Route::put("/api/v1/providers/{name}/key", set_key)
            .access(RouteAccess::Admin)
            .summary("Keep a key of the installation")
            .body::<ProviderKeyBody>()
            .gives_nothing(204),
        Route::delete("/api/v1/providers/{name}/key", remove_key)
            .access(RouteAccess::Admin)
            .summary("Forget a key of the installation")
            .gives_nothing(204),
    ]
}

async fn list_models(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ModelsQuery>,
) -> HandlerResult<Json<ListPage<ModelLine>>> {
    let home = app.home(&caller.person).await?;
    let told = home.list_models(query.probe).await?;
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(Json(ListPage::from_list(told.models, &part, |line| line.model.clone())))
}

async fn list_providers(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<ProviderLine>>> {
    let home = app.home(&caller.person).await?;
    let all = home.list_providers().await?;
    Ok(Json(ListPage::from_list(all, &query, |line| line.name.clone())))
}

async fn set_key(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(wish): Json<ProviderKeyBody>,
) -> HandlerResult<StatusCode> {
    let home = app.home(&caller.person).await?;
    find_provider(home.list_providers().await?, &name)?;
    home.set_key(&name, Secret::new(wish.key)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_key(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<StatusCode> {
    let home = app.home(&caller.person).await?;
    find_provider(home.list_providers().await?, &name)?;
    match home.remove_key(&name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ProblemDetails::not_found(format!("a kept key of {name}"))),
    }
}

/// There is such a provider.
fn find_provider(all: Vec<ProviderLine>, name: &str) -> HandlerResult<ProviderLine> {
    let found = all.into_iter().find(|line| line.name == name);
    found.ok_or_else(|| ProblemDetails::not_found(format!("the provider {name:?}")))
}
