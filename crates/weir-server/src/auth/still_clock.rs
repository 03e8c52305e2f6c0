//! A clock that stands still, for tests of sign-ins: nothing ends by itself. Not part of the product.

use async_trait::async_trait;
use weir_core::ids::Timestamp;
use weir_engine::ports::Clock;

/// It is always the same moment.
pub(crate) struct StillClock;

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000_000)
    }

    async fn sleep_until(&self, _: Timestamp) {}

    fn random_number(&self) -> u64 {
        0
    }
}
