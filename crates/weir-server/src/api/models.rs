//! Models and providers. A key goes in and never comes out.

use axum::Json;
use axum::extract::{Path, Query};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use weir_core::secret::Secret;
use weir_install::user_space::{ModelLine, ProviderLine, UserSpace};

use super::page::{ListPage, PageQuery};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::ReplyTo;
use crate::route::{Route, RouteAccess};

/// The page on which keys are shown.
const PAGE: &str = "/models";

/// The part of the list of models that is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    CallerSpace { space, .. }: CallerSpace,
    Query(query): Query<ModelsQuery>,
) -> HandlerResult<Json<ListPage<ModelLine>>> {
    let told = space.list_models(query.probe).await?;
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(Json(ListPage::from_list(told.models, &part, |line| line.model.clone())))
}

async fn list_providers(
    CallerSpace { space, .. }: CallerSpace,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<ProviderLine>>> {
    let all = space.list_providers().await?;
    Ok(Json(ListPage::from_list(all, &query, |line| line.name.clone())))
}

async fn set_key(
    CallerSpace { space, .. }: CallerSpace,
    Path(name): Path<String>,
    Json(wish): Json<ProviderKeyBody>,
) -> HandlerResult<StatusCode> {
    keep_key(&space, &name, Secret::new(wish.key)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Keeps a key of a provider.
///
/// # Errors
/// There is no such provider, or the key cannot be kept.
pub(crate) async fn keep_key(space: &UserSpace, name: &str, key: Secret) -> HandlerResult<()> {
    find_provider(space.list_providers().await?, name)?;
    Ok(space.set_key(name, key).await?)
}

pub(crate) async fn remove_key(
    CallerSpace { space, .. }: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    find_provider(space.list_providers().await?, &name)?;
    let done = match space.remove_key(&name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ProblemDetails::not_found(format!("a kept key of {name}"))),
    };
    reply.noted_or_problem(PAGE, &format!("The key for {name} was removed."), done)
}

/// There is such a provider.
fn find_provider(all: Vec<ProviderLine>, name: &str) -> HandlerResult<ProviderLine> {
    let found = all.into_iter().find(|line| line.name == name);
    found.ok_or_else(|| ProblemDetails::not_found(format!("the provider {name:?}")))
}
