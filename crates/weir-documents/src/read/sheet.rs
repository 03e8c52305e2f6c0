//! XLSX and ODS to Markdown: sheets in pieces of rows, with names of columns and numbers of rows, and
//! formulas beside their values. Nothing is computed.

use std::io::Cursor;

use calamine::{Data, Ods, Range, Reader, Xlsx};
use weir_core::document::{DocumentError, DocumentPage};

use super::{ReadDocument, ReadPart};
use crate::cells::{CellRange, column_name};
use crate::markdown::{table_row, table_rule};
use crate::{broken_document, too_large, unfit_description};

pub(super) const WORKBOOK: &str = "XLSX";
pub(super) const OPEN_SHEET: &str = "ODS";

/// Rows of a page.
const PAGE_ROWS: u32 = 100;
/// Most columns that are shown.
const COLUMNS_MAX: u32 = 100;
/// Most cells that a used area may span: a value in the last corner spans billions.
const AREA_MAX: u64 = 20_000_000;

/// Reads a workbook. `format` is one of the two names above.
pub(super) fn read_workbook(
    bytes: &[u8],
    part: ReadPart<'_>,
    format: &'static str,
) -> Result<ReadDocument, DocumentError> {
    let reader = Cursor::new(bytes);
    if format == OPEN_SHEET {
        let book: Ods<_> = Ods::new(reader).map_err(broken_document)?;
        read_sheets(book, part, format)
    } else {
        let book: Xlsx<_> = Xlsx::new(reader).map_err(broken_document)?;
        read_sheets(book, part, format)
    }
}

fn read_sheets<'a, R>(
    mut book: R,
    part: ReadPart<'_>,
    format: &'static str,
) -> Result<ReadDocument, DocumentError>
where
    R: Reader<Cursor<&'a [u8]>>,
    R::Error: std::fmt::Display,
{
    let names = book.sheet_names();
    let wanted = wanted_sheets(&names, part.sheet)?;
    let area = part.range.map(SheetArea::parse_area).transpose()?;
    let mut read = ReadDocument { format, ..ReadDocument::default() };
    for name in wanted {
        let values = match book.worksheet_range(name) {
            Ok(values) => values,
            Err(error) => {
                read.remarks.push(format!("sheet {name} could not be read: {error}"));
                continue;
            }
        };
        let formulas = book.worksheet_formula(name).unwrap_or_else(|_| Range::empty());
        let used = SheetArea::measure_range(&values).join_area(SheetArea::measure_range(&formulas));
        let Some(used) = used else {
            read.pages
                .push(DocumentPage { name: format!("Sheet {name}"), text: "(empty)".to_owned() });
            continue;
        };
        let used = match area {
            Some(area) => area.clamp_to_used(used),
            None => used,
        };
        if used.count_cells() > AREA_MAX {
            return Err(too_large(format!("sheet {name} spans more cells than can be shown")));
        }
        if used.last_column - used.first_column >= COLUMNS_MAX {
            read.remarks.push(format!(
                "of sheet {name} {COLUMNS_MAX} columns are shown; name a range to see others"
            ));
        }
        add_pages(name, used, &values, &formulas, &mut read.pages);
    }
    Ok(read)
}

fn wanted_sheets<'a>(
    names: &'a [String],
    wanted: Option<&str>,
) -> Result<Vec<&'a String>, DocumentError> {
    let Some(wanted) = wanted else { return Ok(names.iter().collect()) };
    let by_name = names.iter().find(|name| name.as_str() == wanted);
    let by_number = || {
        let number: usize = wanted.parse().ok()?;
        names.get(number.checked_sub(1)?)
    };
    match by_name.or_else(by_number) {
        Some(name) => Ok(vec![name]),
        None => Err(unfit_description(format!(
            "there is no sheet {wanted}; its sheets are {}",
            names.join(", ")
        ))),
    }
}

