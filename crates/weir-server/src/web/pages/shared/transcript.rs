//! What of a journal whoever has a link may read: words, pictures, and calls of tools where that was
//! chosen. Nothing else of a journal comes through: no thinking, no prompt, no paths, no costs, no
//! approvals, none of the text that was added to what a person said.

use std::collections::BTreeMap;

use weir_core::event::{CallFinished, InputAccepted, ModelReplied};
use weir_core::ids::{BlobId, CallId, InputId, Seq, Timestamp};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::view::told::cut_off;
use weir_core::view::transcript::{PlacedFact, SeenFact, Transcript, TranscriptChange};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;

use crate::api::shares::ShareRecord;
use crate::problem::{HandlerResult, ProblemDetails};

/// Facts read at once.
const READ_BATCH: usize = 1000;
/// Facts that are looked at.
const FACTS_MAX: u64 = 100_000;
/// Entries that are shown; older ones are left out.
const ENTRIES_MAX: usize = 1000;
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
    calls: BTreeMap<CallId, usize>,
    /// What was said last and where it stands: it may be taken back before the model hears it.
    said: Option<(InputId, usize)>,
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
        let mut transcript = SharedTranscript::default();
        let until: Seq = share.until.unwrap_or(Seq::MAX).min(FACTS_MAX);
        let mut from = 1;
        while from <= until {
            let records = store.read_records(&share.session, from, READ_BATCH).await?;
            let Some(last) = records.last() else { break };
            from = last.seq + 1;
            for record in records.iter().filter(|record| record.seq <= until) {
                transcript.take_fact(&fact_of(record)?, share.tools);
            }
        }
        if from == 1 {
            return Err(ProblemDetails::not_found("this link"));
        }
        transcript.left_out = transcript.shown.len().saturating_sub(ENTRIES_MAX);
        transcript.shown.drain(..transcript.left_out);
        Ok(transcript)
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
        self.said = Some((fact.input, self.shown.len()));
        self.shown.push((at.ts, SharedEntry::Said { by: fact.by.clone(), text, images }));
    }

    fn remove_input(&mut self, input: InputId) {
        let Some((_, place)) = self.said.take_if(|(said, _)| *said == input) else { return };
        self.shown.remove(place);
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
        self.calls.insert(call, self.shown.len());
        self.shown.push((entry.proposed.ts, SharedEntry::Called { tool, input, result: None }));
    }

    fn end_call(&mut self, call: CallId) {
        let finished = self.seen.find_call(call).and_then(|entry| entry.finished.clone());
        if let Some(fact) = finished {
            self.finish_call(&fact);
        }
    }

    fn finish_call(&mut self, fact: &CallFinished) {
        let entry = self.calls.get(&fact.call).and_then(|at| self.shown.get_mut(*at));
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

fn image_blobs(content: &[MessageBlock]) -> Vec<BlobId> {
    let of = |block: &MessageBlock| match block {
        MessageBlock::Image { media } => Some(media.blob.clone()),
        _ => None,
    };
    content.iter().filter_map(of).collect()
}
