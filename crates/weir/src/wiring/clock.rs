//! The system's time for the engine.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use weir_core::ids::Timestamp;
use weir_engine::ports::Clock;

/// Wall time that never runs backwards while the program lives: the start is read once, what
/// follows is measured.
#[derive(Debug)]
pub(crate) struct SystemClock {
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

    fn random(&self) -> u64 {
        let mut hasher = self.random.build_hasher();
        hasher.write_u128(self.started.elapsed().as_nanos());
        hasher.finish()
    }
}
