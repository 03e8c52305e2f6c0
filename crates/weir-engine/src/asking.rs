//! Questions of foreign servers to the person while a call runs (R3): each is a fact of the session,
//! and so is its answer. What the questions are, and what of an answer goes where, is the caller's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use weir_core::event::{Event, QuestionField};
use weir_core::ids::{CallId, SessionId};
use weir_core::input::SessionCommand;

use crate::command_channel::CommandSender;
use crate::hub::{SessionUpdate, UpdateHub};
use crate::ports::{PersonPrompter, Store};
use crate::worker_context::WorkerContext;

/// What stands in the journal in place of a secret.
const MASKED: &str = "[redacted: ";

/// The person, as one call sees them.
pub(crate) struct CallPrompter {
    call: CallId,
    session: SessionId,
    sender: CommandSender,
    hub: Arc<UpdateHub>,
    store: Arc<dyn Store>,
    /// One question after the other.
    turn: tokio::sync::Mutex<()>,
    clock: PersonWaitClock,
}

/// How long persons were waited for: that is no time of a call or a program.
#[derive(Debug, Default)]
pub(crate) struct PersonWaitClock(Mutex<WaitedSoFar>);

#[derive(Debug, Default)]
struct WaitedSoFar {
    before: Duration,
    since: Option<Instant>,
}

impl PersonWaitClock {
    /// Whether it waits from now on.
    pub(crate) fn set_waiting(&self, waits: bool) {
        let mut clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (waits, clock.since) {
            (true, None) => clock.since = Some(Instant::now()),
            (false, Some(since)) => {
                clock.before += since.elapsed();
                clock.since = None;
            }
            (true, Some(_)) | (false, None) => (),
        }
    }

    /// How long it waited until now.
    pub(crate) fn waited(&self) -> Duration {
        let clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clock.before + clock.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// While it lives, the person is being waited for.
struct PersonWaitGuard<'a>(&'a CallPrompter);

impl Drop for PersonWaitGuard<'_> {
    fn drop(&mut self) {
        self.0.clock.set_waiting(false);
    }
}

impl CallPrompter {
    /// The person, as `call` of the session of `context` sees them.
    pub(crate) fn during_call(context: &WorkerContext, call: CallId) -> CallPrompter {
        CallPrompter {
            call,
            session: context.session.clone(),
            sender: context.sender.clone(),
            hub: context.hub.clone(),
            store: context.parts.store.clone(),
            turn: tokio::sync::Mutex::default(),
            clock: PersonWaitClock::default(),
        }
    }

    /// How long the person was waited for until now.
    pub(crate) fn person_wait_time(&self) -> Duration {
        self.clock.waited()
    }

    /// The call is over: what its server still asks is asked no more.
    pub(crate) async fn withdraw_questions(&self) {
        if self.person_wait_time() > Duration::ZERO {
            // Nothing is open: then this says nothing.
            let _ = self.sender.send_command(SessionCommand::Unask { call: self.call }).await;
        }
    }
}

#[async_trait]
impl PersonPrompter for CallPrompter {
    async fn ask_person(&self, server: &str, text: &str, options: &[String]) -> Option<String> {
        self.put_question(server, text, options, None).await
    }

    async fn ask_for_field(
        &self,
        server: &str,
        text: &str,
        options: &[String],
        field: &QuestionField,
    ) -> Option<String> {
        self.put_question(server, text, options, Some(field)).await
    }
}

impl CallPrompter {
    /// Asks, and waits for the answer.
    async fn put_question(
        &self,
        server: &str,
        text: &str,
        options: &[String],
        field: Option<&QuestionField>,
    ) -> Option<String> {
        let asked = SessionCommand::Ask {
            call: self.call,
            server: server.to_owned(),
            text: text.to_owned(),
            options: options.to_vec(),
            field: field.cloned().map(Box::new),
        };
        let _turn = self.turn.lock().await;
        let (session, store) = (self.session.clone(), self.store.clone());
        let mut facts = self.hub.listen_to_facts(session, store, self.hub.last_published());
        self.clock.set_waiting(true);
        let _waiting = PersonWaitGuard(self);
        self.sender.send_command(asked).await.ok()?;
        let mut open = None;
        loop {
            let SessionUpdate::Fact(fact) = facts.next().await.ok()?? else { continue };
            match fact.event.as_ref() {
                Event::QuestionAsked(f) if f.call == self.call && f.server.is_some() => {
                    open = Some(f.question.clone());
                }
                Event::QuestionAnswered(f) if open.as_ref() == Some(&f.question) => {
                    return f.answer.clone().filter(|answer| !answer.contains(MASKED));
                }
                _ => (),
            }
        }
    }
}
