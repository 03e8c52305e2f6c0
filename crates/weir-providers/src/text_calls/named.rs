//! Formats that put the name of the tool outside the JSON of its arguments.
//!
//! DeepSeek, Kimi, Mistral's later ones, Llama's `<function=…>`, Functionary, Harmony, Qwen-Agent, Laguna. Not
//! here: arguments in markup.

use serde_json::Map;

use super::block::{CallBlock, ReplySource};
use super::call::{CALLS_MAX, TextCall};
use super::formats::FoundMark;
use super::repair::{Repair, Repairs};
use super::tagged::close_tag;
use super::value::Notation;

/// Most characters of a header before its arguments.
const HEADER_LENGTH_MAX: usize = 240;

/// The marks of a section of calls, each of which may be written in several ways.
struct SectionMarks {
    section: &'static [&'static str],
    call: &'static [&'static str],
    separator: &'static [&'static str],
    call_end: &'static [&'static str],
    section_end: &'static [&'static str],
}

const DEEPSEEK: SectionMarks = SectionMarks {
    section: &["<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>", "<｜tool_calls_begin｜>"],
    call: &["<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>", "<｜tool_call_begin｜>"],
    separator: &["<｜tool▁sep｜>", "<|tool▁sep|>", "<｜tool_sep｜>"],
    call_end: &["<｜tool▁call▁end｜>", "<|tool▁call▁end|>", "<｜tool_call_end｜>"],
    section_end: &["<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>", "<｜tool_calls_end｜>"],
};

const KIMI: SectionMarks = SectionMarks {
    section: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
    call: &["<|tool_call_begin|>"],
    separator: &["<|tool_call_argument_begin|>", "<|tool_call_arguments_begin|>"],
    call_end: &["<|tool_call_end|>"],
    section_end: &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
};

/// DeepSeek R1, V3 and V3.1.
pub(super) fn read_deepseek(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    read_section(source, mark.start, &DEEPSEEK)
}

/// Kimi K2.
pub(super) fn read_kimi(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    read_section(source, mark.start, &KIMI)
}

fn read_section(source: &ReplySource<'_>, start: usize, marks: &SectionMarks) -> Option<CallBlock> {
    let in_section = source.skip_token(start, marks.section);
    let mut at = source.skip_space(in_section.unwrap_or(start));
    let mut block = CallBlock::begun_at(at);
    while let Some(body) = source.skip_token(at, marks.call) {
        let (call, end) = read_entry(source, body, marks, &mut block.repairs)?;
        let closed = source.skip_token(source.skip_space(end), marks.call_end);
        if closed.is_none() {
            block.repairs.add_repair(Repair::MissingMark);
        }
        block.push_call(call, at..end)?;
        block.end = closed.unwrap_or(end);
        at = source.skip_space(block.end);
    }
    if block.calls.is_empty() {
        return None;
    }
    match source.skip_token(at, marks.section_end) {
        Some(end) => block.end = end,
        None if in_section.is_some() => {
            block.end = source.close_block(block.end, marks.section_end, &mut block.repairs)?;
        }
        None => (),
    }
    Some(block)
}

/// `name SEP {…}`, `function SEP name\n{…}`, `functions.name:0 SEP {…}`.
fn read_entry(
    source: &ReplySource<'_>,
    body: usize,
    marks: &SectionMarks,
    repairs: &mut Repairs,
) -> Option<(TextCall, usize)> {
    let (first, separator) = source.read_name(body, marks.separator)?;
    let after = source.skip_token(separator, marks.separator)?;
    let (tool, at) = match source.tools.find_tool(first) {
        Some(tool) => (tool, after),
        None => {
            let (name, at) = source.read_name(after, &["\n", "```", "{"])?;
            (source.tools.find_tool(name).filter(|_| first == "function")?, at)
        }
    };
    let (arguments, end) = source.read_arguments(at, repairs)?;
    Some((TextCall { tool: tool.to_owned(), arguments }, end))
}

