//! What stands on a slide as XML: text in a placeholder, tables, pictures, charts.

use std::fmt::Write as _;

use super::fit::SlideBox;
use super::layout::SlidePlace;
use super::look::SECOND_LEVEL;
use super::words::{SlideBullet, SlideParagraph, SlideRun};
use crate::make::parts::PartRelationships;
use crate::make::text::starts_right_to_left;
use crate::xml::xml_text;

/// The shapes of one slide while they are written.
pub(super) struct ShapeWriter {
    pub(super) xml: String,
    pub(super) relations: PartRelationships,
    count: usize,
}

impl ShapeWriter {
    pub(super) fn new() -> ShapeWriter {
        // The group around all shapes is the first.
        ShapeWriter { xml: String::new(), relations: PartRelationships::default(), count: 1 }
    }

    fn next_id(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Text in a placeholder of the layout. `size` is said only where it is not the layout's.
    pub(super) fn add_text(
        &mut self,
        place: &SlidePlace,
        paragraphs: &[SlideParagraph],
        size: Option<u32>,
    ) {
        let id = self.next_id();
        let body: String = paragraphs.iter().map(|p| self.paragraph_xml(p, size)).collect();
        let reference = place.reference_xml();
        let _ = write!(
            self.xml,
            "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"{} {id}\"/><p:cNvSpPr><a:spLocks \
             noGrp=\"1\"/></p:cNvSpPr><p:nvPr>{reference}</p:nvPr></p:nvSpPr><p:spPr>{}</p:spPr>\
             <p:txBody><a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle/>{body}</p:txBody></p:sp>",
            place.shown_name(),
            place.own_frame.map(|area| frame_xml("a", area)).unwrap_or_default(),
        );
    }

    /// The line at the bottom and the number, in the placeholders of the layout.
    pub(super) fn add_field(&mut self, place: &SlidePlace, text: Option<&str>) {
        let id = self.next_id();
        let reference = place.reference_xml();
        let body = match text {
            Some(text) => format!(
                "<a:pPr algn=\"l\"/><a:r><a:rPr sz=\"1200\"><a:solidFill><a:schemeClr val=\"tx1\">\
                 <a:alpha val=\"65000\"/></a:schemeClr></a:solidFill><a:latin \
                 typeface=\"+mn-lt\"/></a:rPr><a:t>{}</a:t></a:r>",
                xml_text(text)
            ),
            None => "<a:fld id=\"{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}\" type=\"slidenum\">\
                     <a:rPr/><a:t>‹#›</a:t></a:fld>"
                .to_owned(),
        };
        let _ = write!(
            self.xml,
            "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"{} {id}\"/><p:cNvSpPr><a:spLocks \
             noGrp=\"1\"/></p:cNvSpPr><p:nvPr>{reference}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody>\
             <a:bodyPr/><a:lstStyle/><a:p>{body}</a:p></p:txBody></p:sp>",
            place.shown_name()
        );
    }

    fn paragraph_xml(&mut self, paragraph: &SlideParagraph, size: Option<u32>) -> String {
        let rtl = starts_right_to_left(&paragraph.collect_text());
        let mut marks = String::new();
        if paragraph.level > 0 {
            marks.push_str(" lvl=\"1\"");
        }
        if rtl {
            marks.push_str(" algn=\"r\" rtl=\"1\"");
        }
        let bullet = match paragraph.bullet {
            None => {
                // Where a list would stand in, plain text does not.
                marks.insert_str(0, " marL=\"0\" indent=\"0\"");
                "<a:buNone/>".to_owned()
            }
            Some(SlideBullet::Dot) => String::new(),
            Some(SlideBullet::Number(number)) => {
                let number = number.clamp(1, 32_767);
                format!(
                    "<a:buFont typeface=\"+mj-lt\"/><a:buAutoNum type=\"arabicPeriod\" \
                     startAt=\"{number}\"/>"
                )
            }
        };
        let size = size.map(|size| scale_size(size, paragraph.level));
        let runs: String = paragraph.runs.iter().map(|run| self.run_xml(run, size)).collect();
        format!("<a:p><a:pPr{marks}>{bullet}</a:pPr>{runs}</a:p>")
    }

    fn run_xml(&mut self, run: &SlideRun, size: Option<u32>) -> String {
        let mut marks = String::new();
        if let Some(size) = size {
            let _ = write!(marks, " sz=\"{}\"", size * 100);
        }
        if run.bold {
            marks.push_str(" b=\"1\"");
        }
        if run.italic {
            marks.push_str(" i=\"1\"");
        }
        let font = if run.code { "<a:latin typeface=\"Consolas\"/>" } else { "" };
        let link = match &run.link {
            Some(address) => {
                format!("<a:hlinkClick r:id=\"{}\"/>", self.relations.add_link(address))
            }
            None => String::new(),
        };
        let lines: Vec<String> = run
            .text
            .split('\n')
            .map(|line| {
                format!(
                    "<a:r><a:rPr{marks}>{font}{link}</a:rPr><a:t>{}</a:t></a:r>",
                    xml_text(line)
                )
            })
            .collect();
        lines.join("<a:br/>")
    }

    /// A table; the first row is its head.
    pub(super) fn add_table(&mut self, rows: &[Vec<String>], area: SlideBox, look: &TableLook) {
        let id = self.next_id();
        let first = rows.iter().flatten().find(|cell| !cell.trim().is_empty());
        let rtl =
            if first.is_some_and(|cell| starts_right_to_left(cell)) { " rtl=\"1\"" } else { "" };
        let grid: String =
            look.widths.iter().map(|width| format!("<a:gridCol w=\"{width}\"/>")).collect();
        let mut body = String::new();
        for (number, row) in rows.iter().enumerate() {
            let height = look.heights.get(number).copied().unwrap_or(370_840);
            let _ = write!(body, "<a:tr h=\"{height}\">");
            for at in 0..look.widths.len() {
                let cell = row.get(at).map_or("", String::as_str);
                body.push_str(&cell_xml(cell, number + usize::from(!look.has_head), look.size));
            }
            body.push_str("</a:tr>");
        }
        let _ = write!(
            self.xml,
            "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id=\"{id}\" name=\"Table {id}\"/>\
             <p:cNvGraphicFramePr><a:graphicFrameLocks noGrp=\"1\"/></p:cNvGraphicFramePr><p:nvPr/>\
             </p:nvGraphicFramePr>{}<a:graphic><a:graphicData \
             uri=\"http://schemas.openxmlformats.org/drawingml/2006/table\"><a:tbl><a:tblPr \
             firstRow=\"1\"{rtl}/><a:tblGrid>{grid}</a:tblGrid>{body}</a:tbl></a:graphicData>\
             </a:graphic></p:graphicFrame>",
            frame_xml("p", area)
        );
    }

    /// A picture that is in the package; `id` is its relationship.
    pub(super) fn add_picture(&mut self, relation: &str, alt: &str, area: SlideBox) {
        let id = self.next_id();
        let _ = write!(
            self.xml,
            "<p:pic><p:nvPicPr><p:cNvPr id=\"{id}\" name=\"Picture {id}\" descr=\"{}\"/>\
             <p:cNvPicPr><a:picLocks noChangeAspect=\"1\"/></p:cNvPicPr><p:nvPr/></p:nvPicPr>\
             <p:blipFill><a:blip r:embed=\"{relation}\"/><a:stretch><a:fillRect/></a:stretch>\
             </p:blipFill><p:spPr>{}<a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom></p:spPr>\
             </p:pic>",
            xml_text(alt),
            frame_xml("a", area)
        );
    }

    /// A chart that is in the package.
    pub(super) fn add_chart(&mut self, relation: &str, area: SlideBox) {
        let id = self.next_id();
        let _ = write!(
            self.xml,
            "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id=\"{id}\" name=\"Chart {id}\"/>\
             <p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>{}<a:graphic><a:graphicData \
             uri=\"{CHART}\"><c:chart xmlns:c=\"{CHART}\" r:id=\"{relation}\"/></a:graphicData>\
             </a:graphic></p:graphicFrame>",
            frame_xml("p", area)
        );
    }
}

const CHART: &str = "http://schemas.openxmlformats.org/drawingml/2006/chart";

/// How a table looks: its size of text, and its columns and rows.
pub(super) struct TableLook {
    pub(super) size: u32,
    pub(super) widths: Vec<u64>,
    pub(super) heights: Vec<u64>,
    /// Whether the first row is the head of what follows.
    pub(super) has_head: bool,
}

impl TableLook {
    /// How high the table is.
    pub(super) fn height(&self) -> u64 {
        self.heights.iter().sum()
    }
}

/// The size of the text of a level.
pub(super) fn scale_size(size: u32, level: usize) -> u32 {
    if level == 0 {
        return size;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few points")]
    let size = (f64::from(size) * SECOND_LEVEL).round() as u32;
    size
}

fn cell_xml(text: &str, row: usize, size: u32) -> String {
    let size = size * 100;
    let rtl = if starts_right_to_left(text) { " algn=\"r\" rtl=\"1\"" } else { number_side(text) };
    let (fill, colour, bold) = match row {
        0 => ("<a:solidFill><a:schemeClr val=\"accent1\"/></a:solidFill>", "bg1", " b=\"1\""),
        row if row % 2 == 0 => (
            "<a:solidFill><a:schemeClr val=\"tx1\"><a:alpha val=\"7000\"/></a:schemeClr>\
             </a:solidFill>",
            "tx1",
            "",
        ),
        _ => ("<a:noFill/>", "tx1", ""),
    };
    let none = |side: &str| format!("<a:{side} w=\"0\"><a:noFill/></a:{side}>");
    let line =
        "<a:lnB w=\"9525\"><a:solidFill><a:schemeClr val=\"accent1\"/></a:solidFill></a:lnB>";
    let paragraphs: String = text
        .split('\n')
        .map(|line| {
            format!(
                "<a:p><a:pPr{rtl}/><a:r><a:rPr sz=\"{size}\"{bold}><a:solidFill><a:schemeClr \
                 val=\"{colour}\"/></a:solidFill></a:rPr><a:t>{}</a:t></a:r></a:p>",
                xml_text(line)
            )
        })
        .collect();
    format!(
        "<a:tc><a:txBody><a:bodyPr/><a:lstStyle/>{paragraphs}</a:txBody><a:tcPr anchor=\"ctr\">\
         {}{}{}{line}{fill}</a:tcPr></a:tc>",
        none("lnL"),
        none("lnR"),
        none("lnT"),
    )
}

/// Numbers stand on the right.
fn number_side(text: &str) -> &'static str {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let others = text.chars().filter(|c| c.is_alphabetic()).count();
    if digits > 0 && others <= 1 { " algn=\"r\"" } else { "" }
}

/// Where something stands.
pub(super) fn frame_xml(prefix: &str, area: SlideBox) -> String {
    let SlideBox { x, y, width, height } = area;
    format!(
        "<{prefix}:xfrm><a:off x=\"{x}\" y=\"{y}\"/><a:ext cx=\"{width}\" cy=\"{height}\"/>\
         </{prefix}:xfrm>"
    )
}
