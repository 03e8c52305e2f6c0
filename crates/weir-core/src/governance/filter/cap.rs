//! Bounds what one result may add to the history, whatever the tool returned.

use super::{Draft, Filter, FilterContext};
use crate::message::Block;

/// Most characters of text in one result.
pub const RESULT_CHARS_MAX: usize = 400_000;
/// Most images and documents in one result.
pub const RESULT_MEDIA_MAX: usize = 20;

pub(super) struct Cap;

impl Filter for Cap {
    fn name(&self) -> &'static str {
        "cap"
    }
    fn clean(&self, draft: &mut Draft, _: &FilterContext<'_>) {
        cap(&mut draft.blocks);
        if let Some(whole) = &mut draft.whole {
            cap(whole);
        }
    }
}

fn cap(blocks: &mut Vec<Block>) {
    let mut chars_left = RESULT_CHARS_MAX;
    let mut media_left = RESULT_MEDIA_MAX;
    let mut chars_cut = 0;
    let mut media_cut = 0;
    blocks.retain_mut(|block| match block {
        Block::Text { text, .. } => {
            let chars = text.chars().count();
            if chars > chars_left {
                let end = text.char_indices().nth(chars_left).map_or(text.len(), |(at, _)| at);
                text.truncate(end);
                chars_cut += chars - chars_left;
            }
            chars_left -= chars.min(chars_left);
            !text.is_empty() || chars == 0
        }
        Block::Image { .. } | Block::Document { .. } => {
            let kept = media_left > 0;
            media_left -= usize::from(kept);
            media_cut += usize::from(!kept);
            kept
        }
        Block::Thinking { .. } | Block::Call(_) | Block::Result { .. } => true,
    });
    if chars_cut > 0 {
        blocks.push(Block::text(format!(
            "\n[cut here: {chars_cut} more characters; a result holds at most {RESULT_CHARS_MAX}. \
             Ask for less at once.]"
        )));
    }
    if media_cut > 0 {
        blocks.push(Block::text(format!(
            "\n[left out: {media_cut} images or documents; a result holds at most \
             {RESULT_MEDIA_MAX}.]"
        )));
    }
}
