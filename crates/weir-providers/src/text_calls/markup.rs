//! Formats that write arguments as markup: `<invoke>`, `<function=…>`, `<function name=…>`, `<arg_key>`, an
//! element per tool.
//!
//! A value ends at the closing tag behind which the markup goes on, so a value may hold the same tag. Values
//! are texts; the tool's schema says which of them are something else. A value in which another call begins has
//! lost its end, or shows a call and ends elsewhere: then nothing is called. Not here: JSON inside tags.

use serde_json::{Map, Value};

use super::block::{CallBlock, ReplySource};
use super::call::{TextCall, arguments_of, whole_value};
use super::formats::FoundMark;
use super::repair::{Repair, Repairs};
use super::value::{Notation, OpenEnd, ValueForm, take_name};

/// What Qwen's models close beside the function itself.
const STRAY_MARKS: &[&str] = &["</function>", "</function_invocation>"];
/// Begins a call of Qwen3-Coder's.
const FUNCTION: &str = "<function=";
/// Begins an argument of one.
const PARAMETER: &str = "<parameter=";
/// How many closing tags of one value are tried.
const CLOSES_TRIED_MAX: usize = 64;
/// Begins an argument of GLM's.
const ARG_KEY: &str = "<arg_key>";
/// Begins a value in which no tag counts.
const LITERAL: &str = "<![CDATA[";

/// `<invoke name="…"><parameter name="…">…</parameter></invoke>` in whatever wrapper and name space.
pub(super) fn read_invokes(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    read_with_tags(source, mark, &InvokeTags::new(mark.format.space))
}

/// MiniCPM: `<function name="…"><param name="…">…</param></function>`.
pub(super) fn read_minicpm(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let tags = InvokeTags {
        invoke: "<function name=".to_owned(),
        invoke_end: "</function>".to_owned(),
        parameter: "<param name=".to_owned(),
        parameter_end: "</param>".to_owned(),
        literal_end: Some("]]></param>".to_owned()),
    };
    read_with_tags(source, mark, &tags)
}

fn read_with_tags(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
    tags: &InvokeTags,
) -> Option<CallBlock> {
    let bare = source.rest_at(mark.start).starts_with(&tags.invoke);
    let mut at = if bare { mark.start } else { source.skip_space(mark.body) };
    let mut block = CallBlock::begun_at(at);
    while let Some(body) = source.skip_token(at, &[&tags.invoke]) {
        let (call, end) = tags.read_call(source, body, &mut block.repairs)?;
        block.push_call(call, at..end)?;
        at = source.skip_space(end);
        source.spend_looks(1)?;
    }
    if block.calls.is_empty() {
        return None;
    }
    if bare {
        block.end = source.skip_token(at, mark.format.closes).unwrap_or(block.end);
    } else {
        block.end = source.close_block(block.end, mark.format.closes, &mut block.repairs)?;
    }
    Some(block)
}

/// Step 3: such an element between marks, before which the name may stand once more.
pub(super) fn read_step3(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let tags = InvokeTags::new(mark.format.space);
    let in_section = source.skip_token(mark.start, &["<｜tool_calls_begin｜>"]);
    let mut at = source.skip_space(in_section.unwrap_or(mark.start));
    let mut block = CallBlock::begun_at(at);
    while let Some(begun) = source.skip_token(at, &["<｜tool_call_begin｜>"]) {
        source.spend_looks(1)?;
        let named = source.skip_token(source.skip_space(begun), &["function<｜tool_sep｜>"]);
        let (name, invoke) = match named {
            Some(name_at) => source.read_name(name_at, &["\n", "<"])?,
            None => ("", begun),
        };
        let body = source.skip_token(source.skip_space(invoke), &[&tags.invoke])?;
        let (call, end) = tags.read_call(source, body, &mut block.repairs)?;
        // Two names: nobody can know which is meant.
        if named.is_some() && source.tools.find_tool(name) != Some(call.tool.as_str()) {
            // Nor may the element by itself be taken for it.
            source.note_half_call();
            return None;
        }
        block.push_call(call, at..end)?;
        block.end = source.close_block(end, &["<｜tool_call_end｜>"], &mut block.repairs)?;
        at = source.skip_space(block.end);
        at = source.skip_token(at, &["<｜tool_sep｜>"]).map_or(at, |at| source.skip_space(at));
    }
    if block.calls.is_empty() {
        return None;
    }
    if in_section.is_some() {
        let closes = &["<｜tool_calls_end｜>"];
        block.end = source.close_block(block.end, closes, &mut block.repairs)?;
    }
    Some(block)
}

