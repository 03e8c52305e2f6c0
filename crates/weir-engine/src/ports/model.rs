//! Models: what can be asked, and one session's exchange with it. Not here: any wire format.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use weir_core::ids::{BlobId, CallId};
use weir_core::model::{ModelInfo, ModelReply, ModelRequest, ModelSignal};

/// A model that can be asked. One per provider and model; shared by sessions.
pub trait Model: Send + Sync {
    /// What is known of it.
    fn info(&self) -> Arc<ModelInfo>;
    /// Starts a conversation: it keeps what was encoded, so that a turn costs only what is new.
    fn start_conversation(&self) -> Box<dyn Conversation>;
}

/// Who reads words that stand beside the context (handles), where that is not the model that judges: of each call
/// it may be another one. Asked when a call is prepared, also of those that will read nothing: must not wait.
pub trait CallReaders: Send + Sync {
    /// The model that reads for this call. It is asked without tools and without anything of the session, and
    /// its answer is held against what was asked for.
    fn reader_of_call(&self, call: CallId) -> Arc<dyn Model>;
}

/// Bytes of the blobs that a request mentions, as standard base64 text.
pub type MediaMap = BTreeMap<BlobId, Arc<str>>;

/// What encoding a request found out (P3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreparedRequest {
    /// Bytes of the whole request body.
    pub bytes: u64,
    /// Bytes of the previous request of this conversation that stand unchanged at the start of
    /// this one. 0 for the first.
    pub prefix_bytes: u64,
    /// Bytes of the previous request without its transient tail: what should have been kept. 0 for
    /// the first.
    pub prefix_expected: u64,
}

/// The attachments that a vendor takes as they are, beside what the model is able to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentSupport {
    /// PDFs can be sent at all.
    pub documents: bool,
    /// Largest PDF, in bytes.
    pub document_bytes_max: u64,
}

impl Default for AttachmentSupport {
    fn default() -> AttachmentSupport {
        AttachmentSupport { documents: true, document_bytes_max: 20 << 20 }
    }
}

/// One session's exchange with a model.
#[async_trait]
pub trait Conversation: Send {
    /// Encodes `request` and keeps the bytes for [`Conversation::send`]. Total: every history can
    /// be rendered (V3). `media` holds every blob that the history mentions from
    /// [`Conversation::first_to_write`] on.
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest;

    /// The first message of the history that [`Conversation::prepare`] would write for `request`: those
    /// before it stand encoded as they are, and nobody reads their attachments again (Q3). 0 where that is not
    /// known.
    fn first_to_write(&self, _request: &ModelRequest) -> usize {
        0
    }

    /// The attachments that the model's vendor takes as they are; others are converted before they
    /// come here (X5).
    fn attachment_support(&self) -> AttachmentSupport {
        AttachmentSupport::default()
    }

    /// Sends what was prepared last, once, and waits for the whole reply. Never fails and never retries:
    /// what goes wrong is a `Reply::Failed` with its class. Dropping the future closes the
    /// connection. `signals` gets text as it arrives and must not be blocked on.
    async fn send(&mut self, signals: &SignalSink) -> ModelReply;
}

/// Where signals go. Cheap to call, never blocks: a slow reader loses none of the facts, and
/// signals are coalesced for it (L17).
#[derive(Clone)]
pub struct SignalSink(Arc<dyn Fn(ModelSignal) + Send + Sync>);

impl SignalSink {
    /// Calls `f` for each signal.
    pub fn new(f: impl Fn(ModelSignal) + Send + Sync + 'static) -> SignalSink {
        SignalSink(Arc::new(f))
    }
    /// Drops all signals.
    pub fn none() -> SignalSink {
        SignalSink::new(|_| ())
    }
    /// Passes one on.
    pub fn send(&self, signal: ModelSignal) {
        (self.0)(signal);
    }
}
