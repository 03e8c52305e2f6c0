//! A person's brain: its entries, found by words, and the form for a new one. Not here: one entry
//! (`entry`).

use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::brain::{BrainEntryKind, BrainEntryState, TITLE_CHARS_MAX};
use weir_core::ids::Timestamp;

use crate::api::brain::export_brain_archive;
use crate::brain::{self, BrainLine, BrainQuery, NewBrainText};
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::render::visible_name;
use crate::request::CallerSpace;
use crate::request::body::{SentBody, redirect_with};
use crate::route::Route;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{
    framed_page, render_badge, render_content_badges, render_empty, render_field, render_moment,
};

mod entry;

/// The entry of the navigation.
const HERE: &str = "/brain";
/// Entries on one page.
const SHOWN_MAX: usize = 300;

/// The routes of this file.
pub(crate) fn brain_page_routes() -> Vec<Route> {
    let mut routes = vec![
        Route::get(HERE, show_brain),
        Route::post(HERE, add_entry),
        Route::get("/brain.tar.gz", export_brain),
    ];
    routes.extend(entry::entry_page_routes());
    routes
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BrainPageQuery {
    q: String,
    kind: String,
    state: String,
    note: String,
}

impl BrainPageQuery {
    fn is_forgotten(&self) -> bool {
        self.state == BrainEntryState::Forgotten.as_str()
    }

    fn to_brain_query(&self) -> BrainQuery {
        BrainQuery {
            q: self.q.clone(),
            state: self.is_forgotten().then_some(BrainEntryState::Forgotten),
            kind: BrainEntryKind::from_word(&self.kind),
        }
    }
}

/// A new entry, as its form sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NewEntryForm {
    title: String,
    text: String,
    kind: String,
    /// With commas between.
    topics: String,
    source: String,
}

/// Words with commas between.
fn split_topics(topics: &str) -> Vec<String> {
    topics.split(',').map(|topic| topic.trim().to_owned()).filter(|t| !t.is_empty()).collect()
}

async fn show_brain(
    owner: CallerSpace,
    Query(shown): Query<BrainPageQuery>,
) -> HandlerResult<Markup> {
    brain_page(&owner, &shown, &NewEntryForm::default(), None).await
}

async fn brain_page(
    owner: &CallerSpace,
    shown: &BrainPageQuery,
    typed: &NewEntryForm,
    wrong: Option<&str>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = owner;
    let mut lines = brain::find_lines(space.as_ref(), &shown.to_brain_query()).await?;
    let more = lines.len().saturating_sub(SHOWN_MAX);
    lines.truncate(SHOWN_MAX);
    let body = html! {
        div.toolbar {
            h1 { "Brain" }
            a.btn href="/brain.tar.gz" { "Export" }
        }
        p.muted {
            "Your own knowledge store beside your chats: notes, snippets, pages, files. Your agents \
             search it when you want them to, and ask before they put something here, unless you \
             let them. "
            a href="/settings?q=brain" { "Brain settings" }
        }
        @if !shown.note.is_empty() { p.notice.info role="status" { (shown.note) } }
        @if let Some(why) = wrong { p.notice.bad role="alert" { (why) } }
        (search_form(shown))
        @if lines.is_empty() {
            (render_empty("Nothing found.", "Write down below what you want to find again."))
        } @else {
            (render_entries(&lines, app.current_time()))
            @if more > 0 { p.muted { (more) " more; search to find them." } }
        }
        (new_entry_form(caller, typed))
    };
    Ok(framed_page(caller, "Brain", HERE, &body))
}

fn search_form(shown: &BrainPageQuery) -> Markup {
    html! {
        form.toolbar method="get" action=(HERE) role="search" {
            label.unseen for="q" { "A question or words" }
            input id="q" type="search" name="q" value=(shown.q) placeholder="Search";
            label.unseen for="only" { "Kind" }
            select id="only" name="kind" {
                option value="" { "All kinds" }
                @for kind in BrainEntryKind::ALL {
                    option value=(kind.as_str()) selected[kind.as_str() == shown.kind] {
                        (kind_words(kind))
                    }
                }
            }
            label {
                input type="checkbox" name="state" value=(BrainEntryState::Forgotten.as_str())
                    checked[shown.is_forgotten()];
                span { "Forgotten" }
            }
            (submit_button(ButtonLook::Plain, "Search"))
        }
    }
}

