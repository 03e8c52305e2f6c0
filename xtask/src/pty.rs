//! A program on a pty: what it writes is kept with its time. Not a terminal: it answers what programs
//! ask of one, and draws nothing.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// Columns and rows.
const SIZE: (u16, u16) = (120, 40);
/// How long a program may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// What a terminal answers to what it is asked.
const ANSWERS: &[(&[u8], &[u8])] =
    &[(b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[5n", b"\x1b[0n"), (b"\x1b[?u", b"\x1b[?0u")];

/// The program. Dropping it ends it.
pub(crate) struct Pty {
    child: Child,
    keys: File,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    written: Mutex<Written>,
    more: Condvar,
}

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    /// How many bytes there were after each read, and when.
    reads: Vec<(usize, Instant)>,
    over: bool,
}

impl Pty {
    /// Starts a command with a pty as its terminal.
    pub(crate) fn start(command: &Command) -> anyhow::Result<Pty> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).context("opening a pty")?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = File::from(ioctl_tiocgptpeer(&master, flags)?);
        let size = Winsize { ws_col: SIZE.0, ws_row: SIZE.1, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size)?;
        // Keys that come before the program does must not be shown by the line itself.
        let mut settings = tcgetattr(&slave)?;
        settings.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &settings)?;
        let child = on_terminal(command, &slave)?;
        let keys = File::from(master);
        let heard = Arc::<Heard>::default();
        let (own, ears, answers) = (heard.clone(), keys.try_clone()?, keys.try_clone()?);
        thread::spawn(move || own.listen(ears, answers));
        Ok(Pty { child, keys, heard })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types.
    pub(crate) fn send(&mut self, text: &str) -> anyhow::Result<()> {
        self.keys.write_all(text.as_bytes()).context("typing")
    }

    /// What was written from this byte on.
    pub(crate) fn written_from(&self, from: usize) -> Vec<u8> {
        self.heard.lock().bytes.get(from..).unwrap_or_default().to_vec()
    }

    /// Waits until more than `length` bytes were written, nothing more will be, or the time is over.
    pub(crate) fn wait_for_more(&self, length: usize, time: Duration) {
        // Whether there is more, whoever waited looks for.
        let _more = self.heard.wait(time, |written| (written.bytes.len() > length).then_some(()));
    }

    /// SIGKILL; how it ended, which is by itself where it was quicker.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Tells it to end, and waits; how it ended, `None`: it did not in this time.
    pub(crate) fn end_and_wait(&mut self, time: Duration) -> anyhow::Result<Option<ExitStatus>> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).context("sending a signal")?;
        let until = Instant::now() + time;
        loop {
            match self.ended()? {
                None if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                status => return Ok(status),
            }
        }
    }

    /// Bytes so far.
    pub(crate) fn written(&self) -> usize {
        self.heard.lock().bytes.len()
    }

    /// When the first letter was written that is no part of a sequence.
    pub(crate) fn first_letter(&self) -> Option<Instant> {
        let written = self.heard.lock();
        let place = first_letter(&written.bytes)?;
        written.when(place)
    }

    /// Waits until `wanted` stands among the bytes from `from` on; when its last byte came.
    pub(crate) fn shown(
        &self,
        from: usize,
        wanted: &str,
        patience: Duration,
    ) -> anyhow::Result<Instant> {
        let wanted = wanted.as_bytes();
        let mut looked = from;
        let found = self.heard.wait(patience, |written| {
            let place =
                written.bytes[looked..].windows(wanted.len()).position(|part| part == wanted);
            let found = place.and_then(|place| written.when(looked + place + wanted.len() - 1));
            looked = looked.max(written.bytes.len().saturating_sub(wanted.len()));
            found
        });
        match found {
            Some(at) => Ok(at),
            None => {
                let bytes = self.heard.lock().bytes[from..].to_vec();
                let end = bytes.len().saturating_sub(600);
                let end = String::from_utf8_lossy(&bytes[end..]).escape_debug().to_string();
                bail!("{:?} was not written; the last was: {end}", String::from_utf8_lossy(wanted))
            }
        }
    }

    /// Waits until anything was written after `from` bytes.
    pub(crate) fn written_after(&self, from: usize, patience: Duration) -> anyhow::Result<()> {
        let found = self.heard.wait(patience, |written| (written.bytes.len() > from).then_some(()));
        found.context("nothing was written")
    }

    /// Waits until nothing was written for `rest`.
    pub(crate) fn rest(&self, rest: Duration, patience: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + patience;
        loop {
            let last = self.heard.lock().reads.last().map(|(_, at)| at.elapsed());
            match last {
                None => return Ok(()),
                Some(since) if since >= rest => return Ok(()),
                Some(_) if Instant::now() > end => bail!("it does not come to rest"),
                Some(since) => thread::sleep(rest - since),
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It may end at this moment.
            let _ended = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        let end = Instant::now() + ENDING;
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `setsid --ctty` makes the pty the terminal of the program and becomes it: without it `/dev/tty`
/// would be the terminal of whoever measures. It costs the start of one small program.
fn on_terminal(command: &Command, slave: &File) -> anyhow::Result<Child> {
    let mut outer = Command::new("setsid");
    outer.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave.try_clone()?);
    outer.spawn().context("starting setsid (package util-linux)")
}

impl Heard {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, mut ears: File, mut answers: File) {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            // An error is the end: the other side has closed the pty.
            let read = ears.read(&mut chunk).unwrap_or(0);
            let mut written = self.lock();
            if read == 0 {
                written.over = true;
                self.more.notify_all();
                return;
            }
            written.bytes.extend_from_slice(&chunk[..read]);
            let length = written.bytes.len();
            written.reads.push((length, Instant::now()));
            drop(written);
            self.more.notify_all();
            for (asked, answer) in ANSWERS {
                let times = chunk[..read].windows(asked.len()).filter(|part| part == asked).count();
                // Whoever asked and ended needs no answer.
                drop(answers.write_all(&answer.repeat(times)));
            }
        }
    }

    fn wait<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&Written) -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + patience;
        let mut written = self.lock();
        loop {
            if let Some(found) = look(&written) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            if written.over {
                return None;
            }
            let (again, _) =
                self.more.wait_timeout(written, left).unwrap_or_else(PoisonError::into_inner);
            written = again;
        }
    }
}

