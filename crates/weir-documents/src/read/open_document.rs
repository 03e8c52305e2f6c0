//! ODT and ODP to Markdown: headings, lists, tables, links, and for presentations a page for each
//! slide with its notes.

use std::collections::BTreeMap;

use weir_core::document::{DocumentError, DocumentPage};

use super::{ReadDocument, pieces_of};
use crate::markdown::{write_link, write_table};
use crate::package::ZipPackage;
use crate::xml::{XmlElement, XmlNode};

/// Most times that something is repeated, where the file says that it is.
const REPEAT_MAX: usize = 100;

/// Reads a text or a presentation.
pub(super) fn read_open_document(package: &ZipPackage) -> Result<ReadDocument, DocumentError> {
    let content = package.needed_xml("content.xml")?;
    let body = content.find_child("body").and_then(|body| body.list_elements().next());
    let Some(body) = body else {
        return Ok(ReadDocument { format: "OpenDocument", ..ReadDocument::default() });
    };
    let reader = OpenReader { numbered: numbered_lists(&content) };
    if body.name == "presentation" {
        let pages = body.find_elements("page").enumerate().map(|(at, slide)| {
            let mut blocks = Vec::new();
            reader.read_blocks(slide, &mut blocks);
            DocumentPage { name: format!("Slide {}", at + 1), text: blocks.join("\n\n") }
        });
        return Ok(ReadDocument {
            format: "ODP",
            pages: pages.collect(),
            ..ReadDocument::default()
        });
    }
    let mut blocks = Vec::new();
    reader.read_blocks(body, &mut blocks);
    Ok(ReadDocument { format: "ODT", pages: pieces_of(blocks), ..ReadDocument::default() })
}

/// Whether lists of a style are numbered.
fn numbered_lists(content: &XmlElement) -> BTreeMap<String, bool> {
    let styles = content.find_child("automatic-styles");
    let lists = styles.into_iter().flat_map(|styles| styles.find_elements("list-style"));
    let lists = lists.filter_map(|style| {
        let name = style.find_attribute("style:name")?.to_owned();
        let first = style.list_elements().next()?;
        Some((name, first.name == "list-level-style-number"))
    });
    lists.collect()
}

struct OpenReader {
    numbered: BTreeMap<String, bool>,
}

impl OpenReader {
    fn read_blocks(&self, parent: &XmlElement, blocks: &mut Vec<String>) {
        for element in parent.list_elements() {
            match element.name.as_str() {
                "h" => {
                    let level = element.find_attribute("text:outline-level");
                    let level: usize = level.and_then(|l| l.parse().ok()).unwrap_or(1);
                    let sign = "#".repeat((level + 1).clamp(1, 6));
                    push_block(blocks, format!("{sign} {}", self.inline_text(element).trim()));
                }
                "p" => push_block(blocks, self.inline_text(element)),
                "list" => push_block(blocks, self.list_text(element, 0, false)),
                "table" => {
                    let mut rows = Vec::new();
                    self.add_rows(element, &mut rows);
                    push_block(blocks, write_table(&rows));
                }
                "frame" => self.read_frame(element, blocks),
                "notes" => {
                    let mut inner = Vec::new();
                    self.read_blocks(element, &mut inner);
                    push_block(
                        blocks,
                        match inner.join(" ").trim() {
                            "" => String::new(),
                            text => format!("Notes: {text}"),
                        },
                    );
                }
                // Settings, deleted text, and what only repeats headings.
                "tracked-changes" | "forms" | "sequence-decls" | "table-of-content"
                | "page-thumbnail" => {}
                _ => self.read_blocks(element, blocks),
            }
        }
    }

    fn read_frame(&self, frame: &XmlElement, blocks: &mut Vec<String>) {
        let is_title = frame.find_attribute("presentation:class") == Some("title");
        let mut inner = Vec::new();
        self.read_blocks(frame, &mut inner);
        match (is_title, frame.find_child("image")) {
            (true, _) => push_block(blocks, format!("# {}", inner.join(" "))),
            (false, Some(_)) => {
                let about = frame.find_child("desc").or_else(|| frame.find_child("title"));
                let about = about.map(XmlElement::collect_text).unwrap_or_default();
                push_block(blocks, format!("![{}]()", about.replace(['[', ']'], " ")));
            }
            (false, None) => inner.into_iter().for_each(|block| push_block(blocks, block)),
        }
    }

