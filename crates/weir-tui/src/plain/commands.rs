//! What can be typed as `/name` in line mode. Pure. Not here: commands of the session itself
//! (workflows, skills), which go to the engine as they are.

use weir_core::input::PersonCommand;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::heard::thinking;
use super::picks::Kind;
use super::state::{For, Talk};
use super::tell::Voice;
use crate::app::commands::COMMANDS;
use crate::familiar;
use crate::link::{Report, Which, Wish};
use crate::words::one_line;

/// A command of line mode.
struct Known {
    name: &'static str,
    does: Does,
    /// What it takes and what it does, where the face for whole terminals has no such command.
    only_here: Option<(&'static str, &'static str)>,
}

impl Known {
    /// What it takes and what it does.
    fn words(&self) -> (&'static str, &'static str) {
        self.only_here.unwrap_or_else(|| {
            let command = COMMANDS.iter().find(|command| command.name == self.name);
            command.map_or(("", ""), |command| (command.hint, command.about))
        })
    }
}

#[derive(Clone, Copy)]
enum Does {
    Help,
    Models,
    Profiles,
    Mode,
    Think,
    Read(Report),
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

const fn like(name: &'static str, does: Does) -> Known {
    Known { name, does, only_here: None }
}

const fn only(name: &'static str, takes: &'static str, about: &'static str, does: Does) -> Known {
    Known { name, does, only_here: Some((takes, about)) }
}

/// All of them, in the order in which they are shown.
const KNOWN: &[Known] = &[
    like("help", Does::Help),
    only("cancel", "", "Ends the run, as Ctrl-C does", Does::Cancel),
    only("withdraw", "", "Takes the last queued message back", Does::Withdraw),
    only("again", "", "Prints again what asks", Does::Again),
    only("full", "", "Prints all of what asks", Does::Full),
    like("call", Does::Read(Report::Call)),
    like("model", Does::Models),
    like("profile", Does::Profiles),
    like("permissions", Does::Mode),
    like("thinking", Does::Think),
    like("context", Does::Read(Report::Context)),
    like("paste", Does::Paste),
    like("compact", Does::Condense),
    like("cost", Does::Read(Report::Cost)),
    like("resume", Does::Sessions),
    like("clear", Does::Clear),
    like("fork", Does::Fork),
    like("undo", Does::Undo),
    like("rewind", Does::Back),
    like("checkpoints", Does::Read(Report::Checkpoints)),
    like("memory", Does::Read(Report::Memory)),
    like("skills", Does::Read(Report::Skills)),
    like("recipes", Does::Read(Report::Recipes)),
    like("agents", Does::Read(Report::Agents)),
    like("mcp", Does::Read(Report::Mcp)),
    like("tools", Does::Read(Report::Tools)),
    only("show", "", "Sends the output of the last !command to the model", Does::Show),
    like("export", Does::Export),
    like("doctor", Does::Read(Report::Doctor)),
    like("pause", Does::Pause),
    like("release", Does::Release),
    like("new", Does::Clear),
    like("plan", Does::Plan),
    like("init", Does::Init),
    like("review", Does::Review),
    like("diff", Does::Read(Report::Diff)),
    like("copy", Does::Copy),
    like("status", Does::Status),
    like("usage", Does::Read(Report::Cost)),
    like("config", Does::Read(Report::Config)),
    like("login", Does::Answer),
    like("rename", Does::Answer),
    like("hooks", Does::Answer),
    like("quit", Does::Quit),
    like("exit", Does::Quit),
];

/// Other names of the same.
const ALIASES: &[(&str, &str)] = &[("sessions", "resume")];

impl Talk {
    /// `/name arguments` was typed; `whole` is the line.
    pub(super) fn command(&mut self, name: &str, arguments: &str, whole: &str) {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        let of_session = self.open.named.iter().any(|named| named.name == name);
        let known = KNOWN.iter().find(|known| known.name == name);
        let Some(command) = known.filter(|one| !(of_session && familiar::yields(one.name))) else {
            if of_session {
                return self.message(whole.trim());
            }
            let names = KNOWN.iter().map(|known| known.name);
            let names = names.chain(self.open.named.iter().map(|named| named.name.as_str()));
            let near = familiar::nearest(name, names);
            let near = near.map(|near| format!("did you mean /{}? ", one_line(near)));
            let (name, near) = (one_line(name), near.unwrap_or_default());
            let how = format!("{near}It was not sent; /help lists all");
            return self.say(Voice::Bad, &format!("error: there is no command /{name}: {how}"));
        };
        match command.does {
            Does::Models if arguments.is_empty() => {
                self.kind = Kind::Models;
                let ticket = self.ticket(For::Reading);
                self.wish(Wish::Models(ticket));
            }
            Does::Models => self.wish(Wish::Model(arguments.to_owned())),
            Does::Profiles if arguments.is_empty() => {
                self.kind = Kind::Profiles;
                let ticket = self.ticket(For::Reading);
                self.wish(Wish::Profiles(ticket));
            }
            Does::Profiles => self.wish(Wish::Profile(arguments.to_owned())),
            Does::Mode => self.mode(arguments),
            Does::Think => self.think(arguments),
            Does::Read(report) => self.read(report, arguments),
            Does::Condense => self.wish(Wish::Condense(arguments.to_owned())),
            Does::Sessions => {
                let ticket = self.ticket(For::Reading);
                self.wish(Wish::Sessions { query: arguments.to_owned(), ticket });
            }
            Does::Paste => {
                let ticket = self.ticket(For::Reading);
                self.wish(Wish::Clipboard(ticket));
            }
            Does::Export => self.wish(Wish::Export(arguments.to_owned())),
            Does::Plan => {
                self.wish(Wish::Mode(PermissionMode::Plan));
                if !arguments.is_empty() {
                    self.message(arguments);
                }
            }
            Does::Review => self.message(&familiar::review(arguments)),
            Does::Answer => {
                let text = familiar::answered(command.name).unwrap_or_default();
                self.say(Voice::Quiet, &format!("{text}."));
            }
            Does::Pause => {
                let reason = if arguments.is_empty() { "stopped by hand" } else { arguments };
                self.wish(Wish::Pause(Some(reason.to_owned())));
            }
            does => self.plain_command(does),
        }
    }

