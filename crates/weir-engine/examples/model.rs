//! A model provider of one's own: it answers with what the person said last, backwards. A real one
//! encodes the request in `prepare` and sends it in `send`. Not here: the dialects of vendors, which
//! `weir-providers` speaks.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::message::{MessageBlock, Role};
use weir_core::model::{
    ModelInfo, ModelRef, ModelReply, ModelRequest, ModelSignal, ReplyBlock, StopReason, Usage,
};
use weir_engine::embed::AgentBuilder;
use weir_engine::ports::{Conversation, MediaMap, Model, PreparedRequest, SignalSink};
use weir_store::MemoryStore;

struct Backwards(Arc<ModelInfo>);

impl Model for Backwards {
    fn info(&self) -> Arc<ModelInfo> {
        self.0.clone()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(BackwardsConversation { answer: String::new() })
    }
}

struct BackwardsConversation {
    answer: String,
}

#[async_trait]
impl Conversation for BackwardsConversation {
    fn prepare(&mut self, request: &ModelRequest, _: &MediaMap) -> PreparedRequest {
        let said = request.history.iter().rev().find(|message| message.role == Role::User);
        // What the person said is the last text: notes of the engine come before it.
        let text = said.map(|message| message.plain_text()).unwrap_or_default();
        self.answer = text.lines().last().unwrap_or_default().chars().rev().collect();
        PreparedRequest { bytes: text.len() as u64, ..PreparedRequest::default() }
    }
    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        signals.send(ModelSignal::Text(self.answer.clone()));
        ModelReply::Whole {
            blocks: vec![ReplyBlock::Said(MessageBlock::text(self.answer.as_str()))],
            stop: StopReason::End,
            usage: Usage::default(),
            repairs: Vec::new(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let name = ModelRef { provider: "example".into(), name: "backwards".into() };
    let info = ModelInfo { window: 8_000, max_output: 1_000, ..ModelInfo::with_name(name) };
    let model = Arc::new(Backwards(Arc::new(info)));
    let agent = AgentBuilder::new(model, Arc::new(MemoryStore::new()), folder.path())
        .open_session()
        .await?;
    let finished = agent.run_task("stressed").await?;
    println!("answer: {}", finished.text);
    agent.close_session().await?;
    Ok(())
}
