//! Files: browse, look, upload, download, rename, delete (S10). Checkpoints are in `checkpoints`.

use axum::extract::{Multipart, Query};
use axum::response::Redirect;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use weir_core::document::DocumentPage;
use weir_core::ids::Timestamp;
use weir_engine::blocking::run_blocking;
use weir_engine::marks::marks_in;
use weir_install::file_view::{FilePreview, FileView, VIEW_BYTES_MAX, split_note};

use crate::api::files::desk::PathContent;
use crate::api::files::{
    self as api, FileLine, FilePathBody, FolderListing, FolderQuery, MoveFileBody, OnConflict,
    UPLOAD_MAX, UploadQuery, at_desk,
};
use crate::auth::ClientInfo;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render;
use crate::request::CallerSpace;
use crate::request::body::SentBody;
use crate::route::Route;
use crate::web::controls::{ButtonLook, csrf_input, post_form, submit_button};
use crate::web::parts::{page_with, render_badge, render_empty, render_field, render_moment};

mod checkpoints;
mod note;

/// Style and script of this page.
const ASSETS: &[&str] = &["pages/code.css", "pages/files.css", "pages/files.js"];

/// The routes of this file.
pub(crate) fn file_page_routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/files", show_path).query::<FolderQuery>(),
        Route::get("/files/edit", show_edit_form).query::<FilePathBody>(),
        Route::post("/files/upload", upload_files).body_max(UPLOAD_MAX + (64 << 10)),
        Route::post("/files/folder", make_folder),
        Route::post("/files/move", rename_file),
        Route::post("/files/delete", delete_file),
    ];
    all.extend(checkpoints::checkpoint_page_routes());
    all
}

/// The address of a path's page.
fn file_address(path: &str) -> String {
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
fn size_text(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// Where one is, with a link to each folder above.
fn render_trail(path: &str) -> Markup {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    html! {
        nav.trail aria-label="Folders" {
            ol {
                li { a href="/files" aria-current=[parts.is_empty().then_some("page")] { "Your folder" } }
                @for (at, part) in parts.iter().enumerate() {
                    @let here = at + 1 == parts.len();
                    li {
                        a href=(file_address(&parts[..=at].join("/")))
                            aria-current=[here.then_some("page")] { (part) }
                    }
                }
            }
        }
    }
}

async fn show_path(owner: CallerSpace, Query(query): Query<FolderQuery>) -> HandlerResult<Markup> {
    let path = query.path.clone();
    let held = match path.is_empty() {
        true => PathContent::Folder,
        false => at_desk(&owner, move |desk| desk.inspect_path(&path)).await?,
    };
    match held {
        PathContent::Folder => show_folder(&owner, query).await,
        PathContent::File(line) => show_file(&owner, line).await,
    }
}

async fn show_folder(owner: &CallerSpace, query: FolderQuery) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = owner;
    let hidden = query.hidden;
    let listing = at_desk(owner, move |desk| desk.list_folder(&query.path, hidden)).await?;
    let marked = marked_paths(owner).await?;
    let path = &listing.path;
    let body = html! {
        h1 { "Files" }
        (render_trail(path))
        div.toolbar {
            a.btn href="/files/checkpoints" { "Checkpoints" }
            @let other = if hidden { "Hide hidden files" } else { "Show hidden files" };
            a.btn.quiet href={ (file_address(path)) (if hidden { "" } else { "&hidden=true" }) } { (other) }
        }
        (upload_form(caller, path))
        @if listing.items.is_empty() {
            (render_empty("This folder is empty.", "Upload a file, or ask an agent to write one."))
        } @else {
            (render_file_table(app.current_time(), &listing, &marked))
        }
        (folder_form(caller, path))
    };
    Ok(page_with(caller, "Files", "/files", ASSETS, &body))
}

/// Paths with foreign words in them.
async fn marked_paths(owner: &CallerSpace) -> HandlerResult<Vec<String>> {
    let CallerSpace { space, .. } = owner;
    let root = space.workspace(None)?.root().display().to_string();
    let marks = marks_in(space.store().as_ref(), &root).await?;
    Ok(marks.into_iter().map(|mark| mark.path).collect())
}

fn render_file_table(now: Timestamp, listing: &FolderListing, marked: &[String]) -> Markup {
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
                tbody { @for item in &listing.items { (render_file_row(now, item, marked)) } }
            }
        }
        @if listing.truncated { p.notice { "This folder has more files than are shown." } }
    }
}

