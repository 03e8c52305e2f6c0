//! Where a long session begins in a terminal: at a settled place with enough behind it. It is kept beside the
//! journal, so that what is seen first waits only for the facts since (Q10). Kept with it are places before it,
//! from which older parts are read on. Not here: reading those (`earlier`).
//!
//! As with everything that is kept so, nothing depends on it: where none fits, all facts are told in their
//! order.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId};
use weir_core::session::{SNAPSHOT_FORMAT, source_number};
use weir_core::view::transcript::{
    PlacedFact, SettledPlace, SettledTranscript, Transcript, TranscriptChange,
};
use weir_engine::folded::FoldedSession;
use weir_engine::host::SessionState;
use weir_engine::hub::PublishedFact;
use weir_engine::looks::{find_look, keep_look};
use weir_engine::ports::{Store, StoreError};

/// The name under which the place is kept.
const KIND: &str = "terminal";
/// Facts of a session from which on a place is worth keeping: fewer are read in a moment.
pub(super) const FACTS_MIN: Seq = if cfg!(test) { 100 } else { 1_000 };
/// Entries of the conversation behind the place, at least: twice what a terminal prints of a session that is
/// taken up again.
const ENTRIES_BEHIND: usize = if cfg!(test) { 40 } else { 400 };
/// Entries from one settled place to the next one that is noted.
const STRIDE: usize = if cfg!(test) { 10 } else { 100 };
/// Facts by which the place has moved when it is kept again: to read so many is less work than to write.
const KEEP_EVERY: Seq = if cfg!(test) { 50 } else { 500 };
/// Facts from one place for older parts to the next, at least.
const PART_FACTS: Seq = if cfg!(test) { 50 } else { 400 };
/// Where that is more, this share of all facts before it: so the places stay few, however long the session is
/// (some 500 of a million facts), and a part is no more than a hundredth of what stands before it.
const PART_SHARE: Seq = 128;

/// How a session begins that is read from a settled place on.
pub(super) struct SettledStart {
    /// What is seen at that place.
    pub(super) seen: SettledTranscript,
    /// Places before it from which older parts are read on, the first one first.
    pub(super) places: Vec<SettledPlace>,
    /// What is known of the session at its end, or a little before.
    pub(super) state: SessionState,
}

/// What is kept of a session beside its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptStart {
    seen: SettledTranscript,
    /// As in [`SettledStart`].
    places: Vec<SettledPlace>,
}

/// The place from which a session of so many facts is told; `None`: from its first fact.
///
/// # Errors
/// The journal cannot be read.
pub(super) async fn find_start(
    store: &dyn Store,
    id: &SessionId,
    facts: Seq,
) -> Result<Option<SettledStart>, StoreError> {
    if facts < FACTS_MIN {
        return Ok(None);
    }
    let found = find_look::<KeptStart>(store, id, KIND, &kept_format()).await?;
    let fits =
        |(kept, seq): &(KeptStart, Seq)| kept.seen.settled_place().seq == *seq && *seq < facts;
    let Some((KeptStart { seen, places }, _)) = found.filter(fits) else { return Ok(None) };
    // A journal that cannot be folded is told as far as it can be read, and then why not further.
    let folded = FoldedSession::load(store, id).await.ok().flatten();
    Ok(folded.map(|folded| SettledStart { seen, places, state: folded.state }))
}

/// Keeps the place. That it cannot be kept concerns nobody.
pub(super) async fn keep_start(store: &dyn Store, id: &SessionId, kept: &KeptStart) {
    let place = kept.seen.settled_place().seq;
    let Ok(records) = store.read_records(id, place, 1).await else { return };
    if let Some(last) = records.first() {
        keep_look(store, KIND, kept_format(), last, kept).await;
    }
}

/// The program that a kept place is for.
fn kept_format() -> String {
    const RULES: u64 = source_number(include_bytes!("settled_start.rs"));
    format!("{SNAPSHOT_FORMAT} {RULES:016x}")
}

/// Finds the place that is to be kept while the facts of a session are told.
pub(super) struct StartKeeper {
    seen: Transcript,
    /// Entries that were told.
    entries: usize,
    /// Settled places with the entries that were told before them, the first one first. The first is the
    /// last that has enough behind it, where any has.
    places: VecDeque<(SettledTranscript, usize)>,
    /// Places from which older parts are read on, of the whole session, the first one first.
    parts: Vec<SettledPlace>,
    /// Facts before the place that is kept already; 0: none is.
    kept: Seq,
}

impl StartKeeper {
    /// One that is told the facts after `start`, or all of them.
    pub(super) fn new(start: Option<&SettledStart>) -> StartKeeper {
        let mut parts = start.map(|start| start.places.clone()).unwrap_or_default();
        let seen = start.map(|start| &start.seen);
        if let Some(seen) = seen {
            add_part(&mut parts, seen.settled_place());
        }
        StartKeeper {
            seen: seen.map(SettledTranscript::to_transcript).unwrap_or_default(),
            entries: 0,
            places: VecDeque::new(),
            parts,
            kept: seen.map_or(0, |seen| seen.settled_place().seq),
        }
    }

    /// Takes the next fact in.
    pub(super) fn apply_fact(&mut self, fact: &PublishedFact) {
        let changes = self.seen.apply(&place_fact(fact));
        self.entries += changes.iter().filter(|change| is_entry(change)).count();
        let last = self.places.back().map_or(0, |(_, entries)| *entries);
        if self.entries < last + STRIDE {
            return;
        }
        let Some(settled) = self.seen.to_settled() else { return };
        // Calls that are over need not be looked through again.
        self.seen = settled.to_transcript();
        add_part(&mut self.parts, settled.settled_place());
        self.places.push_back((settled, self.entries));
        let told = self.entries;
        let has_enough = |place: &(SettledTranscript, usize)| place.1 + ENTRIES_BEHIND <= told;
        while self.places.get(1).is_some_and(has_enough) {
            self.places.pop_front();
        }
    }

    /// What is to be kept now, where a place is far enough behind the one that is kept.
    pub(super) fn due_start(&self) -> Option<KeptStart> {
        let (settled, entries) = self.places.front()?;
        let is_due = entries + ENTRIES_BEHIND <= self.entries
            && settled.settled_place().seq >= self.kept + KEEP_EVERY;
        is_due.then(|| {
            let is_before = |place: &&SettledPlace| place.seq < settled.settled_place().seq;
            let places = self.parts.iter().filter(is_before).cloned().collect();
            KeptStart { seen: settled.clone(), places }
        })
    }
}

/// Notes a place, where it is far enough behind the last that was noted.
fn add_part(parts: &mut Vec<SettledPlace>, place: &SettledPlace) {
    let last = parts.last().map_or(0, |last| last.seq);
    if place.seq >= last.saturating_add(PART_FACTS.max(place.seq / PART_SHARE)) {
        parts.push(place.clone());
    }
}

/// A fact as it is told.
pub(super) fn place_fact(fact: &PublishedFact) -> PlacedFact {
    PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() }
}

/// Whether it is something to scroll to.
fn is_entry(change: &TranscriptChange) -> bool {
    matches!(
        change,
        TranscriptChange::InputSaid(_)
            | TranscriptChange::InputDelivered(_)
            | TranscriptChange::ReplyAdded(_)
            | TranscriptChange::ImageAdded(_)
            | TranscriptChange::CallAdded(_)
            | TranscriptChange::RunEnded(_)
    )
}
