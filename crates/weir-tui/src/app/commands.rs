//! The commands of the face, in one table: what is typed as `/name`, however the face is painted. One
//! line adds one; those that show a report come from the table of reports. Names of the session's
//! workflows and skills are no commands of the face: they are said to the engine. Not here: what they
//! do ([`super::command_acts`]).

use std::sync::LazyLock;

use weir_core::input::PersonCommand;

use super::App;
use super::notes::Loud;
use super::painter::{AppPainter, ShownView};
use crate::link::{ReportKind, SessionTarget, UiCommand};
use crate::reports::REPORT_COMMANDS;

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct ChatCommand {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) hint: &'static str,
    /// One sentence.
    pub(crate) about: &'static str,
    /// The one painter that has it; `None`: both.
    only: Option<AppPainter>,
    does: CommandAct,
}

/// What a command does.
#[derive(Clone, Copy)]
enum CommandAct {
    /// This, with what follows its name.
    Run(fn(&mut App, &str)),
    /// It shows a report, which gets what follows its name.
    Report(ReportKind),
}

impl ChatCommand {
    /// Does it.
    pub(super) fn run(&self, app: &mut App, rest: &str) {
        match self.does {
            CommandAct::Run(act) => act(app, rest),
            CommandAct::Report(report) => app.report_command(report, rest),
        }
    }
}

const fn chat_command(
    name: &'static str,
    hint: &'static str,
    about: &'static str,
    does: fn(&mut App, &str),
) -> ChatCommand {
    ChatCommand { name, hint, about, only: None, does: CommandAct::Run(does) }
}

/// A command for which a screen has keys.
const fn line_command(
    name: &'static str,
    about: &'static str,
    does: fn(&mut App, &str),
) -> ChatCommand {
    let only = Some(AppPainter::Lines);
    ChatCommand { name, hint: "", about, only, does: CommandAct::Run(does) }
}

/// Other names of the same.
const ALIASES: &[(&str, &str)] = &[("sessions", "resume"), ("mcp-servers", "mcp")];

/// The commands of a face that is painted so, in the order in which they are shown.
pub(crate) fn face_commands(painter: AppPainter) -> impl Iterator<Item = &'static ChatCommand> {
    COMMANDS.iter().filter(move |command| command.only.is_none_or(|only| only == painter))
}

/// The command that is typed so where the face is painted so.
pub(super) fn find_command(painter: AppPainter, name: &str) -> Option<&'static ChatCommand> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    face_commands(painter).find(|command| command.name == name)
}

/// Every command of the face. Those of reports stand together, where people look something up.
static COMMANDS: LazyLock<Vec<ChatCommand>> = LazyLock::new(|| {
    let reports = REPORT_COMMANDS.iter().map(|row| ChatCommand {
        name: row.name,
        hint: row.hint,
        about: row.about,
        only: None,
        does: CommandAct::Report(row.report),
    });
    SESSION_COMMANDS.iter().copied().chain(reports).chain(MORE_COMMANDS.iter().copied()).collect()
});

/// Help, what steers a run, and what changes the session.
const SESSION_COMMANDS: &[ChatCommand] = &[
    chat_command("help", "", "Keys and commands", |app, _| app.show_view(ShownView::Help)),
    line_command("cancel", "Ends the run, as Ctrl-C does", |app, _| app.show_view(ShownView::Stop)),
    line_command("withdraw", "Takes the last queued message back", |app, _| {
        if !app.take_back() {
            app.show_view(ShownView::Remark(Loud::Quiet, "No message waits.".into()));
        }
    }),
    line_command("again", "Prints again what asks", |app, _| app.show_view(ShownView::AskAgain)),
    line_command("full", "Prints all of what asks", |app, _| app.show_view(ShownView::WholeAsk)),
    line_command("show", "Sends the output of the last !command to the model", |app, _| {
        app.say_shell_output();
    }),
    chat_command("model", "[provider/name]", "Chooses another model", App::model_command),
    chat_command("profile", "[name]", "Chooses another profile", App::profile_command),
    chat_command(
        "permissions",
        "[mode]",
        "Rules and the permission mode; a mode changes it; also add, remove",
        App::permissions_command,
    ),
    chat_command(
        "trust",
        "",
        "Trusts this folder's own files, once you have seen what they do; also list, remove",
        App::trust_command,
    ),
    chat_command("paste", "", "Attaches the picture in the clipboard", |app, _| {
        app.show_view(ShownView::Clipboard);
    }),
    chat_command("compact", "[what to keep]", "Shortens the context", |app, rest| {
        app.wishes.push(UiCommand::Condense(rest.to_owned()));
    }),
    chat_command("resume", "[words]", "Opens another session", |app, rest| {
        app.show_view(ShownView::Sessions(rest.to_owned()));
    }),
    chat_command("fork", "", "Continues in a copy of this session", App::fork_command),
    chat_command("undo", "", "Undoes the file changes of the last run", |app, _| {
        app.wishes.push(UiCommand::Undo);
    }),
    chat_command(
        "rewind",
        "",
        "Goes back to an earlier message: conversation, files or both",
        |app, _| {
            app.show_view(ShownView::Rewind);
        },
    ),
];

