//! One question to a model that does side work: judging, summarising. Not here: what is asked, and what
//! silence means.

use std::sync::Arc;
use std::time::Duration;

use weir_core::ids::{SessionId, TurnId};
use weir_core::message::{Message, MessageBlock};
use weir_core::model::{ModelReply, ModelRequest, ReplyBlock, Thinking, Usage};

use crate::ports::{MediaMap, Model, SignalSink};

/// How long a helper may take for one answer.
const HELPER_WAIT: Duration = Duration::from_secs(180);

/// Asks `model` without tools or history, and gives its text and what it used.
///
/// # Errors
/// The model's own words about why there is no reply.
pub async fn ask_helper_model(
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
        history: Arc::new(vec![Arc::new(Message::user(vec![MessageBlock::text(question)]))]),
        tail: None,
        thinking: Thinking::Off,
    };
    let mut conversation = model.start_conversation();
    conversation.prepare(&request, &MediaMap::new());
    match conversation.send(&SignalSink::none()).await {
        ModelReply::Whole { blocks, usage, .. } => {
            let said = blocks.iter().filter_map(|block| match block {
                ReplyBlock::Said(MessageBlock::Text { text, .. }) => Some(text.as_str()),
                ReplyBlock::Said(_) | ReplyBlock::Call(_) | ReplyBlock::Image { .. } => None,
            });
            Ok((said.collect::<Vec<_>>().join("\n"), usage))
        }
        ModelReply::Failed { message, .. } => Err(message),
    }
}

/// What a helper said and what it used.
pub(crate) struct HelperReply {
    pub(crate) text: Result<String, String>,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

/// The same within a time. What it used counts, also when it failed half-way and said so.
pub(crate) async fn ask_in_time(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
) -> HelperReply {
    let asked = ask_helper_model(model, session, system, question);
    let (text, usage) = match tokio::time::timeout(HELPER_WAIT, asked).await {
        Ok(Ok((text, usage))) => (Ok(text), usage),
        Ok(Err(why)) => (Err(format!("the helper failed: {why}")), Usage::default()),
        Err(_) => {
            let why = format!("the helper took longer than {HELPER_WAIT:?}");
            (Err(why), Usage::default())
        }
    };
    let cost_usd = if text.is_ok() { model.info().cost(&usage) } else { None };
    HelperReply { text, usage, cost_usd }
}
