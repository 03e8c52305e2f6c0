//! The outermost blocks of a text, for clients that paint a block as a whole and anew while it grows: a
//! list with all of its points, a table, a fence with its code. Not here: pieces of a block that no
//! longer change by themselves ([`super::MarkdownPiece`]).

use super::{MarkdownPiece, PieceJoint, PieceScanner};

/// The blocks of a Markdown text, which together are the text. Of any longer text that begins with
/// this one, all but the last of them are the first blocks too.
pub fn split_blocks(text: &str) -> Vec<&str> {
    let mut cuts = block_starts(text);
    cuts.push(text.len());
    let pairs = cuts.windows(2).map(|pair| text.get(pair[0]..pair[1]).unwrap_or_default());
    pairs.filter(|block| !block.is_empty()).collect()
}

/// Finds the blocks of a growing text without reading what is finished again.
#[derive(Debug, Clone, Default)]
pub struct BlockSplitter {
    /// Where the last block began that was seen.
    from: usize,
}

impl BlockSplitter {
    /// The blocks of `text` from the first that may have changed since the last call, and where
    /// that one begins. `text` begins with what it was at the last call.
    pub fn changed_blocks<'a>(&mut self, text: &'a str) -> (usize, Vec<&'a str>) {
        let from = self.from;
        let found = split_blocks(text.get(from..).unwrap_or_default());
        self.from = text.len() - found.last().map_or(0, |last| last.len());
        (from, found)
    }
}

/// Where blocks begin, 0 first. Only lines that are complete say so: the beginning of one may come to
/// be something else with its next letter.
fn block_starts(text: &str) -> Vec<usize> {
    let (mut scanner, mut pieces) = (PieceScanner::default(), Vec::new());
    scanner.scan_lines(text, &mut pieces);
    let starts = pieces.iter().filter_map(|piece| match piece {
        MarkdownPiece::Blocks { at, joint: PieceJoint::Apart } => Some(at.start),
        MarkdownPiece::Fence(at) => Some(at.start),
        // They go on with the block before.
        MarkdownPiece::Blocks { joint: PieceJoint::NextPoint(_) | PieceJoint::Cut(_), .. }
        | MarkdownPiece::Code(..)
        | MarkdownPiece::MoreCode(_)
        | MarkdownPiece::MoreText(_) => None,
    });
    let starts = starts.chain(scanner.open_block_start());
    // Blank lines before the first block belong to it.
    [0].into_iter().chain(starts.skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\nOne\ntwo.\n\n- a\n\n  more of a\n- b\n\n* other\n\n| a | b |\n|---|---|\n\
                        | 1 | 2 |\n\n```rust\nfn a() {}\n\nfn b() {}\n```\n# Head\ntext\n---\nend";

    #[test]
    fn s12_a_block_holds_what_belongs_together() {
        assert_eq!(
            split_blocks(TEXT),
            [
                "\nOne\ntwo.\n\n",
                "- a\n\n  more of a\n- b\n\n",
                "* other\n\n",
                "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
                "```rust\nfn a() {}\n\nfn b() {}\n```\n",
                "# Head\n",
                "text\n---\nend",
            ]
        );
        assert_eq!(split_blocks(""), Vec::<&str>::new());
        assert_eq!(split_blocks("no end"), ["no end"]);
    }

    #[test]
    fn s12_finished_blocks_stay_however_the_text_grows() {
        let whole = split_blocks(TEXT);
        let mut growing = BlockSplitter::default();
        let mut blocks: Vec<String> = Vec::new();
        for end in (0..=TEXT.len()).filter(|end| TEXT.is_char_boundary(*end)) {
            let before = split_blocks(&TEXT[..end]);
            let finished = before.len().saturating_sub(1);
            assert_eq!(before[..finished], whole[..finished], "{:?}", &TEXT[..end]);
            let (_, changed) = growing.changed_blocks(&TEXT[..end]);
            blocks.pop();
            blocks.extend(changed.into_iter().map(str::to_owned));
            assert_eq!(blocks.concat(), TEXT[..end]);
        }
        assert_eq!(blocks, whole);
    }
}
