//! The whole conversation to look through: calls and thoughts unfold, words are found, whole
//! results are fetched. Only what is seen is made into lines. Pure. Not here: how an entry looks
//! ([`crate::app::lines`]).

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};
use weir_core::message::{MessageBlock, plain_text};

use super::frame::{
    FrameSize, WordSearch, frame_view, key_line, mark_words, title_line, to_lowercase_chars,
};
use super::pager::TextPager;
use super::scroll::{
    RowCache, RowScroller, ScrollItems, ScrollMove, ScrollPosition, is_close_key,
    scroll_move_for_key,
};
use super::typed::DialogLineInput;
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::app::entries::{EntryContent, EntryTranscript, InsertedEntries, TranscriptEntry};
use crate::app::lines::{self, DetailLevel};
use crate::link::{ReportKind, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_exact;

/// Cells before what is broken off a line of code.
const CODE_HANG: usize = 2;
/// Cells before every line, for the mark of the entry that one is at.
const GUTTER: usize = 2;

/// Which entries are unfolded.
#[derive(Debug, Default)]
struct FoldState {
    /// These are as `all` is not.
    other: HashSet<usize>,
    all: bool,
}

impl FoldState {
    fn detail_of(&self, item: usize) -> DetailLevel {
        if self.all != self.other.contains(&item) { DetailLevel::Full } else { DetailLevel::Brief }
    }

    fn toggle_fold(&mut self, item: usize) {
        if !self.other.remove(&item) {
            self.other.insert(item);
        }
    }
}

/// The entries as they are folded now.
struct FoldedEntries<'a> {
    transcript: &'a EntryTranscript,
    folds: &'a FoldState,
    theme: &'a Theme,
}

impl ScrollItems for FoldedEntries<'_> {
    fn item_count(&self) -> usize {
        self.transcript.len()
    }

    fn item_rows(&self, item: usize, width: usize) -> Vec<Line<'static>> {
        let Some(entry) = self.transcript.get(item) else { return Vec::new() };
        let lines =
            lines::transcript_entry_lines(entry, width, self.theme, self.folds.detail_of(item));
        // Here nothing breaks what is too long but this.
        lines.iter().flat_map(|line| wrap_exact(line, width, CODE_HANG)).collect()
    }
}

/// The screen.
pub(crate) struct ConversationScreen {
    folds: FoldState,
    kept: RowCache,
    /// The row that one is at; its entry is the one that keys are about.
    at: ScrollPosition,
    top: ScrollPosition,
    /// The theme that lines were made with.
    theme: Theme,
    /// The state of the transcript that lines were made of.
    version: Option<u64>,
    page: usize,
    search: WordSearch,
    told: &'static str,
    /// Entries that were put above others and that places here know of.
    inserted: usize,
}

impl ConversationScreen {
    /// At its end.
    pub(crate) fn new() -> ConversationScreen {
        ConversationScreen {
            folds: FoldState::default(),
            kept: RowCache::default(),
            at: ScrollPosition { item: usize::MAX, row: usize::MAX },
            top: ScrollPosition::default(),
            theme: Theme::plain_theme(),
            version: None,
            page: 1,
            search: WordSearch::default(),
            told: "",
            inserted: 0,
        }
    }

    /// What one looks at stays, also where earlier entries came in above it.
    fn follow_insertion(&mut self, with: &ScreenContext<'_>) {
        let InsertedEntries { place, count } = with.transcript.inserted_entries();
        let Some(by) = count.checked_sub(self.inserted).filter(|by| *by > 0) else { return };
        self.inserted = count;
        let moved = |item: usize| if item < place { item } else { item.saturating_add(by) };
        (self.at.item, self.top.item) = (moved(self.at.item), moved(self.top.item));
        self.folds.other = self.folds.other.iter().map(|item| moved(*item)).collect();
        self.kept.forget_all();
        // It may have said that something is missing.
        self.told = "";
    }