struct InvokeTags {
    invoke: String,
    invoke_end: String,
    parameter: String,
    parameter_end: String,
    /// With what a value ends that begins with [`LITERAL`], where a format has such values.
    literal_end: Option<String>,
}

impl InvokeTags {
    fn new(space: &str) -> InvokeTags {
        InvokeTags {
            invoke: format!("<{space}invoke name="),
            invoke_end: format!("</{space}invoke>"),
            parameter: format!("<{space}parameter name="),
            parameter_end: format!("</{space}parameter>"),
            literal_end: None,
        }
    }

    fn read_call(
        &self,
        source: &ReplySource<'_>,
        body: usize,
        repairs: &mut Repairs,
    ) -> Option<(TextCall, usize)> {
        let (name, at) = source.read_name(body, &[">"])?;
        let tool = source.tools.find_tool(without_quotes(name))?;
        let at = source.skip_space(at + 1);
        let call = self.read_parameters(source, tool, at, repairs);
        whole_or_half(source, call, at, &self.parameter)
    }

    fn read_parameters(
        &self,
        source: &ReplySource<'_>,
        tool: &str,
        mut at: usize,
        repairs: &mut Repairs,
    ) -> Option<(TextCall, usize)> {
        let mut arguments = Map::new();
        while let Some(start) = source.skip_token(at, &[&self.parameter]) {
            let (head, close) = source.read_name(start, &[">"])?;
            let (key, kind) = head.split_once(' ').unwrap_or((head, ""));
            let key = argument_name(key)?;
            let next = [self.parameter.as_str(), &self.invoke_end];
            let literal = source.skip_token(close + 1, &[LITERAL]);
            let (raw, end) = match self.literal_end.as_deref().zip(literal) {
                // In a literal nothing begins but another literal.
                Some((literal_end, from)) => value_before(source, from, literal_end, &next)
                    .filter(|(raw, _)| !raw.contains(LITERAL))?,
                None => value_before(source, close + 1, &self.parameter_end, &next)
                    .filter(|(raw, _)| !holds_call(raw, &self.invoke, &self.parameter))?,
            };
            let value = match kind.contains("string=\"false\"") {
                true => whole_value(raw, Notation::Json).map(|(value, _)| value),
                false => None,
            };
            let value = value.unwrap_or_else(|| source.tools.typed_value(tool, key, raw));
            if arguments.insert(key.to_owned(), value).is_some() {
                return None;
            }
            at = source.skip_space(end);
        }
        let end = close_call(source, at, &self.invoke_end, &arguments, repairs)?;
        Some((TextCall { tool: tool.to_owned(), arguments }, end))
    }
}

/// Where a call ends: at its closing tag, or, repaired, at the end of the reply. A name and nothing behind it
/// is half a call.
fn close_call(
    source: &ReplySource<'_>,
    at: usize,
    close: &str,
    arguments: &Map<String, Value>,
    repairs: &mut Repairs,
) -> Option<usize> {
    match arguments.is_empty() {
        true => source.skip_token(source.skip_space(at), &[close]),
        false => source.close_block(at, &[close], repairs),
    }
}

/// `call`, whose arguments are at `at`. Where there are some and it is not whole, it is half a call.
fn whole_or_half<T>(
    source: &ReplySource<'_>,
    call: Option<T>,
    at: usize,
    argument: &str,
) -> Option<T> {
    if call.is_none() && source.skip_token(at, &[argument]).is_some() {
        source.note_half_call();
    }
    call
}

/// Whether a call with an argument begins in a value.
fn holds_call(raw: &str, call: &str, argument: &str) -> bool {
    raw.split_once(call).is_some_and(|(_, behind)| behind.contains(argument))
}

fn without_quotes(name: &str) -> &str {
    name.trim().trim_matches(|c| matches!(c, '"' | '\'' | '“' | '”'))
}

/// The name of an argument, which is a name and nothing else.
fn argument_name(written: &str) -> Option<&str> {
    let name = without_quotes(written);
    take_name(name).filter(|taken| *taken == name)
}

/// What stands between `from` and the `close` behind which one of `next` follows, and where that ends.
fn value_before<'a>(
    source: &ReplySource<'a>,
    from: usize,
    close: &str,
    next: &[&str],
) -> Option<(&'a str, usize)> {
    let mut search = from;
    let mut first = None;
    for _ in 0..CLOSES_TRIED_MAX {
        let Some(at) = source.find_token(search, close) else { break };
        let end = at + close.len();
        let value = (&source.text[from..at], end);
        if source.skip_token(source.skip_space(end), next).is_some() {
            return Some(value);
        }
        first.get_or_insert(value);
        search = end;
    }
    // Nothing that should follow does: it is whole only where the reply ends behind it.
    first.filter(|(_, end)| source.is_blank(*end))
}

