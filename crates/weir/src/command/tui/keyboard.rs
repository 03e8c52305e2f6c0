//! Keys of a terminal, one by one, before a face has it: a choice by one key, a line that may be hidden.
//! Dropped, the terminal is as it was. Not here: what is asked.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Escape stands for itself when nothing follows it within this time; else a key began with it.
const ESCAPE_WAIT: Duration = Duration::from_millis(60);
/// Longest line, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Signs that a hidden line shows at most: enough to see that something arrives.
const STARS_MAX: usize = 24;

/// A terminal whose keys come one by one.
pub(super) struct RawKeyboard {
    before: Termios,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PressedKey {
    /// A byte of a letter.
    Byte(u8),
    /// Enter.
    Enter,
    /// Backspace.
    Back,
    /// Ctrl-U: the whole line is taken away.
    Clear,
    /// Escape.
    Escape,
    /// Ctrl-C, Ctrl-D, or the end of input.
    Leave,
    /// A key that means nothing here.
    Other,
}

/// What came of asking for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineReadOutcome {
    /// It was typed.
    Typed(String),
    /// Escape.
    Escape,
    /// The whole dialogue is left.
    Leave,
}

/// Whether a line is seen while it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EchoMode {
    Shown,
    Hidden,
}

impl RawKeyboard {
    /// Takes the keys of standard input.
    ///
    /// # Errors
    /// It is no terminal.
    pub(super) fn open() -> anyhow::Result<RawKeyboard> {
        let before = tcgetattr(stdin()).context("looking at the terminal")?;
        let mut raw = before.clone();
        // Enter stays a line feed, and output is left as it is.
        raw.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        raw.special_codes[rustix::termios::SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[rustix::termios::SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw).context("reading keys")?;
        Ok(RawKeyboard { before })
    }

    /// The next key. Waits for it.
    pub(super) fn next_key(&mut self) -> io::Result<PressedKey> {
        Ok(match read_byte()? {
            None | Some(0x03 | 0x04) => PressedKey::Leave,
            Some(b'\r' | b'\n') => PressedKey::Enter,
            Some(0x7f | 0x08) => PressedKey::Back,
            Some(0x15) => PressedKey::Clear,
            Some(0x1b) if !has_pending_byte()? => PressedKey::Escape,
            Some(0x1b) => {
                self.skip_escape_sequence()?;
                PressedKey::Other
            }
            Some(byte) if byte < b' ' => PressedKey::Other,
            Some(byte) => PressedKey::Byte(byte),
        })
    }

    /// What follows an escape: a key with a name, or the brackets around a pasted text.
    fn skip_escape_sequence(&mut self) -> io::Result<()> {
        if !matches!(read_byte()?, Some(b'[' | b'O')) {
            return Ok(());
        }
        while has_pending_byte()? {
            if read_byte()?.is_none_or(|byte| (0x40..=0x7e).contains(&byte)) {
                break;
            }
        }
        Ok(())
    }

    /// A line after `question`.
    pub(super) fn ask_line(
        &mut self,
        question: &str,
        echo: EchoMode,
    ) -> io::Result<LineReadOutcome> {
        print_text(question)?;
        let mut line: Vec<u8> = Vec::new();
        loop {
            match self.next_key()? {
                PressedKey::Enter => break,
                PressedKey::Escape => {
                    print_text("\n")?;
                    return Ok(LineReadOutcome::Escape);
                }
                PressedKey::Leave => {
                    print_text("\n")?;
                    return Ok(LineReadOutcome::Leave);
                }
                PressedKey::Other => (),
                PressedKey::Clear => {
                    while !line.is_empty() {
                        erase_last_letter(&mut line, echo)?;
                    }
                }
                PressedKey::Back => erase_last_letter(&mut line, echo)?,
                PressedKey::Byte(_) if line.len() >= LINE_BYTES_MAX => (),
                PressedKey::Byte(byte) => {
                    line.push(byte);
                    match echo {
                        EchoMode::Shown => write_stdout(&[byte])?,
                        EchoMode::Hidden if line.len() <= STARS_MAX => write_stdout(b"*")?,
                        EchoMode::Hidden => (),
                    }
                }
            }
        }
        print_text("\n")?;
        Ok(LineReadOutcome::Typed(String::from_utf8_lossy(&line).trim().to_owned()))
    }
}

impl Drop for RawKeyboard {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Takes the last letter away.
fn erase_last_letter(line: &mut Vec<u8>, echo: EchoMode) -> io::Result<()> {
    let seen = line.len();
    while line.pop().is_some_and(|byte| (0x80..0xc0).contains(&byte)) {}
    match echo {
        EchoMode::Shown if seen > 0 => write_stdout(b"\x08 \x08"),
        EchoMode::Hidden if (1..=STARS_MAX).contains(&seen) => write_stdout(b"\x08 \x08"),
        EchoMode::Shown | EchoMode::Hidden => Ok(()),
    }
}

/// Writes what this program says.
pub(super) fn print_text(text: &str) -> io::Result<()> {
    write_stdout(text.as_bytes())
}

fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The next byte; `None`: there are no more. Nothing is read ahead: the rest is for the face.
fn read_byte() -> io::Result<Option<u8>> {
    let mut one = [0_u8];
    loop {
        match rustix::io::read(stdin(), &mut one) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(one[0])),
            Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a byte comes soon.
fn has_pending_byte() -> io::Result<bool> {
    let input = stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec::try_from(ESCAPE_WAIT).ok();
    match poll(&mut polled, wait.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
