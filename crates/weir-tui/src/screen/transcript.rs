//! The whole conversation to look through: calls and thoughts unfold, words are found, whole
//! results are fetched. Only what is seen is made into lines. Of a long session earlier entries are read when
//! one comes near them, or looks for something there (Q10). Pure. Not here: how an entry looks
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
use crate::app::entries::{
    EarlierEntries, EarlierReach, EntryContent, EntryTranscript, InsertedEntries, TranscriptEntry,
};
use crate::app::lines::{self, DetailLevel};
use crate::link::{ReportKind, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_exact;

/// Cells before what is broken off a line of code.
const CODE_HANG: usize = 2;
/// Cells before every line, for the mark of the entry that one is at.
const GUTTER: usize = 2;
/// Whoever has fewer pages than this above them is near the first entry that is there.
const PAGES_ABOVE: usize = 2;
/// What is said while that is read in which something is looked for.
const READING: &str = "reading earlier entries";

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
        // What stands above entries that were not read is seen when those are.
        if item < self.transcript.first_below_unread() {
            return Vec::new();
        }
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
    /// What is looked for in entries that are being read.
    sought: Option<SoughtEntry>,
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
            sought: None,
            inserted: 0,
        }
    }

    /// What one looks at stays, also where earlier entries came in above it.
    fn follow_insertion(&mut self, with: &ScreenContext<'_>) {
        let InsertedEntries { place, count } = with.transcript.inserted_entries();
        let Some(by) = count.checked_sub(self.inserted).filter(|by| *by > 0) else { return };
        self.inserted = count;
        let moved = |item: usize| if item < place { item } else { item.saturating_add(by) };
        // Nothing above them was seen.
        let seen = |item: usize| moved(item.max(place));
        (self.at.item, self.top.item) = (seen(self.at.item), seen(self.top.item));
        if let Some(SoughtEntry::Words { below, .. }) = &mut self.sought {
            *below = moved(*below);
        }
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

    fn scroll_by(&mut self, by: ScrollMove, with: &ScreenContext<'_>) -> ScreenStep {
        let at = self.at;
        self.at = self.with_scroller(with, |roll| match by {
            ScrollMove::Up(rows) => roll.move_up(at, rows),
            ScrollMove::Down(rows) => roll.move_down(at, rows),
            ScrollMove::First => roll.move_down(ScrollPosition::default(), 0),
            ScrollMove::Last => roll.last_position(),
        });
        match by {
            ScrollMove::First if with.transcript.earlier_entries().is_some() => {
                self.seek_entry(SoughtEntry::First, EarlierReach::Far)
            }
            ScrollMove::Up(_) => self.read_near_top(with),
            ScrollMove::First | ScrollMove::Down(_) | ScrollMove::Last => ScreenStep::Stay,
        }
    }

    /// Whoever is near the first entry that is there goes on to those before it.
    fn read_near_top(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        let is_unread = with.transcript.earlier_entries().is_some();
        let (at, rows) = (self.at, self.page.saturating_mul(PAGES_ABOVE));
        let above = self.with_scroller(with, |roll| roll.move_up(at, rows));
        match is_unread && above <= first_position(with) {
            true => ScreenStep::ReadEarlier(EarlierReach::Part),
            false => ScreenStep::Stay,
        }
    }

    /// Goes there as soon as it is read. Any key ends that.
    fn seek_entry(&mut self, sought: SoughtEntry, reach: EarlierReach) -> ScreenStep {
        (self.sought, self.told) = (Some(sought), READING);
        ScreenStep::ReadEarlier(reach)
    }

    /// Earlier entries came, or cannot be read.
    fn continue_seeking(&mut self, sought: SoughtEntry, with: &ScreenContext<'_>) -> ScreenStep {
        match with.transcript.earlier_entries() {
            Some(EarlierEntries::UnderWay) => {
                self.told = READING;
                return ScreenStep::Stay;
            }
            Some(EarlierEntries::Failed(_)) => {
                (self.sought, self.told) = (None, "earlier entries cannot be read");
                return ScreenStep::Stay;
            }
            Some(EarlierEntries::Left) | None => (),
        }
        (self.sought, self.told) = (None, "");
        match sought {
            SoughtEntry::First => self.scroll_by(ScrollMove::First, with),
            SoughtEntry::Message => self.jump_to_message(JumpBackward::Yes, with),
            SoughtEntry::Words { back, below } => self.find_words(back, Some(below), with),
        }
    }

    /// To the message of the person before or after.
    fn jump_to_message(&mut self, back: JumpBackward, with: &ScreenContext<'_>) -> ScreenStep {
        let first = with.transcript.first_below_unread();
        let entries = with.transcript.entries();
        let said = |(n, entry): (usize, &TranscriptEntry)| entry.accepted_input().map(|_| n);
        let here = self.at.item.min(entries.len());
        let found = match back {
            JumpBackward::Yes => {
                entries.iter().enumerate().take(here).skip(first).filter_map(said).next_back()
            }
            JumpBackward::No => entries.iter().enumerate().skip(here + 1).find_map(said),
        };
        match found {
            Some(item) => {
                self.at = ScrollPosition { item, row: 0 };
                self.top = self.at;
            }
            None if back == JumpBackward::Yes && with.transcript.earlier_entries().is_some() => {
                return self.seek_entry(SoughtEntry::Message, EarlierReach::Part);
            }
            None => self.told = "no more messages",
        }
        ScreenStep::Stay
    }

    fn toggle_current(&mut self, with: &ScreenContext<'_>) {
        let item = self.at.item;
        if with.transcript.get(item).is_some() {
            self.folds.toggle_fold(item);
            self.kept.forget_one(item);
            self.at.row = 0;
        }
    }

    /// The next entry with the words. `below`: from this entry on, all up to the end on this side were looked
    /// through before.
    fn find_words(
        &mut self,
        back: JumpBackward,
        below: Option<usize>,
        with: &ScreenContext<'_>,
    ) -> ScreenStep {
        let (entries, first) = (with.transcript.entries(), with.transcript.first_below_unread());
        if self.search.words.is_empty() || entries.is_empty() {
            return ScreenStep::Stay;
        }
        let here = self.at.item.min(entries.len() - 1);
        let search = &self.search;
        let has_words = |item: &usize| {
            entries.get(*item).is_some_and(|entry| search.is_in(&searchable_text(entry)))
        };
        let near = match (back, below) {
            (JumpBackward::Yes, below) => (first..below.unwrap_or(here)).rev().find(has_words),
            (JumpBackward::No, None) => (here + 1..entries.len()).find(has_words),
            (JumpBackward::No, Some(_)) => None,
        };
        let is_unread = with.transcript.earlier_entries().is_some();
        // Beyond the end one begins again at the other.
        let around = || match back {
            JumpBackward::Yes => (here..entries.len()).rev().find(has_words),
            JumpBackward::No => (0..=here).find(has_words),
        };
        let found = near.or_else(|| if is_unread { None } else { around() });
        match (found, back) {
            (Some(_), _) if near.is_some() => (),
            (Some(_), JumpBackward::Yes) => self.told = "from the end",
            (Some(_), JumpBackward::No) => self.told = "from the beginning",
            (None, _) if is_unread => {
                let sought = SoughtEntry::Words { back, below: first };
                return self.seek_entry(sought, EarlierReach::Far);
            }
            (None, _) => self.told = "not found",
        }
        if let Some(item) = found {
            self.show_words(item, with);
        }
        ScreenStep::Stay
    }

    /// Goes to the words in this entry; it is unfolded when they stand in its fold.
    fn show_words(&mut self, item: usize, with: &ScreenContext<'_>) {
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
        let (at, top, first) = (self.at, self.top, first_position(with));
        (self.at, self.top) = self.with_scroller(with, |roll| {
            let at = if at.item >= roll.items.item_count() {
                roll.last_position()
            } else if at < first {
                roll.move_down(first, 0)
            } else {
                let height = roll.kept.rows_of(roll.items, at.item).len();
                ScrollPosition { row: at.row.min(height.saturating_sub(1)), ..at }
            };
            let lowest = roll.move_up(at, rows.saturating_sub(1));
            (at, roll.fill_screen(top.clamp(lowest, at.max(lowest)), rows))
        });
    }

    /// The same for a screen of so many rows, with the line above the first entry where more stand before it.
    /// How many rows are left for entries.
    fn settle_below_note(&mut self, rows: usize, with: &ScreenContext<'_>) -> usize {
        self.settle_position(rows, with);
        let first = first_position(with);
        if with.transcript.earlier_entries().is_none() || rows < 2 || self.top > first {
            return rows;
        }
        self.settle_position(rows - 1, with);
        if self.top <= first {
            return rows - 1;
        }
        // One is at the last row, and the line would push it out.
        self.settle_position(rows, with);
        rows
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

/// What is looked for in entries that are being read.
#[derive(Debug, Clone, Copy)]
enum SoughtEntry {
    /// The first of all.
    First,
    /// The message of the person before.
    Message,
    /// The words of the search, as for [`ConversationScreen::find_words`].
    Words { back: JumpBackward, below: usize },
}

/// The first row that can be seen.
fn first_position(with: &ScreenContext<'_>) -> ScrollPosition {
    ScrollPosition { item: with.transcript.first_below_unread(), row: 0 }
}

/// The line above the first entry, where more stand before it.
fn earlier_line(earlier: &EarlierEntries, theme: &Theme) -> Line<'static> {
    let (text, style) = match earlier {
        EarlierEntries::Left => ("earlier entries: go up to read them".into(), theme.quiet),
        EarlierEntries::UnderWay => ("earlier entries are being read".into(), theme.quiet),
        EarlierEntries::Failed(why) => {
            (format!("earlier entries cannot be read (go up to try again): {why}"), theme.bad)
        }
    };
    Line::styled(format!("  … {text}"), style)
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
        (self.told, self.sought) = ("", None);
        if let Some(typed) = &mut self.search.typing {
            match key.code {
                KeyCode::Esc => self.search.typing = None,
                KeyCode::Enter => {
                    self.search.words = to_lowercase_chars(typed.text());
                    self.search.typing = None;
                    // One looks back from the end.
                    return self.find_words(JumpBackward::Yes, None, with);
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
            KeyCode::Char('[') => return self.jump_to_message(JumpBackward::Yes, with),
            KeyCode::Char(']') => return self.jump_to_message(JumpBackward::No, with),
            KeyCode::Char('w') => return self.open_whole_call(with),
            KeyCode::Char('/') => self.search.typing = Some(DialogLineInput::default()),
            KeyCode::Char('n') if key.modifiers.is_empty() => {
                return self.find_words(JumpBackward::No, None, with);
            }
            KeyCode::Char('N') => return self.find_words(JumpBackward::Yes, None, with),
            _ => {
                return match scroll_move_for_key(key, self.page) {
                    Some(by) => self.scroll_by(by, with),
                    None => ScreenStep::Idle,
                };
            }
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
        if matches!(news, UiUpdate::Earlier { .. } | UiUpdate::Failed { .. })
            && let Some(sought) = self.sought
        {
            return self.continue_seeking(sought, with);
        }
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
        let rows = self.settle_below_note(room.rows, with);
        let top = self.top;
        let seen = self.with_scroller(with, |roll| roll.visible_rows(top, rows));
        let body = seen.into_iter().map(|(place, line)| {
            let mark = if place == self.at { "> " } else { "  " };
            let mut line = mark_words(line, &self.search.words, theme.chosen);
            line.spans.insert(0, Span::styled(mark, theme.accent));
            line
        });
        let note = with.transcript.earlier_entries().filter(|_| rows < room.rows);
        let note = note.map(|earlier| earlier_line(earlier, theme));
        let mut body: Vec<Line<'static>> = note.into_iter().chain(body).collect();
        if with.transcript.len() == 0 {
            body.push(Line::styled("Nothing was said yet.", theme.quiet));
        }
        let above = with.transcript.first_below_unread();
        let count = with.transcript.len().saturating_sub(above);
        let more = if with.transcript.earlier_entries().is_some() { "+" } else { "" };
        let place = match self.told {
            "" if count == 0 => String::new(),
            "" => format!("{}/{count}{more}", (self.at.item + 1).saturating_sub(above)),
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
