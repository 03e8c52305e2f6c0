//! The clock of the face: the wall's time at the start, and from there on what passed. It never
//! goes back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use weir_core::ids::Timestamp;

/// The clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaceClock {
    start: Instant,
    wall: i64,
}

impl FaceClock {
    pub(super) fn new() -> FaceClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        FaceClock { start: Instant::now(), wall: i64::try_from(since.as_micros()).unwrap_or(0) }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.time_at(Instant::now())
    }

    /// The time of a moment, which is the start's where it was before.
    pub(super) fn time_at(&self, moment: Instant) -> Timestamp {
        let passed = moment.saturating_duration_since(self.start).as_micros();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        Timestamp(self.wall.saturating_add(passed))
    }
}
