//! Lists to choose from by number, in line mode: sessions, models, profiles, earlier messages.
//! Pure.

use weir_core::ids::{Seq, SessionId};
use weir_core::view::plain::visible_text;

use super::state::{PlainTalk, TicketPurpose};
use super::tell::LineVoice;
use crate::app::entries::TranscriptEntry;
use crate::link::{
    ChoiceOption, DecisionReview, ListResult, RewindScope, SessionLine, SessionTarget, UiCommand,
};
use crate::screen::sessions::time_ago_text;
use crate::words::{one_line, shorten_text};

/// Entries of a list that are printed; words make the list shorter.
const PRINTED_MAX: usize = 20;
/// Longest title that is printed, in characters.
const TITLE_CHARACTERS_MAX: usize = 80;

/// How what was shown is agreed to.
const DECISION_HOW: &str = "Type: yes / no";

/// What the next typed line may choose from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PickList {
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
    /// Whether what was shown is done.
    Decision(Box<DecisionReview>),
}

/// Of what a list of composer choices is; the wish it answers was for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ChoiceKind {
    /// Models.
    #[default]
    Models,
    /// Profiles.
    Profiles,
}

impl PlainTalk {
    /// Prints a list and lets the next line choose.
    pub(super) fn print_list(&mut self, items: ListResult) {
        match items {
            ListResult::Sessions(lines) => self.print_sessions(&lines),
            ListResult::Choices(choices) => self.print_choices(&choices),
            // Nothing here asks for files.
            ListResult::Files(_) => (),
        }
    }

    fn print_sessions(&mut self, lines: &[SessionLine]) {
        if lines.is_empty() {
            return self.print_lines(LineVoice::Quiet, "No such session.");
        }
        let now = (self.options.now)();
        for (number, line) in lines.iter().take(PRINTED_MAX).enumerate() {
            let title = shorten_text(&one_line(&line.title), TITLE_CHARACTERS_MAX);
            let (folder, state) = (one_line(&line.folder), one_line(&line.state));
            let when = time_ago_text(line.last, now);
            let mut text = format!("{}: {title}, in {folder}, {when}, {state}", number + 1);
            if let Some(found) = &line.found {
                let found = shorten_text(&one_line(found), TITLE_CHARACTERS_MAX);
                text.push_str(&format!("; found: {found}"));
            }
            self.print_lines(LineVoice::Text, &text);
        }
        let more = lines.len().saturating_sub(PRINTED_MAX);
        if more > 0 {
            let what = format!("{more} more; /resume WORDS looks for words.");
            self.print_lines(LineVoice::Quiet, &what);
        }
        self.print_lines(LineVoice::Quiet, "Type a number to open one.");
        self.pick = Some(PickList::Session(lines.iter().map(|line| line.id.clone()).collect()));
    }

    fn print_choices(&mut self, choices: &[ChoiceOption]) {
        if choices.is_empty() {
            return self.print_lines(LineVoice::Quiet, "There is nothing to choose from.");
        }
        for (number, choice) in choices.iter().enumerate() {
            let now = if choice.current { " (now)" } else { "" };
            let about = match one_line(&choice.about) {
                about if about.is_empty() => String::new(),
                about => format!(": {about}"),
            };
            let value = one_line(&choice.value);
            self.print_lines(LineVoice::Text, &format!("{}: {value}{now}{about}", number + 1));
        }
        self.print_lines(LineVoice::Quiet, "Type a number to choose one.");
        let values = choices.iter().map(|choice| choice.value.clone()).collect();
        self.pick = Some(match self.kind {
            ChoiceKind::Models => PickList::Model(values),
            ChoiceKind::Profiles => PickList::Profile(values),
        });
    }

    /// Prints earlier messages, the newest first.
    pub(super) fn print_messages(&mut self) {
        let entries = self.app.fold.transcript.entries().iter().rev();
        let said = entries.filter_map(|entry| Some((entry.seq, entry.input_text()?)));
        let said: Vec<(Seq, String)> = said.take(PRINTED_MAX).collect();
        if said.is_empty() {
            return self.print_lines(LineVoice::Quiet, "Nothing was said yet.");
        }
        for (number, (_, text)) in said.iter().enumerate() {
            let text = shorten_text(&one_line(text), TITLE_CHARACTERS_MAX);
            self.print_lines(LineVoice::Text, &format!("{}: {text}", number + 1));
        }
        self.print_lines(LineVoice::Quiet, "Type a number to go back to before that message.");
        self.pick = Some(PickList::Message(said.into_iter().map(|(seq, _)| seq).collect()));
    }

    /// Asks what goes back, after the preview was printed.
    pub(super) fn ask_back(&mut self, before: Seq) {
        let how = "What should go back? Type: conversation / files / both / no";
        self.print_lines(LineVoice::Warn, how);
        self.pick = Some(PickList::Back(before));
    }

