//! Tables of slides: as large as fits, else in pieces on further slides. A row that is higher than a
//! slide is split. Not here: how a table is drawn (`shape`).

use weir_core::document::DocumentError;

use super::fit::{EMU_PER_POINT, SlideBox, lines_of, width_of};
use super::look::PointSizes;
use super::shape::TableLook;
use super::{PlacedGraphic, SLIDES_MAX, cut_place};
use crate::unfit_description;

/// Sizes of the text of tables in points.
const TABLE_SIZES: PointSizes = PointSizes { most: 18, least: 11 };
/// Most columns of a table.
const COLUMNS_MAX: usize = 12;

/// A table in as many pieces as it needs, each with the head where that leaves room for more. The
/// first stands in `area`, further ones on slides of their own with `room`.
pub(super) fn place_table<'a>(
    rows: &[Vec<String>],
    area: SlideBox,
    room: SlideBox,
) -> Result<Vec<PlacedGraphic<'a>>, DocumentError> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 || columns > COLUMNS_MAX {
        return Err(unfit_description(format!(
            "its table has {columns} columns, and 1 to {COLUMNS_MAX} fit; make several tables"
        )));
    }
    for size in (TABLE_SIZES.least..=TABLE_SIZES.most).rev() {
        let look = table_look(rows, columns, area, size);
        if look.height() <= area.height {
            let area = SlideBox { height: look.height(), ..area };
            return Ok(vec![PlacedGraphic::Table { rows: rows.to_vec(), area, look }]);
        }
    }
    let size = (TABLE_SIZES.most + TABLE_SIZES.least) / 2;
    let look = |rows: &[Vec<String>], area| table_look(rows, columns, area, size);
    let head = rows.get(..1).unwrap_or_default();
    let is_low = |place: SlideBox| look(head, place).height() <= place.height / 3;
    let head = if is_low(area) && is_low(room) { head } else { &[] };
    let mut pieces: Vec<Vec<String>> = Vec::new();
    for row in rows.get(head.len()..).unwrap_or_default() {
        let fits = |row: &[String]| {
            let together = [head, &[row.to_vec()]].concat();
            [area, room].iter().all(|place| look(&together, *place).height() <= place.height)
        };
        pieces.extend(split_row(row, fits)?);
    }
    let mut tables: Vec<PlacedGraphic<'a>> = Vec::new();
    let mut rest = pieces.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let place = if tables.is_empty() { area } else { room };
        let mut piece = head.to_vec();
        piece.push(first.clone());
        rest = others;
        while let Some((next, others)) = rest.split_first() {
            piece.push(next.clone());
            if look(&piece, place).height() > place.height {
                piece.pop();
                break;
            }
            rest = others;
        }
        let has_head = !head.is_empty() || tables.is_empty();
        let look = TableLook { has_head, ..look(&piece, place) };
        let area = SlideBox { height: look.height().min(place.height), ..place };
        tables.push(PlacedGraphic::Table { rows: piece, area, look });
    }
    Ok(tables)
}

/// A row in pieces that fit: each takes as much of every cell as there is room for.
fn split_row(
    row: &[String],
    fits: impl Fn(&[String]) -> bool,
) -> Result<Vec<Vec<String>>, DocumentError> {
    if fits(row) {
        return Ok(vec![row.to_vec()]);
    }
    let mut rest: Vec<&str> = row.iter().map(String::as_str).collect();
    let mut pieces = Vec::new();
    while rest.iter().any(|text| !text.is_empty()) {
        if pieces.len() >= SLIDES_MAX {
            return Err(unfit_description(format!(
                "a row of its table fills more than {SLIDES_MAX} slides; shorten its cells"
            )));
        }
        let cut = |letters: usize| -> Vec<(&str, &str)> {
            rest.iter().map(|text| cut_cell(text, letters)).collect()
        };
        let piece = |letters: usize| -> Vec<String> {
            cut(letters).into_iter().map(|(piece, _)| piece.to_owned()).collect()
        };
        // How much fits grows with the number of letters: halve until it is found.
        let (mut least, mut most) = (1, rest.iter().map(|text| text.len()).max().unwrap_or(1));
        while least < most {
            let middle = most - (most - least) / 2;
            if fits(&piece(middle)) { least = middle } else { most = middle - 1 }
        }
        let (made, left) = (piece(least), cut(least));
        rest = left.into_iter().map(|(_, rest)| rest).collect();
        pieces.push(made);
    }
    Ok(pieces)
}

/// The first letters of a cell, to the end of a word, and what is left.
fn cut_cell(text: &str, letters: usize) -> (&str, &str) {
    let Some((most, _)) = text.char_indices().nth(letters) else { return (text, "") };
    let (piece, rest) = text.split_at(cut_place(text, most));
    (piece.trim_end(), rest.trim_start())
}

/// Widths by what stands in the columns, heights by the lines that the cells take.
fn table_look(rows: &[Vec<String>], columns: usize, area: SlideBox, size: u32) -> TableLook {
    let cells = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let wanted: Vec<f64> = (0..columns)
        .map(|at| cells(at).map(|cell| width_of(cell)).fold(3.0, f64::max).min(30.0))
        .collect();
    let sum: f64 = wanted.iter().sum();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts of the width of a slide"
    )]
    let widths: Vec<u64> =
        wanted.iter().map(|wanted| (area.width as f64 * wanted / sum) as u64).collect();
    let line = u64::from(size) * EMU_PER_POINT * 123 / 100;
    let heights = rows.iter().map(|row| {
        let lines = row.iter().zip(&widths).map(|(cell, width)| {
            #[expect(clippy::cast_precision_loss, reason = "the width of a column")]
            let room =
                (width.saturating_sub(200_000)) as f64 / (f64::from(size) * EMU_PER_POINT as f64);
            cell.split('\n').map(|text| lines_of(text, room.max(1.0))).sum::<usize>()
        });
        lines.max().unwrap_or(1).max(1) as u64 * line + 110_000
    });
    let heights = heights.collect();
    TableLook { size, widths, heights, has_head: true }
}
