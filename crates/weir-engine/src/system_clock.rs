//! The system's time for the engine, and for what waits for days. Not here: what time is used for,
//! which everything else learns through the port.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use weir_core::ids::Timestamp;

use crate::ports::Clock;

/// Wall time that never runs backwards while the program lives: the start is read once, what
/// follows is measured.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    wall: Timestamp,
    random: RandomState,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SystemClock {
            started: Instant::now(),
            wall: Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)),
            random: RandomState::new(),
        }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.wall.0.saturating_add(passed))
    }

    async fn sleep_until(&self, until: Timestamp) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }

    fn random_number(&self) -> u64 {
        let mut hasher = self.random.build_hasher();
        hasher.write_u128(self.started.elapsed().as_nanos());
        hasher.finish()
    }
}

/// The time on the wall, as it is when somebody looks: for programs that wait for days. A machine
/// that slept, or whose clock was set, is noticed.
#[derive(Debug, Default)]
pub struct WallClock(SystemClock);

/// How long a wait may be before the wall is looked at again: timers stand still while a machine
/// sleeps.
const LOOK_EVERY: Duration = Duration::from_secs(20);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        SystemClock::default().wall
    }

    async fn sleep_until(&self, until: Timestamp) {
        loop {
            let left = until.0.saturating_sub(self.now().0);
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else { return };
            // Of the finest step of a timer more, so that it is never too early.
            let wait = Duration::from_micros(left) + Duration::from_millis(1);
            tokio::time::sleep(wait.min(LOOK_EVERY)).await;
        }
    }

    fn random_number(&self) -> u64 {
        self.0.random_number()
    }
}