/// The address of an entry's page.
fn entry_address(line: &BrainLine) -> String {
    format!("{HERE}/{}", line.id)
}

fn kind_words(kind: BrainEntryKind) -> &'static str {
    match kind {
        BrainEntryKind::Note => "Note",
        BrainEntryKind::Snippet => "Snippet",
        BrainEntryKind::Page => "Page",
        BrainEntryKind::File => "File",
    }
}

fn render_labels(line: &BrainLine) -> Markup {
    html! {
        (render_content_badges(line.untrusted, line.private))
        @if line.state == BrainEntryState::Forgotten { (render_badge("", "forgotten")) " " }
    }
}

/// Who kept it, and where its words are from.
fn render_origin(line: &BrainLine) -> Markup {
    html! {
        @match &line.session {
            Some(session) => a href={ "/chats/" (session) } { "a chat" },
            None => "you",
        }
        @if let Some(source) = &line.source { ", " span { (visible_name(source)) } }
    }
}

fn render_entries(lines: &[BrainLine], now: Timestamp) -> Markup {
    data_table(&DataTable {
        region: None,
        caption: html! { "Entries" },
        caption_seen: false,
        columns: &[
            TableColumn::Text("Entry"),
            TableColumn::Text("Kind"),
            TableColumn::Text("From"),
            TableColumn::Text("Changed"),
        ],
        rows: html! {
            @for line in lines {
                tr {
                    th scope="row" {
                        a href=(entry_address(line)) dir="auto" { (visible_name(&line.title)) } " "
                        (render_labels(line))
                        @if !line.topics.is_empty() { span.muted { (visible_name(&line.topics.join(", "))) } }
                        p.muted dir="auto" { (visible_name(&line.excerpt)) }
                    }
                    td { (kind_words(line.kind)) }
                    td { (render_origin(line)) }
                    td { (render_moment(line.changed, now)) }
                }
            }
        },
    })
}

fn new_entry_form(caller: &Caller, typed: &NewEntryForm) -> Markup {
    html! {
        section.card aria-labelledby="add" {
            h2 id="add" { "Add an entry" }
            (post_form(caller, HERE, "", &html! {
                (render_field("title", "Title", "Without one the first line becomes the title.", &html! {
                    input id="title" name="title" maxlength=(TITLE_CHARS_MAX) autocomplete="off"
                        value=(typed.title) aria-describedby="title-hint";
                }))
                (render_field("text", "Text", "Markdown. Keys and passwords are taken out.", &html! {
                    textarea id="text" name="text" rows="8" required aria-describedby="text-hint" {
                        (typed.text)
                    }
                }))
                (render_field("kind", "Kind", "A page counts as outside content.", &html! {
                    select id="kind" name="kind" aria-describedby="kind-hint" {
                        @for kind in BrainEntryKind::ALL {
                            option value=(kind.as_str()) selected[kind.as_str() == typed.kind] {
                                (kind_words(kind))
                            }
                        }
                    }
                }))
                (render_field("topics", "Topics", "A few words to find it by, with commas between.", &html! {
                    input id="topics" name="topics" autocomplete="off" value=(typed.topics)
                        aria-describedby="topics-hint";
                }))
                (render_field("source", "Source", "The address or file that it comes from.", &html! {
                    input id="source" name="source" autocomplete="off" value=(typed.source)
                        aria-describedby="source-hint";
                }))
                (submit_button(ButtonLook::Primary, "Add"))
            }))
        }
    }
}

async fn add_entry(
    owner: CallerSpace,
    SentBody(typed): SentBody<NewEntryForm>,
) -> HandlerResult<Response> {
    let CallerSpace { app, space, .. } = &owner;
    let wish = NewBrainText {
        text: typed.text.clone(),
        title: Some(typed.title.clone()),
        kind: BrainEntryKind::from_word(&typed.kind),
        topics: split_topics(&typed.topics),
        source: Some(typed.source.clone()),
    };
    match brain::add_entry(space.as_ref(), wish, app.current_time()).await {
        Ok(line) => Ok(redirect_with(&entry_address(&line), "note", "Added.").into_response()),
        // What was typed is not lost.
        Err(problem) if problem.is_refusal() => {
            let shown = BrainPageQuery::default();
            let page = brain_page(&owner, &shown, &typed, Some(&problem.detail)).await?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
        Err(problem) => Err(problem),
    }
}

async fn export_brain(owner: CallerSpace) -> HandlerResult<Response> {
    export_brain_archive(&owner).await
}
