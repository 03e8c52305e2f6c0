//! A long text to read: reports, differences, the whole of what an approval asks. It scrolls, is
//! searched, and keeps its place when the width changes. Pure. Not here: who made the text.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::frame::{FrameSize, WordSearch, frame_view, key_line, mark_words, title_line};
use super::scroll::{
    RowCache, RowScroller, ScrollItems, ScrollMove, ScrollPosition, is_close_key,
    scroll_move_for_key,
};
use super::typed::DialogLineInput;
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::link::{CommandTicket, ReportKind, TextKind, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::{diff, markdown, wrap};

/// Lines of a difference that are shown; the last says how many more there are.
const DIFF_LINES_MAX: usize = 200_000;
/// Longest text that is shown, in bytes; the rest is named.
const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The text, in the form in which it is shown.
enum PagerBody {
    /// It was asked for.
    Awaited,
    /// Lines as they are, wrapped when they are looked at.
    Plain { text: String, starts: Vec<usize> },
    /// Lines that somebody styled; wrapped with so many blanks before what follows.
    Styled { lines: Vec<Line<'static>>, hang: usize },
    /// Made whole for a width.
    Made { text: String, kind: TextKind, lines: Vec<Line<'static>>, width: Option<usize> },
}

impl ScrollItems for PagerBody {
    fn item_count(&self) -> usize {
        match self {
            PagerBody::Awaited => 0,
            PagerBody::Plain { starts, .. } => starts.len(),
            PagerBody::Styled { lines, .. } | PagerBody::Made { lines, .. } => lines.len(),
        }
    }

    fn item_rows(&self, item: usize, width: usize) -> Vec<Line<'static>> {
        match self {
            PagerBody::Awaited => Vec::new(),
            PagerBody::Plain { .. } => {
                let line = clean_text(self.raw_text(item)).into_owned();
                wrap::wrap_line(&Line::from(line), width, 0)
            }
            PagerBody::Styled { lines, hang } => {
                let hang = (*hang).min(width / 2);
                lines.get(item).map(|line| wrap::wrap_line(line, width, hang)).unwrap_or_default()
            }
            PagerBody::Made { lines, .. } => lines.get(item).cloned().into_iter().collect(),
        }
    }
}

impl PagerBody {
    fn new(mut text: String, kind: TextKind) -> PagerBody {
        if text.len() > TEXT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
            text.push_str("\n(The rest is left out: the text is too long to be shown.)");
        }
        match kind {
            TextKind::Plain => {
                let text = text.trim_end_matches('\n').to_owned();
                let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
                let starts = std::iter::once(0).chain(breaks).collect();
                PagerBody::Plain { text, starts }
            }
            TextKind::Markdown | TextKind::Diff => {
                PagerBody::Made { text, kind, lines: Vec::new(), width: None }
            }
        }
    }

    /// The text of an item as it came.
    fn raw_text(&self, item: usize) -> &str {
        let PagerBody::Plain { text, starts } = self else { return "" };
        let from = starts.get(item).copied().unwrap_or(text.len());
        let to = starts.get(item + 1).map_or(text.len(), |next| next - 1);
        text.get(from..to).unwrap_or_default()
    }

    /// What is searched.
    fn has_match(&self, item: usize, search: &WordSearch) -> bool {
        match self {
            PagerBody::Awaited => false,
            PagerBody::Plain { .. } => search.is_in(&clean_text(self.raw_text(item))),
            PagerBody::Styled { lines, .. } | PagerBody::Made { lines, .. } => {
                lines.get(item).is_some_and(|line| search.is_in(&line.to_string()))
            }
        }
    }
}

/// The screen.
pub(crate) struct TextPager {
    title: String,
    body: PagerBody,
    ask: Option<(ReportKind, String)>,
    ticket: Option<CommandTicket>,
    top: ScrollPosition,
    kept: RowCache,
    /// Rows of the last picture.
    page: usize,
    search: WordSearch,
    /// What came of the search, until the next key.
    told: &'static str,
    /// The last row of all stood in the last picture.
    at_end: bool,
}

impl TextPager {
    /// A text.
    pub(crate) fn new(title: &str, text: String, kind: TextKind) -> TextPager {
        TextPager::with_body(title, PagerBody::new(text, kind))
    }

    /// A text that the other end makes; `title` until it has come.
    pub(crate) fn for_report(title: &str, report: ReportKind, arguments: &str) -> TextPager {
        let mut pager = TextPager::with_body(title, PagerBody::Awaited);
        pager.ask = Some((report, arguments.to_owned()));
        pager
    }

    /// Lines that are styled already; what is wrapped begins with `hang` blanks.
    pub(crate) fn with_styled_lines(
        title: &str,
        lines: Vec<Line<'static>>,
        hang: usize,
    ) -> TextPager {
        TextPager::with_body(title, PagerBody::Styled { lines, hang })
    }

    fn with_body(title: &str, body: PagerBody) -> TextPager {
        TextPager {
            title: title.to_owned(),
            body,
            ask: None,
            ticket: None,
            top: ScrollPosition::default(),
            kept: RowCache::default(),
            page: 1,
            search: WordSearch::default(),
            told: "",
            at_end: false,
        }
    }

    /// Another text, from its beginning.
    pub(super) fn set_text(&mut self, text: String, kind: TextKind) {
        self.body = PagerBody::new(text, kind);
        (self.top, self.at_end) = (ScrollPosition::default(), false);
        self.kept.forget_all();
    }

    /// Whether the last row of all stood in the last picture.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Rows of the last picture.
    pub(super) fn page_rows(&self) -> usize {
        self.page
    }

    /// Other lines in place of the styled ones; the place stays.
    pub(super) fn set_styled(&mut self, new: Vec<Line<'static>>) {
        if let PagerBody::Styled { lines, .. } = &mut self.body {
            *lines = new;
            self.kept.forget_all();
        }
    }

    fn row_scroller(&mut self) -> RowScroller<'_> {
        RowScroller { items: &self.body, kept: &mut self.kept }
    }

    /// Scrolls.
    pub(super) fn scroll_by(&mut self, by: ScrollMove) {
        let (top, page) = (self.top, self.page);
        let mut roll = self.row_scroller();
        let top = match by {
            ScrollMove::Up(rows) => roll.move_up(top, rows),
            ScrollMove::Down(rows) => roll.move_down(top, rows),
            ScrollMove::First => ScrollPosition::default(),
            ScrollMove::Last => roll.last_position(),
        };
        self.top = roll.fill_screen(top, page);
    }

    /// The next place with the words, counted from the item at the top; round the end.
    fn find_words(&mut self, back: SearchBackward, stay: SearchStart) {
        let count = self.body.item_count();
        if self.search.words.is_empty() || count == 0 {
            return;
        }
        let first = usize::from(stay == SearchStart::Next);
        let found = (first..count + first)
            .map(|step| match back {
                SearchBackward::No => (self.top.item + step) % count,
                SearchBackward::Yes => (self.top.item + count * 2 - step) % count,
            })
            .find(|item| self.body.has_match(*item, &self.search));
        let Some(item) = found else {
            self.told = "not found";
            return;
        };
        let rows = self.kept.rows_of(&self.body, item);
        let row = rows.iter().position(|row| self.search.is_in(&row.to_string())).unwrap_or(0);
        self.told = match back {
            SearchBackward::No if item < self.top.item => "from the beginning",
            SearchBackward::Yes if item > self.top.item => "from the end",
            SearchBackward::No | SearchBackward::Yes => "",
        };
        self.top = ScrollPosition { item, row };
    }

    /// Makes what is made whole for a width, and finds the place again.
    fn lay_out(&mut self, width: usize, theme: &Theme) {
        let PagerBody::Made { text, kind, lines, width: made } = &mut self.body else {
            if let Some(before) = self.kept.set_width(width) {
                // The same words stand further down when the width is smaller.
                self.top.row = self.top.row * before / width.max(1);
            }
            return;
        };
        self.kept.set_width(width);
        if *made == Some(width) {
            return;
        }
        let before: usize = lines.iter().take(self.top.item).map(count_letters).sum();
        *lines = match kind {
            TextKind::Diff => diff::render_diff(text, width, DIFF_LINES_MAX, theme),
            TextKind::Plain | TextKind::Markdown => markdown::render_markdown(text, width, theme),
        };
        *made = Some(width);
        self.kept.forget_all();
        let mut passed = 0;
        let item = lines.iter().position(|line| {
            passed += count_letters(line);
            passed > before
        });
        self.top = ScrollPosition { item: item.unwrap_or(0), row: 0 };
    }

    /// The rows to be seen, and where one is in words.
    pub(super) fn visible_rows(
        &mut self,
        size: FrameSize,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, String) {
        self.lay_out(size.columns, theme);
        self.page = size.rows;
        let (top, words) = (self.top, self.search.words.clone());
        let mut roll = self.row_scroller();
        let top = roll.fill_screen(top, size.rows);
        let seen = roll.visible_rows(top, size.rows);
        let end = roll.last_position();
        self.top = top;
        self.at_end = seen.last().is_some_and(|(place, _)| *place == end);
        let last = seen.last().map_or(0, |(place, _)| place.item + 1);
        let count = self.body.item_count();
        let part = last * 100 / count.max(1);
        let lines = seen.into_iter().map(|(_, line)| mark_words(line, &words, theme.chosen));
        let lines = lines.collect();
        (lines, if count == 0 { String::new() } else { format!("{last}/{count} {part}%") })
    }
}

