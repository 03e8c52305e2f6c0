//! The chat page (S11): a new chat, one that exists, and what can be done in it by form. Scripts
//! send the same forms and get a short answer instead of a page.

use std::sync::Arc;

use axum::Json;
use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde::{Deserialize, Serialize};
use weir_core::session::child;
use weir_engine::ports::SessionMeta;
use weir_install::user_space::UserSpace;

use crate::api::sessions;
use crate::chat::{ChatPart, ChatView, ENTRIES_SHOWN, FoldedChat, PageTranscript};
use crate::live::{SessionKey, title};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;

mod acts;
mod again;
mod complete;
mod composer;
mod edit;
mod frame;
mod leases;
mod show;
mod start;
pub(super) mod undo;

/// Facts read at once.
const READ_BATCH: usize = 2_048;
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
        Route::post("/chats/{id}/cancel", sessions::cancel_run),
        Route::post("/chats/{id}/pause", sessions::pause_run),
        Route::post("/chats/{id}/resume", sessions::resume_run),
        Route::post("/chats/{id}/withdraw", sessions::withdraw_input),
        Route::post("/chats/{id}/decide", acts::decide_approval),
        Route::get("/chats/{id}/leases", leases::show_leases),
        Route::post("/chats/{id}/revoke", leases::revoke_lease),
        Route::post("/chats/{id}/answer", acts::answer_question),
        Route::post("/chats/{id}/configure", acts::configure_chat),
        Route::post("/chats/{id}/condense", sessions::condense_session),
    ];
    routes.extend(frame::frame_routes());
    routes
}

/// A chat with everything that stands in it.
pub(super) struct LoadedChat {
    pub(super) space: Arc<UserSpace>,
    pub(super) meta: SessionMeta,
    /// What is kept beside its journal.
    pub(super) kept: title::ChatMetadata,
    pub(super) view: ChatView,
    pub(super) folded: Arc<FoldedChat>,
}

impl LoadedChat {
    /// The name of the chat.
    pub(super) fn title(&self) -> String {
        chat_title(&self.kept, &self.meta)
    }

    /// The place of an entry by its id, wherever it stands. `look`: finds it in a part of the chat.
    async fn find_entry(
        &self,
        id: &str,
        look: fn(&PageTranscript, &str) -> Option<usize>,
    ) -> HandlerResult<Option<usize>> {
        let store = self.space.store();
        Ok(self.folded.find_entry(store.as_ref(), &self.view, id, look).await?)
    }

    /// The part of the chat that has the entries from one place to before another, where they are not
    /// at hand.
    async fn read_older(&self, from: usize, to: usize) -> HandlerResult<Option<ChatPart>> {
        if from >= self.folded.transcript.first_index() {
            return Ok(None);
        }
        let store = self.space.store();
        Ok(Some(self.folded.read_entries(store.as_ref(), &self.view, from, to).await?))
    }
}

/// What a chat is called.
pub(super) fn chat_title(kept: &title::ChatMetadata, meta: &SessionMeta) -> String {
    let title = kept.title.clone().unwrap_or_else(|| meta.title.clone());
    if title.trim().is_empty() { "New chat".into() } else { title }
}

/// The chat of a session, folded.
pub(super) async fn load_chat(chat: &CallerSession) -> HandlerResult<LoadedChat> {
    let CallerSession { owner: CallerSpace { app, caller, space }, id: session, meta } = chat;
    let store = space.store();
    let key = SessionKey::for_session(space.as_ref(), session);
    let kept = title::load_chat(app, &key).await?;
    // A sub-agent is spoken with through whoever started it.
    let acts = caller.may_write() && child::parent_of(session).is_none();
    let view =
        ChatView { session: session.clone(), csrf: caller.csrf_token().into(), acts, back: None };
    let known = app.chats.get(&key, meta.facts);
    let folded = FoldedChat::read_journal(store.as_ref(), &view, known).await?;
    app.chats.put(key, &folded);
    Ok(LoadedChat { space: space.clone(), meta: meta.clone(), kept, view, folded })
}

async fn new(owner: CallerSpace, Query(told): Query<start::StartNotes>) -> HandlerResult<Markup> {
    show::new(&owner, &told).await
}

/// The part of the conversation that is shown.
#[derive(Debug, Deserialize)]
struct ShownQuery {
    /// The place of the first entry.
    from: Option<usize>,
}

async fn show_chat(
    session: CallerSession,
    Query(query): Query<ShownQuery>,
) -> HandlerResult<Markup> {
    let chat = load_chat(&session).await?;
    let len = chat.folded.transcript.len();
    let from = query.from.unwrap_or(len.saturating_sub(ENTRIES_SHOWN)).min(len);
    let older = chat.read_older(from, len).await?;
    let shown = older.as_ref().map_or(&chat.folded.transcript, |part| &part.transcript);
    let entries = shown.render_entries(&chat.view, from, len);
    show::chat_page(&session.owner, &chat, from, &entries).await
}

/// The entries that a script wants: one of these is named.
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
    session: CallerSession,
    Query(query): Query<EntriesQuery>,
) -> HandlerResult<Response> {
    let chat = load_chat(&session).await?;
    let look: fn(&PageTranscript, &str) -> Option<usize> = match query.around {
        Some(_) => PageTranscript::nearest_entry_index,
        None => PageTranscript::entry_index,
    };
    let ((Some(id), None, None) | (None, Some(id), None) | (None, None, Some(id))) =
        (&query.before, &query.after, &query.around)
    else {
        return Err(ProblemDetails::bad_request(
            "name `before`, `after` or `around`, and one of them",
        ));
    };
    let found = chat.find_entry(id, look).await?;
    let place = found.ok_or_else(|| ProblemDetails::not_found("this entry"))?;
    let from = match (&query.before, &query.after) {
        (Some(_), _) => place.saturating_sub(ENTRIES_SHOWN),
        (_, Some(_)) => place + 1,
        _ => place.saturating_sub(ENTRIES_SHOWN / 2),
    };
    let len = chat.folded.transcript.len();
    let to = if query.before.is_some() { place } else { (from + ENTRIES_SHOWN).min(len) };
    let older = chat.read_older(from, to).await?;
    let shown = older.as_ref().map_or(&chat.folded.transcript, |part| &part.transcript);
    let html = shown.render_entries(&chat.view, from, to).into_string();
    let at = query.around.as_ref().and_then(|_| shown.id_at(place));
    let entries = EntriesPart { html, more: from, newer: len - to, at };
    Ok(Json(entries).into_response())
}
