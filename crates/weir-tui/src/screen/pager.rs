//! A long text to read: reports, differences, the whole of what an approval asks. It scrolls, is
//! searched, and keeps its place when the width changes. Pure. Not here: who made the text.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::frame::{Room, Search, framed, keys, marked, title};
use super::scroll::{Items, Kept, Move, Place, Roll, closes, moved};
use super::typed::Typed;
use super::{Screen, Step, View, With};
use crate::link::{News, Report, TextKind, Ticket, Wish};
use crate::terminal::Size;
use crate::text::clean::clean;
use crate::text::theme::Theme;
use crate::text::{diff, markdown, wrap};

/// Lines of a difference that are shown; the last says how many more there are.
const DIFF_LINES_MAX: usize = 200_000;
/// Longest text that is shown, in bytes; the rest is named.
const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The text, in the form in which it is shown.
enum Body {
    /// It was asked for.
    Awaited,
    /// Lines as they are, wrapped when they are looked at.
    Plain { text: String, starts: Vec<usize> },
    /// Lines that somebody styled; wrapped with so many blanks before what follows.
    Styled { lines: Vec<Line<'static>>, hang: usize },
    /// Made whole for a width.
    Made { text: String, kind: TextKind, lines: Vec<Line<'static>>, width: Option<usize> },
}

impl Items for Body {
    fn count(&self) -> usize {
        match self {
            Body::Awaited => 0,
            Body::Plain { starts, .. } => starts.len(),
            Body::Styled { lines, .. } | Body::Made { lines, .. } => lines.len(),
        }
    }

    fn rows(&self, item: usize, width: usize) -> Vec<Line<'static>> {
        match self {
            Body::Awaited => Vec::new(),
            Body::Plain { .. } => {
                let line = clean(self.raw(item)).into_owned();
                wrap::wrap(&Line::from(line), width, 0)
            }
            Body::Styled { lines, hang } => {
                let hang = (*hang).min(width / 2);
                lines.get(item).map(|line| wrap::wrap(line, width, hang)).unwrap_or_default()
            }
            Body::Made { lines, .. } => lines.get(item).cloned().into_iter().collect(),
        }
    }
}

impl Body {
    fn new(mut text: String, kind: TextKind) -> Body {
        if text.len() > TEXT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
            text.push_str("\n(The rest is left out: the text is too long to be shown.)");
        }
        match kind {
            TextKind::Plain => {
                let text = text.trim_end_matches('\n').to_owned();
                let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
                let starts = std::iter::once(0).chain(breaks).collect();
                Body::Plain { text, starts }
            }
            TextKind::Markdown | TextKind::Diff => {
                Body::Made { text, kind, lines: Vec::new(), width: None }
            }
        }
    }

    /// The text of an item as it came.
    fn raw(&self, item: usize) -> &str {
        let Body::Plain { text, starts } = self else { return "" };
        let from = starts.get(item).copied().unwrap_or(text.len());
        let to = starts.get(item + 1).map_or(text.len(), |next| next - 1);
        text.get(from..to).unwrap_or_default()
    }

    /// What is searched.
    fn has(&self, item: usize, search: &Search) -> bool {
        match self {
            Body::Awaited => false,
            Body::Plain { .. } => search.is_in(&clean(self.raw(item))),
            Body::Styled { lines, .. } | Body::Made { lines, .. } => {
                lines.get(item).is_some_and(|line| search.is_in(&line.to_string()))
            }
        }
    }
}

/// The screen.
pub(crate) struct Pager {
    title: String,
    body: Body,
    ask: Option<(Report, String)>,
    ticket: Option<Ticket>,
    top: Place,
    kept: Kept,
    /// Rows of the last picture.
    page: usize,
    search: Search,
    /// What came of the search, until the next key.
    told: &'static str,
}

impl Pager {
    /// A text.
    pub(crate) fn new(title: &str, text: String, kind: TextKind) -> Pager {
        Pager::of(title, Body::new(text, kind))
    }