fn render_file_row(now: Timestamp, item: &FileLine, marked: &[String]) -> Markup {
    let changed = Timestamp(item.modified.saturating_mul(1_000_000));
    html! {
        tr {
            th scope="row" class={ "kind-" (item.kind) } {
                a href=(file_address(&item.path)) {
                    (render::visible_name(&item.name)) @if item.kind == "folder" { "/" }
                }
                @if item.kind == "link" { " " (render_badge("", "link")) }
                @if marked.contains(&item.path) { " " (render_badge("warn", "outside content")) }
            }
            td.number { @if item.kind == "file" { (size_text(item.bytes)) } }
            td { (render_moment(changed, now)) }
            td { div.row {
                @if item.kind == "file" {
                    a.btn.quiet href=(download_address(&item.path)) aria-label={ "Download " (item.name) } {
                        "Download"
                    }
                }
                a.btn.quiet href=(with_path("/files/edit", &item.path))
                    title="Rename or delete" { "Change" span.unseen { " " (item.name) } }
            } }
        }
    }
}

fn download_address(path: &str) -> String {
    with_path("/api/v1/files/content", path)
}

fn upload_form(caller: &Caller, path: &str) -> Markup {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("path", path).append_pair("csrf", caller.csrf_token());
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
                (render_field("file", "Files", &format!("At most {} each.", size_text(UPLOAD_MAX as u64)),
                    &html! { input id="file" type="file" name="file" multiple required; }))
                (submit_button(ButtonLook::Primary, "Upload"))
                p id="upload-state" role="status" {}
            }
        }
    }
}

fn folder_form(caller: &Caller, path: &str) -> Markup {
    html! {
        details.card {
            summary { "New folder" }
            (post_form(caller, "/files/folder", "stack", &html! {
                input type="hidden" name="within" value=(path);
                (render_field("folder-name", "Name", "",
                    &html! { input id="folder-name" name="name" required maxlength="200" autocomplete="off"; }))
                (submit_button(ButtonLook::Plain, "Create folder"))
            }))
        }
    }
}

async fn show_file(owner: &CallerSpace, line: FileLine) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = owner;
    let body = match line.bytes <= VIEW_BYTES_MAX {
        true => {
            let view = api::view_file(owner, &line.path, None).await?;
            let shown = run_blocking(move || render_view(&view)).await;
            shown.map_err(ProblemDetails::internal_failure)?
        }
        false => html! { p { "This file is too large to show here." } },
    };
    let changed = Timestamp(line.modified.saturating_mul(1_000_000));
    let body = html! {
        h1 { (render::visible_name(&line.name)) }
        (render_trail(&line.path))
        div.toolbar {
            a.btn.primary href=(download_address(&line.path)) { "Download" }
            a.btn href=(with_path("/files/edit", &line.path)) { "Rename or delete" }
            a.btn href=(with_path("/files/checkpoints", &line.path)) { "Checkpoints of this file" }
            span.muted { (size_text(line.bytes)) ", changed " (render_moment(changed, app.current_time())) }
        }
        (body)
    };
    Ok(page_with(caller, &line.name, "/files", ASSETS, &body))
}

/// A file as it can be looked at, and what links to it.
fn render_view(view: &FileView) -> Markup {
    let name = view.path.rsplit('/').next().unwrap_or_default();
    html! {
        @match &view.preview {
            FilePreview::Text { text, cut } => {
                (render_text(view, text))
                @if *cut { p.notice { "This file is longer than is shown: download it to read all of it." } }
            },
            FilePreview::Document { format, pages, remarks } => (render_document(format, pages, remarks)),
            FilePreview::Canvas { outline, svg } => {
                // Written by us, with every text in it escaped.
                div.canvas tabindex="0" role="group" aria-label="Canvas" { (PreEscaped(svg)) }
                details { summary { "In words" } div.prose { (render::render_prose(outline, 3)) } }
            },
            FilePreview::Image { width, height, .. } => {
                @let source = format!("{}&inline=true", download_address(&view.path));
                p.picture { img src=(source) alt=(name) width=(width) height=(height); }
            },
            FilePreview::Nothing { why } => p { (why) },
        }
        @if !view.backlinks.is_empty() { (render_backlinks(view)) }
        @if view.backlinks_pending {
            p.notice {
                "The vault is being looked over. "
                a href=(file_address(&view.path)) { "Load this page again" }
                " for what links here and where its links lead."
            }
        }
    }
}

/// A document as text: what it says is shown, and nothing of it is followed.
fn render_document(format: &str, pages: &[DocumentPage], remarks: &[String]) -> Markup {
    html! {
        p.muted { (format) ", as text. How it really looks is seen in the program that it is for." }
        @for remark in remarks { p.notice { (remark) } }
        @if pages.is_empty() { (render_empty("There is no text in it.", "Download it to look at it.")) }
        @for page in pages {
            section.page aria-label=(page.name) {
                h2 { (page.name) }
                div.prose { (render::render_prose(&page.text, 3)) }
            }
        }
    }
}

