//! The commands of the face, in one table: what is typed as `/name`. One line adds one. Names of
//! the session's workflows and skills are no commands of the face: they are said to the engine.

use weir_core::event::Event;
use weir_core::message::plain_text;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::entries::EntryContent;
use super::writing::PrintItem;
use super::{App, TerminalAction};
use crate::compose::WrittenMessage;
use crate::familiar;
use crate::link::{NoticeTone, ReportKind, SessionTarget, UiCommand};
use crate::screen::{Screen, open};
use crate::words::{format_dollars, one_line};

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct ChatCommand {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) hint: &'static str,
    /// One sentence.
    pub(crate) about: &'static str,
    does: fn(&mut App, &str),
}

const fn chat_command(
    name: &'static str,
    hint: &'static str,
    about: &'static str,
    does: fn(&mut App, &str),
) -> ChatCommand {
    ChatCommand { name, hint, about, does }
}

/// Every command of the face.
pub(crate) const COMMANDS: &[ChatCommand] = &[
    chat_command("help", "", "Keys and commands", |app, _| app.show_screen(open::help_screen())),
    chat_command("model", "[provider/name]", "Chooses another model", App::model_command),
    chat_command("profile", "[name]", "Chooses another profile", App::profile_command),
    chat_command(
        "permissions",
        "[mode]",
        "Rules and the permission mode; a mode changes it",
        App::permissions_command,
    ),
    chat_command(
        "context",
        "",
        "The prompt by section and how full the context is",
        |app, rest| {
            app.show_report(ReportKind::Context, rest);
        },
    ),
    chat_command("paste", "", "Attaches the picture in the clipboard", |app, _| {
        app.ask_clipboard();
    }),
    chat_command("compact", "[what to keep]", "Shortens the context", |app, rest| {
        app.wishes.push(UiCommand::Condense(rest.to_owned()));
    }),
    chat_command("resume", "[words]", "Opens another session", |app, rest| {
        app.show_screen(open::sessions_screen(rest, app.now));
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
            app.show_screen(open::rewind_screen());
        },
    ),
    chat_command("checkpoints", "", "Saved versions of changed files", |app, rest| {
        app.show_report(ReportKind::Checkpoints, rest);
    }),
    chat_command("memory", "[words]", "Remembered notes; words search them", |app, rest| {
        app.show_report(ReportKind::Memory, rest);
    }),
    chat_command("skills", "", "Skills that can be used here", |app, rest| {
        app.show_report(ReportKind::Skills, rest);
    }),
    chat_command("recipes", "", "Recipes: known ways to do a kind of task", |app, rest| {
        app.show_report(ReportKind::Recipes, rest);
    }),
    chat_command("agents", "", "Scheduled agents and sub-agents", |app, rest| {
        app.show_report(ReportKind::Agents, rest);
    }),
    chat_command("mcp", "", "MCP servers", |app, rest| app.show_report(ReportKind::Mcp, rest)),
    chat_command("tools", "", "Tools of this session", |app, rest| {
        app.show_report(ReportKind::Tools, rest)
    }),
    chat_command("call", "number", "Everything about one tool call", |app, rest| {
        app.show_report(ReportKind::Call, rest);
    }),
    chat_command("cost", "", "What the session and the day cost", |app, rest| {
        app.show_report(ReportKind::Cost, rest);
    }),
    chat_command(
        "export",
        "[file.md|.html|.jsonl]",
        "Writes the session to a file",
        |app, rest| {
            app.wishes.push(UiCommand::Export(rest.to_owned()));
        },
    ),
    chat_command("doctor", "", "What works here and what does not", |app, rest| {
        app.show_report(ReportKind::Doctor, rest);
    }),
    chat_command("clear", "", "A new session on an empty screen", App::clear),
    chat_command("pause", "[reason]", "Stops every run until /release", |app, rest| {
        let reason = if rest.is_empty() { "stopped by hand" } else { rest };
        app.wishes.push(UiCommand::Pause(Some(reason.to_owned())));
    }),
    chat_command("release", "", "Lets runs start again", |app, _| {
        app.wishes.push(UiCommand::Release)
    }),
    chat_command(
        "thinking",
        "[off|low|medium|high]",
        "How much the model thinks",
        App::thinking_command,
    ),
    chat_command("theme", "[name]", "Other colours", App::theme_command),
    chat_command("new", "", "A new session", |app, _| {
        app.wishes.push(UiCommand::Open(SessionTarget::New))
    }),
    chat_command(
        "plan",
        "[task]",
        "Permission mode plan: it looks and changes nothing",
        App::plan_command,
    ),
    chat_command("init", "", "Lets the model write a first AGENTS.md", |app, _| {
        app.say_words(familiar::INIT.into());
    }),
    chat_command(
        "review",
        "[what]",
        "Lets the model review the uncommitted changes",
        |app, rest| {
            app.say_words(familiar::review_prompt(rest));
        },
    ),
    chat_command("diff", "", "What this session changed in files", |app, rest| {
        app.show_report(ReportKind::Diff, rest);
    }),
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
    chat_command("config", "", "Every setting and where it comes from", |app, rest| {
        app.show_report(ReportKind::Config, rest);
    }),
    chat_command("login", "", "How a key is kept", |app, _| app.note_familiar_answer("login")),
    chat_command("rename", "", "How a session is named", |app, _| {
        app.note_familiar_answer("rename")
    }),
    chat_command("hooks", "", "Where hooks stand", |app, _| app.note_familiar_answer("hooks")),
    chat_command("quit", "", "Leaves; the session can be taken up again", |app, _| app.leave()),
    chat_command("exit", "", "The same as /quit", |app, _| app.leave()),
];

