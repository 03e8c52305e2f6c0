//! What a person tells a session reaches it wherever it runs. One place knows the three ways: it
//! runs in this process, so its handle takes it; another process or replica has it, so a letter is
//! left, and it is watched whether that counted; nobody has it, so it is taken up here, or the
//! command is written into its journal beside the loop.
//!
//! Whichever way it was, what came of it is what the session's facts say. A session that runs here
//! has them in memory ([`LiveSession`]): then no journal is read.
//!
//! Not here: who may tell whose session something, with which settings one is taken up, and what
//! follows for the face (the callers, by [`SessionAccess`]); what a command means (`weir-core`).

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::timeout;
use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;

use crate::engine::{EngineError, EngineParts};
use crate::family;
use crate::ports::{Clock, LeaseOwner, Store, StoreError};
use crate::snapshots::find_snapshot;

mod live;
mod offline;
mod per_command;
mod remote;
mod state;
mod waits;

pub use live::LiveSession;
pub use per_command::is_command_settled;
pub use remote::{LetterFate, leave_letter, take_letter_back, was_heard};
pub use state::{ApprovalState, Resolution, SessionState, SessionView};
pub use waits::{HEARD_WAIT, HOLDER_LOOK, REMOTE_WAIT, RUN_WAIT, SETTLE_WAIT, TAKE_UP_ATTEMPTS};

use remote::Delivery;

/// Whether a session's facts show what was looked for.
type IsSettled<'a> = dyn Fn(&SessionState) -> bool + Send + Sync + 'a;

/// How a caller finds and opens sessions in this process.
pub trait SessionAccess: Sync {
    /// Why a session cannot be reached.
    type Error: From<EngineError> + From<StoreError> + Send;

    /// The session, where it runs in this process. Must not open it.
    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>>;

    /// Makes sure that somebody runs the session, or says that nobody does and this caller will
    /// not. Called for the topmost session of a family only. What the session owed is owed again.
    ///
    /// # Errors
    /// There is no such session, or it cannot be opened.
    fn take_up(
        &self,
        session: &SessionId,
    ) -> impl Future<Output = Result<SessionPlace, Self::Error>> + Send;
}

/// Where a session runs.
pub enum SessionPlace {
    /// In this process.
    Here(Arc<LiveSession>),
    /// In another one, or on another replica: who has it, in words.
    Elsewhere(String),
    /// Nowhere, and the caller opens none: what it is told is written into its journal.
    Nowhere,
}

/// What the host needs of an engine; a program that only writes beside the loop has it without one.
#[derive(Clone)]
pub struct HostParts {
    /// The journals.
    pub store: Arc<dyn Store>,
    /// The clock that tells the time.
    pub clock: Arc<dyn Clock>,
    /// Owner of the lease while a session is written beside the loop.
    pub owner: LeaseOwner,
    /// On whose behalf: the name in audit lines.
    pub principal: String,
    /// Version of the program.
    pub version: String,
}

impl HostParts {
    /// Those of an engine.
    pub fn of_engine(parts: &EngineParts) -> HostParts {
        HostParts {
            store: parts.store.clone(),
            clock: parts.clock.clone(),
            owner: parts.owner.clone(),
            principal: parts.principal.clone(),
            version: parts.version.clone(),
        }
    }
}

/// A person's command, and to which session it goes.
#[derive(Debug, Clone)]
pub struct SentCommand {
    /// The session; a sub-agent is reached through the session above it.
    pub session: SessionId,
    /// The name of the sender, as journals have it.
    pub by: String,
    /// What the session is told.
    pub command: PersonCommand,
}

/// The outcome of a person's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TellOutcome<T> {
    /// The session's facts show what was looked for, by this command or by another.
    Found {
        /// What the session's facts say about the command.
        found: T,
        /// It was written into the journal of a session that nobody runs.
        at_rest: bool,
    },
    /// It was taken in, and what was looked for did not show in time.
    TakenIn,
    /// Nothing came of it: it wants nothing of this any more. Words: those of a hook, or of the
    /// session.
    Refused(String),
    /// It counts between runs only, and one is on.
    InUse,
    /// The holder of the session (named) did not act on the command in time; the letter waits.
    Waits(String),
    /// The session went down each time that it was taken up.
    Restless,
}

/// Whether a session is free for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// Nobody has it.
    Free,
    /// A run is on, or something waits in it.
    InUse,
    /// Another process (named) keeps it.
    Kept(String),
}

/// Brings commands to sessions, for one caller. Made for a request and dropped after it: the
/// sessions themselves belong to the caller.
pub struct SessionHost<A> {
    access: A,
    parts: HostParts,
}

impl<A: SessionAccess> SessionHost<A> {
    /// A host of these parts.
    pub fn new(access: A, parts: HostParts) -> SessionHost<A> {
        SessionHost { access, parts }
    }

