//! What commands show in line mode: printed, or asked of the other end and printed when it comes. Pure.
//! Not here: the commands themselves, which are the app's.

use super::picks::ChoiceKind;
use super::state::{PlainTalk, TicketPurpose};
use super::tell::{LineVoice, voice_for_tone};
use crate::app::commands::face_commands;
use crate::app::painter::{AppPainter, ShownView};
use crate::link::UiCommand;
use crate::words::{one_line, thinking_word};

/// How another level is chosen.
const THINKING_HOW: &str = "type /thinking off, low, medium or high";

impl PlainTalk {
    /// Shows what waits to be shown.
    pub(super) fn show_views(&mut self) {
        for view in self.app.take_views() {
            self.print_view(view);
        }
    }

    fn print_view(&mut self, view: ShownView) {
        match view {
            ShownView::Help => self.print_help(),
            ShownView::Models => {
                self.kind = ChoiceKind::Models;
                self.request(UiCommand::Models);
            }
            ShownView::Profiles => {
                self.kind = ChoiceKind::Profiles;
                self.request(UiCommand::Profiles);
            }
            ShownView::Thinking => {
                let now =
                    self.holds.as_ref().map_or("not known", |holds| thinking_word(holds.thinking));
                self.print_lines(LineVoice::Quiet, &format!("thinking: {now}; {THINKING_HOW}"));
            }
            ShownView::Sessions(query) => {
                self.request(|ticket| UiCommand::Sessions { query, ticket });
            }
            ShownView::Rewind => self.print_messages(),
            ShownView::Report(report, arguments) => {
                self.request(|ticket| UiCommand::Report { report, arguments, ticket });
            }
            ShownView::Decision(request) => {
                self.request(|ticket| UiCommand::Review { request, ticket });
            }
            ShownView::Status(text) => self.print_lines(LineVoice::Text, text.trim_end()),
            ShownView::Clipboard => self.request(UiCommand::Clipboard),
            ShownView::Remark(loud, text) => self.print_lines(voice_for_tone(loud), &text),
            ShownView::Stop if self.is_running() => self.cancel_run(),
            ShownView::Stop => self.print_lines(LineVoice::Quiet, "Nothing runs."),
            ShownView::AskAgain => {
                self.drop_pick();
                let lines = self.asks.show_again(self.app.fold.view.asks().first());
                self.print_ask_lines(LineVoice::Warn, lines);
            }
            ShownView::WholeAsk => {
                self.drop_pick();
                let ask = self.app.fold.view.asks().first();
                let lines = ask.and_then(|ask| self.asks.full_subject_lines(ask));
                self.print_ask_lines(LineVoice::Text, lines);
            }
            ShownView::Leave => self.handle_end_of_input(),
            // Lines have the colours that they began with.
            ShownView::Themes => (),
        }
    }

    /// Asks the other end for something to read or to choose from.
    fn request(&mut self, wish: impl FnOnce(u64) -> UiCommand) {
        let ticket = self.new_ticket(TicketPurpose::Reading);
        self.push_command(wish(ticket));
    }

    fn print_ask_lines(&mut self, voice: LineVoice, lines: Option<Vec<String>>) {
        match lines {
            Some(lines) => self.print_lines(voice, &lines.join("\n")),
            None => self.print_lines(LineVoice::Quiet, "Nothing asks."),
        }
    }

    fn print_help(&mut self) {
        self.print_lines(LineVoice::Label, "What you type is sent to the assistant.");
        let lines = [
            "A line that ends with \\ goes on with the next one.",
            "A line that begins with ! runs in your shell. @FILE names a file.",
            "Ctrl-C stops the run; Ctrl-D leaves.",
            "Permission modes: plan reads only; ask asks before every change; auto-edit changes \
             files of the workspace, runs confined commands without network and follows links, \
             without asking; full asks only what is always asked.",
            "Commands:",
        ];
        lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
        for known in face_commands(AppPainter::Lines) {
            let gap = if known.hint.is_empty() { "" } else { " " };
            let line = format!("  /{}{gap}{}: {}", known.name, known.hint, known.about);
            self.print_lines(LineVoice::Text, &line);
        }
        for named in self.app.fold.named.clone() {
            let gap = if named.hint.is_empty() { "" } else { " " };
            let (kind, about) = (one_line(&named.kind), one_line(&named.about));
            let line = format!("  /{}{gap}{}: {about} ({kind})", named.name, named.hint);
            self.print_lines(LineVoice::Text, &line);
        }
    }
}
