//! A mail file to Markdown: its head, its text, the names of what is attached. Nothing attached is
//! opened, nothing in its HTML is fetched.

use mail_parser::{Address, MessageParser, MimeHeaders};
use weir_core::document::DocumentError;

use super::flat::{page_markdown, page_remark};
use super::{ReadDocument, pieces_of};
use crate::broken_document;

/// Most attachments that are named.
const NAMED_MAX: usize = 50;

/// Reads a letter.
pub(super) fn read_letter(bytes: &[u8]) -> Result<ReadDocument, DocumentError> {
    let letter = MessageParser::default()
        .parse(bytes)
        .filter(|letter| letter.from().is_some() || letter.subject().is_some())
        .ok_or_else(|| broken_document("it is no mail"))?;
    let mut blocks = vec![format!("# {}", letter.subject().unwrap_or("(no subject)"))];
    let mut head = Vec::new();
    for (name, address) in [("From", letter.from()), ("To", letter.to()), ("Cc", letter.cc())] {
        if let Some(address) = address {
            head.push(format!("{name}: {}", shown_address(address)));
        }
    }
    if let Some(date) = letter.date() {
        head.push(format!("Date: {}", date.to_rfc3339()));
    }
    blocks.push(head.join("\n"));
    // Where there is only HTML, its text.
    let text = match (letter.text_body.first(), letter.html_body.first()) {
        (Some(text), html) if Some(text) != html => letter.body_text(0).map(|t| t.into_owned()),
        _ => letter.body_html(0).map(|html| page_markdown(&html)),
    };
    let text = text.or_else(|| letter.body_text(0).map(|text| text.into_owned()));
    blocks.extend(text.unwrap_or_default().split("\n\n").map(str::to_owned));
    let html = letter.body_html(0).and_then(|html| page_remark(&html));
    let is_html = letter
        .html_body
        .first()
        .is_some_and(|at| letter.part(*at).is_some_and(mail_parser::MessagePart::is_text_html));
    let mut remarks: Vec<String> = html.filter(|_| is_html).into_iter().collect();
    let names: Vec<String> = letter
        .attachments()
        .take(NAMED_MAX)
        .map(|part| {
            let name = part.attachment_name().unwrap_or("without a name");
            format!("{name} ({} bytes)", part.contents().len())
        })
        .collect();
    if !names.is_empty() {
        remarks.push(format!("attached and not read: {}", names.join(", ")));
    }
    Ok(ReadDocument { format: "mail", pages: pieces_of(blocks), remarks, ..Default::default() })
}

fn shown_address(address: &Address<'_>) -> String {
    let all = address.iter().map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    all.collect::<Vec<_>>().join(", ")
}
