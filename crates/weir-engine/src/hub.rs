//! Where faces listen: facts in order without gaps, signals coalesced for whoever is slow (L17).
//!
//! The loop never waits for a reader. A reader that falls behind the facts kept here reads them
//! again from the journal; its signals are joined into one text and, past a bound, dropped: the
//! fact that follows them carries the whole text anyway.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Serialize;
use tokio::sync::Notify;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::message::MessageBlock;
use weir_core::view::wire::{StreamedSignal, WireFact};

use crate::error::EngineError;
pub use crate::ports::PublishedFact;
use crate::ports::{Store, StoreError, fact_of};

/// Facts kept in memory for readers that keep up.
const FACTS_KEPT: usize = 256;
/// Bytes of results in facts that were published before the last ones. Who is behind them reads the journal.
const RESULT_BYTES_KEPT: usize = 64 << 10;
/// Bytes of signals kept for one reader.
const SIGNAL_BYTES_MAX: usize = 256 * 1024;
/// Facts read at once for a reader that fell behind: what they take is kept by the allocator (Q18, Q21).
const READ_BATCH: usize = 128;

/// What a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignalKind {
    /// The model writes: `text.delta`.
    Text,
    /// The model thinks: `thinking.delta`.
    Thinking,
    /// A tool shows progress: `call.output`.
    Output,
}

impl SignalKind {
    /// The kind of its lines, and the field that names its subject (C6).
    pub fn wire_names(self) -> (&'static str, &'static str) {
        match self {
            SignalKind::Text => ("text.delta", "turn"),
            SignalKind::Thinking => ("thinking.delta", "turn"),
            SignalKind::Output => ("call.output", "call"),
        }
    }
}

/// What a face receives.
#[derive(Debug, Clone)]
pub enum SessionUpdate {
    /// A durable fact.
    Fact(PublishedFact),
    /// Streamed text or progress; never journaled.
    Signal {
        /// Whether it is text, reasoning or progress of a call.
        kind: SignalKind,
        /// Turn or call.
        subject: String,
        /// Text that is added or shown.
        text: String,
    },
}

/// An update as programs get it: one JSON object (C6), alone or as a part of another.
#[derive(Serialize)]
#[serde(untagged)]
pub enum WireUpdate<'a> {
    /// A fact.
    Fact(WireFact<'a>),
    /// Streamed text or progress.
    Signal(StreamedSignal<'a>),
}

impl SessionUpdate {
    /// The update as programs get it. `now`: when a signal is told.
    pub fn to_wire<'a>(&'a self, session: &'a SessionId, now: Timestamp) -> WireUpdate<'a> {
        match self {
            SessionUpdate::Fact(fact) => {
                let (seq, ts, event) = (fact.seq, fact.ts, fact.event.as_ref());
                WireUpdate::Fact(WireFact { session, seq, ts, event })
            }
            SessionUpdate::Signal { kind, subject, text } => {
                let (kind, subject_field) = kind.wire_names();
                let ts = now;
                WireUpdate::Signal(StreamedSignal {
                    session,
                    ts,
                    kind,
                    subject_field,
                    subject,
                    text,
                })
            }
        }
    }

    /// The same as the text of one JSON object.
    pub fn to_wire_json(&self, session: &SessionId, now: Timestamp) -> String {
        // Strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_string(&self.to_wire(session, now)).unwrap_or_default()
    }
}

/// Whose streamed text a fact tells whole, or what is streamed anew after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamSettlement {
    /// Nobody's.
    Nothing,
    /// That of one turn or call.
    Subject(String),
    /// Whatever streamed.
    Everything,
}

