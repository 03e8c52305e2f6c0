//! One question to a model that does side work: judging, summarising. Not here: what is asked, how
//! long it may take, and what silence means.

use std::sync::Arc;

use weir_core::ids::{SessionId, TurnId};
use weir_core::message::{Block, Message};
use weir_core::model::{ModelRequest, Reply, ReplyBlock, Thinking, Usage};

use crate::ports::{MediaMap, Model, SignalSink};

/// Asks `model` without tools or history, and gives its text and what it used.
///
/// # Errors
/// The model's own words about why there is no reply.
pub async fn ask(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
) -> Result<(String, Usage), String> {
    let request = ModelRequest {
        session: session.clone(),
        turn: TurnId(1),
        model: model.info(),
        system: Arc::from(system),
        tools: Arc::new(Vec::new()),
        history: Arc::new(vec![Arc::new(Message::user(vec![Block::text(question)]))]),
        tail: None,
        thinking: Thinking::Off,
    };
    let mut conversation = model.converse();
    conversation.prepare(&request, &MediaMap::new());
    match conversation.send(&SignalSink::none()).await {
        Reply::Whole { blocks, usage, .. } => {
            let said = blocks.iter().filter_map(|block| match block {
                ReplyBlock::Said(Block::Text { text, .. }) => Some(text.as_str()),
                ReplyBlock::Said(_) | ReplyBlock::Call(_) | ReplyBlock::Image { .. } => None,
            });
            Ok((said.collect::<Vec<_>>().join("\n"), usage))
        }
        Reply::Failed { message, .. } => Err(message),
    }
}
