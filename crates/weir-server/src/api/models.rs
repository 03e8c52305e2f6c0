//! Models and providers. A key goes in and never comes out.

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::secret::Secret;
use weir_install::user_space::{ModelLine, ProviderLine};

use super::page::{Page, PageQuery};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::{Access, Route};

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
struct KeyWish {
    /// The key: one word. It is never sent back.
    key: String,
}

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/models", list)
            .summary("Models that are known")
            .query::<ModelsQuery>()
            .gives::<Page<ModelLine>>(200),
        Route::get("/api/v1/providers", providers)
            .summary("Who offers models, and whether there is a key")
            .query::<PageQuery>()
            .gives::<Page<ProviderLine>>(200),
        Route::put("/api/v1/providers/{name}/key", set_key)
            .access(Access::Admin)
            .summary("Keep a key of the installation")
            .body::<KeyWish>()
            .gives_nothing(204),
        Route::delete("/api/v1/providers/{name}/key", remove_key)
            .access(Access::Admin)
            .summary("Forget a key of the installation")
            .gives_nothing(204),
    ]
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ModelsQuery>,
) -> Answer<Json<Page<ModelLine>>> {
    let home = app.home(&caller.person).await?;
    let told = home.list_models(query.probe).await?;
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(Json(Page::of(told.models, &part, |line| line.model.clone())))
}

async fn providers(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Answer<Json<Page<ProviderLine>>> {
    let home = app.home(&caller.person).await?;
    let all = home.list_providers().await?;
    Ok(Json(Page::of(all, &query, |line| line.name.clone())))
}

async fn set_key(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(wish): Json<KeyWish>,
) -> Answer<StatusCode> {
    let home = app.home(&caller.person).await?;
    known(home.list_providers().await?, &name)?;
    home.set_key(&name, Secret::new(wish.key)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_key(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    let home = app.home(&caller.person).await?;
    known(home.list_providers().await?, &name)?;
    match home.remove_key(&name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::missing(format!("a kept key of {name}"))),
    }
}

/// There is such a provider.
fn known(all: Vec<ProviderLine>, name: &str) -> Answer<ProviderLine> {
    let found = all.into_iter().find(|line| line.name == name);
    found.ok_or_else(|| Problem::missing(format!("the provider {name:?}")))
}
