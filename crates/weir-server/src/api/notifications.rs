//! Where a person wants to be told beside the bell (S16). Not here: what they were told (`notices`).

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::seal::Seal;

use crate::app::App;
use crate::guard::Caller;
use crate::notify::NoticeKind;
use crate::notify::channels::{self, ChannelLine, Way};
use crate::notify::further::Further;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/notifications", list)
            .summary("Where you are told beside the bell, and the key for web push")
            .gives::<Channels>(200),
        Route::post("/api/v1/notifications", add)
            .summary("Be told in a browser, at an address, or by an ntfy topic too")
            .body::<NewChannel>()
            .gives::<Added>(201),
        Route::delete("/api/v1/notifications/{id}", remove)
            .summary("Be told there no more")
            .gives_nothing(204),
        Route::post("/api/v1/notifications/{id}/try", try_out)
            .summary("Send a notice there now, to see whether it arrives")
            .gives_nothing(204),
    ]
}

/// Where a person is told.
#[derive(Debug, Serialize, JsonSchema)]
struct Channels {
    /// All of them.
    channels: Vec<ChannelLine>,
    /// The server's public key for web push, base64url.
    push_key: String,
}

/// A way to be told.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewChannel {
    /// The way.
    #[serde(flatten)]
    way: Way,
    /// What is told; empty: everything.
    #[serde(default)]
    kinds: BTreeSet<NoticeKind>,
}

/// A channel that was added.
#[derive(Debug, Serialize, JsonSchema)]
struct Added {
    /// Its id.
    id: String,
}

/// What sends notices further.
pub(crate) fn further(app: &App) -> Answer<&Further> {
    let further = app.further.get().map(AsRef::as_ref);
    further.ok_or_else(|| Problem::failed("notices are not sent further here"))
}

/// Adds a channel of the caller.
pub(crate) async fn put(
    app: &App,
    caller: &Caller,
    way: &Way,
    kinds: BTreeSet<NoticeKind>,
) -> Answer<String> {
    let seal = Seal::new(&app.house.seal_key()?)?;
    let wish = (&caller.person, way, kinds);
    Ok(channels::add(app.records.as_ref(), &seal, wish, app.now()).await?)
}

async fn list(State(app): State<App>, caller: Caller) -> Answer<Json<Channels>> {
    let channels = channels::list(app.records.as_ref(), &caller.person.id, app.now()).await?;
    let push_key = further(&app)?.vapid().await?.public();
    Ok(Json(Channels { channels, push_key }))
}

async fn add(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewChannel>,
) -> Answer<(StatusCode, Json<Added>)> {
    let id = put(&app, &caller, &new.way, new.kinds).await?;
    Ok((StatusCode::CREATED, Json(Added { id })))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    channels::remove(app.records.as_ref(), &caller.person.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn try_out(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    further(&app)?.try_out(&caller.person.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
