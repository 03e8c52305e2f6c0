//! The whole conversation to look through: calls and thoughts unfold, words are found, whole
//! results are fetched. Only what is seen is made into lines. Pure. Not here: how an entry looks
//! ([`crate::app::lines`]).

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};
use weir_core::event::Event;
use weir_core::message::{Block, plain_text};

use super::frame::{Room, Search, framed, keys, marked, small, title};
use super::pager::Pager;
use super::scroll::{Items, Kept, Move, Place, Roll, closes, moved};
use super::typed::Typed;
use super::{Screen, Step, View, With};
use crate::app::entries::{Entry, Transcript, What};
use crate::app::lines::{self, Detail};
use crate::link::{News, Report};
use crate::terminal::Size;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_exact;

/// Cells before what is broken off a line of code.
const CODE_HANG: usize = 2;
/// Cells before every line, for the mark of the entry that one is at.
const GUTTER: usize = 2;

/// Which entries are unfolded.
#[derive(Debug, Default)]
struct Folds {
    /// These are as `all` is not.
    other: HashSet<usize>,
    all: bool,
}

impl Folds {
    fn detail(&self, item: usize) -> Detail {
        if self.all != self.other.contains(&item) { Detail::Full } else { Detail::Brief }
    }

    fn turn(&mut self, item: usize) {
        if !self.other.remove(&item) {
            self.other.insert(item);
        }
    }
}

/// The entries as they are folded now.
struct Shown<'a> {
    transcript: &'a Transcript,
    folds: &'a Folds,
    theme: &'a Theme,
}

impl Items for Shown<'_> {
    fn count(&self) -> usize {
        self.transcript.len()
    }

    fn rows(&self, item: usize, width: usize) -> Vec<Line<'static>> {
        let Some(entry) = self.transcript.get(item) else { return Vec::new() };
        let lines = lines::lines(entry, width, self.theme, self.folds.detail(item));
        // Here nothing breaks what is too long but this.
        lines.iter().flat_map(|line| wrap_exact(line, width, CODE_HANG)).collect()
    }
}

/// The screen.
pub(crate) struct Conversation {
    folds: Folds,
    kept: Kept,
    /// The row that one is at; its entry is the one that keys are about.
    at: Place,
    top: Place,
    /// The theme that lines were made with.
    theme: Theme,
    /// The state of the transcript that lines were made of.
    version: Option<u64>,
    page: usize,
    search: Search,
    told: &'static str,
}

impl Conversation {
    /// At its end.
    pub(crate) fn new() -> Conversation {
        Conversation {
            folds: Folds::default(),
            kept: Kept::default(),
            at: Place { item: usize::MAX, row: usize::MAX },
            top: Place::default(),
            theme: Theme::plain(),
            version: None,
            page: 1,
            search: Search::default(),
            told: "",
        }
    }

