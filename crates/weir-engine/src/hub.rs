//! Where faces listen: facts in order without gaps, signals coalesced for whoever is slow (L17).
//!
//! The loop never waits for a reader. A reader that falls behind the facts kept here reads them
//! again from the journal; its signals are joined into one text and, past a bound, dropped: the
//! fact that follows them carries the whole text anyway.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};

use crate::ports::{Store, StoreError};

/// Facts kept in memory for readers that keep up.
const FACTS_KEPT: usize = 256;
/// Bytes of signals kept for one reader.
const SIGNAL_BYTES_MAX: usize = 256 * 1024;
/// Facts read at once for a reader that fell behind.
const READ_BATCH: usize = 512;

/// A fact as readers get it.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Place in the journal.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// What.
    pub event: Arc<Event>,
}

/// What a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// The model writes: `text.delta`.
    Text,
    /// The model thinks: `thinking.delta`.
    Thinking,
    /// A tool shows progress: `call.output`.
    Output,
}

/// What a face receives.
#[derive(Debug, Clone)]
pub enum Update {
    /// A durable fact.
    Fact(Fact),
    /// Streamed text or progress; never journaled.
    Signal {
        /// What it is about.
        kind: SignalKind,
        /// Turn or call.
        subject: String,
        /// The text.
        text: String,
    },
}

#[derive(Debug)]
struct Pending {
    after: Seq,
    kind: SignalKind,
    subject: String,
    text: String,
}

#[derive(Debug, Default)]
struct Reader {
    signals: Mutex<VecDeque<Pending>>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    facts: VecDeque<Fact>,
    published: Seq,
    readers: Vec<Weak<Reader>>,
    closed: bool,
}

/// One session's outlet.
#[derive(Debug, Default)]
pub struct Hub {
    state: Mutex<State>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// An outlet of a journal that already has `published` facts.
    pub fn new(published: Seq) -> Hub {
        Hub { state: Mutex::new(State { published, ..State::default() }) }
    }

    /// Facts that are durable now.
    pub(crate) fn publish(&self, facts: Vec<Fact>) {
        let mut state = lock(&self.state);
        for fact in facts {
            state.published = fact.seq;
            state.facts.push_back(fact);
        }
        while state.facts.len() > FACTS_KEPT {
            state.facts.pop_front();
        }
        state.wake();
    }

    /// A piece of streamed text.
    pub(crate) fn signal(&self, kind: SignalKind, subject: &str, text: &str) {
        let mut state = lock(&self.state);
        let after = state.published;
        state.readers.retain(|reader| reader.strong_count() > 0);
        for reader in state.readers.iter().filter_map(Weak::upgrade) {
            reader.push(after, kind, subject, text);
            reader.wake.notify_one();
        }
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.wake();
    }

    /// Listens from the fact after `after` on.
    pub fn listen(
        self: &Arc<Hub>,
        session: SessionId,
        store: Arc<dyn Store>,
        after: Seq,
    ) -> Updates {
        let reader = Arc::new(Reader::default());
        lock(&self.state).readers.push(Arc::downgrade(&reader));
        let behind = VecDeque::new();
        Updates { hub: self.clone(), reader, session, store, seen: after, behind }
    }
}

impl State {
    fn wake(&mut self) {
        self.readers.retain(|reader| reader.strong_count() > 0);
        for reader in self.readers.iter().filter_map(Weak::upgrade) {
            reader.wake.notify_one();
        }
    }
}

impl Reader {
    fn push(&self, after: Seq, kind: SignalKind, subject: &str, text: &str) {
        let mut signals = lock(&self.signals);
        match signals.back_mut() {
            Some(last) if last.after == after && last.kind == kind && last.subject == subject => {
                if last.text.len() < SIGNAL_BYTES_MAX {
                    last.text.push_str(text);
                }
            }
            _ => {
                let (subject, text) = (subject.to_string(), text.to_string());
                signals.push_back(Pending { after, kind, subject, text });
                // Old signals are told by the facts that followed them.
                while signals.len() > FACTS_KEPT {
                    signals.pop_front();
                }
            }
        }
    }
}

/// A face's place in the stream of one session.
pub struct Updates {
    hub: Arc<Hub>,
    reader: Arc<Reader>,
    session: SessionId,
    store: Arc<dyn Store>,
    seen: Seq,
    behind: VecDeque<Fact>,
}

enum Next {
    Ready(Update),
    Behind,
    Closed,
    Wait,
}

impl Updates {
    /// The next update; `None` when the session was closed and everything was read.
    ///
    /// # Errors
    /// The journal could not be read for a reader that fell behind.
    pub async fn next(&mut self) -> Result<Option<Update>, StoreError> {
        loop {
            if let Some(fact) = self.behind.pop_front() {
                self.seen = fact.seq;
                return Ok(Some(Update::Fact(fact)));
            }
            match self.look() {
                Next::Ready(update) => return Ok(Some(update)),
                Next::Closed => return Ok(None),
                Next::Wait => self.reader.wake.notified().await,
                Next::Behind => {
                    let from = self.seen + 1;
                    for record in self.store.read(&self.session, from, READ_BATCH).await? {
                        self.behind.push_back(crate::ledger::fact_of(&record)?);
                    }
                }
            }
        }
    }

    fn look(&mut self) -> Next {
        let state = lock(&self.hub.state);
        let mut signals = lock(&self.reader.signals);
        // A signal comes after the facts that were published before it and before those after.
        while signals.front().is_some_and(|s| s.after < self.seen) {
            signals.pop_front();
        }
        if signals.front().is_some_and(|s| s.after == self.seen)
            && let Some(Pending { kind, subject, text, .. }) = signals.pop_front()
        {
            return Next::Ready(Update::Signal { kind, subject, text });
        }
        if self.seen < state.published {
            let first = state.facts.front().map_or(state.published + 1, |fact| fact.seq);
            if self.seen + 1 < first {
                return Next::Behind;
            }
            let at = usize::try_from(self.seen + 1 - first).unwrap_or(usize::MAX);
            if let Some(fact) = state.facts.get(at) {
                self.seen = fact.seq;
                return Next::Ready(Update::Fact(fact.clone()));
            }
            return Next::Behind;
        }
        if state.closed { Next::Closed } else { Next::Wait }
    }
}
