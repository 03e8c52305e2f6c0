//! DOCX from Markdown: the package around the body, with the styles that come with the program or
//! those of a template. Not here: the body itself (`blocks`).

mod blocks;
mod styles;
mod tables;
mod template;

use std::collections::BTreeMap;

use weir_core::document::DocumentError;
use weir_core::office::{PaperSize, TextDocument};

use self::blocks::{BodyIds, BodyWriter};
use self::styles::{LIST_ID_FIRST, WORD, numbering_rows, styles_xml};
use self::template::TextTemplate;
use super::parts::{
    CONTENT_TYPES, ContentTypes, DocumentProperties, PartRelationships, RELATION, XML_HEAD,
    add_root, relations_xml,
};
use super::{GivenFiles, MadeDocument};
use crate::package::ZipPackage;
use crate::unfit_description;
use crate::xml::xml_text;

const KIND: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml";
/// Longest Markdown, in bytes: a long book.
const CONTENT_BYTES_MAX: usize = 4 << 20;

/// A page, in twentieths of a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageMeasure {
    width: u64,
    height: u64,
    margin: u64,
}

impl PageMeasure {
    fn measure_page(text: &TextDocument) -> PageMeasure {
        let (width, height) = match text.paper.unwrap_or(PaperSize::A4) {
            PaperSize::A4 => (11_906, 16_838),
            PaperSize::Letter => (12_240, 15_840),
        };
        let (width, height) = if text.landscape { (height, width) } else { (width, height) };
        PageMeasure { width, height, margin: 1_304 }
    }

    fn text_width(&self) -> u64 {
        self.width.saturating_sub(2 * self.margin).max(1_000)
    }

    fn text_height(&self) -> u64 {
        self.height.saturating_sub(2 * self.margin).max(1_000)
    }
}

/// The ids of styles in this document, by the ids that the writer knows.
#[derive(Debug, Default)]
pub(crate) struct StyleNames {
    other: BTreeMap<&'static str, String>,
}

impl StyleNames {
    fn find_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.other.get(id).map_or(id, String::as_str)
    }
}

/// Writes a text.
pub(super) fn make_text(
    text: &TextDocument,
    files: &GivenFiles<'_>,
) -> Result<MadeDocument, DocumentError> {
    if text.content.len() > CONTENT_BYTES_MAX {
        return Err(unfit_description("the content has more than 4 MB; make several documents"));
    }
    let template = match &text.template {
        Some(name) => Some(TextTemplate::read_template(name, files.require_file(name)?)?),
        None => None,
    };
    let names = template.as_ref().map(TextTemplate::style_names).unwrap_or_default();
    let page =
        template.as_ref().and_then(|t| t.page).unwrap_or_else(|| PageMeasure::measure_page(text));
    let ids = match &template {
        Some(template) => template.free_ids()?,
        None => BodyIds {
            relations: PartRelationships::beside_rows("", "rIdW"),
            list_id_first: LIST_ID_FIRST,
        },
    };
    let mut body = BodyWriter::new(&names, files, page, ids);
    if let Some(title) = &text.title {
        body.write_line("Title", title);
    }
    let front = std::mem::take(&mut body.xml);
    body.write_markdown(&text.content)?;
    if body.xml.is_empty() && front.is_empty() {
        return Err(unfit_description("there is no content; give some Markdown"));
    }
    let contents =
        if text.contents { contents_xml(&body, &names, &text.content) } else { String::new() };
    let mut remarks = std::mem::take(&mut body.remarks);
    let main = format!("{front}{contents}{}", body.xml);
    let bytes = match template {
        Some(template) => {
            remarks.extend(template.remarks.iter().cloned());
            template.fill_template(text, &body, &main)?
        }
        None => write_package(text, &body, &main, page)?,
    };
    let mut outline = String::new();
    for line in [text.title.as_deref().map(|t| format!("# {t}\n\n"))].into_iter().flatten() {
        outline.push_str(&line);
    }
    outline.push_str(&text.content);
    outline.push('\n');
    Ok(MadeDocument { bytes, outline, remarks })
}