    /// The session as it is now: from memory where it runs here, else from its journal; `None`:
    /// there is no such session.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn view_session(&self, id: &SessionId) -> Result<Option<SessionView>, StoreError> {
        if let Some(live) = self.access.find_live(id) {
            live.catch_up().await;
            return Ok(Some(SessionView::Live(live)));
        }
        let store = self.parts.store.as_ref();
        let known = match find_snapshot(store, id).await? {
            Some((session, _)) => SessionState::read_of_session(store, &session).await?,
            None => SessionState::default(),
        };
        let mut view = SessionView::of_journal(id.clone(), known);
        view.catch_up(store).await?;
        let exists = view.read_state(|state| state.facts > 0);
        Ok(exists.then_some(view))
    }

    /// The session in which it is seen what comes of a command: the one above a sub-agent, where
    /// that runs here and knows what the sub-agent asks; else the session itself.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn view_target(&self, sent: &SentCommand) -> Result<Option<SessionView>, StoreError> {
        let top = family::root_session(&sent.session);
        if let Some(live) = self.access.find_live(&top).filter(|_| top != sent.session) {
            live.catch_up().await;
            if asks_above(&live, sent) {
                return Ok(Some(SessionView::Live(live)));
            }
        }
        let Some(mut view) = self.view_session(&sent.session).await? else { return Ok(None) };
        if !view.read_state(|state| per_command::knows_target(state, &sent.command)) {
            // Somebody may have read in the journal what is on its way to memory.
            view.leave_memory();
            view.catch_up(self.parts.store.as_ref()).await?;
        }
        Ok(Some(view))
    }

    /// Tells a session something, until `settled` finds in its facts what came of it. `view`: the
    /// session as it was a moment ago; it is brought up to date, never read from the start again.
    ///
    /// # Errors
    /// The session cannot be reached, or a store refuses.
    pub async fn tell_session<T: Send>(
        &self,
        sent: &SentCommand,
        view: &mut SessionView,
        settled: impl Fn(&SessionState) -> Option<T> + Send + Sync,
    ) -> Result<TellOutcome<T>, A::Error> {
        // What was found is laid aside here: all below is compiled once, whatever is looked for (Q23).
        let seen = Mutex::new(None);
        let is_settled = |state: &SessionState| {
            let found = settled(state);
            let is_there = found.is_some();
            if is_there {
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
            is_there
        };
        let told = self.tell_until(sent, view, &is_settled).await?;
        let found = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(match told {
            TellOutcome::Found { at_rest, .. } => match found {
                Some(found) => TellOutcome::Found { found, at_rest },
                // There is no such case: it was seen.
                None => TellOutcome::TakenIn,
            },
            TellOutcome::TakenIn => TellOutcome::TakenIn,
            TellOutcome::Refused(why) => TellOutcome::Refused(why),
            TellOutcome::InUse => TellOutcome::InUse,
            TellOutcome::Waits(holder) => TellOutcome::Waits(holder),
            TellOutcome::Restless => TellOutcome::Restless,
        })
    }

    /// The same, until it is settled.
    async fn tell_until(
        &self,
        sent: &SentCommand,
        view: &mut SessionView,
        is_settled: &IsSettled<'_>,
    ) -> Result<TellOutcome<()>, A::Error> {
        let top = family::root_session(&sent.session);
        for _ in 0..TAKE_UP_ATTEMPTS {
            if view.read_state(is_settled) {
                return Ok(TellOutcome::Found { found: (), at_rest: false });
            }
            let told = match self.find_place(&top, &sent.command).await? {
                SessionPlace::Here(live) if top == sent.session || asks_above(&live, sent) => {
                    *view = SessionView::Live(live.clone());
                    self.tell_live(&live, sent, view, is_settled).await?
                }
                // A sub-agent runs with the session above it and reads its own letters.
                SessionPlace::Here(live) => {
                    let holder = format!("session {}", live.id());
                    self.tell_remote(holder, sent, view, is_settled).await?
                }
                SessionPlace::Elsewhere(holder) => {
                    self.tell_remote(holder, sent, view, is_settled).await?
                }
                SessionPlace::Nowhere => self.tell_offline(sent, view, is_settled).await?,
            };
            if let Some(told) = told {
                return Ok(told);
            }
            view.catch_up(self.parts.store.as_ref()).await?;
        }
        Ok(TellOutcome::Restless)
    }

    /// Where the session runs; one that nobody runs is taken up. Not to pause its run: what that owes would
    /// begin before it hears of it, so it is written into the journal, and the run begins nothing (R5).
    async fn find_place(
        &self,
        top: &SessionId,
        command: &PersonCommand,
    ) -> Result<SessionPlace, A::Error> {
        let rests = self.access.find_live(top).is_none();
        if rests && matches!(command, PersonCommand::Pause) {
            return Ok(SessionPlace::Nowhere);
        }
        self.access.take_up(top).await
    }

    /// To the loop in this process. `None`: the session went down meanwhile.
    async fn tell_live(
        &self,
        live: &Arc<LiveSession>,
        sent: &SentCommand,
        view: &mut SessionView,
        is_settled: &IsSettled<'_>,
    ) -> Result<Option<TellOutcome<()>>, A::Error> {
        let (otherwise, wait) =
            match live.handle().tell_session(&sent.by, sent.command.clone()).await {
                Err(EngineError::Stopped) => {
                    live.handle().wait_until_ended().await;
                    return Ok(None);
                }
                Ok(()) => (TellOutcome::TakenIn, per_command::after_taking(sent, live.id())),
                Err(EngineError::Refused(why)) => {
                    let refused = TellOutcome::Refused(why);
                    match per_command::after_refusal(&sent.command) {
                        Some(wait) => (refused, wait),
                        None => return Ok(Some(refused)),
                    }
                }
                Err(error) => return Err(error.into()),
            };
        let seen = live.wait_until(wait, |state| is_settled(state).then_some(())).await;
        let mut is_found = seen.is_some();
        if !is_found && live.is_over() {
            view.catch_up(self.parts.store.as_ref()).await?;
            is_found = view.read_state(is_settled);
        }
        Ok(Some(match is_found {
            true => TellOutcome::Found { found: (), at_rest: false },
            false => otherwise,
        }))
    }

    /// To another process. `None`: nobody has the session any more.
    async fn tell_remote(
        &self,
        holder: String,
        sent: &SentCommand,
        view: &mut SessionView,
        is_settled: &IsSettled<'_>,
    ) -> Result<Option<TellOutcome<()>>, A::Error> {
        if !per_command::goes_by_letter(&sent.command) {
            // It counts between runs only: the session is asked for, and told here.
            return Ok(match self.release_session(&sent.session, &sent.by).await? {
                Released::Free => None,
                Released::InUse => Some(TellOutcome::InUse),
                Released::Kept(_) => Some(TellOutcome::Waits(holder)),
            });
        }
        Ok(match remote::deliver_letter(&self.parts, sent, view, is_settled).await? {
            Delivery::Settled => Some(TellOutcome::Found { found: (), at_rest: false }),
            Delivery::Refused => Some(TellOutcome::Refused(format!("{holder} did not take it"))),
            Delivery::Free => None,
            Delivery::Late => Some(TellOutcome::Waits(holder)),
        })
    }

    /// Into the journal. `None`: somebody took the session first.
    async fn tell_offline(
        &self,
        sent: &SentCommand,
        view: &mut SessionView,
        is_settled: &IsSettled<'_>,
    ) -> Result<Option<TellOutcome<()>>, A::Error> {
        let otherwise = match offline::write_command(&self.parts, sent).await {
            Ok(()) => TellOutcome::TakenIn,
            Err(EngineError::Refused(why)) => TellOutcome::Refused(why),
            Err(EngineError::Store(StoreError::Held { holder, .. })) => {
                return self.tell_remote(holder, sent, view, is_settled).await;
            }
            Err(error) => return Err(error.into()),
        };
        view.catch_up(self.parts.store.as_ref()).await?;
        Ok(Some(match view.read_state(is_settled) {
            true => TellOutcome::Found { found: (), at_rest: true },
            false => otherwise,
        }))
    }

    /// Gets a session that is at rest out of everybody's hands.
    ///
    /// # Errors
    /// A store refuses.
    pub async fn release_session(&self, id: &SessionId, by: &str) -> Result<Released, StoreError> {
        let Some(mut view) = self.view_session(id).await? else { return Ok(Released::Free) };
        if view.read_state(|state| state.run.is_some()) {
            return Ok(Released::InUse);
        }
        if let SessionView::Live(live) = &view {
            live.handle().stop_if_idle().await;
            let ended = timeout(REMOTE_WAIT, live.handle().wait_until_ended()).await;
            return Ok(ended.map_or(Released::InUse, |_| Released::Free));
        }
        let Some(holder) = remote::find_holder(&self.parts, id).await? else {
            return Ok(Released::Free);
        };
        let (session, by, command) = (id.clone(), by.to_owned(), PersonCommand::Yield);
        let sent = SentCommand { session, by, command };
        let never = |_: &SessionState| false;
        Ok(match remote::deliver_letter(&self.parts, &sent, &mut view, &never).await? {
            Delivery::Free | Delivery::Settled => Released::Free,
            Delivery::Refused | Delivery::Late => Released::Kept(holder),
        })
    }
}

/// Whether a command answers what a sub-agent asks in the session above it, which then passes it on.
fn asks_above(live: &LiveSession, sent: &SentCommand) -> bool {
    let PersonCommand::Decide(answer) = &sent.command else { return false };
    live.read_state(|state| state.approvals.contains_key(&answer.approval))
}