    /// A text that the other end makes; `title` until it has come.
    pub(crate) fn report(title: &str, report: Report, arguments: &str) -> Pager {
        let mut pager = Pager::of(title, Body::Awaited);
        pager.ask = Some((report, arguments.to_owned()));
        pager
    }

    /// Lines that are styled already; what is wrapped begins with `hang` blanks.
    pub(crate) fn styled(title: &str, lines: Vec<Line<'static>>, hang: usize) -> Pager {
        Pager::of(title, Body::Styled { lines, hang })
    }

    fn of(title: &str, body: Body) -> Pager {
        Pager {
            title: title.to_owned(),
            body,
            ask: None,
            ticket: None,
            top: Place::default(),
            kept: Kept::default(),
            page: 1,
            search: Search::default(),
            told: "",
        }
    }

    /// Other lines in place of the styled ones; the place stays.
    pub(super) fn set_styled(&mut self, new: Vec<Line<'static>>) {
        if let Body::Styled { lines, .. } = &mut self.body {
            *lines = new;
            self.kept.forget();
        }
    }

    fn roll(&mut self) -> Roll<'_> {
        Roll { items: &self.body, kept: &mut self.kept }
    }

    /// Scrolls.
    pub(super) fn go(&mut self, by: Move) {
        let (top, page) = (self.top, self.page);
        let mut roll = self.roll();
        let top = match by {
            Move::Up(rows) => roll.up(top, rows),
            Move::Down(rows) => roll.down(top, rows),
            Move::First => Place::default(),
            Move::Last => roll.last(),
        };
        self.top = roll.filled(top, page);
    }

    /// The next place with the words, counted from the item at the top; round the end.
    fn find(&mut self, back: Back, stay: Stay) {
        let count = self.body.count();
        if self.search.words.is_empty() || count == 0 {
            return;
        }
        let first = usize::from(stay == Stay::Next);
        let found = (first..count + first)
            .map(|step| match back {
                Back::No => (self.top.item + step) % count,
                Back::Yes => (self.top.item + count * 2 - step) % count,
            })
            .find(|item| self.body.has(*item, &self.search));
        let Some(item) = found else {
            self.told = "not found";
            return;
        };
        let rows = self.kept.rows(&self.body, item);
        let row = rows.iter().position(|row| self.search.is_in(&row.to_string())).unwrap_or(0);
        self.told = match back {
            Back::No if item < self.top.item => "from the beginning",
            Back::Yes if item > self.top.item => "from the end",
            Back::No | Back::Yes => "",
        };
        self.top = Place { item, row };
    }

    /// Makes what is made whole for a width, and finds the place again.
    fn make(&mut self, width: usize, theme: &Theme) {
        let Body::Made { text, kind, lines, width: made } = &mut self.body else {
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
        let before: usize = lines.iter().take(self.top.item).map(letters).sum();
        *lines = match kind {
            TextKind::Diff => diff::render(text, width, DIFF_LINES_MAX, theme),
            TextKind::Plain | TextKind::Markdown => markdown::render(text, width, theme),
        };
        *made = Some(width);
        self.kept.forget();
        let mut passed = 0;
        let item = lines.iter().position(|line| {
            passed += letters(line);
            passed > before
        });
        self.top = Place { item: item.unwrap_or(0), row: 0 };
    }

    /// The rows to be seen, and where one is in words.
    pub(super) fn seen(&mut self, size: Room, theme: &Theme) -> (Vec<Line<'static>>, String) {
        self.make(size.columns, theme);
        self.page = size.rows;
        let (top, words) = (self.top, self.search.words.clone());
        let mut roll = self.roll();
        let top = roll.filled(top, size.rows);
        let seen = roll.seen(top, size.rows);
        self.top = top;
        let last = seen.last().map_or(0, |(place, _)| place.item + 1);
        let count = self.body.count();
        let part = last * 100 / count.max(1);
        let lines = seen.into_iter().map(|(_, line)| marked(line, &words, theme.chosen));
        let lines = lines.collect();
        (lines, if count == 0 { String::new() } else { format!("{last}/{count} {part}%") })
    }
}

