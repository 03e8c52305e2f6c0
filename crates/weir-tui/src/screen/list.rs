//! A list that is filtered while one types. Pure. Not here: what is listed, and what becomes of
//! what is chosen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::ScreenView;
use super::frame::{FrameSize, frame_view, key_line, title_line};
use super::typed::DialogLineInput;
use crate::fuzzy;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::wrap::cut_line;

/// Entries that a list holds at most.
const ITEMS_MAX: usize = 20_000;
/// Rows that an entry takes.
const ITEM_ROWS: usize = 2;

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct ListItem<T> {
    /// What it stands for.
    pub(crate) value: T,
    /// What is read and filtered.
    pub(crate) text: String,
    /// The line below.
    pub(crate) about: String,
    /// It is the one that holds now.
    pub(crate) current: bool,
    /// It stays whatever is typed: somebody else found it.
    pub(crate) found: bool,
}

/// What a key did to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOutcome {
    /// Nothing.
    Nothing,
    /// Another one is marked.
    Moved,
    /// Other words stand in the filter.
    Filtered,
    /// The marked one is chosen.
    Chose,
    /// It is to be closed.
    Closes,
}

/// What stands around a list.
pub(crate) struct ListFrame<'a> {
    /// Its title.
    pub(crate) title: &'a str,
    /// What is said when nothing is in it.
    pub(crate) empty: &'a str,
    /// The keys.
    pub(crate) keys: &'a [(&'a str, &'a str)],
}

/// The list.
pub(crate) struct FilterList<T> {
    items: Vec<ListItem<T>>,
    filter: DialogLineInput,
    /// Which of `items` are shown, in their order.
    shown: Vec<usize>,
    /// The marked one, in `shown`.
    at: usize,
    /// The first one that is seen, in `shown`.
    top: usize,
    page: usize,
}

impl<T> FilterList<T> {
    /// A list of these; the one that holds now is marked.
    pub(crate) fn new(items: Vec<ListItem<T>>) -> FilterList<T> {
        let mut list = FilterList {
            items: Vec::new(),
            filter: DialogLineInput::default(),
            shown: Vec::new(),
            at: 0,
            top: 0,
            page: 1,
        };
        list.set_items(items);
        list.at = list.items.iter().position(|item| item.current).unwrap_or(0);
        list
    }

    /// Other entries; the filter stays.
    pub(crate) fn set_items(&mut self, mut items: Vec<ListItem<T>>) {
        items.truncate(ITEMS_MAX);
        self.items = items;
        self.filter_now();
    }

    /// Marks the first that is shown and for which this holds, where there is one.
    pub(crate) fn mark_value(&mut self, is_meant: impl Fn(&T) -> bool) {
        let is_meant = |at: &usize| self.items.get(*at).is_some_and(|item| is_meant(&item.value));
        self.at = self.shown.iter().position(is_meant).unwrap_or(self.at);
    }

    /// What somebody else found was for other words.
    pub(crate) fn forget_found(&mut self) {
        self.items.iter_mut().for_each(|item| item.found = false);
        self.filter_now();
    }

    /// The words of the filter.
    pub(crate) fn filter_words(&self) -> &str {
        self.filter.text()
    }

    /// Something is there, and the filter leaves some of it out.
    pub(crate) fn is_filtered(&self) -> bool {
        self.shown.len() < self.items.len()
    }

    /// How many there are, shown or not.
    pub(crate) fn item_count(&self) -> usize {
        self.items.len()
    }

    /// Whether less than a page is shown below the marked one.
    pub(crate) fn is_near_end(&self) -> bool {
        self.at + self.page >= self.shown.len()
    }

    /// Marks the last that is shown.
    pub(crate) fn mark_last(&mut self) {
        self.at = self.shown.len().saturating_sub(1);
    }

    /// The marked one.
    pub(crate) fn chosen_value(&self) -> Option<&T> {
        let item = *self.shown.get(self.at)?;
        self.items.get(item).map(|item| &item.value)
    }

