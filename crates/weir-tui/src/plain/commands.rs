//! What can be typed as `/name` in line mode. Pure. Not here: commands of the session itself
//! (workflows, skills), which go to the engine as they are.

use weir_core::input::PersonCommand;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::heard::thinking_level_name;
use super::picks::ChoiceKind;
use super::state::{PlainTalk, TicketPurpose};
use super::tell::LineVoice;
use crate::app::commands::COMMANDS;
use crate::familiar;
use crate::link::{ReportKind, SessionTarget, UiCommand};
use crate::words::one_line;

/// A command of line mode.
struct LineCommand {
    name: &'static str,
    does: CommandAction,
    /// What it takes and what it does, where the face for whole terminals has no such command.
    only_here: Option<(&'static str, &'static str)>,
}

impl LineCommand {
    /// What it takes and what it does.
    fn usage_and_summary(&self) -> (&'static str, &'static str) {
        self.only_here.unwrap_or_else(|| {
            let command = COMMANDS.iter().find(|command| command.name == self.name);
            command.map_or(("", ""), |command| (command.hint, command.about))
        })
    }
}

#[derive(Clone, Copy)]
enum CommandAction {
    Help,
    Models,
    Profiles,
    Mode,
    Think,
    Read(ReportKind),
    Condense,
    Sessions,
    Fork,
    Undo,
    Back,
    Export,
    Paste,
    Clear,
    Cancel,
    Full,
    Again,
    Withdraw,
    Show,
    Pause,
    Release,
    Plan,
    Init,
    Review,
    Copy,
    Status,
    Answer,
    Quit,
}

const fn shared_command(name: &'static str, does: CommandAction) -> LineCommand {
    LineCommand { name, does, only_here: None }
}

const fn line_mode_command(
    name: &'static str,
    takes: &'static str,
    about: &'static str,
    does: CommandAction,
) -> LineCommand {
    LineCommand { name, does, only_here: Some((takes, about)) }
}

/// All of them, in the order in which they are shown.
const KNOWN: &[LineCommand] = &[
    shared_command("help", CommandAction::Help),
    line_mode_command("cancel", "", "Ends the run, as Ctrl-C does", CommandAction::Cancel),
    line_mode_command(
        "withdraw",
        "",
        "Takes the last queued message back",
        CommandAction::Withdraw,
    ),
    line_mode_command("again", "", "Prints again what asks", CommandAction::Again),
    line_mode_command("full", "", "Prints all of what asks", CommandAction::Full),
    shared_command("call", CommandAction::Read(ReportKind::Call)),
    shared_command("model", CommandAction::Models),
    shared_command("profile", CommandAction::Profiles),
    shared_command("permissions", CommandAction::Mode),
    shared_command("thinking", CommandAction::Think),
    shared_command("context", CommandAction::Read(ReportKind::Context)),
    shared_command("paste", CommandAction::Paste),
    shared_command("compact", CommandAction::Condense),
    shared_command("cost", CommandAction::Read(ReportKind::Cost)),
    shared_command("resume", CommandAction::Sessions),
    shared_command("clear", CommandAction::Clear),
    shared_command("fork", CommandAction::Fork),
    shared_command("undo", CommandAction::Undo),
    shared_command("rewind", CommandAction::Back),
    shared_command("checkpoints", CommandAction::Read(ReportKind::Checkpoints)),
    shared_command("memory", CommandAction::Read(ReportKind::Memory)),
    shared_command("skills", CommandAction::Read(ReportKind::Skills)),
    shared_command("recipes", CommandAction::Read(ReportKind::Recipes)),
    shared_command("agents", CommandAction::Read(ReportKind::Agents)),
    shared_command("mcp", CommandAction::Read(ReportKind::Mcp)),
    shared_command("tools", CommandAction::Read(ReportKind::Tools)),
    line_mode_command(
        "show",
        "",
        "Sends the output of the last !command to the model",
        CommandAction::Show,
    ),
    shared_command("export", CommandAction::Export),
    shared_command("doctor", CommandAction::Read(ReportKind::Doctor)),
    shared_command("pause", CommandAction::Pause),
    shared_command("release", CommandAction::Release),
    shared_command("new", CommandAction::Clear),
    shared_command("plan", CommandAction::Plan),
    shared_command("init", CommandAction::Init),
    shared_command("review", CommandAction::Review),
    shared_command("diff", CommandAction::Read(ReportKind::Diff)),
    shared_command("copy", CommandAction::Copy),
    shared_command("status", CommandAction::Status),
    shared_command("usage", CommandAction::Read(ReportKind::Cost)),
    shared_command("config", CommandAction::Read(ReportKind::Config)),
    shared_command("login", CommandAction::Answer),
    shared_command("rename", CommandAction::Answer),
    shared_command("hooks", CommandAction::Answer),
    shared_command("quit", CommandAction::Quit),
    shared_command("exit", CommandAction::Quit),
];

