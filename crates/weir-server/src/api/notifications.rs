//! Where a person wants to be told beside the bell (S16). Not here: what they were told (`notices`).

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_install::seal::SecretSeal;

use crate::app::App;
use crate::caller::Caller;
use crate::notify::NoticeKind;
use crate::notify::address::ChannelAddress;
use crate::notify::channels::{self, ChannelLine, ChannelRequest};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::ReplyTo;
use crate::route::Route;

/// The page of these channels.
const PAGE: &str = "/notifications/where";

/// The routes of this file.
pub(crate) fn notification_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/notifications", list_channels)
            .summary("Where you are told beside the bell, and the key for web push")
            .gives_json::<NotificationChannels>(200),
        Route::post("/api/v1/notifications", post_channel)
            .summary("Be told in a browser, at an address, by an ntfy topic, a Telegram bot or in a Matrix room too")
            .body::<NewChannel>()
            .gives_json::<CreatedChannel>(201),
        Route::delete("/api/v1/notifications/{id}", remove)
            .summary("Be told there no more")
            .gives_nothing(204),
        Route::post("/api/v1/notifications/{id}/try", try_out)
            .summary("Send a notice there now, to see whether it arrives")
            .gives_nothing(204),
    ]
}

/// Where a person is told.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotificationChannels {
    /// All of them.
    channels: Vec<ChannelLine>,
    /// The server's public key for web push, base64url.
    push_key: String,
}

/// A way to be told.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NewChannel {
    /// The way.
    #[serde(flatten)]
    way: ChannelAddress,
    /// What is told; empty: everything.
    #[serde(default)]
    kinds: BTreeSet<NoticeKind>,
}

/// A channel that was added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CreatedChannel {
    /// Its id.
    id: String,
}

/// Adds a channel of the caller.
pub(crate) async fn add_channel(
    app: &App,
    caller: &Caller,
    way: &ChannelAddress,
    kinds: BTreeSet<NoticeKind>,
) -> HandlerResult<String> {
    let seal = SecretSeal::new(&app.installation.seal_key()?)?;
    let login = caller.phone_login();
    let wish = ChannelRequest { person: &caller.person, way, kinds, login };
    Ok(channels::add_channel(app.records.as_ref(), &seal, wish, app.current_time()).await?)
}

async fn list_channels(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<NotificationChannels>> {
    let channels =
        channels::list_channels(app.records.as_ref(), &caller.person.id, app.current_time())
            .await?;
    let push_key = app.channel_sender.vapid_key().await?.public_key_text();
    Ok(Json(NotificationChannels { channels, push_key }))
}

async fn post_channel(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewChannel>,
) -> HandlerResult<(StatusCode, Json<CreatedChannel>)> {
    let id = add_channel(&app, &caller, &new.way, new.kinds).await?;
    Ok((StatusCode::CREATED, Json(CreatedChannel { id })))
}

pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    let done = channels::remove(app.records.as_ref(), &caller.person.id, &id).await;
    let done = done.map(|()| StatusCode::NO_CONTENT).map_err(ProblemDetails::from);
    reply.noted_or_problem(PAGE, "Notifications are no longer sent there.", done)
}

pub(crate) async fn try_out(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    let done = app.channel_sender.try_out(&caller.person.id, &id).await;
    let done = done.map(|()| StatusCode::NO_CONTENT).map_err(ProblemDetails::from);
    reply.noted_or_problem(PAGE, "Test notification delivered.", done)
}
