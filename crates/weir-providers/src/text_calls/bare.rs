//! Formats without marks: JSON alone, a name and JSON, ReAct's lines, Command R's `Action:`.
//!
//! They count only where a line begins and the reply ends. Not here: JSON in a code fence.

use serde_json::{Map, Value};

use super::block::{CallBlock, ReplySource};
use super::call::Sure;
use super::formats::FoundMark;
use super::repair::{Repair, Repairs};

/// Marks that close a call whose opening mark a model, or its server, left out.
const ORPHANS: &[&str] = &["</tool_call>", "</tool_calls>", "</function_call>", "</tools>"];

/// One object that names tool and arguments, or several.
pub(super) fn read_json(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let mut repairs = Repairs::default();
    let (calls, mut end) = source.json_calls(mark.start, Sure::Unmarked, &mut repairs)?;
    if let Some(close) = source.skip_token(source.skip_space(end), ORPHANS) {
        repairs.add_repair(Repair::MissingOpening);
        end = close;
    }
    Some(CallBlock { end, calls, repairs })
}

/// GLM-4: the name on a line, its arguments as JSON on the next.
pub(super) fn read_named(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let (name, at) = source.read_name(mark.start, &["\n"])?;
    let tool = source.tools.find_tool(name)?;
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// `Action:` with JSON behind it, or with a name and `Action Input:`.
pub(super) fn read_action(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let at = source.skip_space(mark.body);
    if source.skip_token(at, &["```", "{", "["]).is_some() {
        return super::tagged::read_tagged(source, mark).map(|mut block| {
            // The fence belongs to the format.
            block.repairs.remove(Repair::Fence);
            block
        });
    }
    let (name, at) = source.read_name(at, &["\n"])?;
    let name = name.trim_matches(|c| matches!(c, '`' | '"' | '\'' | '[' | ']' | '*'));
    let tool = source.tools.find_tool(name)?;
    let input = source.skip_token(
        source.skip_space(at),
        &["Action Input:", "**Action Input:**", "Action input:", "Action_Input:"],
    )?;
    let mut repairs = Repairs::default();
    let (arguments, end) = source
        .read_arguments(input, &mut repairs)
        .or_else(|| read_plain_input(source, tool, input, &mut repairs))?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// An input that is no JSON is the value of the only argument that a tool has.
fn read_plain_input(
    source: &ReplySource<'_>,
    tool: &str,
    at: usize,
    repairs: &mut Repairs,
) -> Option<(Map<String, Value>, usize)> {
    let only = source.tools.only_property(tool)?;
    let end = source.find_token(at, "\n").unwrap_or(source.text.len());
    let raw = source.text[at..end].trim();
    if raw.is_empty() || raw.starts_with(['{', '[', '`']) {
        return None;
    }
    *repairs = Repairs::default();
    repairs.add_repair(Repair::OnlyArgument);
    let raw = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
    let value = source.tools.typed_value(tool, only, raw);
    Some((Map::from_iter([(only.to_owned(), value)]), end))
}
