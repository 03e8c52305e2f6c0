//! Where a block may begin: a format's mark, whole or as much of it as came, and what must stand behind it.
//!
//! The more exactly this is known, the more of a reply is shown while it comes. Not here: reading a block.

use super::block::ReplySource;
use super::formats::{FORMATS, FoundMark, Place, TextFormat};
use super::value::{is_quote, take_dotted_name, take_name};

/// In a mark, what stands for the name of a tool.
const TOOL: &str = "{tool}";

/// Whether, with what may still come, a block may begin at `at`.
pub(super) fn may_begin(source: &ReplySource<'_>, at: usize, is_line_start: bool) -> bool {
    let rest = source.rest_at(at);
    let possible = |format: &&TextFormat| is_line_start || format.place != Place::Ending;
    FORMATS.iter().filter(possible).any(|format| {
        let goes_on = |body: usize| (format.goes_on)(source, FoundMark { format, start: at, body });
        open_at(format, source, at).is_some_and(goes_on)
            || format.opens.iter().filter(|open| begins_alike(open, rest)).any(|open| {
                rest.len() < open.len() && open.starts_with(rest)
                    || is_named_begun(source, open, rest)
            })
    })
}

/// Whether a mark can begin where `rest` does. Nearly all cannot, and that is told by one byte.
fn begins_alike(open: &str, rest: &str) -> bool {
    let first = rest.as_bytes().first();
    first.is_none() || open.as_bytes().first() == first || open.starts_with(TOOL)
}

/// Whether `rest` is the beginning of a mark that holds the name of a tool.
fn is_named_begun(source: &ReplySource<'_>, open: &str, rest: &str) -> bool {
    let Some((before, after)) = open.split_once(TOOL) else { return false };
    match rest.strip_prefix(before) {
        Some(inner) => source.tools.may_name(inner, after),
        None => before.starts_with(rest),
    }
}

/// Where what follows the format's mark begins, if the mark stands at `at`.
pub(super) fn open_at(format: &TextFormat, source: &ReplySource<'_>, at: usize) -> Option<usize> {
    let rest = source.rest_at(at);
    let mut alike = format.opens.iter().filter(|open| begins_alike(open, rest));
    alike.find_map(|open| match open.split_once(TOOL) {
        None => rest.starts_with(open).then(|| at + open.len()),
        Some((before, after)) => {
            let inner = rest.strip_prefix(before)?;
            let name = take_dotted_name(inner)?;
            source.tools.find_tool(name)?;
            inner[name.len()..].starts_with(after).then(|| at + before.len())
        }
    })
}

/// Behind most marks anything may follow.
pub(super) fn with_anything(_: &ReplySource<'_>, _: FoundMark<'_>) -> bool {
    true
}

/// Behind the mark stands JSON, whether or not a code fence stands around it.
pub(super) fn with_data(source: &ReplySource<'_>, mark: FoundMark<'_>) -> bool {
    let rest = source.rest_at(mark.body).trim_start();
    rest.is_empty() || rest.starts_with(['{', '[', '`'])
}

/// The mark is JSON itself: an object, or a list of objects.
pub(super) fn as_json(source: &ReplySource<'_>, mark: FoundMark<'_>) -> bool {
    let rest = source.rest_at(mark.start);
    let object = rest.strip_prefix('[').map_or(rest, str::trim_start);
    let Some(inner) = object.strip_prefix('{') else { return object.is_empty() };
    let inner = inner.strip_prefix('{').unwrap_or(inner).trim_start();
    if inner.is_empty() || inner.starts_with(is_quote) {
        return true;
    }
    // A name without quotes is one only before its colon: `{x}` and a handle are none.
    take_name(inner).is_some_and(|name| {
        let behind = inner[name.len()..].trim_start();
        behind.is_empty() || behind.starts_with(':')
    })
}

/// The mark is a call, or opens a list of calls, in Python's notation.
pub(super) fn as_python(source: &ReplySource<'_>, mark: FoundMark<'_>) -> bool {
    let rest = source.rest_at(mark.start);
    let call = rest.strip_prefix('[').map_or(rest, str::trim_start);
    if "print(".starts_with(call) {
        return true;
    }
    let call = call.strip_prefix("print(").unwrap_or(call);
    ["(", ".call("].iter().any(|after| source.tools.may_name(call, after))
}
