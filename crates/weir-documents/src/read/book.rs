//! EPUB to Markdown: a page for each chapter, in the order of the book.

use std::collections::BTreeMap;

use weir_core::document::{DocumentError, DocumentPage};

use super::ReadDocument;
use super::flat::{page_markdown, page_remark};
use crate::package::ZipPackage;
use crate::xml::{XmlElement, decode_xml};
use crate::{broken_document, markdown};

/// Most sentences about chapters.
const REMARKS_MAX: usize = 5;

/// Reads a book.
pub(super) fn read_book(package: &ZipPackage) -> Result<ReadDocument, DocumentError> {
    if package.find_part("META-INF/encryption.xml").is_some()
        && package.find_part("META-INF/rights.xml").is_some()
    {
        return Err(DocumentError::Encrypted);
    }
    let container = package.needed_xml("META-INF/container.xml")?;
    let root = container.walk_elements().find(|element| element.name == "rootfile");
    let path = root.and_then(|root| root.find_attribute("full-path"));
    let path = path.ok_or_else(|| broken_document("it does not say where its contents are"))?;
    let book = package.needed_xml(path)?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let items: BTreeMap<&str, &str> = book
        .find_child("manifest")
        .into_iter()
        .flat_map(XmlElement::list_elements)
        .filter_map(|item| Some((item.find_attribute("id")?, item.find_attribute("href")?)))
        .collect();
    let mut pages = Vec::new();
    let title = book.walk_elements().find(|element| element.name == "title");
    let author = book.walk_elements().find(|element| element.name == "creator");
    let about: Vec<String> = [title, author]
        .into_iter()
        .flatten()
        .map(|about| about.collect_text().trim().to_owned())
        .collect();
    let mut remarks = Vec::new();
    for row in book.find_child("spine").into_iter().flat_map(|spine| spine.find_elements("itemref"))
    {
        let Some(href) = row.find_attribute("idref").and_then(|id| items.get(id)) else { continue };
        let part = part_name(folder, href);
        let Some(bytes) = package.find_part(&part) else {
            remarks.push(format!("{part} is missing in it"));
            continue;
        };
        let html = decode_xml(bytes);
        remarks.extend(page_remark(&html).map(|said| format!("{part}: {said}")));
        let text = markdown::tidy_text(&page_markdown(&html));
        if !text.is_empty() {
            let number = pages.len() + 1;
            pages.push(DocumentPage { name: format!("Chapter {number}"), text });
        }
    }
    if let Some(first) = pages.first_mut() {
        first.text.insert_str(0, &format!("{}\n\n", about.join(", ")));
    }
    if remarks.len() > REMARKS_MAX {
        let more = remarks.split_off(REMARKS_MAX).len();
        remarks.push(format!("{more} more chapters have such parts or are missing"));
    }
    Ok(ReadDocument { format: "EPUB", pages, remarks, ..ReadDocument::default() })
}

fn part_name(folder: &str, href: &str) -> String {
    let href = href.split('#').next().unwrap_or(href).replace("%20", " ");
    if folder.is_empty() { href } else { format!("{folder}/{href}") }
}
