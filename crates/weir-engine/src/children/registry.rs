//! The tasks that follow a session's children. They belong to the session and end with it. Not here:
//! what they do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weir_core::profile::PermissionMode;

/// How long a child may take to come to rest when its parent's program stops.
const REST_MAX: Duration = Duration::from_secs(5);

/// What of a parent's settings holds for its children at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChildTerms {
    /// Somebody can be asked.
    pub(crate) attended: bool,
    /// They let no more pass than their parent.
    pub(crate) permission: PermissionMode,
    /// A person paused the parent's run: nothing new begins in theirs.
    pub(crate) paused: bool,
}

/// Those of one session.
#[derive(Debug, Clone)]
pub(crate) struct ChildTasks {
    stop: CancellationToken,
    /// What the parent's settings say by now, once they have changed.
    terms: Arc<watch::Sender<Option<ChildTerms>>>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Default for ChildTasks {
    fn default() -> ChildTasks {
        let terms = Arc::new(watch::Sender::new(None));
        ChildTasks { stop: CancellationToken::new(), terms, tasks: Arc::default() }
    }
}

impl ChildTasks {
    /// Says what holds from now on.
    pub(crate) fn set_terms(&self, terms: ChildTerms) {
        self.terms.send_replace(Some(terms));
    }

    /// Hears that.
    pub(crate) fn subscribe_terms(&self) -> watch::Receiver<Option<ChildTerms>> {
        self.terms.subscribe()
    }

    /// Fires when the parent stops where it is: its children do the same, and nothing is cancelled.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Says that the parent stops.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Keeps a task until it has ended.
    pub(crate) fn track_task(&self, task: JoinHandle<()>) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Waits until all have ended; one that does not is ended.
    pub(crate) async fn wait_until_ended(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for mut task in tasks {
            if tokio::time::timeout(REST_MAX, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}
