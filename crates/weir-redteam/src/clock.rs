//! Wall time for the engine of a bench.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use weir_core::ids::Timestamp;
use weir_engine::ports::Clock;

/// The system's clock; its jitter is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WallClock;

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
    async fn sleep_until(&self, until: Timestamp) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }
    fn random_number(&self) -> u64 {
        0
    }
}
