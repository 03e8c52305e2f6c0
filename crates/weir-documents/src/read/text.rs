//! DOCX to Markdown: headings, lists, tables, links, notes; the text of headers and footers at the
//! end. Deleted text of tracked changes is left out, inserted text is read.

use std::collections::BTreeMap;

use weir_core::document::DocumentError;

use super::{ReadDocument, pieces_of};
use crate::markdown::{write_link, write_table};
use crate::package::ZipPackage;
use crate::xml::{XmlElement, XmlNode};

/// Deepest table in a table.
const DEPTH_MAX: usize = 6;
/// Most columns that a cell spans, where the file says so.
const SPAN_MAX: usize = 64;

/// Reads a text.
pub(super) fn read_text(package: &ZipPackage) -> Result<ReadDocument, DocumentError> {
    let document = package.needed_xml("word/document.xml")?;
    let reader = TextReader::read_styles(package)?;
    let mut blocks = Vec::new();
    if let Some(body) = document.find_child("body") {
        reader.read_blocks(body, 0, &mut blocks);
    }
    for (part, name) in [("word/footnotes.xml", "footnote"), ("word/endnotes.xml", "endnote")] {
        if let Some(root) = package.parse_part(part)? {
            for note in
                root.find_elements(name).filter(|note| note.find_attribute("type").is_none())
            {
                let mut inner = Vec::new();
                reader.read_blocks(note, 0, &mut inner);
                let id = note.find_attribute("id").unwrap_or_default();
                blocks.push(format!("[^{id}]: {}", inner.join(" ").trim()));
            }
        }
    }
    if let Some(root) = package.parse_part("word/comments.xml")? {
        for comment in root.find_elements("comment") {
            let mut inner = Vec::new();
            reader.read_blocks(comment, 0, &mut inner);
            let author = comment.find_attribute("author").unwrap_or("somebody");
            blocks.push(format!("> Comment of {author}: {}", inner.join(" ").trim()));
        }
    }
    let names: Vec<String> = package
        .list_names()
        .filter(|name| {
            let name = name.strip_prefix("word/").unwrap_or_default();
            (name.starts_with("header") || name.starts_with("footer") || name.starts_with("weir-"))
                && name.ends_with(".xml")
        })
        .map(str::to_owned)
        .collect();
    for name in names {
        let root = package.needed_xml(&name)?;
        let mut inner = Vec::new();
        reader.read_blocks(&root, 0, &mut inner);
        let text = inner.join(" ");
        if !text.trim().is_empty() {
            let kind = if root.name == "hdr" { "Header" } else { "Footer" };
            blocks.push(format!("{kind}: {}", text.trim()));
        }
    }
    Ok(ReadDocument { format: "DOCX", pages: pieces_of(blocks), ..ReadDocument::default() })
}

struct TextReader {
    /// Level of headings by id of a style; 0: the title.
    headings: BTreeMap<String, usize>,
    /// Targets of links by relationship.
    links: BTreeMap<String, String>,
    /// Whether the lowest level of a list is numbered, by its number.
    numbered: BTreeMap<String, bool>,
}

impl TextReader {
    fn read_styles(package: &ZipPackage) -> Result<TextReader, DocumentError> {
        let mut headings = BTreeMap::new();
        for style in package
            .parse_part("word/styles.xml")?
            .iter()
            .flat_map(|root| root.find_elements("style"))
        {
            let name = style.find_child("name").and_then(|name| name.find_attribute("val"));
            let name = name.unwrap_or_default().to_lowercase();
            let level = match name.strip_prefix("heading ") {
                Some(level) => level.parse().ok(),
                None => (name == "title").then_some(0),
            };
            if let (Some(level), Some(id)) = (level, style.find_attribute("styleId")) {
                headings.insert(id.to_owned(), level);
            }
        }
        let mut links = BTreeMap::new();
        let relations = package.parse_part("word/_rels/document.xml.rels")?;
        for row in relations.iter().flat_map(|root| root.find_elements("Relationship")) {
            if let (Some(id), Some(target)) =
                (row.find_attribute("Id"), row.find_attribute("Target"))
            {
                links.insert(id.to_owned(), target.to_owned());
            }
        }
        let mut numbered = BTreeMap::new();
        if let Some(root) = package.parse_part("word/numbering.xml")? {
            let kinds: BTreeMap<&str, bool> = root
                .find_elements("abstractNum")
                .filter_map(|kind| {
                    let format =
                        kind.find_child("lvl")?.find_child("numFmt")?.find_attribute("val")?;
                    Some((kind.find_attribute("abstractNumId")?, format != "bullet"))
                })
                .collect();
            for list in root.find_elements("num") {
                let kind =
                    list.find_child("abstractNumId").and_then(|kind| kind.find_attribute("val"));
                let is_numbered = kind.and_then(|kind| kinds.get(kind)).copied().unwrap_or(false);
                if let Some(id) = list.find_attribute("numId") {
                    numbered.insert(id.to_owned(), is_numbered);
                }
            }
        }
        Ok(TextReader { headings, links, numbered })
    }

