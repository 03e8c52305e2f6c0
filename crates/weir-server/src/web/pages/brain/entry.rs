//! One entry of the brain: what it says, where it is from, the form that changes it, and what ends it.

use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::brain::{BrainEntryState, TITLE_CHARS_MAX};

use super::{HERE, entry_address, kind_words, render_labels, render_origin, split_topics};
use crate::brain::{self, BrainLine, BrainTextChange};
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::render;
use crate::request::CallerSpace;
use crate::request::body::{SentBody, redirect_with};
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_field, render_moment};

/// The colours of code.
const ASSETS: &[&str] = &["pages/code.css"];

/// The routes of this file.
pub(super) fn entry_page_routes() -> Vec<Route> {
    vec![
        Route::get("/brain/{id}", show_entry),
        Route::post("/brain/{id}", update_entry),
        Route::post("/brain/{id}/forget", forget_entry),
        Route::post("/brain/{id}/restore", restore_entry),
        Route::post("/brain/{id}/delete", delete_entry),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EntryPageQuery {
    note: String,
}

/// A changed entry, as its form sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EntryForm {
    version: u32,
    title: String,
    text: String,
    /// With commas between.
    topics: String,
}

impl EntryForm {
    /// The form of an entry as it is.
    fn of_line(line: &BrainLine) -> EntryForm {
        EntryForm {
            version: line.version,
            title: line.title.clone(),
            text: line.text.clone().unwrap_or_default(),
            topics: line.topics.join(", "),
        }
    }
}

async fn show_entry(
    owner: CallerSpace,
    Path(id): Path<String>,
    Query(shown): Query<EntryPageQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { space, .. } = &owner;
    let line = brain::find_line(space.as_ref(), &id).await?;
    let note = (!shown.note.is_empty()).then_some(shown.note.as_str());
    let head = html! { @if let Some(note) = note { p.notice.info role="status" { (note) } } };
    Ok(entry_page(&owner, &line, &EntryForm::of_line(&line), &head))
}

fn entry_page(owner: &CallerSpace, line: &BrainLine, typed: &EntryForm, head: &Markup) -> Markup {
    let CallerSpace { app, caller, .. } = owner;
    let now = app.current_time();
    let is_active = line.state == BrainEntryState::Active;
    let body = html! {
        p { a href=(HERE) { "Brain" } }
        h1 dir="auto" { (render::visible_name(&line.title)) }
        (head)
        p.muted {
            (render_labels(line)) (kind_words(line.kind)) ", kept "
            (if line.session.is_some() { "in " } else { "by " }) (render_origin(line)) ", "
            (render_moment(line.created, now))
            @if line.changed != line.created { ", changed " (render_moment(line.changed, now)) }
            @if !line.topics.is_empty() { " · " (render::visible_name(&line.topics.join(", "))) }
        }
        @if line.untrusted {
            p.notice.warn {
                "Content from outside is in it (" (line.label) "): models are given it as data only, \
                 never as an instruction. To make it yours, add it in your own words."
            }
        }
        div.prose dir="auto" { (render::render_prose(line.text.as_deref().unwrap_or_default(), 2)) }
        @if is_active { (edit_form(caller, line, typed)) }
        div.row {
            @if is_active {
                (deed_form(caller, line, "forget", ButtonLook::Plain, "Forget"))
            } @else {
                (deed_form(caller, line, "restore", ButtonLook::Primary, "Restore"))
            }
            details {
                summary { "Delete for good" }
                p.muted { "It cannot be brought back. Forgotten entries can." }
                (deed_form(caller, line, "delete", ButtonLook::Danger, "Delete"))
            }
        }
    };
    page_with(caller, &line.title, HERE, ASSETS, &body)
}

fn deed_form(
    caller: &Caller,
    line: &BrainLine,
    deed: &str,
    look: ButtonLook,
    label: &str,
) -> Markup {
    post_form(caller, html! { (entry_address(line)) "/" (deed) }, "", &submit_button(look, label))
}

fn edit_form(caller: &Caller, line: &BrainLine, typed: &EntryForm) -> Markup {
    let is_open =
        typed.version != line.version || typed.text != line.text.clone().unwrap_or_default();
    html! {
        details open[is_open] {
            summary { "Edit" }
            (post_form(caller, entry_address(line), "", &html! {
                input type="hidden" name="version" value=(line.version);
                (render_field("title", "Title", "", &html! {
                    input id="title" name="title" required maxlength=(TITLE_CHARS_MAX)
                        autocomplete="off" value=(typed.title);
                }))
                (render_field("text", "Text", "Markdown.", &html! {
                    textarea id="text" name="text" rows="16" required aria-describedby="text-hint" {
                        (typed.text)
                    }
                }))
                (render_field("topics", "Topics", "With commas between.", &html! {
                    input id="topics" name="topics" autocomplete="off" value=(typed.topics)
                        aria-describedby="topics-hint";
                }))
                (submit_button(ButtonLook::Primary, "Save"))
            }))
        }
    }
}

async fn update_entry(
    owner: CallerSpace,
    Path(id): Path<String>,
    SentBody(typed): SentBody<EntryForm>,
) -> HandlerResult<Response> {
    let CallerSpace { app, space, .. } = &owner;
    let change = BrainTextChange {
        version: typed.version,
        title: Some(typed.title.clone()),
        text: Some(typed.text.clone()),
        topics: Some(split_topics(&typed.topics)),
    };
    match brain::update_entry(space.as_ref(), &id, change, app.current_time()).await {
        Ok(line) => Ok(redirect_with(&entry_address(&line), "note", "Saved.").into_response()),
        // What was typed is not lost: it stands in the form, beside what stands there now.
        Err(problem) if problem.is_refusal() => {
            let line = brain::find_line(space.as_ref(), &id).await?;
            let head = html! { p.notice.bad role="alert" { (problem.detail) } };
            let page = entry_page(&owner, &line, &typed, &head);
            let status = problem.status_code();
            Ok((status, page).into_response())
        }
        Err(problem) => Err(problem),
    }
}

async fn forget_entry(owner: CallerSpace, Path(id): Path<String>) -> HandlerResult<Redirect> {
    let CallerSpace { app, space, .. } = &owner;
    let state = BrainEntryState::Forgotten;
    let line = brain::settle_entry(space.as_ref(), &id, state, app.current_time()).await?;
    Ok(redirect_with(&entry_address(&line), "note", "Forgotten. It is found no more."))
}

async fn restore_entry(owner: CallerSpace, Path(id): Path<String>) -> HandlerResult<Redirect> {
    let CallerSpace { app, space, .. } = &owner;
    let state = BrainEntryState::Active;
    let line = brain::settle_entry(space.as_ref(), &id, state, app.current_time()).await?;
    Ok(redirect_with(&entry_address(&line), "note", "Restored."))
}

async fn delete_entry(owner: CallerSpace, Path(id): Path<String>) -> HandlerResult<Redirect> {
    let CallerSpace { space, .. } = &owner;
    brain::delete_entry(space.as_ref(), &id).await?;
    Ok(redirect_with(HERE, "note", "Deleted."))
}