fn render_backlinks(view: &FileView) -> Markup {
    html! {
        section.backlinks aria-labelledby="backlinks" {
            h2 id="backlinks" { "Linked from" }
            ul {
                @for link in &view.backlinks {
                    li {
                        a href=(file_address(&link.path)) { (render::visible_name(&link.path)) }
                        @if let Some(line) = link.line { span.muted { " line " (line) } }
                        div { (link.passage) }
                    }
                }
            }
            @if view.backlinks_left_out > 0 { p { "And " (view.backlinks_left_out) " more." } }
        }
    }
}

fn render_text(view: &FileView, text: &str) -> Markup {
    let source = render::render_code(text, weir_highlight::language_of_path(&view.path));
    match split_note(&view.path, text) {
        Some(note) => html! {
            @if let Some(yaml) = note.properties { (render::render_code(yaml, "yaml")) }
            div.prose { (note::render_note(view, &note)) }
            details { summary { "Source" } (source) }
        },
        None => html! { (source) },
    }
}

async fn show_edit_form(
    owner: CallerSpace,
    Query(FilePathBody { path }): Query<FilePathBody>,
) -> HandlerResult<Markup> {
    let CallerSpace { caller, .. } = &owner;
    let asked = path.clone();
    let held = at_desk(&owner, move |desk| desk.inspect_path(&asked)).await?;
    let what = if matches!(held, PathContent::Folder) { "folder" } else { "file" };
    let body = html! {
        h1 { "Change " (render::visible_name(&path)) }
        (render_trail(&path))
        form.card.stack method="post" action="/files/move" {
            h2 { "Rename or move" }
            (csrf_input(caller))
            input type="hidden" name="from" value=(path);
            (render_field("to", "New path", "Relative to your folder. An existing file is never replaced.",
                &html! { input id="to" name="to" value=(path) required aria-describedby="to-hint" autocomplete="off"; }))
            (submit_button(ButtonLook::Primary, "Rename"))
        }
        form.card.stack method="post" action="/files/delete" {
            h2 { "Delete" }
            (csrf_input(caller))
            input type="hidden" name="path" value=(path);
            p { "The " (what) " goes to the trash of the server, from where an admin can bring it back." }
            (submit_button(ButtonLook::Danger, html! { "Delete this " (what) }))
        }
    };
    Ok(page_with(caller, "Change a file", "/files", ASSETS, &body))
}

/// How an upload is sent by a form.
#[derive(Debug, Deserialize)]
struct UploadTarget {
    #[serde(default)]
    path: String,
}

async fn upload_files(
    owner: CallerSpace,
    client: ClientInfo,
    Query(sent): Query<UploadTarget>,
    mut form: Multipart,
) -> HandlerResult<Redirect> {
    let _place = api::upload_place().await?;
    let unreadable = |_| ProblemDetails::bad_request("the upload was cut off: try again");
    let mut conflict = OnConflict::default();
    let mut any = false;
    while let Some(mut part) = form.next_field().await.map_err(unreadable)? {
        let Some(name) = part.file_name().map(ToOwned::to_owned) else {
            if part.name() == Some("conflict") {
                conflict = parse_conflict_choice(&part.text().await.map_err(unreadable)?);
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
        let place = UploadQuery { path: join_path(&sent.path, name), conflict };
        api::store_upload(&owner, &client, place, bytes.into()).await?;
        any = true;
    }
    match any {
        true => Ok(Redirect::to(&file_address(&sent.path))),
        false => Err(ProblemDetails::bad_request("no file was chosen")),
    }
}

fn parse_conflict_choice(word: &str) -> OnConflict {
    match word {
        "replace" => OnConflict::Replace,
        "keep_both" => OnConflict::KeepBoth,
        _ => OnConflict::Refuse,
    }
}

fn join_path(folder: &str, name: &str) -> String {
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
    owner: CallerSpace,
    client: ClientInfo,
    SentBody(new): SentBody<NewFolder>,
) -> HandlerResult<Redirect> {
    let done = api::create_folder(&owner, &client, join_path(&new.within, &new.name)).await?;
    Ok(Redirect::to(&file_address(&done.path)))
}

async fn rename_file(
    owner: CallerSpace,
    client: ClientInfo,
    SentBody(wanted): SentBody<MoveFileBody>,
) -> HandlerResult<Redirect> {
    let done = api::move_path(&owner, &client, wanted).await?;
    Ok(Redirect::to(&file_address(folder_of(&done.path))))
}

async fn delete_file(
    owner: CallerSpace,
    client: ClientInfo,
    SentBody(place): SentBody<FilePathBody>,
) -> HandlerResult<Redirect> {
    let done = api::delete_path(&owner, &client, place.path).await?;
    Ok(Redirect::to(&file_address(folder_of(&done.path))))
}
