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
pub(super) struct Keyboard {
    before: Termios,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
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
pub(super) enum Line {
    /// It was typed.
    Typed(String),
    /// Escape.
    Escape,
    /// The whole dialogue is left.
    Leave,
}

/// Whether a line is seen while it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    Shown,
    Hidden,
}

impl Keyboard {
    /// Takes the keys of standard input.
    ///
    /// # Errors
    /// It is no terminal.
    pub(super) fn open() -> anyhow::Result<Keyboard> {
        let before = tcgetattr(stdin()).context("looking at the terminal")?;
        let mut raw = before.clone();
        // Enter stays a line feed, and output is left as it is.
        raw.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        raw.special_codes[rustix::termios::SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[rustix::termios::SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw).context("reading keys")?;
        Ok(Keyboard { before })
    }

    /// The next key. Waits for it.
    pub(super) fn key(&mut self) -> io::Result<Key> {
        Ok(match byte()? {
            None | Some(0x03 | 0x04) => Key::Leave,
            Some(b'\r' | b'\n') => Key::Enter,
            Some(0x7f | 0x08) => Key::Back,
            Some(0x15) => Key::Clear,
            Some(0x1b) if !follows()? => Key::Escape,
            Some(0x1b) => {
                self.skip()?;
                Key::Other
            }
            Some(byte) if byte < b' ' => Key::Other,
            Some(byte) => Key::Byte(byte),
        })
    }

    /// What follows an escape: a key with a name, or the brackets around a pasted text.
    fn skip(&mut self) -> io::Result<()> {
        if !matches!(byte()?, Some(b'[' | b'O')) {
            return Ok(());
        }
        while follows()? {
            if byte()?.is_none_or(|byte| (0x40..=0x7e).contains(&byte)) {
                break;
            }
        }
        Ok(())
    }

    /// A line after `question`.
    pub(super) fn line(&mut self, question: &str, echo: Echo) -> io::Result<Line> {
        say(question)?;
        let mut line: Vec<u8> = Vec::new();
        loop {
            match self.key()? {
                Key::Enter => break,
                Key::Escape => {
                    say("\n")?;
                    return Ok(Line::Escape);
                }
                Key::Leave => {
                    say("\n")?;
                    return Ok(Line::Leave);
                }
                Key::Other => (),
                Key::Clear => {
                    while !line.is_empty() {
                        take(&mut line, echo)?;
                    }
                }
                Key::Back => take(&mut line, echo)?,
                Key::Byte(_) if line.len() >= LINE_BYTES_MAX => (),
                Key::Byte(byte) => {
                    line.push(byte);
                    match echo {
                        Echo::Shown => put(&[byte])?,
                        Echo::Hidden if line.len() <= STARS_MAX => put(b"*")?,
                        Echo::Hidden => (),
                    }
                }
            }
        }
        say("\n")?;
        Ok(Line::Typed(String::from_utf8_lossy(&line).trim().to_owned()))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Takes the last letter away.
fn take(line: &mut Vec<u8>, echo: Echo) -> io::Result<()> {
    let seen = line.len();
    while line.pop().is_some_and(|byte| (0x80..0xc0).contains(&byte)) {}
    match echo {
        Echo::Shown if seen > 0 => put(b"\x08 \x08"),
        Echo::Hidden if (1..=STARS_MAX).contains(&seen) => put(b"\x08 \x08"),
        Echo::Shown | Echo::Hidden => Ok(()),
    }
}

/// Writes what this program says.
pub(super) fn say(text: &str) -> io::Result<()> {
    put(text.as_bytes())
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The next byte; `None`: there are no more. Nothing is read ahead: the rest is for the face.
fn byte() -> io::Result<Option<u8>> {
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
fn follows() -> io::Result<bool> {
    let input = stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec::try_from(ESCAPE_WAIT).ok();
    match poll(&mut polled, wait.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
