//! Bounds what one result may add to the history, whatever the tool returned.

use super::{Filter, FilterContext, ResultDraft};
use crate::message::MessageBlock;

/// Most characters of text in one result.
pub const RESULT_CHARS_MAX: usize = 400_000;
/// What a result may have however small the window.
const RESULT_CHARS_MIN: usize = 2_000;
/// Most images and documents in one result.
pub const RESULT_MEDIA_MAX: usize = 20;

pub(super) struct CapFilter;

impl Filter for CapFilter {
    fn name(&self) -> &'static str {
        "cap"
    }
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>) {
        let max = chars_max(context.window);
        cap_blocks(&mut draft.blocks, max);
        if let Some(whole) = &mut draft.whole {
            cap_blocks(whole, max);
        }
    }
}

/// Most characters of one result for a window of so many tokens: a quarter of it, at three and a half
/// characters a token; 0: the window is not known.
fn chars_max(window: u64) -> usize {
    if window == 0 {
        return RESULT_CHARS_MAX;
    }
    let quarter = usize::try_from(window / 4).unwrap_or(usize::MAX);
    (quarter.saturating_mul(7) / 2).clamp(RESULT_CHARS_MIN, RESULT_CHARS_MAX)
}

fn cap_blocks(blocks: &mut Vec<MessageBlock>, max: usize) {
    let mut chars_left = max;
    let mut media_left = RESULT_MEDIA_MAX;
    let mut chars_cut = 0;
    let mut media_cut = 0;
    blocks.retain_mut(|block| match block {
        MessageBlock::Text { text, .. } => {
            let chars = text.chars().count();
            if chars > chars_left {
                let end = text.char_indices().nth(chars_left).map_or(text.len(), |(at, _)| at);
                text.truncate(end);
                chars_cut += chars - chars_left;
            }
            chars_left -= chars.min(chars_left);
            !text.is_empty() || chars == 0
        }
        MessageBlock::Image { .. } | MessageBlock::Document { .. } => {
            let kept = media_left > 0;
            media_left -= usize::from(kept);
            media_cut += usize::from(!kept);
            kept
        }
        MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => true,
    });
    if chars_cut > 0 {
        blocks.push(MessageBlock::text(format!(
            "\n[cut here: {chars_cut} more characters; a result holds at most {max}. Ask \
             for less at once: `offset` and `limit` read on.]"
        )));
    }
    if media_cut > 0 {
        blocks.push(MessageBlock::text(format!(
            "\n[left out: {media_cut} images or documents; a result holds at most \
             {RESULT_MEDIA_MAX}.]"
        )));
    }
}
