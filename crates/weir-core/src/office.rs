//! Descriptions of documents that are to be made: a text, a presentation, a workbook (K8). Their
//! comments are what a model reads. Data only: who writes the files stands behind a port of the
//! engine, and nothing here knows a file format.

mod pictures;

use serde::{Deserialize, Serialize};

/// A document to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OfficeDocument {
    /// A DOCX.
    Text(TextDocument),
    /// A PPTX.
    Slides(SlideDeck),
    /// An XLSX.
    Workbook(WorkbookDocument),
}

/// A file that goes into a document: its name in the description, and how many of the bytes beside
/// the request are its.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfficePart {
    /// As the description names it.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
}

/// What goes into a DOCX.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TextDocument {
    /// Markdown: headings, lists, tables, links, code, `![alt](picture in the workspace)`; a line
    /// \newpage breaks the page.
    pub content: String,
    /// Title on top.
    #[serde(default)]
    pub title: Option<String>,
    /// Author, as a property.
    #[serde(default)]
    pub author: Option<String>,
    /// Header line; {page} and {pages} are numbers.
    #[serde(default)]
    pub header: Option<String>,
    /// Footer line, likewise.
    #[serde(default)]
    pub footer: Option<String>,
    /// Table of contents.
    #[serde(default)]
    pub contents: bool,
    /// DOCX whose styles, page, header and footer are used.
    #[serde(default)]
    pub template: Option<String>,
    /// Paper; default a4.
    #[serde(default)]
    pub paper: Option<PaperSize>,
    /// Wide page.
    #[serde(default)]
    pub landscape: bool,
}

/// A size of paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PaperSize {
    /// 210 × 297 mm.
    A4,
    /// 8.5 × 11 in.
    Letter,
}

/// What goes into a PPTX.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlideDeck {
    /// Slides in order.
    pub slides: Vec<DeckSlide>,
    /// Look; default plain.
    #[serde(default)]
    pub theme: Option<SlideTheme>,
    /// PPTX whose layouts are used instead.
    #[serde(default)]
    pub template: Option<String>,
    /// Author, as a property.
    #[serde(default)]
    pub author: Option<String>,
    /// Small line at the bottom of each slide.
    #[serde(default)]
    pub footer: Option<String>,
}

/// A look of slides that comes with the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SlideTheme {
    /// White, blue, without serifs.
    #[default]
    Plain,
    /// Light on dark.
    Dark,
    /// Cream, with serifs.
    Warm,
}

/// One slide. What it has decides its layout.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeckSlide {
    /// Its message.
    pub title: String,
    /// Of the title slide or a section: a line below the title.
    #[serde(default)]
    pub subtitle: Option<String>,
    /// Starts a section: a large title.
    #[serde(default)]
    pub section: bool,
    /// Bullets as a Markdown list (two levels), or a paragraph.
    #[serde(default)]
    pub body: Option<String>,
    /// A second column of the same kind.
    #[serde(default)]
    pub right: Option<String>,
    /// Rows of cells, the first is the head.
    #[serde(default)]
    pub table: Vec<Vec<String>>,
    /// Picture in the workspace.
    #[serde(default)]
    pub picture: Option<SlidePicture>,
    /// Chart.
    #[serde(default)]
    pub chart: Option<SlideChart>,
    /// Speaker notes.
    #[serde(default)]
    pub notes: Option<String>,
}

/// A picture on a slide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlidePicture {
    /// PNG, JPEG, GIF or WebP.
    pub path: String,
    /// What it shows, for who cannot see it.
    #[serde(default)]
    pub alt: Option<String>,
}

/// A chart with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlideChart {
    /// Kind.
    pub kind: ChartKind,
    /// Names along the axis.
    pub categories: Vec<String>,
    /// Series.
    pub series: Vec<ChartSeries>,
}

/// A kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Upright bars.
    Column,
    /// Lying bars.
    Bar,
    /// Lines.
    Line,
    /// Filled lines.
    Area,
    /// Shares of one series.
    Pie,
}

/// Values of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChartSeries {
    /// Name in the legend.
    pub name: String,
    /// One for each category.
    pub values: Vec<Option<f64>>,
}

/// What goes into an XLSX.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkbookDocument {
    /// Sheets in order.
    pub sheets: Vec<WorkbookSheet>,
    /// Author, as a property.
    #[serde(default)]
    pub author: Option<String>,
}

