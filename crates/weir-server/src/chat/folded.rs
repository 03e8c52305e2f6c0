//! A chat, folded as far as its journal goes: how it stands, and the newest entries of its page. What is
//! at hand does not grow with the chat. The place at which it begins is kept beside the journal, so that
//! the next look reads what came since (Q10). Not here: older entries (`part`), chats that are kept in
//! memory (`kept`).
//!
//! A chat begins at a settled place: no later fact changes an entry before one, so they can be left out,
//! and read again from one on. Which places there are is remembered: few, however long the chat is.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId};
use weir_core::session::{SNAPSHOT_FORMAT, source_number};
use weir_core::view::transcript::{SettledPlace, SettledTranscript};
use weir_engine::engine::visit_records;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::looks::{find_look, keep_look};
use weir_engine::ports::{Store, StoreError};

use super::transcript::fact_number;
use super::{ChatFold, ChatView, PageTranscript};

/// Entries of the conversation that a page shows; older ones on demand.
pub(crate) const ENTRIES_SHOWN: usize = 100;
/// The name under which the beginning of a chat is kept.
pub(super) const KIND: &str = "chat";
/// Facts by which the beginning has moved when it is kept again: to read so many again is less work than
/// to write.
const KEEP_EVERY: Seq = 200;

/// How much of a chat is at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChatBounds {
    /// Newest entries, at least.
    pub(super) entries: usize,
    /// Entries from one settled place to the next one that is noted.
    pub(super) stride: usize,
    /// Places that are remembered. Where there are more, every other one is forgotten.
    pub(super) places: usize,
}

impl ChatBounds {
    /// With these an older page folds at most some hundredth of the conversation beside itself (places
    /// are forgotten when there are 257, so 128 are left), and what is remembered are some 40 kB.
    pub(super) const USUAL: ChatBounds =
        ChatBounds { entries: ENTRIES_SHOWN, stride: ENTRIES_SHOWN / 2, places: 256 };
}

/// A settled place, and how many entries the conversation has there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChatPlace {
    pub(super) place: SettledPlace,
    pub(super) entries: usize,
}

/// What is seen of a chat at a settled place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChatStart {
    settled: SettledTranscript,
    entries: usize,
}

impl ChatStart {
    /// The last fact before it.
    pub(crate) fn last_seq(&self) -> Seq {
        self.settled.settled_place().seq
    }

    /// What is seen there.
    pub(crate) fn settled_transcript(&self) -> &SettledTranscript {
        &self.settled
    }

    /// The chat there.
    pub(crate) fn to_fold(&self, view: ChatView) -> ChatFold {
        ChatFold::at_settled_place(view, &self.settled)
    }

    fn as_place(&self) -> ChatPlace {
        ChatPlace { place: self.settled.settled_place().clone(), entries: self.entries }
    }
}

/// What is kept of a chat beside its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptChat {
    start: ChatStart,
    /// Settled places before it and itself.
    places: Vec<ChatPlace>,
    stride: usize,
}

impl KeptChat {
    /// Whether it is of this place, and no conversation in it has more entries than there were facts.
    fn is_plausible(&self, seq: Seq) -> bool {
        let starts = self.start.as_place();
        let is_plausible = |place: &ChatPlace| place.entries as Seq <= place.place.seq;
        self.start.last_seq() == seq && self.places.iter().chain([&starts]).all(is_plausible)
    }
}

/// A chat, folded as far as its journal goes.
#[derive(Debug, Clone)]
pub(crate) struct FoldedChat {
    /// How it stands.
    pub(crate) fold: ChatFold,
    /// What stands on its page, without the oldest entries.
    pub(crate) transcript: PageTranscript,
    /// The last fact that is folded.
    pub(crate) seq: Seq,
    bounds: ChatBounds,
    /// Settled places among the entries that are at hand, the first one first. At it they begin, where
    /// older ones are left out.
    starts: VecDeque<ChatStart>,
    /// Settled places of the whole chat, no two of them nearer than `stride` entries.
    places: Vec<ChatPlace>,
    stride: usize,
    /// The place of what is kept beside the journal; 0: nothing is known to be kept.
    kept: Seq,
}

impl FoldedChat {
    /// A chat of which nothing is known yet.
    pub(crate) fn new(view: ChatView) -> FoldedChat {
        FoldedChat::with_bounds(view, ChatBounds::USUAL)
    }

    pub(super) fn with_bounds(view: ChatView, bounds: ChatBounds) -> FoldedChat {
        FoldedChat {
            fold: ChatFold::new(view),
            transcript: PageTranscript::default(),
            seq: 0,
            bounds,
            starts: VecDeque::new(),
            places: Vec::new(),
            stride: bounds.stride,
            kept: 0,
        }
    }