/// Letters of a line that no width changes.
fn count_letters(line: &Line<'_>) -> usize {
    let spans = line.spans.iter();
    spans.map(|span| span.content.chars().filter(|c| c.is_alphanumeric()).count()).sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchBackward {
    No,
    Yes,
}

/// Whether the item at the top counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchStart {
    Here,
    Next,
}

impl Screen for TextPager {
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        let Some((report, arguments)) = self.ask.clone() else { return ScreenStep::Stay };
        let ticket = with.next_ticket();
        self.ticket = Some(ticket);
        ScreenStep::Do(vec![UiCommand::Report { report, arguments, ticket }])
    }

    fn handle_key(&mut self, key: KeyEvent, _: &ScreenContext<'_>) -> ScreenStep {
        self.told = "";
        if let Some(typed) = &mut self.search.typing {
            match key.code {
                KeyCode::Esc => self.search.typing = None,
                KeyCode::Enter => {
                    self.search.words = super::frame::to_lowercase_chars(typed.text());
                    self.search.typing = None;
                    self.find_words(SearchBackward::No, SearchStart::Here);
                }
                _ if typed.handle_key(key) => (),
                _ => return ScreenStep::Idle,
            }
            return ScreenStep::Stay;
        }
        match key.code {
            KeyCode::Esc if !self.search.words.is_empty() => self.search.words.clear(),
            _ if is_close_key(key) => return ScreenStep::Close,
            KeyCode::Char('/') => self.search.typing = Some(DialogLineInput::default()),
            KeyCode::Char('n') if key.modifiers.is_empty() => {
                self.find_words(SearchBackward::No, SearchStart::Next)
            }
            KeyCode::Char('N') => self.find_words(SearchBackward::Yes, SearchStart::Next),
            _ => match scroll_move_for_key(key, self.page) {
                Some(by) => self.scroll_by(by),
                None => return ScreenStep::Idle,
            },
        }
        ScreenStep::Stay
    }

    fn handle_paste(&mut self, text: &str, _: &ScreenContext<'_>) -> ScreenStep {
        let Some(typed) = &mut self.search.typing else { return ScreenStep::Idle };
        typed.handle_paste(text);
        ScreenStep::Stay
    }

    fn handle_update(&mut self, news: &UiUpdate, _: &ScreenContext<'_>) -> ScreenStep {
        match news {
            UiUpdate::Text { ticket, title, text, kind } if self.ticket == Some(*ticket) => {
                self.title.clone_from(title);
                self.body = PagerBody::new(text.clone(), *kind);
            }
            UiUpdate::Failed { ticket, why } if self.ticket == Some(*ticket) => {
                self.body = PagerBody::new(why.clone(), TextKind::Plain);
            }
            _ => return ScreenStep::Idle,
        }
        self.ticket = None;
        self.top = ScrollPosition::default();
        self.kept.forget_all();
        ScreenStep::Stay
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        _: &ScreenContext<'_>,
    ) -> ScreenView {
        let size = FrameSize::from_size(size);
        let (mut lines, mut place) = self.visible_rows(size.body_size(), theme);
        if matches!(self.body, PagerBody::Awaited) {
            lines.push(Line::from(Span::styled("It is being put together.", theme.quiet)));
        }
        if !self.told.is_empty() {
            place = self.told.to_owned();
        }
        let head = title_line(&self.title, &place, size.columns, theme);
        let typed = self.search.search_line(size.columns, theme);
        let cursor = typed.as_ref().map(|(_, cell)| (size.rows.saturating_sub(1), *cell));
        let bottom = typed.map_or_else(|| self.key_hints(size.columns, theme), |(line, _)| line);
        let view = frame_view(size, head, lines, bottom);
        view.with_cursor(cursor, size)
    }
}

impl TextPager {
    fn key_hints(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let found = [("q", "closes"), ("n", "next"), ("N", "before"), ("Esc", "ends search")];
        let plain =
            [("q", "closes"), ("/", "search"), ("Space", "page"), ("↑↓", "line"), ("g G", "ends")];
        let pairs: &[_] = if self.search.words.is_empty() { &plain } else { &found };
        key_line(pairs, columns, theme)
    }
}
