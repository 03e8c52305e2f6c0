//! XLSX: cells with types, formulas, formats, conditional formats, charts. What looks like a formula
//! and was not declared as one is text, and a declared one reaches neither programs nor the network.
//! Not here: computing anything; who opens the file does that.

mod drawing;
mod format;
mod formula;
mod limits;

use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, Formula, Url, Workbook as Writer, Worksheet, XlsxError,
};
use weir_core::document::DocumentError;
use weir_core::office::{SheetCell, TypedCell, WorkbookDocument, WorkbookSheet};

use self::drawing::{ChartTitles, finish_package, insert_chart};
use self::format::{FormatSheet, add_condition};
use self::formula::check_formula;
use self::limits::check_workbook;
use super::MadeDocument;
use super::text::starts_right_to_left;
use crate::cells::{CellRange, cell_name};
use crate::markdown::{is_plain_link, table_row};
use crate::unfit_description;

/// Widest column that is made by content, in characters.
const WIDTH_MAX: usize = 60;
/// Rows of a sheet that are shown to who decides.
const OUTLINE_ROWS: usize = 20;

/// Writes a workbook.
pub(crate) fn make_workbook(workbook: &WorkbookDocument) -> Result<MadeDocument, DocumentError> {
    check_workbook(workbook)?;
    let mut writer = Writer::new();
    writer.set_properties(&set_properties(workbook)?);
    let mut outline = String::new();
    let mut titles = ChartTitles::default();
    let names: Vec<&str> = workbook.sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    for sheet in &workbook.sheets {
        let page = writer.add_worksheet();
        write_sheet(page, sheet, &names, &mut titles).map_err(|why| why.in_sheet(&sheet.name))?;
        outline.push_str(&outline_sheet(sheet));
    }
    let bytes = writer.save_to_buffer().map_err(|error| unfit_description(error.to_string()))?;
    let bytes = finish_package(&bytes, &titles)?;
    Ok(MadeDocument { bytes, outline, remarks: Vec::new() })
}

/// Always of the same day: the same description makes the same bytes.
fn set_properties(workbook: &WorkbookDocument) -> Result<DocProperties, DocumentError> {
    let day = ExcelDateTime::from_ymd(2000, 1, 1)
        .map_err(|error| unfit_description(error.to_string()))?;
    let properties = DocProperties::new().set_creation_datetime(&day);
    Ok(match &workbook.author {
        Some(author) => properties.set_author(author),
        None => properties,
    })
}

/// Why a sheet cannot be written.
struct SheetProblem {
    place: Option<String>,
    why: String,
}

impl SheetProblem {
    fn in_sheet(self, name: &str) -> DocumentError {
        let place = self.place.map(|place| format!(", {place}")).unwrap_or_default();
        unfit_description(format!("sheet {name}{place}: {}", self.why))
    }

    fn at_cell(row: usize, column: usize, why: String) -> SheetProblem {
        let place = Some(format!("cell {}", cell_name(row, column)));
        SheetProblem { place, why }
    }

    fn at_place(place: &str, why: impl Into<String>) -> SheetProblem {
        SheetProblem { place: Some(place.to_owned()), why: why.into() }
    }
}

impl From<XlsxError> for SheetProblem {
    fn from(error: XlsxError) -> SheetProblem {
        SheetProblem { place: None, why: error.to_string() }
    }
}

fn write_sheet(
    page: &mut Worksheet,
    sheet: &WorkbookSheet,
    names: &[&str],
    titles: &mut ChartTitles,
) -> Result<(), SheetProblem> {
    page.set_name(&sheet.name)?;
    // No value is better than a wrong one: it is computed when the file is opened.
    page.set_formula_result_default("");
    if first_text(sheet).is_some_and(starts_right_to_left) {
        page.set_right_to_left(true);
    }
    let mut formats = FormatSheet::collect_formats(sheet)?;
    for range in &sheet.merged {
        merge_cells(page, sheet, range, &mut formats)?;
    }
    for (row, cells) in sheet.rows.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let format = formats.find_format(row, column, cell);
            if let SheetCell::Typed(TypedCell { formula: Some(formula), .. }) = cell {
                check_formula(formula, names)
                    .map_err(|why| SheetProblem::at_cell(row, column, why))?;
            }
            write_cell(page, (row, column).into(), cell, format.as_ref())?;
        }
    }
    formats.write_empty_cells(page, sheet)?;
    set_views(page, sheet)?;
    for condition in &sheet.conditions {
        add_condition(page, condition)?;
    }
    for chart in &sheet.charts {
        insert_chart(page, sheet, chart, titles.place_title(chart))?;
    }
    Ok(())
}

