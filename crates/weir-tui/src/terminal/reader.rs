//! The way in: one thread reads what is typed and sleeps while nothing comes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc as sync};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::stdin;
use tokio::sync::mpsc::Sender;

use super::TerminalEvent;
use super::keys::{FocusChange, KeyParser, PendingInput, TerminalInput};
use super::writer::TerminalWriter;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// How long an Escape waits for what may follow it: a slow line tears sequences apart.
const SEQUENCE_WAIT: Duration = Duration::from_millis(40);
/// A paste that pauses so long has lost its end.
const PASTE_WAIT: Duration = Duration::from_secs(10);
/// How long somebody who lends the terminal waits for the thread to let go of it.
const PAUSE_WAIT: Duration = Duration::from_millis(300);

const READ: u8 = 0;
const PAUSE: u8 = 1;
const STOP: u8 = 2;

/// The thread, from outside.
#[derive(Debug)]
pub(super) struct InputReader {
    order: Arc<AtomicU8>,
    wake: OwnedFd,
    paused: sync::Receiver<()>,
}

/// The thread, from inside.
struct ReaderThread {
    order: Arc<AtomicU8>,
    woken: OwnedFd,
    paused: sync::SyncSender<()>,
    events: Sender<TerminalEvent>,
    outlet: Arc<TerminalWriter>,
    parser: KeyParser,
}

/// Whether the thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderStep {
    Read,
    Stop,
}

impl InputReader {
    /// Starts the thread.
    pub(super) fn start(
        events: Sender<TerminalEvent>,
        outlet: Arc<TerminalWriter>,
    ) -> io::Result<InputReader> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let order = Arc::new(AtomicU8::new(READ));
        let (sender, paused) = sync::sync_channel(1);
        let inside = ReaderThread {
            order: Arc::clone(&order),
            woken,
            paused: sender,
            events,
            outlet,
            parser: KeyParser::default(),
        };
        std::thread::Builder::new().name("weir-terminal-in".into()).spawn(move || inside.run())?;
        Ok(InputReader { order, wake, paused })
    }

    /// Nothing is read from here on, until [`InputReader::resume`].
    pub(super) fn pause(&self) {
        while self.paused.try_recv().is_ok() {}
        self.send_order(PAUSE);
        // The thread may be waiting for somebody to take its events; then it reads nothing either.
        let _ = self.paused.recv_timeout(PAUSE_WAIT);
    }

    /// Reads on.
    pub(super) fn resume(&self) {
        self.send_order(READ);
    }

    fn send_order(&self, order: u8) {
        self.order.store(order, Ordering::SeqCst);
        // A full pipe wakes as well.
        let _ = rustix::io::write(&self.wake, b"x");
    }
}

impl Drop for InputReader {
    fn drop(&mut self) {
        self.send_order(STOP);
    }
}

impl ReaderThread {
    fn run(mut self) {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match self.order.load(Ordering::SeqCst) {
                STOP => return,
                PAUSE => {
                    let _ = self.paused.try_send(());
                    self.wait_for_word();
                    continue;
                }
                _ => {}
            }
            let next = match self.wait_for_input() {
                Ok(WakeReason::Input) => self.read_input(&mut buffer),
                Ok(WakeReason::Word) => ReaderStep::Read,
                Ok(WakeReason::Nothing) => {
                    let mut inputs = Vec::new();
                    self.parser.flush_idle(&mut inputs);
                    self.send_inputs(inputs)
                }
                Err(_) => self.send_ended(),
            };
            if next == ReaderStep::Stop {
                return;
            }
        }
    }

    fn wait_for_input(&mut self) -> io::Result<WakeReason> {
        let limit = match self.parser.pending_input() {
            PendingInput::Nothing => None,
            PendingInput::Sequence => Some(SEQUENCE_WAIT),
            PendingInput::Paste => Some(PASTE_WAIT),
        };
        let limit = limit.map(|limit| Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        let mut wait = [
            PollFd::from_borrowed_fd(stdin(), PollFlags::IN),
            PollFd::new(&self.woken, PollFlags::IN),
        ];
        let count = match poll(&mut wait, limit.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => return Ok(WakeReason::Word),
            Err(error) => return Err(error.into()),
        };
        let (input, word) = (!wait[0].revents().is_empty(), !wait[1].revents().is_empty());
        if word {
            self.clear_words();
            return Ok(WakeReason::Word);
        }
        Ok(if count == 0 || !input { WakeReason::Nothing } else { WakeReason::Input })
    }

    fn wait_for_word(&self) {
        let mut wait = [PollFd::new(&self.woken, PollFlags::IN)];
        // Whatever ends the wait, the order is looked at again.
        let _ = poll(&mut wait, None);
        self.clear_words();
    }

    fn clear_words(&self) {
        let mut words = [0; 64];
        // The pipe does not block; its end reads as nothing.
        while matches!(rustix::io::read(&self.woken, &mut words), Ok(count) if count == 64) {}
    }

    fn read_input(&mut self, buffer: &mut [u8]) -> ReaderStep {
        match rustix::io::read(stdin(), &mut *buffer) {
            Ok(0) => self.send_ended(),
            Ok(count) => {
                let mut inputs = Vec::new();
                self.parser.feed(&buffer[..count], &mut inputs);
                self.send_inputs(inputs)
            }
            Err(Errno::INTR | Errno::AGAIN) => ReaderStep::Read,
            Err(_) => self.send_ended(),
        }
    }

    fn send_inputs(&self, inputs: Vec<TerminalInput>) -> ReaderStep {
        let read = Instant::now();
        for input in inputs {
            let event = match input {
                TerminalInput::Answer => {
                    self.outlet.note_answered();
                    continue;
                }
                TerminalInput::Key(key) => TerminalEvent::Key(key, read),
                TerminalInput::Paste(text) => TerminalEvent::Paste(text),
                TerminalInput::Focus(focus) => TerminalEvent::Focus(focus == FocusChange::Gained),
            };
            if self.events.blocking_send(event).is_err() {
                return ReaderStep::Stop;
            }
        }
        ReaderStep::Read
    }

    fn send_ended(&self) -> ReaderStep {
        let _ = self.events.blocking_send(TerminalEvent::Ended);
        ReaderStep::Stop
    }
}

/// What the thread was woken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeReason {
    Input,
    Word,
    Nothing,
}