    /// Does something with the entries as rows.
    fn with_scroller<T>(
        &mut self,
        with: &ScreenContext<'_>,
        f: impl FnOnce(&mut RowScroller<'_>) -> T,
    ) -> T {
        let (transcript, folds, theme) = (with.transcript, &self.folds, &self.theme);
        let items = FoldedEntries { transcript, folds, theme };
        f(&mut RowScroller { items: &items, kept: &mut self.kept })
    }

    fn scroll_by(&mut self, by: ScrollMove, with: &ScreenContext<'_>) {
        let at = self.at;
        if matches!(by, ScrollMove::First) && with.transcript.awaits_earlier() {
            self.told = "earlier entries are not here yet";
        }
        self.at = self.with_scroller(with, |roll| match by {
            ScrollMove::Up(rows) => roll.move_up(at, rows),
            ScrollMove::Down(rows) => roll.move_down(at, rows),
            ScrollMove::First => roll.move_down(ScrollPosition::default(), 0),
            ScrollMove::Last => roll.last_position(),
        });
    }

    /// To the message of the person before or after.
    fn jump_to_message(&mut self, back: JumpBackward, with: &ScreenContext<'_>) {
        let entries = with.transcript.entries();
        let said = |(n, entry): (usize, &TranscriptEntry)| entry.accepted_input().map(|_| n);
        let here = self.at.item.min(entries.len());
        let found = match back {
            JumpBackward::Yes => entries.iter().enumerate().take(here).filter_map(said).next_back(),
            JumpBackward::No => entries.iter().enumerate().skip(here + 1).find_map(said),
        };
        match found {
            Some(item) => {
                self.at = ScrollPosition { item, row: 0 };
                self.top = self.at;
            }
            None if back == JumpBackward::Yes && with.transcript.awaits_earlier() => {
                self.told = "earlier messages are not here yet";
            }
            None => self.told = "no more messages",
        }
    }

    fn toggle_current(&mut self, with: &ScreenContext<'_>) {
        let item = self.at.item;
        if with.transcript.get(item).is_some() {
            self.folds.toggle_fold(item);
            self.kept.forget_one(item);
            self.at.row = 0;
        }
    }

    /// The next entry with the words; it is unfolded when they stand in its fold.
    fn find_words(&mut self, back: JumpBackward, with: &ScreenContext<'_>) {
        let entries = with.transcript.entries();
        let count = entries.len();
        if self.search.words.is_empty() || count == 0 {
            return;
        }
        let here = self.at.item.min(count - 1);
        let found = (1..=count)
            .map(|step| match back {
                JumpBackward::No => (here + step) % count,
                JumpBackward::Yes => (here + count - step) % count,
            })
            .find(|item| self.search.is_in(&searchable_text(&entries[*item])));
        let Some(item) = found else {
            self.told = match with.transcript.awaits_earlier() {
                true => "not found; earlier entries are not here yet",
                false => "not found",
            };
            return;
        };
        self.told = match back {
            JumpBackward::No if item <= here => "from the beginning",
            JumpBackward::Yes if item >= here => "from the end",
            JumpBackward::No | JumpBackward::Yes => "",
        };
        let mut row = self.row_with_words(item, with);
        if row.is_none() && self.folds.detail_of(item) == DetailLevel::Brief {
            self.folds.toggle_fold(item);
            self.kept.forget_one(item);
            row = self.row_with_words(item, with);
        }
        self.at = ScrollPosition { item, row: row.unwrap_or(0) };
    }

    fn row_with_words(&mut self, item: usize, with: &ScreenContext<'_>) -> Option<usize> {
        let rows = self.with_scroller(with, |roll| roll.kept.rows_of(roll.items, item));
        rows.iter().position(|row| self.search.is_in(&row.to_string()))
    }

    /// Where one is and what is at the top, so that the first is to be seen.
    fn settle_position(&mut self, rows: usize, with: &ScreenContext<'_>) {
        let (at, top) = (self.at, self.top);
        (self.at, self.top) = self.with_scroller(with, |roll| {
            let at = if at.item >= roll.items.item_count() {
                roll.last_position()
            } else {
                let height = roll.kept.rows_of(roll.items, at.item).len();
                ScrollPosition { row: at.row.min(height.saturating_sub(1)), ..at }
            };
            let lowest = roll.move_up(at, rows.saturating_sub(1));
            (at, roll.fill_screen(top.clamp(lowest, at.max(lowest)), rows))
        });
    }

    /// The call that one is at, as a screen with everything that is kept of it.
    fn open_whole_call(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        match with.transcript.get(self.at.item).map(|entry| &entry.what) {
            Some(EntryContent::Call(row)) => {
                let number = row.call.0.to_string();
                let title = format!("Call {number}");
                ScreenStep::Over(Box::new(TextPager::for_report(&title, ReportKind::Call, &number)))
            }
            _ => {
                self.told = "this is no call";
                ScreenStep::Stay
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JumpBackward {
    No,
    Yes,
}

/// Everything in an entry that can be found.
fn searchable_text(entry: &TranscriptEntry) -> String {
    match &entry.what {
        EntryContent::Said(_) => entry.input_text().unwrap_or_default(),
        EntryContent::Replied { fact, .. } => {
            let texts = fact.content.iter().filter_map(|block| match block {
                MessageBlock::Text { text, .. } | MessageBlock::Thinking { text, .. } => {
                    Some(text.as_str())
                }
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        EntryContent::Call(row) => {
            let asked = &row.proposed.fact;
            let asked = format!("{} {}", asked.tool, asked.input);
            let done = row.finished.as_ref();
            let done = done
                .map(|fact| format!("{}\n{}", fact.summary, plain_text(&fact.blocks_for_person())));
            [asked]
                .into_iter()
                .chain(done)
                .chain(row.notes.iter().map(|note| note.text().to_owned()))
                .collect::<Vec<_>>()
                .join("\n")
        }
        EntryContent::Note(_, text) => text.clone(),
        EntryContent::Shell(ran) => format!("{}\n{}", ran.command, ran.output),
        EntryContent::Image(_) | EntryContent::Ended(_) => String::new(),
    }
}

impl Screen for ConversationScreen {
    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        self.follow_insertion(with);
        self.told = "";
        if let Some(typed) = &mut self.search.typing {
            match key.code {
                KeyCode::Esc => self.search.typing = None,
                KeyCode::Enter => {
                    self.search.words = to_lowercase_chars(typed.text());
                    self.search.typing = None;
                    // One looks back from the end.
                    self.find_words(JumpBackward::Yes, with);
                }
                _ if typed.handle_key(key) => (),
                _ => return ScreenStep::Idle,
            }
            return ScreenStep::Stay;
        }
        match key.code {
            KeyCode::Esc if !self.search.words.is_empty() => self.search.words.clear(),
            KeyCode::Char('o') if !key.modifiers.is_empty() => return ScreenStep::Close,
            _ if is_close_key(key) => return ScreenStep::Close,
            KeyCode::Enter | KeyCode::Char(' ') => self.toggle_current(with),
            KeyCode::Char('e') => {
                self.folds = FoldState { all: !self.folds.all, ..FoldState::default() };
                self.kept.forget_all();
            }
            KeyCode::Char('[') => self.jump_to_message(JumpBackward::Yes, with),
            KeyCode::Char(']') => self.jump_to_message(JumpBackward::No, with),
            KeyCode::Char('w') => return self.open_whole_call(with),
            KeyCode::Char('/') => self.search.typing = Some(DialogLineInput::default()),
            KeyCode::Char('n') if key.modifiers.is_empty() => {
                self.find_words(JumpBackward::No, with)
            }
            KeyCode::Char('N') => self.find_words(JumpBackward::Yes, with),
            _ => match scroll_move_for_key(key, self.page) {
                Some(by) => self.scroll_by(by, with),
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

    fn handle_update(&mut self, news: &UiUpdate, with: &ScreenContext<'_>) -> ScreenStep {
        if matches!(news, UiUpdate::Opened { .. }) {
            // It belongs to another session.
            *self = ConversationScreen::new();
            return ScreenStep::Stay;
        }
        self.follow_insertion(with);
        // What is written to the end shifts nothing that is looked at.
        if self.version == Some(with.transcript.version()) {
            ScreenStep::Idle
        } else {
            ScreenStep::Stay
        }
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView {
        self.follow_insertion(with);
        let size = FrameSize::from_size(size);
        let room = size.body_size();
        self.page = room.rows;
        let version = Some(with.transcript.version());
        if self.version != version || self.theme != *theme {
            self.kept.forget_all();
            (self.version, self.theme) = (version, theme.clone());
        }
        self.kept.set_width(size.columns.saturating_sub(GUTTER));
        self.settle_position(room.rows, with);
        let top = self.top;
        let seen = self.with_scroller(with, |roll| roll.visible_rows(top, room.rows));
        let body = seen.into_iter().map(|(place, line)| {
            let mark = if place == self.at { "> " } else { "  " };
            let mut line = mark_words(line, &self.search.words, theme.chosen);
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
        let head = title_line("Conversation", &place, size.columns, theme);
        let typed = self.search.search_line(size.columns, theme);
        let cursor = typed.as_ref().map(|(_, cell)| (size.rows.saturating_sub(1), *cell));
        let bottom = typed.map_or_else(|| self.key_hints(size.columns, theme), |(line, _)| line);
        let view = frame_view(size, head, body, bottom);
        view.with_cursor(cursor, size)
    }
}

impl ConversationScreen {
    fn key_hints(&self, columns: usize, theme: &Theme) -> Line<'static> {
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
        key_line(pairs, columns, theme)
    }
}
