//! What stands in a note as part of a record (CBOR, RFC 8949, written by `minicbor`). Not here: what comes
//! before it, and reading it (`read`).

use serde_json::{Map, Value};

use super::{
    BLOCK_PARTS, HEADING_PARTS, LINK_PARTS, RecordEncoder, TAG_PARTS, TASK_PARTS, WrittenRecord,
};
use crate::note::{LinkForm, NoteFacts};
use crate::span::ByteSpan;

/// What is asked most comes first: a base reads properties and goes over the rest.
pub(super) fn write_facts(out: &mut RecordEncoder, facts: &NoteFacts) -> WrittenRecord {
    write_fields(out, &facts.properties)?;
    out.array(facts.tags.len() as u64)?;
    for tag in &facts.tags {
        out.array(TAG_PARTS)?.str(&tag.name)?.bool(tag.at.is_some())?;
        write_span(out, tag.at.unwrap_or_default())?;
    }
    out.array(facts.aliases.len() as u64)?;
    for alias in &facts.aliases {
        out.str(alias)?;
    }
    out.array(facts.links.len() as u64)?;
    for link in &facts.links {
        out.array(LINK_PARTS)?.u8(form_code(link.form))?;
        out.str(&link.path)?.str(&link.subpath)?.bool(link.embed)?;
        write_optional(out, link.display.as_deref())?;
        write_span(out, link.at)?;
        write_span(out, link.path_at)?;
    }
    out.array(facts.headings.len() as u64)?;
    for heading in &facts.headings {
        out.array(HEADING_PARTS)?.u8(heading.level)?.str(&heading.text)?;
        write_span(out, heading.at)?;
    }
    out.array(facts.blocks.len() as u64)?;
    for block in &facts.blocks {
        out.array(BLOCK_PARTS)?.str(&block.id)?;
        write_span(out, block.at)?;
    }
    out.array(facts.tasks.len() as u64)?;
    for task in &facts.tasks {
        out.array(TASK_PARTS)?.char(task.status)?.str(&task.text)?;
        write_span(out, task.at)?;
    }
    write_optional(out, facts.properties_error.as_deref())?;
    out.u64(facts.words as u64)?.bool(facts.cut)?.ok()
}

fn write_span(out: &mut RecordEncoder, at: ByteSpan) -> WrittenRecord {
    out.u64(at.start as u64)?.u64(at.end as u64)?.ok()
}

fn write_optional(out: &mut RecordEncoder, text: Option<&str>) -> WrittenRecord {
    match text {
        Some(text) => out.str(text)?.ok(),
        None => out.null()?.ok(),
    }
}

fn write_fields(out: &mut RecordEncoder, fields: &Map<String, Value>) -> WrittenRecord {
    out.map(fields.len() as u64)?;
    for (name, value) in fields {
        out.str(name)?;
        write_value(out, value)?;
    }
    Ok(())
}

fn write_value(out: &mut RecordEncoder, value: &Value) -> WrittenRecord {
    match value {
        Value::Null => out.null()?.ok(),
        Value::Bool(yes) => out.bool(*yes)?.ok(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => out.u64(whole)?.ok(),
            (None, Some(whole)) => out.i64(whole)?.ok(),
            (None, None) => out.f64(number.as_f64().unwrap_or_default())?.ok(),
        },
        Value::String(text) => out.str(text)?.ok(),
        Value::Array(items) => {
            out.array(items.len() as u64)?;
            items.iter().try_for_each(|item| write_value(out, item))
        }
        Value::Object(fields) => write_fields(out, fields),
    }
}

fn form_code(form: LinkForm) -> u8 {
    match form {
        LinkForm::Wiki => 0,
        LinkForm::Markdown => 1,
        LinkForm::PropertyWiki => 2,
        LinkForm::PropertyMarkdown => 3,
        LinkForm::Canvas => 4,
    }
}
