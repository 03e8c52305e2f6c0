//! What one connection is told of one session: its events, or the changes of its chat page.

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep};
use weir_core::ids::{Seq, SessionId};
use weir_core::session::child;
use weir_engine::hub::SessionUpdate;

use super::frame::{self, SessionView};
use crate::app::App;
use crate::caller::Caller;
use crate::chat::{self, ChatFold, ChatStart, PageOperation};
use crate::live::{SessionFeed, SessionKey};
use crate::problem::HandlerResult;
use crate::request::CallerSpace;

/// How often streamed text changes a page at most.
const FLUSH_EVERY: Duration = Duration::from_millis(50);
/// How long after a piece of streamed text the next one goes out at the earliest: what comes meanwhile
/// is joined. A model that writes 50 tokens a second is never held up; where pieces come in a heap,
/// as they do when the server is late, they go out as one (Q19).
const JOIN_WITHIN: Duration = Duration::from_millis(10);

/// A place in a session.
pub(super) struct SessionSubscription {
    app: App,
    feed: SessionFeed,
    after: Seq,
    /// When the next update goes out at the earliest.
    next_at: Instant,
    page: Option<ChatPageState>,
}

/// A chat page as the client has it.
struct ChatPageState {
    fold: Box<ChatFold>,
    /// Over when streamed text may change the page again. It is not made anew for each piece of it (Q19).
    flush: Pin<Box<Sleep>>,
}

impl SessionSubscription {
    /// Listens from the fact after `after` on.
    ///
    /// # Errors
    /// There is no such session of this person's, or it has fewer facts.
    pub(super) async fn open(
        app: &App,
        caller: &Caller,
        session: SessionId,
        after: Seq,
        view: SessionView,
    ) -> HandlerResult<SessionSubscription> {
        let owner = CallerSpace::open_space(app, caller).await?;
        let meta = owner.find_session(&session).await?;
        // The place is looked at first, also where the fold begins before it.
        let feed = app.sessions.open_feed(app, &owner.space, &meta, after)?;
        if view == SessionView::Events {
            return Ok(SessionSubscription::of_feed(app, feed, after, None));
        }
        // As on the page that is loaded: a sub-agent is spoken with through whoever started it.
        let acts = caller.may_write() && child::parent_of(&session).is_none();
        let key = SessionKey::for_session(owner.space.as_ref(), &session);
        let (store, known) = (owner.space.store(), app.chats.get(&key, meta.facts));
        let known = known.as_deref();
        let start = chat::find_start(store.as_ref(), &session, known, after).await?;
        let folded = start.as_ref().map_or(0, ChatStart::last_seq);
        let feed = app.sessions.open_feed(app, &owner.space, &meta, folded)?;
        let view = chat::ChatView { session, csrf: caller.csrf_token().into(), acts, back: None };
        let fold = match start {
            Some(start) => start.to_fold(view),
            None => ChatFold::new(view),
        };
        let flush = Box::pin(sleep(Duration::ZERO));
        let page = ChatPageState { fold: Box::new(fold), flush };
        Ok(SessionSubscription::of_feed(app, feed, after, Some(page)))
    }

    fn of_feed(
        app: &App,
        feed: SessionFeed,
        after: Seq,
        page: Option<ChatPageState>,
    ) -> SessionSubscription {
        SessionSubscription { app: app.clone(), feed, after, next_at: Instant::now(), page }
    }

    /// The name of the session.
    pub(super) fn session(&self) -> &SessionId {
        self.feed.session()
    }

    /// That it begins.
    pub(super) fn subscribed_frame(&self) -> Value {
        json!({ "type": "subscribed", "session": self.session(), "after": self.after })
    }

    /// The next frame; `None`: there will be none.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) async fn next(&mut self) -> HandlerResult<Option<String>> {
        loop {
            let Some(page) = &mut self.page else { return self.next_event().await };
            let is_dirty = page.fold.is_dirty();
            let ops = tokio::select! {
                biased;
                () = &mut page.flush, if is_dirty => {
                    page.flush.as_mut().reset(Instant::now() + FLUSH_EVERY);
                    page.fold.flush_signals()
                }
                update = self.feed.next() => {
                    let Some(update) = update? else { return Ok(None) };
                    let ops = page.fold.apply_update(&update);
                    match update {
                        // The client has what came of these.
                        SessionUpdate::Fact(fact) if fact.seq <= self.after => continue,
                        SessionUpdate::Fact(_) | SessionUpdate::Signal { .. } => ops,
                    }
                }
            };
            if !ops.is_empty() {
                return Ok(Some(self.patch_frame(&ops)));
            }
        }
    }

    async fn next_event(&mut self) -> HandlerResult<Option<String>> {
        self.wait_for_turn().await;
        let Some(update) = self.feed.next().await? else { return Ok(None) };
        if matches!(update, SessionUpdate::Signal { .. }) {
            self.next_at = Instant::now() + JOIN_WITHIN;
        }
        let now = self.app.current_time();
        Ok(Some(frame::event_frame(update.to_wire(self.feed.session(), now))))
    }

    /// Waits until the next update may go out. A model that writes 50 tokens a second has written nothing more by
    /// then: its next token is waited for first, so that no timer is made and wakes nobody after each of
    /// them (Q19).
    async fn wait_for_turn(&mut self) {
        if Instant::now() >= self.next_at {
            return;
        }
        self.feed.wait_for_update().await;
        if Instant::now() < self.next_at {
            tokio::time::sleep_until(self.next_at).await;
        }
    }

    fn patch_frame(&self, ops: &[PageOperation]) -> String {
        let (session, seq) = (self.session(), self.feed.last_given_seq());
        json!({ "type": "patch", "session": session, "seq": seq, "ops": ops }).to_string()
    }
}