    /// The chat of a journal, from what was folded of it on, or else from what is kept beside it; kept
    /// again where much came since.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) async fn read_journal(
        store: &dyn Store,
        view: &ChatView,
        known: Option<Arc<FoldedChat>>,
    ) -> Result<Arc<FoldedChat>, StoreError> {
        let session = &view.session;
        let mut folded = match known {
            Some(known) => known,
            None => Arc::new(FoldedChat::begin_journal(store, view).await?),
        };
        let from = folded.seq + 1;
        let read = visit_records(store, session, from, |record| {
            Arc::make_mut(&mut folded).apply_fact(&fact_of(record)?);
            Ok(ControlFlow::<()>::Continue(()))
        });
        read.await?;
        let due = |start: &&ChatStart| start.last_seq() >= folded.kept + KEEP_EVERY;
        if let Some(start) = folded.first_start().filter(due).cloned()
            && let Some(last) = store.read_records(session, start.last_seq(), 1).await?.first()
        {
            let kept = folded.to_kept(&start);
            keep_look(store, KIND, kept_format(), last, &kept).await;
            Arc::make_mut(&mut folded).kept = start.last_seq();
        }
        Ok(folded)
    }

    async fn begin_journal(store: &dyn Store, view: &ChatView) -> Result<FoldedChat, StoreError> {
        let kept = find_kept_chat(store, &view.session).await?;
        Ok(match kept {
            Some(kept) => FoldedChat::from_kept(view.clone(), kept, ChatBounds::USUAL),
            None => FoldedChat::new(view.clone()),
        })
    }

    /// The chat at the place that is kept.
    pub(super) fn from_kept(view: ChatView, kept: KeptChat, bounds: ChatBounds) -> FoldedChat {
        let KeptChat { start, places, stride } = kept;
        let fold = start.to_fold(view);
        let transcript = PageTranscript::after_entries(start.entries, fold.seen_transcript());
        let seq = start.last_seq();
        let starts = VecDeque::from([start]);
        FoldedChat { fold, transcript, seq, bounds, starts, places, stride, kept: seq }
    }

    /// What is kept of it: `start` is where it begins.
    pub(super) fn to_kept(&self, start: &ChatStart) -> KeptChat {
        let before = self.places.iter().filter(|place| place.entries <= start.entries);
        KeptChat { start: start.clone(), places: before.cloned().collect(), stride: self.stride }
    }

    /// Where the entries begin that are at hand; `None`: at the beginning of the journal.
    pub(crate) fn first_start(&self) -> Option<&ChatStart> {
        self.starts.front().filter(|start| start.entries == self.transcript.first_index())
    }

    /// Takes a fact in.
    pub(crate) fn apply_fact(&mut self, fact: &PublishedFact) {
        self.seq = fact.seq;
        self.transcript.apply_operations(self.fold.apply_fact(fact));
        let last = self.starts.back().map_or(0, |start| start.entries);
        if self.transcript.len() >= last + self.bounds.stride
            && let Some(settled) = self.fold.to_settled()
        {
            self.fold.forget_settled(&settled);
            self.note_start(ChatStart { settled, entries: self.transcript.len() });
        }
    }

    /// Notes a settled place, and leaves out the entries before the last one that has enough behind it.
    fn note_start(&mut self, start: ChatStart) {
        let wanted = self.bounds.entries;
        let len = start.entries;
        self.remember_place(start.as_place());
        self.starts.push_back(start);
        while self.starts.get(1).is_some_and(|next| next.entries + wanted <= len) {
            self.starts.pop_front();
        }
        if let Some(first) = self.starts.front().filter(|first| first.entries + wanted <= len) {
            self.transcript.forget_entries(first.entries);
        }
    }

    fn remember_place(&mut self, place: ChatPlace) {
        let last = self.places.last().map_or(0, |last| last.entries);
        if place.entries < last.saturating_add(self.stride) {
            return;
        }
        self.places.push(place);
        if self.places.len() > self.bounds.places {
            let mut is_odd = false;
            self.places.retain(|_| {
                is_odd = !is_odd;
                !is_odd
            });
            self.stride = self.stride.saturating_mul(2);
        }
    }

    /// The last settled place for which this holds, or the beginning of the journal.
    pub(super) fn last_place(&self, is_meant: impl Fn(&ChatPlace) -> bool) -> ChatPlace {
        let found = self.places.iter().rfind(|place| is_meant(place)).cloned();
        found.unwrap_or(ChatPlace { place: SettledPlace::START, entries: 0 })
    }

    /// The last settled place with at least `facts` facts between it and the one after fact `last`, or the
    /// beginning of the journal.
    pub(crate) fn place_before(&self, last: Seq, facts: Seq) -> SettledPlace {
        let has_enough = |place: &ChatPlace| place.place.seq.saturating_add(facts.max(1)) <= last;
        self.last_place(has_enough).place
    }

    /// The fact of an entry that is not at hand, by its id; `None`: it is, or it is none of a fact.
    pub(crate) fn left_out_fact(&self, id: &str) -> Option<Seq> {
        let start = self.first_start()?;
        fact_number(id).filter(|seq| *seq <= start.last_seq())
    }
}

/// A place from which a chat can be followed whose page has the facts up to `after`; `None`: from its
/// beginning. `known`: what was folded of it.
///
/// # Errors
/// The journal cannot be read.
pub(crate) async fn find_start(
    store: &dyn Store,
    session: &SessionId,
    known: Option<&FoldedChat>,
    after: Seq,
) -> Result<Option<ChatStart>, StoreError> {
    let known = known.and_then(FoldedChat::first_start).filter(|start| start.last_seq() <= after);
    if let Some(start) = known {
        return Ok(Some(start.clone()));
    }
    let kept = find_kept_chat(store, session).await?;
    Ok(kept.map(|kept| kept.start).filter(|start| start.last_seq() <= after))
}

/// What is kept of a chat beside its journal, where it fits.
async fn find_kept_chat(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<KeptChat>, StoreError> {
    let found = find_look::<KeptChat>(store, session, KIND, &kept_format()).await?;
    Ok(found.filter(|(kept, seq)| kept.is_plausible(*seq)).map(|(kept, _)| kept))
}

/// The program that a kept chat is for: all sources that decide what stands on a page and where.
pub(super) fn kept_format() -> String {
    const SOURCES: [u64; 4] = [
        source_number(include_bytes!("fold.rs")),
        source_number(include_bytes!("folded.rs")),
        source_number(include_bytes!("notes.rs")),
        source_number(include_bytes!("transcript.rs")),
    ];
    let [fold, folded, notes, transcript] = SOURCES;
    format!("{SNAPSHOT_FORMAT} {fold:016x} {folded:016x} {notes:016x} {transcript:016x}")
}
