//! The time of one session: the clock, never behind its own journal. A journal can hold moments that
//! are yet to come (the clock was wrong when they were written, and was set right); whoever waited
//! for the clock to get there would wait for hours or years. Not here: the clock.

use std::sync::Arc;

use weir_core::ids::Timestamp;

use crate::ports::Clock;

/// The time of one session.
#[derive(Clone)]
pub(crate) struct SessionTime {
    clock: Arc<dyn Clock>,
    /// How far the journal was ahead of the clock when the session was taken up.
    lead_us: i64,
}

impl SessionTime {
    /// The time of a session whose last fact is of `last`.
    pub(crate) fn from_last_fact(clock: Arc<dyn Clock>, last: Timestamp) -> SessionTime {
        let lead_us = last.micros().saturating_sub(clock.now().micros()).max(0);
        SessionTime { clock, lead_us }
    }

    /// Now: what is noted and measured in the session.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.clock.now().micros().saturating_add(self.lead_us))
    }

    /// Resolves at or after `until`, a moment of the session.
    pub(crate) async fn sleep_until(&self, until: Timestamp) {
        self.clock.sleep_until(Timestamp(until.micros().saturating_sub(self.lead_us))).await;
    }
}
