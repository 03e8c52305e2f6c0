//! What of a journal whoever has a link may read: words, pictures, and calls of tools where that was
//! chosen. Nothing else of a journal comes through: no thinking, no prompt, no paths, no costs, no
//! approvals, none of the text that was added to what a person said.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::event::{CallFinished, Event};
use weir_core::ids::{BlobId, CallId, InputId, Seq, Timestamp};
use weir_core::message::{Block, plain_text};
use weir_core::view::told::cut_off;
use weir_engine::hub::Fact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;

use crate::api::shares::Share;
use crate::problem::{Answer, Problem};

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
pub(super) enum Shown {
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
pub(super) struct Transcript {
    /// The entries, oldest first.
    pub(super) shown: Vec<(Timestamp, Shown)>,
    /// Older entries that are not among them.
    pub(super) left_out: usize,
    calls: BTreeMap<CallId, usize>,
    inputs: BTreeMap<InputId, usize>,
    withdrawn: BTreeSet<usize>,
}

impl Transcript {
    /// Reads the journal as far as `share` goes.
    ///
    /// # Errors
    /// The chat is gone.
    pub(super) async fn read(store: &dyn Store, share: &Share) -> Answer<Transcript> {
        let mut transcript = Transcript::default();
        let until: Seq = share.until.unwrap_or(Seq::MAX).min(FACTS_MAX);
        let mut from = 1;
        while from <= until {
            let records = store.read(&share.session, from, READ_BATCH).await?;
            let Some(last) = records.last() else { break };
            from = last.seq + 1;
            for record in records.iter().filter(|record| record.seq <= until) {
                let fact = fact_of(record)?;
                transcript.take(fact.ts, fact.event.as_ref(), share.tools);
            }
        }
        if from == 1 {
            return Err(Problem::missing("this link"));
        }
        transcript.forget_withdrawn();
        transcript.left_out = transcript.shown.len().saturating_sub(ENTRIES_MAX);
        transcript.shown.drain(..transcript.left_out);
        Ok(transcript)
    }

    /// The same of facts that are at hand, with calls of tools.
    pub(super) fn of(facts: &[Fact]) -> Transcript {
        let mut transcript = Transcript::default();
        facts.iter().for_each(|fact| transcript.take(fact.ts, fact.event.as_ref(), true));
        transcript.forget_withdrawn();
        transcript
    }

    fn take(&mut self, ts: Timestamp, event: &Event, tools: bool) {
        match event {
            Event::InputAccepted(fact) => {
                let (text, images) = (plain_text(&fact.content), images(&fact.content));
                self.inputs.insert(fact.input, self.shown.len());
                self.shown.push((ts, Shown::Said { by: fact.by.clone(), text, images }));
            }
            Event::ModelReplied(fact) => {
                let (mut text, images) = (plain_text(&fact.content), images(&fact.content));
                let mark = cut_off(fact).filter(|_| !text.trim().is_empty());
                text.extend(mark.map(|mark| format!("\n\n*{mark}*")));
                if !text.trim().is_empty() || !images.is_empty() {
                    self.shown.push((ts, Shown::Replied { text, images }));
                }
                for block in fact.content.iter().filter(|_| tools) {
                    if let Block::Call(call) = block {
                        self.calls.insert(call.call, self.shown.len());
                        let (tool, input) = (call.tool.clone(), call.input.to_string());
                        self.shown.push((ts, Shown::Called { tool, input, result: None }));
                    }
                }
            }
            Event::CallFinished(fact) if tools => self.finish(fact),
            // What was taken back before the model heard it was not said.
            Event::InputWithdrawn(fact) => {
                self.withdrawn.extend(self.inputs.get(&fact.input));
            }
            Event::ImageProduced(fact) if !self.shows(&fact.blob) => {
                let images = vec![fact.blob.clone()];
                self.shown.push((ts, Shown::Replied { text: String::new(), images }));
            }
            _ => (),
        }
    }

    fn finish(&mut self, fact: &CallFinished) {
        let entry = self.calls.get(&fact.call).and_then(|at| self.shown.get_mut(*at));
        if let Some((_, Shown::Called { result, .. })) = entry {
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
    pub(super) fn shows(&self, blob: &BlobId) -> bool {
        self.shown.iter().any(|(_, shown)| match shown {
            Shown::Said { images, .. } | Shown::Replied { images, .. } => images.contains(blob),
            Shown::Called { .. } => false,
        })
    }
}

fn images(content: &[Block]) -> Vec<BlobId> {
    let of = |block: &Block| match block {
        Block::Image { media } => Some(media.blob.clone()),
        _ => None,
    };
    content.iter().filter_map(of).collect()
}
