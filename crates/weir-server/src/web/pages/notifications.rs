//! Where a person wants to be told beside the bell (S16). Not here: what they were told (`notices`).

use std::collections::BTreeSet;

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header;
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::notifications::{self as api, add_channel};
use crate::app::App;
use crate::caller::Caller;
use crate::notify::NoticeKind;
use crate::notify::address::ChannelAddress;
use crate::notify::channels::{self, ChannelLine};
use crate::problem::HandlerResult;
use crate::request::body::{redirect_with, redirect_with_result};
use crate::route::{Route, RouteAccess};
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, csrf_input, data_table, post_form, submit_button,
};
use crate::web::parts::{page_with, render_badge, render_field};

/// This page.
const HERE: &str = "/notifications/where";
/// What people choose by, in words.
const KINDS: [(NoticeKind, &str, &str); 7] = [
    (NoticeKind::Approval, "approval", "Approval needed"),
    (NoticeKind::Question, "question", "Question from an agent"),
    (NoticeKind::Alert, "alert", "Security alert"),
    (NoticeKind::RunEnded, "run_ended", "Run finished"),
    (NoticeKind::Agent, "agent", "Scheduled agents"),
    (NoticeKind::Account, "account", "Your account"),
    (NoticeKind::System, "system", "Server"),
];

/// The routes of this file.
pub(crate) fn notification_page_routes() -> Vec<Route> {
    vec![
        Route::get(HERE, show_channels),
        Route::post("/notifications/where/add", post_new_channel),
        Route::post("/notifications/where/{id}/remove", api::remove),
        Route::post("/notifications/where/{id}/try", api::try_out),
        Route::get("/worker.js", get_worker_script).access(RouteAccess::Anyone),
    ]
}

/// The script that shows notices while no page is open. Its place decides what it may do, so it
/// lies beside the pages and not below `/assets`.
async fn get_worker_script() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, include_str!("../assets/pages/worker.js")).into_response()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NotificationPageNotes {
    note: String,
    problem: String,
}

async fn show_channels(
    State(app): State<App>,
    caller: Caller,
    Query(told): Query<NotificationPageNotes>,
) -> HandlerResult<Markup> {
    let now = app.current_time();
    let channels = channels::list_channels(app.records.as_ref(), &caller.person.id, now).await?;
    let key = app.channel_sender.vapid_key().await?.public_key_text();
    let body = html! {
        h1 { "Delivery settings" }
        @if !told.note.is_empty() { p.notice.good role="status" { (told.note) } }
        @if !told.problem.is_empty() { p.notice.bad role="alert" { (told.problem) } }
        section.stack aria-labelledby="where" {
            h2 id="where" { "Channels" }
            p.muted { a href="/notifications" { "The bell at the top of every page" } " is always told. What is sent further names what \
                happened, never what was said." }
            (render_channel_table(&caller, &channels))
            (push_card(&key))
            (channel_forms(&caller))
        }
    };
    Ok(page_with(&caller, "Delivery settings", HERE, &["pages/notifications.js"], &body))
}

fn render_channel_table(caller: &Caller, all: &[ChannelLine]) -> Markup {
    html! {
        @if !all.is_empty() {
            (data_table(&DataTable {
                region: Some("Channels that are there"),
                caption: html! { "Delivery channels" },
                caption_seen: false,
                columns: &[
                    TableColumn::Text("Channel"), TableColumn::Text("To"),
                    TableColumn::Text("What"), TableColumn::Text("State"),
                    TableColumn::Unseen("Do"),
                ],
                rows: html! {
                    @for one in all {
                                           tr {
                                               td { (one.way) }
                                               th scope="row" { (one.to) }
                                               td { (kinds_in_words(&one.kinds)) }
                                               td {
                                                   @if one.failed.is_empty() { (render_badge("good", "works")) }
                                                   @else { (render_badge("bad", "failed")) " " (one.failed) }
                                               }
                                               td.row {
                                                   (action_button(caller, &one.id, "try", "Send test", ""))
                                                   (action_button(caller, &one.id, "remove", "Remove", "danger"))
                                               }
                                           }
                                       }
                },
            }))
        }
    }
}

fn action_button(caller: &Caller, id: &str, deed: &str, word: &str, kind: &str) -> Markup {
    html! {
        (post_form(caller, html! { "/notifications/where/" (id) "/" (deed) }, "", &html! {
            button class={ "btn " (kind) } type="submit" { (word) }
        }))
    }
}

fn kinds_in_words(kinds: &BTreeSet<NoticeKind>) -> String {
    if kinds.is_empty() {
        return "Everything".into();
    }
    let words = KINDS.iter().filter(|(kind, ..)| kinds.contains(kind)).map(|(_, _, words)| *words);
    words.collect::<Vec<_>>().join(", ")
}

/// Web push needs the browser's own question, so it has no form.
fn push_card(key: &str) -> Markup {
    html! {
        div.card.stack id="push" data-key=(key) hidden {
            h3 { "In this browser" }
            p.hint id="push-state" role="status" { "Also when no page is open." }
            div { button.btn id="push-on" type="button" { "Turn on in this browser" } }
        }
    }
}

