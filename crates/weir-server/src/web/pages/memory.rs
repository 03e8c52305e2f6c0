//! Saved facts of a person, and what waits for their word.

use axum::Form;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::Timestamp;
use weir_core::memory::{
    FACT_CHARS_MAX, MemoryAction, MemoryEdit, MemoryKeep, MemoryKind, MemoryStatus, TOLD_CHARS_MAX,
    TOLD_MAX,
};

use crate::api::memory::export_memory;
use crate::caller::Caller;
use crate::memory::{self, FactDecision, MemoryLine, MemoryQuery, NewMemoryFact};
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::request::body::{SentBody, redirect_with, redirect_with_result};
use crate::route::Route;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{
    page_with, render_content_badges, render_empty, render_field, render_moment, render_unsaved,
};

/// The entry of the navigation.
const HERE: &str = "/memory";
/// Facts on one page.
const SHOWN_MAX: usize = 300;

const ACCEPT: FactButton = FactButton { word: "accept", text: "Save", class: "btn primary" };
const ACCEPT_PRIVATE: FactButton =
    FactButton { word: "accept-private", text: "Save as private", class: "btn" };
const REJECT: FactButton = FactButton { word: "reject", text: "Reject", class: "btn" };
const FORGET: FactButton = FactButton { word: "forget", text: "Forget", class: "btn quiet" };

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
    problem: String,
    /// Words that a person wrote in place of those of a fact, and that were not saved.
    #[serde(skip)]
    unsaved: Option<UnsavedWords>,
}

#[derive(Debug)]
struct UnsavedWords {
    /// Id of the fact.
    fact: String,
    text: String,
}

fn kind_of(word: &str) -> Option<MemoryKind> {
    MemoryKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

async fn show_memory(
    owner: CallerSpace,
    Query(shown): Query<MemoryPageQuery>,
) -> HandlerResult<Markup> {
    let problem = Some(shown.problem.as_str()).filter(|why| !why.is_empty());
    memory_page(&owner, &shown, problem).await
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
    // What is kept, whatever is looked for: a fact may take the place of one of them.
    let known = match waiting.is_empty() {
        true => Vec::new(),
        false => memory::find_facts(space.as_ref(), &MemoryQuery::default()).await?,
    };
    let known: Vec<MemoryLine> = known.iter().map(MemoryLine::from).collect();
    // Settled somewhere else meanwhile, no form takes the words any more.
    let waits = |words: &&UnsavedWords| waiting.iter().any(|line| line.id == words.fact);
    let without_form = shown.unsaved.as_ref().filter(|words| !waits(words));
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
        @if let Some(words) = without_form { (render_unsaved(&words.text)) }
        @if !waiting.is_empty() { (render_inbox(caller, &WaitingFacts { waiting: &waiting, known: &known, shown }, now)) }
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
    Ok(page_with(caller, "Memory", HERE, &["pages/act.js"], &body))
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

/// A button of a fact.
struct FactButton {
    /// The deed, as addresses name it.
    word: &'static str,
    /// What stands on it.
    text: &'static str,
    class: &'static str,
}

fn decision_form(caller: &Caller, line: &MemoryLine, button: &FactButton) -> Markup {
    let FactButton { word, text, class } = *button;
    html! {
        (post_form(caller, html! { "/memory/" (line.id) "/" (word) }, "", &html! {
            input type="hidden" name="hash" value=(line.hash);
            button class=(class) type="submit" { (text) }
        }))
    }
}

/// The words of a fact, to be changed before it is kept.
fn edit_form(caller: &Caller, line: &MemoryLine, unsaved: Option<&UnsavedWords>) -> Markup {
    let id = format!("edit-{}", line.id);
    let text = unsaved.map_or(&line.text, |words| &words.text);
    html! {
        details open[unsaved.is_some()] {
            summary { "Edit before saving" }
            (post_form(caller, html! { "/memory/" (line.id) "/" (ACCEPT.word) }, "", &html! {
                input type="hidden" name="hash" value=(line.hash);
                (render_field(&id, "In your words", "One or two sentences.", &html! {
                    textarea id=(id) name="text" rows="3" required maxlength=(FACT_CHARS_MAX)
                        aria-describedby={ (id) "-hint" } { (text) }
                }))
                @if line.private && !line.untrusted {
                    label {
                        input type="checkbox" name="private" value="yes";
                        span { "Keep it private" }
                    }
                }
                (submit_button(ButtonLook::Primary, "Save in these words"))
            }))
        }
    }
}

/// What waits, and what it is shown with.
struct WaitingFacts<'a> {
    waiting: &'a [MemoryLine],
    /// What is kept.
    known: &'a [MemoryLine],
    shown: &'a MemoryPageQuery,
}

/// All of a fact that a yes is bound to.
fn render_inbox(caller: &Caller, facts: &WaitingFacts<'_>, now: Timestamp) -> Markup {
    let WaitingFacts { waiting, known, shown } = *facts;
    html! {
        // A fact that was decided about leaves its place to the next: its buttons are held back then.
        section.card aria-labelledby="inbox" data-ask {
            h2 id="inbox" { "Waiting for you" }
            div.stack {
                @for line in waiting {
                    @let unsaved = shown.unsaved.as_ref().filter(|words| words.fact == line.id);
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
                        (render_terms(line, known))
                        div.row {
                            (decision_form(caller, line, &ACCEPT))
                            @if line.private && !line.untrusted {
                                (decision_form(caller, line, &ACCEPT_PRIVATE))
                            }
                            (decision_form(caller, line, &REJECT))
                        }
                        (edit_form(caller, line, unsaved))
                    }
                }
            }
        }
    }
}

