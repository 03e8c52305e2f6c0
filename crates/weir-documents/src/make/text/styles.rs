//! The styles and lists of a DOCX without a template.

use std::fmt::Write as _;

use crate::make::parts::XML_HEAD;

pub(super) const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/// A style as Word knows it.
pub(super) struct BundledStyle {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// Paragraph, character or table.
    kind: &'static str,
    /// Whether it rests on the plain paragraph.
    rests: bool,
    /// Whether a plain paragraph follows it.
    leads: bool,
    formats: &'static str,
}

/// Every style that the writer uses, in the order of the part.
pub(super) const STYLES: &[BundledStyle] = &[
    BundledStyle {
        id: "Normal",
        name: "Normal",
        kind: "paragraph",
        rests: false,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"120\" w:line=\"276\" w:lineRule=\"auto\"/></w:pPr>",
    },
    BundledStyle {
        id: "Title",
        name: "Title",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:spacing w:before=\"0\" w:after=\"240\" w:line=\"240\" \
              w:lineRule=\"auto\"/></w:pPr><w:rPr><w:b/><w:bCs/><w:color w:val=\"1F3864\"/><w:sz \
              w:val=\"52\"/><w:szCs w:val=\"52\"/></w:rPr>",
    },
    BundledStyle {
        id: "Heading1",
        name: "heading 1",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"360\" w:after=\"120\"/>\
              <w:outlineLvl w:val=\"0\"/></w:pPr><w:rPr><w:b/><w:bCs/><w:color w:val=\"1F3864\"/>\
              <w:sz w:val=\"34\"/><w:szCs w:val=\"34\"/></w:rPr>",
    },
    BundledStyle {
        id: "Heading2",
        name: "heading 2",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"280\" w:after=\"100\"/>\
              <w:outlineLvl w:val=\"1\"/></w:pPr><w:rPr><w:b/><w:bCs/><w:color w:val=\"2F5496\"/>\
              <w:sz w:val=\"28\"/><w:szCs w:val=\"28\"/></w:rPr>",
    },
    BundledStyle {
        id: "Heading3",
        name: "heading 3",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"220\" w:after=\"80\"/>\
              <w:outlineLvl w:val=\"2\"/></w:pPr><w:rPr><w:b/><w:bCs/><w:color w:val=\"2F5496\"/>\
              <w:sz w:val=\"24\"/><w:szCs w:val=\"24\"/></w:rPr>",
    },
    BundledStyle {
        id: "Heading4",
        name: "heading 4",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"200\" w:after=\"60\"/>\
              <w:outlineLvl w:val=\"3\"/></w:pPr><w:rPr><w:b/><w:bCs/><w:color w:val=\"404040\"/>\
              </w:rPr>",
    },
    BundledStyle {
        id: "Heading5",
        name: "heading 5",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"200\" w:after=\"60\"/>\
              <w:outlineLvl w:val=\"4\"/></w:pPr><w:rPr><w:i/><w:iCs/><w:color w:val=\"404040\"/>\
              </w:rPr>",
    },
    BundledStyle {
        id: "Heading6",
        name: "heading 6",
        kind: "paragraph",
        rests: true,
        leads: true,
        formats: "<w:pPr><w:keepNext/><w:keepLines/><w:spacing w:before=\"200\" w:after=\"60\"/>\
              <w:outlineLvl w:val=\"5\"/></w:pPr><w:rPr><w:color w:val=\"595959\"/></w:rPr>",
    },
    BundledStyle {
        id: "ListParagraph",
        name: "List Paragraph",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"60\"/><w:ind w:left=\"720\"/></w:pPr>",
    },
    BundledStyle {
        id: "Quote",
        name: "Quote",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:pBdr><w:left w:val=\"single\" w:sz=\"18\" w:space=\"12\" \
              w:color=\"B4C6E7\"/></w:pBdr><w:ind w:left=\"480\"/></w:pPr><w:rPr><w:i/><w:iCs/>\
              <w:color w:val=\"404040\"/></w:rPr>",
    },
    BundledStyle {
        id: "SourceCode",
        name: "Source Code",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:keepLines/><w:shd w:val=\"clear\" w:color=\"auto\" w:fill=\"F2F2F2\"/>\
              <w:spacing w:before=\"60\" w:after=\"160\" w:line=\"240\" w:lineRule=\"auto\"/>\
              </w:pPr><w:rPr><w:rFonts w:ascii=\"Consolas\" w:hAnsi=\"Consolas\" \
              w:cs=\"Consolas\"/><w:sz w:val=\"19\"/><w:szCs w:val=\"19\"/></w:rPr>",
    },
    BundledStyle {
        id: "Header",
        name: "header",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"0\"/></w:pPr><w:rPr><w:color w:val=\"595959\"/><w:sz \
              w:val=\"18\"/><w:szCs w:val=\"18\"/></w:rPr>",
    },
    BundledStyle {
        id: "Footer",
        name: "footer",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"0\"/></w:pPr><w:rPr><w:color w:val=\"595959\"/><w:sz \
              w:val=\"18\"/><w:szCs w:val=\"18\"/></w:rPr>",
    },
    BundledStyle {
        id: "TOCHeading",
        name: "TOC Heading",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:keepNext/><w:spacing w:before=\"240\" w:after=\"120\"/></w:pPr><w:rPr>\
              <w:b/><w:bCs/><w:color w:val=\"1F3864\"/><w:sz w:val=\"28\"/><w:szCs w:val=\"28\"/>\
              </w:rPr>",
    },
    BundledStyle {
        id: "TOC1",
        name: "toc 1",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"60\"/></w:pPr>",
    },
    BundledStyle {
        id: "TOC2",
        name: "toc 2",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"60\"/><w:ind w:left=\"280\"/></w:pPr>",
    },
    BundledStyle {
        id: "TOC3",
        name: "toc 3",
        kind: "paragraph",
        rests: true,
        leads: false,
        formats: "<w:pPr><w:spacing w:after=\"60\"/><w:ind w:left=\"560\"/></w:pPr>",
    },
    BundledStyle {
        id: "Hyperlink",
        name: "Hyperlink",
        kind: "character",
        rests: false,
        leads: false,
        formats: "<w:rPr><w:color w:val=\"0563C1\"/><w:u w:val=\"single\"/></w:rPr>",
    },
    BundledStyle {
        id: "CodeText",
        name: "Code Text",
        kind: "character",
        rests: false,
        leads: false,
        formats: "<w:rPr><w:rFonts w:ascii=\"Consolas\" w:hAnsi=\"Consolas\" w:cs=\"Consolas\"/>\
              <w:shd w:val=\"clear\" w:color=\"auto\" w:fill=\"F2F2F2\"/></w:rPr>",
    },
    BundledStyle {
        id: "LinedTable",
        name: "Lined Table",
        kind: "table",
        rests: false,
        leads: false,
        formats: "<w:pPr><w:spacing w:before=\"40\" w:after=\"40\" w:line=\"240\" \
              w:lineRule=\"auto\"/></w:pPr><w:tblPr><w:tblBorders><w:top w:val=\"single\" \
              w:sz=\"8\" w:space=\"0\" w:color=\"2F5496\"/><w:bottom w:val=\"single\" w:sz=\"8\" \
              w:space=\"0\" w:color=\"2F5496\"/><w:insideH w:val=\"single\" w:sz=\"4\" \
              w:space=\"0\" w:color=\"BFBFBF\"/></w:tblBorders><w:tblCellMar><w:left w:w=\"100\" \
              w:type=\"dxa\"/><w:right w:w=\"100\" w:type=\"dxa\"/></w:tblCellMar></w:tblPr>\
              <w:tblStylePr w:type=\"firstRow\"><w:rPr><w:b/><w:bCs/></w:rPr><w:tcPr><w:shd \
              w:val=\"clear\" w:color=\"auto\" w:fill=\"D9E2F3\"/></w:tcPr></w:tblStylePr>",
    },
];

