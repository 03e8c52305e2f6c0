//! How much a workbook may have: a description of one line can ask for billions of cells. Each limit
//! says its value and what to do instead. Not here: what a cell may hold.

use weir_core::document::DocumentError;
use weir_core::office::{WorkbookDocument, WorkbookSheet};

use crate::cells::{CellRange, ROW_MAX};
use crate::unfit_description;

/// Most sheets of a workbook: each is written by a thread of its own.
const SHEETS_MAX: usize = 200;
/// Most cells of a workbook: more is data, and data comes as CSV. A row without cells counts as one.
const CELLS_MAX: usize = 500_000;
/// Most columns of a row, and widths.
const COLUMNS_MAX: usize = 16_384;
/// Most charts, formats, conditions and merged ranges of a sheet.
const CHARTS_MAX: usize = 50;
const RULES_MAX: usize = 500;
/// Most cells that the merged ranges of a sheet cover together.
const MERGED_CELLS_MAX: u64 = 100_000;
/// Most cells of one series of a chart: more points than a drawing has room for.
const POINTS_MAX: u64 = 32_000;

/// Refuses a workbook that is beyond what is written.
pub(super) fn check_workbook(workbook: &WorkbookDocument) -> Result<(), DocumentError> {
    let count = workbook.sheets.len();
    if count == 0 {
        return Err(unfit_description("a workbook needs at least one sheet"));
    }
    if count > SHEETS_MAX {
        return Err(unfit_description(format!(
            "the workbook has {count} sheets and at most {SHEETS_MAX} are written; write several \
             workbooks"
        )));
    }
    let rows = workbook.sheets.iter().flat_map(|sheet| &sheet.rows);
    let cells: usize = rows.map(|row| row.len().max(1)).sum();
    if cells > CELLS_MAX {
        return Err(unfit_description(format!(
            "the workbook has {cells} cells and at most {CELLS_MAX} are written; write a CSV"
        )));
    }
    workbook.sheets.iter().try_for_each(|sheet| {
        check_sheet(sheet).map_err(|why| unfit_description(format!("sheet {}, {why}", sheet.name)))
    })
}

fn check_sheet(sheet: &WorkbookSheet) -> Result<(), String> {
    let widest = sheet.rows.iter().map(Vec::len).max().unwrap_or(0).max(sheet.widths.len());
    for (name, count, most) in [
        ("columns", widest, COLUMNS_MAX),
        ("charts", sheet.charts.len(), CHARTS_MAX),
        ("formats", sheet.formats.len(), RULES_MAX),
        ("conditions", sheet.conditions.len(), RULES_MAX),
        ("merged", sheet.merged.len(), RULES_MAX),
    ] {
        if count > most {
            return Err(format!("{name}: there are {count} and at most {most} are written"));
        }
    }
    if sheet.frozen_rows > ROW_MAX {
        return Err(format!("frozen_rows: a sheet has {} rows", u64::from(ROW_MAX) + 1));
    }
    let mut merged = 0;
    for text in &sheet.merged {
        let range = CellRange::parse_range(text).map_err(|why| format!("merged: {why}"))?;
        merged += range.count_cells();
        if merged > MERGED_CELLS_MAX {
            return Err(format!(
                "merged: {text} makes more than {MERGED_CELLS_MAX} cells of merged ranges; name \
                 the cells alone, as A1:D1"
            ));
        }
    }
    for text in sheet.charts.iter().flat_map(|chart| chart.values.iter().chain([&chart.categories]))
    {
        let range = CellRange::parse_range(text).map_err(|why| format!("chart: {why}"))?;
        if range.count_cells() > POINTS_MAX {
            return Err(format!(
                "chart: {text} has {} cells and at most {POINTS_MAX} are drawn; name the cells \
                 alone, as B2:B20",
                range.count_cells()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_core::office::{ChartKind, SheetCell, SheetChart};

    use super::*;

    fn said(sheet: WorkbookSheet) -> String {
        let workbook = WorkbookDocument { sheets: vec![sheet], author: None };
        check_workbook(&workbook).expect_err("too much").to_string()
    }

    #[test]
    fn k8_what_a_workbook_may_have_is_bounded_and_said() {
        let named = || WorkbookSheet { name: "S".into(), ..WorkbookSheet::default() };
        let chart = |values: &str| SheetChart {
            kind: ChartKind::Line,
            title: None,
            categories: "A2:A9".into(),
            values: vec![values.into()],
            at: None,
        };
        for merged in ["A:Z", "1:9", "A1:Z9999"] {
            let said = said(WorkbookSheet { merged: vec![merged.into()], ..named() });
            assert!(said.starts_with("sheet S, merged: ") && said.contains("A1:D1"), "{said}");
        }
        for values in ["B", "B:C", "2:3", "A1:XFD1048576"] {
            let said = said(WorkbookSheet { charts: vec![chart(values)], ..named() });
            assert!(said.contains("chart: ") && said.contains("B2:B20"), "{said}");
        }
        let charts = (0..51).map(|_| chart("B2:B9")).collect();
        assert!(said(WorkbookSheet { charts, ..named() }).contains("at most 50"));
        let wide = vec![vec![SheetCell::Empty(()); 16_385]];
        assert!(said(WorkbookSheet { rows: wide, ..named() }).contains("at most 16384"));
        let rows = vec![Vec::new(); 500_001];
        assert!(said(WorkbookSheet { rows, ..named() }).contains("CSV"));
        assert!(said(WorkbookSheet { frozen_rows: u32::MAX, ..named() }).contains("frozen_rows"));
        let many = WorkbookDocument { sheets: (0..201).map(|_| named()).collect(), author: None };
        let said = check_workbook(&many).expect_err("too many").to_string();
        assert!(said.contains("201 sheets and at most 200"), "{said}");
    }
}
