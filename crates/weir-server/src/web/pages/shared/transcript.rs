//! What of a journal whoever has a link may read: words, pictures, and calls of tools where that was
//! chosen. Nothing else of a journal comes through: no thinking, no prompt, no paths, no costs, no
//! approvals, none of the text that was added to what a person said.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::event::{CallFinished, Event};
use weir_core::ids::{BlobId, CallId, InputId, Seq, Timestamp};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::view::told::cut_off;
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
        /// Who.
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
        /// Which.
        tool: String,
        /// Its arguments, as JSON.
        input: String,
        /// What came of it; `None`: it is not over.
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
    calls: BTreeMap<CallId, usize>,
    inputs: BTreeMap<InputId, usize>,
    withdrawn: BTreeSet<usize>,
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
                let fact = fact_of(record)?;
                transcript.take_event(fact.ts, fact.event.as_ref(), share.tools);
            }
        }
        if from == 1 {
            return Err(ProblemDetails::not_found("this link"));
        }
        transcript.forget_withdrawn();
        transcript.left_out = transcript.shown.len().saturating_sub(ENTRIES_MAX);
        transcript.shown.drain(..transcript.left_out);
        Ok(transcript)
    }

    /// The same of facts that are at hand, with calls of tools.
    pub(super) fn from_facts(facts: &[PublishedFact]) -> SharedTranscript {
        let mut transcript = SharedTranscript::default();
        facts.iter().for_each(|fact| transcript.take_event(fact.ts, fact.event.as_ref(), true));
        transcript.forget_withdrawn();
        transcript
    }

    fn take_event(&mut self, ts: Timestamp, event: &Event, tools: bool) {
        match event {
            Event::InputAccepted(fact) => {
                let (text, images) = (plain_text(&fact.content), image_blobs(&fact.content));
                self.inputs.insert(fact.input, self.shown.len());
                self.shown.push((ts, SharedEntry::Said { by: fact.by.clone(), text, images }));
            }
            Event::ModelReplied(fact) => {
                let (mut text, images) = (plain_text(&fact.content), image_blobs(&fact.content));
                let mark = cut_off(fact).filter(|_| !text.trim().is_empty());
                text.extend(mark.map(|mark| format!("\n\n*{mark}*")));
                if !text.trim().is_empty() || !images.is_empty() {
                    self.shown.push((ts, SharedEntry::Replied { text, images }));
                }
                for block in fact.content.iter().filter(|_| tools) {
                    if let MessageBlock::Call(call) = block {
                        self.calls.insert(call.call, self.shown.len());
                        let (tool, input) = (call.tool.clone(), call.input.to_string());
                        self.shown.push((ts, SharedEntry::Called { tool, input, result: None }));
                    }
                }
            }
            Event::CallFinished(fact) if tools => self.finish_call(fact),
            // What was taken back before the model heard it was not said.
            Event::InputWithdrawn(fact) => {
                self.withdrawn.extend(self.inputs.get(&fact.input));
            }
            Event::ImageProduced(fact) if !self.has_image(&fact.blob) => {
                let images = vec![fact.blob.clone()];
                self.shown.push((ts, SharedEntry::Replied { text: String::new(), images }));
            }
            _ => (),
        }
    }

    fn finish_call(&mut self, fact: &CallFinished) {
        let entry = self.calls.get(&fact.call).and_then(|at| self.shown.get_mut(*at));
        if let Some((_, SharedEntry::Called { result, .. })) = entry {
            let text = plain_text(&fact.result);
            let end = text.floor_char_boundary(RESULT_MAX);
            let cut = if end < text.len() { "\n… the rest is not shown" } else { "" };
            *result = Some(format!("{}{cut}", &text[..end]));
        }
    }

    fn forget_withdrawn(&mut self) {
        let withdrawn = std::mem::take(&mut self.withdrawn);
        let mut at = 0;
        self.shown.retain(|_| {
            at += 1;
            !withdrawn.contains(&(at - 1))
        });
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
