//! The sessions, to open one: filtered by title at once, and searched by words by whoever keeps
//! them. Pure. Not here: the search itself.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_core::ids::{SessionId, Timestamp};

use super::frame::FrameSize;
use super::list::{FilterList, ListFrame, ListItem, ListOutcome};
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::link::{CommandTicket, ListResult, SessionLine, SessionTarget, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;

/// The screen.
pub(crate) struct SessionsScreen {
    list: FilterList<SessionId>,
    /// All of them, as they came without words.
    all: Vec<SessionLine>,
    /// The moment that times are relative to.
    now: Timestamp,
    /// What was asked last, and for which words.
    asked: Option<(CommandTicket, String)>,
    /// The words that the list holds the answer to; nothing came yet: `None`.
    answered: Option<String>,
    /// Words that are looked for from the start.
    first: String,
    why: Option<String>,
}

impl SessionsScreen {
    /// The sessions in which `words` stand; times are said relative to `now`.
    pub(crate) fn new(words: &str, now: Timestamp) -> SessionsScreen {
        SessionsScreen {
            list: FilterList::new(Vec::new()),
            all: Vec::new(),
            now,
            asked: None,
            answered: None,
            first: words.to_owned(),
            why: None,
        }
    }

    /// Asks for the words of the filter, one question at a time.
    fn ask_sessions(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        let words = self.list.filter_words().to_owned();
        if self.asked.is_some() || self.answered.as_ref() == Some(&words) {
            return ScreenStep::Stay;
        }
        let ticket = with.next_ticket();
        self.asked = Some((ticket, words.clone()));
        ScreenStep::Do(vec![UiCommand::Sessions { query: words, ticket }])
    }

    /// Those that came for the words, and those whose title fits.
    fn fill_list(&mut self, found: Vec<SessionLine>, words: &str) {
        let how = if words.is_empty() { FoundByWords::No } else { FoundByWords::Yes };
        let found_now: Vec<ListItem<SessionId>> =
            found.iter().map(|line| self.session_item(line, how)).collect();
        if words.is_empty() {
            self.all = found;
        }
        let known = |line: &&SessionLine| !found_now.iter().any(|item| item.value == line.id);
        let rest =
            self.all.iter().filter(known).map(|line| self.session_item(line, FoundByWords::No));
        let rest: Vec<ListItem<SessionId>> = rest.collect();
        self.list.set_items(found_now.into_iter().chain(rest).collect());
    }

    fn session_item(&self, line: &SessionLine, found: FoundByWords) -> ListItem<SessionId> {
        let when = time_ago_text(line.last, self.now);
        let mut about = format!("{when} · {} · {}", line.state, line.folder);
        if let Some(place) = &line.found {
            about = format!("{when} · {} · {place}", line.state);
        }
        ListItem {
            value: line.id.clone(),
            text: line.title.clone(),
            about,
            current: false,
            found: found == FoundByWords::Yes,
        }
    }

    fn step_for_outcome(&mut self, did: ListOutcome, with: &ScreenContext<'_>) -> ScreenStep {
        match did {
            ListOutcome::Nothing => ScreenStep::Idle,
            ListOutcome::Moved => ScreenStep::Stay,
            ListOutcome::Filtered => {
                self.list.forget_found();
                self.ask_sessions(with)
            }
            ListOutcome::Closes => ScreenStep::Close,
            ListOutcome::Chose => match self.list.chosen_value() {
                Some(id) => {
                    ScreenStep::CloseAnd(vec![UiCommand::Open(SessionTarget::Existing(id.clone()))])
                }
                None => ScreenStep::Idle,
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FoundByWords {
    No,
    Yes,
}

impl Screen for SessionsScreen {
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        let words = std::mem::take(&mut self.first);
        self.list.handle_paste(&words);
        // All of them come first: titles are filtered here.
        let ticket = with.next_ticket();
        self.asked = Some((ticket, String::new()));
        ScreenStep::Do(vec![UiCommand::Sessions { query: String::new(), ticket }])
    }

    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Char('f') && control {
            return match self.list.chosen_value() {
                Some(id) => {
                    let which = SessionTarget::Fork { of: id.clone(), before: None };
                    ScreenStep::CloseAnd(vec![UiCommand::Open(which)])
                }
                None => ScreenStep::Idle,
            };
        }
        let did = self.list.handle_key(key);
        self.step_for_outcome(did, with)
    }

    fn handle_paste(&mut self, text: &str, with: &ScreenContext<'_>) -> ScreenStep {
        let did = self.list.handle_paste(text);
        self.step_for_outcome(did, with)
    }

    fn handle_update(&mut self, news: &UiUpdate, with: &ScreenContext<'_>) -> ScreenStep {
        let ticket = match news {
            UiUpdate::Listed { ticket, .. } | UiUpdate::Failed { ticket, .. } => *ticket,
            _ => return ScreenStep::Idle,
        };
        let Some((_, words)) = self.asked.take_if(|(asked, _)| *asked == ticket) else {
            return ScreenStep::Idle;
        };
        self.why = None;
        match news {
            UiUpdate::Listed { items: ListResult::Sessions(lines), .. } => {
                self.fill_list(lines.clone(), &words)
            }
            UiUpdate::Failed { why, .. } => self.why = Some(why.clone()),
            _ => (),
        }
        self.answered = Some(words);
        self.ask_sessions(with)
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        _: &ScreenContext<'_>,
    ) -> ScreenView {
        let empty = match (&self.why, &self.asked) {
            (Some(why), _) => crate::text::clean::clean_text(why).replace('\n', " "),
            (None, Some(_)) => "Looking for sessions.".into(),
            (None, None) => "No such session.".into(),
        };
        let around = ListFrame {
            title: "Sessions",
            empty: &empty,
            keys: &[
                ("Enter", "opens"),
                ("Esc", "closes"),
                ("Ctrl-F", "copies"),
                ("↑↓", "moves"),
                ("type", "to search titles and words"),
            ],
        };
        self.list.render_view(FrameSize::from_size(size), theme, &around)
    }
}

/// When something was, in words relative to now.
pub(crate) fn time_ago_text(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = now.ms_since(then) / 1_000;
    let (count, what) = match seconds {
        0..MINUTE => return "just now".into(),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        DAY.. => (seconds / DAY, "day"),
    };
    match (count, what) {
        (1, "day") => "yesterday".into(),
        (1, what) => format!("1 {what} ago"),
        (14..=60, "day") => format!("{} weeks ago", count / 7),
        (61..=729, "day") => format!("{} months ago", count / 30),
        (730.., "day") => format!("{} years ago", count / 365),
        (count, what) => format!("{count} {what}s ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_times_are_said_relative_to_now() {
        let now = Timestamp(1_700_000_000_000_000);
        for (seconds, expected) in [
            (-5, "just now"),
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3_599, "59 minutes ago"),
            (3_600, "1 hour ago"),
            (86_399, "23 hours ago"),
            (86_400, "yesterday"),
            (13 * 86_400, "13 days ago"),
            (14 * 86_400, "2 weeks ago"),
            (61 * 86_400, "2 months ago"),
            (730 * 86_400, "2 years ago"),
        ] {
            assert_eq!(
                time_ago_text(Timestamp(now.0 - seconds * 1_000_000), now),
                expected,
                "{seconds}"
            );
        }
    }
}