fn channel_forms(caller: &Caller) -> Markup {
    let url = html! { input id="url" name="url" type="url" required maxlength="2000"
    placeholder="https://example.org/hook" aria-describedby="url-hint"; };
    let secret = html! { input id="secret" name="secret" type="password" autocomplete="off"
    aria-describedby="secret-hint"; };
    let server =
        html! { input id="server" name="server" type="url" required value="https://ntfy.sh"; };
    let topic = html! { input id="topic" name="topic" required maxlength="64"
    pattern="[A-Za-z0-9_\\-]+" aria-describedby="topic-hint"; };
    let token = html! { input id="token" name="token" type="password" autocomplete="off"
    aria-describedby="token-hint"; };
    html! {
        div.grid {
            (channel_form(caller, &WEBHOOK, &html! {
                (render_field("url", "Address", "Receives each notification as JSON.", &url))
                (render_field("secret", "Secret", "Signs each request (x-weir-signature). Optional.", &secret))
            }))
            (channel_form(caller, &NTFY, &html! {
                (render_field("server", "Server", "", &server))
                (render_field("topic", "Topic", "Anyone who knows the topic can read it: choose one that is hard to guess.", &topic))
                (render_field("token", "Access token", "Optional.", &token))
            }))
            (channel_form(caller, &TELEGRAM, &telegram_fields()))
            (channel_form(caller, &MATRIX, &matrix_fields()))
        }
    }
}

/// What a form that adds a channel is called.
struct ChannelForm {
    way: &'static str,
    heading: &'static str,
    button: &'static str,
}

const WEBHOOK: ChannelForm =
    ChannelForm { way: "webhook", heading: "Webhook", button: "Add webhook" };
const NTFY: ChannelForm = ChannelForm { way: "ntfy", heading: "ntfy", button: "Add ntfy topic" };
const TELEGRAM: ChannelForm =
    ChannelForm { way: "telegram", heading: "Telegram", button: "Add Telegram chat" };
const MATRIX: ChannelForm =
    ChannelForm { way: "matrix", heading: "Matrix", button: "Add Matrix room" };

fn channel_form(caller: &Caller, form: &ChannelForm, fields: &Markup) -> Markup {
    html! {
        form.card.stack method="post" action="/notifications/where/add" {
            h3 { (form.heading) }
            (csrf_input(caller))
            input type="hidden" name="way" value=(form.way);
            (fields)
            (kind_choices(form.way))
            div { (submit_button(ButtonLook::Primary, form.button)) }
        }
    }
}

fn telegram_fields() -> Markup {
    let token = html! { input id="bot" name="token" type="password" autocomplete="off" required
    maxlength="256" aria-describedby="bot-hint"; };
    let chat = html! { input id="chat" name="chat" required maxlength="64"
    pattern="-?[0-9]+|@[A-Za-z0-9_]+" aria-describedby="chat-hint"; };
    let server = html! { input id="base_url" name="base_url" type="url" maxlength="2000"
    placeholder="https://api.telegram.org" aria-describedby="base_url-hint"; };
    html! {
        (render_field("bot", "Bot token", "From @BotFather (/newbot). It is never shown again.", &token))
        (render_field("chat", "Chat", "Its number, or the @name of a channel. Write to the bot first: it cannot begin.", &chat))
        (render_field("base_url", "Bot API server", "Only if you run one yourself.", &server))
    }
}

fn matrix_fields() -> Markup {
    let homeserver = html! { input id="homeserver" name="homeserver" type="url" required
    maxlength="2000" placeholder="https://matrix.example.org" aria-describedby="homeserver-hint"; };
    let room = html! { input id="room" name="room" required maxlength="255" pattern="![!-~]+"
    aria-describedby="room-hint"; };
    let token = html! { input id="matrix-token" name="token" type="password" autocomplete="off"
    required maxlength="2000" aria-describedby="matrix-token-hint"; };
    html! {
        (render_field("homeserver", "Homeserver", "Of the account that writes.", &homeserver))
        (render_field("room", "Room", "Its internal id, which begins with !. Messages are not end-to-end encrypted.", &room))
        (render_field("matrix-token", "Access token", "Of an account that is in the room; best one for Weir alone. It is never shown again.", &token))
    }
}

fn kind_choices(of: &str) -> Markup {
    html! {
        fieldset {
            legend { "Events (none selected: all)" }
            @for (_, name, words) in &KINDS {
                div.row {
                    input type="checkbox" name="kinds" value=(name) id={ (of) "-" (name) };
                    label for={ (of) "-" (name) } { (words) }
                }
            }
        }
    }
}

async fn post_new_channel(
    State(app): State<App>,
    caller: Caller,
    Form(typed): Form<Vec<(String, String)>>,
) -> HandlerResult<Redirect> {
    let get = |name: &str| {
        let found = typed.iter().find(|(typed, _)| typed == name);
        found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let ticked = typed.iter().filter(|(name, _)| name == "kinds").map(|(_, value)| value.as_str());
    let kinds = ticked
        .filter_map(|word| KINDS.iter().find(|(_, name, _)| *name == word))
        .map(|(kind, ..)| *kind)
        .collect();
    let way = match get("way").as_str() {
        "webhook" => ChannelAddress::Webhook { url: get("url"), secret: get("secret") },
        "ntfy" => {
            ChannelAddress::Ntfy { server: get("server"), topic: get("topic"), token: get("token") }
        }
        "telegram" => ChannelAddress::Telegram {
            token: get("token"),
            chat: get("chat"),
            base_url: get("base_url"),
        },
        "matrix" => ChannelAddress::Matrix {
            homeserver: get("homeserver"),
            room: get("room"),
            token: get("token"),
        },
        _ => return Ok(redirect_with(HERE, "problem", "choose a channel")),
    };
    let added = add_channel(&app, &caller, &way, kinds).await;
    redirect_with_result(HERE, added.map(|_| "Notifications are sent there from now on."))
}
