//! The one pass over a reply: where code and thinking quote, where a block may begin, and which blocks count.
//!
//! Not here: how any format is read.

use super::begin::open_at;
use super::block::{CallBlock, Readers, ReplySource};
use super::call::CALLS_MAX;
use super::counted::{self, PlacedBlock, ReplyBody};
use super::formats::{FORMATS, FoundMark, Place, REACT, TURN_ENDS, TextFormat};
use super::offered::{CallHabit, OfferedTools};
use super::repair::{Repair, Repairs};
use super::walk::{CODE_INDENT, Stop, Walk, ends_thinking};
use super::{FoundCalls, FoundPiece, TEXT_BYTES_MAX, fence};

/// What is left over behind calls when a model mixes two formats up.
const STRAY_MARKS: &[&str] = &[
    "</tool_call>",
    "</function>",
    "</function_invocation>",
    "</function_call>",
    "</function_calls>",
    "</tool_calls>",
    "</invoke>",
    "</parameter>",
    "</tool_code>",
    "[/TOOL_CALLS]",
    "<tool_call|>",
];
/// With what a model begins to write the result of its own call.
const OWN_RESULTS: &[&str] = &[
    "<tool_response>",
    "<function_results>",
    "<function_response>",
    "<tool_result>",
    "<|tool_response|>",
    "<|tool_response>",
    "<|start|>functions.",
    "<｜tool▁outputs▁begin｜>",
    "[TOOL_RESULTS]",
    "[TOOL_RESULT]",
    "```tool_output",
    "✿RESULT✿",
];
/// The same behind a call of ReAct; elsewhere it is a word of prose.
const REACT_RESULT: &str = "Observation:";
/// Characters that open a quotation.
const QUOTES: &[char] = &['"', '\'', '`', '“', '„', '‘', '«', '‹', '「', '『'];
/// How much of a line is looked at for a quotation.
const LINE_BYTES_MAX: usize = 1_000;

pub(super) fn find_calls(
    text: &str,
    tools: &OfferedTools,
    is_quotation: &dyn Fn(&str) -> bool,
) -> FoundCalls {
    let unchanged = |repairs: Repairs| FoundCalls {
        pieces: vec![FoundPiece::Said(text.to_owned())],
        formats: Vec::new(),
        repairs: repairs.as_words(),
    };
    let mut left_alone = Repairs::default();
    if text.len() > TEXT_BYTES_MAX || tools.is_empty() {
        return unchanged(left_alone);
    }
    let readers = Readers::for_length(text.len());
    let source = ReplySource::new(text, tools, &readers);
    let mut scan = Scan::of(&source);
    scan.run();
    let Scan { mut blocks, body, left_behind_half, .. } = scan;
    if source.is_spent() {
        left_alone.add_repair(Repair::Unread);
        return unchanged(left_alone);
    }
    if left_behind_half {
        left_alone.add_repair(Repair::BehindHalf);
    }
    counted::keep_those_that_count(text, body, &mut blocks);
    let count: usize = blocks.iter().map(|placed| placed.block.calls.len()).sum();
    if count > CALLS_MAX {
        return unchanged(left_alone);
    }
    if counted::drop_quotations(text, &mut blocks, is_quotation) {
        left_alone.add_repair(Repair::Quotation);
        // What stayed text is now words behind and before the others.
        counted::keep_those_that_count(text, body, &mut blocks);
    }
    if tools.habit == CallHabit::AlsoText && counted::drop_explained(text, body, &mut blocks) {
        left_alone.add_repair(Repair::Explained);
    }
    if blocks.is_empty() {
        return unchanged(left_alone);
    }
    assemble_pieces(text, blocks, left_alone)
}

fn assemble_pieces(text: &str, blocks: Vec<PlacedBlock>, mut repairs: Repairs) -> FoundCalls {
    let mut found = FoundCalls::default();
    let mut at = 0;
    let say = |pieces: &mut Vec<FoundPiece>, said: &str| {
        if !said.is_empty() {
            pieces.push(FoundPiece::Said(said.to_owned()));
        }
    };
    for PlacedBlock { start, block, format, .. } in blocks {
        let said = &text[at..start];
        let said = if at == 0 { said } else { said.trim_start() };
        say(&mut found.pieces, said.trim_end());
        at = block.end;
        repairs.add_all(block.repairs);
        found.pieces.extend(block.calls.into_iter().map(|one| FoundPiece::Call(one.call)));
        if !found.formats.contains(&format) {
            found.formats.push(format);
        }
    }
    say(&mut found.pieces, text[at..].trim());
    found.repairs = repairs.as_words();
    found
}

struct Scan<'s, 'a> {
    source: &'s ReplySource<'a>,
    blocks: Vec<PlacedBlock>,
    body: ReplyBody,
    /// Half a call was met: what stands behind it may be a part of its arguments, and calls nothing.
    is_behind_half: bool,
    /// A whole call was left alone for that.
    left_behind_half: bool,
}

impl<'s, 'a> Scan<'s, 'a> {
    fn of(source: &'s ReplySource<'a>) -> Scan<'s, 'a> {
        Scan {
            source,
            blocks: Vec::new(),
            body: ReplyBody::default(),
            is_behind_half: false,
            left_behind_half: false,
        }
    }

