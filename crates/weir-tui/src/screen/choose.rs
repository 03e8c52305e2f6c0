//! One of a few: models, profiles, themes, how much the model thinks. The one that holds now is
//! marked. Pure.

use crossterm::event::KeyEvent;
use weir_core::model::Thinking;

use super::frame::Room;
use super::list::{Around, Did, Item, List};
use super::{Screen, Step, View, With};
use crate::link::{Choice, Items, News, Ticket, Wish};
use crate::terminal::Size;
use crate::text::theme::Theme;

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A model: asked from the other end.
    Models,
    /// A profile: asked from the other end.
    Profiles,
    /// A theme: `/theme NAME` is done.
    Themes,
    /// How much the model thinks: `/thinking LEVEL` is done.
    Thinking,
}

/// How much a model may think, with its word and a line about it.
const LEVELS: [(Thinking, &str, &str); 4] = [
    (Thinking::Off, "off", "answers at once"),
    (Thinking::Low, "low", "thinks a little"),
    (Thinking::Medium, "medium", "thinks some"),
    (Thinking::High, "high", "thinks much: slower, and costs more"),
];

/// The screen.
pub(crate) struct Choose {
    of: Of,
    list: List<String>,
    asked: Option<Ticket>,
    why: Option<String>,
}

impl Choose {
    /// A list of models or profiles that the other end makes, or of how much the model thinks.
    pub(crate) fn new(of: Of) -> Choose {
        Choose { of, list: List::new(Vec::new()), asked: None, why: None }
    }

    /// Themes, with a line about each.
    pub(crate) fn themes(names: &[(&str, &str)], now: &str) -> Choose {
        let items = names.iter().map(|(name, about)| Choice {
            value: (*name).to_owned(),
            about: (*about).to_owned(),
            current: *name == now,
        });
        let list = List::new(items.map(item).collect());
        Choose { list, ..Choose::new(Of::Themes) }
    }

    fn chosen(&self) -> Step {
        let Some(value) = self.list.chosen().cloned() else { return Step::Idle };
        match self.of {
            Of::Models => Step::CloseAnd(vec![Wish::Model(value)]),
            Of::Profiles => Step::CloseAnd(vec![Wish::Profile(value)]),
            Of::Themes => Step::Command(format!("/theme {value}")),
            Of::Thinking => Step::Command(format!("/thinking {value}")),
        }
    }

    fn did(&self, did: Did) -> Step {
        match did {
            Did::Nothing => Step::Idle,
            Did::Moved | Did::Filtered => Step::Stay,
            Did::Closes => Step::Close,
            Did::Chose => self.chosen(),
        }
    }
}

fn item(choice: Choice) -> Item<String> {
    let Choice { value, about, current } = choice;
    Item { text: value.clone(), value, about, current, found: false }
}

impl Screen for Choose {
    fn begin(&mut self, with: &With<'_>) -> Step {
        match self.of {
            Of::Models | Of::Profiles => {
                let ticket = with.ticket();
                self.asked = Some(ticket);
                let models = self.of == Of::Models;
                let wish = if models { Wish::Models(ticket) } else { Wish::Profiles(ticket) };
                Step::Do(vec![wish])
            }
            Of::Themes => Step::Stay,
            Of::Thinking => {
                let items = LEVELS.iter().map(|(level, name, about)| Choice {
                    value: (*name).to_owned(),
                    about: (*about).to_owned(),
                    current: *level == with.settings.thinking,
                });
                self.list = List::new(items.map(item).collect());
                Step::Stay
            }
        }
    }

    fn key(&mut self, key: KeyEvent, _: &With<'_>) -> Step {
        let did = self.list.key(key);
        self.did(did)
    }

    fn paste(&mut self, text: &str, _: &With<'_>) -> Step {
        let did = self.list.paste(text);
        self.did(did)
    }

    fn news(&mut self, news: &News, _: &With<'_>) -> Step {
        match news {
            News::Listed { ticket, items: Items::Choices(choices) }
                if self.asked == Some(*ticket) =>
            {
                self.list = List::new(choices.iter().cloned().map(item).collect());
            }
            News::Failed { ticket, why } if self.asked == Some(*ticket) => {
                self.why = Some(why.clone());
            }
            _ => return Step::Idle,
        }
        self.asked = None;
        Step::Stay
    }

    fn view(&mut self, size: Size, theme: &Theme, _: &With<'_>) -> View {
        let title = match self.of {
            Of::Models => "Models",
            Of::Profiles => "Profiles",
            Of::Themes => "Themes",
            Of::Thinking => "How much the model thinks",
        };
        let empty = match (&self.why, self.asked) {
            (Some(why), _) => crate::text::clean::clean(why).replace('\n', " "),
            (None, Some(_)) => "The list is being put together.".into(),
            (None, None) => "Nothing fits these words.".into(),
        };
        let keys =
            &[("Enter", "chooses"), ("Esc", "closes"), ("↑↓", "moves"), ("type", "to filter")];
        self.list.view(Room::of(size), theme, &Around { title, empty: &empty, keys })
    }
}
