//! The passes that ask no model: long results become references, mechanical noise goes (X2).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::event::{HistoryEntry, MessageOrigin};
use crate::ids::CallId;
use crate::message::{Message, MessageBlock, plain_texts};

/// Characters that an old result may keep.
const RESULT_MAX: usize = 400;
/// Characters of its beginning that a reference quotes.
const QUOTE_MAX: usize = 160;
/// What a reference ends with: a result that has it is one already.
const MARK: &str = "(shortened; `recall` finds the rest)]";
/// Bytes from which on a result that a later one repeats is told as that.
const REPEAT_MIN: usize = 81;

/// What becomes of a block.
enum BlockFate {
    Stays,
    Goes,
    Becomes(Box<MessageBlock>),
}

/// Pass one: results are cut to a reference. `hard`: recent ones too, and shorter.
pub(super) fn shorten_results(messages: &mut [HistoryEntry], hard: bool) {
    let max = if hard { QUOTE_MAX } else { RESULT_MAX };
    for held in messages.iter_mut().filter(|held| held.origin == MessageOrigin::Told) {
        let fates = held.message.blocks.iter().map(|block| shorten_result(block, max));
        held.message = with_fates(&held.message, fates.collect());
    }
}

fn shorten_result(block: &MessageBlock, max: usize) -> BlockFate {
    let MessageBlock::Result { call, ok, blocks } = block else { return BlockFate::Stays };
    let text = joined_text(blocks);
    let chars = text.chars().count();
    let media = blocks.iter().any(|block| !matches!(block, MessageBlock::Text { .. }));
    if (chars <= max && !media) || text.ends_with(MARK) {
        return BlockFate::Stays;
    }
    let quote = quote_first_line(&text);
    let media = if media { " and pictures" } else { "" };
    let short = format!("{quote}\n[Result of {call}, {chars} characters{media} {MARK}");
    result_told_as(*call, *ok, short)
}

fn quote_first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(QUOTE_MAX).collect()
}

/// Pass two: thinking, notes that are out of date or told again, and results that a later one
/// repeats word for word.
pub(super) fn drop_noise(
    messages: &[HistoryEntry],
    told: &BTreeMap<String, String>,
) -> Vec<HistoryEntry> {
    let current: HashSet<&str> = told.values().map(String::as_str).collect();
    let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
    let mut kept = Vec::with_capacity(messages.len());
    // From the newest to the oldest: the newest of equal texts stays.
    for held in messages.iter().rev() {
        let message = match held.origin {
            MessageOrigin::Model => with_fates(&held.message, thinking_goes(&held.message)),
            MessageOrigin::Told => {
                with_fates(&held.message, repeats_go(&held.message, &current, &mut seen))
            }
            MessageOrigin::Person | MessageOrigin::Summary => held.message.clone(),
        };
        if !message.blocks.is_empty() {
            kept.push(HistoryEntry { origin: held.origin, message });
        }
    }
    kept.reverse();
    kept
}

fn thinking_goes(message: &Message) -> Vec<BlockFate> {
    let fate = |block: &MessageBlock| match block {
        MessageBlock::Thinking { .. } => BlockFate::Goes,
        MessageBlock::Text { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Result { .. }
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => BlockFate::Stays,
    };
    message.blocks.iter().map(fate).collect()
}

/// `current`: notes that hold; `seen`: what later messages tell.
fn repeats_go<'a>(
    message: &'a Message,
    current: &HashSet<&str>,
    seen: &mut HashSet<Cow<'a, str>>,
) -> Vec<BlockFate> {
    let blocks = &message.blocks;
    let mut fates: Vec<BlockFate> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let stays = match block {
            MessageBlock::Text { text, .. } => {
                current.contains(text.as_str()) && seen.insert(Cow::Borrowed(text.as_str()))
            }
            MessageBlock::Thinking { .. }
            | MessageBlock::Call(_)
            | MessageBlock::Result { .. }
            | MessageBlock::Image { .. }
            | MessageBlock::Document { .. } => true,
        };
        fates.push(if stays { BlockFate::Stays } else { BlockFate::Goes });
    }
    // After all notes: a note that says the same counts as seen.
    for (block, fate) in blocks.iter().zip(&mut fates) {
        let MessageBlock::Result { call, ok, blocks } = block else { continue };
        let text = joined_text(blocks);
        if text.len() >= REPEAT_MIN && !seen.insert(text) {
            let same = format!("[Result of {call}: the same as a later one]");
            *fate = result_told_as(*call, *ok, same);
        }
    }
    fates
}

fn result_told_as(call: CallId, ok: bool, text: String) -> BlockFate {
    let blocks = vec![MessageBlock::text(text)];
    BlockFate::Becomes(Box::new(MessageBlock::Result { call, ok, blocks }))
}

/// The message after that; the very same one where all of it stays.
fn with_fates(message: &Arc<Message>, fates: Vec<BlockFate>) -> Arc<Message> {
    if fates.iter().all(|fate| matches!(fate, BlockFate::Stays)) {
        return message.clone();
    }
    let blocks = message.blocks.iter().zip(fates).filter_map(|(block, fate)| match fate {
        BlockFate::Stays => Some(block.clone()),
        BlockFate::Goes => None,
        BlockFate::Becomes(other) => Some(*other),
    });
    Arc::new(Message { role: message.role, blocks: blocks.collect() })
}

/// The text of a result, copied only where it is of several pieces.
fn joined_text(blocks: &[MessageBlock]) -> Cow<'_, str> {
    let mut texts = plain_texts(blocks);
    let first = texts.next().unwrap_or_default();
    match texts.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
    }
}
