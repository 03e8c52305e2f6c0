//! What of a journal whoever has a link may read: words, pictures, and calls of tools where that was
//! chosen. Nothing else of a journal comes through: no thinking, no prompt, no paths, no costs, no
//! approvals, none of the text that was added to what a person said.
//!
//! Anybody who has the link may open it at any time: it is read from a settled place with enough behind it, which is
//! kept beside the journal (Q10), and of older entries none is held while it is read.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use weir_core::event::{CallFinished, InputAccepted, ModelReplied};
use weir_core::ids::{BlobId, CallId, InputId, Seq, Timestamp};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::session::{SNAPSHOT_FORMAT, source_number};
use weir_core::view::told::cut_off;
use weir_core::view::transcript::{
    PlacedFact, SeenFact, SettledTranscript, Transcript, TranscriptChange,
};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::looks::{find_look, keep_look};
use weir_engine::ports::{Store, StoreError};

use crate::api::shares::ShareRecord;
use crate::problem::{HandlerResult, ProblemDetails};

/// Facts read at once.
const READ_BATCH: usize = 1000;
/// Facts that are looked at.
const FACTS_MAX: u64 = 100_000;
/// Entries that are shown; older ones are left out.
const ENTRIES_MAX: usize = if cfg!(test) { 40 } else { 1_000 };
/// Facts from one place at which reading may begin to the next one that is noted.
const STRIDE: Seq = if cfg!(test) { 50 } else { 1_000 };
/// Facts by which the place has moved when it is kept again: to read so many again is less work than to write.
const KEEP_EVERY: Seq = if cfg!(test) { 100 } else { 1_000 };
/// Most of the result of one call, in bytes.
const RESULT_MAX: usize = 20_000;

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SharedEntry {
    /// A person said something.
    Said {
        /// The name of the person who said it.
        by: String,
        /// Their words.
        text: String,
        /// Pictures that they attached.
        images: Vec<BlobId>,
    },
    /// The model said something.
    Replied {
        /// Its words.
        text: String,
        /// Pictures.
        images: Vec<BlobId>,
    },
    /// The model used a tool.
    Called {
        /// The name of the tool.
        tool: String,
        /// Its arguments, as JSON.
        input: String,
        /// The result of the call; `None`: it is not over.
        result: Option<String>,
    },
}

/// What is shown of a chat.
#[derive(Debug, Default)]
pub(super) struct SharedTranscript {
    /// The entries, oldest first.
    pub(super) shown: Vec<(Timestamp, SharedEntry)>,
    /// Older entries that are not among them.
    pub(super) left_out: usize,
    seen: Transcript,
    /// Where the calls stand, counted from the first entry of the chat.
    calls: BTreeMap<CallId, usize>,
    /// What was said last and where it stands: it may be taken back before the model hears it.
    said: Option<(InputId, usize)>,
    /// Places at which reading may begin, the first one first. The first is the last one that has enough
    /// entries behind it, where any has.
    places: VecDeque<KeptPlace>,
    /// Facts before the last place that was noted, and before the one that is kept already.
    noted: Seq,
    kept: Seq,
}

/// A place at which reading may begin, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptPlace {
    seen: SettledTranscript,
    /// Entries before it.
    entries: usize,
}

impl KeptPlace {
    fn seq(&self) -> Seq {
        self.seen.settled_place().seq
    }
}

impl SharedTranscript {
    /// Reads the journal as far as `share` goes.
    ///
    /// # Errors
    /// The chat is gone.
    pub(super) async fn read_journal(
        store: &dyn Store,
        share: &ShareRecord,
    ) -> HandlerResult<SharedTranscript> {
        let mut whole = SharedTranscript::default();
        if let Some(start) = find_start(store, share).await? {
            // It serves links that go further: none that goes less far takes its place.
            whole.kept = start.seq();
            let read = SharedTranscript::begin_at(&start).read_on(store, share).await?;
            // A link that goes less far may show what stands before the place.
            if read.shown.len() == ENTRIES_MAX {
                return Ok(read);
            }
        }
        let read = whole.read_on(store, share).await?;
        match read.seen_any() {
            true => Ok(read),
            false => Err(ProblemDetails::not_found("this link")),
        }
    }

