//! A session that runs here: its handle, what is known of its course, and the task that watches it.
//! It is opened when something is said or owed, and given back when it has been at rest for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_core::event::{AlertRaised, Event, RunStatus};
use weir_core::ids::{InputId, RunId, Seq, SessionId};
use weir_core::session::{Sent, Session};
use weir_engine::engine::{Ended, SessionHandle};
use weir_engine::hub::{Fact, Update, Updates};
use weir_install::user_space::UserSpace;

use super::{Key, recovery, title};
use crate::app::App;
use crate::notify::{Notice, NoticeKind, Notify as _};
use crate::problem::Answer;

/// How long a session that is at rest stays open for what is said next, in milliseconds.
pub(crate) const REST_MS: u64 = 60_000;
/// How long is waited for the run that an accepted input begins.
const RUN_WAIT: Duration = Duration::from_secs(2);
/// How long is waited for a session at rest to go down.
const REST_WAIT: Duration = Duration::from_secs(2);

/// What is known of a session's course without its journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Course {
    /// The run that is on.
    pub(crate) run: Option<RunId>,
    /// Facts so far.
    pub(crate) facts: Seq,
    queued: BTreeSet<InputId>,
    sent: BTreeMap<String, Sent>,
    /// Something was done since the session was taken up: the engine gets on with it.
    pub(crate) gets_on: bool,
}

impl Course {
    fn of(session: &Session) -> Course {
        Course {
            run: session.run(),
            facts: session.facts(),
            queued: session.queued().iter().map(|queued| queued.input).collect(),
            sent: session.all_sent().clone(),
            gets_on: false,
        }
    }

    fn hear(&mut self, fact: &Fact) {
        self.facts = fact.seq;
        match fact.event.as_ref() {
            Event::InputAccepted(f) => {
                self.queued.insert(f.input);
                if let Some(name) = &f.client_id {
                    let sent = Sent { input: f.input, seq: fact.seq, run: self.run };
                    self.sent.insert(name.clone(), sent);
                }
            }
            Event::InputWithdrawn(f) => {
                self.queued.remove(&f.input);
            }
            Event::TurnStarted(f) => self.queued.retain(|input| !f.inputs.contains(input)),
            Event::QuestionAnswered(f) => self.queued.retain(|input| Some(*input) != f.input),
            Event::RunStarted(f) => {
                self.run = Some(f.run);
                let waiting = self.sent.values_mut().filter(|sent| sent.run.is_none());
                waiting.for_each(|sent| sent.run = Some(f.run));
            }
            Event::RunFinished(_) => self.run = None,
            Event::ModelReplied(_) | Event::CallFinished(_) => self.gets_on = true,
            _ => (),
        }
        self.gets_on |= self.run.is_none();
    }

    fn is_at_rest(&self) -> bool {
        self.run.is_none() && self.queued.is_empty()
    }
}

/// A session that runs here.
pub(crate) struct Room {
    /// By which it is steered.
    pub(crate) handle: SessionHandle,
    /// Whose it is; kept as long as it runs.
    pub(crate) home: Arc<UserSpace>,
    key: Key,
    course: watch::Sender<Course>,
    /// The settings that it was opened with.
    edition: u64,
}

impl Room {
    /// A room of a session that was opened just now; `session`: as it was before.
    pub(super) fn new(
        handle: SessionHandle,
        home: Arc<UserSpace>,
        key: Key,
        session: &Session,
    ) -> Room {
        let course = watch::Sender::new(Course::of(session));
        Room { handle, home, key, course, edition: 0 }
    }

    /// The same, opened with the settings of this edition.
    pub(super) fn made_at(self, edition: u64) -> Room {
        Room { edition, ..self }
    }