    fn run(&mut self) {
        let text = self.source.text;
        let mut walk = Walk::from(text, 0);
        while let Some(stop) = walk.next_stop(self.source) {
            let at = match stop {
                Stop::Thought { start, end } => {
                    if text[..start].trim().is_empty() {
                        self.body.from = end;
                        // Of thinking that has lost its beginning, the calls were found already.
                        self.blocks.clear();
                        (self.is_behind_half, self.left_behind_half) = (false, false);
                    }
                    continue;
                }
                Stop::OpenThought(at) => {
                    if !self.is_left_out(at) {
                        self.body.thinking.get_or_insert(at);
                    }
                    continue;
                }
                Stop::Fence(at, fence) => {
                    if let Some((block, format, place)) = fence::read_fence(self.source, &fence) {
                        walk.at = self.place_block(at, block, format, place);
                    } else if !fence.is_closed {
                        self.drop_thought_before(at);
                    }
                    continue;
                }
                Stop::Literal { start, end: None } => {
                    self.drop_thought_before(start);
                    continue;
                }
                Stop::Literal { .. } | Stop::Span { .. } => continue,
                Stop::Mark(at) => at,
            };
            let line_start = walk.is_line_start(text, at);
            let Some((block, format)) = read_at(self.source, at, line_start) else {
                self.is_behind_half |= self.source.is_half_call();
                walk.step_over(text, at);
                continue;
            };
            walk.at = self.place_block(at, block, format.name, format.place);
            if walk.at == text.len() || self.blocks.len() > CALLS_MAX {
                break;
            }
        }
    }

    /// Of what begins at `at` and never ends nothing calls. Where thinking ends in it that has lost its beginning,
    /// the calls before it were thought.
    fn drop_thought_before(&mut self, at: usize) {
        if ends_thinking(self.source.rest_at(at)) {
            self.blocks.clear();
        }
    }

    /// Whether `at` stands in what the model made up as the result of the call before it.
    fn is_left_out(&self, at: usize) -> bool {
        self.blocks.last().is_some_and(|last| at < last.block.end)
    }

    /// Keeps a block unless something quotes it. Gives back where to go on.
    fn place_block(
        &mut self,
        start: usize,
        block: CallBlock,
        format: &'static str,
        place: Place,
    ) -> usize {
        let core_end = block.end;
        let is_quoted = place != Place::Ending
            && (is_quoted_before(self.source.text, start, self.blocks.last())
                || (place == Place::Lines && has_words_behind(self.source, core_end)));
        if is_quoted || self.is_left_out(start) {
            return core_end;
        }
        if self.is_behind_half {
            self.left_behind_half = true;
            return core_end;
        }
        let mut placed = PlacedBlock { start, core_end, block, format, place };
        let end = leave_out_marks(self.source, &mut placed);
        self.blocks.push(placed);
        end
    }
}

/// Takes what belongs to no text into the block before it: marks left over, and a made-up result, which is
/// walked over all the same: thinking may end in it. Gives back where to go on.
fn leave_out_marks(source: &ReplySource<'_>, placed: &mut PlacedBlock) -> usize {
    let PlacedBlock { block, format, .. } = placed;
    loop {
        let next = source.skip_space(block.end);
        let is_observed = *format == REACT && source.skip_token(next, &[REACT_RESULT]).is_some();
        if let Some(end) = source.skip_token(next, TURN_ENDS) {
            block.end = end;
        } else if let Some(end) = source.skip_token(next, STRAY_MARKS) {
            block.repairs.add_repair(Repair::StrayMarks);
            block.end = end;
        } else if is_observed || source.skip_token(next, OWN_RESULTS).is_some() {
            block.repairs.add_repair(Repair::OwnResult);
            block.end = source.text.len();
            return next;
        } else {
            return block.end;
        }
    }
}

/// Whether the line before `start` quotes what stands there.
fn is_quoted_before(text: &str, start: usize, before: Option<&PlacedBlock>) -> bool {
    let mut from = before.map_or(0, |placed| placed.block.end).min(start);
    from = text.ceil_char_boundary(from.max(start.saturating_sub(LINE_BYTES_MAX)));
    let line = text[from..start].rsplit('\n').next().unwrap_or("");
    let is_code = line.trim().is_empty() && (line.len() >= CODE_INDENT || line.contains('\t'));
    let is_quote = line.trim_start().starts_with('>');
    is_quote || is_code || line.trim_end().ends_with(QUOTES)
}

/// Whether words follow on the line on which a block ends.
fn has_words_behind(source: &ReplySource<'_>, end: usize) -> bool {
    let rest = source.rest_at(end).trim_start_matches([' ', '\t', '\r']);
    let at = source.text.len() - rest.len();
    let is_mark = [TURN_ENDS, STRAY_MARKS, OWN_RESULTS]
        .iter()
        .any(|marks| source.skip_token(at, marks).is_some());
    let opens = || FORMATS.iter().any(|format| open_at(format, source, at).is_some());
    !(rest.is_empty() || rest.starts_with('\n') || is_mark || opens())
}

/// The first format that reads a block at `at`.
fn read_at(
    source: &ReplySource<'_>,
    at: usize,
    is_line_start: bool,
) -> Option<(CallBlock, &'static TextFormat)> {
    let rest = source.rest_at(at);
    source.begin_mark();
    FORMATS.iter().find_map(|format| {
        if (format.place == Place::Ending && !is_line_start) || rest.is_empty() {
            return None;
        }
        let body = open_at(format, source, at)?;
        let block = (format.read)(source, FoundMark { format, start: at, body })?;
        Some((block, format))
    })
}

/// A block between marks at `at`.
pub(super) fn read_marked(
    source: &ReplySource<'_>,
    at: usize,
) -> Option<(CallBlock, &'static TextFormat)> {
    read_at(source, at, false)
}