/// `[TOOL_CALLS]name[ARGS]{…}`, with or without an id between, and several of them.
pub(super) fn read_mistral(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let at = source.skip_space(mark.body);
    let (name, mut at) = source.read_name(at, &["[CALL_ID]", "[ARGS]", "{", "\n"])?;
    let tool = source.tools.find_tool(name)?;
    if let Some(id) = source.skip_token(at, &["[CALL_ID]"]) {
        at = source.read_name(id, &["[ARGS]", "{"])?.1;
    }
    let at = source.skip_token(at, &["[ARGS]"]).unwrap_or(at);
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = source.skip_token(source.skip_space(end), mark.format.closes).unwrap_or(end);
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// Poolside's Laguna: the name on a line and JSON on the next, between marks.
pub(super) fn read_name_line(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let (name, at) = source.read_name(source.skip_space(mark.body), &["\n", "{"])?;
    let tool = source.tools.find_tool(name)?;
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = close_tag(source, end, mark, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// `<function=name>{…}</function>`, also where a model forgot the bracket behind the name.
pub(super) fn read_function_tag(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let (name, at) = source.read_name(mark.body, &[">", "{", ",", "="])?;
    let tool = source.tools.find_tool(name.trim_matches('"'))?;
    let mut repairs = Repairs::default();
    let at = match source.skip_token(at, &[">"]) {
        Some(at) => at,
        None => {
            repairs.add_repair(Repair::StrayMarks);
            source.skip_token(at, &[",", "=", "("]).unwrap_or(at)
        }
    };
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = source.skip_token(end, &[")"]).unwrap_or(end);
    let end = source.close_block(end, mark.format.closes, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// The same where the beginning of the tag was lost: `name{…}</function>`.
pub(super) fn read_function_tail(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let (name, at) = source.read_name(mark.start, &["{"])?;
    let tool = source.tools.find_tool(name)?;
    let mut repairs = Repairs::default();
    repairs.add_repair(Repair::MissingOpening);
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = source.skip_token(source.skip_space(end), mark.format.closes)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// Functionary: `>>>name\n{…}`, or `<|recipient|>name\n<|content|>{…}`.
pub(super) fn read_functionary(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let (name, at) = source.read_name(mark.body, &["\n"])?;
    let tool = source.tools.find_tool(name)?;
    let at = source.skip_space(at);
    let at = source.skip_token(at, &["<|content|>"]).unwrap_or(at);
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = source.skip_token(source.skip_space(end), mark.format.closes).unwrap_or(end);
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// Harmony: a message to a function, `… to=functions.name … <|message|>{…}<|call|>`.
pub(super) fn read_harmony(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let (header, message) = read_header(source, mark.start, "<|message|>")?;
    let name = recipient_of(header)?;
    let tool = source.tools.find_tool(name)?;
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(message, &mut repairs)?;
    let end = source.close_block(end, mark.format.closes, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// The same where a server left the marks out: `commentary to=functions.name json{…}`.
pub(super) fn read_bare_harmony(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let (header, _) = read_header(source, mark.start, "{")?;
    let at = mark.start + header.len();
    let tool = source.tools.find_tool(recipient_of(header)?)?;
    let mut repairs = Repairs::default();
    repairs.add_repair(Repair::MissingMark);
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    let end = source.skip_token(source.skip_space(end), mark.format.closes).unwrap_or(end);
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// What stands between `start` and `end`, and where it goes on behind that.
fn read_header<'a>(source: &ReplySource<'a>, start: usize, end: &str) -> Option<(&'a str, usize)> {
    let rest = source.rest_at(start);
    let length = rest[..rest.floor_char_boundary(HEADER_LENGTH_MAX)].find(end)?;
    Some((&rest[..length], start + length + end.len()))
}

fn recipient_of(header: &str) -> Option<&str> {
    let (_, to) = header.split_once("to=")?;
    // Of a header that holds two messages nobody knows which one is sent.
    if header.contains("<|end|>") || to.contains("to=") {
        return None;
    }
    let end = to.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(to.len());
    Some(&to[..end])
}

/// Qwen-Agent: `✿FUNCTION✿: name\n✿ARGS✿: {…}`.
pub(super) fn read_qwen_agent(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let at = source.skip_token(mark.body, &[":", "："]).unwrap_or(mark.body);
    let (name, at) = source.read_name(at, &["\n", "✿"])?;
    let tool = source.tools.find_tool(name)?;
    let at = source.skip_token(source.skip_space(at), &["✿ARGS✿"])?;
    let at = source.skip_token(at, &[":", "："]).unwrap_or(at);
    let mut repairs = Repairs::default();
    let (arguments, end) = source.read_arguments(at, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// `{tool => "name", args => { --key "value" }}` between `[TOOL_CALL]` and `[/TOOL_CALL]`.
pub(super) fn read_arrows(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let mut repairs = Repairs::default();
    let eat = |at: usize, token: &str| source.skip_token(source.skip_space(at), &[token]);
    let at = eat(eat(eat(mark.body, "{")?, "tool")?, "=>")?;
    let (name, at) = source.read_value(source.skip_space(at), Notation::Json, &mut repairs)?;
    let tool = source.tools.find_tool(name.as_str()?)?;
    let at = eat(at, ",").unwrap_or(at);
    let mut at = eat(eat(eat(at, "args")?, "=>")?, "{")?;
    let mut arguments = Map::new();
    while let Some(key) = eat(at, "--") {
        let (name, end) = source.read_name(key, &[" ", "\n", "\t"])?;
        let value_at = source.skip_space(end);
        let (value, end) = match source.skip_token(value_at, &["\"", "{", "[", "'"]) {
            Some(_) => source.read_value(value_at, Notation::Json, &mut repairs)?,
            None => {
                let (raw, end) = source.read_name(value_at, &["\n", "}"])?;
                (source.tools.typed_value(tool, name, raw), end)
            }
        };
        if arguments.insert(name.to_owned(), value).is_some() || arguments.len() > CALLS_MAX {
            return None;
        }
        at = eat(end, ",").unwrap_or(end);
    }
    let end = source.close_block(eat(eat(at, "}")?, "}")?, mark.format.closes, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}
