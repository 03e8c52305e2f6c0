//! What one connection is told of one session: its events, or the changes of its chat page.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use weir_core::ids::{Seq, SessionId};
use weir_engine::hub::Update;

use super::frame::View;
use crate::app::App;
use crate::guard::Caller;
use crate::live::Feed;
use crate::problem::Answer;
use crate::web::chat::{self, Fold, Op};

/// How often streamed text changes a page at most.
const FLUSH_EVERY: Duration = Duration::from_millis(50);

/// A place in a session.
pub(super) struct Subscription {
    app: App,
    feed: Feed,
    after: Seq,
    page: Option<Page>,
}

/// A chat page as the client has it.
struct Page {
    fold: Box<Fold>,
    flush: Instant,
}

impl Subscription {
    /// Listens from the fact after `after` on.
    ///
    /// # Errors
    /// There is no such session of this person's, or it has fewer facts.
    pub(super) async fn open(
        app: &App,
        caller: &Caller,
        (session, after, view): (SessionId, Seq, View),
    ) -> Answer<Subscription> {
        let home = app.home(&caller.person).await?;
        // The place is looked at first, also where the fold begins at the beginning.
        let feed = app.rooms.feed(app, &home, &session, after).await?;
        if view == View::Events {
            return Ok(Subscription { app: app.clone(), feed, after, page: None });
        }
        let feed = app.rooms.feed(app, &home, &session, 0).await?;
        let acts = caller.may_write();
        let view = chat::View { session, csrf: caller.csrf().into(), acts, back: None };
        let page = Page { fold: Box::new(Fold::new(view)), flush: Instant::now() };
        Ok(Subscription { app: app.clone(), feed, after, page: Some(page) })
    }

    /// Which session.
    pub(super) fn session(&self) -> &SessionId {
        self.feed.session()
    }

    /// That it begins.
    pub(super) fn subscribed(&self) -> Value {
        json!({ "type": "subscribed", "session": self.session(), "after": self.after })
    }

    /// The next frame; `None`: there will be none.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) async fn next(&mut self) -> Answer<Option<String>> {
        loop {
            let Some(page) = &mut self.page else {
                let Some(update) = self.feed.next().await? else { return Ok(None) };
                let line = update.line(self.feed.session(), self.app.now());
                return Ok(Some(format!(r#"{{"type":"event","event":{line}}}"#)));
            };
            let is_dirty = page.fold.is_dirty();
            let ops = tokio::select! {
                biased;
                () = tokio::time::sleep_until(page.flush), if is_dirty => {
                    page.flush = Instant::now() + FLUSH_EVERY;
                    page.fold.flush()
                }
                update = self.feed.next() => {
                    let Some(update) = update? else { return Ok(None) };
                    let ops = page.fold.update(&update);
                    match update {
                        // The client has what came of these.
                        Update::Fact(fact) if fact.seq <= self.after => continue,
                        Update::Fact(_) | Update::Signal { .. } => ops,
                    }
                }
            };
            if !ops.is_empty() {
                return Ok(Some(self.patch(&ops)));
            }
        }
    }

    fn patch(&self, ops: &[Op]) -> String {
        let (session, seq) = (self.session(), self.feed.seen());
        json!({ "type": "patch", "session": session, "seq": seq, "ops": ops }).to_string()
    }
}