impl App {
    /// A line that begins with a slash. Whether it is done with: names of the session's workflows
    /// and skills are said, and so is a path.
    pub(crate) fn handle_slash_line(&mut self, line: &str, written: &WrittenMessage) -> bool {
        let name = line.strip_prefix('/').unwrap_or(line);
        let name = name.split(char::is_whitespace).next().unwrap_or_default();
        let known = COMMANDS.iter().any(|command| command.name == name);
        let of_session = self.fold.named.iter().any(|named| named.name == name);
        if of_session && (!known || familiar::yields_to_session(name)) {
            return false;
        }
        // `/etc/hosts is wrong` is no command, and neither are notes after `//`.
        if !known && (name.is_empty() || name.contains('/')) {
            return false;
        }
        if !self.run_command(line) {
            self.composer.give_back(written);
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

    /// Does what a line says. Whether it is a command of the face.
    pub(crate) fn run_command(&mut self, line: &str) -> bool {
        let line = line.trim();
        let line = line.strip_prefix('/').unwrap_or(line);
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
            return false;
        };
        (command.does)(self, rest.trim());
        self.dirty = true;
        true
    }

    fn show_screen(&mut self, screen: Box<dyn Screen>) {
        self.open_screen(screen);
    }

    fn show_report(&mut self, report: ReportKind, rest: &str) {
        self.open_screen(open::report_screen(report, rest));
    }

    fn model_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_screen(open::models_screen()),
            name => self.wishes.push(UiCommand::Model(name.to_owned())),
        }
    }

    fn profile_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_screen(open::profiles_screen()),
            name => self.wishes.push(UiCommand::Profile(name.to_owned())),
        }
    }

    fn permissions_command(&mut self, rest: &str) {
        if rest.is_empty() {
            return self.show_report(ReportKind::Permissions, rest);
        }
        match rest.parse::<PermissionMode>() {
            Ok(mode) => self.set_permission_mode(mode),
            Err(why) => self.reject_argument("permissions", rest, &why),
        }
    }

    fn thinking_command(&mut self, rest: &str) {
        let thinking = match rest {
            "off" => Thinking::Off,
            "low" => Thinking::Low,
            "medium" => Thinking::Medium,
            "high" => Thinking::High,
            "" => return self.show_screen(open::thinking_screen()),
            _ => return self.reject_argument("thinking", rest, "Choose off, low, medium or high"),
        };
        self.set_thinking(thinking);
    }

    fn theme_command(&mut self, rest: &str) {
        match rest {
            "" => self.show_screen(open::themes_screen(&self.fold.settings.theme)),
            name => self.acts.push(TerminalAction::Theme(name.to_owned())),
        }
    }

    /// An argument that cannot be: what was typed is given back.
    fn reject_argument(&mut self, name: &str, rest: &str, why: &str) {
        self.composer.set_text(&format!("/{name} {rest}"));
        self.show_hint(NoticeTone::Bad, one_line(why));
    }

    /// Mode plan; with a task, it is said in it.
    fn plan_command(&mut self, rest: &str) {
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
    fn say_words(&mut self, text: String) {
        self.send_message(WrittenMessage { text, ..WrittenMessage::default() });
    }

    fn note_familiar_answer(&mut self, name: &str) {
        if let Some(text) = familiar::familiar_answer(name) {
            // It is to be read at leisure: it is no hint that goes by itself.
            self.fold.add_note(super::notes::Loud::Quiet, format!("{text}."), self.now);
        }
    }

    fn copy_command(&mut self, rest: &str) {
        let entries = self.fold.transcript.entries().iter().rev();
        let mut answers = entries.filter_map(|entry| match &entry.what {
            EntryContent::Replied { event, .. } => match event.as_ref() {
                Event::ModelReplied(fact) => Some(plain_text(&fact.content)),
                _ => None,
            },
            _ => None,
        });
        let answer = answers.find(|text| !text.trim().is_empty());
        match familiar::to_copy(answer.as_deref(), rest) {
            Ok((text, told)) => {
                self.acts.push(TerminalAction::Copy(text));
                self.show_hint(NoticeTone::Good, told);
            }
            Err(why) => self.show_hint(NoticeTone::Bad, why),
        }
    }

    fn status_command(&mut self) {
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
            used: Some((meters.context, meters.window, meters.tokens, cost)),
        });
        self.show_screen(open::text_screen("Status", text));
    }

    fn fork_command(&mut self, _: &str) {
        match self.fold.settings.session.clone() {
            Some(of) => {
                self.copying = Some(of.clone());
                self.wishes.push(UiCommand::Open(SessionTarget::Fork { of, before: None }));
            }
            None => self.show_hint(NoticeTone::Bad, "There is nothing to copy yet"),
        }
    }

    fn clear(&mut self, _: &str) {
        self.fold.prints.push_back(PrintItem::Screen);
        self.wishes.push(UiCommand::Open(SessionTarget::New));
    }

    /// What a person typed at once with the name: for tests and for lines that come from a screen.
    #[cfg(test)]
    pub(crate) fn typed(&mut self, text: &str) {
        self.send_written(WrittenMessage::seen(text));
    }
}