/// Tells which streamed text is replaced by a fact, or begins anew after it.
pub fn streams_settled_by(event: &Event) -> StreamSettlement {
    StreamSettlement::Subject(match event {
        Event::ModelReplied(f) => f.turn.to_string(),
        Event::ModelRetried(f) => f.turn.to_string(),
        Event::ModelFailed(f) => f.turn.to_string(),
        Event::CallFinished(f) => f.call.to_string(),
        Event::CallUnknown(f) => f.call.to_string(),
        Event::ContextCondensing(f) if f.cut.is_some() => return StreamSettlement::Everything,
        // Whoever takes a session up asks its model again, and calls that only read are made again.
        Event::RunFinished(_) | Event::SessionResumed(_) => return StreamSettlement::Everything,
        _ => return StreamSettlement::Nothing,
    })
}

/// Bytes of the result that a fact holds: of all that stands in facts, what may be long and come often.
fn result_bytes(event: &Event) -> usize {
    let Event::CallFinished(finished) = event else { return 0 };
    let bytes = |block: &MessageBlock| match block {
        MessageBlock::Text { text, .. } => text.len(),
        _ => 0,
    };
    finished.result.iter().map(bytes).sum()
}

#[derive(Debug, Clone)]
struct PendingSignal {
    after: Seq,
    kind: SignalKind,
    subject: String,
    /// The byte of its subject's text with which it begins.
    at: u64,
    text: String,
}

/// What one reader has not taken yet.
#[derive(Debug, Default)]
struct PendingSignals(VecDeque<PendingSignal>);

impl PendingSignals {
    /// Whether a signal is here whose place is between the fact `seen` and the one after it.
    fn has_after(&self, seen: Seq) -> bool {
        self.0.iter().any(|signal| signal.after == seen)
    }

    /// Takes the next signal if its place is between the fact `seen` and the one after it, and the byte
    /// with which it begins. A signal comes after the facts that were published before it and before
    /// those after.
    fn take_after(&mut self, seen: Seq) -> Option<(u64, SessionUpdate)> {
        while self.0.front().is_some_and(|signal| signal.after < seen) {
            self.0.pop_front();
        }
        let PendingSignal { kind, subject, at, text, .. } =
            self.0.pop_front_if(|signal| signal.after == seen)?;
        Some((at, SessionUpdate::Signal { kind, subject, text }))
    }
}

/// A piece of streamed text, and whose it is.
#[derive(Clone, Copy)]
struct SignalText<'a> {
    kind: SignalKind,
    subject: &'a str,
    text: &'a str,
}

/// The text of a subject that no fact has told yet.
#[derive(Debug)]
struct UnsettledStream {
    kind: SignalKind,
    subject: String,
    /// Its beginning, which is all of it up to a bound.
    text: String,
    /// Bytes of all of it.
    bytes: u64,
}