    /// The rows of a table in their groups; those of a table in a cell are that cell's.
    fn add_rows(&self, parent: &XmlElement, rows: &mut Vec<Vec<String>>) {
        for element in parent.list_elements() {
            match element.name.as_str() {
                "table-row" => rows.push(self.row_cells(element)),
                "table-header-rows" | "table-rows" | "table-row-group" => {
                    self.add_rows(element, rows);
                }
                _ => {}
            }
        }
    }

    fn row_cells(&self, row: &XmlElement) -> Vec<String> {
        let mut cells = Vec::new();
        // A cell that spans several columns is followed by those that it covers.
        let is_cell = |name: &str| matches!(name, "table-cell" | "covered-table-cell");
        for cell in row.list_elements().filter(|element| is_cell(&element.name)) {
            let mut inner = Vec::new();
            self.read_blocks(cell, &mut inner);
            let times = cell.find_attribute("table:number-columns-repeated");
            let times: usize = times.and_then(|times| times.parse().ok()).unwrap_or(1);
            let text = inner.join("\n");
            cells.extend(std::iter::repeat_n(text, times.min(REPEAT_MAX)));
        }
        while cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
            cells.pop();
        }
        cells
    }

    fn list_text(&self, list: &XmlElement, level: usize, above: bool) -> String {
        let own = list.find_attribute("text:style-name").and_then(|name| self.numbered.get(name));
        let numbered = own.copied().unwrap_or(above);
        let sign = if numbered { "1." } else { "-" };
        let mut out = String::new();
        for item in list.find_elements("list-item") {
            for element in item.list_elements() {
                match element.name.as_str() {
                    "list" => out.push_str(&self.list_text(element, (level + 1).min(8), numbered)),
                    "p" | "h" => {
                        let text = self.inline_text(element);
                        out.push_str(&format!("{}{sign} {}\n", "  ".repeat(level), text.trim()));
                    }
                    _ => {}
                }
            }
        }
        out
    }

    fn inline_text(&self, parent: &XmlElement) -> String {
        let mut out = String::new();
        for node in &parent.children {
            match node {
                XmlNode::Text(text) => out.push_str(&text.replace(['\n', '\r'], " ")),
                XmlNode::Element(element) => match element.name.as_str() {
                    "s" => {
                        let count = element.find_attribute("text:c").and_then(|c| c.parse().ok());
                        out.push_str(&" ".repeat(count.unwrap_or(1_usize).min(REPEAT_MAX)));
                    }
                    "tab" => out.push('\t'),
                    "line-break" => out.push('\n'),
                    "a" => {
                        let text = self.inline_text(element);
                        let target = element.find_attribute("xlink:href").unwrap_or_default();
                        out.push_str(&write_link(&text, target));
                    }
                    "note" => {
                        let body =
                            element.find_child("note-body").map(|body| self.joined_text(body));
                        out.push_str(&format!(" ({})", body.unwrap_or_default().trim()));
                    }
                    "annotation" => {
                        out.push_str(&format!(" (comment: {})", self.joined_text(element).trim()));
                    }
                    "frame" => {
                        let mut blocks = Vec::new();
                        self.read_frame(element, &mut blocks);
                        out.push_str(&blocks.join(" "));
                    }
                    _ => out.push_str(&self.inline_text(element)),
                },
            }
        }
        out
    }

    fn joined_text(&self, parent: &XmlElement) -> String {
        let mut blocks = Vec::new();
        self.read_blocks(parent, &mut blocks);
        blocks.join(" ")
    }
}

fn push_block(blocks: &mut Vec<String>, block: String) {
    if !block.trim().is_empty() {
        blocks.push(block);
    }
}