/// Qwen3-Coder and Seed-OSS: `<function=name><parameter=key>value</parameter></function>`.
pub(super) fn read_function_markup(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let bare = source.rest_at(mark.start).starts_with(FUNCTION);
    let mut at = if bare { mark.start } else { source.skip_space(mark.body) };
    let mut block = CallBlock::begun_at(at);
    while let Some(body) = source.skip_token(at, &[FUNCTION]) {
        let (call, end) = read_function(source, body, &mut block.repairs)?;
        block.push_call(call, at..end)?;
        at = source.skip_space(end);
    }
    if block.calls.is_empty() {
        return None;
    }
    while let Some(end) = source.skip_token(at, STRAY_MARKS).filter(|_| !bare) {
        block.repairs.add_repair(Repair::StrayMarks);
        at = source.skip_space(end);
    }
    match source.skip_token(at, mark.format.closes) {
        Some(end) if bare => {
            block.repairs.add_repair(Repair::MissingOpening);
            block.end = end;
        }
        Some(end) => block.end = end,
        None if bare => (),
        None => {
            block.end = source.close_block(block.end, mark.format.closes, &mut block.repairs)?
        }
    }
    Some(block)
}

fn read_function(
    source: &ReplySource<'_>,
    body: usize,
    repairs: &mut Repairs,
) -> Option<(TextCall, usize)> {
    let (name, at) = source.read_name(body, &[">"])?;
    let tool = source.tools.find_tool(without_quotes(name))?;
    let at = source.skip_space(at + 1);
    whole_or_half(source, read_parameters(source, tool, at, repairs), at, PARAMETER)
}

fn read_parameters(
    source: &ReplySource<'_>,
    tool: &str,
    mut at: usize,
    repairs: &mut Repairs,
) -> Option<(TextCall, usize)> {
    const PARAMETER_END: &str = "</parameter>";
    const FUNCTION_END: &str = "</function>";
    let mut arguments = Map::new();
    while let Some(start) = source.skip_token(at, &[PARAMETER]) {
        let (key, close) = source.read_name(start, &[">"])?;
        let key = argument_name(key)?;
        let next = [PARAMETER, FUNCTION_END];
        let (raw, end) = match value_before(source, close + 1, PARAMETER_END, &next) {
            // A forgotten tag would swallow the next parameter.
            Some((raw, end))
                if !raw.contains("\n<parameter=") && !holds_call(raw, FUNCTION, PARAMETER) =>
            {
                (raw, end)
            }
            _ => {
                repairs.add_repair(Repair::MissingMark);
                let ends = ["\n<parameter=", "\n</function>", FUNCTION_END];
                let end = ends.iter().filter_map(|end| source.find_token(close, end)).min()?;
                let raw = &source.text[close + 1..end];
                // It would take the next call, too, or a part of it.
                if raw.contains(FUNCTION) {
                    return None;
                }
                (raw.strip_suffix(PARAMETER_END).unwrap_or(raw), end)
            }
        };
        let value = source.tools.typed_value(tool, key, raw);
        if arguments.insert(key.to_owned(), value).is_some() {
            return None;
        }
        at = source.skip_space(end);
    }
    let end = match source.skip_token(at, &[FUNCTION_END]) {
        Some(end) => end,
        None if source.rest_at(at).starts_with("</tool_call>") => {
            repairs.add_repair(Repair::MissingMark);
            at
        }
        None => close_call(source, at, FUNCTION_END, &arguments, repairs)?,
    };
    Some((TextCall { tool: tool.to_owned(), arguments }, end))
}

/// GLM 4.5 and later: the name, then `<arg_key>` and `<arg_value>` in turn.
pub(super) fn read_glm(source: &ReplySource<'_>, mark: FoundMark<'_>) -> Option<CallBlock> {
    let (name, at) = source.read_name(source.skip_space(mark.body), &["\n", "<"])?;
    let tool = source.tools.find_tool(name)?;
    let at = source.skip_space(at);
    whole_or_half(source, read_pairs(source, mark, tool, at), at, ARG_KEY)
}

