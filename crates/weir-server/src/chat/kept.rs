//! Chats that were folded a moment ago: whoever looks at one again does not wait until what is kept of it
//! is read. What is kept is what the journal says and nothing else; it is caught up with the journal
//! before it is shown. Not here: what is shown of it, and what is kept beside the journal (`folded`).

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::ids::Seq;

use super::FoldedChat;
use crate::session_registry::SessionKey;

/// Chats that are kept, the one that was asked for longest ago goes first.
const CHATS_MAX: usize = 6;
/// Facts of a chat from which on keeping it is worth the memory.
const FACTS_MIN: Seq = 200;

/// Those that are kept, of all people.
#[derive(Debug, Default)]
pub(crate) struct ChatCache(Mutex<Vec<(SessionKey, Arc<FoldedChat>)>>);

impl ChatCache {
    /// What is kept of a chat whose journal has so many facts.
    pub(crate) fn get(&self, key: &SessionKey, facts: Seq) -> Option<Arc<FoldedChat>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = kept.iter().find(|(known, _)| known == key)?;
        (found.seq <= facts).then(|| found.clone())
    }

    /// Keeps a chat.
    pub(crate) fn put(&self, key: SessionKey, folded: &Arc<FoldedChat>) {
        if folded.seq < FACTS_MIN {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.insert(0, (key, folded.clone()));
        kept.truncate(CHATS_MAX);
    }

    /// Forgets a chat that is removed.
    pub(crate) fn forget(&self, key: &SessionKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != key);
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::SessionId;

    use super::super::ChatView;
    use super::*;

    fn folded(seq: Seq) -> Arc<FoldedChat> {
        let view =
            ChatView { session: SessionId::new("s"), csrf: String::new(), acts: true, back: None };
        let mut folded = FoldedChat::new(view);
        folded.seq = seq;
        Arc::new(folded)
    }

    #[test]
    fn s7_long_chats_are_kept_and_no_more_than_a_few() {
        let kept = ChatCache::default();
        let key = |n: usize| SessionKey::named(&format!("p/{n}"));
        kept.put(key(0), &folded(10));
        assert!(kept.get(&key(0), 10).is_none(), "short ones are folded at once");
        for n in 0..=CHATS_MAX {
            kept.put(key(n), &folded(500));
        }
        assert!(kept.get(&key(0), 500).is_none() && kept.get(&key(1), 500).is_some());
        assert!(kept.get(&key(1), 499).is_none(), "a journal has become shorter");
        kept.forget(&key(1));
        assert!(kept.get(&key(1), 500).is_none());
    }
}
