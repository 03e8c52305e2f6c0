//! Which of the blocks that were found count as calls: by their place, by what was told, by what explains them.
//!
//! Not here: finding blocks.

use super::block::CallBlock;
use super::formats::Place;
use super::repair::Repair;

/// What a call without arguments is written with, beside its name, for it to be known again: `list_agents()`
/// alone is a name that anybody may have said.
const AROUND_NAME_MIN: usize = 16;

/// A block and where it stands.
pub(super) struct PlacedBlock {
    pub(super) start: usize,
    /// Where the block itself ends, without what was left out behind it.
    pub(super) core_end: usize,
    pub(super) block: CallBlock,
    pub(super) format: &'static str,
    pub(super) place: Place,
}

/// What of a reply is no thinking.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReplyBody {
    /// Where the reply begins behind thinking that stands first.
    pub(super) from: usize,
    /// Where thinking begins that never ends.
    pub(super) thinking: Option<usize>,
}

/// Leaves the blocks whose place lets them count.
pub(super) fn keep_those_that_count(text: &str, body: ReplyBody, blocks: &mut Vec<PlacedBlock>) {
    let first_words = first_words(text, body, blocks);
    let mut ends_reply = true;
    let mut next_start = text.len();
    let mut kept: Vec<PlacedBlock> = Vec::new();
    while let Some(mut placed) = blocks.pop() {
        let is_last = ends_reply && text[placed.block.end..next_start].trim().is_empty();
        // Nobody knows where thinking that never ends does end: before the calls behind everything.
        let is_thought = body.thinking.is_some_and(|thinking| placed.start >= thinking);
        let counts = match placed.place {
            Place::Lines | Place::Inline => !is_thought || is_last,
            Place::Ending => is_last,
            Place::Alone => is_last && placed.start < first_words,
        };
        ends_reply = counts && is_last;
        next_start = placed.start;
        if counts && is_thought {
            placed.block.repairs.add_repair(Repair::OpenThinking);
        }
        if counts {
            kept.push(placed);
        }
    }
    kept.reverse();
    *blocks = kept;
}

/// Where something begins that is neither thinking nor a block.
fn first_words(text: &str, body: ReplyBody, blocks: &[PlacedBlock]) -> usize {
    let mut at = body.from;
    for placed in blocks {
        match text.get(at..placed.start) {
            Some(gap) if gap.trim().is_empty() => at = placed.block.end,
            Some(_) | None => return at,
        }
    }
    text.len()
}

/// Leaves out each block that holds a call that was told. Gives back whether there was one.
pub(super) fn drop_quotations(
    text: &str,
    blocks: &mut Vec<PlacedBlock>,
    is_quotation: &dyn Fn(&str) -> bool,
) -> bool {
    let before = blocks.len();
    blocks.retain(|placed| !is_told(text, placed, is_quotation));
    blocks.len() < before
}

/// Each call is looked for by itself: one that was read must not pass beside one of the model's own. One
/// without arguments is also looked for with the marks around it, of which more may be needed to know it.
fn is_told(text: &str, placed: &PlacedBlock, is_quotation: &dyn Fn(&str) -> bool) -> bool {
    let whole = text[placed.start..placed.core_end].trim();
    placed.block.calls.iter().any(|written| {
        let own = &text[written.span.clone()];
        let is_known = |words| is_more_than_name(words, &written.call.tool) && is_quotation(words);
        match written.call.arguments.is_empty() {
            true => is_known(own) || is_known(whole),
            false => is_quotation(own),
        }
    })
}

fn is_more_than_name(written: &str, tool: &str) -> bool {
    let characters = written.chars().filter(|c| !c.is_whitespace()).count();
    characters >= tool.chars().count() + AROUND_NAME_MIN
}

/// Leaves out each block with words both before and behind it: a model that has calls of its own explains
/// there how one is written. Gives back whether there was one.
pub(super) fn drop_explained(text: &str, body: ReplyBody, blocks: &mut Vec<PlacedBlock>) -> bool {
    let mut at = body.from;
    let mut gaps = Vec::new();
    for placed in &*blocks {
        gaps.push(text.get(at..placed.start).is_some_and(|gap| !gap.trim().is_empty()));
        at = placed.block.end;
    }
    gaps.push(!text[at..].trim().is_empty());
    let before = blocks.len();
    let mut index = 0;
    blocks.retain(|_| {
        index += 1;
        !(gaps[..index].contains(&true) && gaps[index..].contains(&true))
    });
    blocks.len() < before
}
