//! The commands of the face, in one table: what is typed as `/name`. One line adds one. Names of
//! the session's workflows and skills are no commands of the face: they are said to the engine.

use weir_core::event::Event;
use weir_core::message::plain_text;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::entries::What;
use super::writing::Print;
use super::{App, Local};
use crate::compose::Written;
use crate::familiar;
use crate::link::{Report, Tone, Which, Wish};
use crate::screen::{Screen, open};
use crate::words::{dollars, one_line};

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) hint: &'static str,
    /// One sentence.
    pub(crate) about: &'static str,
    does: fn(&mut App, &str),
}

const fn command(
    name: &'static str,
    hint: &'static str,
    about: &'static str,
    does: fn(&mut App, &str),
) -> Command {
    Command { name, hint, about, does }
}

/// Every command of the face.
pub(crate) const COMMANDS: &[Command] = &[
    command("help", "", "Keys and commands", |app, _| app.show(open::help())),
    command("model", "[provider/name]", "Chooses another model", App::model),
    command("profile", "[name]", "Chooses another profile", App::profile),
    command(
        "permissions",
        "[mode]",
        "Rules and the permission mode; a mode changes it",
        App::permissions,
    ),
    command("context", "", "The prompt by section and how full the context is", |app, rest| {
        app.report(Report::Context, rest);
    }),
    command("paste", "", "Attaches the picture in the clipboard", |app, _| {
        app.ask_clipboard();
    }),
    command("compact", "[what to keep]", "Shortens the context", |app, rest| {
        app.wishes.push(Wish::Condense(rest.to_owned()));
    }),
    command("resume", "[words]", "Opens another session", |app, rest| {
        app.show(open::sessions(rest, app.now));
    }),
    command("fork", "", "Continues in a copy of this session", App::fork),
    command("undo", "", "Undoes the file changes of the last run", |app, _| {
        app.wishes.push(Wish::Undo);
    }),
    command(
        "rewind",
        "",
        "Goes back to an earlier message: conversation, files or both",
        |app, _| {
            app.show(open::rewind());
        },
    ),
    command("checkpoints", "", "Saved versions of changed files", |app, rest| {
        app.report(Report::Checkpoints, rest);
    }),
    command("memory", "[words]", "Remembered notes; words search them", |app, rest| {
        app.report(Report::Memory, rest);
    }),
    command("skills", "", "Skills that can be used here", |app, rest| {
        app.report(Report::Skills, rest);
    }),
    command("recipes", "", "Recipes: known ways to do a kind of task", |app, rest| {
        app.report(Report::Recipes, rest);
    }),
    command("agents", "", "Scheduled agents and sub-agents", |app, rest| {
        app.report(Report::Agents, rest);
    }),
    command("mcp", "", "MCP servers", |app, rest| app.report(Report::Mcp, rest)),
    command("tools", "", "Tools of this session", |app, rest| app.report(Report::Tools, rest)),
    command("call", "number", "Everything about one tool call", |app, rest| {
        app.report(Report::Call, rest);
    }),
    command("cost", "", "What the session and the day cost", |app, rest| {
        app.report(Report::Cost, rest);
    }),
    command("export", "[file.md|.html|.jsonl]", "Writes the session to a file", |app, rest| {
        app.wishes.push(Wish::Export(rest.to_owned()));
    }),
    command("doctor", "", "What works here and what does not", |app, rest| {
        app.report(Report::Doctor, rest);
    }),
    command("clear", "", "A new session on an empty screen", App::clear),
    command("pause", "[reason]", "Stops every run until /release", |app, rest| {
        let reason = if rest.is_empty() { "stopped by hand" } else { rest };
        app.wishes.push(Wish::Pause(Some(reason.to_owned())));
    }),
    command("release", "", "Lets runs start again", |app, _| app.wishes.push(Wish::Release)),
    command("thinking", "[off|low|medium|high]", "How much the model thinks", App::thinking),
    command("theme", "[name]", "Other colours", App::theme),
    command("new", "", "A new session", |app, _| app.wishes.push(Wish::Open(Which::New))),
    command("plan", "[task]", "Permission mode plan: it looks and changes nothing", App::plan),
    command("init", "", "Lets the model write a first AGENTS.md", |app, _| {
        app.say_words(familiar::INIT.into());
    }),
    command("review", "[what]", "Lets the model review the uncommitted changes", |app, rest| {
        app.say_words(familiar::review(rest));
    }),
    command("diff", "", "What this session changed in files", |app, rest| {
        app.report(Report::Diff, rest);
    }),
    command("copy", "[code]", "Copies the last answer, or its last block of code", App::copy),
    command("status", "", "Session, model, mode, context and cost", |app, _| app.status()),
    command("usage", "", "The same as /cost", |app, rest| app.report(Report::Cost, rest)),
    command("config", "", "Every setting and where it comes from", |app, rest| {
        app.report(Report::Config, rest);
    }),
    command("login", "", "How a key is kept", |app, _| app.answered("login")),
    command("rename", "", "How a session is named", |app, _| app.answered("rename")),
    command("hooks", "", "Where hooks stand", |app, _| app.answered("hooks")),
    command("quit", "", "Leaves; the session can be taken up again", |app, _| app.leave()),
    command("exit", "", "The same as /quit", |app, _| app.leave()),
];