    /// Does something with the entries as rows.
    fn on<T>(&mut self, with: &With<'_>, f: impl FnOnce(&mut Roll<'_>) -> T) -> T {
        let (transcript, folds, theme) = (with.transcript, &self.folds, &self.theme);
        let items = Shown { transcript, folds, theme };
        f(&mut Roll { items: &items, kept: &mut self.kept })
    }

    fn go(&mut self, by: Move, with: &With<'_>) {
        let at = self.at;
        self.at = self.on(with, |roll| match by {
            Move::Up(rows) => roll.up(at, rows),
            Move::Down(rows) => roll.down(at, rows),
            Move::First => roll.down(Place::default(), 0),
            Move::Last => roll.last(),
        });
    }

    /// To the message of the person before or after.
    fn jump(&mut self, back: Back, with: &With<'_>) {
        let entries = with.transcript.entries();
        let said = |(n, entry): (usize, &Entry)| entry.said().map(|_| n);
        let here = self.at.item.min(entries.len());
        let found = match back {
            Back::Yes => entries.iter().enumerate().take(here).filter_map(said).next_back(),
            Back::No => entries.iter().enumerate().skip(here + 1).find_map(said),
        };
        match found {
            Some(item) => {
                self.at = Place { item, row: 0 };
                self.top = self.at;
            }
            None => self.told = "no more messages",
        }
    }

    fn turn(&mut self, with: &With<'_>) {
        let item = self.at.item;
        if with.transcript.get(item).is_some() {
            self.folds.turn(item);
            self.kept.forget_one(item);
            self.at.row = 0;
        }
    }

    /// The next entry with the words; it is unfolded when they stand in its fold.
    fn find(&mut self, back: Back, with: &With<'_>) {
        let entries = with.transcript.entries();
        let count = entries.len();
        if self.search.words.is_empty() || count == 0 {
            return;
        }
        let here = self.at.item.min(count - 1);
        let found = (1..=count)
            .map(|step| match back {
                Back::No => (here + step) % count,
                Back::Yes => (here + count - step) % count,
            })
            .find(|item| self.search.is_in(&words(&entries[*item])));
        let Some(item) = found else {
            self.told = "not found";
            return;
        };
        self.told = match back {
            Back::No if item <= here => "from the beginning",
            Back::Yes if item >= here => "from the end",
            Back::No | Back::Yes => "",
        };
        let mut row = self.row_with_words(item, with);
        if row.is_none() && self.folds.detail(item) == Detail::Brief {
            self.folds.turn(item);
            self.kept.forget_one(item);
            row = self.row_with_words(item, with);
        }
        self.at = Place { item, row: row.unwrap_or(0) };
    }

    fn row_with_words(&mut self, item: usize, with: &With<'_>) -> Option<usize> {
        let rows = self.on(with, |roll| roll.kept.rows(roll.items, item));
        rows.iter().position(|row| self.search.is_in(&row.to_string()))
    }

    /// Where one is and what is at the top, so that the first is to be seen.
    fn place(&mut self, rows: usize, with: &With<'_>) {
        let (at, top) = (self.at, self.top);
        (self.at, self.top) = self.on(with, |roll| {
            let at = if at.item >= roll.items.count() {
                roll.last()
            } else {
                let height = roll.kept.rows(roll.items, at.item).len();
                Place { row: at.row.min(height.saturating_sub(1)), ..at }
            };
            let lowest = roll.up(at, rows.saturating_sub(1));
            (at, roll.filled(top.clamp(lowest, at.max(lowest)), rows))
        });
    }

    /// The call that one is at, as a screen with everything that is kept of it.
    fn whole(&mut self, with: &With<'_>) -> Step {
        match with.transcript.get(self.at.item).map(|entry| &entry.what) {
            Some(What::Call(row)) => {
                let number = row.call.0.to_string();
                let title = format!("Call {number}");
                Step::Over(Box::new(Pager::report(&title, Report::Call, &number)))
            }
            _ => {
                self.told = "this is no call";
                Step::Stay
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    No,
    Yes,
}

/// Everything in an entry that can be found.
fn words(entry: &Entry) -> String {
    match &entry.what {
        What::Said(_) => entry.words().unwrap_or_default(),
        What::Replied { event, .. } => match event.as_ref() {
            Event::ModelReplied(fact) => {
                let texts = fact.content.iter().filter_map(|block| match block {
                    Block::Text { text, .. } | Block::Thinking { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        },
        What::Call(row) => {
            let asked = row.proposal().map(|fact| format!("{} {}", fact.tool, fact.input));
            let done = row.result();
            let done = done.map(|fact| format!("{}\n{}", fact.summary, plain_text(&fact.result)));
            [asked, done]
                .into_iter()
                .flatten()
                .chain(row.notes.iter().map(|note| note.text().to_owned()))
                .collect::<Vec<_>>()
                .join("\n")
        }
        What::Note(_, text) => text.clone(),
        What::Shell(ran) => format!("{}\n{}", ran.command, ran.output),
        What::Image(_) | What::Ended(_) => String::new(),
    }
}

impl Screen for Conversation {
    fn key(&mut self, key: KeyEvent, with: &With<'_>) -> Step {
        self.told = "";
        if let Some(typed) = &mut self.search.typing {
            match key.code {
                KeyCode::Esc => self.search.typing = None,
                KeyCode::Enter => {
                    self.search.words = small(typed.text());
                    self.search.typing = None;
                    // One looks back from the end.
                    self.find(Back::Yes, with);
                }
                _ if typed.key(key) => (),
                _ => return Step::Idle,
            }
            return Step::Stay;
        }
        match key.code {
            KeyCode::Esc if !self.search.words.is_empty() => self.search.words.clear(),
            KeyCode::Char('o') if !key.modifiers.is_empty() => return Step::Close,
            _ if closes(key) => return Step::Close,
            KeyCode::Enter | KeyCode::Char(' ') => self.turn(with),
            KeyCode::Char('e') => {
                self.folds = Folds { all: !self.folds.all, ..Folds::default() };
                self.kept.forget();
            }
            KeyCode::Char('[') => self.jump(Back::Yes, with),
            KeyCode::Char(']') => self.jump(Back::No, with),
            KeyCode::Char('w') => return self.whole(with),
            KeyCode::Char('/') => self.search.typing = Some(Typed::default()),
            KeyCode::Char('n') if key.modifiers.is_empty() => self.find(Back::No, with),
            KeyCode::Char('N') => self.find(Back::Yes, with),
            _ => match moved(key, self.page) {
                Some(by) => self.go(by, with),
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

    fn news(&mut self, news: &News, with: &With<'_>) -> Step {
        if matches!(news, News::Opened { .. }) {
            // It belongs to another session.
            *self = Conversation::new();
            return Step::Stay;
        }
        // What is written to the end shifts nothing that is looked at.
        if self.version == Some(with.transcript.version()) { Step::Idle } else { Step::Stay }
    }

    fn view(&mut self, size: Size, theme: &Theme, with: &With<'_>) -> View {
        let size = Room::of(size);
        let room = size.body();
        self.page = room.rows;
        let version = Some(with.transcript.version());
        if self.version != version || self.theme != *theme {
            self.kept.forget();
            (self.version, self.theme) = (version, theme.clone());
        }
        self.kept.set_width(size.columns.saturating_sub(GUTTER));
        self.place(room.rows, with);
        let top = self.top;
        let seen = self.on(with, |roll| roll.seen(top, room.rows));
        let body = seen.into_iter().map(|(place, line)| {
            let mark = if place == self.at { "> " } else { "  " };
            let mut line = marked(line, &self.search.words, theme.chosen);
            line.spans.insert(0, Span::styled(mark, theme.accent));
            line
        });
        let mut body: Vec<Line<'static>> = body.collect();
        if with.transcript.len() == 0 {
            body.push(Line::styled("Nothing was said yet.", theme.quiet));
        }
        let count = with.transcript.len();
        let place = match self.told {
            "" if count == 0 => String::new(),
            "" => format!("{}/{count}", self.at.item + 1),
            told => told.to_owned(),
        };
        let head = title("Conversation", &place, size.columns, theme);
        let typed = self.search.view(size.columns, theme);
        let cursor = typed.as_ref().map(|(_, cell)| (size.rows.saturating_sub(1), *cell));
        let bottom = typed.map_or_else(|| self.keys(size.columns, theme), |(line, _)| line);
        let view = framed(size, head, body, bottom);
        view.with_cursor(cursor, size)
    }
}

impl Conversation {
    fn keys(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let found = [("q", "closes"), ("n", "next"), ("N", "before"), ("Esc", "ends search")];
        let plain = [
            ("q", "closes"),
            ("Enter", "unfolds"),
            ("[ ]", "messages"),
            ("/", "search"),
            ("e", "all"),
            ("w", "whole result"),
            ("↑↓", "moves"),
        ];
        let pairs: &[_] = if self.search.words.is_empty() { &plain } else { &found };
        keys(pairs, columns, theme)
    }
}
