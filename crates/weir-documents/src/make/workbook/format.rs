//! Formats of cells: what several ranges say of one cell is joined, and formats that depend on
//! values.

use std::collections::BTreeMap;

use rust_xlsxwriter::{
    Color, ConditionalFormat3ColorScale, ConditionalFormatCell, ConditionalFormatCellRule,
    ConditionalFormatDataBar, ConditionalFormatDuplicate, ConditionalFormatText,
    ConditionalFormatTextRule, ConditionalFormatTop, ConditionalFormatTopRule, Format, FormatAlign,
    FormatBorder, Worksheet,
};
use weir_core::office::{
    CellAlignment, ConditionRule, ConditionValue, ConditionalFormat, RangeFormat, SheetCell,
    TypedCell, WorkbookSheet,
};

use super::{CellPlace, SheetProblem};
use crate::cells::CellRange;

/// Empty cells that get a format for a range that is longer than the data.
const EMPTY_CELLS_MAX: usize = 10_000;
/// Behind the cells of a head.
const HEAD_FILL: u32 = 0x00DD_E6F2;
/// Behind what a condition finds, without a colour of its own.
const FOUND_FILL: &str = "F8CBAD";

/// The formats of one sheet.
pub(super) struct FormatSheet<'a> {
    ranges: Vec<(CellRange, &'a RangeFormat)>,
    has_head: bool,
    /// By which ranges hold, and what the cell itself says.
    made: BTreeMap<(Vec<usize>, bool, Option<String>), Format>,
}

