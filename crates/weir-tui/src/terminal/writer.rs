//! The way out: one thread writes, so that a slow terminal never holds up the program.
//!
//! One frame is handed over at a time; the next is composed when that one is written.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdout;
use tokio::sync::Notify;

use super::flow::{FlowControl, QUESTION};

/// Bytes written at once; between two such pieces the thread looks whether it has to stop.
const PIECE_BYTES: usize = 512;

/// What the program and the thread share.
#[derive(Debug)]
pub(super) struct TerminalWriter {
    state: Mutex<WriterState>,
    changed: Condvar,
    drained: Notify,
}

#[derive(Debug)]
struct WriterState {
    next: Vec<u8>,
    writing: bool,
    stage: WriterStage,
    flow: FlowControl,
}

/// What the thread is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriterStage {
    Open,
    /// Stop after the piece at hand.
    Stop,
    /// The terminal is gone: whatever is handed over is dropped.
    Broken,
}

/// How the last frame ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// All of it was written.
    Whole,
    /// It was cut.
    Cut,
}

impl TerminalWriter {
    /// Starts the thread.
    pub(super) fn start(answers: bool) -> io::Result<Arc<TerminalWriter>> {
        let state = WriterState {
            next: Vec::new(),
            writing: false,
            stage: WriterStage::Open,
            flow: FlowControl::new(answers),
        };
        let outlet = Arc::new(TerminalWriter {
            state: Mutex::new(state),
            changed: Condvar::new(),
            drained: Notify::new(),
        });
        let own = Arc::clone(&outlet);
        std::thread::Builder::new().name("weir-terminal-out".into()).spawn(move || own.run())?;
        Ok(outlet)
    }

    /// Hands bytes over. They are written after what was handed over before.
    pub(super) fn send_bytes(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.lock_state();
        if state.stage != WriterStage::Open {
            return;
        }
        state.next.extend_from_slice(bytes);
        if state.flow.note_sent(bytes.len(), Instant::now()) {
            state.next.extend_from_slice(QUESTION);
        }
        self.changed.notify_all();
    }

    /// The same before the terminal is lent: no question goes with it, whose answer somebody else
    /// would read.
    pub(super) fn send_last(&self, bytes: &[u8]) {
        let mut state = self.lock_state();
        if state.stage == WriterStage::Open {
            state.next.extend_from_slice(bytes);
            self.changed.notify_all();
        }
    }

    /// The last frame is written, and not too much is on its way; else how long to wait at most,
    /// if there is an end to it.
    pub(super) fn check_ready(&self) -> Result<(), Option<Instant>> {
        let mut state = self.lock_state();
        match state.stage {
            WriterStage::Broken | WriterStage::Stop => Ok(()),
            WriterStage::Open if state.writing || !state.next.is_empty() => Err(None),
            WriterStage::Open => state.flow.check_window(Instant::now()).map_err(Some),
        }
    }

    /// How many bytes the next frame should have, if the terminal is slow.
    pub(super) fn frame_budget(&self) -> Option<usize> {
        self.lock_state().flow.frame_budget()
    }

    /// Waits until the next frame can be composed.
    pub(super) async fn wait_until_drained(&self) {
        loop {
            // The waiter is there before it is asked, so that nothing is missed in between.
            let drained = self.drained.notified();
            match self.check_ready() {
                Ok(()) => return,
                Err(None) => drained.await,
                Err(Some(until)) => {
                    // Time passing is as good as an answer: `ready` looks at the clock again.
                    let _ = tokio::time::timeout_at(until.into(), drained).await;
                }
            }
        }
    }

    /// The terminal answered the question.
    pub(super) fn note_answered(&self) {
        self.lock_state().flow.note_answered(Instant::now());
        self.changed.notify_all();
        self.drained.notify_waiters();
    }

    /// Waits until all is written and answered, but not longer than `patience`.
    pub(super) fn settle_output(&self, patience: Duration) -> WriteEnd {
        let busy = |state: &mut WriterState| {
            state.stage == WriterStage::Open
                && (state.writing || !state.next.is_empty() || state.flow.is_asked())
        };
        let guard = self.lock_state();
        let (state, _) = self
            .changed
            .wait_timeout_while(guard, patience, busy)
            .unwrap_or_else(PoisonError::into_inner);
        if state.writing || !state.next.is_empty() { WriteEnd::Cut } else { WriteEnd::Whole }
    }

    /// Lets nothing more be written by the thread; waits at most `patience` for the piece at hand.
    pub(super) fn stop_writing(&self, patience: Duration) {
        let mut state = self.lock_state();
        state.next.clear();
        if state.stage == WriterStage::Open {
            state.stage = WriterStage::Stop;
        }
        self.changed.notify_all();
        self.drained.notify_waiters();
        let _unfinished = self.changed.wait_timeout_while(state, patience, |state| state.writing);
    }

    /// The terminal is gone.
    pub(super) fn is_broken(&self) -> bool {
        self.lock_state().stage == WriterStage::Broken
    }

    fn run(&self) {
        loop {
            let bytes = {
                let guard = self.lock_state();
                let wait = |state: &mut WriterState| {
                    state.stage == WriterStage::Open && state.next.is_empty()
                };
                let mut state =
                    self.changed.wait_while(guard, wait).unwrap_or_else(PoisonError::into_inner);
                if state.stage != WriterStage::Open {
                    return;
                }
                state.writing = true;
                std::mem::take(&mut state.next)
            };
            let mut failed = false;
            for piece in bytes.chunks(PIECE_BYTES) {
                if self.lock_state().stage != WriterStage::Open {
                    break;
                }
                if write_all(piece, None).is_err() {
                    failed = true;
                    break;
                }
            }
            let mut state = self.lock_state();
            state.writing = false;
            if failed {
                state.stage = WriterStage::Broken;
                state.next.clear();
            }
            drop(state);
            self.changed.notify_all();
            self.drained.notify_waiters();
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to the terminal. With `patience` it gives up when the terminal takes nothing for so long.
pub(super) fn write_all(mut bytes: &[u8], patience: Option<Duration>) -> io::Result<()> {
    let patience = patience.map(|patience| Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(patience.subsec_nanos()),
    });
    while !bytes.is_empty() {
        if patience.is_some() {
            let mut wait = [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)];
            match poll(&mut wait, patience.as_ref()) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        match rustix::io::write(stdout(), piece) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Whoever shares the terminal may have made it non-blocking.
            Err(Errno::AGAIN) => {
                let mut wait = [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)];
                match poll(&mut wait, patience.as_ref()) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