/// Letters of a line that no width changes.
fn letters(line: &Line<'_>) -> usize {
    let spans = line.spans.iter();
    spans.map(|span| span.content.chars().filter(|c| c.is_alphanumeric()).count()).sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    No,
    Yes,
}

/// Whether the item at the top counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    Here,
    Next,
}

impl Screen for Pager {
    fn begin(&mut self, with: &With<'_>) -> Step {
        let Some((report, arguments)) = self.ask.clone() else { return Step::Stay };
        let ticket = with.ticket();
        self.ticket = Some(ticket);
        Step::Do(vec![Wish::Report { report, arguments, ticket }])
    }

    fn key(&mut self, key: KeyEvent, _: &With<'_>) -> Step {
        self.told = "";
        if let Some(typed) = &mut self.search.typing {
            match key.code {
                KeyCode::Esc => self.search.typing = None,
                KeyCode::Enter => {
                    self.search.words = super::frame::small(typed.text());
                    self.search.typing = None;
                    self.find(Back::No, Stay::Here);
                }
                _ if typed.key(key) => (),
                _ => return Step::Idle,
            }
            return Step::Stay;
        }
        match key.code {
            KeyCode::Esc if !self.search.words.is_empty() => self.search.words.clear(),
            _ if closes(key) => return Step::Close,
            KeyCode::Char('/') => self.search.typing = Some(Typed::default()),
            KeyCode::Char('n') if key.modifiers.is_empty() => self.find(Back::No, Stay::Next),
            KeyCode::Char('N') => self.find(Back::Yes, Stay::Next),
            _ => match moved(key, self.page) {
                Some(by) => self.go(by),
                None => return Step::Idle,
            },
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &With<'_>) -> Step {
        let Some(typed) = &mut self.search.typing else { return Step::Idle };
        typed.paste(text);
        Step::Stay
    }

    fn news(&mut self, news: &News, _: &With<'_>) -> Step {
        match news {
            News::Text { ticket, title, text, kind } if self.ticket == Some(*ticket) => {
                self.title.clone_from(title);
                self.body = Body::new(text.clone(), *kind);
            }
            News::Failed { ticket, why } if self.ticket == Some(*ticket) => {
                self.body = Body::new(why.clone(), TextKind::Plain);
            }
            _ => return Step::Idle,
        }
        self.ticket = None;
        self.top = Place::default();
        self.kept.forget();
        Step::Stay
    }

    fn view(&mut self, size: Size, theme: &Theme, _: &With<'_>) -> View {
        let size = Room::of(size);
        let (mut lines, mut place) = self.seen(size.body(), theme);
        if matches!(self.body, Body::Awaited) {
            lines.push(Line::from(Span::styled("It is being put together.", theme.quiet)));
        }
        if !self.told.is_empty() {
            place = self.told.to_owned();
        }
        let head = title(&self.title, &place, size.columns, theme);
        let typed = self.search.view(size.columns, theme);
        let cursor = typed.as_ref().map(|(_, cell)| (size.rows.saturating_sub(1), *cell));
        let bottom = typed.map_or_else(|| self.keys(size.columns, theme), |(line, _)| line);
        let view = framed(size, head, lines, bottom);
        view.with_cursor(cursor, size)
    }
}

impl Pager {
    fn keys(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let found = [("q", "closes"), ("n", "next"), ("N", "before"), ("Esc", "ends search")];
        let plain =
            [("q", "closes"), ("/", "search"), ("Space", "page"), ("↑↓", "line"), ("g G", "ends")];
        let pairs: &[_] = if self.search.words.is_empty() { &plain } else { &found };
        keys(pairs, columns, theme)
    }
}