    /// Commands that take nothing.
    fn plain_command(&mut self, does: Does) {
        match does {
            Does::Help => self.help(),
            Does::Clear => self.wish(Wish::Open(Which::New)),
            Does::Fork => match self.open.id.clone() {
                Some(of) => {
                    let text = "Opening a copy: what you say from here on stands in the copy, and \
                                this session stays as it is.";
                    self.say(Voice::Quiet, text);
                    self.wish(Wish::Open(Which::Fork { of, before: None }));
                }
                None => self.say(Voice::Bad, "error: there is nothing to copy yet."),
            },
            Does::Undo => self.wish(Wish::Undo),
            Does::Back => self.messages(),
            Does::Cancel if self.open.running => self.cancel(),
            Does::Cancel => self.say(Voice::Quiet, "Nothing runs."),
            Does::Full => match self.asks.whole() {
                Some(lines) => self.say(Voice::Text, &lines.join("\n")),
                None => self.say(Voice::Quiet, "Nothing asks."),
            },
            Does::Again => match self.asks.again() {
                Some(lines) => self.say(Voice::Warn, &lines.join("\n")),
                None => self.say(Voice::Quiet, "Nothing asks."),
            },
            Does::Withdraw => match self.open.queued.last() {
                Some(waits) => {
                    self.wish(Wish::Tell(PersonCommand::Withdraw { input: waits.input }))
                }
                None => self.say(Voice::Quiet, "No message waits."),
            },
            Does::Show => match self.shown.take() {
                Some(text) => self.message(&text),
                None => self.say(Voice::Quiet, "There is no output of a !command to show."),
            },
            Does::Release => self.wish(Wish::Release),
            Does::Init => self.message(familiar::INIT),
            Does::Copy => {
                let text =
                    "Line mode has no clipboard: select the text, or /export writes it to a file.";
                self.say(Voice::Quiet, text);
            }
            Does::Status => self.status(),
            Does::Quit => self.ended(),
            Does::Models
            | Does::Profiles
            | Does::Mode
            | Does::Think
            | Does::Read(_)
            | Does::Condense
            | Does::Sessions
            | Does::Paste
            | Does::Export
            | Does::Plan
            | Does::Review
            | Does::Answer
            | Does::Pause => (),
        }
    }

