//! What stands in a note, read from a record: bytes that are none of ours are nothing, never a panic. Not
//! here: what comes before it, and writing it (`write`).

use minicbor::Decoder;
use minicbor::data::Type;
use serde_json::{Map, Value};

use super::{BLOCK_PARTS, HEADING_PARTS, LINK_PARTS, TAG_PARTS, TASK_PARTS};
use crate::note::{LinkForm, NoteBlock, NoteFacts, NoteHeading, NoteLink, NoteTag, NoteTask};
use crate::span::ByteSpan;

/// Deepest values in values: twice what YAML may have.
const DEPTH_MAX: usize = 128;

pub(super) fn skip_to_aliases(read: &mut Decoder<'_>) -> Option<()> {
    read.skip().ok()?;
    read.skip().ok()
}

fn read_list<'a, T>(
    read: &mut Decoder<'a>,
    mut item: impl FnMut(&mut Decoder<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = usize::try_from(read.array().ok()??).ok()?;
    // Each item takes a byte: of a list that says more than there is, no more is made room for.
    let mut items = Vec::with_capacity(count.min(read.input().len() - read.position()));
    for _ in 0..count {
        items.push(item(read)?);
    }
    Some(items)
}

/// Reads a list of things that have so many parts each.
fn read_things<'a, T>(
    read: &mut Decoder<'a>,
    parts: u64,
    mut thing: impl FnMut(&mut Decoder<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    read_list(read, |read| {
        read.array().ok()?.filter(|own| *own == parts)?;
        thing(read)
    })
}

fn read_span(read: &mut Decoder<'_>) -> Option<ByteSpan> {
    let mut place = || usize::try_from(read.u64().ok()?).ok();
    Some(ByteSpan::new(place()?, place()?))
}

pub(super) fn read_text(read: &mut Decoder<'_>) -> Option<String> {
    Some(read.str().ok()?.to_owned())
}

pub(super) fn read_texts(read: &mut Decoder<'_>) -> Option<Vec<String>> {
    read_list(read, read_text)
}

fn read_optional(read: &mut Decoder<'_>) -> Option<Option<String>> {
    match read.datatype().ok()? {
        Type::Null => read.null().ok().map(|()| None),
        _ => read_text(read).map(Some),
    }
}

pub(super) fn read_tags(read: &mut Decoder<'_>) -> Option<Vec<NoteTag>> {
    read_things(read, TAG_PARTS, |read| {
        let name = read_text(read)?;
        let placed = read.bool().ok()?;
        let at = read_span(read)?;
        Some(NoteTag { name, at: placed.then_some(at) })
    })
}

fn read_link(read: &mut Decoder<'_>) -> Option<NoteLink> {
    let form = form_of(read.u8().ok()?)?;
    let (path, subpath) = (read_text(read)?, read_text(read)?);
    let embed = read.bool().ok()?;
    let display = read_optional(read)?;
    let (at, path_at) = (read_span(read)?, read_span(read)?);
    Some(NoteLink { form, embed, path, subpath, display, at, path_at })
}

pub(super) fn read_facts(read: &mut Decoder<'_>) -> Option<NoteFacts> {
    let properties = read_fields(read, 0)?;
    let tags = read_tags(read)?;
    let aliases = read_texts(read)?;
    let links = read_things(read, LINK_PARTS, read_link)?;
    let headings = read_things(read, HEADING_PARTS, |read| {
        let (level, text) = (read.u8().ok()?, read_text(read)?);
        Some(NoteHeading { level, text, at: read_span(read)? })
    })?;
    let blocks = read_things(read, BLOCK_PARTS, |read| {
        let id = read_text(read)?;
        Some(NoteBlock { id, at: read_span(read)? })
    })?;
    let tasks = read_things(read, TASK_PARTS, |read| {
        let (status, text) = (read.char().ok()?, read_text(read)?);
        Some(NoteTask { status, text, at: read_span(read)? })
    })?;
    let properties_error = read_optional(read)?;
    let words = usize::try_from(read.u64().ok()?).ok()?;
    let cut = read.bool().ok()?;
    Some(NoteFacts {
        headings,
        blocks,
        links,
        tags,
        aliases,
        tasks,
        properties,
        properties_error,
        words,
        cut,
    })
}

pub(super) fn read_fields(read: &mut Decoder<'_>, depth: usize) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    for _ in 0..read.map().ok()?? {
        let name = read_text(read)?;
        fields.insert(name, read_value(read, depth)?);
    }
    Some(fields)
}

pub(super) fn read_value(read: &mut Decoder<'_>, depth: usize) -> Option<Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    Some(match read.datatype().ok()? {
        Type::Null => read.null().ok().map(|()| Value::Null)?,
        Type::Bool => Value::Bool(read.bool().ok()?),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::from(read.u64().ok()?),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::from(read.i64().ok()?),
        Type::F64 => Value::from(read.f64().ok()?),
        Type::String => Value::String(read_text(read)?),
        Type::Array => Value::Array(read_list(read, |read| read_value(read, depth + 1))?),
        Type::Map => Value::Object(read_fields(read, depth + 1)?),
        _ => return None,
    })
}

pub(super) fn form_of(code: u8) -> Option<LinkForm> {
    Some(match code {
        0 => LinkForm::Wiki,
        1 => LinkForm::Markdown,
        2 => LinkForm::PropertyWiki,
        3 => LinkForm::PropertyMarkdown,
        4 => LinkForm::Canvas,
        _ => return None,
    })
}
