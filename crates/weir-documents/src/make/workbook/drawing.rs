//! Charts of a sheet, and what is set right in the package that the writer made. Not here: cells.

use rust_xlsxwriter::{Chart, ChartType, Worksheet};
use weir_core::document::DocumentError;
use weir_core::office::{ChartKind, SheetChart, WorkbookSheet};

use super::{CellPlace, SheetProblem};
use crate::cells::CellRange;
use crate::make::parts::CONTENT_TYPES;
use crate::package::{PackageScope, ZipPackage};
use crate::xml::xml_text;

/// Draws a chart; `title` is the word that stands for its title.
pub(super) fn insert_chart(
    page: &mut Worksheet,
    sheet: &WorkbookSheet,
    asked: &SheetChart,
    title: Option<String>,
) -> Result<(), SheetProblem> {
    let at = |why| SheetProblem::at_place("chart", why);
    let mut chart = Chart::new(match asked.kind {
        ChartKind::Column => ChartType::Column,
        ChartKind::Bar => ChartType::Bar,
        ChartKind::Line => ChartType::Line,
        ChartKind::Area => ChartType::Area,
        ChartKind::Pie => ChartType::Pie,
    });
    let names = CellRange::parse_range(&asked.categories).map_err(at)?;
    if asked.values.is_empty() {
        return Err(at("it needs values; name cells as B2:B9".to_owned()));
    }
    for values in &asked.values {
        let area = CellRange::parse_range(values).map_err(at)?;
        let name = sheet.name.as_str();
        let series = chart.add_series();
        series
            .set_categories((
                name,
                names.first_row,
                names.first_column,
                names.last_row,
                names.last_column,
            ))
            .set_values((name, area.first_row, area.first_column, area.last_row, area.last_column));
        if let Some(above) = area.first_row.checked_sub(1) {
            series.set_name((name, above, area.first_column));
        }
    }
    match title {
        Some(title) => chart.title().set_name(&title),
        None => chart.title().set_hidden(),
    };
    if asked.values.len() == 1 && asked.kind != ChartKind::Pie {
        chart.legend().set_hidden();
    }
    let place = match &asked.at {
        Some(cell) => {
            let area = CellRange::parse_range(cell).map_err(at)?;
            CellPlace { row: area.first_row, column: area.first_column }
        }
        None => {
            let columns = sheet.rows.iter().map(Vec::len).max().unwrap_or(0);
            let number = sheet.charts.iter().position(|chart| std::ptr::eq(chart, asked));
            (1 + number.unwrap_or(0) * 16, columns + 1).into()
        }
    };
    page.insert_chart(place.row, place.column, &chart)?;
    Ok(())
}

/// Titles of charts while the workbook is written. The writer takes a title that begins with `=`, or
/// has a `!`, for a range, so it is given a word in its place; what is meant is put in afterwards.
#[derive(Debug, Default)]
pub(super) struct ChartTitles {
    texts: Vec<String>,
}

impl ChartTitles {
    /// The word that stands for the title of a chart.
    pub(super) fn place_title(&mut self, chart: &SheetChart) -> Option<String> {
        let title = chart.title.as_ref()?;
        self.texts.push(title.clone());
        Some(format!("weir-title-{}", self.texts.len()))
    }

    /// Puts the titles into the part of a chart.
    fn fill_titles(&self, part: &str) -> String {
        let mut part = part.to_owned();
        for (at, text) in self.texts.iter().enumerate() {
            let place = format!("<a:t>weir-title-{}</a:t>", at + 1);
            if part.contains(&place) {
                part = part.replace(&place, &format!("<a:t>{}</a:t>", xml_text(text)));
                break;
            }
        }
        part
    }
}

/// Takes out results of formulas that nobody computed, so that a reader computes them itself, and
/// puts in the titles of charts.
pub(super) fn finish_package(bytes: &[u8], titles: &ChartTitles) -> Result<Vec<u8>, DocumentError> {
    let mut package = ZipPackage::read_package(bytes, PackageScope::Whole)?;
    let names: Vec<String> = package
        .list_names()
        .filter(|name| name.ends_with(".xml"))
        .filter(|name| name.starts_with("xl/worksheets/") || name.starts_with("xl/charts/"))
        .map(str::to_owned)
        .collect();
    for name in names {
        let Some(part) = package.find_part(&name) else { continue };
        let text = String::from_utf8_lossy(part);
        let text = if name.starts_with("xl/charts/") {
            titles.fill_titles(&text)
        } else {
            let text = text.replace("</f><v></v>", "</f>").replace("</f><v/>", "</f>");
            text.replace(" t=\"str\"><f", "><f")
        };
        package.insert(name, text.into_bytes());
    }
    package.into_bytes(CONTENT_TYPES)
}
