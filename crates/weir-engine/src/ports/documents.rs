//! Readers of images and PDFs (X5). Not here: what becomes of what they find.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};

/// Looks at the bytes of images and PDFs. They are untrusted: an implementation reads them where a
/// bad file can do no harm, with bounds on time and memory, and answers in any case.
#[async_trait]
pub trait DocumentReaders: Send + Sync {
    /// What `wish` asks of `bytes`. The same question has the same answer. Dropping the future ends
    /// the work.
    ///
    /// # Errors
    /// Why they cannot be read, in words for a person.
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError>;
}

/// Reads nothing: for programs without attachments.
pub struct NoDocuments;

#[async_trait]
impl DocumentReaders for NoDocuments {
    async fn inspect_document(
        &self,
        _wish: DocumentRequest,
        _bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        Err(DocumentError::Failed { why: "this program reads no images and PDFs".into() })
    }
}
