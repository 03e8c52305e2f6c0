//! A session that runs here: its handle, what is known of its course, and the task that watches it.
//! It is opened when something is said or owed, and given back when it has been at rest for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_core::event::{AlertRaised, Event, RunStatus};
use weir_core::ids::{Seq, SessionId};
use weir_engine::engine::{Ended, SessionHandle};
use weir_engine::host::{LiveSession, SessionState};
use weir_engine::hub::{PublishedFact, SessionUpdate, UpdateSubscription};
use weir_install::user_space::UserSpace;

use super::{SessionKey, recovery, title};
use crate::app::App;
use crate::notify::{Notice, NoticeKind, NoticeSink as _};
use crate::problem::HandlerResult;

/// How long a session that is at rest stays open for what is said next, in milliseconds.
pub(crate) const REST_MS: u64 = 60_000;
/// How long is waited for a session at rest to go down.
const REST_WAIT: Duration = Duration::from_secs(2);

/// A session that runs here.
pub(crate) struct ServerSession {
    /// By which it is steered, with what its facts say of it.
    pub(crate) live: Arc<LiveSession>,
    /// Whose it is; kept as long as it runs.
    pub(crate) home: Arc<UserSpace>,
    key: SessionKey,
    /// The settings that it was opened with.
    edition: u64,
}

impl ServerSession {
    /// A room of a session that was opened just now.
    pub(super) fn new(live: LiveSession, home: Arc<UserSpace>, key: SessionKey) -> ServerSession {
        ServerSession { live: Arc::new(live), home, key, edition: 0 }
    }

    /// The same, opened with the settings of this edition.
    pub(super) fn made_at(self, edition: u64) -> ServerSession {
        ServerSession { edition, ..self }
    }

    /// Settings changed since it was opened, and nothing was under way: it is down, to be opened
    /// with them. A run that is on goes on as it began.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn made_way(&self, home: &UserSpace) -> HandlerResult<bool> {
        if !self.live.read_state(SessionState::is_at_rest) || home.edition().await? == self.edition
        {
            return Ok(false);
        }
        self.handle().stop_if_idle().await;
        Ok(tokio::time::timeout(REST_WAIT, self.handle().wait_until_ended()).await.is_ok())
    }

    /// By which it is steered.
    pub(crate) fn handle(&self) -> &SessionHandle {
        self.live.handle()
    }

    /// Which session.
    pub(crate) fn id(&self) -> &SessionId {
        self.live.id()
    }

    /// What is known of its course.
    pub(crate) fn watch_state(&self) -> watch::Receiver<SessionState> {
        self.live.watch_state()
    }

    /// Its updates from the fact after `seen` on.
    pub(super) fn updates_since(&self, seen: Seq) -> UpdateSubscription {
        self.handle().listen_to_updates(seen)
    }

    /// Waits for the first durable fact after `known`: each opening of a session records one.
    pub(super) async fn wait_until_begun(&self, known: Seq) {
        let mut course = self.watch_state();
        tokio::select! {
            biased;
            _ = course.wait_for(|course| course.facts > known) => (),
            _ = self.handle().wait_until_ended() => (),
        }
    }

    /// It takes nothing any more. Known before whoever watches it has heard: a feed that came back
    /// to a room that tells nothing would ask it again and again.
    pub(super) fn is_over(&self) -> bool {
        self.live.is_over()
    }

    /// Watches until the session is down. Returns whether its engine went on to the end.
    pub(super) async fn watch_session(self: Arc<ServerSession>, app: App) {
        let mut updates = self.handle().listen_to_facts(self.live.read_state(|state| state.facts));
        let mut quiet_since = app.current_time();
        let mut stopping = false;
        loop {
            let rests = self.live.read_state(SessionState::is_at_rest);
            let until = quiet_since.plus_ms(app.rooms.rest_ms());
            let update = tokio::select! {
                biased;
                update = updates.next() => update,
                () = app.rooms.stop.cancelled(), if !stopping => {
                    stopping = true;
                    self.handle().request_stop().await;
                    continue;
                }
                () = app.clock.sleep_until(until), if rests && !stopping => {
                    self.handle().stop_if_idle().await;
                    quiet_since = app.current_time();
                    continue;
                }
            };
            match update {
                Ok(Some(SessionUpdate::Fact(fact))) => {
                    quiet_since = app.current_time();
                    self.live.hear_fact(&fact);
                    self.notify_of_fact(&app, &fact);
                }
                Ok(Some(SessionUpdate::Signal { .. })) => (),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(session = %self.id(), %error, "a journal cannot be followed");
                    self.handle().request_stop().await;
                    break;
                }
            }
        }
        app.rooms.wake_feeds(&self.key);
        let ended = self.handle().wait_until_ended().await;
        app.rooms.remove_live_session(&self.key, &self);
        if ended == Ended::Crashed {
            recovery::report_crash(&app, &self.key, self.home.as_ref()).await;
        }
    }

    /// Tells the person what a protection saw. The watcher does not wait for it.
    fn notify_alert(&self, app: &App, seq: Seq, alert: &AlertRaised) {
        let notice = Notice {
            kind: NoticeKind::Alert,
            title: format!("Alert: {}", alert.alert),
            text: alert.detail.clone(),
            link: format!("/chats/{}#e{seq}", self.id()),
        };
        let (app_, person) = (app.clone(), self.home.person().clone());
        app.rooms.watchers.spawn(async move { app_.bell.notify_person(&person, notice).await });
    }

    fn notify_of_fact(&self, app: &App, fact: &PublishedFact) {
        if let Event::AlertRaised(alert) = fact.event.as_ref() {
            self.notify_alert(app, fact.seq, alert);
        }
        let Event::RunFinished(finished) = fact.event.as_ref() else { return };
        recovery::clear_crashes(app, &self.key);
        if finished.status == RunStatus::Completed {
            title::after_run(app, &self.home, self.id());
        }
    }
}
