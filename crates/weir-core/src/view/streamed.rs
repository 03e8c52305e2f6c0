//! What clients keep of text while it streams, and what of a reply they show, for all of them alike. Pure.
//! Not here: where a text can be cut ([`super::markdown_cut`]).

use crate::event::ModelReplied;
use crate::message::MessageBlock;

/// Most of what a call shows while it runs, in bytes; the end of it.
pub const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// Most of what the model thinks that is shown while it does, in bytes; the end of it.
pub const THINKING_BYTES_MAX: usize = 8 * 1024;

/// Puts `text` at the end and keeps at least the last `bytes_max` bytes, at most twice as many.
pub fn push_tail(kept: &mut String, text: &str, bytes_max: usize) {
    kept.push_str(text);
    if kept.len() > bytes_max.saturating_mul(2) {
        let cut = kept.floor_char_boundary(kept.len() - bytes_max);
        kept.drain(..cut);
    }
}

/// Whether a reply has anything of its own to show: its calls stand in rows of their own.
pub fn has_own_content(fact: &ModelReplied) -> bool {
    fact.content.iter().any(|block| match block {
        MessageBlock::Text { text, .. } | MessageBlock::Thinking { text, .. } => {
            !text.trim().is_empty()
        }
        MessageBlock::Image { .. } | MessageBlock::Document { .. } => true,
        MessageBlock::Call(_) | MessageBlock::Result { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_tail_is_bounded_and_cut_between_characters() {
        let mut kept = String::new();
        for _ in 0..100 {
            push_tail(&mut kept, "äöü", 10);
            assert!(kept.len() <= 26);
        }
        assert!(kept.ends_with("äöü"));
    }
}
