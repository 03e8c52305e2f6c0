//! Waiting for what another process does, with a bound.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// Looks again and again until `look` finds something. `what` is waited for; an error says how it
/// stands now.
///
/// # Panics
/// It is not found within [`PATIENCE`].
pub fn wait_until<T, E: Display>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(found) => return found,
            Err(now) => assert!(Instant::now() < end, "waited in vain until {what}: {now}"),
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The same where a look takes time itself, and where other tasks of the test go on meanwhile.
///
/// # Panics
/// It is not found within [`PATIENCE`].
pub async fn wait_until_async<T, E: Display>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match look().await {
            Ok(found) => return found,
            Err(now) => assert!(Instant::now() < end, "waited in vain until {what}: {now}"),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