impl BundledStyle {
    /// The style as XML. The order of what a style says is fixed: name, base, next, quick style, then
    /// formats.
    pub(super) fn to_xml(&self) -> String {
        let default = if self.id == "Normal" { " w:default=\"1\"" } else { "" };
        let base = if self.rests { "<w:basedOn w:val=\"Normal\"/>" } else { "" };
        let next = if self.leads { "<w:next w:val=\"Normal\"/>" } else { "" };
        format!(
            "<w:style w:type=\"{}\"{default} w:styleId=\"{}\"><w:name w:val=\"{}\"/>{base}{next}\
             <w:qFormat/>{}</w:style>",
            self.kind, self.id, self.name, self.formats
        )
    }
}

/// The whole part of styles.
pub(super) fn styles_xml() -> String {
    let defaults = "<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii=\"Calibri\" \
         w:hAnsi=\"Calibri\" w:eastAsia=\"Microsoft YaHei\" w:cs=\"Arial\"/><w:sz w:val=\"22\"/>\
         <w:szCs w:val=\"22\"/><w:lang w:val=\"en-US\" w:eastAsia=\"zh-CN\" w:bidi=\"ar-SA\"/>\
         </w:rPr></w:rPrDefault><w:pPrDefault/></w:docDefaults>";
    let styles: String = STYLES.iter().map(BundledStyle::to_xml).collect();
    format!("{XML_HEAD}<w:styles xmlns:w=\"{WORD}\">{defaults}{styles}</w:styles>")
}