impl App {
    /// A line that begins with a slash. Whether it is done with: names of the session's workflows
    /// and skills are said, and so is a path.
    pub(crate) fn slash(&mut self, line: &str, written: &Written) -> bool {
        let name = line.strip_prefix('/').unwrap_or(line);
        let name = name.split(char::is_whitespace).next().unwrap_or_default();
        let known = COMMANDS.iter().any(|command| command.name == name);
        let of_session = self.fold.named.iter().any(|named| named.name == name);
        if of_session && (!known || familiar::yields(name)) {
            return false;
        }
        // `/etc/hosts is wrong` is no command, and neither are notes after `//`.
        if !known && (name.is_empty() || name.contains('/')) {
            return false;
        }
        if !self.command(line) {
            self.composer.give_back(written);
            let near = familiar::nearest(name, self.named.iter().map(|one| one.name.as_str()));
            let near = near.map(|near| format!("did you mean /{}? ", one_line(near)));
            let (name, near) = (one_line(name), near.unwrap_or_default());
            self.hint(Tone::Bad, format!("There is no command /{name}: {near}/help lists all"));
        }
        true
    }

    /// Does what a line says. Whether it is a command of the face.
    pub(crate) fn command(&mut self, line: &str) -> bool {
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

    fn show(&mut self, screen: Box<dyn Screen>) {
        self.open_screen(screen);
    }

    fn report(&mut self, report: Report, rest: &str) {
        self.open_screen(open::report(report, rest));
    }

    fn model(&mut self, rest: &str) {
        match rest {
            "" => self.show(open::models()),
            name => self.wishes.push(Wish::Model(name.to_owned())),
        }
    }

    fn profile(&mut self, rest: &str) {
        match rest {
            "" => self.show(open::profiles()),
            name => self.wishes.push(Wish::Profile(name.to_owned())),
        }
    }

    fn permissions(&mut self, rest: &str) {
        if rest.is_empty() {
            return self.report(Report::Permissions, rest);
        }
        match rest.parse::<PermissionMode>() {
            Ok(mode) => self.mode(mode),
            Err(why) => self.wrong("permissions", rest, &why),
        }
    }

    fn thinking(&mut self, rest: &str) {
        let thinking = match rest {
            "off" => Thinking::Off,
            "low" => Thinking::Low,
            "medium" => Thinking::Medium,
            "high" => Thinking::High,
            "" => return self.show(open::thinking()),
            _ => return self.wrong("thinking", rest, "Choose off, low, medium or high"),
        };
        self.think(thinking);
    }

    fn theme(&mut self, rest: &str) {
        match rest {
            "" => self.show(open::themes(&self.fold.settings.theme)),
            name => self.acts.push(Local::Theme(name.to_owned())),
        }
    }

    /// An argument that cannot be: what was typed is given back.
    fn wrong(&mut self, name: &str, rest: &str, why: &str) {
        self.composer.set(&format!("/{name} {rest}"));
        self.hint(Tone::Bad, one_line(why));
    }

    /// Mode plan; with a task, it is said in it.
    fn plan(&mut self, rest: &str) {
        self.mode(PermissionMode::Plan);
        if rest.is_empty() {
            self.hint(Tone::Quiet, "Mode plan: nothing is changed. /permissions ask goes back");
        } else {
            self.say_words(rest.to_owned());
        }
    }

    /// Says words that no person wrote letter by letter.
    fn say_words(&mut self, text: String) {
        self.say(Written { text, ..Written::default() });
    }

    fn answered(&mut self, name: &str) {
        if let Some(text) = familiar::answered(name) {
            // It is to be read at leisure: it is no hint that goes by itself.
            self.fold.note(super::notes::Loud::Quiet, format!("{text}."), self.now);
        }
    }

    fn copy(&mut self, rest: &str) {
        let entries = self.fold.transcript.entries().iter().rev();
        let mut answers = entries.filter_map(|entry| match &entry.what {
            What::Replied { event, .. } => match event.as_ref() {
                Event::ModelReplied(fact) => Some(plain_text(&fact.content)),
                _ => None,
            },
            _ => None,
        });
        let answer = answers.find(|text| !text.trim().is_empty());
        match familiar::to_copy(answer.as_deref(), rest) {
            Ok((text, told)) => {
                self.acts.push(Local::Copy(text));
                self.hint(Tone::Good, told);
            }
            Err(why) => self.hint(Tone::Bad, why),
        }
    }

    fn status(&mut self) {
        let (settings, meters) = (&self.fold.settings, self.fold.view.meters());
        let cost = format!(
            "{}{}",
            dollars(meters.cost_usd),
            if meters.cost_open { " and what has no known price" } else { "" }
        );
        let text = familiar::status(&familiar::Status {
            session: settings.session.as_ref().map(weir_core::ids::SessionId::as_str),
            about: &self.about,
            model: &settings.model,
            profile: &settings.profile,
            permission: settings.permission,
            thinking: settings.thinking,
            used: Some((meters.context, meters.window, meters.tokens, cost)),
        });
        self.show(open::text("Status", text));
    }

    fn fork(&mut self, _: &str) {
        match self.fold.settings.session.clone() {
            Some(of) => {
                self.copying = Some(of.clone());
                self.wishes.push(Wish::Open(Which::Fork { of, before: None }));
            }
            None => self.hint(Tone::Bad, "There is nothing to copy yet"),
        }
    }

    fn clear(&mut self, _: &str) {
        self.fold.prints.push_back(Print::Screen);
        self.wishes.push(Wish::Open(Which::New));
    }

    /// What a person typed at once with the name: for tests and for lines that come from a screen.
    #[cfg(test)]
    pub(crate) fn typed(&mut self, text: &str) {
        self.send(Written::seen(text));
    }
}
