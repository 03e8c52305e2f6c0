//! A place in a long list of items that each take some rows, and how it moves. Only what is looked
//! at is made into rows. Pure. Not here: what the items are.

use std::collections::HashMap;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

/// Items whose rows are kept; past it all are made anew.
const KEPT_MAX: usize = 2_000;

/// The rows of an item at one width.
pub(crate) type ItemRows = Arc<Vec<Line<'static>>>;

/// Makes rows of items.
pub(crate) trait ScrollItems {
    /// How many there are.
    fn item_count(&self) -> usize;
    /// The rows of one at this width.
    fn item_rows(&self, item: usize, width: usize) -> Vec<Line<'static>>;
}

/// Rows that were made, for one width.
#[derive(Debug, Default)]
pub(crate) struct RowCache {
    width: usize,
    rows: HashMap<usize, ItemRows>,
}

impl RowCache {
    /// The items changed.
    pub(crate) fn forget_all(&mut self) {
        self.rows.clear();
    }

    /// One item changed.
    pub(crate) fn forget_one(&mut self, item: usize) {
        self.rows.remove(&item);
    }

    /// The width that rows are made for. Says what it was before, where it is another one.
    pub(crate) fn set_width(&mut self, width: usize) -> Option<usize> {
        let before = std::mem::replace(&mut self.width, width);
        (before != width).then(|| {
            self.rows.clear();
            before
        })
    }

    /// The rows of an item.
    pub(crate) fn rows_of(&mut self, items: &dyn ScrollItems, item: usize) -> ItemRows {
        if let Some(rows) = self.rows.get(&item) {
            return Arc::clone(rows);
        }
        if self.rows.len() >= KEPT_MAX {
            self.rows.clear();
        }
        let rows = Arc::new(items.item_rows(item, self.width));
        self.rows.insert(item, Arc::clone(&rows));
        rows
    }
}

/// A row of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ScrollPosition {
    /// Which item.
    pub(crate) item: usize,
    /// Which of its rows.
    pub(crate) row: usize,
}

/// Items with the rows that were made of them.
pub(crate) struct RowScroller<'a> {
    /// Them.
    pub(crate) items: &'a dyn ScrollItems,
    /// What was made of them.
    pub(crate) kept: &'a mut RowCache,
}

impl RowScroller<'_> {
    fn item_height(&mut self, item: usize) -> usize {
        self.kept.rows_of(self.items, item).len()
    }

    /// The place so many rows further down; the last row at most.
    pub(crate) fn move_down(&mut self, from: ScrollPosition, mut rows: usize) -> ScrollPosition {
        let (count, mut place) = (self.items.item_count(), from);
        let mut reached = from;
        while place.item < count {
            let left = self.item_height(place.item).saturating_sub(place.row);
            if rows < left {
                return ScrollPosition { item: place.item, row: place.row + rows };
            }
            if left > 0 {
                reached = ScrollPosition { item: place.item, row: place.row + left - 1 };
            }
            rows -= left;
            place = ScrollPosition { item: place.item + 1, row: 0 };
        }
        reached
    }

    /// The place so many rows further up; the first row at most.
    pub(crate) fn move_up(&mut self, from: ScrollPosition, mut rows: usize) -> ScrollPosition {
        let mut place = from;
        while rows > place.row {
            rows -= place.row;
            let Some(item) = place.item.checked_sub(1) else {
                return ScrollPosition::default();
            };
            place = ScrollPosition { item, row: self.item_height(item) };
        }
        ScrollPosition { item: place.item, row: place.row - rows }
    }

    /// The last row of all.
    pub(crate) fn last_position(&mut self) -> ScrollPosition {
        let end = ScrollPosition { item: self.items.item_count(), row: 0 };
        self.move_up(end, 1)
    }

    /// `top` so that a screen of `rows` rows is full, where there is enough to fill it.
    pub(crate) fn fill_screen(&mut self, top: ScrollPosition, rows: usize) -> ScrollPosition {
        let end = ScrollPosition { item: self.items.item_count(), row: 0 };
        let lowest = self.move_up(end, rows);
        let height =
            if top.item < self.items.item_count() { self.item_height(top.item) } else { 0 };
        let top = ScrollPosition { item: top.item, row: top.row.min(height.saturating_sub(1)) };
        top.min(lowest)
    }

    /// The rows from `top` on, with their places.
    pub(crate) fn visible_rows(
        &mut self,
        top: ScrollPosition,
        rows: usize,
    ) -> Vec<(ScrollPosition, Line<'static>)> {
        let mut seen = Vec::new();
        let (mut item, mut row) = (top.item, top.row);
        while seen.len() < rows && item < self.items.item_count() {
            let all = self.kept.rows_of(self.items, item);
            for (n, line) in all.iter().enumerate().skip(row).take(rows - seen.len()) {
                seen.push((ScrollPosition { item, row: n }, line.clone()));
            }
            (item, row) = (item + 1, 0);
        }
        seen
    }
}