/// A list in the text: one numbering of its own, so that each begins anew.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextList {
    /// Number of its first item; `None`: bullets.
    pub(super) first: Option<u64>,
}

/// The first id of lists and of their definitions, unless a template has higher ones.
pub(super) const LIST_ID_FIRST: usize = 9_001;

/// Definitions of lists, and the lists that use them: two pieces, which stand in this order. Ids
/// begin with `first`.
pub(super) fn numbering_rows(lists: &[TextList], first: usize) -> [String; 2] {
    let (bullets, numbers) = (first, first + 1);
    let mut kinds = String::new();
    for (id, numbered) in [(bullets, false), (numbers, true)] {
        let _ = write!(
            kinds,
            "<w:abstractNum w:abstractNumId=\"{id}\"><w:multiLevelType w:val=\"hybridMultilevel\"/>"
        );
        for level in 0..9 {
            let (format, text) = match (numbered, level % 3) {
                (true, 0) => ("decimal", format!("%{}.", level + 1)),
                (true, 1) => ("lowerLetter", format!("%{}.", level + 1)),
                (true, _) => ("lowerRoman", format!("%{}.", level + 1)),
                (false, 0) => ("bullet", "•".to_owned()),
                (false, 1) => ("bullet", "–".to_owned()),
                (false, _) => ("bullet", "▪".to_owned()),
            };
            let left = 500 + 420 * level;
            let _ = write!(
                kinds,
                "<w:lvl w:ilvl=\"{level}\"><w:start w:val=\"1\"/><w:numFmt w:val=\"{format}\"/>\
                 <w:lvlText w:val=\"{text}\"/><w:lvlJc w:val=\"left\"/><w:pPr><w:ind \
                 w:left=\"{left}\" w:hanging=\"360\"/></w:pPr></w:lvl>"
            );
        }
        kinds.push_str("</w:abstractNum>");
    }
    let mut used = String::new();
    for (at, list) in lists.iter().enumerate() {
        let id = first + at;
        let (kind, start) = match list.first {
            Some(first) => (numbers, first.min(32_000)),
            None => (bullets, 1),
        };
        let _ = write!(
            used,
            "<w:num w:numId=\"{id}\"><w:abstractNumId w:val=\"{kind}\"/><w:lvlOverride \
             w:ilvl=\"0\"><w:startOverride w:val=\"{start}\"/></w:lvlOverride></w:num>"
        );
    }
    [kinds, used]
}
