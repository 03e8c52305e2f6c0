//! Calls in Python's notation: Llama 4, LFM2, Olmo 3, Granite, and Gemma's `tool_code`.
//!
//! Only calls of offered tools with values written out: a program with variables or loops is no call. Not
//! here: Gemma's own `call:name{…}`, which is no Python.

use serde_json::{Map, Value};

use super::block::{CallBlock, ReplySource};
use super::call::TextCall;
use super::formats::FoundMark;
use super::repair::{Repair, Repairs};
use super::value::{Notation, take_dotted_name, take_name};

/// The block that a mark opens.
pub(super) fn read_python(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let mut block = read_calls(source, mark.body)?;
    block.end = match mark.format.closes_itself {
        true => {
            let next = source.skip_space(block.end);
            source.skip_token(next, mark.format.closes).unwrap_or(block.end)
        }
        false => source.close_block(block.end, mark.format.closes, &mut block.repairs)?,
    };
    Some(block)
}

/// Without a mark: a list of calls, or calls on lines of their own.
pub(super) fn read_bare(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    read_calls(source, mark.start)
}

/// `[a(x=1), b()]`, or calls one after the other.
pub(super) fn read_calls(source: &ReplySource<'_>, at: usize) -> Option<CallBlock> {
    let at = source.skip_space(at);
    let listed = source.skip_token(at, &["["]);
    let mut at = source.skip_space(listed.unwrap_or(at));
    let mut block = CallBlock::begun_at(at);
    loop {
        let Some((call, end)) = read_call(source, at, &mut block.repairs) else {
            if listed.is_some() || block.calls.is_empty() {
                return None;
            }
            return Some(block);
        };
        block.push_call(call, at..end)?;
        let next = source.skip_space(end);
        let comma = source.skip_token(next, &[",", ";"]);
        at = source.skip_space(comma.unwrap_or(next));
        if listed.is_some() {
            if let Some(end) = source.skip_token(at, &["]"]) {
                block.end = end;
                return Some(block);
            }
            comma?;
        }
    }
}

fn read_call(
    source: &ReplySource<'_>,
    at: usize,
    repairs: &mut Repairs,
) -> Option<(TextCall, usize)> {
    source.spend_looks(1)?;
    // Gemini's and Gemma's habit: the call stands in a `print`.
    let printed = source.skip_token(at, &["print("]);
    let at = printed.unwrap_or(at);
    let name = take_dotted_name(source.rest_at(at))?;
    let open = source.skip_token(at + name.len(), &["("])?;
    let tool = source.tools.find_tool(name.strip_suffix(".call").unwrap_or(name))?;
    let (arguments, end) = read_arguments(source, tool, open, repairs)?;
    let end = match printed {
        Some(_) => source.skip_token(source.skip_space(end), &[")"])?,
        None => end,
    };
    Some((TextCall { tool: tool.to_owned(), arguments }, end))
}

/// What stands between the brackets, and where it goes on behind them.
fn read_arguments(
    source: &ReplySource<'_>,
    tool: &str,
    at: usize,
    repairs: &mut Repairs,
) -> Option<(Map<String, Value>, usize)> {
    let mut at = source.skip_space(at);
    let mut arguments = Map::new();
    loop {
        if let Some(end) = source.skip_token(at, &[")"]) {
            return Some((arguments, end));
        }
        let (key, value_at) = match read_keyword(source, at) {
            Some(found) => found,
            None if arguments.is_empty() => {
                let only = source.tools.only_property(tool)?;
                repairs.add_repair(Repair::OnlyArgument);
                (only, at)
            }
            None => return None,
        };
        let (value, end) = source.read_value(value_at, Notation::Python, repairs)?;
        if arguments.insert(key.to_owned(), value).is_some() {
            return None;
        }
        let next = source.skip_space(end);
        match source.skip_token(next, &[","]) {
            Some(after) => at = source.skip_space(after),
            None => return Some((arguments, source.skip_token(next, &[")"])?)),
        }
    }
}

/// `key =`, and where its value begins.
fn read_keyword<'a>(source: &ReplySource<'a>, at: usize) -> Option<(&'a str, usize)> {
    let key = take_name(source.rest_at(at))?;
    let equals = source.skip_space(at + key.len());
    let value = source.skip_token(equals, &["="])?;
    (!source.rest_at(value).starts_with('=')).then(|| (key, source.skip_space(value)))
}

/// Gemma 4 and FunctionGemma: `call:name{key:<escape>value<escape>}` between marks.
pub(super) fn read_gemma(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let at = source.skip_token(source.skip_space(mark.body), &["call:"])?;
    let name = take_dotted_name(source.rest_at(at))?;
    let tool = source.tools.find_tool(name)?;
    let mut repairs = Repairs::default();
    let (value, end) = source.read_value(at + name.len(), Notation::Gemma, &mut repairs)?;
    let Value::Object(arguments) = value else { return None };
    let end = source.close_block(end, mark.format.closes, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}