impl<'a> FormatSheet<'a> {
    pub(super) fn collect_formats(
        sheet: &'a WorkbookSheet,
    ) -> Result<FormatSheet<'a>, SheetProblem> {
        let mut ranges = Vec::new();
        for format in &sheet.formats {
            let at = |why: String| SheetProblem::at_place("formats", why);
            let range = CellRange::parse_range(&format.range).map_err(at)?;
            for color in [&format.color, &format.fill].into_iter().flatten() {
                parse_color(color).map_err(at)?;
            }
            ranges.push((range, format));
        }
        Ok(FormatSheet { ranges, has_head: sheet.head, made: BTreeMap::new() })
    }

    /// The format of a cell; `None`: nothing is said of it.
    pub(super) fn find_format(
        &mut self,
        row: usize,
        column: usize,
        cell: &SheetCell,
    ) -> Option<Format> {
        let holds: Vec<usize> = self
            .ranges
            .iter()
            .enumerate()
            .filter(|(_, (range, _))| range.contains(row, column))
            .map(|(at, _)| at)
            .collect();
        let is_head = self.has_head && row == 0;
        let own = match cell {
            SheetCell::Typed(TypedCell { format: Some(format), .. }) => Some(format.clone()),
            SheetCell::Typed(TypedCell { date: Some(date), .. }) => {
                let timed = date.contains(['T', ':']);
                Some(if timed { "yyyy-mm-dd hh:mm" } else { "yyyy-mm-dd" }.to_owned())
            }
            SheetCell::Text(text) if text.contains('\n') => Some(String::new()),
            _ => None,
        };
        if holds.is_empty() && !is_head && own.is_none() {
            return None;
        }
        let key = (holds, is_head, own);
        if let Some(made) = self.made.get(&key) {
            return Some(made.clone());
        }
        let format = self.join_formats(&key.0, is_head, key.2.as_deref());
        self.made.insert(key, format.clone());
        Some(format)
    }

    fn join_formats(&self, holds: &[usize], is_head: bool, own: Option<&str>) -> Format {
        let mut format = Format::new();
        if is_head {
            let head = format.set_bold().set_background_color(Color::RGB(HEAD_FILL));
            format = head.set_align(FormatAlign::VerticalCenter);
        }
        match own {
            // A text with lines of its own.
            Some("") => format = format.set_text_wrap().set_align(FormatAlign::Top),
            Some(number) => format = format.set_num_format(number),
            None => {}
        }
        for (_, asked) in holds.iter().filter_map(|at| self.ranges.get(*at)) {
            format = apply_format(format, asked);
        }
        format
    }

    /// Formats that reach beyond the cells with content: fills and borders of empty ones.
    pub(super) fn write_empty_cells(
        &mut self,
        page: &mut Worksheet,
        sheet: &WorkbookSheet,
    ) -> Result<(), SheetProblem> {
        let mut left = EMPTY_CELLS_MAX;
        let columns = sheet.rows.iter().map(Vec::len).max().unwrap_or(0);
        let areas: Vec<CellRange> = self.ranges.iter().map(|(range, _)| *range).collect();
        for area in areas {
            // A whole column or row is formatted where there is content.
            let open_rows = area.last_row > 1_000_000;
            let open_columns = area.last_column > 16_000;
            let rows = if open_rows { sheet.rows.len() } else { area.last_row as usize + 1 };
            let ends = if open_columns { columns } else { usize::from(area.last_column) + 1 };
            for row in area.first_row as usize..rows {
                for column in usize::from(area.first_column)..ends {
                    if sheet.rows.get(row).is_some_and(|cells| column < cells.len()) {
                        continue;
                    }
                    left = match left.checked_sub(1) {
                        Some(left) => left,
                        None => return Ok(()),
                    };
                    if let Some(format) = self.find_format(row, column, &SheetCell::Empty(())) {
                        let at = CellPlace::from((row, column));
                        page.write_blank(at.row, at.column, &format)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn apply_format(mut format: Format, asked: &RangeFormat) -> Format {
    if let Some(number) = &asked.number {
        format = format.set_num_format(number);
    }
    if asked.bold {
        format = format.set_bold();
    }
    if asked.italic {
        format = format.set_italic();
    }
    if let Some(Ok(color)) = asked.color.as_deref().map(parse_color) {
        format = format.set_font_color(color);
    }
    if let Some(Ok(fill)) = asked.fill.as_deref().map(parse_color) {
        format = format.set_background_color(fill);
    }
    if let Some(align) = asked.align {
        format = format.set_align(match align {
            CellAlignment::Left => FormatAlign::Left,
            CellAlignment::Center => FormatAlign::Center,
            CellAlignment::Right => FormatAlign::Right,
        });
    }
    if asked.wrap {
        format = format.set_text_wrap().set_align(FormatAlign::Top);
    }
    if asked.border {
        format = format.set_border(FormatBorder::Thin).set_border_color(Color::RGB(0x00BF_BFBF));
    }
    format
}

fn parse_color(text: &str) -> Result<Color, String> {
    let digits = text.trim_start_matches('#');
    let value = (digits.len() == 6).then(|| u32::from_str_radix(digits, 16).ok()).flatten();
    value.map(Color::RGB).ok_or_else(|| format!("{text} is no colour like C00000"))
}

/// Adds a format that depends on values.
pub(super) fn add_condition(
    page: &mut Worksheet,
    asked: &ConditionalFormat,
) -> Result<(), SheetProblem> {
    let at = |why: String| SheetProblem::at_place("conditions", why);
    let area = CellRange::parse_range(&asked.range).map_err(at)?;
    let fill = parse_color(asked.fill.as_deref().unwrap_or(FOUND_FILL)).map_err(at)?;
    let format = Format::new().set_background_color(fill);
    let number = || match &asked.value {
        Some(ConditionValue::Number(number)) => Ok(*number),
        _ => Err(at(format!("the rule of {} needs a number as value", asked.range))),
    };
    let count = || {
        let count = match &asked.value {
            None => 10.0,
            Some(_) => number()?,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        Ok::<u16, SheetProblem>(count.clamp(1.0, 1_000.0) as u16)
    };
    let (row, column, last_row, last_column) =
        (area.first_row, area.first_column, area.last_row, area.last_column);
    let cell = |rule| ConditionalFormatCell::new().set_rule(rule).set_format(&format);
    macro_rules! add {
        ($condition:expr) => {
            page.add_conditional_format(row, column, last_row, last_column, $condition)?
        };
    }
    match asked.rule {
        ConditionRule::Greater => add!(&cell(ConditionalFormatCellRule::GreaterThan(number()?))),
        ConditionRule::Less => add!(&cell(ConditionalFormatCellRule::LessThan(number()?))),
        ConditionRule::Between => {
            let to = asked.to.ok_or_else(|| at("between needs `to`".into()))?;
            add!(&cell(ConditionalFormatCellRule::Between(number()?, to)))
        }
        ConditionRule::Equal => match &asked.value {
            Some(ConditionValue::Text(text)) => {
                // In quotes of our own: the writer takes what has some for a formula.
                let quoted = format!("\"{}\"", text.replace('"', "\"\""));
                let rule = ConditionalFormatCellRule::EqualTo(quoted.as_str());
                add!(&ConditionalFormatCell::new().set_rule(rule).set_format(&format))
            }
            _ => add!(&cell(ConditionalFormatCellRule::EqualTo(number()?))),
        },
        ConditionRule::Contains => {
            let Some(ConditionValue::Text(text)) = &asked.value else {
                return Err(at("contains needs a text as value".into()));
            };
            let rule = ConditionalFormatTextRule::Contains(text.clone());
            add!(&ConditionalFormatText::new().set_rule(rule).set_format(&format))
        }
        ConditionRule::Top | ConditionRule::Bottom => {
            let rule = if asked.rule == ConditionRule::Top {
                ConditionalFormatTopRule::Top(count()?)
            } else {
                ConditionalFormatTopRule::Bottom(count()?)
            };
            add!(&ConditionalFormatTop::new().set_rule(rule).set_format(&format))
        }
        ConditionRule::Duplicate => add!(&ConditionalFormatDuplicate::new().set_format(&format)),
        ConditionRule::Scale => add!(&ConditionalFormat3ColorScale::new()),
        ConditionRule::Bars => add!(&ConditionalFormatDataBar::new().set_fill_color(fill)),
    };
    Ok(())
}
