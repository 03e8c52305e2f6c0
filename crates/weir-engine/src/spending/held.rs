//! What one request beside the session's own may cost, set aside from before it is sent until what it used
//! is durable (R11). Not here: how caps are held (`spending`), and what a request costs at most.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{LOOK_AGAIN_MS, RENEW_MS, SharedSpending, SpendingAnswer};
use crate::session_time::SessionTime;

/// Requests of this process, so that no two of them share a name.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// What is set aside for one request.
pub(crate) struct HeldSpending {
    spending: SharedSpending,
    time: SessionTime,
    name: String,
    at_most: f64,
}

impl HeldSpending {
    /// Sets `at_most` US dollars aside for a request, whose name begins with `whose`; waits for those who ask
    /// now, where what is left may be theirs.
    ///
    /// # Errors
    /// Why nothing may be asked.
    pub(crate) async fn reserve(
        spending: SharedSpending,
        time: SessionTime,
        whose: String,
        at_most: Option<f64>,
    ) -> Result<HeldSpending, String> {
        // Several of one session may be asked at once, also by one that was killed and came back: each by
        // a name of its own, or one would give back what another set aside.
        let (number, random) = (ASKED.fetch_add(1, Ordering::Relaxed), spending.random_number());
        let name = format!("{whose}/{random:x}-{number}");
        loop {
            match spending.reserve(&name, at_most).await {
                Ok(SpendingAnswer::Granted) => {
                    let at_most = at_most.unwrap_or(0.0);
                    return Ok(HeldSpending { spending, time, name, at_most });
                }
                Ok(SpendingAnswer::Reached(cap)) => return Err(cap.to_string()),
                Ok(SpendingAnswer::Busy) => {
                    time.sleep_until(time.now().plus_ms(LOOK_AGAIN_MS)).await;
                }
                Err(error) => return Err(format!("what was spent cannot be read: {error}")),
            }
        }
    }

    /// The same as `asked`; what is set aside holds as long as that takes.
    pub(crate) async fn hold_during<T>(&self, asked: impl Future<Output = T>) -> T {
        let mut asked = pin!(asked);
        loop {
            tokio::select! {
                biased;
                done = &mut asked => return done,
                () = self.time.sleep_until(self.time.now().plus_ms(RENEW_MS)) => (),
            }
            if let Err(error) = self.spending.renew(&self.name).await {
                tracing::warn!(%error, "what is set aside could not be renewed");
            }
        }
    }

    /// What it cost holds on, until the fact that says so is long durable. `None`: nobody knows, so it is
    /// the most.
    pub(crate) async fn settle(self, cost_usd: Option<f64>) {
        let cost_usd = cost_usd.unwrap_or(self.at_most);
        if let Err(error) = self.spending.settle(&self.name, cost_usd).await {
            tracing::warn!(%error, "what was set aside is void only after a while");
        }
    }
}
