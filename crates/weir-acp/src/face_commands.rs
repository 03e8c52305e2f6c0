//! Commands that are typed as `/name` and done here, without a word to the model: those of the terminal that make
//! sense in an editor, with its names and its words. Pure. Not here: doing them (`crate::session`), and the
//! session's own workflows and skills, which are said.

use weir_core::view::told::one_line;
use weir_install::file_view::escape_words;
use weir_install::wording::inline_code;
use weir_tui::link::{ChoiceOption, ReportKind, SlashCommandInfo};

use crate::wire::{AvailableCommand, CommandInput, ContentBlock};

/// Models that a list names.
const MODELS_MAX: usize = 100;

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaceCommand {
    /// The commands there are.
    Help,
    /// Takes the files of the last run back.
    Undo,
    /// Makes the context shorter; with what the summary must keep.
    Compact(String),
    /// Another model; empty: which there are.
    Model(String),
    /// A text for reading.
    Report(ReportKind),
}

/// A row of the table.
struct CommandRow {
    name: &'static str,
    hint: &'static str,
    about: &'static str,
    /// A workflow of the session of this name comes first, as in the terminal.
    yields: bool,
    does: fn(&str) -> FaceCommand,
}

const fn row(
    name: &'static str,
    hint: &'static str,
    about: &'static str,
    does: fn(&str) -> FaceCommand,
) -> CommandRow {
    CommandRow { name, hint, about, yields: false, does }
}

const ROWS: &[CommandRow] = &[
    row("undo", "", "Undoes the file changes of the last run", |_| FaceCommand::Undo),
    row("compact", "[what to keep]", "Shortens the context", |rest| {
        FaceCommand::Compact(rest.to_owned())
    }),
    row("model", "[provider/name]", "Chooses another model", |rest| {
        FaceCommand::Model(rest.to_owned())
    }),
    row("context", "", "The prompt by section and how full the context is", |_| {
        FaceCommand::Report(ReportKind::Context)
    }),
    row("cost", "", "What the session and the day cost", |_| FaceCommand::Report(ReportKind::Cost)),
    CommandRow {
        yields: true,
        ..row("usage", "", "The same as /cost", |_| FaceCommand::Report(ReportKind::Cost))
    },
    row("help", "", "These commands, and those of this session", |_| FaceCommand::Help),
];

/// Whether the command of this row counts beside what the session has.
fn counts(row: &CommandRow, session: &[SlashCommandInfo]) -> bool {
    !row.yields || !session.iter().any(|known| known.name == row.name)
}

/// What a prompt says, where it is a command of this face and nothing else. `session`: what is said to it.
pub(crate) fn parse_command(
    blocks: &[ContentBlock],
    session: &[SlashCommandInfo],
) -> Option<FaceCommand> {
    let [ContentBlock::Text { text }] = blocks else { return None };
    let line = text.trim().strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let row = ROWS.iter().find(|row| row.name == name && counts(row, session))?;
    Some((row.does)(rest.trim()))
}

/// All that can be typed as `/name`.
pub(crate) fn offered_commands(session: &[SlashCommandInfo]) -> Vec<AvailableCommand> {
    let command = |name: &str, about: &str, hint: &str| AvailableCommand {
        name: name.to_owned(),
        description: about.to_owned(),
        input: (!hint.is_empty()).then(|| CommandInput { hint: hint.to_owned() }),
    };
    let face = ROWS.iter().filter(|row| counts(row, session));
    let face = face.map(|row| command(row.name, row.about, row.hint));
    let is_hidden = |known: &&SlashCommandInfo| {
        ROWS.iter().any(|row| row.name == known.name && counts(row, session))
    };
    let said = session.iter().filter(|known| !is_hidden(known));
    face.chain(said.map(|known| command(&known.name, &known.about, &known.hint))).collect()
}

/// The same for reading.
pub(crate) fn help_text(session: &[SlashCommandInfo]) -> String {
    let line = |known: &AvailableCommand| {
        let hint = known.input.as_ref().map(|input| format!(" {}", input.hint)).unwrap_or_default();
        let typed = inline_code(&format!("/{}{hint}", known.name));
        format!("- {typed}: {}\n", escape_words(&one_line(&known.description)))
    };
    offered_commands(session).iter().map(line).collect()
}

/// Which models there are, for reading; `held`: the one that holds.
pub(crate) fn models_text(held: &str, models: &[ChoiceOption]) -> String {
    let mut text = format!("The model is {}.\n", inline_code(held));
    if !models.is_empty() {
        text.push_str("\nType `/model` with one of these:\n\n");
    }
    for model in models.iter().take(MODELS_MAX) {
        text.push_str(&format!("- {}\n", inline_code(&model.value)));
    }
    match models.len().saturating_sub(MODELS_MAX) {
        0 => (),
        left => text.push_str(&format!("\nand {left} more.\n")),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> SlashCommandInfo {
        SlashCommandInfo {
            name: name.into(),
            about: "Mine".into(),
            hint: String::new(),
            kind: "workflow".into(),
        }
    }

    #[test]
    fn r1_a_line_that_is_a_command_of_the_face_is_one_and_nothing_else_is() {
        let parse = |text: &str| parse_command(&[ContentBlock::text_block(text)], &[]);
        for (text, expected) in [
            ("/undo", Some(FaceCommand::Undo)),
            (
                " /compact  the names of files \n",
                Some(FaceCommand::Compact("the names of files".into())),
            ),
            ("/model a/b", Some(FaceCommand::Model("a/b".into()))),
            ("/context", Some(FaceCommand::Report(ReportKind::Context))),
            ("/usage", Some(FaceCommand::Report(ReportKind::Cost))),
            ("/help", Some(FaceCommand::Help)),
            ("/undone", None),
            ("/etc/hosts", None),
            ("undo", None),
            ("please /undo", None),
            ("/", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
        let two = [ContentBlock::text_block("/undo"), ContentBlock::text_block("x")];
        assert_eq!(parse_command(&two, &[]), None, "something goes along");
    }

    #[test]
    fn r1_the_faces_own_commands_stand_beside_those_of_the_session() {
        let session = [named("plan"), named("usage"), named("undo")];
        let offered = offered_commands(&session);
        let names: Vec<&str> = offered.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["undo", "compact", "model", "context", "cost", "help", "plan", "usage"]);
        let usage = [ContentBlock::text_block("/usage")];
        assert_eq!(parse_command(&usage, &session), None, "the session's comes first");
        assert!(parse_command(&[ContentBlock::text_block("/undo")], &session).is_some());
        let help = help_text(&session);
        assert!(help.contains("- `/compact [what to keep]`: Shortens the context\n"), "{help}");
        assert!(help.contains("- `/plan`: Mine\n"), "{help}");
    }
}
