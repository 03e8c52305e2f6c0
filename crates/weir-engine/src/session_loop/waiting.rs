//! What the loop waits for, where it may be nothing, and what it waits for without looking at each piece of it.
//! Not here: what follows (the loop).

use futures::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;
use weir_core::ids::Timestamp;

use crate::worker_context::WorkerContext;
use crate::workers::WorkerOutcome;

pub(super) async fn await_write<T>(writing: &mut Option<BoxFuture<'static, T>>) -> Option<T> {
    match writing {
        Some(write) => Some(write.await),
        None => None,
    }
}

/// A worker that streams, on a task of its own: each piece wakes that task, and not the loop with all that
/// it waits for (Q19). It ends where it stands when this is dropped.
pub(super) async fn on_own_task(work: BoxFuture<'static, WorkerOutcome>) -> WorkerOutcome {
    match AbortOnDropHandle::new(tokio::spawn(work)).await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The program ends.
            Err(_) => std::future::pending().await,
        },
    }
}

pub(super) async fn wait_until_due(context: &WorkerContext, due: Option<Timestamp>) {
    match due {
        Some(due) => context.time.sleep_until(due).await,
        None => std::future::pending().await,
    }
}
