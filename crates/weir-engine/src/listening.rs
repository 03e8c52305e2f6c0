//! Hearing of changes in the store without a gap between listening and looking. Not here: how a store
//! announces them.

use futures::future::BoxFuture;

/// A future of the store that listens already: whatever changes from now on is heard.
pub(crate) async fn start_listening<'a>(make: impl Fn() -> BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
    /// What is left over from before may wake it at once, so many times at most.
    const TRIES: usize = 8;
    for _ in 0..TRIES {
        let mut future = make();
        if futures::poll!(&mut future).is_pending() {
            return future;
        }
    }
    make()
}