    fn begin_at(start: &KeptPlace) -> SharedTranscript {
        let (seq, left_out) = (start.seq(), start.entries);
        let seen = start.seen.to_transcript();
        SharedTranscript { left_out, seen, noted: seq, kept: seq, ..SharedTranscript::default() }
    }

    /// Reads from the place on at which it is, and leaves out what is not shown.
    async fn read_on(
        mut self,
        store: &dyn Store,
        share: &ShareRecord,
    ) -> Result<SharedTranscript, StoreError> {
        let until: Seq = share.until.unwrap_or(Seq::MAX).min(FACTS_MAX);
        let mut from = self.noted + 1;
        while from <= until {
            let records = store.read_records(&share.session, from, READ_BATCH).await?;
            let Some(last) = records.last() else { break };
            from = last.seq + 1;
            for record in records.iter().filter(|record| record.seq <= until) {
                let fact = fact_of(record)?;
                self.take_fact(&fact, share.tools);
                self.note_place(fact.seq);
            }
        }
        self.leave_out_older();
        self.keep_start(store, share).await;
        Ok(self)
    }

    fn seen_any(&self) -> bool {
        self.seen.settings().permission.is_some()
    }

    /// After the fact `seq`: notes a place where nothing is open, if the last one is long ago.
    fn note_place(&mut self, seq: Seq) {
        if seq < self.noted + STRIDE {
            return;
        }
        let Some(seen) = self.seen.to_settled() else { return };
        // Calls that are over need not be kept for those that come.
        self.seen = seen.to_transcript();
        self.noted = seq;
        self.leave_out_older();
        let told = self.left_out + self.shown.len();
        self.places.push_back(KeptPlace { seen, entries: told });
        let has_enough = |place: &KeptPlace| place.entries + ENTRIES_MAX <= told;
        while self.places.get(1).is_some_and(has_enough) {
            self.places.pop_front();
        }
    }

    fn leave_out_older(&mut self) {
        let older = self.shown.len().saturating_sub(ENTRIES_MAX);
        self.shown.drain(..older);
        self.left_out += older;
        self.calls.retain(|_, place| *place >= self.left_out);
    }

    /// Keeps the place from which the next one reads. That it cannot be kept concerns nobody.
    async fn keep_start(&self, store: &dyn Store, share: &ShareRecord) {
        let told = self.left_out + self.shown.len();
        let Some(place) = self.places.front() else { return };
        if place.entries + ENTRIES_MAX > told || place.seq() < self.kept + KEEP_EVERY {
            return;
        }
        let Ok(records) = store.read_records(&share.session, place.seq(), 1).await else { return };
        if let Some(last) = records.first() {
            keep_look(store, kept_kind(share), kept_format(), last, place).await;
        }
    }

    /// The same of facts that are at hand, with calls of tools.
    pub(super) fn from_facts(facts: &[PublishedFact]) -> SharedTranscript {
        let mut transcript = SharedTranscript::default();
        facts.iter().for_each(|fact| transcript.take_fact(fact, true));
        transcript
    }

    fn take_fact(&mut self, fact: &PublishedFact, tools: bool) {
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        for change in self.seen.apply(&at) {
            match change {
                TranscriptChange::InputSaid(at) | TranscriptChange::InputDelivered(at) => {
                    self.add_input(&at);
                }
                // What was taken back before the model heard it was not said.
                TranscriptChange::InputUnsaid(at) => self.remove_input(at.fact.input),
                TranscriptChange::ReplyAdded(at) => self.add_reply(&at),
                TranscriptChange::ImageAdded(at) => {
                    let images = vec![at.fact.blob.clone()];
                    let text = String::new();
                    self.shown.push((at.ts, SharedEntry::Replied { text, images }));
                }
                TranscriptChange::CallAdded(call) if tools => self.add_call(call),
                TranscriptChange::CallEnded(call) if tools => self.end_call(call),
                _ => (),
            }
        }
    }

