//! The events of a session as server-sent events (C7): `id:` is the place in the journal. And a place from
//! which on a face can show them, where there are many (Q10).

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::future::BoxFuture;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::ids::Seq;
use weir_core::session::SNAPSHOT_FORMAT;

use crate::app::App;
use crate::chat::{ChatStart, ChatView, FoldedChat};
use crate::live::{SessionFeed, SessionKey};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;
use crate::session_registry::listeners::ListenerSlot;

/// How often a stream without news says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The routes of this file.
pub(crate) fn session_event_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions/{id}/events", stream_session_events)
            .summary("The session's events from a place on, and then as they come")
            .query::<EventsQuery>()
            .gives_as::<Value>(200, "text/event-stream"),
        Route::get("/api/v1/sessions/{id}/start", get_session_start)
            .summary(
                "A place from which on a terminal can show the session, with its newest entries",
            )
            .query::<StartQuery>()
            .gives_json::<SessionStart>(200),
    ]
}

/// A place in a session at which nothing was open, and what is seen there.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SessionStart {
    /// The form of `seen`: only a program of this very form can read it.
    format: String,
    /// The last event before it; 0: the beginning, where nothing is seen.
    after: Seq,
    /// What is seen there, for programs of this form; null at the beginning and where `before` was given.
    seen: Option<Value>,
    /// The place, for programs of this form; null where `before` was not given.
    place: Option<Value>,
}

/// Which place is wanted.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StartQuery {
    /// The last event that is still to be read: a place before it, for whoever has all later ones.
    before: Option<Seq>,
    /// How many events are to stand between that place and `before`, this one included, at least.
    events: Option<Seq>,
}

async fn get_session_start(
    session: CallerSession,
    Query(query): Query<StartQuery>,
) -> HandlerResult<Json<SessionStart>> {
    let CallerSession { owner: CallerSpace { app, space, .. }, id, meta } = session;
    let known = app.chats.get(&SessionKey::for_session(space.as_ref(), &id), meta.facts);
    // No page is made of it.
    let view = ChatView { session: id, csrf: String::new(), acts: false, back: None };
    let folded = FoldedChat::read_journal(space.store().as_ref(), &view, known).await?;
    let format = SNAPSHOT_FORMAT.into();
    if let Some(before) = query.before {
        let place = folded.place_before(before, query.events.unwrap_or_default());
        // Its names are texts: it always has a form as JSON.
        let (after, place) = (place.seq, serde_json::to_value(&place).ok());
        return Ok(Json(SessionStart { format, after, seen: None, place }));
    }
    let start = folded.first_start();
    let seen = start.and_then(|start| serde_json::to_value(start.settled_transcript()).ok());
    let after = start.filter(|_| seen.is_some()).map_or(0, ChatStart::last_seq);
    Ok(Json(SessionStart { format, after, seen, place: None }))
}

/// The place from which events are sent.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Events after this place; `Last-Event-ID` wins.
    after: Option<Seq>,
    /// The last event that is wanted: the stream ends with it.
    until: Option<Seq>,
}

async fn stream_session_events(
    session: CallerSession,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> HandlerResult<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = match last {
        None => query.after.unwrap_or(0),
        Some(last) => last.trim().parse().map_err(|_| {
            ProblemDetails::bad_request(format!("Last-Event-ID {last:?} is no place in a journal"))
        })?,
    };
    let CallerSession { owner: CallerSpace { app, caller, space }, meta, .. } = session;
    let listener = app.sessions.listeners().claim_slot(&caller.person.id)?;
    let feed = app.sessions.open_feed(&app, &space, &meta, after)?;
    let watch = app.auth.watch_credential(&caller);
    let revoked = Box::pin(async move { watch.wait_until_revoked().await });
    // Whoever has the last one already is told nothing.
    let (until, over) = (query.until, query.until.is_some_and(|until| until <= after));
    let told = SessionEventStream { app, revoked, feed, _listener: listener, until, over };
    let stream = futures::stream::unfold(told, SessionEventStream::next);
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("here")))
}

struct SessionEventStream {
    app: App,
    /// Resolves when what its listener came in by no longer holds: one wait for all that is told.
    revoked: BoxFuture<'static, ()>,
    feed: SessionFeed,
    _listener: ListenerSlot,
    until: Option<Seq>,
    over: bool,
}

impl SessionEventStream {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, SessionEventStream)> {
        if self.over {
            return None;
        }
        let update = next_unless(&mut self.revoked, self.feed.next()).await?;
        let (event, over) = match update {
            Ok(None) => return None,
            Ok(Some(update)) => {
                let line = update.to_wire_json(self.feed.session(), self.app.current_time());
                let event = Event::default().data(line);
                match &update {
                    weir_engine::hub::SessionUpdate::Fact(fact) => {
                        let is_last = self.until.is_some_and(|until| fact.seq >= until);
                        (event.id(fact.seq.to_string()), is_last)
                    }
                    weir_engine::hub::SessionUpdate::Signal { .. } => (event, false),
                }
            }
            Err(problem) => {
                let json = serde_json::to_string(&problem).unwrap_or_default();
                (Event::default().event("error").data(json), true)
            }
        };
        self.over = over;
        Some((Ok(event), self))
    }
}

/// What `next` gives; `None`: `revoked` resolved. That is looked at first: whoever reads slowly always has
/// something to be told next, and must not stay in by it.
async fn next_unless<T>(
    revoked: &mut BoxFuture<'static, ()>,
    next: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = revoked => None,
        given = next => Some(given),
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn s2_whoever_is_signed_out_is_told_nothing_that_is_ready() {
        for _ in 0..50 {
            // A look at the database, which is not answered at once, and then a notice.
            let (over, heard) = tokio::sync::oneshot::channel::<()>();
            let mut revoked: BoxFuture<'static, ()> = Box::pin(async move {
                tokio::task::yield_now().await;
                let _ = heard.await;
            });
            for number in 0..3 {
                assert_eq!(next_unless(&mut revoked, ready(number)).await, Some(number));
                tokio::task::yield_now().await;
            }
            over.send(()).expect("it waits");
            assert_eq!(next_unless(&mut revoked, ready(3)).await, None);
        }
    }
}
