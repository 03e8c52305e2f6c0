//! What the journal's thread is at, to tell whether it may read as well. Not here: what it does
//! (`writer`), and the threads that read beside it (`connection_threads`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::writer::WriterCounters;

/// What the journal's thread was asked for and has not answered.
pub(super) struct JournalTurns {
    counters: Arc<WriterCounters>,
    /// Commands that have no answer yet, and those of them that only read.
    waiting: AtomicUsize,
    reading: AtomicUsize,
    /// Somebody wanted two things at once: from then on others read.
    is_shared: AtomicBool,
}

/// One command that waits for its answer.
pub(super) struct JournalTurn<'a> {
    turns: &'a JournalTurns,
    reads: bool,
}

impl JournalTurns {
    pub(super) fn new(counters: Arc<WriterCounters>) -> JournalTurns {
        JournalTurns {
            counters,
            waiting: AtomicUsize::new(0),
            reading: AtomicUsize::new(0),
            is_shared: AtomicBool::new(false),
        }
    }

    pub(super) fn begin_command(&self) -> JournalTurn<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if self.reading.load(Ordering::Relaxed) > 0 {
            self.is_shared.store(true, Ordering::Relaxed);
        }
        JournalTurn { turns: self, reads: false }
    }

    /// `None`: it has other work. What it does without being asked is not for long, unless another
    /// program is in its way; then nobody waits for it either.
    pub(super) fn begin_read(&self) -> Option<JournalTurn<'_>> {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.is_shared.store(true, Ordering::Relaxed);
        }
        let keeps_house = self.counters.keeps_house.load(Ordering::Relaxed);
        if keeps_house || self.is_shared.load(Ordering::Relaxed) {
            return None;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.reading.fetch_add(1, Ordering::Relaxed);
        Some(JournalTurn { turns: self, reads: true })
    }
}

impl Drop for JournalTurn<'_> {
    fn drop(&mut self) {
        self.turns.waiting.fetch_sub(1, Ordering::Relaxed);
        if self.reads {
            self.turns.reading.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
