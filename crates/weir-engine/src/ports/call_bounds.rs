//! Bounds of money and tokens for what models are asked for a call beside the engine: by a foreign server, or
//! for vectors (R11). Not here: how they are held (`spending`), and what is asked.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::model::ModelInfo;

use super::{Model, ModelUse};

/// The bounds under which a call has models asked: those of its run, its session, their sub-agents, and caps.
#[async_trait]
pub trait CallBounds: Send + Sync {
    /// The same model, asked only in its turn and while nothing is used up. Otherwise it answers with a failure
    /// that says why. What it uses must be told with the result of the call.
    fn bound_model(&self, model: Arc<dyn Model>) -> Arc<dyn Model>;

    /// Sets aside what a request of about `tokens` to `model` uses at most, of whose answer no tokens are
    /// counted (vectors). Waits for those who ask now, where what is left may be theirs.
    ///
    /// # Errors
    /// A sentence: what is used up, which cap is reached, or that nobody knows. Nothing may be asked.
    async fn reserve_input(
        &self,
        model: &ModelInfo,
        tokens: u64,
    ) -> Result<Box<dyn ReservedRequest>, String>;
}

/// What is set aside for one request, which is made now. Dropped without a word, it counts as the most.
#[async_trait]
pub trait ReservedRequest: Send + Sync {
    /// Keeps it set aside as long as this is waited for. Never ends.
    async fn keep(&self);

    /// The request is over and used this, which must be told with the result of the call; none: nothing was
    /// asked for. Under a cap a cost that nobody knows becomes the most that it could be.
    async fn settle(self: Box<Self>, used: Option<&mut ModelUse>);
}

/// Bounds nothing: where no session is behind a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBounds;

#[async_trait]
impl CallBounds for NoBounds {
    fn bound_model(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        model
    }

    async fn reserve_input(
        &self,
        _model: &ModelInfo,
        _tokens: u64,
    ) -> Result<Box<dyn ReservedRequest>, String> {
        Ok(Box::new(NoBounds))
    }
}

#[async_trait]
impl ReservedRequest for NoBounds {
    async fn keep(&self) {
        std::future::pending().await
    }

    async fn settle(self: Box<Self>, _used: Option<&mut ModelUse>) {}
}