/// The namespaces of a part with text.
fn declare_namespaces() -> String {
    format!(
        "xmlns:w=\"{WORD}\" xmlns:r=\"{RELATION}\" \
         xmlns:wp=\"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing\" \
         xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
         xmlns:pic=\"http://schemas.openxmlformats.org/drawingml/2006/picture\""
    )
}

fn document_xml(main: &str, section: &str) -> String {
    format!(
        "{XML_HEAD}<w:document {}><w:body>{main}{section}</w:body></w:document>",
        declare_namespaces()
    )
}

/// A header or footer: which, and its line.
struct MarginLine {
    name: &'static str,
    style: &'static str,
    line: String,
}

fn list_margin_lines(text: &TextDocument) -> Vec<MarginLine> {
    let margin = |line: &Option<String>, name, style| {
        line.as_ref().map(|line| MarginLine { name, style, line: line.clone() })
    };
    let all = [margin(&text.header, "header", "Header"), margin(&text.footer, "footer", "Footer")];
    all.into_iter().flatten().collect()
}

impl MarginLine {
    /// The part, with numbers of pages where the line names them.
    fn to_xml(&self, names: &StyleNames) -> String {
        let tag = if self.name == "header" { "hdr" } else { "ftr" };
        let mut runs = String::new();
        let mut rest = self.line.as_str();
        while let Some(at) = rest.find("{page") {
            let (before, after) = rest.split_at(at);
            let (field, length) = match after {
                after if after.starts_with("{pages}") => ("NUMPAGES", 7),
                after if after.starts_with("{page}") => ("PAGE", 6),
                _ => ("", 5),
            };
            runs.push_str(&text_run(before));
            match field {
                "" => runs.push_str(&text_run(&after[..length])),
                field => runs.push_str(&format!(
                    "<w:fldSimple w:instr=\" {field} \"><w:r><w:t>1</w:t></w:r></w:fldSimple>"
                )),
            }
            rest = &after[length..];
        }
        runs.push_str(&text_run(rest));
        let bidi = if starts_right_to_left(&self.line) { "<w:bidi/>" } else { "" };
        format!(
            "{XML_HEAD}<w:{tag} {}><w:p><w:pPr><w:pStyle w:val=\"{}\"/>{bidi}<w:jc \
             w:val=\"center\"/></w:pPr>{runs}</w:p></w:{tag}>",
            declare_namespaces(),
            xml_text(names.find_id(self.style))
        )
    }
}

fn text_run(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let rtl = if is_right_to_left(text) { "<w:rPr><w:rtl/></w:rPr>" } else { "" };
    format!("<w:r>{rtl}<w:t xml:space=\"preserve\">{}</w:t></w:r>", xml_text(text))
}

/// A table of contents that links to its headings and that the reader's program can bring up to
/// date. It has no page numbers until then: who writes cannot know them.
fn contents_xml(body: &BodyWriter<'_>, names: &StyleNames, content: &str) -> String {
    let heading = if starts_right_to_left(content) { "" } else { "Contents" };
    let bidi = if starts_right_to_left(content) { "<w:bidi/>" } else { "" };
    let mut rows = String::new();
    let entries: Vec<_> = body.headings.iter().filter(|heading| heading.level <= 3).collect();
    for (number, entry) in entries.iter().enumerate() {
        let begin = if number == 0 {
            "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText \
             xml:space=\"preserve\"> TOC \\o \"1-3\" \\h \\z \\u </w:instrText></w:r><w:r>\
             <w:fldChar w:fldCharType=\"separate\"/></w:r>"
        } else {
            ""
        };
        let end = if number + 1 == entries.len() {
            "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>"
        } else {
            ""
        };
        let style = format!("TOC{}", entry.level);
        rows.push_str(&format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{}\"/>{bidi}</w:pPr>{begin}<w:hyperlink \
             w:anchor=\"{}\">{}</w:hyperlink>{end}</w:p>",
            xml_text(names.find_id(&style)),
            entry.bookmark,
            text_run(&entry.text)
        ));
    }
    if rows.is_empty() {
        return String::new();
    }
    let title = match heading {
        "" => String::new(),
        heading => format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{}\"/></w:pPr>{}</w:p>",
            xml_text(names.find_id("TOCHeading")),
            text_run(heading)
        ),
    };
    format!(
        "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val=\"Table of Contents\"/>\
         <w:docPartUnique/></w:docPartObj></w:sdtPr><w:sdtContent>{title}{rows}</w:sdtContent>\
         </w:sdt>"
    )
}