/// Cells from one to another, from 0, both within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SheetArea {
    first_row: u32,
    first_column: u32,
    last_row: u32,
    last_column: u32,
}

impl SheetArea {
    fn measure_range<T>(range: &Range<T>) -> Option<SheetArea>
    where
        T: calamine::CellType,
    {
        let ((first_row, first_column), (last_row, last_column)) = (range.start()?, range.end()?);
        Some(SheetArea { first_row, first_column, last_row, last_column })
    }

    fn parse_area(text: &str) -> Result<SheetArea, DocumentError> {
        let area = CellRange::parse_range(text).map_err(unfit_description)?;
        Ok(SheetArea {
            first_row: area.first_row,
            first_column: area.first_column.into(),
            last_row: area.last_row,
            last_column: area.last_column.into(),
        })
    }

    /// What is asked for, no further than what is used.
    fn clamp_to_used(self, used: SheetArea) -> SheetArea {
        SheetArea {
            last_row: self.last_row.min(used.last_row.max(self.first_row)),
            last_column: self.last_column.min(used.last_column.max(self.first_column)),
            ..self
        }
    }

    fn count_cells(self) -> u64 {
        let rows = u64::from(self.last_row - self.first_row) + 1;
        rows * (u64::from(self.last_column - self.first_column) + 1)
    }
}

/// Both together.
trait JoinedArea {
    fn join_area(self, other: Option<SheetArea>) -> Option<SheetArea>;
}

impl JoinedArea for Option<SheetArea> {
    fn join_area(self, other: Option<SheetArea>) -> Option<SheetArea> {
        match (self, other) {
            (Some(a), Some(b)) => Some(SheetArea {
                first_row: a.first_row.min(b.first_row),
                first_column: a.first_column.min(b.first_column),
                last_row: a.last_row.max(b.last_row),
                last_column: a.last_column.max(b.last_column),
            }),
            (a, b) => a.or(b),
        }
    }
}

fn add_pages(
    name: &str,
    area: SheetArea,
    values: &Range<Data>,
    formulas: &Range<String>,
    pages: &mut Vec<DocumentPage>,
) {
    let last_column = area.last_column.min(area.first_column + COLUMNS_MAX - 1);
    let columns = area.first_column..=last_column;
    let mut head = vec![String::new()];
    head.extend(columns.clone().map(|column| column_name(column as usize)));
    let mut from = area.first_row;
    while from <= area.last_row {
        let to = area.last_row.min(from + PAGE_ROWS - 1);
        let mut text = table_row(&head);
        text.push_str(&table_rule(head.len()));
        let mut has_rows = false;
        for row in from..=to {
            let mut cells = vec![(row + 1).to_string()];
            cells.extend(columns.clone().map(|column| {
                let formula = formulas.get_value((row, column)).filter(|text| !text.is_empty());
                let value = values.get_value((row, column)).map(shown_value).unwrap_or_default();
                match formula {
                    Some(formula) if value.is_empty() => format!("`={formula}` (not computed)"),
                    Some(formula) => format!("{value} `={formula}`"),
                    None => value,
                }
            }));
            if cells.iter().skip(1).any(|cell| !cell.is_empty()) {
                text.push_str(&table_row(&cells));
                has_rows = true;
            }
        }
        if has_rows || pages.is_empty() {
            let name = format!("Sheet {name}, rows {}-{}", from + 1, to + 1);
            pages.push(DocumentPage { name, text });
        }
        from = to + 1;
    }
}

fn shown_value(value: &Data) -> String {
    match value {
        Data::Empty => String::new(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::String(text) => text.clone(),
        Data::Bool(truth) => truth.to_string().to_uppercase(),
        Data::Error(error) => error.to_string(),
        Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::DateTime(moment) if moment.is_duration() => moment.as_f64().to_string(),
        Data::DateTime(moment) => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            match (hour, minute, second) {
                (0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            }
        }
    }
}
