//! Documents as Markdown, page by page (K7). Which format a file has is told by its content, by its
//! name only where formats look alike. Macros and what is outside are named, never run or fetched.

mod archive;
mod book;
mod deck;
mod feed;
mod flat;
mod letter;
mod notebook;
mod open_document;
mod rich;
mod sheet;
mod text;

use weir_core::document::{DocumentError, DocumentPage, DocumentResult};

use crate::markdown::tidy_text;
use crate::package::{PackageScope, ZipPackage};
use crate::{broken_document, pdf};

/// Longest page, in bytes: what has no pages is cut into pieces of about this.
const PAGE_BYTES: usize = 12_000;

/// Which part of a workbook is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadPart<'a> {
    /// Name or number of a sheet.
    pub(crate) sheet: Option<&'a str>,
    /// Cells.
    pub(crate) range: Option<&'a str>,
}

/// What was read.
#[derive(Debug, Default)]
struct ReadDocument {
    format: &'static str,
    pages: Vec<DocumentPage>,
    remarks: Vec<String>,
    cut: Option<String>,
}

/// Reads a document.
pub(crate) fn read_document(
    bytes: &[u8],
    name: &str,
    part: ReadPart<'_>,
    bytes_max: usize,
) -> Result<DocumentResult, DocumentError> {
    let mut read = match bytes {
        [] => return Err(broken_document("it is empty")),
        [b'%', b'P', b'D', b'F', ..] => read_pdf(bytes, bytes_max)?,
        [b'P', b'K', 3 | 5, 4 | 6, ..] => read_package(bytes, part)?,
        [0xD0, 0xCF, 0x11, 0xE0, ..] => return Err(old_office_file(bytes)),
        [b'{', b'\\', b'r', b't', b'f', ..] => rich::read_rich_text(bytes)?,
        _ => read_by_name(bytes, name)?,
    };
    if part.sheet.is_some() && read.format != sheet::WORKBOOK && read.format != sheet::OPEN_SHEET {
        read.remarks.push("sheet and range are only for workbooks, and were not used".into());
    }
    let mut left = bytes_max;
    for page in &mut read.pages {
        page.text = tidy_text(&page.text);
        if page.text.len() > left {
            page.text.truncate(page.text.floor_char_boundary(left));
            read.cut.get_or_insert(format!("the text is cut after {bytes_max} bytes"));
        }
        left -= page.text.len();
    }
    if read.cut.is_some() {
        while read.pages.last().is_some_and(|page| page.text.is_empty()) {
            read.pages.pop();
        }
    }
    let ReadDocument { format, pages, remarks, cut } = read;
    Ok(DocumentResult::Markdown { format: format.to_owned(), pages, remarks, cut })
}

fn read_by_name(bytes: &[u8], name: &str) -> Result<ReadDocument, DocumentError> {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "ipynb" => notebook::read_notebook(bytes),
        "eml" => letter::read_letter(bytes),
        "csv" | "tsv" | "tab" => flat::read_table(bytes),
        "html" | "htm" | "xhtml" => Ok(flat::read_page(bytes)),
        "rss" | "atom" | "xml" if feed::is_feed(bytes) => feed::read_feed(bytes),
        "docx" | "pptx" | "xlsx" | "odt" | "ods" | "odp" | "epub" | "pdf" | "rtf" => {
            Err(broken_document(format!("it is no .{ending}")))
        }
        _ => Err(DocumentError::Unfit {
            why: format!(
                "{name} is none of PDF, DOCX, PPTX, XLSX, ODT, ODS, ODP, EPUB, RTF, HTML, CSV, \
                 IPYNB and EML; read_file reads plain text"
            ),
        }),
    }
}

fn old_office_file(bytes: &[u8]) -> DocumentError {
    let encrypted: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    if bytes.windows(encrypted.len()).any(|window| window == encrypted) {
        return DocumentError::Encrypted;
    }
    DocumentError::Unfit {
        why: "it is a file of Office before 2007; save it as DOCX, XLSX or PPTX and read that"
            .into(),
    }
}

fn read_package(bytes: &[u8], part: ReadPart<'_>) -> Result<ReadDocument, DocumentError> {
    let package = ZipPackage::read_package(bytes, PackageScope::Texts)?;
    let kind = package.find_part("mimetype").map(|kind| String::from_utf8_lossy(kind).into_owned());
    let mut read = if package.find_part("word/document.xml").is_some() {
        text::read_text(&package)?
    } else if package.find_part("ppt/presentation.xml").is_some() {
        deck::read_deck(&package)?
    } else if package.find_part("xl/workbook.xml").is_some() {
        archive::refuse_entities(&package)?;
        sheet::read_workbook(bytes, part, sheet::WORKBOOK)?
    } else {
        match kind.as_deref().map(str::trim) {
            Some(kind) if kind.ends_with("opendocument.spreadsheet") => {
                archive::refuse_entities(&package)?;
                sheet::read_workbook(bytes, part, sheet::OPEN_SHEET)?
            }
            Some(kind) if kind.contains("opendocument.") => {
                open_document::read_open_document(&package)?
            }
            Some("application/epub+zip") => book::read_book(&package)?,
            _ if package.find_part("META-INF/container.xml").is_some() => {
                book::read_book(&package)?
            }
            _ => {
                return Err(DocumentError::Unfit {
                    why: "it is a ZIP archive and no document; extract_zip unpacks it".into(),
                });
            }
        }
    };
    read.remarks.extend(archive::package_remarks(&package)?);
    Ok(read)
}

fn read_pdf(bytes: &[u8], bytes_max: usize) -> Result<ReadDocument, DocumentError> {
    let DocumentResult::Text { pages, unread, cut } = pdf::extract_text(bytes, bytes_max)? else {
        return Err(broken_document("it has no text"));
    };
    let mut remarks = Vec::new();
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    if !unread.is_empty() {
        remarks.push(format!("the text of pages {} could not be read", list(&unread)));
    }
    remarks.extend(pdf::acting_parts(bytes));
    let mut number = 0;
    let mut blank = Vec::new();
    let pages = pages.into_iter().map(|text| {
        number += 1;
        if text.trim().is_empty() && !unread.contains(&number) {
            blank.push(number);
        }
        DocumentPage { name: format!("Page {number}"), text }
    });
    let pages = pages.collect();
    if !blank.is_empty() {
        remarks.push(format!(
            "pages {} have no text and may be pictures; read_file shows them",
            list(&blank)
        ));
    }
    Ok(ReadDocument { format: "PDF", pages, remarks, cut })
}

/// Blocks of a text without pages, joined to pieces.
fn pieces_of(blocks: impl IntoIterator<Item = String>) -> Vec<DocumentPage> {
    let mut texts: Vec<String> = Vec::new();
    for block in blocks {
        if block.trim().is_empty() {
            continue;
        }
        match texts.last_mut() {
            Some(text) if text.len() + block.len() <= PAGE_BYTES => {
                text.push_str("\n\n");
                text.push_str(&block);
            }
            _ => texts.push(block),
        }
    }
    let pages = texts.into_iter().enumerate();
    pages.map(|(at, text)| DocumentPage { name: format!("Part {}", at + 1), text }).collect()
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod noise_tests;
#[cfg(test)]
mod tests;
