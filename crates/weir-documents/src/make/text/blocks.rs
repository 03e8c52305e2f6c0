//! Markdown to the body of a DOCX: paragraphs, lists, tables, links, pictures. Not here: the package
//! around the body, and what styles look like.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use weir_core::document::DocumentError;

use super::styles::TextList;
use super::tables::{ParagraphDraft, TableDraft, table_xml};
use super::{PageMeasure, StyleNames, is_right_to_left, starts_right_to_left};
use crate::make::GivenFiles;
use crate::make::parts::{PackagePicture, PartRelationships, PictureStore};
use crate::markdown::is_plain_link;
use crate::xml::xml_text;

/// Units of drawings in one pixel, at 96 pixels to the inch.
const EMU_PER_PIXEL: u64 = 9_525;
/// Units of drawings in a twentieth of a point.
const EMU_PER_TWIP: u64 = 635;
/// Deepest level of lists that is told apart.
const LEVEL_MAX: usize = 8;

/// A heading, for the table of contents.
pub(super) struct TextHeading {
    pub(super) level: usize,
    pub(super) text: String,
    pub(super) bookmark: String,
}

/// Where the ids of a body begin: none may be one of the template's.
pub(super) struct BodyIds {
    pub(super) relations: PartRelationships,
    pub(super) list_id_first: usize,
}

/// The body while it is written.
pub(super) struct BodyWriter<'a> {
    pub(super) xml: String,
    pub(super) headings: Vec<TextHeading>,
    pub(super) lists: Vec<TextList>,
    pub(super) pictures: PictureStore,
    pub(super) relations: PartRelationships,
    pub(super) list_id_first: usize,
    pub(super) remarks: Vec<String>,
    names: &'a StyleNames,
    files: &'a GivenFiles<'a>,
    page: PageMeasure,
    paragraph: ParagraphDraft,
    marks: TextMarks,
    /// The lists that are open: their numbers.
    open_lists: Vec<usize>,
    /// The next paragraph is the first of its item.
    item_begins: bool,
    quotes: usize,
    table: Option<TableDraft>,
    picture: Option<(String, String)>,
    /// Drawings, and the relationships of their files.
    drawings: usize,
    picture_ids: BTreeMap<String, String>,
}

/// What holds for the text that comes.
#[derive(Default)]
struct TextMarks {
    bold: usize,
    italic: usize,
    struck: usize,
    link: Option<String>,
}

