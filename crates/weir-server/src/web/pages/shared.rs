//! A chat as whoever has its link sees it, and the page on which links are made and taken back (S7).

use std::collections::HashMap;
use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderName, HeaderValue, header};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::{BlobId, SessionId, Timestamp};
use weir_engine::hub::Fact;

use crate::api::files::download::{disposition, image_kind};
use crate::api::shares::{self, NewShare, Share, ShareLine};
use crate::app::App;
use crate::auth::accounts;
use crate::auth::shelf::{Kept, Shelf};
use crate::guard::Caller;
use crate::live::title;
use crate::problem::{Answer, Problem};
use crate::render;
use crate::route::{Access, Route};
use crate::web::parts::{bare_with, csrf, empty, field, moment, page_with};

mod transcript;

use transcript::{Shown, Transcript};
use weir_install::user_space::UserSpace;

/// Styles of a shared chat.
const ASSETS: &[&str] = &["pages/code.css", "pages/shared.css"];

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/s/{token}", chat).access(Access::Anyone),
        Route::get("/s/{token}/blobs/{blob}", blob).access(Access::Anyone),
        Route::get("/shares", all),
        Route::get("/shares/new", ask),
        Route::post("/shares", make),
        Route::post("/shares/{id}/revoke", revoke),
    ]
}

/// A link that leads somewhere: what it shows, and from whose journal.
async fn opened(app: &App, token: &str) -> Answer<(Kept<Share>, Arc<UserSpace>)> {
    let kept = shares::find(app, token).await?;
    let shelf = Shelf::new(app.records.clone(), app.clock.clone());
    let owner = accounts::get(&shelf, &kept.owner).await?.filter(|person| !person.disabled);
    let owner = owner.ok_or_else(|| Problem::missing("this link"))?;
    let home = app.home(&owner).await?;
    Ok((kept, home))
}

