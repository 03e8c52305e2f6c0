//! Calls whose client was asked to come back with an answer (the revision without requests of the server):
//! kept under a name that nobody can guess, for so long and no longer. Not here: what they wait for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::{CallInProgress, CallRequest};
use crate::asking::AskedQuestion;

/// Calls that wait at once. The oldest gives way.
const WAITING_MAX: usize = 64;
/// How long one waits. Dropping it gives the call up.
const WAIT: Duration = Duration::from_secs(15 * 60);

/// A call with what it was asked for.
pub(crate) struct FollowedCall {
    pub(crate) call: Box<dyn CallInProgress>,
    pub(crate) request: CallRequest,
    /// What the client was asked to come back with.
    pub(crate) asked: Vec<AskedQuestion>,
}

struct WaitingCall {
    call: FollowedCall,
    since: Instant,
    /// Takes it away when its time is over, also if nobody ever asks for anything again.
    _end: AbortOnDropHandle<()>,
}

type CallsByName = HashMap<String, WaitingCall>;

/// The calls that wait.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    calls: Arc<Mutex<CallsByName>>,
}

fn lock_calls(calls: &Mutex<CallsByName>) -> MutexGuard<'_, CallsByName> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WaitingCalls {
    /// Keeps a call; the name under which it is asked for again.
    pub(crate) fn keep_call(&self, call: FollowedCall) -> String {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let end = {
            let (name, calls) = (name.clone(), Arc::downgrade(&self.calls));
            tokio::spawn(async move {
                tokio::time::sleep(WAIT).await;
                if let Some(calls) = calls.upgrade() {
                    lock_calls(&calls).remove(&name);
                }
            })
        };
        let waiting =
            WaitingCall { call, since: Instant::now(), _end: AbortOnDropHandle::new(end) };
        let mut calls = lock_calls(&self.calls);
        if calls.len() >= WAITING_MAX {
            let oldest = calls.iter().min_by_key(|(_, waiting)| waiting.since);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                calls.remove(&oldest);
            }
        }
        calls.insert(name.clone(), waiting);
        name
    }

    /// Gives a call back, once and in its time.
    pub(crate) fn take_call(&self, name: &str) -> Option<FollowedCall> {
        let waiting = lock_calls(&self.calls).remove(name)?;
        (waiting.since.elapsed() < WAIT).then_some(waiting.call)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;
    use serde_json::Map;

    use super::*;
    use crate::agent::{CallAnswer, CallNews, ClientIdentity};

    /// A call that tells when it is given up.
    struct OpenCall(Arc<AtomicBool>);

    #[async_trait]
    impl CallInProgress for OpenCall {
        async fn next_news(&mut self) -> CallNews {
            std::future::pending().await
        }

        async fn answer_question(&mut self, _question: &str, _answer: CallAnswer) {}
    }

    impl Drop for OpenCall {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn open_call() -> (FollowedCall, Arc<AtomicBool>) {
        let given_up = Arc::new(AtomicBool::new(false));
        let request = CallRequest {
            client: ClientIdentity::default(),
            tool: "write_file".into(),
            arguments: Map::new(),
        };
        let call = Box::new(OpenCall(given_up.clone()));
        (FollowedCall { call, request, asked: Vec::new() }, given_up)
    }

    #[tokio::test(start_paused = true)]
    async fn r2_a_call_whose_client_never_comes_back_is_given_up_although_nobody_asks_anything() {
        let waiting = WaitingCalls::default();
        let (call, given_up) = open_call();
        let name = waiting.keep_call(call);
        tokio::time::sleep(WAIT - Duration::from_secs(1)).await;
        assert!(!given_up.load(Ordering::Relaxed));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(given_up.load(Ordering::Relaxed), "nobody waits for it");
        assert!(waiting.take_call(&name).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn r2_a_call_whose_client_comes_back_in_time_is_its_own_once() {
        let waiting = WaitingCalls::default();
        let (call, given_up) = open_call();
        let name = waiting.keep_call(call);
        tokio::time::sleep(WAIT / 2).await;
        let taken = waiting.take_call(&name);
        assert!(taken.is_some() && waiting.take_call(&name).is_none());
        tokio::time::sleep(WAIT).await;
        assert!(!given_up.load(Ordering::Relaxed), "it goes on for as long as it is followed");
    }
}