impl<'a> BodyWriter<'a> {
    pub(super) fn new(
        names: &'a StyleNames,
        files: &'a GivenFiles<'a>,
        page: PageMeasure,
        ids: BodyIds,
    ) -> BodyWriter<'a> {
        BodyWriter {
            xml: String::new(),
            headings: Vec::new(),
            lists: Vec::new(),
            pictures: PictureStore::default(),
            relations: ids.relations,
            list_id_first: ids.list_id_first,
            remarks: Vec::new(),
            names,
            files,
            page,
            paragraph: ParagraphDraft::default(),
            marks: TextMarks::default(),
            open_lists: Vec::new(),
            item_begins: false,
            quotes: 0,
            table: None,
            picture: None,
            drawings: 0,
            picture_ids: BTreeMap::new(),
        }
    }

    /// Writes all of `markdown`.
    pub(super) fn write_markdown(&mut self, markdown: &str) -> Result<(), DocumentError> {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut code = None::<String>;
        for event in Parser::new_ext(markdown, options) {
            match (event, &mut code) {
                (Event::Text(text), Some(code)) => code.push_str(&text),
                (Event::End(TagEnd::CodeBlock), _) => {
                    let text = code.take().unwrap_or_default();
                    self.write_code(text.trim_end_matches('\n'));
                }
                (Event::Start(Tag::CodeBlock(_)), _) => {
                    self.end_paragraph("Normal");
                    code = Some(String::new());
                }
                (event, _) => self.write_event(event)?,
            }
        }
        self.end_paragraph("Normal");
        Ok(())
    }

    fn write_event(&mut self, event: Event<'_>) -> Result<(), DocumentError> {
        match event {
            Event::Start(tag) => self.open_tag(tag),
            Event::End(tag) => return self.close_tag(tag),
            Event::Text(text) => self.add_text(&text),
            Event::Code(text) => self.add_run(&text, &self.character_style("CodeText")),
            Event::InlineHtml(text) | Event::Html(text) => match text.trim() {
                "<br>" | "<br/>" | "<br />" => self.add_break(),
                _ => self.add_text(&text),
            },
            Event::SoftBreak => self.add_text(" "),
            Event::HardBreak => self.add_break(),
            Event::Rule => {
                self.end_paragraph("Normal");
                self.xml.push_str(
                    "<w:p><w:pPr><w:pBdr><w:bottom w:val=\"single\" w:sz=\"6\" w:space=\"1\" \
                     w:color=\"BFBFBF\"/></w:pBdr></w:pPr></w:p>",
                );
            }
            Event::TaskListMarker(done) => self.add_text(if done { "☑ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.add_text(&text),
            Event::FootnoteReference(name) => self.add_text(&format!("[{name}]")),
        }
        Ok(())
    }

    fn open_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Paragraph | Tag::HtmlBlock
                if !self.paragraph.text.is_empty() =>
            {
                self.end_paragraph("Normal");
            }
            Tag::Heading { .. } | Tag::Paragraph | Tag::HtmlBlock => {}
            Tag::BlockQuote(_) => {
                self.end_paragraph("Normal");
                self.quotes += 1;
            }
            Tag::List(first) => {
                self.end_paragraph("Normal");
                self.lists.push(TextList { first });
                self.open_lists.push(self.list_id_first + self.lists.len() - 1);
            }
            Tag::Item => self.item_begins = true,
            Tag::Table(aligns) => {
                self.end_paragraph("Normal");
                self.table = Some(TableDraft { aligns, ..TableDraft::default() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Strong => self.marks.bold += 1,
            Tag::Emphasis => self.marks.italic += 1,
            Tag::Strikethrough => self.marks.struck += 1,
            Tag::Link { dest_url, .. } => {
                self.marks.link = is_plain_link(&dest_url).then(|| dest_url.into_string());
            }
            Tag::Image { dest_url, .. } => {
                self.picture = Some((dest_url.into_string(), String::new()));
            }
            _ => {}
        }
    }

    fn close_tag(&mut self, tag: TagEnd) -> Result<(), DocumentError> {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_paragraph("Normal"),
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::BlockQuote(_) => {
                self.end_paragraph("Normal");
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.open_lists.pop();
            }
            TagEnd::Item => {
                self.end_paragraph("Normal");
                self.item_begins = false;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.paragraph);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Strong => self.marks.bold = self.marks.bold.saturating_sub(1),
            TagEnd::Emphasis => self.marks.italic = self.marks.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.marks.struck = self.marks.struck.saturating_sub(1),
            TagEnd::Link => self.marks.link = None,
            TagEnd::Image => return self.end_picture(),
            _ => {}
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        if let Some((_, alt)) = &mut self.picture {
            alt.push_str(text);
            return;
        }
        self.add_run(text, "");
    }

    fn character_style(&self, id: &str) -> String {
        format!("<w:rStyle w:val=\"{}\"/>", xml_text(self.names.find_id(id)))
    }

    fn add_run(&mut self, text: &str, style: &str) {
        let link = self.marks.link.clone();
        let link_style =
            if link.is_some() { self.character_style("Hyperlink") } else { String::new() };
        let mut marks = if link.is_some() { link_style } else { style.to_owned() };
        for (count, mark) in [
            (self.marks.bold, "<w:b/><w:bCs/>"),
            (self.marks.italic, "<w:i/><w:iCs/>"),
            (self.marks.struck, "<w:strike/>"),
        ] {
            if count > 0 {
                marks.push_str(mark);
            }
        }
        // A run has one direction: what is written from the right says so.
        let mut run = String::new();
        for piece in split_directions(text) {
            let rtl = if is_right_to_left(piece) { "<w:rtl/>" } else { "" };
            let _ = write!(
                run,
                "<w:r><w:rPr>{marks}{rtl}</w:rPr><w:t xml:space=\"preserve\">{}</w:t></w:r>",
                xml_text(piece)
            );
        }
        if let Some(address) = link {
            let id = self.relations.add_link(&address);
            run = format!("<w:hyperlink r:id=\"{id}\">{run}</w:hyperlink>");
        }
        self.paragraph.runs.push_str(&run);
        self.paragraph.text.push_str(text);
    }

    fn add_break(&mut self) {
        self.paragraph.runs.push_str("<w:r><w:br/></w:r>");
        self.paragraph.text.push('\n');
    }

    fn end_paragraph(&mut self, style: &str) {
        let draft = std::mem::take(&mut self.paragraph);
        if self.table.is_some() || (draft.runs.is_empty() && !self.item_begins) {
            return;
        }
        if draft.text.trim() == "\\newpage" {
            self.xml.push_str("<w:p><w:r><w:br w:type=\"page\"/></w:r></w:p>");
            return;
        }
        let style = match (self.quotes, self.open_lists.is_empty(), style) {
            (_, false, "Normal") => "ListParagraph",
            (1.., _, "Normal") => "Quote",
            _ => style,
        };
        let mut inner = String::new();
        if let Some(list) = self.open_lists.last() {
            let level = (self.open_lists.len() - 1).min(LEVEL_MAX);
            if std::mem::take(&mut self.item_begins) {
                let _ = write!(
                    inner,
                    "<w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{list}\"/></w:numPr>"
                );
            }
            if starts_right_to_left(&draft.text) {
                inner.push_str("<w:bidi/>");
            }
            let _ = write!(inner, "<w:ind w:left=\"{}\"", 500 + 420 * level);
            let hanging = if inner.contains("numPr") { " w:hanging=\"360\"" } else { "" };
            let _ = write!(inner, "{hanging}/>");
        } else if starts_right_to_left(&draft.text) {
            inner.push_str("<w:bidi/>");
        }
        self.push_paragraph(style, &inner, &draft.runs);
    }

    fn push_paragraph(&mut self, style: &str, inner: &str, runs: &str) {
        let style = xml_text(self.names.find_id(style));
        let _ = write!(
            self.xml,
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/>{inner}</w:pPr>{runs}</w:p>"
        );
    }

    /// A paragraph of its own with plain text.
    pub(super) fn write_line(&mut self, style: &str, text: &str) {
        self.add_run(text, "");
        self.end_paragraph(style);
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let draft = std::mem::take(&mut self.paragraph);
        let number = self.headings.len() + 1;
        let bookmark = format!("_Toc{number:06}");
        let level = level as usize;
        let bidi = if starts_right_to_left(&draft.text) { "<w:bidi/>" } else { "" };
        let runs = format!(
            "<w:bookmarkStart w:id=\"{number}\" w:name=\"{bookmark}\"/>{}<w:bookmarkEnd \
             w:id=\"{number}\"/>",
            draft.runs
        );
        self.push_paragraph(&format!("Heading{level}"), bidi, &runs);
        self.headings.push(TextHeading { level, text: draft.text, bookmark });
    }

    fn write_code(&mut self, code: &str) {
        let lines: Vec<String> = code
            .lines()
            .map(|line| {
                let line = xml_text(&line.replace('\t', "    "));
                format!("<w:t xml:space=\"preserve\">{line}</w:t>")
            })
            .collect();
        let runs = format!("<w:r>{}</w:r>", lines.join("<w:br/>"));
        self.push_paragraph("SourceCode", "", &runs);
    }

    fn end_picture(&mut self) -> Result<(), DocumentError> {
        let Some((name, alt)) = self.picture.take() else { return Ok(()) };
        let Some(bytes) = self.files.try_file(&name) else {
            // Nothing is fetched: an address stays one.
            self.remarks.push(format!("the picture {name} is named, not shown: it is no file"));
            let shown = if alt.is_empty() { name } else { format!("{alt} ({name})") };
            self.add_run(&shown, "");
            return Ok(());
        };
        let stored = self.pictures.store_picture(&name, bytes, "weir-picture")?;
        let file = stored.file.clone();
        let (width, height) = fit_picture(self.page, &stored.picture);
        self.drawings += 1;
        let number = self.drawings;
        let id = match self.picture_ids.get(&file) {
            Some(id) => id.clone(),
            None => {
                let id = self.relations.add_relationship("image", &format!("media/{file}"));
                self.picture_ids.insert(file.clone(), id.clone());
                id
            }
        };
        let _ = write!(
            self.paragraph.runs,
            "<w:r><w:drawing><wp:inline distT=\"0\" distB=\"0\" distL=\"0\" distR=\"0\"><wp:extent \
             cx=\"{width}\" cy=\"{height}\"/><wp:docPr id=\"{number}\" name=\"Picture {number}\" \
             descr=\"{alt}\"/><a:graphic><a:graphicData uri=\"{PICTURE}\"><pic:pic><pic:nvPicPr>\
             <pic:cNvPr id=\"{number}\" name=\"{file}\" descr=\"{alt}\"/><pic:cNvPicPr/>\
             </pic:nvPicPr><pic:blipFill><a:blip r:embed=\"{id}\"/><a:stretch><a:fillRect/>\
             </a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x=\"0\" y=\"0\"/><a:ext \
             cx=\"{width}\" cy=\"{height}\"/></a:xfrm><a:prstGeom prst=\"rect\"><a:avLst/>\
             </a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>\
             </w:r>",
            alt = xml_text(&alt),
        );
        self.paragraph.text.push_str(&alt);
        Ok(())
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            let style = xml_text(self.names.find_id("LinedTable"));
            self.xml.push_str(&table_xml(&table, &style, self.page));
        }
    }
}

/// No wider than the text, and no higher than most of a page.
fn fit_picture(page: PageMeasure, picture: &PackagePicture) -> (u64, u64) {
    let (mut width, mut height) =
        (u64::from(picture.width) * EMU_PER_PIXEL, u64::from(picture.height) * EMU_PER_PIXEL);
    let width_max = page.text_width() * EMU_PER_TWIP;
    let height_max = page.text_height() * EMU_PER_TWIP * 7 / 10;
    if width > width_max {
        (width, height) = (width_max, height * width_max / width);
    }
    if height > height_max {
        (width, height) = (width * height_max / height, height_max);
    }
    (width.max(1), height.max(1))
}

const PICTURE: &str = "http://schemas.openxmlformats.org/drawingml/2006/picture";

/// Pieces of one direction each; blanks and signs go with what stands before them.
fn split_directions(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut current) = (0, None);
    for (at, c) in text.char_indices() {
        let direction = if super::is_rtl_char(c) {
            Some(true)
        } else if c.is_alphabetic() {
            Some(false)
        } else {
            None
        };
        match (current, direction) {
            (Some(before), Some(now)) if before != now => {
                pieces.push(&text[from..at]);
                (from, current) = (at, direction);
            }
            (None, Some(_)) => current = direction,
            _ => {}
        }
    }
    pieces.push(&text[from..]);
    pieces
}
