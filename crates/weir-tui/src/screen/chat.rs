//! The chat: what is printed to the scrollback once, and the live region below it. Pure. The region
//! never has more rows than the terminal: the box, what asks and the footer stay, the rest gives
//! way. Not here: dialogs and footer themselves.

use std::mem;

use ratatui::text::{Line, Span};

use super::footer::{self, FooterData};
use crate::app::entries::{EntryContent, TranscriptEntry};
use crate::app::lines::{
    DetailLevel, all_thoughts, entry_body_lines, media_and_source_lines, run_end_lines,
    thought_line, tone_style,
};
use crate::app::notes::Loud;
use crate::app::writing::PrintItem;
use crate::app::{App, Dialog};
use crate::link::{NoticeTone, OpenSessionInfo};
use crate::options::ThoughtDisplay;
use crate::terminal::{TerminalFrame, TerminalSize};
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, wrap_line};
use crate::words::one_line;

mod live;

/// Rows that the box takes at most, of those that there are.
const BOX_SHARE: usize = 3;
/// Rows above a dialog for what must not be overlooked, where there are so many.
const PRESSING_ROWS: usize = 2;
/// Rows of the box at least, where there are so many.
const BOX_ROWS_MIN: usize = 3;
/// About so many lines go to the scrollback with one frame: those of a long session that is taken up again are
/// made once the ones before them are written, since as lines a text takes ten times its own memory (Q21).
const FINISHED_LINES_MAX: usize = 1_000;

/// What was printed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LastPrinted {
    /// Nothing.
    #[default]
    Nothing,
    /// A row of a call, or a note: such rows stand close together.
    Row,
    /// Anything else.
    Text,
}

/// The first line in a session.
pub(crate) fn greeting_line(about: &OpenSessionInfo) -> Vec<Line<'static>> {
    let server = about.server.as_ref().map(|at| format!(" at {}", one_line(at)));
    let folder = one_line(&about.folder);
    vec![Line::from(format!("Weir{} in {folder}", server.unwrap_or_default()))]
}

/// What the terminal is to show of the chat. What it prints is given once; what of it waits for the next frame
/// has one painted soon.
pub(crate) fn chat_frame(app: &mut App, size: TerminalSize) -> TerminalFrame {
    let (width, rows) = (usize::from(size.columns), usize::from(size.rows));
    if width == 0 || rows == 0 {
        // Nothing can be seen: what is to be printed waits.
        return TerminalFrame::default();
    }
    let theme = app.theme.clone();
    let finished = finished_lines(app, width, rows, &theme);
    app.dirty |= app.is_behind();
    let (live, cursor) = live_region(app, width, rows, &theme);
    app.painted_ask();
    TerminalFrame { finished, live, cursor }
}

/// Lines for the scrollback: what comes next, up to a bound. The last frame of all has everything.
fn finished_lines(app: &mut App, width: usize, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
    let lines_max = if app.leaving { usize::MAX } else { FINISHED_LINES_MAX };
    let mut lines = Vec::new();
    let mut last = app.last;
    while lines.len() < lines_max
        && let Some(print) = app.fold.prints.pop_front()
    {
        let (kind, new) = match print {
            PrintItem::Entry(n) => match app.fold.transcript.get(n) {
                Some(entry) => (printed_kind(entry), entry_lines(app, n, width, theme)),
                None => continue,
            },
            PrintItem::AsItWas(entry) => {
                (printed_kind(&entry), entry_body_lines(&entry, width, theme, DetailLevel::Brief))
            }
            PrintItem::Thought { ms, text } => match app.thoughts {
                ThoughtDisplay::Folded => (LastPrinted::Row, thought_line(ms, width, theme)),
                ThoughtDisplay::Shown => (LastPrinted::Text, all_thoughts(&text, width, theme)),
            },
            PrintItem::Text { mut growing, begun } => {
                let rest = trim_empty_lines(growing.finish(width, theme));
                if begun {
                    lines.extend(rest);
                    continue;
                }
                (LastPrinted::Text, rest)
            }
            PrintItem::Beside(fact) => {
                lines.extend(media_and_source_lines(&fact, width, theme));
                continue;
            }
            PrintItem::Screen => {
                lines.extend(vec![Line::default(); rows]);
                last = LastPrinted::Nothing;
                continue;
            }
            PrintItem::Lines(new) => {
                let quiet = new.into_iter().map(|line| line.patch_style(theme.quiet));
                (LastPrinted::Text, quiet.flat_map(|line| wrap_line(&line, width, 2)).collect())
            }
        };
        push(&mut lines, &mut last, kind, new);
    }
    // What is written now stands below all of that.
    let settled = match app.is_behind() {
        true => Vec::new(),
        false => app.fold.writing.growing.take_final_lines(width, theme),
    };
    if !settled.is_empty() {
        match mem::replace(&mut app.fold.writing.begun, true) {
            true => lines.extend(settled),
            false => push(&mut lines, &mut last, LastPrinted::Text, settled),
        }
    }
    app.last = last;
    lines
}

/// Without empty lines at the end.
fn trim_empty_lines(mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let empty = |line: &Line<'_>| line.spans.iter().all(|span| span.content.trim().is_empty());
    while lines.last().is_some_and(empty) {
        lines.pop();
    }
    lines
}

