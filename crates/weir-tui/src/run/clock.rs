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
        let passed = i64::try_from(self.start.elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.wall.saturating_add(passed))
    }
}
