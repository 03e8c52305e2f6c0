//! The client's own model as the one that reads what stands behind handles (`extract_fields`), by MCP sampling:
//! it is asked without tools and without anything of the session, and what it says comes back in fields alone.
//! For nothing else: who judges a client's calls is never the client. Not here: whom a question goes to
//! (`driver`), and what of an answer counts (the tool).

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use weir_core::ids::CallId;
use weir_core::message::MessageBlock;
use weir_core::model::{
    FailureClass, ModelInfo, ModelReply, ModelRequest, ReplyBlock, StopReason, Usage,
};
use weir_engine::ports::{CallReaders, Conversation, MediaMap, Model, PreparedRequest, SignalSink};
use weir_mcp_server::ModelAnswer;

use super::driver::DriverOrder;

/// The readers of a session whose calls come from clients: of each call its own client's model.
pub(super) struct ClientReaders {
    pub(super) info: Arc<ModelInfo>,
    /// Those who give orders keep the driver; this does not.
    pub(super) orders: mpsc::WeakUnboundedSender<DriverOrder>,
}

impl CallReaders for ClientReaders {
    fn reader_of_call(&self, call: CallId) -> Arc<dyn Model> {
        let (info, orders) = (self.info.clone(), self.orders.clone());
        Arc::new(ReaderOfCall { call, info, orders })
    }
}

#[derive(Clone)]
struct ReaderOfCall {
    call: CallId,
    info: Arc<ModelInfo>,
    orders: mpsc::WeakUnboundedSender<DriverOrder>,
}

impl Model for ReaderOfCall {
    fn info(&self) -> Arc<ModelInfo> {
        self.info.clone()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(ReaderConversation {
            reader: self.clone(),
            system: String::new(),
            text: String::new(),
        })
    }
}

/// A question for a client's model, with whoever waits for the answer.
pub(super) struct ReaderOrder {
    /// The session's number of the call that reads.
    pub(super) call: CallId,
    pub(super) system: String,
    pub(super) text: String,
    pub(super) reply: oneshot::Sender<ModelAnswer>,
}

struct ReaderConversation {
    reader: ReaderOfCall,
    system: String,
    text: String,
}

impl ReaderConversation {
    async fn ask_client(&self) -> ModelAnswer {
        let gone = || ModelAnswer::Failed("the client has gone".into());
        let (reply, answer) = oneshot::channel();
        let ReaderConversation { reader, system, text } = self;
        let (system, text) = (system.clone(), text.clone());
        let order = ReaderOrder { call: reader.call, system, text, reply };
        let sent = match reader.orders.upgrade() {
            Some(orders) => orders.send(DriverOrder::AskModel(order)).is_ok(),
            None => false,
        };
        if !sent {
            return gone();
        }
        answer.await.unwrap_or_else(|_| gone())
    }
}

#[async_trait]
impl Conversation for ReaderConversation {
    fn prepare(&mut self, request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
        self.system = request.system.to_string();
        let blocks = request.history.iter().flat_map(|message| message.blocks.iter());
        let text = blocks.filter_map(|block| match block {
            MessageBlock::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        self.text = text.collect::<Vec<_>>().join("\n");
        PreparedRequest::default()
    }

    async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
        match self.ask_client().await {
            ModelAnswer::Said { text, .. } => ModelReply::Whole {
                blocks: vec![ReplyBlock::Said(MessageBlock::text(text))],
                stop: StopReason::End,
                // What it used is the client's to count.
                usage: Usage::default(),
                repairs: Vec::new(),
            },
            ModelAnswer::Failed(message) => ModelReply::Failed {
                class: FailureClass::InvalidRequest,
                message,
                retry_after_ms: None,
            },
        }
    }
}