fn first_text(sheet: &WorkbookSheet) -> Option<&str> {
    sheet.rows.iter().flatten().find_map(|cell| match cell {
        SheetCell::Text(text) if text.chars().any(char::is_alphabetic) => Some(text.as_str()),
        _ => None,
    })
}

/// A place in a sheet, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellPlace {
    row: u32,
    column: u16,
}

impl From<(usize, usize)> for CellPlace {
    fn from((row, column): (usize, usize)) -> CellPlace {
        // Beyond the largest sheet the writer says that it cannot.
        CellPlace {
            row: u32::try_from(row).unwrap_or(u32::MAX),
            column: u16::try_from(column).unwrap_or(u16::MAX),
        }
    }
}

fn write_cell(
    page: &mut Worksheet,
    at: CellPlace,
    cell: &SheetCell,
    format: Option<&Format>,
) -> Result<(), SheetProblem> {
    let (row, column) = (at.row, at.column);
    let failed = |why: String| SheetProblem::at_cell(row as usize, column as usize, why);
    let plain = Format::new();
    let with = format.unwrap_or(&plain);
    let written = match cell {
        SheetCell::Empty(()) => match format {
            Some(format) => page.write_blank(row, column, format).map(drop),
            None => Ok(()),
        },
        SheetCell::Truth(truth) => {
            page.write_boolean_with_format(row, column, *truth, with).map(drop)
        }
        SheetCell::Number(number) if number.is_finite() => {
            page.write_number_with_format(row, column, *number, with).map(drop)
        }
        SheetCell::Number(_) => {
            return Err(failed("it is no finite number; write null or a text".into()));
        }
        SheetCell::Text(text) => page.write_string_with_format(row, column, text, with).map(drop),
        SheetCell::Typed(typed) => return write_typed(page, at, typed, with),
    };
    written.map_err(|error| failed(error.to_string()))
}

fn write_typed(
    page: &mut Worksheet,
    at: CellPlace,
    cell: &TypedCell,
    format: &Format,
) -> Result<(), SheetProblem> {
    let (row, column) = (at.row, at.column);
    let failed = |why: String| SheetProblem::at_cell(row as usize, column as usize, why);
    let written = match (&cell.formula, &cell.date, &cell.link) {
        (Some(formula), None, None) => {
            let formula = Formula::new(formula);
            page.write_formula_with_format(row, column, formula, format)
        }
        (None, Some(date), None) => {
            let date = ExcelDateTime::parse_from_str(date)
                .map_err(|_| failed(format!("{date} is no date like 2026-11-26T09:30")))?;
            page.write_datetime_with_format(row, column, &date, format)
        }
        (None, None, Some(link)) => {
            if !is_plain_link(link) {
                return Err(failed(format!(
                    "{link} is no http, https or mailto address; write it as a text"
                )));
            }
            let text = cell.text.as_deref().unwrap_or(link);
            page.write_url_with_text(row, column, Url::new(link), text)
        }
        _ => {
            return Err(failed(
                "a cell object has one of formula, date and link, and this has none or several"
                    .into(),
            ));
        }
    };
    written.map(drop).map_err(|error| failed(error.to_string()))
}

fn merge_cells(
    page: &mut Worksheet,
    sheet: &WorkbookSheet,
    range: &str,
    formats: &mut FormatSheet<'_>,
) -> Result<(), SheetProblem> {
    let area =
        CellRange::parse_range(range).map_err(|why| SheetProblem::at_place("merged", why))?;
    if area.is_one_cell() {
        return Ok(());
    }
    let (row, column) = (area.first_row as usize, area.first_column as usize);
    let empty = SheetCell::Empty(());
    let cell = sheet.rows.get(row).and_then(|row| row.get(column)).unwrap_or(&empty);
    let format = formats.find_format(row, column, cell).unwrap_or_default();
    page.merge_range(
        area.first_row,
        area.first_column,
        area.last_row,
        area.last_column,
        "",
        &format,
    )?;
    Ok(())
}