    /// Settings changed since it was opened, and nothing was under way: it is down, to be opened
    /// with them. A run that is on goes on as it began.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn made_way(&self, home: &UserSpace) -> Answer<bool> {
        if !self.course.borrow().is_at_rest() || home.edition().await? == self.edition {
            return Ok(false);
        }
        self.handle.rest().await;
        Ok(tokio::time::timeout(REST_WAIT, self.handle.ended()).await.is_ok())
    }

    /// Which session.
    pub(crate) fn id(&self) -> &SessionId {
        self.handle.id()
    }

    /// What is known of its course.
    pub(crate) fn course(&self) -> watch::Receiver<Course> {
        self.course.subscribe()
    }

    /// Its updates from the fact after `seen` on.
    pub(super) fn updates(&self, seen: Seq) -> Updates {
        self.handle.updates(seen)
    }

    /// Waits for the first durable fact after `known`: each opening of a session records one.
    pub(super) async fn begun(&self, known: Seq) {
        let mut course = self.course();
        tokio::select! {
            biased;
            _ = course.wait_for(|course| course.facts > known) => (),
            _ = self.handle.ended() => (),
        }
    }

    /// What was said under this name.
    pub(super) fn sent(&self, client_id: &str) -> Option<Sent> {
        self.course.borrow().sent.get(client_id).copied()
    }

    /// The same, once the facts that are durable were heard here: an input that begins a run is told
    /// with it. `None`: the session went down first.
    pub(super) async fn settled(&self, client_id: &str) -> Option<Sent> {
        let mut course = self.course();
        let told = course
            .wait_for(|course| course.sent.get(client_id).is_some_and(|sent| sent.run.is_some()));
        let told = tokio::time::timeout(RUN_WAIT, told);
        tokio::select! {
            biased;
            _ = told => (),
            _ = self.handle.ended() => (),
        }
        self.sent(client_id)
    }

    /// It takes nothing any more. Known before whoever watches it has heard: a feed that came back
    /// to a room that tells nothing would ask it again and again.
    pub(super) fn is_over(&self) -> bool {
        self.handle.is_closed()
    }

    /// Watches until the session is down. Returns whether its engine went on to the end.
    pub(super) async fn watch(self: Arc<Room>, app: App) {
        let mut updates = self.handle.facts(self.course.borrow().facts);
        let mut quiet_since = app.now();
        let mut stopping = false;
        loop {
            let rests = self.course.borrow().is_at_rest();
            let until = quiet_since.plus_ms(app.rooms.rest_ms());
            let update = tokio::select! {
                biased;
                update = updates.next() => update,
                () = app.rooms.stop.cancelled(), if !stopping => {
                    stopping = true;
                    self.handle.stop().await;
                    continue;
                }
                () = app.clock.sleep_until(until), if rests && !stopping => {
                    self.handle.rest().await;
                    quiet_since = app.now();
                    continue;
                }
            };
            match update {
                Ok(Some(Update::Fact(fact))) => {
                    quiet_since = app.now();
                    self.course.send_modify(|course| course.hear(&fact));
                    self.told(&app, &fact);
                }
                Ok(Some(Update::Signal { .. })) => (),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(session = %self.id(), %error, "a journal cannot be followed");
                    self.handle.stop().await;
                    break;
                }
            }
        }
        app.rooms.wake(&self.key);
        let ended = self.handle.ended().await;
        app.rooms.gone(&self.key, &self);
        if ended == Ended::Crashed {
            recovery::crashed(&app, &self.key, self.home.as_ref()).await;
        }
    }

    /// Tells the person what a protection saw. The watcher does not wait for it.
    fn alert(&self, app: &App, seq: Seq, alert: &AlertRaised) {
        let notice = Notice {
            kind: NoticeKind::Alert,
            title: format!("Alert: {}", alert.alert),
            text: alert.detail.clone(),
            link: format!("/chats/{}#e{seq}", self.id()),
        };
        let (app_, person) = (app.clone(), self.home.person().clone());
        app.rooms.watchers.spawn(async move { app_.bell.notify(&person, notice).await });
    }

    fn told(&self, app: &App, fact: &Fact) {
        if let Event::AlertRaised(alert) = fact.event.as_ref() {
            self.alert(app, fact.seq, alert);
        }
        let Event::RunFinished(finished) = fact.event.as_ref() else { return };
        recovery::well(app, &self.key);
        if finished.status == RunStatus::Completed {
            title::after_run(app, &self.home, self.id());
        }
    }
}
