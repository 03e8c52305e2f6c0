//! Who measures: told of facts as they become durable. Not a face: it answers nothing and misses
//! what happened before it was there.

use std::sync::{Arc, PoisonError, RwLock};

use weir_core::ids::SessionId;

use super::PublishedFact;

/// Somebody who measures.
pub trait Observer: Send + Sync {
    /// These facts of a session are durable now: in order, each once, before any face has them.
    /// Called in the session's own loop: it must not wait, and costs what it costs each time.
    fn observe_facts(&self, session: &SessionId, facts: &[PublishedFact]);
}

/// Those who measure in one program: none at first.
#[derive(Default)]
pub struct ObserverList {
    all: RwLock<Vec<Arc<dyn Observer>>>,
}

impl ObserverList {
    /// One more, from now on.
    pub fn add(&self, observer: Arc<dyn Observer>) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    /// The same, unless it is there already.
    pub fn add_once(&self, observer: Arc<dyn Observer>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|there| Arc::ptr_eq(there, &observer)) {
            all.push(observer);
        }
    }

    /// Tells all of them.
    pub(crate) fn notify_facts(&self, session: &SessionId, facts: &[PublishedFact]) {
        for observer in self.all.read().unwrap_or_else(PoisonError::into_inner).iter() {
            observer.observe_facts(session, facts);
        }
    }
}
