//! A chat as whoever has its link sees it, and the page on which links are made and taken back (S7).

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, header};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::{BlobId, SessionId, Timestamp};
use weir_engine::blocking::run_blocking;
use weir_engine::hub::PublishedFact;

use crate::api::files::download::{content_disposition, image_kind};
use crate::api::shares::{self, NewShare, ShareLine, ShareRecord};
use crate::app::App;
use crate::auth::accounts;
use crate::auth::shelf::{TypedEntry, TypedRecords};
use crate::caller::Caller;
use crate::live::title;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render;
use crate::request::CallerSpace;
use crate::request::body::SentBody;
use crate::route::{Route, RouteAccess};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{bare_with, page_with, render_empty, render_field, render_moment};

mod transcript;

use transcript::{SharedEntry, SharedTranscript};
use weir_install::user_space::UserSpace;

/// Styles of a shared chat.
const ASSETS: &[&str] = &["pages/code.css", "pages/shared.css"];

/// The routes of this file.
pub(crate) fn share_page_routes() -> Vec<Route> {
    vec![
        Route::get("/s/{token}", show_shared_chat).access(RouteAccess::Anyone),
        Route::get("/s/{token}/blobs/{blob}", get_shared_blob).access(RouteAccess::Anyone),
        Route::get("/shares", show_shares),
        Route::get("/shares/new", show_share_form),
        Route::post("/shares", make_share),
        Route::post("/shares/{id}/revoke", shares::revoke_share),
    ]
}

/// A link that leads somewhere: what it shows, and from whose journal.
async fn open_share(
    app: &App,
    token: &str,
) -> HandlerResult<(TypedEntry<ShareRecord>, Arc<UserSpace>)> {
    let kept = shares::find_share(app, token).await?;
    let shelf = TypedRecords::new(app.records.clone(), app.clock.clone());
    let owner = accounts::get(&shelf, &kept.owner).await?.filter(|person| !person.disabled);
    let owner = owner.ok_or_else(|| ProblemDetails::not_found("this link"))?;
    let space = app.user_space(&owner).await?;
    Ok((kept, space))
}

