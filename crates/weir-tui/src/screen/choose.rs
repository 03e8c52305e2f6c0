//! One of a few: models, profiles, themes, how much the model thinks. The one that holds now is
//! marked. Pure.

use crossterm::event::KeyEvent;
use weir_core::model::Thinking;

use super::frame::FrameSize;
use super::list::{FilterList, ListFrame, ListItem, ListOutcome};
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::link::{ChoiceOption, CommandTicket, ListResult, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceSubject {
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
pub(crate) struct ChoiceScreen {
    of: ChoiceSubject,
    list: FilterList<String>,
    asked: Option<CommandTicket>,
    why: Option<String>,
}

impl ChoiceScreen {
    /// A list of models or profiles that the other end makes, or of how much the model thinks.
    pub(crate) fn new(of: ChoiceSubject) -> ChoiceScreen {
        ChoiceScreen { of, list: FilterList::new(Vec::new()), asked: None, why: None }
    }

    /// Themes, with a line about each.
    pub(crate) fn for_themes(names: &[(&str, &str)], now: &str) -> ChoiceScreen {
        let items = names.iter().map(|(name, about)| ChoiceOption {
            value: (*name).to_owned(),
            about: (*about).to_owned(),
            current: *name == now,
        });
        let list = FilterList::new(items.map(choice_item).collect());
        ChoiceScreen { list, ..ChoiceScreen::new(ChoiceSubject::Themes) }
    }

    fn step_for_chosen(&self) -> ScreenStep {
        let Some(value) = self.list.chosen_value().cloned() else { return ScreenStep::Idle };
        match self.of {
            ChoiceSubject::Models => ScreenStep::CloseAnd(vec![UiCommand::Model(value)]),
            ChoiceSubject::Profiles => ScreenStep::CloseAnd(vec![UiCommand::Profile(value)]),
            ChoiceSubject::Themes => ScreenStep::Command(format!("/theme {value}")),
            ChoiceSubject::Thinking => ScreenStep::Command(format!("/thinking {value}")),
        }
    }

    fn step_for_outcome(&self, did: ListOutcome) -> ScreenStep {
        match did {
            ListOutcome::Nothing => ScreenStep::Idle,
            ListOutcome::Moved | ListOutcome::Filtered => ScreenStep::Stay,
            ListOutcome::Closes => ScreenStep::Close,
            ListOutcome::Chose => self.step_for_chosen(),
        }
    }
}

fn choice_item(choice: ChoiceOption) -> ListItem<String> {
    let ChoiceOption { value, about, current } = choice;
    ListItem { text: value.clone(), value, about, current, found: false }
}

impl Screen for ChoiceScreen {
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        match self.of {
            ChoiceSubject::Models | ChoiceSubject::Profiles => {
                let ticket = with.next_ticket();
                self.asked = Some(ticket);
                let models = self.of == ChoiceSubject::Models;
                let wish =
                    if models { UiCommand::Models(ticket) } else { UiCommand::Profiles(ticket) };
                ScreenStep::Do(vec![wish])
            }
            ChoiceSubject::Themes => ScreenStep::Stay,
            ChoiceSubject::Thinking => {
                let items = LEVELS.iter().map(|(level, name, about)| ChoiceOption {
                    value: (*name).to_owned(),
                    about: (*about).to_owned(),
                    current: *level == with.settings.thinking,
                });
                self.list = FilterList::new(items.map(choice_item).collect());
                ScreenStep::Stay
            }
        }
    }

    fn handle_key(&mut self, key: KeyEvent, _: &ScreenContext<'_>) -> ScreenStep {
        let did = self.list.handle_key(key);
        self.step_for_outcome(did)
    }

    fn handle_paste(&mut self, text: &str, _: &ScreenContext<'_>) -> ScreenStep {
        let did = self.list.handle_paste(text);
        self.step_for_outcome(did)
    }

    fn handle_update(&mut self, news: &UiUpdate, _: &ScreenContext<'_>) -> ScreenStep {
        match news {
            UiUpdate::Listed { ticket, items: ListResult::Choices(choices) }
                if self.asked == Some(*ticket) =>
            {
                self.list = FilterList::new(choices.iter().cloned().map(choice_item).collect());
            }
            UiUpdate::Failed { ticket, why } if self.asked == Some(*ticket) => {
                self.why = Some(why.clone());
            }
            _ => return ScreenStep::Idle,
        }
        self.asked = None;
        ScreenStep::Stay
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        _: &ScreenContext<'_>,
    ) -> ScreenView {
        let title = match self.of {
            ChoiceSubject::Models => "Models",
            ChoiceSubject::Profiles => "Profiles",
            ChoiceSubject::Themes => "Themes",
            ChoiceSubject::Thinking => "How much the model thinks",
        };
        let empty = match (&self.why, self.asked) {
            (Some(why), _) => crate::text::clean::clean_text(why).replace('\n', " "),
            (None, Some(_)) => "The list is being put together.".into(),
            (None, None) => "Nothing fits these words.".into(),
        };
        let keys =
            &[("Enter", "chooses"), ("Esc", "closes"), ("↑↓", "moves"), ("type", "to filter")];
        self.list.render_view(
            FrameSize::from_size(size),
            theme,
            &ListFrame { title, empty: &empty, keys },
        )
    }
}
