//! Files: browse, look, upload, download, rename, delete (S10). Checkpoints are in `checkpoints`.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Multipart, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::Timestamp;
use weir_engine::sniff::{self, Kind};

use crate::api::files::desk::Held;
use crate::api::files::download::image_kind;
use crate::api::files::{
    self as api, FileLine, Listing, Move, OnConflict, Place, UPLOAD_MAX, Where, at_desk,
};
use crate::app::App;
use crate::auth::Client;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::render;
use crate::route::Route;
use crate::web::parts::{badge, csrf, empty, field, moment, page_with};

mod checkpoints;

/// Most of a file that is shown, in bytes; the rest is downloaded.
const SHOWN_MAX: u64 = 1 << 20;
/// Style and script of this page.
const ASSETS: &[&str] = &["pages/code.css", "pages/files.css", "pages/files.js"];

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/files", show).query::<Where>(),
        Route::get("/files/edit", edit).query::<Place>(),
        Route::post("/files/upload", upload).body_max(UPLOAD_MAX + (64 << 10)),
        Route::post("/files/folder", make_folder),
        Route::post("/files/move", rename),
        Route::post("/files/delete", delete),
    ];
    all.extend(checkpoints::routes());
    all
}

/// The address of a path's page.
fn address(path: &str) -> String {
    with_path("/files", path)
}

