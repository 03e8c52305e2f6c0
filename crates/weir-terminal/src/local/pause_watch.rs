//! What the task that watches the kill switch shares with those who need it looked at now. Not here: the
//! looking, and what is told of it (`lookup`).

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// The task that watches the kill switch, as others know it.
#[derive(Default)]
pub(super) struct PauseWatch {
    /// Somebody needs it looked at now.
    wanted: Notify,
    /// How often it was looked at, and what was new told.
    looks: watch::Sender<u64>,
}

impl PauseWatch {
    /// Waits until whatever is new of the kill switch is told, or the face goes. Switch and run are heard
    /// of on ways of their own: whoever tells what the switch did to a run waits here first, so that the
    /// cause is always read before it.
    pub(super) async fn wait_until_told(&self, leaving: &CancellationToken) {
        let mut looks = self.looks.subscribe();
        self.wanted.notify_one();
        tokio::select! {
            // Their sender lives as long as this value.
            _ = looks.changed() => (),
            () = leaving.cancelled() => (),
        }
    }

    /// Resolves when somebody needs it looked at.
    pub(super) async fn wait_until_wanted(&self) {
        self.wanted.notified().await;
    }

    /// It was looked at, and what was new is told.
    pub(super) fn mark_told(&self) {
        self.looks.send_modify(|looks| *looks += 1);
    }
}
