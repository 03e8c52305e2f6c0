//! Back to an earlier message: which one, what that would change in files, and what goes back: the
//! conversation, the files, or both. Of a long session earlier messages are read when one comes near them, or
//! filters (Q10). Pure. Not here: the going back.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;
use weir_core::ids::Seq;

use super::frame::{FrameSize, frame_view, key_line, title_line};
use super::list::{FilterList, ListFrame, ListItem, ListOutcome};
use super::pager::TextPager;
use super::scroll::scroll_move_for_key;
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::app::entries::{EarlierEntries, EarlierReach};
use crate::link::{CommandTicket, NoticeTone, RewindScope, TextKind, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;

/// Earlier messages that are listed.
const MESSAGES_MAX: usize = 5_000;

/// How far one is.
enum RewindStage {
    /// Which message.
    Choosing,
    /// What goes back; the preview, once it is there.
    Asking {
        message: EarlierMessage,
        ticket: CommandTicket,
        preview: Option<Box<TextPager>>,
        why: Option<String>,
    },
    /// It was wished.
    Going { message: EarlierMessage },
}

/// A message of the person.
#[derive(Debug, Clone)]
struct EarlierMessage {
    seq: Seq,
    text: String,
}

/// The screen.
pub(crate) struct RewindScreen {
    list: FilterList<EarlierMessage>,
    stage: RewindStage,
    page: usize,
    /// The oldest message of all is to be marked, once it is read.
    seeks_oldest: bool,
}

impl RewindScreen {
    /// Nothing is chosen yet.
    pub(crate) fn new() -> RewindScreen {
        let (list, stage) = (FilterList::new(Vec::new()), RewindStage::Choosing);
        RewindScreen { list, stage, page: 1, seeks_oldest: false }
    }

    /// Whoever is near the oldest message that is listed goes on to those before it, and whoever filters looks
    /// for words in all of them.
    fn read_earlier(&self, with: &ScreenContext<'_>) -> ScreenStep {
        if with.transcript.earlier_entries().is_none() || self.list.item_count() >= MESSAGES_MAX {
            return ScreenStep::Stay;
        }
        if self.seeks_oldest || !self.list.filter_words().is_empty() {
            ScreenStep::ReadEarlier(EarlierReach::Far)
        } else if self.list.is_near_end() {
            ScreenStep::ReadEarlier(EarlierReach::Part)
        } else {
            ScreenStep::Stay
        }
    }

    /// Earlier messages were read: they stand there now, also for whoever filters or comes back to the list.
    fn list_earlier(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        self.list_messages(with);
        if !matches!(self.stage, RewindStage::Choosing) {
            return ScreenStep::Stay;
        }
        if self.seeks_oldest {
            self.list.mark_last();
        }
        match with.transcript.earlier_entries() {
            // What cannot be read is tried again when the person goes on.
            Some(EarlierEntries::Failed(_) | EarlierEntries::UnderWay) => ScreenStep::Stay,
            Some(EarlierEntries::Left) | None => self.read_earlier(with),
        }
    }

    /// Lists the messages that are known now. The one that is marked stays it.
    fn list_messages(&mut self, with: &ScreenContext<'_>) {
        let marked = self.list.chosen_value().map(|message| message.seq);
        let said = with.transcript.entries().iter().rev();
        let said = said.filter_map(|entry| Some((entry.seq, entry.input_text()?)));
        let items = said.take(MESSAGES_MAX).enumerate().map(|(n, (seq, text))| ListItem {
            about: match n {
                0 => "the last message".into(),
                1 => "1 message after it".into(),
                n => format!("{n} messages after it"),
            },
            value: EarlierMessage { seq, text: text.clone() },
            text,
            current: false,
            found: false,
        });
        self.list.set_items(items.collect());
        self.list.mark_value(|message| Some(message.seq) == marked);
    }

    fn step_while_choosing(&mut self, did: ListOutcome, with: &ScreenContext<'_>) -> ScreenStep {
        match did {
            ListOutcome::Nothing => ScreenStep::Idle,
            ListOutcome::Moved | ListOutcome::Filtered => self.read_earlier(with),
            ListOutcome::Closes => ScreenStep::Close,
            ListOutcome::Chose => {
                let Some(message) = self.list.chosen_value().cloned() else {
                    return ScreenStep::Idle;
                };
                let ticket = with.next_ticket();
                let before = message.seq;
                self.stage = RewindStage::Asking { message, ticket, preview: None, why: None };
                ScreenStep::Do(vec![UiCommand::Preview { before, ticket }])
            }
        }
    }

    /// Only the keys that are named go back.
    fn step_while_asking(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        let RewindStage::Asking { message, preview, .. } = &mut self.stage else {
            return ScreenStep::Idle;
        };
        let back = match key.code {
            KeyCode::Esc | KeyCode::Char('q') => {
                self.stage = RewindStage::Choosing;
                return ScreenStep::Stay;
            }
            KeyCode::Char('c') if key.modifiers.is_empty() => RewindScope::Conversation,
            // What would change is seen before it is changed.
            KeyCode::Char('f' | 'b') if preview.is_none() => return ScreenStep::Idle,
            KeyCode::Char('f') if key.modifiers.is_empty() => RewindScope::Files,
            KeyCode::Char('b') if key.modifiers.is_empty() => RewindScope::Both,
            _ => {
                let Some(by) = scroll_move_for_key(key, self.page) else { return ScreenStep::Idle };
                if let Some(pager) = preview {
                    pager.scroll_by(by);
                }
                return ScreenStep::Stay;
            }
        };
        let wish = UiCommand::Rewind { before: message.seq, back };
        if back == RewindScope::Files {
            return ScreenStep::CloseAnd(vec![wish]);
        }
        let message = message.clone();
        self.stage = RewindStage::Going { message };
        let _ = with;
        ScreenStep::Do(vec![wish])
    }
}

impl Screen for RewindScreen {
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        self.list_messages(with);
        // Where none is there, the last one stands among those that were not read.
        match self.list.item_count() {
            0 => self.read_earlier(with),
            _ => ScreenStep::Stay,
        }
    }

    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        match &self.stage {
            RewindStage::Choosing => {
                self.seeks_oldest = key.code == KeyCode::End;
                let did = self.list.handle_key(key);
                self.step_while_choosing(did, with)
            }
            RewindStage::Asking { .. } => self.step_while_asking(key, with),
            RewindStage::Going { .. } if key.code == KeyCode::Esc => ScreenStep::Close,
            RewindStage::Going { .. } => ScreenStep::Idle,
        }
    }

    fn handle_paste(&mut self, text: &str, with: &ScreenContext<'_>) -> ScreenStep {
        if !matches!(self.stage, RewindStage::Choosing) {
            return ScreenStep::Idle;
        }
        let did = self.list.handle_paste(text);
        self.step_while_choosing(did, with)
    }

    fn handle_update(&mut self, news: &UiUpdate, with: &ScreenContext<'_>) -> ScreenStep {
        if matches!(news, UiUpdate::Earlier { .. }) {
            return self.list_earlier(with);
        }
        match (news, &mut self.stage) {
            (
                UiUpdate::Text { ticket, title, text, kind },
                RewindStage::Asking { ticket: own, preview, .. },
            ) if ticket == own => {
                let text = match text.trim().is_empty() {
                    true => "No file would change.".to_owned(),
                    false => text.clone(),
                };
                let kind = if text.starts_with("No file") { TextKind::Plain } else { *kind };
                *preview = Some(Box::new(TextPager::new(title, text, kind)));
                ScreenStep::Stay
            }
            (
                UiUpdate::Failed { ticket, why },
                RewindStage::Asking { ticket: own, why: shown, .. },
            ) if ticket == own => {
                *shown = Some(why.clone());
                ScreenStep::Stay
            }
            // The copy is open: the words can be said otherwise now.
            (UiUpdate::Opened { .. }, RewindStage::Going { message }) => {
                ScreenStep::Put(message.text.clone())
            }
            (UiUpdate::Opened { .. }, _) => ScreenStep::Close,
            (
                UiUpdate::Notice { tone: NoticeTone::Bad, .. } | UiUpdate::Over(_),
                RewindStage::Going { .. },
            ) => {
                // The notice stands in the conversation.
                ScreenStep::Close
            }
            _ => ScreenStep::Idle,
        }
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView {
        let size = FrameSize::from_size(size);
        self.page = size.body_size().rows.saturating_sub(HEAD_ROWS).max(1);
        match &mut self.stage {
            RewindStage::Choosing => {
                let earlier = with.transcript.earlier_entries();
                let around = ListFrame {
                    title: list_title(earlier),
                    empty: match (self.list.is_filtered(), earlier.is_some()) {
                        (true, false) => "No message fits.",
                        (false, false) => "Nothing was said yet.",
                        (true, true) => "No message fits; earlier ones are not here yet.",
                        (false, true) => "Earlier messages are not here yet.",
                    },
                    keys: &[
                        ("Enter", "previews"),
                        ("Esc", "closes"),
                        ("↑↓", "moves"),
                        ("type", "to filter"),
                    ],
                };
                self.list.render_view(size, theme, &around)
            }
            RewindStage::Asking { message, preview, why, .. } => {
                let body = size.body_size();
                let mut lines = vec![quoted_line(message, theme), Line::default()];
                let mut place = String::new();
                match (preview.as_mut(), why.as_ref()) {
                    (Some(pager), _) => {
                        let rows = body.rows.saturating_sub(HEAD_ROWS);
                        let (seen, at) = pager.visible_rows(FrameSize { rows, ..body }, theme);
                        lines.extend(seen);
                        place = at;
                    }
                    (None, Some(why)) => {
                        let why = clean_text(why).replace('\n', " ");
                        lines.push(Line::styled(format!("No preview: {why}"), theme.warn));
                    }
                    (None, None) => lines.push(Line::styled("Comparing files…", theme.quiet)),
                }
                let head = title_line("What should go back?", &place, size.columns, theme);
                let all: &[_] = &[
                    ("c", "conversation"),
                    ("f", "files"),
                    ("b", "both"),
                    ("Esc", "neither"),
                    ("↑↓", "scrolls"),
                ];
                let some: &[_] = &[("c", "conversation"), ("Esc", "neither")];
                let pairs = if preview.is_some() { all } else { some };
                frame_view(size, head, lines, key_line(pairs, size.columns, theme))
            }
            RewindStage::Going { message } => {
                let lines =
                    vec![quoted_line(message, theme), Line::default(), Line::from("Going back…")];
                let head = title_line("What should go back?", "", size.columns, theme);
                frame_view(size, head, lines, key_line(&[("Esc", "closes")], size.columns, theme))
            }
        }
    }
}

/// Rows above the preview.
const HEAD_ROWS: usize = 2;

/// The title of the list, and what is the matter with messages that are not in it.
fn list_title(earlier: Option<&EarlierEntries>) -> &'static str {
    match earlier {
        None => "Go back to before which message?",
        Some(EarlierEntries::Left) => "Go back to before which message? Older ones: go on down",
        Some(EarlierEntries::UnderWay) => {
            "Go back to before which message? Older ones are being read"
        }
        Some(EarlierEntries::Failed(_)) => {
            "Go back to before which message? Older ones cannot be read now"
        }
    }
}

fn quoted_line(message: &EarlierMessage, theme: &Theme) -> Line<'static> {
    let text = clean_text(&message.text).split_whitespace().collect::<Vec<_>>().join(" ");
    Line::styled(format!("before: {text}"), theme.person)
}
