//! One question to a model that does side work: judging, summarising. Not here: what is asked, and what
//! silence means.

use std::sync::Arc;
use std::time::Duration;

use weir_core::ids::{SessionId, TurnId};
use weir_core::message::{Message, MessageBlock};
use weir_core::model::{ModelInfo, ModelReply, ModelRequest, ReplyBlock, Thinking, Usage};

use crate::ports::{MediaMap, Model, SignalSink};

/// How long a helper may take for one answer.
const HELPER_WAIT: Duration = Duration::from_secs(180);

/// Bytes of a token, at least.
const BYTES_PER_TOKEN: usize = 3;
/// Bytes of a token, at most: a question that is too long by these is too long.
const BYTES_PER_TOKEN_MOST: usize = 4;

/// Why a helper gave no answer, and what that used all the same, as an estimate.
pub(crate) struct HelperFailure {
    pub(crate) why: String,
    pub(crate) usage: Usage,
    /// It was waited for to no end.
    pub(crate) too_slow: bool,
}

/// What a question of so many bytes and its answer used, where the vendor did not say: rather too much.
pub fn estimate_usage(asked_bytes: usize, answer_bytes: usize) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    Usage { input: tokens(asked_bytes), output: tokens(answer_bytes), ..Usage::default() }
}

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
    ask_and_count(model, session, system, question).await.map_err(|failure| failure.why)
}

/// Why a question of so many tokens was or would be cut off unseen. An answer to what is left of it is none: a
/// judge would call clean what it was not shown (R6).
fn cut_reason(model: &ModelInfo, tokens: u64) -> Option<String> {
    let ModelInfo { model: name, window, may_cut, .. } = model;
    (*may_cut && *window > 0 && tokens >= *window).then(|| {
        format!(
            "a question of {tokens} tokens or more does not fit the window of {window} that {name} has, and \
             its server cuts off the rest without a word; say which window holds as `window` under \
             [models.\"{name}\"], or name another model for this work"
        )
    })
}

async fn ask_and_count(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
) -> Result<(String, Usage), HelperFailure> {
    let asked_bytes = system.len() + question.len();
    let info = model.info();
    if let Some(why) = cut_reason(&info, (asked_bytes / BYTES_PER_TOKEN_MOST) as u64) {
        return Err(HelperFailure { why, usage: Usage::default(), too_slow: false });
    }
    let request = ModelRequest {
        session: session.clone(),
        turn: TurnId(1),
        model: info.clone(),
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
            let counted = usage.input.saturating_add(usage.cache_read);
            if let Some(why) = cut_reason(&info, counted.saturating_add(usage.cache_write)) {
                return Err(HelperFailure { why, usage, too_slow: false });
            }
            let said = blocks.iter().filter_map(|block| match block {
                ReplyBlock::Said(MessageBlock::Text { text, .. }) => Some(text.as_str()),
                ReplyBlock::Said(_) | ReplyBlock::Call(_) | ReplyBlock::Image { .. } => None,
            });
            let text = said.collect::<Vec<_>>().join("\n");
            // An endpoint that counts nothing was paid all the same.
            let usage = match usage.is_nothing() {
                true => estimate_usage(asked_bytes, text.len()),
                false => usage,
            };
            Ok((text, usage))
        }
        ModelReply::Failed { message, class, .. } => {
            let usage = match class.may_be_charged() {
                true => estimate_usage(asked_bytes, 0),
                false => Usage::default(),
            };
            Err(HelperFailure { why: message, usage, too_slow: false })
        }
    }
}

/// What a helper said and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct HelperReply {
    /// Its words, or why there are none.
    pub text: Result<String, String>,
    /// Tokens, also where there are no words.
    pub usage: Usage,
    /// What they cost in US dollars; `None`: nobody knows, or nothing was used.
    pub cost_usd: Option<f64>,
}

/// Asks within a time. What it used counts, also when it failed half-way.
pub(crate) async fn ask_in_time(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
) -> HelperReply {
    ask_counted(model, session, system, question, HELPER_WAIT).await
}

