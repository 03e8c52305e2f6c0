//! Formats whose block is a mark, JSON that names tool and arguments, and most often a closing mark.
//!
//! Hermes, Qwen, Granite, Mistral's first one, Nemotron, Jamba, Hunyuan, InternLM, Command R, LM Studio and
//! more: they differ in their marks alone. Not here: blocks with the name outside the JSON.

use super::block::{CallBlock, JSON_FENCES, ReplySource};
use super::call::Sure;
use super::formats::{FoundMark, TextFormat};
use super::repair::{Repair, Repairs};
use super::value::OpenEnd;

/// Reads the block that `mark` opens.
pub(super) fn read_tagged(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let body = source.skip_space(mark.body);
    let fenced = source.skip_token(body, JSON_FENCES);
    let mut repairs = Repairs::default();
    if fenced.is_some() {
        repairs.add_repair(Repair::Fence);
    }
    let body = source.skip_space(fenced.unwrap_or(body));
    let mut whole = repairs;
    let read = source.json_calls(body, Sure::Marked, &mut whole).and_then(|(calls, end)| {
        let end =
            fenced.and_then(|_| source.skip_token(source.skip_space(end), &["```"])).unwrap_or(end);
        Some((calls, close_tag(source, end, mark, &mut whole)?))
    });
    match read {
        Some((calls, end)) => Some(CallBlock { end, calls, repairs: whole }),
        None => read_open(source, body, mark.format, repairs),
    }
}

/// Where the block ends: at its mark, where the next one begins, or with the reply.
pub(super) fn close_tag(
    source: &ReplySource<'_>,
    at: usize,
    mark: FoundMark<'_>,
    repairs: &mut Repairs,
) -> Option<usize> {
    let closes = mark.format.closes;
    if mark.format.closes_itself {
        let end = source.skip_token(source.skip_space(at), closes).unwrap_or(at);
        return Some(end);
    }
    let next = source.skip_space(at);
    if let Some(end) = source.skip_token(next, closes) {
        return Some(end);
    }
    if let Some(end) = source.skip_token(next, mark.format.opens) {
        repairs.add_repair(Repair::MissingMark);
        // Some models close with the opening mark.
        return Some(if source.is_blank(end) { end } else { at });
    }
    source.close_block(at, closes, repairs)
}

/// A block whose closing mark says where it ends, though a bracket is still open there. Where such a block opens
/// within this one, it is half a call: the inner one may be a text of its arguments.
fn read_open(
    source: &ReplySource<'_>,
    body: usize,
    format: &TextFormat,
    mut repairs: Repairs,
) -> Option<CallBlock> {
    let (end, close) = format
        .closes
        .iter()
        .filter_map(|close| Some((source.find_token(body, close)?, *close)))
        .min_by_key(|(at, _)| *at)?;
    let read = source.calls_until(body..end, OpenEnd::Marked, Sure::Marked, &mut repairs);
    let read = read.filter(|(_, read_to)| source.text[*read_to..end].trim().is_empty());
    let inside = &source.text[body..end];
    let holds_another = || format.opens.iter().any(|open| inside.contains(*open));
    if read.is_none() && inside.starts_with(['{', '[']) && holds_another() {
        source.note_half_call();
    }
    let (calls, _) = read?;
    Some(CallBlock { end: end + close.len(), calls, repairs })
}

/// Llama's `<|python_tag|>`: JSON, or a call in Python's notation.
pub(super) fn read_python_tag(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    read_tagged(source, mark).or_else(|| super::python::read_python(source, mark))
}