    fn filter_now(&mut self) {
        let words = self.filter.text();
        if words.is_empty() {
            self.shown = (0..self.items.len()).collect();
        } else {
            let named = |(at, item)| SearchableItem { at, item };
            let names = self.items.iter().enumerate().map(named);
            let best = fuzzy::best_matches(words, names, self.items.len());
            self.shown = best.into_iter().map(|name| name.at).collect();
            let mut seen = vec![false; self.items.len()];
            self.shown.iter().for_each(|at| seen[*at] = true);
            let found = self.items.iter().enumerate().filter(|(at, item)| item.found && !seen[*at]);
            self.shown.extend(found.map(|(at, _)| at));
        }
        self.at = self.at.min(self.shown.len().saturating_sub(1));
    }

    /// A key.
    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> ListOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.shown.len().saturating_sub(1);
        let at = match key.code {
            KeyCode::Esc => return ListOutcome::Closes,
            KeyCode::Char('c') if control => return ListOutcome::Closes,
            KeyCode::Enter if self.chosen_value().is_some() => return ListOutcome::Chose,
            KeyCode::Up => self.at.saturating_sub(1),
            KeyCode::Char('p') if control => self.at.saturating_sub(1),
            KeyCode::Down => self.at + 1,
            KeyCode::Char('n') if control => self.at + 1,
            KeyCode::PageUp => self.at.saturating_sub(self.page),
            KeyCode::PageDown => self.at + self.page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => {
                let before = self.filter.text().to_owned();
                if !self.filter.handle_key(key) {
                    return ListOutcome::Nothing;
                }
                return self.apply_filter_change(&before);
            }
        };
        self.at = at.min(last);
        ListOutcome::Moved
    }

    /// Pasted text goes into the filter.
    pub(crate) fn handle_paste(&mut self, text: &str) -> ListOutcome {
        let before = self.filter.text().to_owned();
        self.filter.handle_paste(text);
        self.apply_filter_change(&before)
    }

    fn apply_filter_change(&mut self, before: &str) -> ListOutcome {
        if before == self.filter.text() {
            return ListOutcome::Moved;
        }
        self.at = 0;
        self.filter_now();
        ListOutcome::Filtered
    }

    /// The whole screen.
    pub(crate) fn render_view(
        &mut self,
        size: FrameSize,
        theme: &Theme,
        around: &ListFrame<'_>,
    ) -> ScreenView {
        let body = size.body_size().rows;
        self.page = (body.saturating_sub(1) / ITEM_ROWS).max(1);
        self.top = self.top.clamp((self.at + 1).saturating_sub(self.page), self.at);
        let count = format!("{}/{}", self.shown.len(), self.items.len());
        let (filter, cell) = self.filter.render_line("> ", size.columns, theme);
        let mut lines = vec![filter];
        if self.shown.is_empty() {
            lines.push(Line::styled(around.empty.to_owned(), theme.quiet));
        }
        for (n, at) in self.shown.iter().enumerate().skip(self.top).take(self.page) {
            if let Some(item) = self.items.get(*at) {
                lines.extend(item_rows(item, n == self.at, size.columns, theme));
            }
        }
        let head = title_line(around.title, &count, size.columns, theme);
        let view = frame_view(size, head, lines, key_line(around.keys, size.columns, theme));
        view.with_cursor((body > 0).then_some((1, cell)), size)
    }
}

/// An entry as the fuzzy search reads it.
struct SearchableItem<'a, T> {
    at: usize,
    item: &'a ListItem<T>,
}

impl<T> AsRef<str> for SearchableItem<'_, T> {
    fn as_ref(&self) -> &str {
        &self.item.text
    }
}

fn item_rows<T>(
    item: &ListItem<T>,
    marked: bool,
    columns: usize,
    theme: &Theme,
) -> [Line<'static>; 2] {
    let one = |text: &str| clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let sign = if marked { "> " } else { "  " };
    let style = if marked { theme.chosen } else { theme.text };
    let mut spans = vec![Span::styled(sign, theme.accent), Span::styled(one(&item.text), style)];
    if item.current {
        spans.push(Span::styled(" (now)", Style::patch(theme.good, Style::new())));
    }
    let about = Line::from(Span::styled(format!("    {}", one(&item.about)), theme.quiet));
    [cut_line(Line::from(spans), columns), cut_line(about, columns)]
}
