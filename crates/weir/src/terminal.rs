//! Writing to standard output and error without ever panicking, and asking a person.
//!
//! Everything that this program prints passes here. Whatever wrote it (a model, a page, a file's name),
//! where a terminal reads it nothing in it steers that terminal: what would is written out (A15). A
//! pipe or a file gets the bytes as they are. The face that draws has its own way (`weir-tui`).
//!
//! A pipe that was closed is an error like any other here; `main` ends quietly for it.

use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use serde::Serialize;
use tokio::sync::mpsc;
use weir_install::notifier::Notifier;
use weir_tui::text::clean::clean_print;

use weir_terminal::remote::SignInPrompts;

#[cfg(test)]
pub(crate) mod paper;

/// Longest key or answer that is read, in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Tells the person on standard error what the installation has to say.
pub(crate) const NOTIFIER: Notifier = Notifier { notify: err_message, is_attended };

/// Asks a person who they are at a server.
pub(crate) const SIGN_IN_PROMPTS: SignInPrompts = SignInPrompts {
    is_attended,
    show_line: err_line,
    show_failure: err_message,
    ask_line: ask_visible_line,
    ask_hidden: read_hidden,
};

/// Prints `text` and a line break on standard output.
pub(crate) fn out_line(text: &str) -> anyhow::Result<()> {
    #[cfg(test)]
    if paper::keep(paper::OUT, text) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    let text = &*safe_for(&stdout, text);
    if text.ends_with('\n') {
        stdout.write_all(text.as_bytes())?;
    } else {
        // In one piece: a line break behind a long text would be a write, and wake who reads, of its own.
        stdout.write_all([text, "\n"].concat().as_bytes())?;
    }
    stdout.flush()?;
    Ok(())
}

/// Prints a row of a picture of half blocks, white on black whatever colours the terminal has. Nothing else
/// is in it: what steers the terminal is written here and nowhere else.
pub(crate) fn out_picture_row(row: &str) -> anyhow::Result<()> {
    let row: String = row.chars().filter(|c| matches!(c, '█' | '▀' | '▄' | ' ')).collect();
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "\u{1b}[38;5;231;48;5;16m{row}\u{1b}[0m")?;
    stdout.flush()?;
    Ok(())
}

/// Prints bytes on standard output; as they are, unless a terminal reads them.
pub(crate) fn out_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        stdout.write_all(clean_print(&String::from_utf8_lossy(bytes)).as_bytes())?;
    } else {
        stdout.write_all(bytes)?;
    }
    stdout.flush()?;
    Ok(())
}

/// Prints a value as indented JSON on standard output.
pub(crate) fn out_json<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<()> {
    out_line(&serde_json::to_string_pretty(value).context("printing JSON")?)
}

/// Prints `weir: TEXT` on standard error. That nobody reads it is no error.
pub(crate) fn err_message(text: &str) {
    if send_to_gatherer(text) {
        return;
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "weir: {}", safe_for(&stderr, text.trim_end()));
}

/// Prints a line on standard error.
pub(crate) fn err_line(text: &str) {
    if send_to_gatherer(text) {
        return;
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}", safe_for(&stderr, text.trim_end()));
}

/// Standard error for the log: what others wrote stands in it too.
#[derive(Debug, Default)]
pub(crate) struct StderrLog;

impl Write for StderrLog {
    /// Takes a whole entry, as the log writes it.
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        let text = String::from_utf8_lossy(entry);
        stderr.write_all(safe_for(&stderr, &text).as_bytes())?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// `text` as `stream` may have it.
fn safe_for<'a>(stream: &impl IsTerminal, text: &'a str) -> Cow<'a, str> {
    if stream.is_terminal() { clean_print(text) } else { Cow::Borrowed(text) }
}

/// Where remarks go while a face has the terminal; `None`: to standard error.
static REMARKS: Mutex<Option<mpsc::Sender<String>>> = Mutex::new(None);
/// Remarks that may wait; more are lost.
const REMARKS_MAX: usize = 256;

/// What would be printed on standard error, while a face has the terminal. Dropped: it is printed
/// again.
pub(crate) struct RemarkReceiver(mpsc::Receiver<String>);

/// From now on what would be printed on standard error is given to whoever asks for it: it must not
/// fall into what a face has drawn.
pub(crate) fn gather_remarks() -> RemarkReceiver {
    let (sender, remarks) = mpsc::channel(REMARKS_MAX);
    *REMARKS.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    RemarkReceiver(remarks)
}

impl RemarkReceiver {
    /// Where they come.
    pub(crate) fn remark_channel(&mut self) -> &mut mpsc::Receiver<String> {
        &mut self.0
    }
}

impl Drop for RemarkReceiver {
    fn drop(&mut self) {
        *REMARKS.lock().unwrap_or_else(PoisonError::into_inner) = None;
        while let Ok(text) = self.0.try_recv() {
            err_message(&text);
        }
    }
}

/// Whether somebody gathers remarks: then `text` went there.
fn send_to_gatherer(text: &str) -> bool {
    #[cfg(test)]
    if paper::keep("", text) {
        return true;
    }
    let remarks = REMARKS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(sender) = remarks.as_ref() else { return false };
    // Whoever is flooded with remarks reads none of them.
    let _ = sender.try_send(text.trim_end().to_owned());
    true
}

/// Whether somebody sits there: input and the place where questions appear are terminals.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Columns as wide as their widest cell, two blanks between; the last is not padded.
pub(crate) fn format_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let padding = widths[column].saturating_sub(cell.chars().count()) + 2;
                line.extend(std::iter::repeat_n(' ', padding));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Reads one line: from the terminal without showing what is typed, else from standard input.
pub(crate) fn read_hidden(question: &str) -> anyhow::Result<String> {
    use std::io::Read as _;
    let stdin = io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        let hidden = HiddenEcho::hide_typing()?;
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{} (not shown): ", safe_for(&stderr, question));
        let _ = stderr.flush();
        let read = stdin.lock().take(LINE_BYTES_MAX).read_line(&mut line);
        drop(hidden);
        let _ = writeln!(stderr);
        read.context("reading from the terminal")?;
    } else {
        let mut input = stdin.lock().take(LINE_BYTES_MAX);
        input.read_line(&mut line).context("reading from standard input")?;
    }
    Ok(line.trim().to_owned())
}

/// Asks a person for a yes. What is not clearly one is a no, the end of input too.
pub(crate) fn confirm_by_person(question: &str) -> anyhow::Result<bool> {
    let line = ask_visible_line(&format!("{question} [y/N] "))?;
    Ok(matches!(line.to_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a line that may be seen; nothing when input has ended.
pub(crate) fn ask_visible_line(question: &str) -> anyhow::Result<String> {
    use std::io::Read as _;
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{}", safe_for(&stderr, question));
    let _ = stderr.flush();
    drop(stderr);
    let mut line = String::new();
    let mut input = io::stdin().lock().take(LINE_BYTES_MAX);
    input.read_line(&mut line).context("reading from the terminal")?;
    Ok(line.trim().to_owned())
}

/// While it lives, the terminal does not show what is typed.
struct HiddenEcho {
    before: rustix::termios::Termios,
}

impl HiddenEcho {
    fn hide_typing() -> anyhow::Result<HiddenEcho> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = rustix::stdio::stdin();
        let before = tcgetattr(stdin).context("looking at the terminal")?;
        let mut without_echo = before.clone();
        without_echo.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin, OptionalActions::Now, &without_echo).context("hiding what is typed")?;
        Ok(HiddenEcho { before })
    }
}

impl Drop for HiddenEcho {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // Nothing can be done about a terminal that has gone.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.before);
    }
}
