//! What the commands of the face do: each is a row of [`super::commands`]. Not here: what a painter
//! makes of what they show.

use weir_core::message::plain_text;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::commands::find_command;
use super::entries::EntryContent;
use super::notes::Loud;
use super::painter::{AppPainter, ShownView};
use super::writing::PrintItem;
use super::{App, TerminalAction};
use crate::compose::WrittenMessage;
use crate::decisions::{TypedDecision, parse_decision, report_words};
use crate::familiar;
use crate::link::{NoticeTone, ReportKind, SessionTarget, UiCommand};
use crate::words::{format_dollars, one_line};

impl App {
    /// A line that begins with a slash. Whether it is done with: names of the session's workflows
    /// and skills are said, and so is a path.
    pub(crate) fn handle_slash_line(&mut self, line: &str, written: &WrittenMessage) -> bool {
        let name = familiar::command_name(line);
        if self.is_said_command(name) {
            return false;
        }
        let known = find_command(self.painter, name).is_some();
        // `/etc/hosts is wrong` is no command, and neither are notes after `//`.
        if !known && (name.is_empty() || name.contains('/')) {
            return false;
        }
        if !self.run_command(line) {
            self.give_back(written);
            let near = familiar::nearest_name(name, self.named.iter().map(|one| one.name.as_str()));
            let near = near.map(|near| format!("did you mean /{}? ", one_line(near)));
            let (name, near) = (one_line(name), near.unwrap_or_default());
            self.show_hint(
                NoticeTone::Bad,
                format!("There is no command /{name}: {near}/help lists all"),
            );
        }
        true
    }

    /// Whether a name stands for a workflow or skill of the session: then it is said.
    pub(crate) fn is_said_command(&self, name: &str) -> bool {
        let of_session = self.fold.named.iter().any(|named| named.name == name);
        let known = find_command(self.painter, name).is_some();
        of_session && (!known || familiar::yields_to_session(name))
    }

    /// Whether only the session can know what a line stands for. Leaving waits for nothing.
    pub(super) fn waits_for_session(&self, line: &str) -> bool {
        let name = familiar::command_name(line);
        name != "exit"
            && (familiar::yields_to_session(name) || find_command(self.painter, name).is_none())
    }

    /// Does what a line says. Whether it is a command of the face.
    pub(crate) fn run_command(&mut self, line: &str) -> bool {
        let line = line.trim();
        let line = line.strip_prefix('/').unwrap_or(line);
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(command) = find_command(self.painter, name) else {
            return false;
        };
        command.run(self, rest.trim());
        self.dirty = true;
        true
    }

    /// A command of a report: what it decides, or else the report.
    pub(super) fn report_command(&mut self, report: ReportKind, rest: &str) {
        let name = report.command_name();
        if !self.decision_command(name, rest) {
            self.show_report(report, report_words(name, rest));
        }
    }

    /// Whether `rest` decides something, or means to: then it is shown, and nothing is done yet.
    fn decision_command(&mut self, name: &str, rest: &str) -> bool {
        match parse_decision(name, rest) {
            TypedDecision::Not => return false,
            TypedDecision::Incomplete(how) => self.reject_argument(name, rest, &how),
            TypedDecision::Asked(request) => self.show_view(ShownView::Decision(request)),
        }
        true
    }

    pub(super) fn trust_command(&mut self, rest: &str) {
        match rest {
            "list" => self.show_report(ReportKind::Trust, ""),
            _ if self.decision_command("trust", rest) => (),
            _ => self.reject_argument("trust", rest, "Type /trust, /trust list or /trust remove"),
        }
    }

    pub(super) fn show_report(&mut self, report: ReportKind, rest: &str) {
        self.show_view(ShownView::Report(report, rest.to_owned()));
    }

    /// What the person's own command printed is said.
    pub(super) fn say_shell_output(&mut self) {
        match self.shell.take_offer() {
            Some(text) => self.say_words(text),
            None => {
                let text = "There is no output of a !command to show.";
                self.show_view(ShownView::Remark(Loud::Quiet, text.into()));
            }
        }
    }