fn write_package(
    text: &TextDocument,
    body: &BodyWriter<'_>,
    main: &str,
    page: PageMeasure,
) -> Result<Vec<u8>, DocumentError> {
    let names = StyleNames::default();
    let mut package = ZipPackage::default();
    let mut types = ContentTypes::default();
    let mut relations = PartRelationships::default();
    types.add_override("word/document.xml", &format!("{KIND}.document.main+xml"));
    types.add_override("word/styles.xml", &format!("{KIND}.styles+xml"));
    types.add_override("word/numbering.xml", &format!("{KIND}.numbering+xml"));
    relations.add_relationship("styles", "styles.xml");
    relations.add_relationship("numbering", "numbering.xml");
    let mut references = String::new();
    for margin in list_margin_lines(text) {
        let file = format!("{}1.xml", margin.name);
        let id = relations.add_relationship(margin.name, &file);
        types.add_override(&format!("word/{file}"), &format!("{KIND}.{}+xml", margin.name));
        package.insert(format!("word/{file}"), margin.to_xml(&names));
        references
            .push_str(&format!("<w:{}Reference w:type=\"default\" r:id=\"{id}\"/>", margin.name));
    }
    let wide = if text.landscape { " w:orient=\"landscape\"" } else { "" };
    let (width, height, margin) = (page.width, page.height, page.margin);
    let section = format!(
        "<w:sectPr>{references}<w:pgSz w:w=\"{width}\" w:h=\"{height}\"{wide}/><w:pgMar \
         w:top=\"{margin}\" w:right=\"{margin}\" w:bottom=\"{margin}\" w:left=\"{margin}\" \
         w:header=\"624\" w:footer=\"624\" w:gutter=\"0\"/></w:sectPr>"
    );
    let [kinds, used] = numbering_rows(&body.lists, body.list_id_first);
    package.insert(
        "word/numbering.xml",
        format!("{XML_HEAD}<w:numbering xmlns:w=\"{WORD}\">{kinds}{used}</w:numbering>"),
    );
    package.insert("word/styles.xml", styles_xml());
    package.insert("word/document.xml", document_xml(main, &section));
    for stored in body.pictures.list_pictures() {
        package.insert(format!("word/media/{}", stored.file), stored.picture.bytes.clone());
    }
    let rows = format!("{}{}", relations.list_rows(), body.relations.list_rows());
    package.insert("word/_rels/document.xml.rels", relations_xml(&rows));
    add_root(&mut package, &mut types, "word/document.xml", properties_of(text));
    package.insert(CONTENT_TYPES, types.to_xml());
    package.into_bytes(CONTENT_TYPES)
}

fn properties_of(text: &TextDocument) -> DocumentProperties<'_> {
    DocumentProperties { title: text.title.as_deref(), author: text.author.as_deref() }
}

/// Whether a letter is of a script that is written from the right.
fn is_rtl_char(c: char) -> bool {
    matches!(c,
        '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
        && !c.is_numeric()
}

/// Whether the first letter is of a script that is written from the right.
pub(crate) fn starts_right_to_left(text: &str) -> bool {
    text.chars().find(|c| c.is_alphabetic()).is_some_and(is_rtl_char)
}

/// Whether there are such letters at all: for a piece of one direction.
fn is_right_to_left(text: &str) -> bool {
    text.chars().any(is_rtl_char)
}

#[cfg(test)]
pub(crate) mod tests;
