//! Bytes that wait for their facts: what a tool puts here becomes durable with the next append of
//! its session, in the same transaction.
//!
//! This is no store: it holds only what was not appended yet, and asks the store for the rest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_core::event::Event;
use weir_core::ids::{BlobId, SessionId};
use weir_core::message::MessageBlock;
use weir_core::record::sha256_hex;

use crate::ports::{Blobs, Store, StoreError};

/// The bytes that a message brings in base64.
pub(crate) fn decode_blob(base64: &str) -> Result<Arc<[u8]>, base64::DecodeError> {
    STANDARD.decode(base64).map(Arc::from)
}

/// The blobs that a fact mentions.
pub fn mentioned_blobs(event: &Event) -> Vec<BlobId> {
    let mut found = Vec::new();
    match event {
        Event::InputAccepted(f) => of_blocks(&f.content, &mut found),
        Event::ModelReplied(f) => of_blocks(&f.content, &mut found),
        Event::ImageProduced(f) => found.push(f.blob.clone()),
        Event::CallFinished(f) => {
            of_blocks(&f.result, &mut found);
            found.extend(f.full.clone());
        }
        _ => (),
    }
    found
}

/// Adds the attachments that blocks mention, those of results among them.
pub(crate) fn of_blocks(blocks: &[MessageBlock], found: &mut Vec<BlobId>) {
    for block in blocks {
        match block {
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                found.push(media.blob.clone())
            }
            MessageBlock::Result { blocks, .. } => of_blocks(blocks, found),
            MessageBlock::Text { .. } | MessageBlock::Thinking { .. } | MessageBlock::Call(_) => (),
        }
    }
}

/// Blobs of sessions on their way into a store.
pub struct StagedBlobs {
    store: Arc<dyn Store>,
    sessions: Mutex<HashMap<SessionId, SessionStaging>>,
}

type BlobEntry = (BlobId, Arc<[u8]>);

#[derive(Default)]
struct SessionStaging {
    /// Put, not taken.
    waiting: Vec<BlobEntry>,
    /// Taken last: still being appended, perhaps, so still to be found here.
    taken: Vec<BlobEntry>,
}

impl StagedBlobs {
    /// Nothing staged, over `store`.
    pub fn new(store: Arc<dyn Store>) -> StagedBlobs {
        StagedBlobs { store, sessions: Mutex::new(HashMap::new()) }
    }

    /// What was put for `session` since the last time, each once: for [`crate::ports::Append`].
    /// Until the next call these bytes are still found here, because the append is still under way.
    pub fn take_staged(&self, session: &SessionId) -> Vec<BlobEntry> {
        let mut sessions = self.lock_sessions();
        let Some(staged) = sessions.get_mut(session) else { return Vec::new() };
        staged.taken = std::mem::take(&mut staged.waiting);
        if staged.taken.is_empty() {
            sessions.remove(session);
            return Vec::new();
        }
        staged.taken.clone()
    }

    /// Forgets what is staged for a session that ends.
    pub fn forget(&self, session: &SessionId) {
        self.lock_sessions().remove(session);
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionStaging>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_staged(&self, id: &BlobId) -> Option<Arc<[u8]>> {
        let sessions = self.lock_sessions();
        let all = sessions.values().flat_map(|staged| staged.waiting.iter().chain(&staged.taken));
        all.into_iter().find(|(found, _)| found == id).map(|(_, bytes)| Arc::clone(bytes))
    }
}

#[async_trait]
impl Blobs for StagedBlobs {
    fn put(&self, session: &SessionId, bytes: Arc<[u8]>) -> BlobId {
        let id = BlobId::new(sha256_hex(&bytes));
        let mut sessions = self.lock_sessions();
        let staged = sessions.entry(session.clone()).or_default();
        if staged.waiting.iter().all(|(known, _)| *known != id) {
            staged.waiting.push((id.clone(), bytes));
        }
        id
    }

    async fn get(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        match self.find_staged(id) {
            Some(bytes) => Ok(bytes),
            None => self.store.read_blob(id).await,
        }
    }
}