    /// A line after a list. An error: it was not about the list, or the list still holds.
    pub(super) fn apply_pick(
        &mut self,
        pick: PickList,
        text: &str,
    ) -> Result<(), Option<PickList>> {
        let pick = match pick {
            PickList::Back(before) => return self.go_back(before, text),
            PickList::Decision(review) => return self.settle_decision(review, text),
            list => list,
        };
        let Ok(number) = text.parse::<usize>() else { return Err(None) };
        let at = number.checked_sub(1);
        let wish = at.and_then(|at| {
            Some(match &pick {
                PickList::Session(ids) => {
                    UiCommand::Open(SessionTarget::Existing(ids.get(at)?.clone()))
                }
                PickList::Model(names) => UiCommand::Model(names.get(at)?.clone()),
                PickList::Profile(names) => UiCommand::Profile(names.get(at)?.clone()),
                PickList::Message(places) => {
                    let before = *places.get(at)?;
                    let ticket = self.new_ticket(TicketPurpose::Preview(before));
                    UiCommand::Preview { before, ticket }
                }
                PickList::Back(_) | PickList::Decision(_) => return None,
            })
        });
        match wish {
            Some(wish) => {
                self.push_command(wish);
                Ok(())
            }
            None => {
                self.print_lines(LineVoice::Warn, "There is no such number in the list.");
                Err(Some(pick))
            }
        }
    }

    /// Prints all that would count and lets the next line say whether it is done.
    pub(super) fn ask_decision(&mut self, review: Box<DecisionReview>) {
        self.print_lines(LineVoice::Label, &one_line(&review.request.typed_line()));
        for line in review.text.trim_end().lines() {
            self.print_lines(LineVoice::Text, &visible_text(line));
        }
        if review.changed {
            let text = "It changed meanwhile, and nothing was done: read it again.";
            self.print_lines(LineVoice::Warn, text);
        }
        if review.editable.is_some() && review.request.own_words.is_none() {
            let words = one_line(&review.request.typed_line_with("WORDS"));
            let text = format!("In your own words: say no, then type {words}");
            self.print_lines(LineVoice::Quiet, &text);
        }
        let question = one_line(&review.question);
        self.print_lines(LineVoice::Warn, &format!("{question} {DECISION_HOW}"));
        self.pick = Some(PickList::Decision(review));
        self.decisions += 1;
    }

    /// Something else asks now, and the next line is for that. A list is typed anew where it is still wanted.
    pub(super) fn drop_pick(&mut self) {
        if let Some(PickList::Decision(review)) = self.pick.take() {
            let typed = one_line(&review.request.typed_line());
            let text = format!("Not decided: {typed}. Type it again afterwards.");
            self.print_lines(LineVoice::Warn, &text);
        }
    }

    /// Only the whole word does it; everything that is not clearly a no is asked again.
    fn settle_decision(
        &mut self,
        review: Box<DecisionReview>,
        text: &str,
    ) -> Result<(), Option<PickList>> {
        match text.to_lowercase().as_str() {
            "yes" => {
                let DecisionReview { request, as_shown, .. } = *review;
                let ticket = self.new_ticket(TicketPurpose::Reading);
                self.push_command(UiCommand::Decide { request, as_shown, ticket });
                Ok(())
            }
            "no" | "n" => {
                self.print_lines(LineVoice::Quiet, "Nothing was changed.");
                Ok(())
            }
            _ => {
                self.print_lines(LineVoice::Warn, &format!("That is not clear. {DECISION_HOW}"));
                Err(Some(PickList::Decision(review)))
            }
        }
    }

    /// Only a clear word goes back; a clear no does not, and everything else is asked again.
    fn go_back(&mut self, before: Seq, text: &str) -> Result<(), Option<PickList>> {
        let back = match text.to_lowercase().as_str() {
            "conversation" | "c" => RewindScope::Conversation,
            "files" | "f" => RewindScope::Files,
            "both" | "b" => RewindScope::Both,
            "no" | "n" => {
                self.print_lines(LineVoice::Quiet, "Nothing was changed.");
                return Ok(());
            }
            _ => {
                let how = "Type: conversation / files / both / no";
                self.print_lines(LineVoice::Warn, &format!("That is not clear. {how}"));
                return Err(Some(PickList::Back(before)));
            }
        };
        let entries = self.app.fold.transcript.entries().iter();
        let message =
            entries.rev().find(|entry| entry.seq == before && entry.accepted_input().is_some());
        if back != RewindScope::Files
            && let Some(text) = message.and_then(TranscriptEntry::input_text)
        {
            self.print_lines(LineVoice::Quiet, &format!("Your message was: {text}"));
        }
        self.push_command(UiCommand::Rewind { before, back });
        Ok(())
    }
}