/// How a key moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScrollMove {
    /// So many rows up.
    Up(usize),
    /// So many rows down.
    Down(usize),
    /// To the first row.
    First,
    /// To the last.
    Last,
}

/// What a key of a text without an input line moves; `page`: rows of a page.
pub(crate) fn scroll_move_for_key(key: KeyEvent, page: usize) -> Option<ScrollMove> {
    let page = page.max(1);
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return match key.code {
            KeyCode::Char('d') => Some(ScrollMove::Down(page.div_ceil(2))),
            KeyCode::Char('u') => Some(ScrollMove::Up(page.div_ceil(2))),
            KeyCode::Char('f') => Some(ScrollMove::Down(page)),
            KeyCode::Char('b') => Some(ScrollMove::Up(page)),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Up | KeyCode::Char('k') => ScrollMove::Up(1),
        KeyCode::Down | KeyCode::Char('j') => ScrollMove::Down(1),
        KeyCode::PageUp | KeyCode::Char('b') => ScrollMove::Up(page),
        KeyCode::PageDown | KeyCode::Char(' ') => ScrollMove::Down(page),
        KeyCode::Home | KeyCode::Char('g') => ScrollMove::First,
        KeyCode::End | KeyCode::Char('G') => ScrollMove::Last,
        _ => return None,
    })
}

/// Whether a key closes a screen: `q`, Esc, Ctrl-C.
pub(crate) fn is_close_key(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc
        || (key.code == KeyCode::Char('c') && control)
        || (key.code == KeyCode::Char('q') && key.modifiers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heights(Vec<usize>);

    impl ScrollItems for Heights {
        fn item_count(&self) -> usize {
            self.0.len()
        }
        fn item_rows(&self, item: usize, _: usize) -> Vec<Line<'static>> {
            (0..self.0[item]).map(|row| Line::from(format!("{item}.{row}"))).collect()
        }
    }

    #[test]
    fn f1_places_move_by_rows_over_items_of_any_height() {
        let items = Heights(vec![2, 0, 3, 1]);
        let all: Vec<ScrollPosition> = [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2), (3, 0)]
            .map(|(item, row)| ScrollPosition { item, row })
            .to_vec();
        let mut kept = RowCache::default();
        let mut roll = RowScroller { items: &items, kept: &mut kept };
        for (n, from) in all.iter().enumerate() {
            for rows in 0..9 {
                assert_eq!(roll.move_down(*from, rows), all[(n + rows).min(5)], "{n} down {rows}");
                let up = roll.move_up(*from, rows);
                assert_eq!(up, all[n.saturating_sub(rows)], "{n} up {rows}");
            }
        }
        assert_eq!(roll.last_position(), all[5]);
        assert_eq!(roll.fill_screen(all[5], 4), all[2]);
        assert_eq!(roll.fill_screen(all[1], 4), all[1]);
        assert_eq!(roll.fill_screen(all[5], 99), all[0]);
        let seen: Vec<String> =
            roll.visible_rows(all[1], 3).iter().map(|(_, line)| line.to_string()).collect();
        assert_eq!(seen, ["0.1", "2.0", "2.1"]);
    }

    #[test]
    fn f1_nothing_at_all_can_be_scrolled() {
        let items = Heights(Vec::new());
        let mut kept = RowCache::default();
        let mut roll = RowScroller { items: &items, kept: &mut kept };
        let start = ScrollPosition::default();
        assert_eq!(roll.move_down(start, 3), start);
        assert_eq!(roll.move_up(start, 3), start);
        assert_eq!(roll.last_position(), start);
        assert_eq!(roll.fill_screen(start, 3), start);
        assert!(roll.visible_rows(start, 3).is_empty());
    }
}
