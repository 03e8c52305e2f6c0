//! Readers of images and PDFs (X5). Not here: what becomes of what they find.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::document::{Seen, Unread, Wish};

/// Looks at the bytes of images and PDFs. They are untrusted: an implementation reads them where a
/// bad file can do no harm, with bounds on time and memory, and answers in any case.
#[async_trait]
pub trait Documents: Send + Sync {
    /// What `wish` asks of `bytes`. The same question has the same answer. Dropping the future ends
    /// the work.
    ///
    /// # Errors
    /// Why they cannot be read, in words for a person.
    async fn look(&self, wish: Wish, bytes: Arc<[u8]>) -> Result<Seen, Unread>;
}

/// Reads nothing: for programs without attachments.
pub struct NoDocuments;

#[async_trait]
impl Documents for NoDocuments {
    async fn look(&self, _wish: Wish, _bytes: Arc<[u8]>) -> Result<Seen, Unread> {
        Err(Unread::Failed { why: "this program reads no images and PDFs".into() })
    }
}