    fn read_blocks(&self, parent: &XmlElement, depth: usize, blocks: &mut Vec<String>) {
        for element in parent.list_elements() {
            match element.name.as_str() {
                "p" => self.read_paragraph(element, blocks),
                "tbl" if depth < DEPTH_MAX => {
                    let rows: Vec<Vec<String>> =
                        element.find_elements("tr").map(|row| self.read_row(row, depth)).collect();
                    blocks.push(write_table(&rows));
                }
                // A table of contents only repeats the headings.
                "sdt" if is_contents(element) => {}
                "sdt" | "sdtContent" | "ins" | "smartTag" | "customXml" | "AlternateContent"
                | "Choice" | "Fallback" => {
                    self.read_blocks(element, depth, blocks);
                }
                _ => {}
            }
        }
    }

    /// The cells of a row; one that spans several columns leaves those after it empty.
    fn read_row(&self, row: &XmlElement, depth: usize) -> Vec<String> {
        let mut cells = Vec::new();
        for cell in row.find_elements("tc") {
            let span = cell.follow_names(&["tcPr", "gridSpan"]);
            let span = span.and_then(|span| span.find_attribute("val")?.parse::<usize>().ok());
            cells.push(self.read_cell(cell, depth));
            cells.resize(cells.len() + span.unwrap_or(1).clamp(1, SPAN_MAX) - 1, String::new());
        }
        cells
    }

    fn read_cell(&self, cell: &XmlElement, depth: usize) -> String {
        let mut inner = Vec::new();
        self.read_blocks(cell, depth + 1, &mut inner);
        inner.join("\n")
    }

    fn read_paragraph(&self, paragraph: &XmlElement, blocks: &mut Vec<String>) {
        let mut text = String::new();
        self.add_runs(paragraph, &mut text);
        let text = text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        let about = paragraph.find_child("pPr");
        let value =
            |names: &[&str]| about.and_then(|p| p.follow_names(names))?.find_attribute("val");
        let style = value(&["pStyle"]).unwrap_or_default();
        if let Some(level) = self.headings.get(style) {
            blocks.push(format!("{} {text}", "#".repeat((level + 1).clamp(1, 6))));
            return;
        }
        match value(&["numPr", "numId"]) {
            Some(list) if list != "0" => {
                let level =
                    value(&["numPr", "ilvl"]).and_then(|l| l.parse().ok()).unwrap_or(0_usize);
                let numbered = self.numbered.get(list).copied().unwrap_or(false);
                let sign = if numbered { "1." } else { "-" };
                let line = format!("{}{sign} {text}", "  ".repeat(level.min(8)));
                // Items of a list stand together.
                match blocks.last_mut() {
                    Some(before) if is_item(before) => {
                        before.push('\n');
                        before.push_str(&line);
                    }
                    _ => blocks.push(line),
                }
            }
            _ => blocks.push(text),
        }
    }

    fn add_runs(&self, parent: &XmlElement, out: &mut String) {
        for node in &parent.children {
            let XmlNode::Element(element) = node else { continue };
            match element.name.as_str() {
                "r" => self.add_run(element, out),
                "hyperlink" => {
                    let mut text = String::new();
                    self.add_runs(element, &mut text);
                    let target = element.find_attribute("r:id").and_then(|id| self.links.get(id));
                    match target {
                        Some(target) => out.push_str(&write_link(&text, target)),
                        None => out.push_str(&text),
                    }
                }
                // What was deleted, and what is no text.
                "del" | "pPr" | "moveFrom" => {}
                _ => self.add_runs(element, out),
            }
        }
    }

    fn add_run(&self, run: &XmlElement, out: &mut String) {
        for element in run.list_elements() {
            match element.name.as_str() {
                "t" => out.push_str(&element.collect_text()),
                "tab" => out.push('\t'),
                "br" | "cr" => out.push('\n'),
                "noBreakHyphen" => out.push('-'),
                "footnoteReference" | "endnoteReference" => {
                    out.push_str(&format!(
                        "[^{}]",
                        element.find_attribute("id").unwrap_or_default()
                    ));
                }
                "drawing" | "pict" | "object" => self.add_drawing(element, out),
                "AlternateContent" => {
                    element.list_elements().for_each(|choice| self.add_run(choice, out));
                }
                _ => {}
            }
        }
    }

    /// A picture by what it shows, and the text of text boxes; what stands in a box is read with its
    /// text, and not again.
    fn add_drawing(&self, drawing: &XmlElement, out: &mut String) {
        for element in drawing.list_elements() {
            match element.name.as_str() {
                "docPr" => {
                    let about = element.find_attribute("descr").filter(|text| !text.is_empty());
                    let about =
                        about.or_else(|| element.find_attribute("name")).unwrap_or_default();
                    out.push_str(&format!("![{}]()", about.replace(['[', ']'], " ")));
                }
                "txbxContent" => {
                    let mut inner = Vec::new();
                    self.read_blocks(element, DEPTH_MAX, &mut inner);
                    out.push_str(&format!(" {} ", inner.join(" ")));
                }
                _ => self.add_drawing(element, out),
            }
        }
    }
}

fn is_contents(sdt: &XmlElement) -> bool {
    let gallery = sdt.follow_names(&["sdtPr", "docPartObj", "docPartGallery"]);
    gallery.and_then(|gallery| gallery.find_attribute("val")) == Some("Table of Contents")
}

fn is_item(block: &str) -> bool {
    let line = block.lines().last().unwrap_or_default().trim_start();
    line.starts_with("- ") || line.starts_with("1. ")
}
