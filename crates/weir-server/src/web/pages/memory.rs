//! Saved facts of a person, and what waits for their word.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::Timestamp;
use weir_core::memory::{MemoryKind, MemoryStatus, TOLD_CHARS_MAX, TOLD_MAX};

use crate::api::memory::export_memory;
use crate::app::App;
use crate::caller::Caller;
use crate::memory::{self, FactSettlement, MemoryLine, MemoryQuery, NewMemoryFact};
use crate::problem::HandlerResult;
use crate::route::Route;
use crate::web::parts::{
    csrf_input, framed_page, render_badge, render_empty, render_field, render_moment,
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
    State(app): State<App>,
    caller: Caller,
    Query(shown): Query<MemoryPageQuery>,
) -> HandlerResult<Markup> {
    memory_page(&app, &caller, &shown, None).await
}

async fn memory_page(
    app: &App,
    caller: &Caller,
    shown: &MemoryPageQuery,
    wrong: Option<&str>,
) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let query = MemoryQuery { q: shown.q.clone(), status: None, kind: kind_of(&shown.kind) };
    let kept = memory::find_facts(home.as_ref(), &query).await?;
    let proposed = MemoryQuery { status: Some(MemoryStatus::Proposed), ..MemoryQuery::default() };
    let waiting = memory::find_facts(home.as_ref(), &proposed).await?;
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
            button.btn type="submit" { "Search" }
        }
    }
}

fn render_labels(line: &MemoryLine) -> Markup {
    html! {
        @if line.untrusted { (render_badge("warn", "outside content")) " " }
        @if line.private { (render_badge("info", "private")) " " }
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
        form method="post" action={ "/memory/" (id) "/" (word) } {
            (csrf_input(caller))
            button class=(class) type="submit" { (text) }
        }
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
                            (render_labels(line)) (line.kind.heading()) ", from " (render_source(line)) ", "
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
        div.table-wrap tabindex="0" {
            table {
                caption.unseen { "Saved facts" }
                thead { tr {
                    th scope="col" { "Fact" } th scope="col" { "About" } th scope="col" { "Where" }
                    th scope="col" { "From" } th scope="col" { span.unseen { "Do" } }
                } }
                tbody {
                    @for line in lines {
                        tr {
                            th scope="row" {
                                (line.text) " " (render_labels(line))
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
                }
            }
        }
    }
}

fn new_fact_form(caller: &Caller) -> Markup {
    html! {
        section.card aria-labelledby="add" {
            h2 id="add" { "Remember something" }
            form method="post" action="/memory" {
                (csrf_input(caller))
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
                button.btn.primary type="submit" { "Remember" }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
struct NewFactForm {
    text: String,
    kind: String,
    #[serde(default)]
    importance: Option<u8>,
    #[serde(default)]
    everywhere: String,
}

fn redirect_with_note(note: &str) -> Redirect {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("note", note);
    Redirect::to(&format!("{HERE}?{}", query.finish()))
}

async fn add_fact(
    State(app): State<App>,
    caller: Caller,
    Form(written): Form<NewFactForm>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let wish = NewMemoryFact {
        text: written.text,
        kind: kind_of(&written.kind).unwrap_or(MemoryKind::Project),
        topics: Vec::new(),
        importance: written.importance,
        everywhere: written.everywhere == "yes",
    };
    match memory::remember_fact(home.as_ref(), &wish, app.current_time()).await {
        Ok(_) => Ok(redirect_with_note("Saved.").into_response()),
        Err(problem) if problem.status == 400 => {
            let page =
                memory_page(&app, &caller, &MemoryPageQuery::default(), Some(&problem.detail))
                    .await?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// Nothing but the token that the guard has looked at already.
#[derive(Debug, Deserialize)]
struct MemoryActionForm {}

async fn settle_fact(
    State(app): State<App>,
    caller: Caller,
    Path((id, word)): Path<(String, String)>,
    Form(MemoryActionForm {}): Form<MemoryActionForm>,
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
    let home = app.home(&caller.person).await?;
    memory::settle_fact(home.as_ref(), &id, word, app.current_time()).await?;
    Ok(redirect_with_note(note))
}

async fn export_facts(State(app): State<App>, caller: Caller) -> HandlerResult<Response> {
    export_memory(&app, &caller).await
}
