//! By which handlers wake the schedulers of this process. Not here: what these do (`schedule`).

use tokio::sync::Notify;

/// What handlers tell the schedulers.
#[derive(Default)]
pub(crate) struct ScheduleWaker {
    changed: Notify,
}

impl ScheduleWaker {
    /// Somebody's first agent came, or an account changed.
    pub(crate) fn wake_schedulers(&self) {
        self.changed.notify_one();
    }

    /// Returns when it was told so, also before this was asked.
    pub(crate) async fn wait_for_wake(&self) {
        self.changed.notified().await;
    }
}