/// An address with a path in its query.
fn with_path(base: &str, path: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("path", path);
    format!("{base}?{}", query.finish())
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Sizes as people read them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// Where one is, with a link to each folder above.
fn trail(path: &str) -> Markup {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    html! {
        nav.trail aria-label="Folders" {
            ol {
                li { a href="/files" aria-current=[parts.is_empty().then_some("page")] { "Your folder" } }
                @for (at, part) in parts.iter().enumerate() {
                    @let here = at + 1 == parts.len();
                    li {
                        a href=(address(&parts[..=at].join("/")))
                            aria-current=[here.then_some("page")] { (part) }
                    }
                }
            }
        }
    }
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<Where>,
) -> Answer<Markup> {
    let path = query.path.clone();
    let held = match path.is_empty() {
        true => Held::Folder,
        false => at_desk(&app, &caller, move |desk| desk.held(&path)).await?,
    };
    match held {
        Held::Folder => folder(&app, &caller, query).await,
        Held::File(line) => file(&app, &caller, line).await,
    }
}

async fn folder(app: &App, caller: &Caller, query: Where) -> Answer<Markup> {
    let hidden = query.hidden;
    let listing = at_desk(app, caller, move |desk| desk.list(&query.path, hidden)).await?;
    let marked = marked(app, caller).await?;
    let path = &listing.path;
    let body = html! {
        h1 { "Files" }
        (trail(path))
        div.toolbar {
            a.btn href="/files/checkpoints" { "Checkpoints" }
            @let other = if hidden { "Hide hidden files" } else { "Show hidden files" };
            a.btn.quiet href={ (address(path)) (if hidden { "" } else { "&hidden=true" }) } { (other) }
        }
        (upload_form(caller, path))
        @if listing.items.is_empty() {
            (empty("This folder is empty.", "Upload a file, or ask an agent to write one."))
        } @else {
            (table(app.now(), &listing, &marked))
        }
        (folder_form(caller, path))
    };
    Ok(page_with(caller, "Files", "/files", ASSETS, &body))
}

/// Paths with foreign words in them.
async fn marked(app: &App, caller: &Caller) -> Answer<Vec<String>> {
    let home = app.home(&caller.person).await?;
    let root = home.workspace(None)?.root().display().to_string();
    let marks = home.store().marks(&root).await?;
    Ok(marks.into_iter().map(|mark| mark.path).collect())
}

fn table(now: Timestamp, listing: &Listing, marked: &[String]) -> Markup {
    html! {
        div.table-wrap role="group" aria-label="Files" tabindex="0" {
            table.files {
                caption.unseen { "Files in this folder" }
                thead {
                    tr {
                        th scope="col" { "Name" }
                        th.number scope="col" { "Size" }
                        th scope="col" { "Changed" }
                        th scope="col" { "Do" }
                    }
                }
                tbody { @for item in &listing.items { (row(now, item, marked)) } }
            }
        }
        @if listing.truncated { p.notice { "This folder has more files than are shown." } }
    }
}

fn row(now: Timestamp, item: &FileLine, marked: &[String]) -> Markup {
    let changed = Timestamp(item.modified.saturating_mul(1_000_000));
    html! {
        tr {
            th scope="row" class={ "kind-" (item.kind) } {
                a href=(address(&item.path)) {
                    (render::visible(&item.name)) @if item.kind == "folder" { "/" }
                }
                @if item.kind == "link" { " " (badge("", "link")) }
                @if marked.contains(&item.path) { " " (badge("warn", "outside content")) }
            }
            td.number { @if item.kind == "file" { (size(item.bytes)) } }
            td { (moment(changed, now)) }
            td { div.row {
                @if item.kind == "file" {
                    a.btn.quiet href=(download(&item.path)) aria-label={ "Download " (item.name) } {
                        "Download"
                    }
                }
                a.btn.quiet href=(with_path("/files/edit", &item.path))
                    title="Rename or delete" { "Change" span.unseen { " " (item.name) } }
            } }
        }
    }
}

fn download(path: &str) -> String {
    with_path("/api/v1/files/content", path)
}

fn upload_form(caller: &Caller, path: &str) -> Markup {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("path", path).append_pair("csrf", caller.csrf());
    let action = format!("/files/upload?{}", query.finish());
    html! {
        details.card {
            summary { "Upload" }
            form.stack id="upload" method="post" enctype="multipart/form-data" action=(action)
                data-path=(path) data-bytes-max=(UPLOAD_MAX) {
                fieldset {
                    legend { "If the file exists" }
                    label { input type="radio" name="conflict" value="refuse" checked; " stop and ask" }
                    label { input type="radio" name="conflict" value="keep_both"; " keep both" }
                    label { input type="radio" name="conflict" value="replace"; " replace it" }
                }
                (field("file", "Files", &format!("At most {} each.", size(UPLOAD_MAX as u64)),
                    &html! { input id="file" type="file" name="file" multiple required; }))
                button.btn.primary type="submit" { "Upload" }
                p id="upload-state" role="status" {}
            }
        }
    }
}

fn folder_form(caller: &Caller, path: &str) -> Markup {
    html! {
        details.card {
            summary { "New folder" }
            form.stack method="post" action="/files/folder" {
                (csrf(caller))
                input type="hidden" name="within" value=(path);
                (field("folder-name", "Name", "",
                    &html! { input id="folder-name" name="name" required maxlength="200" autocomplete="off"; }))
                button.btn type="submit" { "Create folder" }
            }
        }
    }
}

async fn file(app: &App, caller: &Caller, line: FileLine) -> Answer<Markup> {
    let path = line.path.clone();
    let body = match line.bytes <= SHOWN_MAX {
        true => {
            let bytes = at_desk(app, caller, move |desk| desk.read(&path, SHOWN_MAX)).await?;
            content(&line, bytes).await?
        }
        false => html! { p { "This file is too large to show here." } },
    };
    let changed = Timestamp(line.modified.saturating_mul(1_000_000));
    let body = html! {
        h1 { (render::visible(&line.name)) }
        (trail(&line.path))
        div.toolbar {
            a.btn.primary href=(download(&line.path)) { "Download" }
            a.btn href=(with_path("/files/edit", &line.path)) { "Rename or delete" }
            a.btn href=(with_path("/files/checkpoints", &line.path)) { "Checkpoints of this file" }
            span.muted { (size(line.bytes)) ", changed " (moment(changed, app.now())) }
        }
        (body)
    };
    Ok(page_with(caller, &line.name, "/files", ASSETS, &body))
}

/// A file as it can be looked at. What is not text or a plain image is only said.
async fn content(line: &FileLine, bytes: Arc<[u8]>) -> Answer<Markup> {
    if image_kind(&bytes).is_some() {
        let source = format!("{}&inline=true", download(&line.path));
        return Ok(html! { p.picture { img src=(source) alt=(line.name); } });
    }
    let text = match (sniff::kind(&bytes), std::str::from_utf8(&bytes)) {
        (Kind::Text, Ok(text)) => text.to_owned(),
        (Kind::Pdf, _) => return Ok(html! { p { "PDF: download it to read it." } }),
        (Kind::Binary(what), _) => return Ok(html! { p { "Your new token is " (what) "." } }),
        _ => return Ok(html! { p { "This file is not UTF-8 text." } }),
    };
    let name = line.name.clone();
    let shown = tokio::task::spawn_blocking(move || rendered(&name, &text)).await;
    shown.map_err(Problem::failed)
}

fn rendered(name: &str, text: &str) -> Markup {
    let source = render::code(text, render::language_of(name));
    match name.to_ascii_lowercase().ends_with(".md") {
        true => html! {
            div.prose { (render::markdown_as(text, &render::Style { heading: 2, ..render::Style::default() })) }
            details { summary { "Source" } (source) }
        },
        false => html! { (source) },
    }
}

async fn edit(
    State(app): State<App>,
    caller: Caller,
    Query(Place { path }): Query<Place>,
) -> Answer<Markup> {
    let asked = path.clone();
    let held = at_desk(&app, &caller, move |desk| desk.held(&asked)).await?;
    let what = if matches!(held, Held::Folder) { "folder" } else { "file" };
    let body = html! {
        h1 { "Change " (render::visible(&path)) }
        (trail(&path))
        form.card.stack method="post" action="/files/move" {
            h2 { "Rename or move" }
            (csrf(&caller))
            input type="hidden" name="from" value=(path);
            (field("to", "New path", "Relative to your folder. An existing file is never replaced.",
                &html! { input id="to" name="to" value=(path) required aria-describedby="to-hint" autocomplete="off"; }))
            button.btn.primary type="submit" { "Rename" }
        }
        form.card.stack method="post" action="/files/delete" {
            h2 { "Delete" }
            (csrf(&caller))
            input type="hidden" name="path" value=(path);
            p { "The " (what) " goes to the trash of the server, from where an admin can bring it back." }
            button.btn.danger type="submit" { "Delete this " (what) }
        }
    };
    Ok(page_with(&caller, "Change a file", "/files", ASSETS, &body))
}

/// How an upload is sent by a form.
#[derive(Debug, Deserialize)]
struct Sent {
    #[serde(default)]
    path: String,
}

async fn upload(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Query(sent): Query<Sent>,
    mut form: Multipart,
) -> Answer<Redirect> {
    let _place = api::upload_place().await?;
    let unreadable = |_| Problem::bad("the upload was cut off: try again");
    let mut conflict = OnConflict::default();
    let mut any = false;
    while let Some(mut part) = form.next_field().await.map_err(unreadable)? {
        let Some(name) = part.file_name().map(ToOwned::to_owned) else {
            if part.name() == Some("conflict") {
                conflict = chosen(&part.text().await.map_err(unreadable)?);
            }
            continue;
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = part.chunk().await.map_err(|_| api::too_large())? {
            if bytes.len() + chunk.len() > UPLOAD_MAX {
                return Err(api::too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        // Some browsers send the whole path that the file had.
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let path = joined(&sent.path, name);
        let done = api::put(&app, &caller, (path, conflict), bytes.into()).await?;
        api::note(&app, &caller, &client, ("file_uploaded", &done.path)).await?;
        any = true;
    }
    match any {
        true => Ok(Redirect::to(&address(&sent.path))),
        false => Err(Problem::bad("no file was chosen")),
    }
}

fn chosen(word: &str) -> OnConflict {
    match word {
        "replace" => OnConflict::Replace,
        "keep_both" => OnConflict::KeepBoth,
        _ => OnConflict::Refuse,
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// A new folder, as a form has it.
#[derive(Debug, Deserialize)]
struct NewFolder {
    #[serde(default)]
    within: String,
    name: String,
}

async fn make_folder(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Form(new): Form<NewFolder>,
) -> Answer<Redirect> {
    let path = joined(&new.within, &new.name);
    let done = at_desk(&app, &caller, move |desk| desk.make_folder(&path)).await?;
    api::note(&app, &caller, &client, ("folder_made", &done.path)).await?;
    Ok(Redirect::to(&address(&done.path)))
}

async fn rename(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Form(Move { from, to }): Form<Move>,
) -> Answer<Redirect> {
    let old = from.clone();
    let done = at_desk(&app, &caller, move |desk| desk.rename(&from, &to)).await?;
    api::note(&app, &caller, &client, ("file_moved", &format!("{old} to {}", done.path))).await?;
    Ok(Redirect::to(&address(folder_of(&done.path))))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Form(place): Form<Place>,
) -> Answer<Redirect> {
    let done = at_desk(&app, &caller, move |desk| desk.delete(&place.path)).await?;
    api::note(&app, &caller, &client, ("file_deleted", &done.path)).await?;
    Ok(Redirect::to(&address(folder_of(&done.path))))
}
