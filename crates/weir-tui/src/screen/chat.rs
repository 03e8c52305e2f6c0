//! The chat: what is printed to the scrollback once, and the live region below it. Pure. The region
//! never has more rows than the terminal: the box, what asks and the footer stay, the rest gives
//! way. Not here: dialogs and footer themselves.

use std::mem;

use ratatui::text::{Line, Span};
use weir_core::event::Event;

use super::footer::{self, Footer};
use crate::app::entries::{Entry, What};
use crate::app::lines::{Detail, all_thoughts, beside, body, ended, style, thought_line};
use crate::app::notes::Loud;
use crate::app::writing::Print;
use crate::app::{App, Dialog};
use crate::link::{About, Tone};
use crate::options::Thoughts;
use crate::terminal::{Frame, Size};
use crate::text::theme::Theme;
use crate::text::wrap::{cut, wrap};
use crate::words::one_line;

mod live;

/// Rows that the box takes at most, of those that there are.
const BOX_SHARE: usize = 3;
/// Rows above a dialog for what must not be overlooked, where there are so many.
const PRESSING_ROWS: usize = 2;
/// Rows of the box at least, where there are so many.
const BOX_ROWS_MIN: usize = 3;

/// What was printed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Last {
    /// Nothing.
    #[default]
    Nothing,
    /// A row of a call, or a note: such rows stand close together.
    Row,
    /// Anything else.
    Text,
}

/// The first line in a session.
pub(crate) fn greeting(about: &About) -> Vec<Line<'static>> {
    let server = about.server.as_ref().map(|at| format!(" at {}", one_line(at)));
    let folder = one_line(&about.folder);
    vec![Line::from(format!("Weir{} in {folder}", server.unwrap_or_default()))]
}

/// What the terminal is to show of the chat. What it prints is given once.
pub(crate) fn frame(app: &mut App, size: Size) -> Frame {
    let (width, rows) = (usize::from(size.columns), usize::from(size.rows));
    if width == 0 || rows == 0 {
        // Nothing can be seen: what is to be printed waits.
        return Frame::default();
    }
    let theme = app.theme.clone();
    let finished = finished(app, width, rows, &theme);
    let (live, cursor) = region(app, width, rows, &theme);
    app.painted_ask();
    Frame { finished, live, cursor }
}

/// Lines for the scrollback.
fn finished(app: &mut App, width: usize, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut last = app.last;
    for print in mem::take(&mut app.fold.prints) {
        let (kind, new) = match print {
            Print::Entry(n) => match app.fold.transcript.get(n) {
                Some(entry) => (kind(entry), entry_lines(app, n, width, theme)),
                None => continue,
            },
            Print::Left(entry) => (kind(&entry), body(&entry, width, theme, Detail::Brief)),
            Print::Thought { ms, text } => match app.thoughts {
                Thoughts::Folded => (Last::Row, thought_line(ms, width, theme)),
                Thoughts::Shown => (Last::Text, all_thoughts(&text, width, theme)),
            },
            Print::Text { mut growing, begun } => {
                let rest = trimmed(growing.finish(width, theme));
                if begun {
                    lines.extend(rest);
                    continue;
                }
                (Last::Text, rest)
            }
            Print::Beside(event) => {
                lines.extend(beside(&event, width, theme));
                continue;
            }
            Print::Screen => {
                lines.extend(vec![Line::default(); rows]);
                last = Last::Nothing;
                continue;
            }
            Print::Lines(new) => {
                let quiet = new.into_iter().map(|line| line.patch_style(theme.quiet));
                (Last::Text, quiet.flat_map(|line| wrap(&line, width, 2)).collect())
            }
        };
        push(&mut lines, &mut last, kind, new);
    }
    let settled = app.fold.writing.growing.settled(width, theme);
    if !settled.is_empty() {
        match mem::replace(&mut app.fold.writing.begun, true) {
            true => lines.extend(settled),
            false => push(&mut lines, &mut last, Last::Text, settled),
        }
    }
    app.last = last;
    lines
}

/// Without empty lines at the end.
fn trimmed(mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let empty = |line: &Line<'_>| line.spans.iter().all(|span| span.content.trim().is_empty());
    while lines.last().is_some_and(empty) {
        lines.pop();
    }
    lines
}

