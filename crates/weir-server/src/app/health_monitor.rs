//! What was found last of the health of the process, and whose data could not be read. Not here: what
//! is looked at and who is told (`health`).

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tokio::sync::Mutex;
use weir_core::ids::Timestamp;
use weir_install::maintenance::{HealthFinding, HealthLevel};

/// A clock that was set by so much is told of.
const CLOCK_S_MAX: i64 = 30;

/// What was found last.
pub(crate) struct HealthMonitor {
    begun: (Instant, Timestamp),
    /// People whose sessions cannot be read.
    unreadable: std::sync::Mutex<BTreeSet<String>>,
    pub(crate) last: Mutex<Option<(Instant, Arc<Vec<HealthFinding>>)>>,
}

impl HealthMonitor {
    /// Begins to watch, at `now` by the wall clock.
    pub(crate) fn new(now: Timestamp) -> HealthMonitor {
        let unreadable = std::sync::Mutex::default();
        HealthMonitor { begun: (Instant::now(), now), unreadable, last: Mutex::default() }
    }

    /// Notes whether what is kept of a person could be read.
    pub(crate) fn note_readable(&self, person: &str, readable: bool) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if readable {
            unreadable.remove(person);
        } else {
            unreadable.insert(person.to_owned());
        }
    }

    /// Whose sessions cannot be read. Others go on, so the server as a whole is ready.
    pub(crate) fn unreadable_finding(&self) -> Option<HealthFinding> {
        let unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<&str> = unreadable.iter().map(String::as_str).collect();
        let says = format!(
            "what is kept of {} cannot be read: nothing of theirs is done; the log says why, and a \
             backup brings it back",
            names.join(", ")
        );
        (!names.is_empty()).then(|| HealthFinding::new("damaged", HealthLevel::Warn, says))
    }

    /// Whether the wall clock went as fast as time.
    pub(crate) fn check_clock(&self, now: Timestamp) -> HealthFinding {
        let passed = i64::try_from(self.begun.0.elapsed().as_micros()).unwrap_or(i64::MAX);
        clock_finding(now.micros() - self.begun.1.micros() - passed)
    }
}

fn clock_finding(jumped_us: i64) -> HealthFinding {
    let seconds = jumped_us / 1_000_000;
    if seconds.abs() < CLOCK_S_MAX {
        return HealthFinding::new("clock", HealthLevel::Good, "the clock runs evenly");
    }
    let way = if seconds > 0 { "forward" } else { "back" };
    let says = format!(
        "the clock was set {way} by {} s since the start: schedules and sign-ins go by it; see to \
         its synchronisation",
        seconds.abs()
    );
    HealthFinding::new("clock", HealthLevel::Warn, says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_a_clock_that_was_set_is_told_of() {
        assert_eq!(clock_finding(29_000_000).health, HealthLevel::Good);
        let forward = clock_finding(3_600_000_000);
        assert_eq!(forward.health, HealthLevel::Warn);
        assert!(forward.says.contains("forward by 3600 s"), "{}", forward.says);
        assert!(clock_finding(-40_000_000).says.contains("back by 40 s"));
    }
}