/// Frozen panes, filters and widths.
fn set_views(page: &mut Worksheet, sheet: &WorkbookSheet) -> Result<(), SheetProblem> {
    let frozen_rows = sheet.frozen_rows.max(u32::from(sheet.head));
    if frozen_rows > 0 || sheet.frozen_columns > 0 {
        page.set_freeze_panes(frozen_rows, sheet.frozen_columns)?;
    }
    let columns = sheet.rows.iter().map(Vec::len).max().unwrap_or(0);
    let filter = match &sheet.filter {
        Some(range) => Some(
            CellRange::parse_range(range).map_err(|why| SheetProblem::at_place("filter", why))?,
        ),
        None if sheet.head && sheet.rows.len() > 1 && columns > 0 => {
            Some(CellRange::of_size(sheet.rows.len(), columns))
        }
        None => None,
    };
    if let Some(area) = filter {
        page.autofilter(area.first_row, area.first_column, area.last_row, area.last_column)?;
    }
    // On paper all columns stand beside each other.
    page.set_print_fit_to_pages(1, 0);
    for (column, widest) in widest_cells(sheet).into_iter().enumerate() {
        let given = sheet.widths.get(column).copied().filter(|width| *width > 0.0);
        let width = given.unwrap_or_else(|| content_width(sheet, widest));
        page.set_column_width(CellPlace::from((0, column)).column, width.min(255.0))?;
    }
    Ok(())
}

/// The width of the widest text of each column, in one pass: rows may be of any length.
fn widest_cells(sheet: &WorkbookSheet) -> Vec<usize> {
    let mut widest = Vec::new();
    for row in &sheet.rows {
        widest.resize(row.len().max(widest.len()), 0);
        for (most, cell) in widest.iter_mut().zip(row) {
            let text = shown_cell(cell);
            let width = text.lines().map(unicode_width::UnicodeWidthStr::width).max();
            *most = width.unwrap_or(0).max(*most);
        }
    }
    widest
}

#[expect(clippy::cast_precision_loss, reason = "a width has at most two digits")]
fn content_width(sheet: &WorkbookSheet, widest: usize) -> f64 {
    // A filter's button covers two characters.
    let button = if sheet.head { 3 } else { 1 };
    (widest + button).clamp(8, WIDTH_MAX) as f64
}

fn shown_cell(cell: &SheetCell) -> String {
    match cell {
        SheetCell::Empty(()) => String::new(),
        SheetCell::Truth(truth) => truth.to_string().to_uppercase(),
        SheetCell::Number(number) => number.to_string(),
        SheetCell::Text(text) => text.clone(),
        SheetCell::Typed(TypedCell { formula: Some(formula), .. }) => formula.clone(),
        SheetCell::Typed(TypedCell { date: Some(date), .. }) => date.clone(),
        SheetCell::Typed(cell) => {
            cell.text.clone().or_else(|| cell.link.clone()).unwrap_or_default()
        }
    }
}

/// What a person sees before the file is written.
fn outline_sheet(sheet: &WorkbookSheet) -> String {
    let mut out = format!("# {}\n", sheet.name);
    for row in sheet.rows.iter().take(OUTLINE_ROWS) {
        let cells: Vec<String> = row.iter().map(shown_cell).collect();
        out.push_str(&table_row(&cells));
    }
    if sheet.rows.len() > OUTLINE_ROWS {
        out.push_str(&format!("… {} more rows\n", sheet.rows.len() - OUTLINE_ROWS));
    }
    for chart in &sheet.charts {
        let title = chart.title.as_deref().unwrap_or("without a title");
        out.push_str(&format!("Chart {title}: {}\n", chart.values.join(", ")));
    }
    out
}

#[cfg(test)]
mod tests;