#[derive(Debug, Default)]
struct HubReader {
    /// Only facts are wanted: no signal is kept for it, and none wakes it.
    facts_only: bool,
    signals: Mutex<PendingSignals>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct HubState {
    facts: VecDeque<PublishedFact>,
    /// Bytes of the results in `facts`.
    result_bytes: usize,
    published: Seq,
    readers: Vec<Weak<HubReader>>,
    /// What was streamed and no fact has told yet: whoever begins to listen now hears it first.
    untold: Vec<UnsettledStream>,
    closed: bool,
    /// Why the store refused.
    refused: Option<StoreError>,
}

/// One session's outlet.
#[derive(Debug, Default)]
pub struct UpdateHub {
    state: Mutex<HubState>,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UpdateHub {
    /// An outlet of a journal that already has `published` facts.
    pub fn new(published: Seq) -> UpdateHub {
        UpdateHub { state: Mutex::new(HubState { published, ..HubState::default() }) }
    }

    /// The newest fact that was published.
    pub(crate) fn last_published(&self) -> Seq {
        lock_mutex(&self.state).published
    }

    /// Facts that are durable now.
    pub(crate) fn publish(&self, facts: Vec<PublishedFact>) {
        let mut state = lock_mutex(&self.state);
        let new = facts.len();
        for fact in facts {
            state.forget_settled(&fact.event);
            state.published = fact.seq;
            state.result_bytes += result_bytes(&fact.event);
            state.facts.push_back(fact);
        }
        state.forget_old_facts(new);
        state.wake_readers();
    }

    /// A piece of streamed text.
    pub(crate) fn send_signal(&self, kind: SignalKind, subject: &str, text: &str) {
        let mut state = lock_mutex(&self.state);
        let after = state.published;
        let at = state.buffer_signal(kind, subject, text);
        state.readers.retain(|reader| reader.strong_count() > 0);
        let readers = state.readers.iter().filter_map(Weak::upgrade);
        for reader in readers.filter(|reader| !reader.facts_only) {
            reader.push(after, at, SignalText { kind, subject, text });
            reader.wake.notify_one();
        }
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        let mut state = lock_mutex(&self.state);
        state.closed = true;
        state.wake_readers();
    }

    /// The store refused, so the session goes down: whoever asks it something now is told why.
    pub(crate) fn note_refusal(&self, error: &StoreError) {
        lock_mutex(&self.state).refused = Some(error.clone());
    }

    /// Why whoever asks gets no answer: the store refused, or the session was stopped.
    pub(crate) fn silence_reason(&self) -> EngineError {
        match &lock_mutex(&self.state).refused {
            Some(error) => EngineError::Store(error.clone()),
            None => EngineError::Stopped,
        }
    }

    /// Whether nothing more will come.
    pub(crate) fn is_closed(&self) -> bool {
        lock_mutex(&self.state).closed
    }

    /// Listens from the fact after `after` on.
    pub fn listen(
        self: &Arc<UpdateHub>,
        session: SessionId,
        store: Arc<dyn Store>,
        after: Seq,
    ) -> UpdateSubscription {
        let reader = Arc::new(HubReader::default());
        let mut state = lock_mutex(&self.state);
        for UnsettledStream { kind, subject, text, .. } in &state.untold {
            reader.push(state.published, 0, SignalText { kind: *kind, subject, text });
        }
        state.readers.push(Arc::downgrade(&reader));
        drop(state);
        self.subscription(reader, session, store, after)
    }

    /// Listens to facts alone, from the one after `after` on: nothing that is streamed wakes it.
    pub fn listen_to_facts(
        self: &Arc<UpdateHub>,
        session: SessionId,
        store: Arc<dyn Store>,
        after: Seq,
    ) -> UpdateSubscription {
        let reader = Arc::new(HubReader { facts_only: true, ..HubReader::default() });
        lock_mutex(&self.state).readers.push(Arc::downgrade(&reader));
        self.subscription(reader, session, store, after)
    }

    fn subscription(
        self: &Arc<UpdateHub>,
        reader: Arc<HubReader>,
        session: SessionId,
        store: Arc<dyn Store>,
        after: Seq,
    ) -> UpdateSubscription {
        UpdateSubscription {
            hub: self.clone(),
            reader,
            session,
            store,
            seen: after,
            began_at: 0,
            behind: VecDeque::new(),
        }
    }
}

impl HubState {
    /// Keeps a piece of streamed text until a fact tells it; at which byte of its subject's text it
    /// begins.
    fn buffer_signal(&mut self, kind: SignalKind, subject: &str, text: &str) -> u64 {
        let length = text.len() as u64;
        let same = |one: &&mut UnsettledStream| one.kind == kind && one.subject == subject;
        match self.untold.iter_mut().find(same) {
            Some(kept) => {
                if kept.text.len() < SIGNAL_BYTES_MAX {
                    kept.text.push_str(text);
                }
                kept.bytes += length;
                kept.bytes - length
            }
            None => {
                let (subject, text) = (subject.to_owned(), text.to_owned());
                self.untold.push(UnsettledStream { kind, subject, text, bytes: length });
                0
            }
        }
    }