/// Puts lines at the end, after an empty one where one belongs.
fn push(lines: &mut Vec<Line<'static>>, last: &mut Last, kind: Last, new: Vec<Line<'static>>) {
    if new.is_empty() {
        return;
    }
    let close = *last == Last::Nothing || (*last == Last::Row && kind == Last::Row);
    if !close {
        lines.push(Line::default());
    }
    lines.extend(new);
    *last = kind;
}

fn kind(entry: &Entry) -> Last {
    match entry.what {
        What::Call(_) | What::Note(..) => Last::Row,
        _ => Last::Text,
    }
}

fn entry_lines(app: &App, n: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let entries = app.fold.transcript.entries();
    let Some(entry) = entries.get(n) else { return Vec::new() };
    let before = n.checked_sub(1).and_then(|n| entries.get(n)).map(|entry| &entry.what);
    if let (What::Ended(event), Some(What::Note(_, told))) = (&entry.what, before)
        && let Event::RunFinished(fact) = event.as_ref()
    {
        // The line above may have said already what went wrong.
        let error = fact.error.as_deref().filter(|error| one_line(error) != *told);
        return ended(fact, error, width, theme, Detail::Brief);
    }
    let shown = app.thoughts == Thoughts::Shown && matches!(entry.what, What::Replied { .. });
    let detail = if shown { Detail::Full } else { Detail::Brief };
    body(entry, width, theme, detail)
}

/// The live region, at most `rows` lines.
fn region(
    app: &App,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    if app.leaving {
        return (vec![Line::styled("Leaving…", theme.quiet)], None);
    }
    let foot = foot(app, width, theme);
    let room = rows.saturating_sub(foot.len()).max(1);
    let hints = hints(app, width, theme);
    // A long dialog leaves room for what must not be overlooked.
    let pressing = hints.len() + app.fold.view.unknown().len();
    let kept = if app.asks() { pressing.min(PRESSING_ROWS).min(room / BOX_SHARE) } else { 0 };
    let (input, cursor) = input(app, width, room - kept, theme);
    let mut left = room.saturating_sub(input.len());
    let hints: Vec<_> = hints.into_iter().take(left).collect();
    left -= hints.len();
    // An empty line keeps what is written apart from what is typed, where there is room.
    let gap = usize::from(left > kept);
    let mut lines = live::lines(app, width, left - gap, theme);
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

fn foot(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (branch, server) = (app.about.branch.as_deref(), app.about.server.as_deref());
    let (settings, meters) = (&app.fold.settings, app.fold.view.meters());
    let wanted = app.wanted;
    vec![footer::line(Footer { settings, wanted, meters, branch, server }, width, theme)]
}

/// The dialog, the box, or both.
fn input(
    app: &App,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let Some(shown) = app.shown.as_ref().filter(|_| app.asks()) else {
        let most = (rows / BOX_SHARE).max(BOX_ROWS_MIN).min(rows);
        let most =
            if app.composer.is_empty() { BOX_ROWS_MIN.min(rows) } else { most.max(10).min(rows) };
        let (lines, cursor) = app.composer.view(width, most, theme);
        return (lines, Some(cursor));
    };
    let alone = shown.focused && app.composer.is_empty();
    let of_box = if alone { 0 } else { BOX_ROWS_MIN.min(rows / 3).max(1) };
    let room = rows.saturating_sub(of_box);
    let standing = app.standing();
    let (mut lines, cursor) = match &shown.dialog {
        Dialog::Approval(dialog) => dialog.view(width, room, theme, standing),
        Dialog::Question(dialog) => dialog.view(width, room, theme, standing),
    };
    lines.truncate(room);
    if alone {
        return (lines, cursor);
    }
    let (more, (row, cell)) = app.composer.view(width, of_box, theme);
    let at = (lines.len() + row, cell);
    lines.extend(more);
    (lines, if shown.focused { cursor } else { Some(at) })
}

/// Lines directly above what is typed: what must not be overlooked.
fn hints(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |loud, text: String| {
        lines.push(cut(Line::from(Span::styled(text, style(loud, theme))), width));
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
            Tone::Quiet => Loud::Quiet,
            Tone::Good => Loud::Good,
            Tone::Bad => Loud::Bad,
        };
        say(loud, hint.text.clone());
    }
    lines
}
