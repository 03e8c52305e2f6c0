//! Readers of images and PDFs in this process: what scenarios attach they made themselves, so it
//! needs no child.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_engine::ports::DocumentReaders;

/// The real readers, unconfined.
pub(crate) struct OwnDocuments;

#[async_trait]
impl DocumentReaders for OwnDocuments {
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        weir_documents::answer_question(&wish, &bytes)
    }
}