    /// Keeps what readers that keep up have not read yet: the newest `new` facts, and of those before
    /// them no more than the bounds.
    fn forget_old_facts(&mut self, new: usize) {
        while self.facts.len() > FACTS_KEPT
            || (self.facts.len() > new && self.result_bytes > RESULT_BYTES_KEPT)
        {
            let Some(old) = self.facts.pop_front() else { return };
            self.result_bytes = self.result_bytes.saturating_sub(result_bytes(&old.event));
        }
    }

    /// Forgets what a fact tells whole, or what is streamed anew.
    fn forget_settled(&mut self, event: &Event) {
        match streams_settled_by(event) {
            StreamSettlement::Nothing => (),
            StreamSettlement::Subject(subject) => {
                self.untold.retain(|kept| kept.subject != subject)
            }
            StreamSettlement::Everything => self.untold.clear(),
        }
    }

    fn wake_readers(&mut self) {
        self.readers.retain(|reader| reader.strong_count() > 0);
        for reader in self.readers.iter().filter_map(Weak::upgrade) {
            reader.wake.notify_one();
        }
    }
}

impl HubReader {
    /// Keeps a text that came after the fact `after` and begins at the byte `at` of its subject's.
    fn push(&self, after: Seq, at: u64, signal: SignalText<'_>) {
        let SignalText { kind, subject, text } = signal;
        let PendingSignals(signals) = &mut *lock_mutex(&self.signals);
        match signals.back_mut() {
            Some(last) if last.after == after && last.kind == kind && last.subject == subject => {
                if last.text.len() < SIGNAL_BYTES_MAX {
                    last.text.push_str(text);
                }
            }
            _ => {
                let (subject, text) = (subject.to_string(), text.to_string());
                signals.push_back(PendingSignal { after, kind, subject, at, text });
                // Old signals are told by the facts that followed them.
                while signals.len() > FACTS_KEPT {
                    signals.pop_front();
                }
            }
        }
    }
}

/// A face's place in the stream of one session.
pub struct UpdateSubscription {
    hub: Arc<UpdateHub>,
    reader: Arc<HubReader>,
    session: SessionId,
    store: Arc<dyn Store>,
    seen: Seq,
    began_at: u64,
    behind: VecDeque<PublishedFact>,
}

enum NextUpdate {
    Ready(SessionUpdate),
    Behind,
    Closed,
    Wait,
}

impl UpdateSubscription {
    /// The last fact that was given; a signal that is given comes after it and before the next.
    pub fn last_seen_seq(&self) -> Seq {
        self.seen
    }

    /// The byte of its subject's text with which the last signal that was given begins. Two who
    /// listen to one session cut its text differently, and agree on this.
    pub fn began_at(&self) -> u64 {
        self.began_at
    }

    /// The next update; `None` when the session was closed and everything was read, or what is left to be
    /// read was deleted since.
    ///
    /// # Errors
    /// The journal could not be read for a reader that fell behind.
    pub async fn next(&mut self) -> Result<Option<SessionUpdate>, StoreError> {
        loop {
            if !self.behind.is_empty() {
                // What streamed before the next fact is told before it, also where that is read again.
                if let Some(signal) = self.take_signal() {
                    return Ok(Some(signal));
                }
                if let Some(fact) = self.behind.pop_front() {
                    self.seen = fact.seq;
                    return Ok(Some(SessionUpdate::Fact(fact)));
                }
            }
            match self.next_available() {
                NextUpdate::Ready(update) => return Ok(Some(update)),
                NextUpdate::Closed => return Ok(None),
                NextUpdate::Wait => self.reader.wake.notified().await,
                NextUpdate::Behind => {
                    let from = self.seen + 1;
                    let records = self.store.read_records(&self.session, from, READ_BATCH).await?;
                    if records.is_empty() {
                        return self.missing_facts();
                    }
                    for record in &records {
                        self.behind.push_back(fact_of(record)?);
                    }
                }
            }
        }
    }