/// No search engine keeps it, no cache, and no page that is opened from it learns its address.
fn hide_from_search(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let robots = HeaderName::from_static("x-robots-tag");
    headers.insert(robots, HeaderValue::from_static("noindex, nofollow, noarchive"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn show_shared_chat(
    State(app): State<App>,
    Path(token): Path<String>,
) -> HandlerResult<Response> {
    let (kept, space) = open_share(&app, &token).await?;
    let share = &kept.value;
    let transcript = SharedTranscript::read_journal(space.store().as_ref(), share).await?;
    shares::count_share_opening(&app, &kept).await?;
    let now = app.current_time();
    let body = run_blocking(move || shared_chat_page(&transcript, &token, now));
    let body = body.await.map_err(ProblemDetails::internal_failure)?;
    Ok(hide_from_search(bare_with("A shared chat", ASSETS, &body).into_response()))
}

fn shared_chat_page(transcript: &SharedTranscript, token: &str, now: Timestamp) -> Markup {
    html! {
        div.shared.wide-page {
            h1 { "A shared chat" }
            p.muted { "This chat was shared with you. It is read-only." }
            @if transcript.left_out > 0 {
                p.notice { (transcript.left_out) " earlier entries are not shown." }
            }
            @if transcript.shown.is_empty() { (render_empty("No messages yet.", "")) }
            ol.log aria-label="Conversation" {
                @for (at, shown) in &transcript.shown { li { (render_entry(shown, token)) p.muted { (render_moment(*at, now)) } } }
            }
        }
    }
}

fn render_entry(shown: &SharedEntry, token: &str) -> Markup {
    html! {
        @match shown {
            SharedEntry::Said { by, text, images } => article.person {
                h2 { (render::visible_name(by)) }
                div.text.words dir="auto" { (render::visible_prose(text)) }
                (render_pictures(images, token))
            },
            SharedEntry::Replied { text, images } => article.model {
                h2 { "Weir" }
                div.text.prose { (render::render_markdown(text)) }
                (render_pictures(images, token))
            },
            SharedEntry::Called { tool, input, result } => details.call {
                summary { "Used " span.mono { (render::visible_name(tool)) } }
                (render::render_json(input))
                @if let Some(result) = result { (render::render_plain(result)) }
            },
        }
    }
}

/// The entries of a link that shows all of these facts, calls of tools too.
pub(crate) fn shared_entries(facts: &[PublishedFact]) -> Vec<String> {
    let transcript = SharedTranscript::from_facts(facts);
    transcript.shown.iter().map(|(_, shown)| render_entry(shown, "link").into_string()).collect()
}

fn render_pictures(images: &[BlobId], token: &str) -> Markup {
    html! {
        @for image in images {
            figure.picture {
                img loading="lazy" alt="Picture" src={ "/s/" (token) "/blobs/" (image.as_str()) };
            }
        }
    }
}

/// A picture of a shared chat, as addresses name it.
#[derive(Debug, Deserialize)]
struct SharedBlobPath {
    token: String,
    blob: String,
}

async fn get_shared_blob(
    State(app): State<App>,
    Path(SharedBlobPath { token, blob }): Path<SharedBlobPath>,
) -> HandlerResult<Response> {
    let (kept, space) = open_share(&app, &token).await?;
    let missing = || ProblemDetails::not_found("this picture");
    let store = space.store();
    let transcript = SharedTranscript::read_journal(store.as_ref(), &kept.value).await?;
    let blob = BlobId::new(blob);
    if !transcript.has_image(&blob) {
        return Err(missing());
    }
    let bytes = store.read_blob(&blob).await?;
    let kind = image_kind(&bytes).ok_or_else(missing)?;
    let mut response = bytes.to_vec().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_DISPOSITION, content_disposition("picture", true)?);
    Ok(hide_from_search(response))
}

/// A filter of links by chat.
#[derive(Debug, Default, Deserialize)]
struct SharesQuery {
    #[serde(default)]
    session: String,
}

async fn show_shares(
    owner: CallerSpace,
    Query(which): Query<SharesQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let only = Some(which.session.as_str()).filter(|session| !session.is_empty());
    let lines = shares::list_own_shares(app, caller, only).await?;
    let titles = chat_titles(&owner, &lines).await?;
    let body = html! {
        h1 { "Shared chats" }
        p { "Anyone with the link can read the chat without an account. A link is shown only once, when it is created." }
        (render_share_table(caller, &lines, &titles, app.current_time()))
    };
    Ok(page_with(caller, "Shared chats", "/chats", ASSETS, &body))
}

/// What the chats of these links are called, by their names.
async fn chat_titles(
    owner: &CallerSpace,
    lines: &[ShareLine],
) -> HandlerResult<HashMap<String, String>> {
    let CallerSpace { app, space, .. } = owner;
    let kept = title::load_all_chats(app, space.as_ref()).await?;
    let store = space.store();
    let mut titles = HashMap::new();
    for line in lines {
        let given = kept.get(&line.session).and_then(|chat| chat.title.clone());
        let words = match given {
            Some(given) => Some(given),
            None => {
                store.session_meta(&SessionId::new(&line.session)).await?.map(|meta| meta.title)
            }
        };
        titles.insert(line.session.clone(), words.unwrap_or_else(|| "Deleted chat".into()));
    }
    Ok(titles)
}

fn render_share_table(
    caller: &Caller,
    lines: &[ShareLine],
    titles: &HashMap<String, String>,
    now: Timestamp,
) -> Markup {
    if lines.is_empty() {
        return render_empty("No shared chats.", "Open a chat and choose Share.");
    }
    html! {
        div.table-wrap role="group" aria-label="Links" tabindex="0" {
            table {
                caption.unseen { "Links to your chats" }
                thead {
                    tr {
                        th scope="col" { "Chat" } th scope="col" { "Shows" } th scope="col" { "Made" }
                        th scope="col" { "Ends" } th scope="col" { "Opened" } th scope="col" { "Do" }
                    }
                }
                tbody {
                    @for line in lines {
                        tr {
                            th scope="row" { a href={ "/chats/" (line.session) } { (shared_chat_title(titles, line)) } }
                            td { (describe_share(line)) }
                            td { (render_moment(line.created, now)) }
                            td { @match line.expires { Some(at) => (render_moment(at, now)), None => "never" } }
                            td { (line.opened) " times" @if let Some(at) = line.last_opened { ", last " (render_moment(at, now)) } }
                            td {
                                (post_form(caller, html! { "/shares/" (line.id) "/revoke" }, "", &html! {
                                    (submit_button(ButtonLook::Danger, html! {
                                        "Revoke" span.unseen { " the link to " (shared_chat_title(titles, line)) }
                                    }))
                                }))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn shared_chat_title(titles: &HashMap<String, String>, line: &ShareLine) -> String {
    render::visible_name(titles.get(&line.session).map_or("A chat", String::as_str))
}

fn describe_share(line: &ShareLine) -> &'static str {
    match (line.tools, line.follow) {
        (false, false) => "messages up to now",
        (true, false) => "messages and actions up to now",
        (false, true) => "messages, including later ones",
        (true, true) => "messages and actions, including later ones",
    }
}

async fn show_share_form(
    owner: CallerSpace,
    Query(which): Query<SharesQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = &owner;
    let id = SessionId::new(&which.session);
    let meta = space.store().session_meta(&id).await?;
    let meta = meta.ok_or_else(|| ProblemDetails::not_found("this chat"))?;
    let lines = shares::list_own_shares(app, caller, Some(&which.session)).await?;
    let titles = chat_titles(&owner, &lines).await?;
    let body = html! {
        h1 { "Share a chat" }
        p { a href={ "/chats/" (id) } { (render::visible_name(&meta.title)) } }
        (post_form(caller, "/shares", "card stack", &html! {
            input type="hidden" name="session" value=(which.session);
            fieldset {
                legend { "Include" }
                label { input type="checkbox" name="tools" value="yes"; " calls of tools and their results too" }
                label { input type="checkbox" name="follow" value="yes"; " what is said later too" }
            }
            p.hint { "Tool results can contain parts of your files. Check the chat before you share them." }
            (render_field("days", "Expires after (days)", "Leave empty for a link that does not expire.",
                &html! { input id="days" name="days" type="number" min="1" max="3650" inputmode="numeric" aria-describedby="days-hint"; }))
            (submit_button(ButtonLook::Primary, "Create link"))
        }))
        h2 { "Links to this chat" }
        (render_share_table(caller, &lines, &titles, app.current_time()))
    };
    Ok(page_with(caller, "Share a chat", "/chats", ASSETS, &body))
}

async fn make_share(
    owner: CallerSpace,
    SentBody(new): SentBody<NewShare>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let made = shares::create_share(&owner, &new).await?;
    let link = format!("{}{}", app.options.public_url.clone().unwrap_or_default(), made.path);
    let body = html! {
        h1 { "Link created" }
        p { "Copy it now: it will not be shown again." }
        (render_field("link", "Link", "Anyone with this link can read the chat.",
            &html! { input.mono id="link" type="text" readonly value=(link) aria-describedby="link-hint"; }))
        p { a href=(made.path) { "View as others see it" } }
        p { a href="/shares" { "All links" } " · " a href={ "/chats/" (new.session) } { "Back to the chat" } }
    };
    Ok(page_with(caller, "Link created", "/chats", ASSETS, &body))
}
