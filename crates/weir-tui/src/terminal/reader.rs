//! The way in: one thread reads what is typed and sleeps while nothing comes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc as sync};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::stdin;
use tokio::sync::mpsc::Sender;

use super::Event;
use super::keys::{Focus, Input, Parser, Pending};
use super::writer::Outlet;

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
pub(super) struct Reader {
    order: Arc<AtomicU8>,
    wake: OwnedFd,
    paused: sync::Receiver<()>,
}

/// The thread, from inside.
struct Inside {
    order: Arc<AtomicU8>,
    woken: OwnedFd,
    paused: sync::SyncSender<()>,
    events: Sender<Event>,
    outlet: Arc<Outlet>,
    parser: Parser,
}

/// Whether the thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Stop,
}

impl Reader {
    /// Starts the thread.
    pub(super) fn start(events: Sender<Event>, outlet: Arc<Outlet>) -> io::Result<Reader> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let order = Arc::new(AtomicU8::new(READ));
        let (sender, paused) = sync::sync_channel(1);
        let inside = Inside {
            order: Arc::clone(&order),
            woken,
            paused: sender,
            events,
            outlet,
            parser: Parser::default(),
        };
        std::thread::Builder::new().name("weir-terminal-in".into()).spawn(move || inside.run())?;
        Ok(Reader { order, wake, paused })
    }

    /// Nothing is read from here on, until [`Reader::resume`].
    pub(super) fn pause(&self) {
        while self.paused.try_recv().is_ok() {}
        self.tell(PAUSE);
        // The thread may be waiting for somebody to take its events; then it reads nothing either.
        let _ = self.paused.recv_timeout(PAUSE_WAIT);
    }

    /// Reads on.
    pub(super) fn resume(&self) {
        self.tell(READ);
    }

    fn tell(&self, order: u8) {
        self.order.store(order, Ordering::SeqCst);
        // A full pipe wakes as well.
        let _ = rustix::io::write(&self.wake, b"x");
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.tell(STOP);
    }
}

impl Inside {
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
            let next = match self.wait() {
                Ok(Waited::Input) => self.read(&mut buffer),
                Ok(Waited::Word) => Next::Read,
                Ok(Waited::Nothing) => {
                    let mut inputs = Vec::new();
                    self.parser.idle(&mut inputs);
                    self.send(inputs)
                }
                Err(_) => self.ended(),
            };
            if next == Next::Stop {
                return;
            }
        }
    }

    fn wait(&mut self) -> io::Result<Waited> {
        let limit = match self.parser.pending() {
            Pending::Nothing => None,
            Pending::Sequence => Some(SEQUENCE_WAIT),
            Pending::Paste => Some(PASTE_WAIT),
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
            Err(Errno::INTR) => return Ok(Waited::Word),
            Err(error) => return Err(error.into()),
        };
        let (input, word) = (!wait[0].revents().is_empty(), !wait[1].revents().is_empty());
        if word {
            self.clear_words();
            return Ok(Waited::Word);
        }
        Ok(if count == 0 || !input { Waited::Nothing } else { Waited::Input })
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

    fn read(&mut self, buffer: &mut [u8]) -> Next {
        match rustix::io::read(stdin(), &mut *buffer) {
            Ok(0) => self.ended(),
            Ok(count) => {
                let mut inputs = Vec::new();
                self.parser.feed(&buffer[..count], &mut inputs);
                self.send(inputs)
            }
            Err(Errno::INTR | Errno::AGAIN) => Next::Read,
            Err(_) => self.ended(),
        }
    }

    fn send(&self, inputs: Vec<Input>) -> Next {
        for input in inputs {
            let event = match input {
                Input::Answer => {
                    self.outlet.answered();
                    continue;
                }
                Input::Key(key) => Event::Key(key),
                Input::Paste(text) => Event::Paste(text),
                Input::Focus(focus) => Event::Focus(focus == Focus::Gained),
            };
            if self.events.blocking_send(event).is_err() {
                return Next::Stop;
            }
        }
        Next::Read
    }

    fn ended(&self) -> Next {
        let _ = self.events.blocking_send(Event::Ended);
        Next::Stop
    }
}

/// What the thread was woken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    Input,
    Word,
    Nothing,
}