/// No search engine keeps it, no cache, and no page that is opened from it learns its address.
fn unlisted(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let robots = HeaderName::from_static("x-robots-tag");
    headers.insert(robots, HeaderValue::from_static("noindex, nofollow, noarchive"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn chat(State(app): State<App>, Path(token): Path<String>) -> Answer<Response> {
    let (kept, home) = opened(&app, &token).await?;
    let share = &kept.value;
    let transcript = Transcript::read(home.store().as_ref(), share).await?;
    shares::count(&app, &kept).await?;
    let now = app.now();
    let body = tokio::task::spawn_blocking(move || page(&transcript, &token, now));
    let body = body.await.map_err(Problem::failed)?;
    Ok(unlisted(bare_with("A shared chat", ASSETS, &body).into_response()))
}

fn page(transcript: &Transcript, token: &str, now: Timestamp) -> Markup {
    html! {
        div.shared.wide-page {
            h1 { "A shared chat" }
            p.muted { "This chat was shared with you. It is read-only." }
            @if transcript.left_out > 0 {
                p.notice { (transcript.left_out) " earlier entries are not shown." }
            }
            @if transcript.shown.is_empty() { (empty("No messages yet.", "")) }
            ol.log aria-label="Conversation" {
                @for (at, shown) in &transcript.shown { li { (entry(shown, token)) p.muted { (moment(*at, now)) } } }
            }
        }
    }
}

fn entry(shown: &Shown, token: &str) -> Markup {
    html! {
        @match shown {
            Shown::Said { by, text, images } => article.person {
                h2 { (render::visible(by)) }
                div.text.words dir="auto" { (render::prose(text)) }
                (pictures(images, token))
            },
            Shown::Replied { text, images } => article.model {
                h2 { "Weir" }
                div.text.prose { (render::markdown(text)) }
                (pictures(images, token))
            },
            Shown::Called { tool, input, result } => details.call {
                summary { "Used " span.mono { (render::visible(tool)) } }
                (render::json(input))
                @if let Some(result) = result { (render::plain(result)) }
            },
        }
    }
}

/// The entries of a link that shows all of these facts, calls of tools too.
pub(crate) fn shared_entries(facts: &[Fact]) -> Vec<String> {
    let transcript = Transcript::of(facts);
    transcript.shown.iter().map(|(_, shown)| entry(shown, "link").into_string()).collect()
}

fn pictures(images: &[BlobId], token: &str) -> Markup {
    html! {
        @for image in images {
            figure.picture {
                img loading="lazy" alt="Picture" src={ "/s/" (token) "/blobs/" (image.as_str()) };
            }
        }
    }
}

async fn blob(
    State(app): State<App>,
    Path((token, blob)): Path<(String, String)>,
) -> Answer<Response> {
    let (kept, home) = opened(&app, &token).await?;
    let missing = || Problem::missing("this picture");
    let store = home.store();
    let transcript = Transcript::read(store.as_ref(), &kept.value).await?;
    let blob = BlobId::new(blob);
    if !transcript.shows(&blob) {
        return Err(missing());
    }
    let bytes = store.blob(&blob).await?;
    let kind = image_kind(&bytes).ok_or_else(missing)?;
    let mut response = bytes.to_vec().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_DISPOSITION, disposition("picture", true)?);
    Ok(unlisted(response))
}

/// Which chat.
#[derive(Debug, Default, Deserialize)]
struct Which {
    #[serde(default)]
    session: String,
}

async fn all(State(app): State<App>, caller: Caller, Query(which): Query<Which>) -> Answer<Markup> {
    let only = Some(which.session.as_str()).filter(|session| !session.is_empty());
    let lines = shares::of(&app, &caller, only).await?;
    let titles = titles(&app, &caller, &lines).await?;
    let body = html! {
        h1 { "Shared chats" }
        p { "Anyone with the link can read the chat without an account. A link is shown only once, when it is created." }
        (table(&caller, &lines, &titles, app.now()))
    };
    Ok(page_with(&caller, "Shared chats", "/chats", ASSETS, &body))
}

/// What the chats of these links are called, by their names.
async fn titles(
    app: &App,
    caller: &Caller,
    lines: &[ShareLine],
) -> Answer<HashMap<String, String>> {
    let home = app.home(&caller.person).await?;
    let kept = title::all(app, home.as_ref()).await?;
    let store = home.store();
    let mut titles = HashMap::new();
    for line in lines {
        let given = kept.get(&line.session).and_then(|chat| chat.title.clone());
        let words = match given {
            Some(given) => Some(given),
            None => store.meta(&SessionId::new(&line.session)).await?.map(|meta| meta.title),
        };
        titles.insert(line.session.clone(), words.unwrap_or_else(|| "Deleted chat".into()));
    }
    Ok(titles)
}

fn table(
    caller: &Caller,
    lines: &[ShareLine],
    titles: &HashMap<String, String>,
    now: Timestamp,
) -> Markup {
    if lines.is_empty() {
        return empty("No shared chats.", "Open a chat and choose Share.");
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
                            th scope="row" { a href={ "/chats/" (line.session) } { (called(titles, line)) } }
                            td { (what(line)) }
                            td { (moment(line.created, now)) }
                            td { @match line.expires { Some(at) => (moment(at, now)), None => "never" } }
                            td { (line.opened) " times" @if let Some(at) = line.last_opened { ", last " (moment(at, now)) } }
                            td {
                                form method="post" action={ "/shares/" (line.id) "/revoke" } {
                                    (csrf(caller))
                                    button.btn.danger type="submit" { "Revoke" span.unseen { " the link to " (called(titles, line)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn called(titles: &HashMap<String, String>, line: &ShareLine) -> String {
    render::visible(titles.get(&line.session).map_or("A chat", String::as_str))
}

fn what(line: &ShareLine) -> &'static str {
    match (line.tools, line.follow) {
        (false, false) => "messages up to now",
        (true, false) => "messages and actions up to now",
        (false, true) => "messages, including later ones",
        (true, true) => "messages and actions, including later ones",
    }
}

async fn ask(State(app): State<App>, caller: Caller, Query(which): Query<Which>) -> Answer<Markup> {
    let home = app.home(&caller.person).await?;
    let id = SessionId::new(&which.session);
    let meta = home.store().meta(&id).await?;
    let meta = meta.ok_or_else(|| Problem::missing("this chat"))?;
    let lines = shares::of(&app, &caller, Some(&which.session)).await?;
    let titles = titles(&app, &caller, &lines).await?;
    let body = html! {
        h1 { "Share a chat" }
        p { a href={ "/chats/" (id) } { (render::visible(&meta.title)) } }
        form.card.stack method="post" action="/shares" {
            (csrf(&caller))
            input type="hidden" name="session" value=(which.session);
            fieldset {
                legend { "Include" }
                label { input type="checkbox" name="tools" value="yes"; " calls of tools and their results too" }
                label { input type="checkbox" name="follow" value="yes"; " what is said later too" }
            }
            p.hint { "Tool results can contain parts of your files. Check the chat before you share them." }
            (field("days", "Expires after (days)", "Leave empty for a link that does not expire.",
                &html! { input id="days" name="days" type="number" min="1" max="3650" inputmode="numeric" aria-describedby="days-hint"; }))
            button.btn.primary type="submit" { "Create link" }
        }
        h2 { "Links to this chat" }
        (table(&caller, &lines, &titles, app.now()))
    };
    Ok(page_with(&caller, "Share a chat", "/chats", ASSETS, &body))
}

/// What a form says about a new link.
#[derive(Debug, Deserialize)]
struct Wanted {
    session: String,
    #[serde(default)]
    tools: String,
    #[serde(default)]
    follow: String,
    #[serde(default)]
    days: String,
}

async fn make(
    State(app): State<App>,
    caller: Caller,
    Form(wanted): Form<Wanted>,
) -> Answer<Markup> {
    let days = match wanted.days.trim() {
        "" => None,
        days => Some(days.parse().map_err(|_| Problem::bad("days must be a number"))?),
    };
    let new = NewShare {
        session: wanted.session,
        tools: !wanted.tools.is_empty(),
        follow: !wanted.follow.is_empty(),
        days,
    };
    let made = shares::make(&app, &caller, &new).await?;
    let link = format!("{}{}", app.options.public_url.clone().unwrap_or_default(), made.path);
    let body = html! {
        h1 { "Link created" }
        p { "Copy it now: it will not be shown again." }
        (field("link", "Link", "Anyone with this link can read the chat.",
            &html! { input.mono id="link" type="text" readonly value=(link) aria-describedby="link-hint"; }))
        p { a href=(made.path) { "View as others see it" } }
        p { a href="/shares" { "All links" } " · " a href={ "/chats/" (new.session) } { "Back to the chat" } }
    };
    Ok(page_with(&caller, "Link created", "/chats", ASSETS, &body))
}

async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Redirect> {
    shares::take_back(&app, &caller, &id).await?;
    Ok(Redirect::to("/shares"))
}
