//! The way back: the terminal as it was found, whatever happens.
//!
//! What is needed for it lies in one place that the end of the program, a panic and the last resort
//! after a signal can all reach. Not here: when the program ends (`app`), and what a signal means
//! to it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::TerminalCaps;
use super::writer::{TerminalWriter, WriteEnd, write_all};

/// How long the end waits for a slow terminal to take what is left.
const SETTLE_WAIT: Duration = Duration::from_secs(2);
/// How long a terminal may take nothing at all before it is left as it is.
const STUCK_WAIT: Duration = Duration::from_secs(2);
/// Panics whose words are kept for the end, and bytes of each.
const PANICS_MAX: usize = 8;
const PANIC_BYTES_MAX: usize = 4096;

/// The terminal that is to be given back.
struct TerminalRestore {
    found: Termios,
    caps: TerminalCaps,
    outlet: Arc<TerminalWriter>,
    owner: ThreadId,
    entered: bool,
    below: usize,
    full: bool,
    farewell: Option<String>,
    panics: Vec<String>,
}

static WAY: Mutex<Option<TerminalRestore>> = Mutex::new(None);
static HOOK: Once = Once::new();

fn lock_restore() -> MutexGuard<'static, Option<TerminalRestore>> {
    WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the terminal as it is and takes it; `false`: somebody has it already.
pub(super) fn take_terminal(caps: TerminalCaps, outlet: Arc<TerminalWriter>) -> io::Result<bool> {
    let found = tcgetattr(stdin())?;
    let mut way = lock_restore();
    if way.is_some() {
        return Ok(false);
    }
    *way = Some(TerminalRestore {
        found,
        caps,
        outlet,
        owner: std::thread::current().id(),
        entered: false,
        below: 0,
        full: false,
        farewell: None,
        panics: Vec::new(),
    });
    drop(way);
    HOOK.call_once(install_panic_hook);
    enter_raw_mode()?;
    Ok(true)
}

/// Raw mode, and what the terminal shall report.
pub(super) fn enter_raw_mode() -> io::Result<()> {
    let mut way = lock_restore();
    let Some(way) = way.as_mut() else { return Ok(()) };
    let mut raw = way.found.clone();
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    way.entered = true;
    let mut bytes = Vec::new();
    if way.caps.reports {
        bytes.extend_from_slice(b"\x1b[?2004h\x1b[?1004h");
    }
    if way.caps.keys {
        bytes.extend_from_slice(b"\x1b[>1u");
    }
    way.outlet.send_bytes(&bytes);
    Ok(())
}

/// What somebody has to know who leaves in the middle.
pub(super) fn note_position(below: usize, full: bool) {
    if let Some(way) = lock_restore().as_mut() {
        way.below = below;
        way.full = full;
    }
}

/// What is printed last: how to come back.
pub(super) fn set_farewell(text: Option<String>) {
    if let Some(way) = lock_restore().as_mut() {
        way.farewell = text.map(|text| crate::text::clean::clean_text(&text).into_owned());
    }
}

/// Gives the terminal away for a while: an editor, the shell. `end` removes the live region; `pause`
/// ends reading, once every answer of the terminal has come.
pub(super) fn lend_terminal(end: &[u8], pause: impl FnOnce()) -> io::Result<()> {
    let mut way = lock_restore();
    let Some(way) = way.as_mut() else { return Ok(()) };
    way.outlet.settle_output(SETTLE_WAIT);
    pause();
    way.outlet.send_last(end);
    way.outlet.send_last(&modes_off(way.caps));
    way.outlet.settle_output(SETTLE_WAIT);
    way.entered = false;
    way.below = 0;
    way.full = false;
    Ok(tcsetattr(stdin(), OptionalActions::Now, &way.found)?)
}

/// Gives the terminal back. `end` removes the live region; without it the cursor goes below. Does
/// nothing when it was given back already.
pub(super) fn give_back(end: Option<&[u8]>) {
    let Some(way) = lock_restore().take() else { return };
    way.restore_terminal(end);
    let mut words = String::new();
    if let Some(farewell) = &way.farewell {
        words.push_str(farewell);
        words.push('\n');
    }
    for panic in &way.panics {
        words.push_str(panic);
        words.push('\n');
    }
    // Nobody is left to tell when this cannot be written.
    let _ = write_all(words.as_bytes(), Some(STUCK_WAIT));
}

impl TerminalRestore {
    fn restore_terminal(&self, end: Option<&[u8]>) {
        let mut bytes = Vec::new();
        let settled = self.outlet.settle_output(SETTLE_WAIT);
        self.outlet.stop_writing(Duration::from_millis(200));
        if self.entered {
            match (end, settled) {
                (Some(end), WriteEnd::Whole) => bytes.extend_from_slice(end),
                (_, settled) => {
                    if settled == WriteEnd::Cut {
                        // Ends a sequence that was cut in the middle.
                        bytes.push(0x18);
                    }
                    bytes.extend_from_slice(b"\x1b[?2026l");
                    if self.full {
                        bytes.extend_from_slice(b"\x1b[?1049l");
                    }
                    if self.below > 0 {
                        bytes.extend_from_slice(format!("\x1b[{}B", self.below).as_bytes());
                    }
                    bytes.extend_from_slice(b"\r\n\x1b[J");
                }
            }
            bytes.extend_from_slice(&modes_off(self.caps));
            let _ = write_all(&bytes, Some(STUCK_WAIT));
        }
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.found);
    }
}

fn modes_off(caps: TerminalCaps) -> Vec<u8> {
    let mut bytes = Vec::new();
    if caps.keys {
        bytes.extend_from_slice(b"\x1b[<u");
    }
    if caps.reports {
        bytes.extend_from_slice(b"\x1b[?1004l\x1b[?2004l");
    }
    if caps.sync {
        bytes.extend_from_slice(b"\x1b[?2026l");
    }
    bytes.extend_from_slice(b"\x1b[m\x1b[?25h");
    bytes
}

/// A panic on the thread that owns the terminal ends the program: it is given back first. One
/// elsewhere may be caught by whoever waits for that task, so its words wait for the end, for they
/// would only spoil the screen.
fn install_panic_hook() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let here = std::thread::current().id();
        let owner = lock_restore().as_ref().map(|way| way.owner);
        match owner {
            None => before(info),
            Some(owner) if owner == here => {
                give_back(None);
                before(info);
            }
            Some(_) => {
                let mut words = info.to_string();
                words.truncate(words.floor_char_boundary(PANIC_BYTES_MAX));
                let words = crate::text::clean::clean_text(&words).into_owned();
                if let Some(way) = lock_restore().as_mut()
                    && way.panics.len() < PANICS_MAX
                {
                    way.panics.push(words);
                }
            }
        }
    }));
}
