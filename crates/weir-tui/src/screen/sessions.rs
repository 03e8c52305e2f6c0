//! The sessions, to open one: filtered by title at once, and searched by words by whoever keeps
//! them. Pure. Not here: the search itself.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_core::ids::{SessionId, Timestamp};

use super::frame::Room;
use super::list::{Around, Did, Item, List};
use super::{Screen, Step, View, With};
use crate::link::{Items, News, SessionLine, Ticket, Which, Wish};
use crate::terminal::Size;
use crate::text::theme::Theme;

/// The screen.
pub(crate) struct Sessions {
    list: List<SessionId>,
    /// All of them, as they came without words.
    all: Vec<SessionLine>,
    /// The moment that times are relative to.
    now: Timestamp,
    /// What was asked last, and for which words.
    asked: Option<(Ticket, String)>,
    /// The words that the list holds the answer to; nothing came yet: `None`.
    answered: Option<String>,
    /// Words that are looked for from the start.
    first: String,
    why: Option<String>,
}

impl Sessions {
    /// The sessions in which `words` stand; times are said relative to `now`.
    pub(crate) fn new(words: &str, now: Timestamp) -> Sessions {
        Sessions {
            list: List::new(Vec::new()),
            all: Vec::new(),
            now,
            asked: None,
            answered: None,
            first: words.to_owned(),
            why: None,
        }
    }

    /// Asks for the words of the filter, one question at a time.
    fn ask(&mut self, with: &With<'_>) -> Step {
        let words = self.list.words().to_owned();
        if self.asked.is_some() || self.answered.as_ref() == Some(&words) {
            return Step::Stay;
        }
        let ticket = with.ticket();
        self.asked = Some((ticket, words.clone()));
        Step::Do(vec![Wish::Sessions { query: words, ticket }])
    }

    /// Those that came for the words, and those whose title fits.
    fn fill(&mut self, found: Vec<SessionLine>, words: &str) {
        let how = if words.is_empty() { Found::No } else { Found::Yes };
        let found_now: Vec<Item<SessionId>> =
            found.iter().map(|line| self.item(line, how)).collect();
        if words.is_empty() {
            self.all = found;
        }
        let known = |line: &&SessionLine| !found_now.iter().any(|item| item.value == line.id);
        let rest = self.all.iter().filter(known).map(|line| self.item(line, Found::No));
        let rest: Vec<Item<SessionId>> = rest.collect();
        self.list.set(found_now.into_iter().chain(rest).collect());
    }

    fn item(&self, line: &SessionLine, found: Found) -> Item<SessionId> {
        let when = ago(line.last, self.now);
        let mut about = format!("{when} · {} · {}", line.state, line.folder);
        if let Some(place) = &line.found {
            about = format!("{when} · {} · {place}", line.state);
        }
        Item {
            value: line.id.clone(),
            text: line.title.clone(),
            about,
            current: false,
            found: found == Found::Yes,
        }
    }

    fn filtered(&mut self, did: Did, with: &With<'_>) -> Step {
        match did {
            Did::Nothing => Step::Idle,
            Did::Moved => Step::Stay,
            Did::Filtered => {
                self.list.forget_found();
                self.ask(with)
            }
            Did::Closes => Step::Close,
            Did::Chose => match self.list.chosen() {
                Some(id) => Step::CloseAnd(vec![Wish::Open(Which::Existing(id.clone()))]),
                None => Step::Idle,
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    No,
    Yes,
}

impl Screen for Sessions {
    fn begin(&mut self, with: &With<'_>) -> Step {
        let words = std::mem::take(&mut self.first);
        self.list.paste(&words);
        // All of them come first: titles are filtered here.
        let ticket = with.ticket();
        self.asked = Some((ticket, String::new()));
        Step::Do(vec![Wish::Sessions { query: String::new(), ticket }])
    }

    fn key(&mut self, key: KeyEvent, with: &With<'_>) -> Step {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Char('f') && control {
            return match self.list.chosen() {
                Some(id) => {
                    let which = Which::Fork { of: id.clone(), before: None };
                    Step::CloseAnd(vec![Wish::Open(which)])
                }
                None => Step::Idle,
            };
        }
        let did = self.list.key(key);
        self.filtered(did, with)
    }

    fn paste(&mut self, text: &str, with: &With<'_>) -> Step {
        let did = self.list.paste(text);
        self.filtered(did, with)
    }

    fn news(&mut self, news: &News, with: &With<'_>) -> Step {
        let ticket = match news {
            News::Listed { ticket, .. } | News::Failed { ticket, .. } => *ticket,
            _ => return Step::Idle,
        };
        let Some((_, words)) = self.asked.take_if(|(asked, _)| *asked == ticket) else {
            return Step::Idle;
        };
        self.why = None;
        match news {
            News::Listed { items: Items::Sessions(lines), .. } => self.fill(lines.clone(), &words),
            News::Failed { why, .. } => self.why = Some(why.clone()),
            _ => (),
        }
        self.answered = Some(words);
        self.ask(with)
    }

    fn view(&mut self, size: Size, theme: &Theme, _: &With<'_>) -> View {
        let empty = match (&self.why, &self.asked) {
            (Some(why), _) => crate::text::clean::clean(why).replace('\n', " "),
            (None, Some(_)) => "Looking for sessions.".into(),
            (None, None) => "No such session.".into(),
        };
        let around = Around {
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
        self.list.view(Room::of(size), theme, &around)
    }
}

/// When something was, in words relative to now.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
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
            assert_eq!(ago(Timestamp(now.0 - seconds * 1_000_000), now), expected, "{seconds}");
        }
    }
}
