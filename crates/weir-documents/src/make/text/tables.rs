//! Tables of a DOCX. A row that is higher than much of a page may break over pages, since a program
//! leaves out what is kept together and has no room. Not here: what stands in the cells.

use std::fmt::Write as _;

use super::{PageMeasure, starts_right_to_left};

/// Estimated width of a letter and height of a line, in twentieths of a point.
const LETTER_WIDTH: u64 = 125;
const LINE_HEIGHT: u64 = 290;

/// A paragraph that is being written.
#[derive(Default)]
pub(super) struct ParagraphDraft {
    pub(super) runs: String,
    pub(super) text: String,
}

/// A table that is being written; the first row is its head.
#[derive(Default)]
pub(super) struct TableDraft {
    pub(super) rows: Vec<Vec<ParagraphDraft>>,
    pub(super) aligns: Vec<pulldown_cmark::Alignment>,
}

/// The table as XML; `style` is the id of its style.
pub(super) fn table_xml(table: &TableDraft, style: &str, page: PageMeasure) -> String {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        return String::new();
    }
    let widths = column_widths(table, columns, page.text_width());
    let mut texts = table.rows.iter().flatten().map(|cell| cell.text.as_str());
    let visual = texts.find(|text| !text.trim().is_empty()).is_some_and(starts_right_to_left);
    let bidi = if visual { "<w:bidiVisual/>" } else { "" };
    let mut xml = format!(
        "<w:tbl><w:tblPr><w:tblStyle w:val=\"{style}\"/>{bidi}<w:tblW w:w=\"{}\" \
         w:type=\"dxa\"/><w:tblLayout w:type=\"fixed\"/><w:tblLook w:val=\"0020\" \
         w:firstRow=\"1\"/></w:tblPr><w:tblGrid>",
        widths.iter().sum::<u64>()
    );
    for width in &widths {
        let _ = write!(xml, "<w:gridCol w:w=\"{width}\"/>");
    }
    xml.push_str("</w:tblGrid>");
    for (number, row) in table.rows.iter().enumerate() {
        // A head stands on every page, and a row stays on one, where there is room for more.
        let is_high = row_height(row, &widths) > page.text_height() / 3;
        let about = match (is_high, number) {
            (true, _) => "",
            (false, 0) => "<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>",
            (false, _) => "<w:trPr><w:cantSplit/></w:trPr>",
        };
        let _ = write!(xml, "<w:tr>{about}");
        for (at, width) in widths.iter().enumerate() {
            let cell = row.get(at);
            let side = table.aligns.get(at).map_or("", |align| align_xml(*align));
            let bidi = cell.is_some_and(|cell| starts_right_to_left(&cell.text));
            let bidi = if bidi { "<w:bidi/>" } else { "" };
            let runs = cell.map_or("", |cell| cell.runs.as_str());
            let _ = write!(
                xml,
                "<w:tc><w:tcPr><w:tcW w:w=\"{width}\" w:type=\"dxa\"/></w:tcPr><w:p><w:pPr>\
                 {bidi}<w:spacing w:before=\"40\" w:after=\"40\"/>{side}</w:pPr>{runs}</w:p>\
                 </w:tc>"
            );
        }
        xml.push_str("</w:tr>");
    }
    // Two tables that touch would become one.
    xml.push_str("</w:tbl><w:p><w:pPr><w:spacing w:after=\"60\"/></w:pPr></w:p>");
    xml
}

/// How high a row will be at most, by its longest cell.
fn row_height(row: &[ParagraphDraft], widths: &[u64]) -> u64 {
    let heights = row.iter().zip(widths).map(|(cell, width)| {
        let letters = (width.saturating_sub(200) / LETTER_WIDTH).max(1) as usize;
        let lines = cell.text.split('\n').map(|line| {
            unicode_width::UnicodeWidthStr::width(line).div_ceil(letters).max(1) as u64
        });
        lines.sum::<u64>() * LINE_HEIGHT
    });
    heights.max().unwrap_or(0)
}

fn align_xml(align: pulldown_cmark::Alignment) -> &'static str {
    match align {
        pulldown_cmark::Alignment::None => "",
        pulldown_cmark::Alignment::Left => "<w:jc w:val=\"left\"/>",
        pulldown_cmark::Alignment::Center => "<w:jc w:val=\"center\"/>",
        pulldown_cmark::Alignment::Right => "<w:jc w:val=\"right\"/>",
    }
}

/// By how much stands in each column, none thinner than its longest word where there is room.
fn column_widths(table: &TableDraft, columns: usize, whole: u64) -> Vec<u64> {
    let wanted: Vec<u64> = (0..columns)
        .map(|at| {
            let cells = table.rows.iter().filter_map(|row| row.get(at));
            let widest =
                cells.map(|cell| unicode_width::UnicodeWidthStr::width(cell.text.as_str())).max();
            (widest.unwrap_or(0) as u64).clamp(6, 50) + 4
        })
        .collect();
    let sum: u64 = wanted.iter().sum::<u64>().max(1);
    // A thin table need not fill the page: some 130 twentieths of a point a character.
    let whole = whole.min(sum * 130 + columns as u64 * 400).max(whole / 2);
    wanted.iter().map(|wanted| whole * wanted / sum).collect()
}