    pub(super) fn model_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_view(ShownView::Models),
            name => self.wishes.push(UiCommand::Model(name.to_owned())),
        }
    }

    pub(super) fn profile_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_view(ShownView::Profiles),
            name => self.wishes.push(UiCommand::Profile(name.to_owned())),
        }
    }

    pub(super) fn permissions_command(&mut self, rest: &str) {
        if report_words("permissions", rest).is_empty() {
            return self.show_report(ReportKind::Permissions, "");
        }
        if self.decision_command("permissions", rest) {
            return;
        }
        match rest.parse::<PermissionMode>() {
            Ok(mode) => self.set_permission_mode(mode),
            Err(why) => self.reject_argument("permissions", rest, &why),
        }
    }

    pub(super) fn thinking_command(&mut self, rest: &str) {
        let thinking = match rest {
            "off" => Thinking::Off,
            "low" => Thinking::Low,
            "medium" => Thinking::Medium,
            "high" => Thinking::High,
            "" => return self.show_view(ShownView::Thinking),
            _ => return self.reject_argument("thinking", rest, "Choose off, low, medium or high"),
        };
        self.set_thinking(thinking);
    }

    pub(super) fn theme_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_view(ShownView::Themes),
            name => self.acts.push(TerminalAction::Theme(name.to_owned())),
        }
    }

    /// An argument that cannot be: what was typed is given back.
    pub(super) fn reject_argument(&mut self, name: &str, rest: &str, why: &str) {
        if self.painter == AppPainter::Screen {
            self.composer.set_text(&format!("/{name} {rest}"));
        }
        self.show_hint(NoticeTone::Bad, one_line(why));
    }

    /// Mode plan; with a task, it is said in it.
    pub(super) fn plan_command(&mut self, rest: &str) {
        self.set_permission_mode(PermissionMode::Plan);
        if rest.is_empty() {
            self.show_hint(
                NoticeTone::Quiet,
                "Mode plan: nothing is changed. /permissions ask goes back",
            );
        } else {
            self.say_words(rest.to_owned());
        }
    }

    /// Says words that no person wrote letter by letter.
    pub(super) fn say_words(&mut self, text: String) {
        self.send_message(WrittenMessage { text, ..WrittenMessage::default() });
    }

    pub(super) fn note_familiar_answer(&mut self, name: &str) {
        if let Some(text) = familiar::familiar_answer(name) {
            // It is to be read at leisure: it is no hint that goes by itself.
            self.show_view(ShownView::Remark(Loud::Quiet, format!("{text}.")));
        }
    }

    pub(super) fn copy_command(&mut self, rest: &str) {
        if self.painter == AppPainter::Lines {
            let text =
                "Line mode has no clipboard: select the text, or /export writes it to a file.";
            return self.show_view(ShownView::Remark(Loud::Quiet, text.into()));
        }
        let entries = self.fold.transcript.entries().iter().rev();
        let mut answers = entries.filter_map(|entry| match &entry.what {
            EntryContent::Replied { fact, .. } => Some(plain_text(&fact.content)),
            _ => None,
        });
        let answer = answers.find(|text| !text.trim().is_empty());
        if answer.is_none() && self.fold.transcript.earlier_entries().is_some() {
            return self.copy_when_read(rest);
        }
        match familiar::to_copy(answer.as_deref(), rest) {
            Ok((text, told)) => {
                self.acts.push(TerminalAction::Copy(text));
                self.show_hint(NoticeTone::Good, told);
            }
            Err(why) => self.show_hint(NoticeTone::Bad, why),
        }
    }

    pub(super) fn status_command(&mut self) {
        let (settings, meters) = (&self.fold.settings, self.fold.view.meters());
        let cost = format!(
            "{}{}",
            format_dollars(meters.cost_usd),
            if meters.cost_open { " and what has no known price" } else { "" }
        );
        let text = familiar::status_text(&familiar::StatusReport {
            session: settings.session.as_ref().map(weir_core::ids::SessionId::as_str),
            about: &self.about,
            model: &settings.model,
            profile: &settings.profile,
            permission: settings.permission,
            thinking: settings.thinking,
            context: meters.context,
            window: meters.window,
            tokens: meters.tokens,
            cost: &cost,
        });
        self.show_view(ShownView::Status(text));
    }

    pub(super) fn fork_command(&mut self, _: &str) {
        match self.fold.settings.session.clone() {
            Some(of) => {
                self.copying = Some(of.clone());
                self.wishes.push(UiCommand::Open(SessionTarget::Fork { of, before: None }));
            }
            None => self.show_hint(NoticeTone::Bad, "There is nothing to copy yet"),
        }
    }

    pub(super) fn clear(&mut self, _: &str) {
        self.fold.prints.push_back(PrintItem::Screen);
        self.wishes.push(UiCommand::Open(SessionTarget::New));
    }

    /// What a person typed at once with the name: for tests and for lines that come from a screen.
    #[cfg(test)]
    pub(crate) fn typed(&mut self, text: &str) {
        self.send_written(WrittenMessage::seen(text));
    }
}