/// Other names of the same.
const ALIASES: &[(&str, &str)] = &[("sessions", "resume")];

impl PlainTalk {
    /// `/name arguments` was typed; `whole` is the line.
    pub(super) fn run_command(&mut self, name: &str, arguments: &str, whole: &str) {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        let of_session = self.open.named.iter().any(|named| named.name == name);
        let known = KNOWN.iter().find(|known| known.name == name);
        let Some(command) =
            known.filter(|one| !(of_session && familiar::yields_to_session(one.name)))
        else {
            if of_session {
                return self.send_message(whole.trim());
            }
            let names = KNOWN.iter().map(|known| known.name);
            let names = names.chain(self.open.named.iter().map(|named| named.name.as_str()));
            let near = familiar::nearest_name(name, names);
            let near = near.map(|near| format!("did you mean /{}? ", one_line(near)));
            let (name, near) = (one_line(name), near.unwrap_or_default());
            let how = format!("{near}It was not sent; /help lists all");
            return self.print_lines(
                LineVoice::Bad,
                &format!("error: there is no command /{name}: {how}"),
            );
        };
        match command.does {
            CommandAction::Models if arguments.is_empty() => {
                self.kind = ChoiceKind::Models;
                let ticket = self.new_ticket(TicketPurpose::Reading);
                self.push_command(UiCommand::Models(ticket));
            }
            CommandAction::Models => self.push_command(UiCommand::Model(arguments.to_owned())),
            CommandAction::Profiles if arguments.is_empty() => {
                self.kind = ChoiceKind::Profiles;
                let ticket = self.new_ticket(TicketPurpose::Reading);
                self.push_command(UiCommand::Profiles(ticket));
            }
            CommandAction::Profiles => self.push_command(UiCommand::Profile(arguments.to_owned())),
            CommandAction::Mode => self.set_mode(arguments),
            CommandAction::Think => self.set_thinking(arguments),
            CommandAction::Read(report) => self.request_report(report, arguments),
            CommandAction::Condense => self.push_command(UiCommand::Condense(arguments.to_owned())),
            CommandAction::Sessions => {
                let ticket = self.new_ticket(TicketPurpose::Reading);
                self.push_command(UiCommand::Sessions { query: arguments.to_owned(), ticket });
            }
            CommandAction::Paste => {
                let ticket = self.new_ticket(TicketPurpose::Reading);
                self.push_command(UiCommand::Clipboard(ticket));
            }
            CommandAction::Export => self.push_command(UiCommand::Export(arguments.to_owned())),
            CommandAction::Plan => {
                self.push_command(UiCommand::Mode(PermissionMode::Plan));
                if !arguments.is_empty() {
                    self.send_message(arguments);
                }
            }
            CommandAction::Review => self.send_message(&familiar::review_prompt(arguments)),
            CommandAction::Answer => {
                let text = familiar::familiar_answer(command.name).unwrap_or_default();
                self.print_lines(LineVoice::Quiet, &format!("{text}."));
            }
            CommandAction::Pause => {
                let reason = if arguments.is_empty() { "stopped by hand" } else { arguments };
                self.push_command(UiCommand::Pause(Some(reason.to_owned())));
            }
            does => self.plain_command(does),
        }
    }

    /// Commands that take nothing.
    fn plain_command(&mut self, does: CommandAction) {
        match does {
            CommandAction::Help => self.show_help(),
            CommandAction::Clear => self.push_command(UiCommand::Open(SessionTarget::New)),
            CommandAction::Fork => match self.open.id.clone() {
                Some(of) => {
                    let text = "Opening a copy: what you say from here on stands in the copy, and \
                                this session stays as it is.";
                    self.print_lines(LineVoice::Quiet, text);
                    self.push_command(UiCommand::Open(SessionTarget::Fork { of, before: None }));
                }
                None => self.print_lines(LineVoice::Bad, "error: there is nothing to copy yet."),
            },
            CommandAction::Undo => self.push_command(UiCommand::Undo),
            CommandAction::Back => self.print_messages(),
            CommandAction::Cancel if self.open.running => self.cancel_run(),
            CommandAction::Cancel => self.print_lines(LineVoice::Quiet, "Nothing runs."),
            CommandAction::Full => match self.asks.full_subject_lines() {
                Some(lines) => self.print_lines(LineVoice::Text, &lines.join("\n")),
                None => self.print_lines(LineVoice::Quiet, "Nothing asks."),
            },
            CommandAction::Again => match self.asks.show_again() {
                Some(lines) => self.print_lines(LineVoice::Warn, &lines.join("\n")),
                None => self.print_lines(LineVoice::Quiet, "Nothing asks."),
            },
            CommandAction::Withdraw => match self.open.queued.last() {
                Some(waits) => self
                    .push_command(UiCommand::Tell(PersonCommand::Withdraw { input: waits.input })),
                None => self.print_lines(LineVoice::Quiet, "No message waits."),
            },
            CommandAction::Show => match self.shown.take() {
                Some(text) => self.send_message(&text),
                None => {
                    self.print_lines(LineVoice::Quiet, "There is no output of a !command to show.")
                }
            },
            CommandAction::Release => self.push_command(UiCommand::Release),
            CommandAction::Init => self.send_message(familiar::INIT),
            CommandAction::Copy => {
                let text =
                    "Line mode has no clipboard: select the text, or /export writes it to a file.";
                self.print_lines(LineVoice::Quiet, text);
            }
            CommandAction::Status => self.show_status(),
            CommandAction::Quit => self.handle_end_of_input(),
            CommandAction::Models
            | CommandAction::Profiles
            | CommandAction::Mode
            | CommandAction::Think
            | CommandAction::Read(_)
            | CommandAction::Condense
            | CommandAction::Sessions
            | CommandAction::Paste
            | CommandAction::Export
            | CommandAction::Plan
            | CommandAction::Review
            | CommandAction::Answer
            | CommandAction::Pause => (),
        }
    }