/// Everything else.
const MORE_COMMANDS: &[ChatCommand] = &[
    chat_command(
        "export",
        "[file.md|.html|.jsonl]",
        "Writes the session to a file",
        |app, rest| {
            app.wishes.push(UiCommand::Export(rest.to_owned()));
        },
    ),
    chat_command("clear", "", "A new session on an empty screen", App::clear),
    chat_command("pause", "[reason]", "Stops every run until /release", |app, rest| {
        let reason = if rest.is_empty() { "stopped by hand" } else { rest };
        app.wishes.push(UiCommand::Pause(Some(reason.to_owned())));
    }),
    chat_command("release", "", "Lets runs start again", |app, _| {
        // The run that is seen here, where it is that alone.
        app.wishes.push(match app.fold.view.paused_by() {
            Some(_) => UiCommand::Tell(PersonCommand::Resume),
            None => UiCommand::Release,
        });
    }),
    chat_command(
        "thinking",
        "[off|low|medium|high]",
        "How much the model thinks",
        App::thinking_command,
    ),
    ChatCommand {
        only: Some(AppPainter::Screen),
        ..chat_command("theme", "[name]", "Other colours", App::theme_command)
    },
    chat_command("new", "", "A new session", |app, _| {
        app.wishes.push(UiCommand::Open(SessionTarget::New))
    }),
    chat_command(
        "plan",
        "[task]",
        "Permission mode plan: it looks and changes nothing",
        App::plan_command,
    ),
    chat_command(
        "copy",
        "[code]",
        "Copies the last answer, or its last block of code",
        App::copy_command,
    ),
    chat_command("status", "", "Session, model, mode, context and cost", |app, _| {
        app.status_command()
    }),
    chat_command("usage", "", "The same as /cost", |app, rest| {
        app.show_report(ReportKind::Cost, rest)
    }),
    chat_command("login", "", "How a key is kept", |app, _| app.note_familiar_answer("login")),
    chat_command("rename", "", "How a session is named", |app, _| {
        app.note_familiar_answer("rename")
    }),
    chat_command("hooks", "", "Where hooks stand", |app, _| app.note_familiar_answer("hooks")),
    chat_command("quit", "", "Leaves; the session can be taken up again", |app, _| {
        app.show_view(ShownView::Leave)
    }),
    chat_command("exit", "", "The same as /quit", |app, _| app.show_view(ShownView::Leave)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_line_mode_has_every_command_that_makes_sense_in_it() {
        let names = |painter| face_commands(painter).map(|one| one.name).collect::<Vec<_>>();
        let (screen, lines) = (names(AppPainter::Screen), names(AppPainter::Lines));
        let only = |some: &[&'static str], others: &[&'static str]| {
            some.iter().filter(|name| !others.contains(name)).copied().collect::<Vec<_>>()
        };
        assert_eq!(only(&screen, &lines), ["theme"]);
        assert_eq!(only(&lines, &screen), ["cancel", "withdraw", "again", "full", "show"]);
        assert!(COMMANDS.iter().all(|command| !command.about.is_empty()));
        let mut once: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), COMMANDS.len(), "a name is there twice");
        assert!(ALIASES.iter().all(|(_, name)| lines.contains(name)));
    }
}
