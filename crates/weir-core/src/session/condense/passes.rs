//! The passes that ask no model: long results become references, mechanical noise goes (X2).

use std::collections::{BTreeMap, HashSet};

use crate::event::{Held, Origin};
use crate::message::{Block, plain_text};

/// Characters that an old result may keep.
const RESULT_MAX: usize = 400;
/// Characters of its beginning that a reference quotes.
const QUOTE_MAX: usize = 160;
/// What a reference ends with: a result that has it is one already.
const MARK: &str = "(shortened; `recall` finds the rest)]";

/// Pass one: results are cut to a reference. `hard`: recent ones too, and shorter.
pub(super) fn shorten_results(messages: &mut [Held], hard: bool) {
    let max = if hard { QUOTE_MAX } else { RESULT_MAX };
    for held in messages.iter_mut().filter(|held| held.origin == Origin::Told) {
        for block in &mut held.message.blocks {
            if let Block::Result { call, blocks, .. } = block {
                let text = plain_text(blocks);
                let chars = text.chars().count();
                let media = blocks.iter().any(|block| !matches!(block, Block::Text { .. }));
                if (chars <= max && !media) || text.ends_with(MARK) {
                    continue;
                }
                let quote = quote(&text);
                let media = if media { " and pictures" } else { "" };
                let short = format!("{quote}\n[Result of {call}, {chars} characters{media} {MARK}");
                *blocks = vec![Block::text(short)];
            }
        }
    }
}

fn quote(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(QUOTE_MAX).collect()
}

/// Pass two: thinking, notes that are out of date or told again, and results that a later one
/// repeats word for word.
pub(super) fn drop_noise(messages: &mut Vec<Held>, told: &BTreeMap<String, String>) {
    let current: HashSet<&str> = told.values().map(String::as_str).collect();
    let mut seen: HashSet<String> = HashSet::new();
    // From the newest to the oldest: the newest of equal texts stays.
    for held in messages.iter_mut().rev() {
        match held.origin {
            Origin::Model => {
                held.message.blocks.retain(|block| !matches!(block, Block::Thinking { .. }));
            }
            Origin::Told => {
                let mut blocks = std::mem::take(&mut held.message.blocks);
                blocks.retain(|block| match block {
                    Block::Text { text, .. } => {
                        current.contains(text.as_str()) && seen.insert(text.clone())
                    }
                    _ => true,
                });
                for block in &mut blocks {
                    if let Block::Result { call, blocks, .. } = block {
                        let text = plain_text(blocks);
                        if text.len() > 80 && !seen.insert(text) {
                            let same = format!("[Result of {call}: the same as a later one]");
                            *blocks = vec![Block::text(same)];
                        }
                    }
                }
                held.message.blocks = blocks;
            }
            Origin::Person | Origin::Summary => (),
        }
    }
    messages.retain(|held| !held.message.blocks.is_empty());
}