/// Puts lines at the end, after an empty one where one belongs.
fn push(
    lines: &mut Vec<Line<'static>>,
    last: &mut LastPrinted,
    kind: LastPrinted,
    new: Vec<Line<'static>>,
) {
    if new.is_empty() {
        return;
    }
    let close =
        *last == LastPrinted::Nothing || (*last == LastPrinted::Row && kind == LastPrinted::Row);
    if !close {
        lines.push(Line::default());
    }
    lines.extend(new);
    *last = kind;
}

fn printed_kind(entry: &TranscriptEntry) -> LastPrinted {
    match entry.what {
        EntryContent::Call(_) | EntryContent::Note(..) => LastPrinted::Row,
        _ => LastPrinted::Text,
    }
}

fn entry_lines(app: &App, n: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let entries = app.fold.transcript.entries();
    let Some(entry) = entries.get(n) else { return Vec::new() };
    let before = n.checked_sub(1).and_then(|n| entries.get(n)).map(|entry| &entry.what);
    if let (EntryContent::Ended(fact), Some(EntryContent::Note(_, told))) = (&entry.what, before) {
        // The line above may have said already what went wrong.
        let error = fact.error.as_deref().filter(|error| one_line(error) != *told);
        return run_end_lines(fact, error, width, theme, DetailLevel::Brief);
    }
    let shown =
        app.thoughts == ThoughtDisplay::Shown && matches!(entry.what, EntryContent::Replied { .. });
    let detail = if shown { DetailLevel::Full } else { DetailLevel::Brief };
    entry_body_lines(entry, width, theme, detail)
}

/// The live region, at most `rows` lines.
fn live_region(
    app: &App,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    if app.leaving {
        return (vec![Line::styled("Leaving…", theme.quiet)], None);
    }
    let foot = footer_lines(app, width, theme);
    let room = rows.saturating_sub(foot.len()).max(1);
    let hints = hint_lines(app, width, theme);
    // A long dialog leaves room for what must not be overlooked.
    let pressing = hints.len() + app.fold.view.unknown_calls().len();
    let kept = if app.is_asking() { pressing.min(PRESSING_ROWS).min(room / BOX_SHARE) } else { 0 };
    let (input, cursor) = input_lines(app, width, room - kept, theme);
    let mut left = room.saturating_sub(input.len());
    let hints: Vec<_> = hints.into_iter().take(left).collect();
    left -= hints.len();
    // An empty line keeps what is written apart from what is typed, where there is room.
    let gap = usize::from(left > kept);
    let mut lines = live::live_lines(app, width, left - gap, theme);
    lines.extend(vec![Line::default(); gap]);
    lines.extend(hints);
    let above = lines.len();
    lines.extend(input);
    if lines.len() + foot.len() <= rows {
        lines.extend(foot);
    }
    lines.truncate(rows);
    (lines, cursor.map(|(row, cell)| (row + above, cell)))
}

fn footer_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (branch, server) = (app.about.branch.as_deref(), app.about.server.as_deref());
    let (settings, meters) = (&app.fold.settings, app.fold.view.meters());
    let wanted = app.wanted;
    vec![footer::footer_line(FooterData { settings, wanted, meters, branch, server }, width, theme)]
}

/// The dialog, the box, or both.
fn input_lines(
    app: &App,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let Some(shown) = app.shown.as_ref().filter(|_| app.is_asking()) else {
        let most = (rows / BOX_SHARE).max(BOX_ROWS_MIN).min(rows);
        let most =
            if app.composer.is_empty() { BOX_ROWS_MIN.min(rows) } else { most.max(10).min(rows) };
        let (lines, cursor) = app.composer.render_lines(width, most, theme);
        return (lines, Some(cursor));
    };
    let alone = shown.focused && app.composer.is_empty();
    let of_box = if alone { 0 } else { BOX_ROWS_MIN.min(rows / 3).max(1) };
    let room = rows.saturating_sub(of_box);
    let standing = app.dialog_state();
    let (mut lines, cursor) = match &shown.dialog {
        Dialog::Approval(dialog) => dialog.render_dialog(width, room, theme, standing),
        Dialog::Question(dialog) => dialog.render_dialog(width, room, theme, standing),
    };
    lines.truncate(room);
    if alone {
        return (lines, cursor);
    }
    let (more, (row, cell)) = app.composer.render_lines(width, of_box, theme);
    let at = (lines.len() + row, cell);
    lines.extend(more);
    (lines, if shown.focused { cursor } else { Some(at) })
}

/// Lines directly above what is typed: what must not be overlooked.
fn hint_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |loud, text: String| {
        lines.push(cut_line(Line::from(Span::styled(text, tone_style(loud, theme))), width));
    };
    if let Some(why) = &app.lost {
        say(Loud::Bad, format!("! Connection lost: {why}"));
    }
    if let Some(ended) = &app.shell.offer {
        let command = one_line(&ended.command);
        let text = "Enter: show it to the model with your next message · Esc: keep it to yourself";
        say(Loud::Mark, format!("! {command}"));
        say(Loud::Warn, text.into());
    }
    for ended in &app.shell.along {
        let command = one_line(&ended.command);
        say(Loud::Quiet, format!("+ output of `{command}` goes along · Backspace takes it out"));
    }
    if let Some(words) = app.widening_words() {
        say(Loud::Warn, words);
    }
    if let Some(hint) = &app.hint {
        let loud = match hint.tone {
            NoticeTone::Quiet => Loud::Quiet,
            NoticeTone::Good => Loud::Good,
            NoticeTone::Bad => Loud::Bad,
        };
        say(loud, hint.text.clone());
    }
    lines
}
