//! The chat page (S11): a new chat, one that exists, and what can be done in it by form. Scripts
//! send the same forms and get a short answer instead of a page.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::Markup;
use serde::{Deserialize, Serialize};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::ledger::fact_of;
use weir_engine::ports::SessionMeta;
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::caller::Caller;
use crate::chat::{ChatView, FoldedChat};
use crate::live::{SessionKey, title};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

mod acts;
mod again;
mod complete;
mod composer;
mod edit;
mod frame;
mod show;
mod start;
pub(super) mod undo;

/// Facts read at once.
const READ_BATCH: usize = 2_048;
/// Entries of the conversation that a page shows; older ones on demand.
const ENTRIES_SHOWN: usize = 100;
/// Most bytes of what is said by form, files included.
const SAYING_BYTES_MAX: usize = (64 << 20) + (2 << 20);

/// The routes of this file.
pub(crate) fn chat_page_routes() -> Vec<Route> {
    let mut routes = vec![
        Route::get("/", new),
        Route::get("/chats/{id}", show_chat),
        Route::get("/chats/{id}/entries", get_entries),
        Route::get("/chats/{id}/source", again::get_source),
        Route::post("/chats/{id}/again", again::ask_again),
        Route::get("/chats/{id}/complete", complete::complete_in_chat),
        Route::get("/complete", complete::complete_new),
        Route::get("/chats/{id}/edit", edit::show_edit_form),
        Route::get("/chats/{id}/undo", undo::show_undo),
        Route::post("/chats/{id}/undo", undo::undo_changes),
        Route::post("/chats", acts::begin_chat).body_max(SAYING_BYTES_MAX),
        Route::post("/chats/{id}/say", acts::post_message).body_max(SAYING_BYTES_MAX),
        Route::post("/chats/{id}/fork", edit::fork_chat),
        Route::post("/chats/{id}/cancel", acts::cancel_run),
        Route::post("/chats/{id}/withdraw", acts::withdraw_input),
        Route::post("/chats/{id}/decide", acts::decide_approval),
        Route::post("/chats/{id}/answer", acts::answer_question),
        Route::post("/chats/{id}/configure", acts::configure_chat),
        Route::post("/chats/{id}/condense", acts::condense_chat),
    ];
    routes.extend(frame::frame_routes());
    routes
}

/// A chat with everything that stands in it.
pub(super) struct LoadedChat {
    pub(super) home: Arc<UserSpace>,
    pub(super) meta: SessionMeta,
    /// What is kept beside its journal.
    pub(super) kept: title::ChatMetadata,
    pub(super) view: ChatView,
    pub(super) folded: Arc<FoldedChat>,
}

impl LoadedChat {
    /// What it is called.
    pub(super) fn title(&self) -> String {
        chat_title(&self.kept, &self.meta)
    }
}

/// What a chat is called.
pub(super) fn chat_title(kept: &title::ChatMetadata, meta: &SessionMeta) -> String {
    let title = kept.title.clone().unwrap_or_else(|| meta.title.clone());
    if title.trim().is_empty() { "New chat".into() } else { title }
}

/// The chat of this name, folded.
pub(super) async fn load_chat(app: &App, caller: &Caller, id: &str) -> HandlerResult<LoadedChat> {
    let home = app.home(&caller.person).await?;
    let session = SessionId::new(id);
    let store = home.store();
    let meta = store.session_meta(&session).await?.filter(|meta| meta.facts > 0);
    let meta = meta.ok_or_else(|| ProblemDetails::not_found("this chat"))?;
    let key = SessionKey::for_session(home.as_ref(), &session);
    let kept = title::load_chat(app, &key).await?;
    // A sub-agent is spoken with through whoever started it.
    let acts = caller.may_write() && child::parent_of(&session).is_none();
    let view =
        ChatView { session: session.clone(), csrf: caller.csrf_token().into(), acts, back: None };
    let known = app.chats.get(&key, meta.facts);
    let mut folded = known.unwrap_or_else(|| Arc::new(FoldedChat::new(view.clone())));
    loop {
        let records = store.read_records(&session, folded.seq + 1, READ_BATCH).await?;
        if !records.is_empty() {
            let folded = Arc::make_mut(&mut folded);
            for record in &records {
                folded.apply_fact(&fact_of(record)?);
            }
        }
        if records.len() < READ_BATCH {
            break;
        }
    }
    app.chats.put(key, &folded);
    Ok(LoadedChat { home, meta, kept, view, folded })
}

async fn new(
    State(app): State<App>,
    caller: Caller,
    Query(told): Query<start::StartNotes>,
) -> HandlerResult<Markup> {
    show::new(&app, &caller, &told).await
}

/// Which entries are shown.
#[derive(Debug, Deserialize)]
struct ShownQuery {
    /// The place of the first entry.
    from: Option<usize>,
}

async fn show_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ShownQuery>,
) -> HandlerResult<Markup> {
    let chat = load_chat(&app, &caller, &id).await?;
    let len = chat.folded.transcript.len();
    let from = query.from.unwrap_or(len.saturating_sub(ENTRIES_SHOWN)).min(len);
    show::chat_page(&app, &caller, &chat, from).await
}

/// Which entries a script wants: one of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EntriesQuery {
    /// Those before the entry with this id.
    before: Option<String>,
    /// Those after it.
    after: Option<String>,
    /// Those on both sides of it, where a link leads to it.
    around: Option<String>,
}

/// A part of the conversation, for a page that is open.
#[derive(Debug, Serialize)]
struct EntriesPart<'a> {
    html: String,
    /// Entries before these.
    more: usize,
    /// Entries after these.
    newer: usize,
    /// The entry that a link leads to.
    at: Option<&'a str>,
}

/// Other entries than the newest, for a page that is open.
async fn get_entries(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EntriesQuery>,
) -> HandlerResult<Response> {
    let chat = load_chat(&app, &caller, &id).await?;
    let transcript = &chat.folded.transcript;
    let found = match (&query.before, &query.after, &query.around) {
        (Some(id), None, None) => {
            transcript.entry_index(id).map(|to| (to.saturating_sub(ENTRIES_SHOWN), to, None))
        }
        (None, Some(id), None) => {
            transcript.entry_index(id).map(|place| (place + 1, place + 1 + ENTRIES_SHOWN, None))
        }
        (None, None, Some(id)) => transcript.nearest_entry_index(id).map(|place| {
            let from = place.saturating_sub(ENTRIES_SHOWN / 2);
            (from, from + ENTRIES_SHOWN, transcript.id_at(place))
        }),
        _ => {
            return Err(ProblemDetails::bad_request(
                "name `before`, `after` or `around`, and one of them",
            ));
        }
    };
    let (from, to, at) = found.ok_or_else(|| ProblemDetails::not_found("this entry"))?;
    let to = to.min(transcript.len());
    let html = transcript.render_entries(&chat.view, from, to).into_string();
    let entries = EntriesPart { html, more: from, newer: transcript.len() - to, at };
    Ok(Json(entries).into_response())
}

/// Answers a form: a page again, or for a script nothing.
pub(super) fn respond_done(headers: &HeaderMap, to: &str) -> Response {
    match headers.contains_key("x-csrf-token") {
        true => StatusCode::NO_CONTENT.into_response(),
        false => Redirect::to(to).into_response(),
    }
}

/// The same where something was made that a script goes to.
pub(super) fn respond_created(headers: &HeaderMap, to: &str) -> Response {
    if !headers.contains_key("x-csrf-token") {
        return Redirect::to(to).into_response();
    }
    let mut response = StatusCode::CREATED.into_response();
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}
