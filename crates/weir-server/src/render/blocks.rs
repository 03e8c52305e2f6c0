//! A text that is still being written, in pieces that no longer change: what stands in all but the
//! last of them needs no second rendering.

use pulldown_cmark::{Event, Options, Parser};

/// The blocks of a Markdown text, which together are the text. Of any longer text that begins with
/// this one, all but the last of them are the first blocks too.
pub fn split_blocks(text: &str) -> Vec<&str> {
    let mut cuts = block_starts(text);
    cuts.push(text.len());
    cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).filter(|block| !block.is_empty()).collect()
}

/// Finds the blocks of a growing text without reading what is finished again.
#[derive(Debug, Clone, Default)]
pub struct GrowingBlocks {
    /// Where the last block began that was seen.
    from: usize,
}

impl GrowingBlocks {
    /// The blocks of `text` from the first that may have changed since the last call, and where
    /// that one begins. `text` begins with what it was at the last call.
    pub fn changed_blocks<'a>(&mut self, text: &'a str) -> (usize, Vec<&'a str>) {
        let from = self.from;
        let found = split_blocks(text.get(from..).unwrap_or_default());
        self.from = text.len() - found.last().map_or(0, |last| last.len());
        (from, found)
    }
}

/// Where blocks begin. Only lines that are complete say so: the beginning of one may come to be
/// something else with its next letter.
fn block_starts(text: &str) -> Vec<usize> {
    let text = &text[..text.rfind('\n').map_or(0, |newline| newline + 1)];
    let mut options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    options |= Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_MATH;
    let (mut cuts, mut depth, mut end) = (vec![0], 0_usize, 0);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    add_cuts_between(text, end, line_start(text, range.start), &mut cuts);
                    end = range.end;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                add_cuts_between(text, end, line_start(text, range.start), &mut cuts);
                end = range.end;
            }
            _ => (),
        }
    }
    add_cuts_between(text, end, text.len(), &mut cuts);
    cuts
}

/// A cut before the block at `next`, and one before what stands between it and the block that ended
/// at `end`: definitions of links are no blocks of their own to the parser.
fn add_cuts_between(text: &str, end: usize, next: usize, cuts: &mut Vec<usize>) {
    let gap = text.get(end..next).unwrap_or_default();
    let blank = gap.len() - gap.trim_start().len();
    let mut cut = |at: usize| {
        if cuts.last().is_none_or(|last| *last < at) {
            cuts.push(at);
        }
    };
    if blank < gap.len() {
        cut(line_start(text, end + blank));
    }
    if next < text.len() {
        cut(next);
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}
