//! A session that runs here: its handle, what is known of its course, and the task that watches it.
//! It is opened when something is said or owed, and given back when it has been at rest for a
//! while.

use std::sync::Arc;

use weir_core::event::{AlertRaised, Event, RunStatus};
use weir_core::ids::Seq;
use weir_engine::engine::Ended;
use weir_engine::host::SessionState;
use weir_engine::hub::{PublishedFact, SessionUpdate};

use super::{ServerSession, recovery, title};
use crate::app::App;
use crate::notify::{Notice, NoticeKind, NoticeSink as _};

impl ServerSession {
    /// Watches until the session is down. Returns whether its engine went on to the end.
    pub(super) async fn watch_session(self: Arc<ServerSession>, app: App) {
        let mut updates = self.handle().listen_to_facts(self.live.read_state(|state| state.facts));
        let mut quiet_since = app.current_time();
        let mut stopping = false;
        loop {
            let rests = self.live.read_state(SessionState::is_at_rest);
            let until = quiet_since.plus_ms(app.sessions.rest_ms());
            let update = tokio::select! {
                biased;
                update = updates.next() => update,
                () = app.sessions.stop.cancelled(), if !stopping => {
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
        app.sessions.wake_feeds(&self.key);
        let ended = self.handle().wait_until_ended().await;
        app.sessions.remove_live_session(&self.key, &self);
        if ended == Ended::Crashed {
            recovery::report_crash(&app, &self.key, self.space.as_ref()).await;
        }
    }

    /// Tells the person what a protection saw. The watcher does not wait for it.
    fn notify_alert(&self, app: &App, seq: Seq, alert: &AlertRaised) {
        let notice = Notice {
            kind: NoticeKind::Alert,
            title: format!("Alert: {}", alert.alert),
            text: alert.detail.clone(),
            link: format!("/chats/{}#e{seq}", self.id()),
            offer: None,
        };
        let (app_, person) = (app.clone(), self.space.person().clone());
        app.sessions
            .watchers
            .spawn(async move { app_.notices.notify_person(&person, notice).await });
    }

    fn notify_of_fact(&self, app: &App, fact: &PublishedFact) {
        match fact.event.as_ref() {
            Event::AlertRaised(alert) => self.notify_alert(app, fact.seq, alert),
            Event::ApprovalRequested(_)
            | Event::AgentAsked(_)
            | Event::QuestionAsked(_)
            | Event::RunFinished(_) => app.notice_waker.wake_for(self.space.person()),
            _ => (),
        }
        let Event::RunFinished(finished) = fact.event.as_ref() else { return };
        recovery::clear_crashes(app, &self.key);
        if finished.status == RunStatus::Completed {
            title::after_run(app, &self.space, self.id());
        }
    }
}
