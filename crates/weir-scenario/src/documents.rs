//! Readers of images and PDFs in this process: what scenarios attach they made themselves, so it
//! needs no child.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::document::{Seen, Unread, Wish};
use weir_engine::ports::Documents;

/// The real readers, unconfined.
pub(crate) struct OwnDocuments;

#[async_trait]
impl Documents for OwnDocuments {
    async fn look(&self, wish: Wish, bytes: Arc<[u8]>) -> Result<Seen, Unread> {
        weir_documents::answer(&wish, &bytes)
    }
}