/// One sheet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkbookSheet {
    /// Name.
    pub name: String,
    /// Rows of cells.
    pub rows: Vec<Vec<SheetCell>>,
    /// First row is a head: bold, frozen, with filters.
    #[serde(default)]
    pub head: bool,
    /// Rows that stay in view.
    #[serde(default)]
    pub frozen_rows: u32,
    /// Columns that stay in view.
    #[serde(default)]
    pub frozen_columns: u16,
    /// Range with filters, as A1:D9.
    #[serde(default)]
    pub filter: Option<String>,
    /// Widths of columns in characters; 0: by content.
    #[serde(default)]
    pub widths: Vec<f64>,
    /// Formats of ranges.
    #[serde(default)]
    pub formats: Vec<RangeFormat>,
    /// Ranges that become one cell.
    #[serde(default)]
    pub merged: Vec<String>,
    /// Formats that depend on values.
    #[serde(default)]
    pub conditions: Vec<ConditionalFormat>,
    /// Charts.
    #[serde(default)]
    pub charts: Vec<SheetChart>,
}

/// A cell: text, number, true/false, null, or an object. Text is never a formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SheetCell {
    /// Nothing.
    Empty(()),
    /// Yes or no.
    Truth(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Something else.
    Typed(TypedCell),
}

/// One of formula, date and link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypedCell {
    /// As =SUM(B2:B9), English names, commas.
    #[serde(default)]
    pub formula: Option<String>,
    /// As 2026-11-26 or 2026-11-26T09:30.
    #[serde(default)]
    pub date: Option<String>,
    /// Address; text is shown.
    #[serde(default)]
    pub link: Option<String>,
    /// Of the link.
    #[serde(default)]
    pub text: Option<String>,
    /// Number format, as 0.0%.
    #[serde(default)]
    pub format: Option<String>,
}

/// How the cells of a range look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RangeFormat {
    /// As B2:B9, B or 3.
    pub range: String,
    /// Number format, as #,##0.00 or yyyy-mm-dd.
    #[serde(default)]
    pub number: Option<String>,
    /// Bold.
    #[serde(default)]
    pub bold: bool,
    /// Italic.
    #[serde(default)]
    pub italic: bool,
    /// Colour of the text, as C00000.
    #[serde(default)]
    pub color: Option<String>,
    /// Colour behind it.
    #[serde(default)]
    pub fill: Option<String>,
    /// Side.
    #[serde(default)]
    pub align: Option<CellAlignment>,
    /// Long text breaks into lines.
    #[serde(default)]
    pub wrap: bool,
    /// Thin lines around each cell.
    #[serde(default)]
    pub border: bool,
}

/// Where the content of a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellAlignment {
    /// Left.
    Left,
    /// In the middle.
    Center,
    /// Right.
    Right,
}

/// A format that depends on the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConditionalFormat {
    /// As B2:B9.
    pub range: String,
    /// The rule that decides where the format holds.
    pub rule: ConditionRule,
    /// What is compared with; a number for top and bottom.
    #[serde(default)]
    pub value: Option<ConditionValue>,
    /// Upper end, for between.
    #[serde(default)]
    pub to: Option<f64>,
    /// Colour behind the cell, or of bars; default a light red.
    #[serde(default)]
    pub fill: Option<String>,
}

/// What a value is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ConditionValue {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// When a conditional format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConditionRule {
    /// Greater.
    Greater,
    /// Less.
    Less,
    /// Equal.
    Equal,
    /// Between two numbers.
    Between,
    /// Contains a text.
    Contains,
    /// Among the greatest.
    Top,
    /// Among the least.
    Bottom,
    /// Stands there twice.
    Duplicate,
    /// Colours from least to greatest.
    Scale,
    /// A bar in the cell.
    Bars,
}

/// A chart of cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SheetChart {
    /// Kind.
    pub kind: ChartKind,
    /// Title.
    #[serde(default)]
    pub title: Option<String>,
    /// Cells with the names, as A2:A9.
    pub categories: String,
    /// Cells with values, one range a series; the cell above names it.
    pub values: Vec<String>,
    /// Upper left cell; default right of the data.
    #[serde(default)]
    pub at: Option<String>,
}

impl OfficeDocument {
    /// The names of the files that it needs, each once, in order: templates and pictures.
    pub fn named_files(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        match self {
            OfficeDocument::Text(text) => {
                text.template.iter().for_each(|name| add(name));
                pictures::list_pictures(&text.content).into_iter().for_each(add);
            }
            OfficeDocument::Slides(deck) => {
                deck.template.iter().for_each(|name| add(name));
                let pictures = deck.slides.iter().filter_map(|slide| slide.picture.as_ref());
                pictures.for_each(|picture| add(&picture.path));
            }
            OfficeDocument::Workbook(_) => {}
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_the_files_of_a_document_are_named_once() {
        let content = "![a](x.png) and ![b](<y z.png> \"T\") ![c](x.png)\n\
                       ```\n![no](code.png)\n```\n![far](https://example.org/p.png)";
        let text = TextDocument {
            content: content.into(),
            template: Some("letter.docx".into()),
            ..TextDocument::default()
        };
        let named = OfficeDocument::Text(text).named_files();
        assert_eq!(named, ["letter.docx", "x.png", "y z.png"]);
    }
}
