//! What the model will be told at the start of the next turn. Not here: the messages that it was
//! told already (`Session::history`), and what a person said (`Session::queued_inputs`).
//!
//! Some of it stands in facts (results of calls, notes), some is composed by this program. What the
//! program composes is journaled with the turn that tells it, so that a journal means the same to a
//! later program whose sentences are others: the same bytes are sent, and the vendor's cache holds.

use serde::{Deserialize, Serialize};

use crate::event::ToldPart;
use crate::message::MessageBlock;

/// Blocks that wait for the next turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct PendingBlocks {
    blocks: Vec<MessageBlock>,
    /// The places of those that are texts that this program composed, ascending.
    composed: Vec<usize>,
}

impl PendingBlocks {
    /// Adds what a fact holds already.
    pub(super) fn push_recorded(&mut self, block: MessageBlock) {
        self.blocks.push(block);
    }

    /// Adds a text that stands in no fact.
    pub(super) fn push_composed(&mut self, text: impl Into<String>) {
        self.composed.push(self.blocks.len());
        self.blocks.push(MessageBlock::text(text));
    }

    pub(super) fn blocks(&self) -> &[MessageBlock] {
        &self.blocks
    }

    /// How the next turn tells it: composed texts in full, recorded blocks by their number.
    pub(super) fn told_parts(&self) -> Vec<ToldPart> {
        let mut parts = Vec::new();
        let mut recorded = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            match block {
                MessageBlock::Text { text, .. } if self.composed.binary_search(&at).is_ok() => {
                    if recorded > 0 {
                        parts.push(ToldPart::Recorded(recorded));
                        recorded = 0;
                    }
                    parts.push(ToldPart::Text(text.clone()));
                }
                _ => recorded += 1,
            }
        }
        if recorded > 0 && !parts.is_empty() {
            parts.push(ToldPart::Recorded(recorded));
        }
        parts
    }

    /// Takes everything, with the composed texts as `told` has them. Without `told` (journals from
    /// before it was kept) they are those of this program.
    pub(super) fn take_blocks(&mut self, told: Option<&[ToldPart]>) -> Vec<MessageBlock> {
        let PendingBlocks { blocks, composed } = std::mem::take(self);
        let Some(told) = told else { return blocks };
        let mut recorded = blocks
            .into_iter()
            .enumerate()
            .filter(|(at, _)| composed.binary_search(at).is_err())
            .map(|(_, block)| block);
        let mut out = Vec::new();
        for part in told {
            match part {
                ToldPart::Text(text) => out.push(MessageBlock::text(text.clone())),
                ToldPart::Recorded(count) => out.extend(recorded.by_ref().take(*count as usize)),
            }
        }
        // Nothing that a call gave is ever dropped: what no part counts comes last.
        out.extend(recorded);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(blocks: &[MessageBlock]) -> Vec<String> {
        blocks.iter().map(|block| crate::message::plain_text(std::slice::from_ref(block))).collect()
    }

    fn pending(own: &str) -> PendingBlocks {
        let mut pending = PendingBlocks::default();
        pending.push_recorded(MessageBlock::text("result 1"));
        pending.push_recorded(MessageBlock::text("result 2"));
        pending.push_composed(own);
        pending.push_recorded(MessageBlock::text("note"));
        pending
    }

    /// What an older program told stands as it was told, whatever this one would say (B8).
    #[test]
    fn a_later_program_tells_the_words_of_the_journal() {
        let parts = pending("old words").told_parts();
        let expected =
            vec![ToldPart::Recorded(2), ToldPart::Text("old words".into()), ToldPart::Recorded(1)];
        assert_eq!(parts, expected);
        let blocks = pending("new words").take_blocks(Some(&parts));
        assert_eq!(texts(&blocks), ["result 1", "result 2", "old words", "note"]);
    }

    #[test]
    fn a_later_program_that_composes_more_or_less_changes_nothing() {
        let parts = pending("old words").told_parts();
        let mut more = pending("new words");
        more.push_composed("and more");
        assert_eq!(
            texts(&more.take_blocks(Some(&parts))),
            ["result 1", "result 2", "old words", "note"]
        );
        let mut less = PendingBlocks::default();
        less.push_recorded(MessageBlock::text("result 1"));
        less.push_recorded(MessageBlock::text("result 2"));
        less.push_recorded(MessageBlock::text("note"));
        assert_eq!(
            texts(&less.take_blocks(Some(&parts))),
            ["result 1", "result 2", "old words", "note"]
        );
    }

    #[test]
    fn without_composed_texts_nothing_is_written_and_everything_is_told() {
        let mut pending = PendingBlocks::default();
        pending.push_recorded(MessageBlock::text("result"));
        assert!(pending.told_parts().is_empty());
        assert_eq!(texts(&pending.take_blocks(Some(&[]))), ["result"]);
        assert!(pending.blocks().is_empty());
    }

    #[test]
    fn a_journal_from_before_is_told_in_the_words_of_this_program() {
        let blocks = pending("new words").take_blocks(None);
        assert_eq!(texts(&blocks), ["result 1", "result 2", "new words", "note"]);
    }
}
