//! Lists to choose from by number, in line mode: sessions, models, profiles, earlier messages.
//! Pure.

use weir_core::ids::{Seq, SessionId};

use super::state::{For, Talk};
use super::tell::Voice;
use crate::link::{Back, Choice, Items, SessionLine, Which, Wish};
use crate::screen::sessions::ago;
use crate::words::{brief, one_line};

/// Entries of a list that are printed; words make the list shorter.
const PRINTED_MAX: usize = 20;
/// Longest title that is printed, in characters.
const TITLE_CHARACTERS_MAX: usize = 80;

/// What the next typed line may choose from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pick {
    /// One of these sessions.
    Session(Vec<SessionId>),
    /// One of these models.
    Model(Vec<String>),
    /// One of these profiles.
    Profile(Vec<String>),
    /// One of these messages: it is gone back to before it.
    Message(Vec<Seq>),
    /// What goes back to before this place.
    Back(Seq),
}

/// Of what a list of [`Items::Choices`] is; the wish it answers was for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    /// Models.
    #[default]
    Models,
    /// Profiles.
    Profiles,
}

impl Talk {
    /// Prints a list and lets the next line choose.
    pub(super) fn listed(&mut self, items: Items) {
        match items {
            Items::Sessions(lines) => self.sessions(&lines),
            Items::Choices(choices) => self.choices(&choices),
            // Nothing here asks for files.
            Items::Files(_) => (),
        }
    }

    fn sessions(&mut self, lines: &[SessionLine]) {
        if lines.is_empty() {
            return self.say(Voice::Quiet, "No such session.");
        }
        let now = (self.options.now)();
        for (number, line) in lines.iter().take(PRINTED_MAX).enumerate() {
            let title = brief(&one_line(&line.title), TITLE_CHARACTERS_MAX);
            let (folder, state) = (one_line(&line.folder), one_line(&line.state));
            let when = ago(line.last, now);
            let mut text = format!("{}: {title}, in {folder}, {when}, {state}", number + 1);
            if let Some(found) = &line.found {
                let found = brief(&one_line(found), TITLE_CHARACTERS_MAX);
                text.push_str(&format!("; found: {found}"));
            }
            self.say(Voice::Text, &text);
        }
        let more = lines.len().saturating_sub(PRINTED_MAX);
        if more > 0 {
            let what = format!("{more} more; /resume WORDS looks for words.");
            self.say(Voice::Quiet, &what);
        }
        self.say(Voice::Quiet, "Type a number to open one.");
        self.pick = Some(Pick::Session(lines.iter().map(|line| line.id.clone()).collect()));
    }

    fn choices(&mut self, choices: &[Choice]) {
        if choices.is_empty() {
            return self.say(Voice::Quiet, "There is nothing to choose from.");
        }
        for (number, choice) in choices.iter().enumerate() {
            let now = if choice.current { " (now)" } else { "" };
            let about = match one_line(&choice.about) {
                about if about.is_empty() => String::new(),
                about => format!(": {about}"),
            };
            let value = one_line(&choice.value);
            self.say(Voice::Text, &format!("{}: {value}{now}{about}", number + 1));
        }
        self.say(Voice::Quiet, "Type a number to choose one.");
        let values = choices.iter().map(|choice| choice.value.clone()).collect();
        self.pick = Some(match self.kind {
            Kind::Models => Pick::Model(values),
            Kind::Profiles => Pick::Profile(values),
        });
    }

    /// Prints earlier messages, the newest first.
    pub(super) fn messages(&mut self) {
        let said: Vec<(Seq, String)> =
            self.open.said.iter().rev().take(PRINTED_MAX).cloned().collect();
        if said.is_empty() {
            return self.say(Voice::Quiet, "Nothing was said yet.");
        }
        for (number, (_, text)) in said.iter().enumerate() {
            let text = brief(&one_line(text), TITLE_CHARACTERS_MAX);
            self.say(Voice::Text, &format!("{}: {text}", number + 1));
        }
        self.say(Voice::Quiet, "Type a number to go back to before that message.");
        self.pick = Some(Pick::Message(said.into_iter().map(|(seq, _)| seq).collect()));
    }

    /// Asks what goes back, after the preview was printed.
    pub(super) fn ask_back(&mut self, before: Seq) {
        let how = "What should go back? Type: conversation / files / both / no";
        self.say(Voice::Warn, how);
        self.pick = Some(Pick::Back(before));
    }

    /// A line after a list. An error: it was not about the list, or the list still holds.
    pub(super) fn picked(&mut self, pick: Pick, text: &str) -> Result<(), Option<Pick>> {
        if let Pick::Back(before) = pick {
            return self.go_back(before, text);
        }
        let Ok(number) = text.parse::<usize>() else { return Err(None) };
        let at = number.checked_sub(1);
        let wish = at.and_then(|at| {
            Some(match &pick {
                Pick::Session(ids) => Wish::Open(Which::Existing(ids.get(at)?.clone())),
                Pick::Model(names) => Wish::Model(names.get(at)?.clone()),
                Pick::Profile(names) => Wish::Profile(names.get(at)?.clone()),
                Pick::Message(places) => {
                    let before = *places.get(at)?;
                    let ticket = self.ticket(For::Preview(before));
                    Wish::Preview { before, ticket }
                }
                Pick::Back(_) => return None,
            })
        });
        match wish {
            Some(wish) => {
                self.wish(wish);
                Ok(())
            }
            None => {
                self.say(Voice::Warn, "There is no such number in the list.");
                Err(Some(pick))
            }
        }
    }

    /// Only a clear word goes back; a clear no does not, and everything else is asked again.
    fn go_back(&mut self, before: Seq, text: &str) -> Result<(), Option<Pick>> {
        let back = match text.to_lowercase().as_str() {
            "conversation" | "c" => Back::Conversation,
            "files" | "f" => Back::Files,
            "both" | "b" => Back::Both,
            "no" | "n" => {
                self.say(Voice::Quiet, "Nothing was changed.");
                return Ok(());
            }
            _ => {
                let how = "Type: conversation / files / both / no";
                self.say(Voice::Warn, &format!("That is not clear. {how}"));
                return Err(Some(Pick::Back(before)));
            }
        };
        if back != Back::Files
            && let Some((_, text)) = self.open.said.iter().find(|(seq, _)| *seq == before)
        {
            let text = format!("Your message was: {text}");
            self.say(Voice::Quiet, &text);
        }
        self.wish(Wish::Rewind { before, back });
        Ok(())
    }
}