/// Asks `model` without tools or history within `wait`, and tells what that used in any case: an answer that
/// broke off is paid for too.
pub async fn ask_counted(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
    wait: Duration,
) -> HelperReply {
    let asked = ask_within(model, session, system, question, wait).await;
    let (text, usage) = match asked {
        Ok((text, usage)) => (Ok(text), usage),
        Err(HelperFailure { usage, too_slow: true, .. }) => {
            (Err(format!("the helper took longer than {wait:?}")), usage)
        }
        Err(HelperFailure { why, usage, .. }) => (Err(format!("the helper failed: {why}")), usage),
    };
    let cost_usd = match text.is_err() && usage.is_nothing() {
        true => None,
        false => model.info().cost(&usage),
    };
    HelperReply { text, usage, cost_usd }
}

/// One question within `wait`, which counts as a failure of which nothing came.
pub(crate) async fn ask_within(
    model: &dyn Model,
    session: &SessionId,
    system: &str,
    question: String,
    wait: Duration,
) -> Result<(String, Usage), HelperFailure> {
    let asked_bytes = system.len() + question.len();
    let asked = ask_and_count(model, session, system, question);
    match tokio::time::timeout(wait, asked).await {
        Ok(answer) => answer,
        Err(_) => {
            let why = format!("it did not answer in {} s", wait.as_secs());
            Err(HelperFailure { why, usage: estimate_usage(asked_bytes, 0), too_slow: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use weir_core::model::{ModelRef, StopReason};

    use super::*;
    use crate::ports::{Conversation, PreparedRequest};

    /// A server of one's own that counts so many tokens, whatever it is asked.
    struct OwnServer {
        window: u64,
        may_cut: bool,
        counts: u64,
        asked: Arc<AtomicUsize>,
    }

    impl Model for OwnServer {
        fn info(&self) -> Arc<ModelInfo> {
            let model = ModelRef { provider: "box".into(), name: "m".into() };
            let (window, may_cut) = (self.window, self.may_cut);
            Arc::new(ModelInfo { window, may_cut, ..ModelInfo::with_name(model) })
        }
        fn start_conversation(&self) -> Box<dyn Conversation> {
            Box::new(FakeConversation { counts: self.counts, asked: self.asked.clone() })
        }
    }

    struct FakeConversation {
        counts: u64,
        asked: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl Conversation for FakeConversation {
        fn prepare(&mut self, _request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
            PreparedRequest::default()
        }
        async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
            self.asked.fetch_add(1, Ordering::Relaxed);
            ModelReply::Whole {
                blocks: vec![ReplyBlock::Said(MessageBlock::text("CLEAN"))],
                stop: StopReason::End,
                usage: Usage { input: self.counts, output: 2, ..Usage::default() },
                repairs: Vec::new(),
            }
        }
    }

    /// `(bytes of the question, what the server counts, window, may it cut, is it asked, has it answered)`
    #[tokio::test]
    async fn r6_a_helper_that_was_not_shown_the_whole_question_has_not_answered() {
        for (bytes, counts, window, may_cut, is_asked, has_answered) in [
            (8_000, 2_000, 4_096, true, true, true),
            (20_000, 4_096, 4_096, true, false, false),
            // Shorter than it could be, and longer than it looks: only the count tells.
            (12_000, 4_096, 4_096, true, true, false),
            (20_000, 4_096, 4_096, false, true, true),
            (20_000, 4_096, 0, true, true, true),
        ] {
            let asked = Arc::new(AtomicUsize::new(0));
            let model = OwnServer { window, may_cut, counts, asked: asked.clone() };
            let question = "x".repeat(bytes);
            let answer = ask_helper_model(&model, &SessionId::new("s"), "", question).await;
            assert_eq!(answer.is_ok(), has_answered, "{bytes} {counts} {window}: {answer:?}");
            assert_eq!(asked.load(Ordering::Relaxed) > 0, is_asked, "{bytes} {window} {may_cut}");
            if let Err(why) = answer {
                assert!(why.contains("window of 4096 that box/m has"), "{why}");
            }
        }
    }
}
