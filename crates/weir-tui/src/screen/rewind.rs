//! Back to an earlier message: which one, what that would change in files, and what goes back: the
//! conversation, the files, or both. Pure. Not here: the going back.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;
use weir_core::ids::Seq;

use super::frame::{Room, framed, keys, title};
use super::list::{Around, Did, Item, List};
use super::pager::Pager;
use super::scroll::moved;
use super::{Screen, Step, View, With};
use crate::link::{Back, News, TextKind, Ticket, Tone, Wish};
use crate::terminal::Size;
use crate::text::clean::clean;
use crate::text::theme::Theme;

/// Earlier messages that are listed.
const MESSAGES_MAX: usize = 5_000;

/// How far one is.
enum Stage {
    /// Which message.
    Choosing,
    /// What goes back; the preview, once it is there.
    Asking { message: Message, ticket: Ticket, preview: Option<Box<Pager>>, why: Option<String> },
    /// It was wished.
    Going { message: Message },
}

/// A message of the person.
#[derive(Debug, Clone)]
struct Message {
    seq: Seq,
    text: String,
}

/// The screen.
pub(crate) struct Rewind {
    list: List<Message>,
    stage: Stage,
    page: usize,
}

impl Rewind {
    /// Nothing is chosen yet.
    pub(crate) fn new() -> Rewind {
        Rewind { list: List::new(Vec::new()), stage: Stage::Choosing, page: 1 }
    }

    fn choosing(&mut self, did: Did, with: &With<'_>) -> Step {
        match did {
            Did::Nothing => Step::Idle,
            Did::Moved | Did::Filtered => Step::Stay,
            Did::Closes => Step::Close,
            Did::Chose => {
                let Some(message) = self.list.chosen().cloned() else { return Step::Idle };
                let ticket = with.ticket();
                let before = message.seq;
                self.stage = Stage::Asking { message, ticket, preview: None, why: None };
                Step::Do(vec![Wish::Preview { before, ticket }])
            }
        }
    }

    /// Only the keys that are named go back.
    fn asking(&mut self, key: KeyEvent, with: &With<'_>) -> Step {
        let Stage::Asking { message, preview, .. } = &mut self.stage else { return Step::Idle };
        let back = match key.code {
            KeyCode::Esc | KeyCode::Char('q') => {
                self.stage = Stage::Choosing;
                return Step::Stay;
            }
            KeyCode::Char('c') if key.modifiers.is_empty() => Back::Conversation,
            // What would change is seen before it is changed.
            KeyCode::Char('f' | 'b') if preview.is_none() => return Step::Idle,
            KeyCode::Char('f') if key.modifiers.is_empty() => Back::Files,
            KeyCode::Char('b') if key.modifiers.is_empty() => Back::Both,
            _ => {
                let Some(by) = moved(key, self.page) else { return Step::Idle };
                if let Some(pager) = preview {
                    pager.go(by);
                }
                return Step::Stay;
            }
        };
        let wish = Wish::Rewind { before: message.seq, back };
        if back == Back::Files {
            return Step::CloseAnd(vec![wish]);
        }
        let message = message.clone();
        self.stage = Stage::Going { message };
        let _ = with;
        Step::Do(vec![wish])
    }
}

impl Screen for Rewind {
    fn begin(&mut self, with: &With<'_>) -> Step {
        let said = with.transcript.entries().iter().rev();
        let said = said.filter_map(|entry| Some((entry.seq, entry.words()?)));
        let items = said.take(MESSAGES_MAX).enumerate().map(|(n, (seq, text))| Item {
            about: match n {
                0 => "the last message".into(),
                1 => "1 message after it".into(),
                n => format!("{n} messages after it"),
            },
            value: Message { seq, text: text.clone() },
            text,
            current: false,
            found: false,
        });
        self.list = List::new(items.collect());
        Step::Stay
    }

    fn key(&mut self, key: KeyEvent, with: &With<'_>) -> Step {
        match &self.stage {
            Stage::Choosing => {
                let did = self.list.key(key);
                self.choosing(did, with)
            }
            Stage::Asking { .. } => self.asking(key, with),
            Stage::Going { .. } if key.code == KeyCode::Esc => Step::Close,
            Stage::Going { .. } => Step::Idle,
        }
    }

