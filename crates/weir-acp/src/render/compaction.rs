//! How the context is made shorter, as an editor shows it: begun, what then stands for what was said, over.
//! Pure. Not here: what the model sees then.

use weir_core::event::{ContextSummarised, Event};
use weir_core::view::told::one_line;
use weir_core::view::transcript::PlacedFact;

use crate::wire::{CompactionStatus, ContentBlock, SessionUpdate};

/// Bytes of a summary that are shown.
const SUMMARY_BYTES_MAX: usize = 64 << 10;

/// The one that is on.
#[derive(Debug, Default)]
pub(super) struct RenderedCompaction {
    /// Its name; `None`: none is on.
    open: Option<String>,
    /// Why there is no summary.
    failed: Option<String>,
}

impl RenderedCompaction {
    /// Takes a fact in; what it says of it.
    pub(super) fn take_fact(&mut self, fact: &PlacedFact) -> Vec<SessionUpdate> {
        match fact.event.as_ref() {
            Event::ContextCondensing(_) => {
                // One that came to nothing leaves no fact of its own.
                let mut updates: Vec<SessionUpdate> = self.give_up().into_iter().collect();
                let compaction_id = format!("compaction-{}", fact.seq);
                self.open = Some(compaction_id.clone());
                let (status, error) = (CompactionStatus::InProgress, None);
                updates.push(SessionUpdate::CompactionUpdate { compaction_id, status, error });
                updates
            }
            Event::ContextSummarised(made) => self.summarised(made).into_iter().collect(),
            Event::ContextCondensed(_) => {
                self.end(CompactionStatus::Completed).into_iter().collect()
            }
            Event::RunFinished(_) => self.give_up().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn summarised(&mut self, made: &ContextSummarised) -> Option<SessionUpdate> {
        self.failed = made.failed.as_deref().map(one_line);
        let compaction_id = self.open.clone()?;
        let text = made.summary.as_deref().filter(|text| !text.is_empty())?;
        let cut = text.floor_char_boundary(SUMMARY_BYTES_MAX.min(text.len()));
        let content = ContentBlock::text_block(match text.len() - cut {
            0 => text.to_owned(),
            left => format!("{}\n… {left} more bytes", &text[..cut]),
        });
        Some(SessionUpdate::CompactionSummaryChunk { compaction_id, content })
    }

    fn give_up(&mut self) -> Option<SessionUpdate> {
        self.end(CompactionStatus::Failed)
    }

    fn end(&mut self, status: CompactionStatus) -> Option<SessionUpdate> {
        let compaction_id = self.open.take()?;
        let error = self.failed.take().filter(|_| status == CompactionStatus::Failed);
        Some(SessionUpdate::CompactionUpdate { compaction_id, status, error })
    }
}