impl Written {
    /// When the byte at `place` came.
    fn when(&self, place: usize) -> Option<Instant> {
        let read = self.reads.partition_point(|(length, _)| *length <= place);
        self.reads.get(read).map(|(_, at)| *at)
    }
}

/// Where the first byte stands that puts something on a screen.
fn first_letter(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0x1b => at = after_sequence(bytes, at),
            byte if byte > b' ' && byte != 0x7f => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Where the escape sequence that begins at `at` has ended.
fn after_sequence(bytes: &[u8], at: usize) -> usize {
    let is_end = |byte: &u8| match bytes.get(at + 1) {
        Some(b'[') => (0x40..=0x7e).contains(byte),
        // A text up to BEL or the backslash of ESC \.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => matches!(byte, 0x07 | b'\\'),
        _ => true,
    };
    let from = match bytes.get(at + 1) {
        Some(b'[' | b']' | b'P' | b'_' | b'^' | b'X') => at + 2,
        _ => at + 1,
    };
    let length = bytes.get(from..).and_then(|rest| rest.iter().position(is_end));
    length.map_or(bytes.len(), |length| from + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_letter_is_no_part_of_a_sequence() {
        for (bytes, place) in [
            ("\x1b[?u\x1b[c", None),
            ("\x1b[?2004hx", Some(8)),
            ("\x1b]0;title\x07\r\n é", Some(13)),
            ("\x1b]0;title\x1b\\x", Some(11)),
            ("\x1b7x", Some(2)),
            ("  x", Some(2)),
        ] {
            assert_eq!(first_letter(bytes.as_bytes()), place, "{bytes:?}");
        }
    }

    #[test]
    fn what_a_program_writes_is_heard_with_its_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "read -r line; echo \"[$line]\""]);
        let mut pty = Pty::start(&command).expect("a pty");
        let began = Instant::now();
        pty.send("a word\n").expect("it reads");
        let at = pty.shown(0, "[a word]", Duration::from_secs(120)).expect("it answers");
        assert!(at >= began);
        assert_eq!(pty.first_letter().map(|first| first <= at), Some(true));
    }
}
