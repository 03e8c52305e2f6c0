//! A store that counts what is read of journals: by it tests say that a look at a long session costs what it
//! shows. Not here: stores that fail or change something, which the tests that need one have themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_engine::embed::StoreLayer;
use weir_engine::ports::{Store, StoreError};

/// A store that counts the records which are read.
pub struct CountingStore {
    inner: Arc<dyn Store>,
    read: AtomicU64,
}

impl CountingStore {
    /// One over another store.
    pub fn new(inner: Arc<dyn Store>) -> CountingStore {
        CountingStore { inner, read: AtomicU64::new(0) }
    }

    /// Records that were read since it was asked last.
    pub fn records_read(&self) -> u64 {
        self.read.swap(0, Ordering::SeqCst)
    }
}

#[async_trait]
impl StoreLayer for CountingStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let records = self.inner.read_records(session, from, limit).await?;
        self.read.fetch_add(records.len() as u64, Ordering::SeqCst);
        Ok(records)
    }
}
