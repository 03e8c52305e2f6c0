//! Cells and ranges as people write them. Not here: formulas.

/// Last row and column of a sheet, from 0.
pub(crate) const ROW_MAX: u32 = 1_048_575;
const COLUMN_MAX: u16 = 16_383;

/// The name of a column, from 0: A, Z, AA.
pub(crate) fn column_name(column: usize) -> String {
    let mut letters = Vec::new();
    let mut left = column.saturating_add(1);
    while left > 0 {
        let digit = u8::try_from((left - 1) % 26).unwrap_or(0);
        letters.push(char::from(b'A' + digit));
        left = (left - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// The name of a cell, from 0.
pub(crate) fn cell_name(row: usize, column: usize) -> String {
    format!("{}{}", column_name(column), row.saturating_add(1))
}

/// Cells from one to another, from 0, both within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellRange {
    pub(crate) first_row: u32,
    pub(crate) first_column: u16,
    pub(crate) last_row: u32,
    pub(crate) last_column: u16,
}

impl CellRange {
    /// As A1:D9, A1, B, B:D, 3 or 3:5.
    pub(crate) fn parse_range(text: &str) -> Result<CellRange, String> {
        let wrong = || format!("{text} is no range like A1:D9, B or 3");
        let (first, last) = text.split_once(':').unwrap_or((text, text));
        let (first_column, first_row) = parse_end(first).ok_or_else(wrong)?;
        let (last_column, last_row) = parse_end(last).ok_or_else(wrong)?;
        let range = CellRange {
            first_row: first_row.unwrap_or(0),
            first_column: first_column.unwrap_or(0),
            last_row: last_row.unwrap_or(ROW_MAX),
            last_column: last_column.unwrap_or(COLUMN_MAX),
        };
        let in_order = range.first_row <= range.last_row && range.first_column <= range.last_column;
        in_order.then_some(range).ok_or_else(wrong)
    }

    /// From the first cell on.
    pub(crate) fn of_size(rows: usize, columns: usize) -> CellRange {
        let last =
            |count: usize, max: u32| u32::try_from(count.saturating_sub(1)).unwrap_or(max).min(max);
        CellRange {
            first_row: 0,
            first_column: 0,
            last_row: last(rows, ROW_MAX),
            last_column: u16::try_from(last(columns, u32::from(COLUMN_MAX))).unwrap_or(COLUMN_MAX),
        }
    }

    pub(crate) fn contains(&self, row: usize, column: usize) -> bool {
        let within = |at: usize, first: usize, last: usize| first <= at && at <= last;
        within(row, self.first_row as usize, self.last_row as usize)
            && within(column, self.first_column.into(), self.last_column.into())
    }

    pub(crate) fn count_cells(&self) -> u64 {
        let rows = u64::from(self.last_row - self.first_row) + 1;
        rows * (u64::from(self.last_column - self.first_column) + 1)
    }

    pub(crate) fn is_one_cell(&self) -> bool {
        self.first_row == self.last_row && self.first_column == self.last_column
    }
}

/// Column and row of one end, each only where it is named.
fn parse_end(text: &str) -> Option<(Option<u16>, Option<u32>)> {
    let text: String = text.trim().chars().filter(|c| *c != '$').collect();
    let digits = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (letters, digits) = text.split_at(digits);
    if (letters.is_empty() && digits.is_empty())
        || letters.len() > 3
        || !letters.chars().all(|c| c.is_ascii_alphabetic())
    {
        return None;
    }
    let column = letters
        .bytes()
        .fold(0_u32, |sum, c| sum * 26 + u32::from(c.to_ascii_uppercase() - b'A') + 1);
    let row: Option<u32> = if digits.is_empty() { None } else { Some(digits.parse().ok()?) };
    let row = match row {
        Some(row) => Some(row.checked_sub(1).filter(|row| *row <= ROW_MAX)?),
        None => None,
    };
    let column = match column.checked_sub(1) {
        Some(column) => Some(u16::try_from(column).ok().filter(|c| *c <= COLUMN_MAX)?),
        None => None,
    };
    Some((column, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_ranges_are_read_as_people_write_them() {
        let area = |text: &str| {
            CellRange::parse_range(text)
                .map(|r| (r.first_row, r.first_column, r.last_row, r.last_column))
        };
        assert_eq!(area("B2:D9"), Ok((1, 1, 8, 3)));
        assert_eq!(area("$AA$10"), Ok((9, 26, 9, 26)));
        assert_eq!(area("C"), Ok((0, 2, ROW_MAX, 2)));
        assert_eq!(area("3:4"), Ok((2, 0, 3, COLUMN_MAX)));
        for wrong in ["", ":", "A0", "9A", "D9:B2", "ABCD1", "A1:", "ü3", "A99999999"] {
            assert!(area(wrong).is_err(), "{wrong}");
        }
        assert_eq!(cell_name(0, 0), "A1");
        assert_eq!(cell_name(9, 26), "AA10");
        assert_eq!(cell_name(0, 701), "ZZ1");
    }
}