    fn add_input(&mut self, at: &SeenFact<InputAccepted>) {
        let fact = &at.fact;
        let (text, images) = (plain_text(&fact.content), image_blobs(&fact.content));
        self.said = Some((fact.input, self.left_out + self.shown.len()));
        self.shown.push((at.ts, SharedEntry::Said { by: fact.by.clone(), text, images }));
    }

    fn remove_input(&mut self, input: InputId) {
        let Some((_, place)) = self.said.take_if(|(said, _)| *said == input) else { return };
        match place.checked_sub(self.left_out) {
            Some(shown) => drop(self.shown.remove(shown)),
            None => self.left_out -= 1,
        }
        self.calls.values_mut().filter(|call| **call > place).for_each(|call| *call -= 1);
    }

    fn add_reply(&mut self, at: &SeenFact<ModelReplied>) {
        let fact = &at.fact;
        let (mut text, images) = (plain_text(&fact.content), image_blobs(&fact.content));
        let mark = cut_off(fact).filter(|_| !text.trim().is_empty());
        text.extend(mark.map(|mark| format!("\n\n*{mark}*")));
        if !text.trim().is_empty() || !images.is_empty() {
            self.shown.push((at.ts, SharedEntry::Replied { text, images }));
        }
    }

    fn add_call(&mut self, call: CallId) {
        let Some(entry) = self.seen.find_call(call) else { return };
        let fact = &entry.proposed.fact;
        let (tool, input) = (fact.tool.clone(), fact.input.to_string());
        self.calls.insert(call, self.left_out + self.shown.len());
        self.shown.push((entry.proposed.ts, SharedEntry::Called { tool, input, result: None }));
    }

    fn end_call(&mut self, call: CallId) {
        let finished = self.seen.find_call(call).and_then(|entry| entry.finished.clone());
        if let Some(fact) = finished {
            self.finish_call(&fact);
        }
    }

    fn finish_call(&mut self, fact: &CallFinished) {
        let place = self.calls.get(&fact.call).and_then(|at| at.checked_sub(self.left_out));
        let entry = place.and_then(|at| self.shown.get_mut(at));
        if let Some((_, SharedEntry::Called { result, .. })) = entry {
            let text = plain_text(&fact.blocks_for_person());
            let end = text.floor_char_boundary(RESULT_MAX);
            let cut = if end < text.len() { "\n… the rest is not shown" } else { "" };
            *result = Some(format!("{}{cut}", &text[..end]));
        }
    }

    /// Whether this picture is among what is shown.
    pub(super) fn has_image(&self, blob: &BlobId) -> bool {
        self.shown.iter().any(|(_, shown)| match shown {
            SharedEntry::Said { images, .. } | SharedEntry::Replied { images, .. } => {
                images.contains(blob)
            }
            SharedEntry::Called { .. } => false,
        })
    }
}

/// The place from which a chat is read for `share`, where one is kept that fits.
async fn find_start(
    store: &dyn Store,
    share: &ShareRecord,
) -> Result<Option<KeptPlace>, StoreError> {
    let format = kept_format();
    let found = find_look::<KeptPlace>(store, &share.session, kept_kind(share), &format).await?;
    Ok(found.filter(|(place, seq)| place.seq() == *seq).map(|(place, _)| place))
}

/// The name under which it is kept: with calls of tools other entries count.
fn kept_kind(share: &ShareRecord) -> &'static str {
    if share.tools { "shared with tools" } else { "shared" }
}

/// The program that a kept place is for.
fn kept_format() -> String {
    const RULES: u64 = source_number(include_bytes!("transcript.rs"));
    format!("{SNAPSHOT_FORMAT} {RULES:016x}")
}

fn image_blobs(content: &[MessageBlock]) -> Vec<BlobId> {
    let of = |block: &MessageBlock| match block {
        MessageBlock::Image { media } => Some(media.blob.clone()),
        _ => None,
    };
    content.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests;