    fn read(&mut self, report: Report, arguments: &str) {
        let ticket = self.ticket(For::Reading);
        self.wish(Wish::Report { report, arguments: arguments.to_owned(), ticket });
    }

    fn status(&mut self) {
        let holds = self.open.holds.as_ref();
        let text = familiar::status(&familiar::Status {
            session: self.open.id.as_ref().map(weir_core::ids::SessionId::as_str),
            about: &self.open.about,
            model: holds.map_or("not known yet", |holds| &holds.model),
            profile: holds.map_or("not known yet", |holds| &holds.profile),
            permission: holds.map(|holds| holds.permission).unwrap_or_default(),
            thinking: holds.map(|holds| holds.thinking).unwrap_or_default(),
            used: None,
        });
        self.say(Voice::Text, text.trim_end());
    }

    fn mode(&mut self, arguments: &str) {
        if arguments.is_empty() {
            return self.read(Report::Permissions, "");
        }
        match arguments.parse::<PermissionMode>() {
            Ok(mode) => self.wish(Wish::Mode(mode)),
            Err(why) => self.say(Voice::Bad, &format!("error: {why}")),
        }
    }

    fn think(&mut self, arguments: &str) {
        const LEVELS: [Thinking; 4] =
            [Thinking::Off, Thinking::Low, Thinking::Medium, Thinking::High];
        match LEVELS.into_iter().find(|level| thinking(*level) == arguments) {
            Some(level) => self.wish(Wish::Thinking(level)),
            None => {
                let now = self.open.holds.as_ref().map_or("not known", |h| thinking(h.thinking));
                let how = "type /thinking off, low, medium or high";
                self.say(Voice::Quiet, &format!("thinking: {now}; {how}"));
            }
        }
    }

    fn help(&mut self) {
        self.say(Voice::Label, "What you type is sent to the assistant.");
        let lines = [
            "A line that ends with \\ goes on with the next one.",
            "A line that begins with ! runs in your shell. @FILE names a file.",
            "Ctrl-C stops the run; Ctrl-D leaves.",
            "Permission modes: plan reads only; ask asks before every change; auto-edit changes \
             files of the workspace without asking; full asks only what is always asked.",
            "Commands:",
        ];
        lines.iter().for_each(|line| self.say(Voice::Text, line));
        for known in KNOWN {
            let (takes, about) = known.words();
            let between = if takes.is_empty() { "" } else { " " };
            self.say(Voice::Text, &format!("  /{}{between}{takes}: {about}", known.name));
        }
        for named in self.open.named.clone() {
            let hint = if named.hint.is_empty() { "" } else { " " };
            let (kind, about) = (one_line(&named.kind), one_line(&named.about));
            let line = format!("  /{}{hint}{}: {about} ({kind})", named.name, named.hint);
            self.say(Voice::Text, &line);
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
            assert!(!known.words().1.is_empty(), "/{} says what it does", known.name);
            let both = COMMANDS.iter().any(|command| command.name == known.name);
            assert_ne!(both, known.only_here.is_some(), "/{}", known.name);
        }
    }
}