/// Where and by what a fact is found, and what it takes the place of.
fn render_terms(line: &MemoryLine, known: &[MemoryLine]) -> Markup {
    let replaced = line.supersedes.as_ref().map(|older| {
        known.iter().find(|fact| fact.id == *older).map_or(older.as_str(), |fact| &fact.text)
    });
    html! {
        p.muted {
            "Importance " (line.importance) " of 5, "
            @match &line.workspace { Some(place) => { "in " (place) } None => { "everywhere" } }
            @if !line.topics.is_empty() { ", found by: " (line.topics.join(", ")) }
        }
        @if let Some(replaced) = replaced {
            p.notice.warn { "Saved, it takes the place of: " (replaced) }
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
                    tr data-ask {
                        th scope="row" {
                            (line.text) " " (render_content_badges(line.untrusted, line.private))
                            @if !line.topics.is_empty() {
                                span.muted { " " (line.topics.join(", ")) }
                            }
                        }
                        td { (line.kind.heading()) " (" (line.importance) "/5)" }
                        td { @match &line.workspace { Some(at) => (at), None => "everywhere" } }
                        td { (render_source(line)) ", " (render_moment(line.created, now)) }
                        td { (decision_form(caller, line, &FORGET)) }
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

/// What was seen when a button was pressed, and what was written in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SeenFact {
    hash: String,
    /// Words of the person's own.
    text: Option<String>,
    /// Anything but empty: it is kept as private.
    private: String,
}

async fn settle_fact(
    owner: CallerSpace,
    Path(FactPath { id, word }): Path<FactPath>,
    Form(SeenFact { hash, text, private }): Form<SeenFact>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, space } = &owner;
    // A browser ends the lines of a form in its own way; a fact has one.
    let text = text.map(|text| text.replace("\r\n", " ").replace('\n', " "));
    let keep = |private| {
        let edit = text.clone().map(|text| MemoryEdit { text, by: caller.journal_name() });
        MemoryAction::Keep(MemoryKeep { private, edit })
    };
    let (action, note) = match word.as_str() {
        "accept" if private.is_empty() => (keep(false), "Saved."),
        "accept" | "accept-private" => (keep(true), "Saved as private."),
        "reject" => (MemoryAction::Reject, "Rejected. It will not be proposed again."),
        "forget" => (MemoryAction::Forget, "Forgotten."),
        other => {
            return Err(crate::problem::ProblemDetails::not_found(format!("the deed {other:?}")));
        }
    };
    let decision = FactDecision { action, seen: &hash };
    let done = memory::settle_fact(space.as_ref(), &id, decision, app.current_time()).await;
    match (done, text) {
        // What they wrote is given back to them, with what is wrong.
        (Err(problem), Some(text)) if problem.is_refusal() || problem.status == 404 => {
            let unsaved = Some(UnsavedWords { fact: id, text });
            let shown = MemoryPageQuery { unsaved, ..MemoryPageQuery::default() };
            let page = memory_page(&owner, &shown, Some(&problem.detail)).await?;
            Ok((problem.status_code(), page).into_response())
        }
        (done, _) => Ok(redirect_with_result(HERE, done.map(|_| note))?.into_response()),
    }
}

async fn export_facts(owner: CallerSpace) -> HandlerResult<Response> {
    export_memory(&owner).await
}