    fn paste(&mut self, text: &str, with: &With<'_>) -> Step {
        if !matches!(self.stage, Stage::Choosing) {
            return Step::Idle;
        }
        let did = self.list.paste(text);
        self.choosing(did, with)
    }

    fn news(&mut self, news: &News, _: &With<'_>) -> Step {
        match (news, &mut self.stage) {
            (
                News::Text { ticket, title, text, kind },
                Stage::Asking { ticket: own, preview, .. },
            ) if ticket == own => {
                let text = match text.trim().is_empty() {
                    true => "No file would change.".to_owned(),
                    false => text.clone(),
                };
                let kind = if text.starts_with("No file") { TextKind::Plain } else { *kind };
                *preview = Some(Box::new(Pager::new(title, text, kind)));
                Step::Stay
            }
            (News::Failed { ticket, why }, Stage::Asking { ticket: own, why: shown, .. })
                if ticket == own =>
            {
                *shown = Some(why.clone());
                Step::Stay
            }
            // The copy is open: the words can be said otherwise now.
            (News::Opened { .. }, Stage::Going { message }) => Step::Put(message.text.clone()),
            (News::Opened { .. }, _) => Step::Close,
            (News::Notice { tone: Tone::Bad, .. } | News::Over(_), Stage::Going { .. }) => {
                // The notice stands in the conversation.
                Step::Close
            }
            _ => Step::Idle,
        }
    }

    fn view(&mut self, size: Size, theme: &Theme, _: &With<'_>) -> View {
        let size = Room::of(size);
        self.page = size.body().rows.saturating_sub(HEAD_ROWS).max(1);
        match &mut self.stage {
            Stage::Choosing => {
                let around = Around {
                    title: "Go back to before which message?",
                    empty: match self.list.is_filtered() {
                        true => "No message fits.",
                        false => "Nothing was said yet.",
                    },
                    keys: &[
                        ("Enter", "previews"),
                        ("Esc", "closes"),
                        ("↑↓", "moves"),
                        ("type", "to filter"),
                    ],
                };
                self.list.view(size, theme, &around)
            }
            Stage::Asking { message, preview, why, .. } => {
                let body = size.body();
                let mut lines = vec![quoted(message, theme), Line::default()];
                let mut place = String::new();
                match (preview.as_mut(), why.as_ref()) {
                    (Some(pager), _) => {
                        let rows = body.rows.saturating_sub(HEAD_ROWS);
                        let (seen, at) = pager.seen(Room { rows, ..body }, theme);
                        lines.extend(seen);
                        place = at;
                    }
                    (None, Some(why)) => {
                        let why = clean(why).replace('\n', " ");
                        lines.push(Line::styled(format!("No preview: {why}"), theme.warn));
                    }
                    (None, None) => lines.push(Line::styled("Comparing files…", theme.quiet)),
                }
                let head = title("What should go back?", &place, size.columns, theme);
                let all: &[_] = &[
                    ("c", "conversation"),
                    ("f", "files"),
                    ("b", "both"),
                    ("Esc", "neither"),
                    ("↑↓", "scrolls"),
                ];
                let some: &[_] = &[("c", "conversation"), ("Esc", "neither")];
                let pairs = if preview.is_some() { all } else { some };
                framed(size, head, lines, keys(pairs, size.columns, theme))
            }
            Stage::Going { message } => {
                let lines =
                    vec![quoted(message, theme), Line::default(), Line::from("Going back…")];
                let head = title("What should go back?", "", size.columns, theme);
                framed(size, head, lines, keys(&[("Esc", "closes")], size.columns, theme))
            }
        }
    }
}

/// Rows above the preview.
const HEAD_ROWS: usize = 2;

fn quoted(message: &Message, theme: &Theme) -> Line<'static> {
    let text = clean(&message.text).split_whitespace().collect::<Vec<_>>().join(" ");
    Line::styled(format!("before: {text}"), theme.person)
}
