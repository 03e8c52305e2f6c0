//! What the task that watches the kill switch shares with those who need it looked at now. Not here: the
//! looking, and what is told of it (`lookup`).

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The task that watches the kill switch, as others know it.
#[derive(Default)]
pub(super) struct PauseWatch {
    /// How many looks were asked for.
    wanted: watch::Sender<u64>,
    /// How many of those had been asked for when the last look that is over began. What it found is told.
    told: watch::Sender<u64>,
}

impl PauseWatch {
    /// Waits until whatever is new of the kill switch is told, or the face goes. Switch and run are heard
    /// of on ways of their own: whoever tells what the switch did to a run waits here first, so that the
    /// cause is always read before it. A look that began before it was asked for does not count.
    pub(super) async fn wait_until_told(&self, leaving: &CancellationToken) {
        let mut told = self.told.subscribe();
        let mut place = 0;
        self.wanted.send_modify(|wanted| {
            *wanted += 1;
            place = *wanted;
        });
        let is_told = async {
            // The sender lives as long as this value.
            let _ = told.wait_for(|told| *told >= place).await;
        };
        tokio::select! {
            () = is_told => (),
            () = leaving.cancelled() => (),
        }
    }

    /// Resolves when somebody needs it looked at who was not there when the last look began.
    pub(super) async fn wait_until_wanted(&self) {
        let told = *self.told.borrow();
        let mut wanted = self.wanted.subscribe();
        // The sender lives as long as this value.
        let _ = wanted.wait_for(|wanted| *wanted > told).await;
    }

    /// A look begins: what is to be said once it is over.
    pub(super) fn begin_look(&self) -> u64 {
        *self.wanted.borrow()
    }

    /// That look is over, and what was new is told.
    pub(super) fn mark_told(&self, look: u64) {
        self.told.send_replace(look);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn l14_a_look_that_began_before_it_was_wanted_is_followed_by_another() {
        let (watch, leaving) = (PauseWatch::default(), CancellationToken::new());
        let early = watch.begin_look();
        let mut waits = pin!(watch.wait_until_told(&leaving));
        assert!(futures::poll!(waits.as_mut()).is_pending());
        watch.mark_told(early);
        assert!(futures::poll!(waits.as_mut()).is_pending(), "it may have seen nothing yet");
        watch.wait_until_wanted().await;
        watch.mark_told(watch.begin_look());
        waits.await;
        let mut wanted = pin!(watch.wait_until_wanted());
        assert!(futures::poll!(wanted.as_mut()).is_pending(), "nobody waits");
        // A face that goes waits for nothing.
        leaving.cancel();
        watch.wait_until_told(&leaving).await;
    }
}