    fn request_report(&mut self, report: ReportKind, arguments: &str) {
        let ticket = self.new_ticket(TicketPurpose::Reading);
        self.push_command(UiCommand::Report { report, arguments: arguments.to_owned(), ticket });
    }

    fn show_status(&mut self) {
        let holds = self.open.holds.as_ref();
        let text = familiar::status_text(&familiar::StatusReport {
            session: self.open.id.as_ref().map(weir_core::ids::SessionId::as_str),
            about: &self.open.about,
            model: holds.map_or("not known yet", |holds| &holds.model),
            profile: holds.map_or("not known yet", |holds| &holds.profile),
            permission: holds.map(|holds| holds.permission).unwrap_or_default(),
            thinking: holds.map(|holds| holds.thinking).unwrap_or_default(),
            used: None,
        });
        self.print_lines(LineVoice::Text, text.trim_end());
    }

    fn set_mode(&mut self, arguments: &str) {
        if arguments.is_empty() {
            return self.request_report(ReportKind::Permissions, "");
        }
        match arguments.parse::<PermissionMode>() {
            Ok(mode) => self.push_command(UiCommand::Mode(mode)),
            Err(why) => self.print_lines(LineVoice::Bad, &format!("error: {why}")),
        }
    }

    fn set_thinking(&mut self, arguments: &str) {
        const LEVELS: [Thinking; 4] =
            [Thinking::Off, Thinking::Low, Thinking::Medium, Thinking::High];
        match LEVELS.into_iter().find(|level| thinking_level_name(*level) == arguments) {
            Some(level) => self.push_command(UiCommand::Thinking(level)),
            None => {
                let now = self
                    .open
                    .holds
                    .as_ref()
                    .map_or("not known", |h| thinking_level_name(h.thinking));
                let how = "type /thinking off, low, medium or high";
                self.print_lines(LineVoice::Quiet, &format!("thinking: {now}; {how}"));
            }
        }
    }

    fn show_help(&mut self) {
        self.print_lines(LineVoice::Label, "What you type is sent to the assistant.");
        let lines = [
            "A line that ends with \\ goes on with the next one.",
            "A line that begins with ! runs in your shell. @FILE names a file.",
            "Ctrl-C stops the run; Ctrl-D leaves.",
            "Permission modes: plan reads only; ask asks before every change; auto-edit changes \
             files of the workspace without asking; full asks only what is always asked.",
            "Commands:",
        ];
        lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
        for known in KNOWN {
            let (takes, about) = known.usage_and_summary();
            let between = if takes.is_empty() { "" } else { " " };
            self.print_lines(
                LineVoice::Text,
                &format!("  /{}{between}{takes}: {about}", known.name),
            );
        }
        for named in self.open.named.clone() {
            let hint = if named.hint.is_empty() { "" } else { " " };
            let (kind, about) = (one_line(&named.kind), one_line(&named.about));
            let line = format!("  /{}{hint}{}: {about} ({kind})", named.name, named.hint);
            self.print_lines(LineVoice::Text, &line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that mean nothing without a whole terminal.
    const NOT_HERE: &[&str] = &["theme"];

    #[test]
    fn f1_line_mode_has_every_command_that_makes_sense_in_it() {
        for command in COMMANDS {
            let here = KNOWN.iter().any(|known| known.name == command.name);
            assert_ne!(here, NOT_HERE.contains(&command.name), "/{}", command.name);
        }
        for known in KNOWN {
            assert!(!known.usage_and_summary().1.is_empty(), "/{} says what it does", known.name);
            let both = COMMANDS.iter().any(|command| command.name == known.name);
            assert_ne!(both, known.only_here.is_some(), "/{}", known.name);
        }
    }
}
