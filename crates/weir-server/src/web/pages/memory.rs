//! Saved facts of a person, and what waits for their word.

use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::Timestamp;
use weir_core::memory::{MemoryKind, MemoryStatus, TOLD_CHARS_MAX, TOLD_MAX};

use crate::api::memory::export_memory;
use crate::caller::Caller;
use crate::memory::{self, FactSettlement, MemoryLine, MemoryQuery, NewMemoryFact};
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::request::body::{SentBody, redirect_with};
use crate::route::Route;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{
    framed_page, render_content_badges, render_empty, render_field, render_moment,
};

/// The entry of the navigation.
const HERE: &str = "/memory";
/// Facts on one page.
const SHOWN_MAX: usize = 300;

/// The routes of this file.
pub(crate) fn memory_page_routes() -> Vec<Route> {
    vec![
        Route::get("/memory", show_memory),
        Route::post("/memory", add_fact),
        Route::get("/memory.md", export_facts),
        Route::post("/memory/{id}/{word}", settle_fact),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MemoryPageQuery {
    q: String,
    kind: String,
    note: String,
}

fn kind_of(word: &str) -> Option<MemoryKind> {
    MemoryKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

async fn show_memory(
    owner: CallerSpace,
    Query(shown): Query<MemoryPageQuery>,
) -> HandlerResult<Markup> {
    memory_page(&owner, &shown, None).await
}

async fn memory_page(
    owner: &CallerSpace,
    shown: &MemoryPageQuery,
    wrong: Option<&str>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = owner;
    let query = MemoryQuery { q: shown.q.clone(), status: None, kind: kind_of(&shown.kind) };
    let kept = memory::find_facts(space.as_ref(), &query).await?;
    let proposed = MemoryQuery { status: Some(MemoryStatus::Proposed), ..MemoryQuery::default() };
    let waiting = memory::find_facts(space.as_ref(), &proposed).await?;
    let waiting: Vec<MemoryLine> = waiting.iter().map(MemoryLine::from).collect();
    let more = kept.len().saturating_sub(SHOWN_MAX);
    let lines: Vec<MemoryLine> = kept.iter().take(SHOWN_MAX).map(MemoryLine::from).collect();
    let now = app.current_time();
    let body = html! {
        div.toolbar {
            h1 { "Memory" }
            a.btn href="/memory.md" { "Export" }
        }
        p.muted {
            "What your agents remember of you beyond one chat. With each message they are told what \
             fits it: at most " (TOLD_MAX) " facts and " (TOLD_CHARS_MAX) " characters. "
            a href="/settings?q=memory" { "Memory settings" }
        }
        @if !shown.note.is_empty() { p.notice.info role="status" { (shown.note) } }
        @if let Some(why) = wrong { p.notice.bad role="alert" { (why) } }
        @if !waiting.is_empty() { (render_inbox(caller, &waiting, now)) }
        (search_form(shown))
        @if lines.is_empty() {
            (render_empty("Nothing found.", "Write down a fact below, or let your agents \
                propose some."))
        } @else {
            (render_facts(caller, &lines, now))
            @if more > 0 { p.muted { (more) " more; search to find them." } }
        }
        (new_fact_form(caller))
    };
    Ok(framed_page(caller, "Memory", HERE, &body))
}

fn search_form(shown: &MemoryPageQuery) -> Markup {
    html! {
        form.toolbar method="get" action="/memory" role="search" {
            label.unseen for="q" { "Words" }
            input id="q" type="search" name="q" value=(shown.q) placeholder="Search";
            label.unseen for="only" { "Kind" }
            select id="only" name="kind" {
                option value="" { "All kinds" }
                @for kind in MemoryKind::ALL {
                    option value=(kind.as_str()) selected[kind.as_str() == shown.kind] {
                        (kind.heading())
                    }
                }
            }
            (submit_button(ButtonLook::Plain, "Search"))
        }
    }
}

fn render_source(line: &MemoryLine) -> Markup {
    html! {
        @match &line.session {
            Some(session) => a href={ "/chats/" (session) } { "a chat" },
            None => (line.by),
        }
    }
}

fn decision_form(caller: &Caller, id: &str, word: &str, text: &str, class: &str) -> Markup {
    html! {
        (post_form(caller, html! { "/memory/" (id) "/" (word) }, "", &html! {
            button class=(class) type="submit" { (text) }
        }))
    }
}

fn render_inbox(caller: &Caller, waiting: &[MemoryLine], now: Timestamp) -> Markup {
    html! {
        section.card aria-labelledby="inbox" {
            h2 id="inbox" { "Waiting for you" }
            div.stack {
                @for line in waiting {
                    div {
                        p { (line.text) }
                        p.muted {
                            (render_content_badges(line.untrusted, line.private))
                            (line.kind.heading()) ", from " (render_source(line)) ", "
                            (render_moment(line.created, now))
                            @if line.untrusted {
                                ". It is told to models as data only, never as an instruction: "
                                (line.label)
                            } @else if line.private {
                                ". It was written down beside private data (" (line.label) "). Kept, \
                                 it is yours and told as such; kept private, chats that are told of \
                                 it hold private data."
                            }
                        }
                        div.row {
                            (decision_form(caller, &line.id, "accept", "Save", "btn primary"))
                            @if line.private && !line.untrusted {
                                (decision_form(caller, &line.id, "accept-private", "Save as private", "btn"))
                            }
                            (decision_form(caller, &line.id, "reject", "Reject", "btn"))
                        }
                    }
                }
            }
        }
    }
}

fn render_facts(caller: &Caller, lines: &[MemoryLine], now: Timestamp) -> Markup {
    html! {
        (data_table(&DataTable {
            region: None,
            caption: html! { "Saved facts" },
            caption_seen: false,
            columns: &[
                TableColumn::Text("Fact"), TableColumn::Text("About"),
                TableColumn::Text("Where"), TableColumn::Text("From"), TableColumn::Unseen("Do"),
            ],
            rows: html! {
                @for line in lines {
                    tr {
                        th scope="row" {
                            (line.text) " " (render_content_badges(line.untrusted, line.private))
                            @if !line.topics.is_empty() {
                                span.muted { " " (line.topics.join(", ")) }
                            }
                        }
                        td { (line.kind.heading()) " (" (line.importance) "/5)" }
                        td { @match &line.workspace { Some(at) => (at), None => "everywhere" } }
                        td { (render_source(line)) ", " (render_moment(line.created, now)) }
                        td { (decision_form(caller, &line.id, "forget", "Forget", "btn quiet")) }
                    }
                }
            },
        }))
    }
}

fn new_fact_form(caller: &Caller) -> Markup {
    html! {
        section.card aria-labelledby="add" {
            h2 id="add" { "Remember something" }
            (post_form(caller, "/memory", "", &html! {
                (render_field("text", "Fact", "One or two sentences in your own words.", &html! {
                    input id="text" name="text" required maxlength="500" autocomplete="off"
                        aria-describedby="text-hint";
                }))
                div.row {
                    (render_field("kind", "About", "", &html! {
                        select id="kind" name="kind" {
                            @for kind in MemoryKind::ALL {
                                option value=(kind.as_str()) { (kind.heading()) }
                            }
                        }
                    }))
                    (render_field("importance", "Importance", "", &html! {
                        select id="importance" name="importance" {
                            @for n in 1..=5 { option value=(n) selected[n == 3] { (n) " of 5" } }
                        }
                    }))
                    label {
                        input type="checkbox" name="everywhere" value="yes";
                        span { "In all folders" }
                    }
                }
                (submit_button(ButtonLook::Primary, "Remember"))
            }))
        }
    }
}

async fn add_fact(
    owner: CallerSpace,
    SentBody(wish): SentBody<NewMemoryFact>,
) -> HandlerResult<Response> {
    let CallerSpace { app, space, .. } = &owner;
    match memory::remember_fact(space.as_ref(), &wish, app.current_time()).await {
        Ok(_) => Ok(redirect_with(HERE, "note", "Saved.").into_response()),
        Err(problem) if problem.status == 400 => {
            let page =
                memory_page(&owner, &MemoryPageQuery::default(), Some(&problem.detail)).await?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// A fact and what is done with it, as addresses name them.
#[derive(Debug, Deserialize)]
struct FactPath {
    id: String,
    word: String,
}

async fn settle_fact(
    CallerSpace { app, space, .. }: CallerSpace,
    Path(FactPath { id, word }): Path<FactPath>,
) -> HandlerResult<Redirect> {
    let settled = FactSettlement::Settled;
    let (word, note) = match word.as_str() {
        "accept" => (settled(MemoryStatus::Kept), "Saved."),
        "accept-private" => (FactSettlement::KeptPrivate, "Saved as private."),
        "reject" => (settled(MemoryStatus::Rejected), "Rejected. It will not be proposed again."),
        "forget" => (settled(MemoryStatus::Forgotten), "Forgotten."),
        other => {
            return Err(crate::problem::ProblemDetails::not_found(format!("the deed {other:?}")));
        }
    };
    memory::settle_fact(space.as_ref(), &id, word, app.current_time()).await?;
    Ok(redirect_with(HERE, "note", note))
}

async fn export_facts(owner: CallerSpace) -> HandlerResult<Response> {
    export_memory(&owner).await
}
