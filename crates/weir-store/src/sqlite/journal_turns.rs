//! What the journal's thread is at, to tell whether it may read as well. Not here: what it does
//! (`writer`), and the threads that read beside it (`connection_threads`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::writer::WriterCounters;

/// What a program that has one session may ask at once before others read for it: a handful of short
/// reads and a write, which are over sooner than a connection is opened for them (Q5).
const PATIENT_AT_ONCE: usize = 8;

/// What the journal's thread was asked for and has not answered.
pub(super) struct JournalTurns {
    counters: Arc<WriterCounters>,
    /// Commands that may wait while another is asked, before others read.
    may_wait: usize,
    /// Commands that have no answer yet, and those of them that only read.
    waiting: AtomicUsize,
    reading: AtomicUsize,
    /// Somebody wanted more at once than may wait: from then on others read.
    is_shared: AtomicBool,
}

/// One command that waits for its answer.
pub(super) struct JournalTurn<'a> {
    turns: &'a JournalTurns,
    reads: bool,
}

impl JournalTurns {
    /// `patient`: a program with one session uses the store, and its reads wait for each other.
    pub(super) fn new(counters: Arc<WriterCounters>, patient: bool) -> JournalTurns {
        JournalTurns {
            counters,
            may_wait: if patient { PATIENT_AT_ONCE } else { 0 },
            waiting: AtomicUsize::new(0),
            reading: AtomicUsize::new(0),
            is_shared: AtomicBool::new(false),
        }
    }

    pub(super) fn begin_command(&self) -> JournalTurn<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if self.reading.load(Ordering::Relaxed) > self.may_wait {
            self.is_shared.store(true, Ordering::Relaxed);
        }
        JournalTurn { turns: self, reads: false }
    }

    /// `None`: it has other work. What it does without being asked is not for long, unless another
    /// program is in its way; then nobody waits for it either.
    pub(super) fn begin_read(&self) -> Option<JournalTurn<'_>> {
        if self.waiting.load(Ordering::Relaxed) > self.may_wait {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(patient: bool) -> JournalTurns {
        JournalTurns::new(Arc::new(WriterCounters::default()), patient)
    }

    #[test]
    fn q11_where_many_use_a_store_others_read_as_soon_as_two_things_are_wanted_at_once() {
        let turns = turns(false);
        drop(turns.begin_read().expect("nothing else is asked"));
        let command = turns.begin_command();
        assert!(turns.begin_read().is_none());
        drop(command);
        assert!(turns.begin_read().is_none(), "from then on");
    }

    #[test]
    fn q5_what_one_session_wants_at_once_waits_for_its_turn() {
        let turns = turns(true);
        let command = turns.begin_command();
        let reads: Vec<_> = (0..PATIENT_AT_ONCE).map(|_| turns.begin_read()).collect();
        assert!(reads.iter().all(Option::is_some));
        assert!(turns.begin_read().is_none(), "that is more than one session");
        drop((command, reads));
        assert!(turns.begin_read().is_none(), "from then on");
    }
}