    /// Resolves when [`UpdateSubscription::next`] has something to give or to read, and takes nothing: what
    /// streams until it is taken is joined to what waits. Giving up waiting loses nothing.
    pub async fn wait_for_update(&mut self) {
        while self.behind.is_empty() && !self.has_update() {
            // What came since it was looked at has left its mark here.
            self.reader.wake.notified().await;
        }
    }

    fn has_update(&self) -> bool {
        if lock_mutex(&self.reader.signals).has_after(self.seen) {
            return true;
        }
        let state = lock_mutex(&self.hub.state);
        self.seen < state.published || state.closed
    }

    /// What was published is not there any more: asking again would never end.
    fn missing_facts(&self) -> Result<Option<SessionUpdate>, StoreError> {
        // A session is closed before it is deleted.
        if self.hub.is_closed() {
            return Ok(None);
        }
        Err(StoreError::Damaged {
            what: format!("the journal of {}", self.session),
            why: format!("fact {} was written and is missing", self.seen + 1),
        })
    }

    fn take_signal(&mut self) -> Option<SessionUpdate> {
        let (at, signal) = lock_mutex(&self.reader.signals).take_after(self.seen)?;
        self.began_at = at;
        Some(signal)
    }

    fn next_available(&mut self) -> NextUpdate {
        // A signal whose place is here is the next whatever was published since, so that readers of
        // what streams do not wait for each other.
        if let Some(signal) = self.take_signal() {
            return NextUpdate::Ready(signal);
        }
        let state = lock_mutex(&self.hub.state);
        // Looked at again: one may have come before the facts that are looked at now.
        if let Some((at, signal)) = lock_mutex(&self.reader.signals).take_after(self.seen) {
            self.began_at = at;
            return NextUpdate::Ready(signal);
        }
        if self.seen < state.published {
            let first = state.facts.front().map_or(state.published + 1, |fact| fact.seq);
            if self.seen + 1 < first {
                return NextUpdate::Behind;
            }
            let at = usize::try_from(self.seen + 1 - first).unwrap_or(usize::MAX);
            if let Some(fact) = state.facts.get(at) {
                self.seen = fact.seq;
                return NextUpdate::Ready(SessionUpdate::Fact(fact.clone()));
            }
            return NextUpdate::Behind;
        }
        if state.closed { NextUpdate::Closed } else { NextUpdate::Wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished_call(seq: u64, result: usize) -> PublishedFact {
        let text = "x".repeat(result);
        let payload = format!(
            r#"{{"call":"c{seq}","tool":"read_file","ok":true,"summary":"","confirmed":false,"bytes":1,"duration_ms":1,
                "result":[{{"type":"text","text":"{text}"}}]}}"#
        );
        let event = Event::from_payload("call.finished", &payload).expect("a fact");
        PublishedFact { seq, ts: Timestamp::default(), event: Arc::new(event) }
    }

    #[test]
    fn q5_long_results_that_were_published_before_the_last_ones_are_not_kept() {
        let hub = UpdateHub::new(0);
        let kept = || lock_mutex(&hub.state).facts.iter().map(|fact| fact.seq).collect::<Vec<_>>();
        hub.publish((1..=40).map(|seq| finished_call(seq, 10)).collect());
        assert_eq!(kept().len(), 40, "short ones stay");
        hub.publish(vec![finished_call(41, 40_000)]);
        assert_eq!(kept().len(), 41);
        hub.publish(vec![finished_call(42, 40_000)]);
        assert_eq!(kept(), [42]);
        hub.publish((43..=50).map(|seq| finished_call(seq, 40_000)).collect());
        assert_eq!(kept(), (43..=50).collect::<Vec<_>>(), "nobody was told of the new ones yet");
        hub.publish(vec![finished_call(51, 10)]);
        assert_eq!(kept(), [50, 51]);
        assert_eq!(lock_mutex(&hub.state).result_bytes, 40_010);
    }
}
