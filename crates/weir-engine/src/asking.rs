//! Questions of foreign servers to the person while a call runs (R3): each is a fact of the session,
//! and so is its answer. What the questions are, and what of an answer goes where, is the caller's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use weir_core::event::Event;
use weir_core::ids::{CallId, SessionId};
use weir_core::input::Command;

use crate::command_channel::CommandSender;
use crate::hub::{Hub, Update};
use crate::ports::{Person, Store};
use crate::worker_context::WorkerContext;

/// What stands in the journal in place of a secret.
const MASKED: &str = "[redacted: ";

/// The person, as one call sees them.
pub(crate) struct Asking {
    call: CallId,
    session: SessionId,
    sender: CommandSender,
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    /// One question after the other.
    turn: tokio::sync::Mutex<()>,
    waited: Mutex<Waited>,
}

/// How long the person was waited for.
#[derive(Default)]
struct Waited {
    before: Duration,
    since: Option<Instant>,
}

/// While it lives, the person is being waited for.
struct Waiting<'a>(&'a Asking);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waited = self.0.waited();
        if let Some(since) = waited.since.take() {
            waited.before += since.elapsed();
        }
    }
}

impl Asking {
    /// The person, as `call` of the session of `context` sees them.
    pub(crate) fn during_call(context: &WorkerContext, call: CallId) -> Asking {
        Asking {
            call,
            session: context.session.clone(),
            sender: context.sender.clone(),
            hub: context.hub.clone(),
            store: context.parts.store.clone(),
            turn: tokio::sync::Mutex::default(),
            waited: Mutex::default(),
        }
    }

    fn waited(&self) -> MutexGuard<'_, Waited> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the person was waited for until now.
    pub(crate) fn time(&self) -> Duration {
        let waited = self.waited();
        waited.before + waited.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// The call is over: what its server still asks is asked no more.
    pub(crate) async fn over(&self) {
        if self.time() > Duration::ZERO {
            // Nothing is open: then this says nothing.
            let _ = self.sender.send_command(Command::Unask { call: self.call }).await;
        }
    }
}

#[async_trait]
impl Person for Asking {
    async fn ask(&self, server: &str, text: &str, options: &[String]) -> Option<String> {
        let _turn = self.turn.lock().await;
        let (session, store) = (self.session.clone(), self.store.clone());
        let mut facts = self.hub.listen_to_facts(session, store, self.hub.published());
        self.waited().since = Some(Instant::now());
        let _waiting = Waiting(self);
        let (server, text, options) = (server.to_owned(), text.to_owned(), options.to_vec());
        let asked = Command::Ask { call: self.call, server, text, options };
        self.sender.send_command(asked).await.ok()?;
        let mut open = None;
        loop {
            let Update::Fact(fact) = facts.next().await.ok()?? else { continue };
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