/// The call of `tool` whose first `<arg_key>` is at `at`.
fn read_pairs(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
    tool: &str,
    mut at: usize,
) -> Option<CallBlock> {
    let mut arguments = Map::new();
    while let Some(start) = source.skip_token(at, &[ARG_KEY]) {
        let (key, end) = source.read_name(start, &["</arg_key>"])?;
        let key = argument_name(key)?;
        let end = source.skip_space(source.skip_token(end, &["</arg_key>"])?);
        let value_at = source.skip_token(end, &["<arg_value>"])?;
        let next = [ARG_KEY, mark.format.closes[0]];
        let (raw, end) = value_before(source, value_at, "</arg_value>", &next)
            .filter(|(raw, _)| !holds_call(raw, mark.format.opens[0], ARG_KEY))?;
        if arguments.insert(key.to_owned(), source.tools.typed_value(tool, key, raw)).is_some() {
            return None;
        }
        at = source.skip_space(end);
    }
    let mut repairs = Repairs::default();
    let end = close_call(source, at, mark.format.closes[0], &arguments, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// An element whose children name tool and arguments: `<tool_use><name>…</name><arguments>…`.
pub(super) fn read_name_element(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let at = source.skip_space(mark.body);
    let at = source.skip_token(at, &["<invoke>"]).map_or(at, |at| source.skip_space(at));
    let (_, name_at, name_end) = read_element(source, at, &["name", "tool_name", "tool"])?;
    let tool = source.tools.find_tool(&source.text[name_at..name_end])?;
    let at = source.skip_space(source.find_token(name_end, ">")? + 1);
    let names = ["arguments", "parameters", "input", "args"];
    let (tag, from, to) = read_element(source, at, &names)?;
    let inner = source.text[from..to].trim();
    let mut repairs = Repairs::default();
    let arguments = match inner.starts_with('<') || inner.is_empty() {
        true => read_children(source, tool, source.skip_space(from), to)?,
        false => {
            let form = ValueForm { notation: Notation::Json, open_end: OpenEnd::Marked };
            let (value, end) =
                source.value_until(source.skip_space(from), to, form, &mut repairs)?;
            arguments_of(value, &mut repairs).filter(|_| source.text[end..to].trim().is_empty())?
        }
    };
    let at = source.skip_space(to + tag.len() + "</>".len());
    let at = source.skip_token(at, &["</invoke>"]).map_or(at, |at| source.skip_space(at));
    let end = source.close_block(at, mark.format.closes, &mut repairs)?;
    Some(CallBlock::of_one(tool, arguments, mark.start..end, repairs))
}

/// The element at `at` that is called one of `names`, and where its inside begins and ends.
fn read_element<'n>(
    source: &ReplySource<'_>,
    at: usize,
    names: &[&'n str],
) -> Option<(&'n str, usize, usize)> {
    let inner = source.rest_at(at).strip_prefix('<')?;
    let name = names
        .iter()
        .find(|name| inner.strip_prefix(**name).is_some_and(|after| after.starts_with('>')))?;
    let from = at + name.len() + "<>".len();
    Some((name, from, source.find_token(from, &format!("</{name}>"))?))
}

/// Elements named after the tool's arguments, up to `end`.
fn read_children(
    source: &ReplySource<'_>,
    tool: &str,
    mut at: usize,
    end: usize,
) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    while at < end {
        let (key, _) = source.read_name(source.skip_token(at, &["<"])?, &[">"])?;
        if !source.tools.has_property(tool, key) {
            return None;
        }
        let (_, from, to) = read_element(source, at, &[key])?;
        let raw = &source.text[from..to.min(end)];
        // Where the same element begins anew, the end that was found is not that of the first.
        if raw.contains(&format!("<{key}>")) {
            return None;
        }
        let value = source.tools.typed_value(tool, key, raw);
        if to > end || arguments.insert(key.to_owned(), value).is_some() {
            return None;
        }
        at = source.skip_space(to + key.len() + "</>".len());
    }
    Some(arguments)
}

/// Cline's way: the tool is an element, each argument one inside it.
pub(super) fn read_tool_element(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
) -> Option<CallBlock> {
    let (name, close) = source.read_name(mark.body, &[">"])?;
    let tool = source.tools.find_tool(name).filter(|tool| *tool == name)?;
    let from = source.skip_space(close + 1);
    let child = source.skip_token(from, &["<"]).and_then(|at| source.read_name(at, &[">"]));
    let call = read_element_of(source, mark, tool, from);
    if call.is_none() && child.is_some_and(|(key, _)| source.tools.has_property(tool, key)) {
        source.note_half_call();
    }
    call
}

/// The element of `tool` whose children are at `from`.
fn read_element_of(
    source: &ReplySource<'_>,
    mark: FoundMark<'_>,
    tool: &str,
    from: usize,
) -> Option<CallBlock> {
    let to = source.find_token(from, &format!("</{tool}>"))?;
    let arguments = read_children(source, tool, from, to)?;
    let end = to + tool.len() + "</>".len();
    Some(CallBlock::of_one(tool, arguments, mark.start..end, Repairs::default()))
}
