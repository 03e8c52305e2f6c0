//! The passes that ask no model: long results become references, mechanical noise goes (X2).

use std::collections::{BTreeMap, HashSet};

use crate::event::{HistoryEntry, MessageOrigin};
use crate::message::{MessageBlock, plain_text};

/// Characters that an old result may keep.
const RESULT_MAX: usize = 400;
/// Characters of its beginning that a reference quotes.
const QUOTE_MAX: usize = 160;
/// What a reference ends with: a result that has it is one already.
const MARK: &str = "(shortened; `recall` finds the rest)]";

/// Pass one: results are cut to a reference. `hard`: recent ones too, and shorter.
pub(super) fn shorten_results(messages: &mut [HistoryEntry], hard: bool) {
    let max = if hard { QUOTE_MAX } else { RESULT_MAX };
    for held in messages.iter_mut().filter(|held| held.origin == MessageOrigin::Told) {
        for block in &mut held.message.blocks {
            if let MessageBlock::Result { call, blocks, .. } = block {
                let text = plain_text(blocks);
                let chars = text.chars().count();
                let media = blocks.iter().any(|block| !matches!(block, MessageBlock::Text { .. }));
                if (chars <= max && !media) || text.ends_with(MARK) {
                    continue;
                }
                let quote = quote_first_line(&text);
                let media = if media { " and pictures" } else { "" };
                let short = format!("{quote}\n[Result of {call}, {chars} characters{media} {MARK}");
                *blocks = vec![MessageBlock::text(short)];
            }
        }
    }
}

fn quote_first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(QUOTE_MAX).collect()
}

/// Pass two: thinking, notes that are out of date or told again, and results that a later one
/// repeats word for word.
pub(super) fn drop_noise(messages: &mut Vec<HistoryEntry>, told: &BTreeMap<String, String>) {
    let current: HashSet<&str> = told.values().map(String::as_str).collect();
    let mut seen: HashSet<String> = HashSet::new();
    // From the newest to the oldest: the newest of equal texts stays.
    for held in messages.iter_mut().rev() {
        match held.origin {
            MessageOrigin::Model => {
                held.message.blocks.retain(|block| !matches!(block, MessageBlock::Thinking { .. }));
            }
            MessageOrigin::Told => {
                let mut blocks = std::mem::take(&mut held.message.blocks);
                blocks.retain(|block| match block {
                    MessageBlock::Text { text, .. } => {
                        current.contains(text.as_str()) && seen.insert(text.clone())
                    }
                    _ => true,
                });
                for block in &mut blocks {
                    if let MessageBlock::Result { call, blocks, .. } = block {
                        let text = plain_text(blocks);
                        if text.len() > 80 && !seen.insert(text) {
                            let same = format!("[Result of {call}: the same as a later one]");
                            *blocks = vec![MessageBlock::text(same)];
                        }
                    }
                }
                held.message.blocks = blocks;
            }
            MessageOrigin::Person | MessageOrigin::Summary => (),
        }
    }
    messages.retain(|held| !held.message.blocks.is_empty());
}
