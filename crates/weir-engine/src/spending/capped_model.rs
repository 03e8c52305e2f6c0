//! A model for side work that is asked only while no cap is reached that sessions have in common. What it
//! answers otherwise is a failure with the reason: a judge that does not answer says no, a summary is not
//! made. Not here: the session's own model, of which the session itself is told.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::message::MessageBlock;
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelRequest};

use super::{HeldSpending, SharedSpending, most_of_request};
use crate::ports::{AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink};
use crate::session_time::SessionTime;

/// Bytes of a token, at least.
const BYTES_PER_TOKEN: usize = 3;

/// A model under caps.
pub(crate) struct CappedModel {
    inner: Arc<dyn Model>,
    spending: SharedSpending,
    /// The session for which it is asked.
    session: String,
    time: SessionTime,
}

impl CappedModel {
    /// `model`, asked for `session` while `spending` lets it.
    pub(crate) fn wrap(
        model: Arc<dyn Model>,
        spending: Option<&SharedSpending>,
        session: &str,
        time: &SessionTime,
    ) -> Arc<dyn Model> {
        match spending {
            None => model,
            Some(spending) => Arc::new(CappedModel {
                inner: model,
                spending: spending.clone(),
                session: session.to_owned(),
                time: time.clone(),
            }),
        }
    }
}

impl Model for CappedModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        let model = self.inner.info();
        let name = format!("{}/{}", self.session, model.model);
        Box::new(CappedConversation {
            inner: self.inner.start_conversation(),
            spending: self.spending.clone(),
            time: self.time.clone(),
            model,
            name,
            tokens: 0,
        })
    }
}

struct CappedConversation {
    inner: Box<dyn Conversation>,
    spending: SharedSpending,
    time: SessionTime,
    model: Arc<ModelInfo>,
    name: String,
    tokens: u64,
}

#[async_trait]
impl Conversation for CappedConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        let bytes: usize = request.system.len()
            + request
                .history
                .iter()
                .flat_map(|message| &message.blocks)
                .map(text_bytes)
                .sum::<usize>();
        self.tokens = (bytes / BYTES_PER_TOKEN) as u64;
        self.inner.prepare(request, media)
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        let at_most = most_of_request(&self.model, self.tokens);
        let (spending, time) = (self.spending.clone(), self.time.clone());
        let held = HeldSpending::reserve(spending, time, self.name.clone(), at_most).await;
        let held = match held {
            Ok(held) => held,
            Err(message) => {
                let class = FailureClass::Refused;
                return ModelReply::Failed { class, message, retry_after_ms: None };
            }
        };
        let reply = held.hold_during(self.inner.send(signals)).await;
        let cost = self.cost_of(&reply);
        held.settle(cost).await;
        reply
    }
}

impl CappedConversation {
    /// What a reply cost; `None`: nobody counted it.
    fn cost_of(&self, reply: &ModelReply) -> Option<f64> {
        match reply {
            ModelReply::Whole { usage, .. } if usage.is_nothing() => None,
            ModelReply::Whole { usage, .. } => self.model.cost(usage),
            ModelReply::Failed { class, .. } if class.may_be_charged() => None,
            ModelReply::Failed { .. } => Some(0.0),
        }
    }
}

fn text_bytes(block: &MessageBlock) -> usize {
    match block {
        MessageBlock::Text { text, .. } => text.len(),
        _ => 0,
    }
}
