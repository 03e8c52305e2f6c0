//! The person's own editor for what is in the box: on a temporary file that only they can read.
//! Not here: that the terminal is given to it and taken back (whoever calls does that).

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Longest text that is taken back.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Why the text stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// None is set.
    #[error("no editor is set; say which in the shell, for example: export EDITOR=nano")]
    None,
    /// It cannot be started, or its file cannot be made or read.
    #[error("the editor could not be used; the text is as it was")]
    Io(#[from] io::Error),
    /// It says that nothing is to be taken.
    #[error("the editor ended with {0}; the text is as it was")]
    Ended(ExitStatus),
    /// What it left is too long.
    #[error(
        "the text from the editor is longer than {} MB; the text is as it was",
        TEXT_BYTES_MAX >> 20
    )]
    TooLong,
    /// What it left is no text.
    #[error("the file from the editor is not UTF-8; the text is as it was")]
    NotText,
}

/// The command line of the editor that is set: `$VISUAL`, else `$EDITOR`.
pub fn configured_editor() -> Option<String> {
    first_set_command(["VISUAL", "EDITOR"].map(|name| std::env::var(name).ok()))
}

fn first_set_command(set: [Option<String>; 2]) -> Option<String> {
    set.into_iter().flatten().find(|command| !command.trim().is_empty())
}

/// Lets `command` (as `$EDITOR` has it: a command line) change `text`, and waits for it. The
/// terminal must be as a program expects it.
///
/// # Errors
/// The text is to stay as it is, and why.
pub fn edit_text(command: Option<&str>, text: &str) -> Result<String, EditorError> {
    let command = command.ok_or(EditorError::None)?;
    let mut builder = tempfile::Builder::new();
    // Made for this person alone (0600); the ending lets editors know what it is.
    let file = builder.prefix("weir-message-").suffix(".md").tempfile()?;
    file.as_file().write_all(text.as_bytes())?;
    let path = file.path();
    let status = run(command, path)?;
    if !status.success() {
        return Err(EditorError::Ended(status));
    }
    // Read by its name: many editors write a new file and put it in the place of the old one.
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(EditorError::TooLong);
    }
    let mut edited = String::from_utf8(bytes).map_err(|_| EditorError::NotText)?;
    // Editors end the last line; a person who wrote none wants none.
    if edited.ends_with('\n') && !text.ends_with('\n') {
        edited.pop();
        if edited.ends_with('\r') {
            edited.pop();
        }
    }
    Ok(edited)
}

/// Lets `command` change a file in its place, and waits for it.
///
/// # Errors
/// It cannot be started, or says that nothing is to be taken.
pub fn edit_file(command: Option<&str>, path: &Path) -> Result<(), EditorError> {
    let command = command.ok_or(EditorError::None)?;
    let status = run(command, path)?;
    if status.success() { Ok(()) } else { Err(EditorError::Ended(status)) }
}

/// As git does it: the command line is the shell's, the path is one word whatever is in it.
#[cfg(unix)]
fn run(command: &str, path: &Path) -> io::Result<ExitStatus> {
    let line = format!("{command} \"$@\"");
    Command::new("sh").arg("-c").arg(line).arg(command).arg(path).status()
}

#[cfg(not(unix))]
fn run(command: &str, path: &Path) -> io::Result<ExitStatus> {
    let mut words = command.split_whitespace();
    Command::new(words.next().unwrap_or_default()).args(words).arg(path).status()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn f1_an_editor_changes_the_text() {
        for (command, text, expected) in [
            ("true", "as it was", "as it was"),
            ("true", "with an end\n", "with an end\n"),
            ("sed -i s/a/b/g", "banana", "bbnbnb"),
            ("f() { printf 'new\\r\\n' > \"$1\"; }; f", "old", "new"),
            ("f() { printf 'x\\n\\n' > \"$1.n\"; mv \"$1.n\" \"$1\"; }; f", "old", "x\n"),
            ("f() { stat -c %a \"$1\" > \"$1\"; }; f", "", "600"),
        ] {
            assert_eq!(edit_text(Some(command), text).unwrap(), expected, "{command}");
        }
    }

    #[test]
    fn f1_an_editor_that_fails_changes_nothing() {
        for (command, expected) in [
            (None, "no editor is set; say which in the shell, for example: export EDITOR=nano"),
            (Some("false"), "the editor ended with exit status: 1; the text is as it was"),
            (
                Some("no-such-editor-here 2>/dev/null"),
                "the editor ended with exit status: 127; the text is as it was",
            ),
            (
                Some("f() { printf '\\377' > \"$1\"; }; f"),
                "the file from the editor is not UTF-8; the text is as it was",
            ),
            (Some("rm"), "the editor could not be used; the text is as it was"),
            (
                Some("truncate -s 17M"),
                "the text from the editor is longer than 16 MB; the text is as it was",
            ),
        ] {
            let error = edit_text(command, "text").expect_err("it fails");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn f1_the_editor_is_the_one_that_is_set() {
        let some = |text: &str| Some(text.to_owned());
        for (visual, editor, expected) in [
            (None, None, None),
            (some("vim"), some("nano"), some("vim")),
            (some(" "), some("nano"), some("nano")),
            (None, some("nano"), some("nano")),
        ] {
            assert_eq!(first_set_command([visual, editor]), expected);
        }
    }
}
