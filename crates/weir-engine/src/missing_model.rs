//! A model that a session had gone on with and that cannot be had any more. The session is taken up all the
//! same: a run that is under way passes on to the next fallback, and another one begins with the chosen model
//! (V8). Not here: which one that is (`weir_core::routing`).

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelRequest};

use crate::ports::{Conversation, MediaMap, Model, PreparedRequest, SignalSink};

/// A model that answers nothing, with the reason why.
pub struct MissingModel {
    info: Arc<ModelInfo>,
    why: Arc<str>,
}

impl MissingModel {
    /// The model of which a session knows `info`. `why`: a sentence that names it.
    pub fn new(info: &ModelInfo, why: &str) -> MissingModel {
        MissingModel { info: Arc::new(info.clone()), why: Arc::from(why) }
    }
}

impl Model for MissingModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.info.clone()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(MissingConversation { why: self.why.clone() })
    }
}

struct MissingConversation {
    why: Arc<str>,
}

#[async_trait]
impl Conversation for MissingConversation {
    fn prepare(&mut self, _request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
        PreparedRequest::default()
    }

    async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
        ModelReply::Failed {
            // Asking again helps nobody, another model does.
            class: FailureClass::NotFound,
            message: self.why.to_string(),
            retry_after_ms: None,
        }
    }
}
