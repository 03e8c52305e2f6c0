//! Asks the helper model that condensing and remembering need (X2, M4). Nothing is decided here:
//! what is asked and what comes of the answer is the session's business.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_core::event::{CondenseReason, ContextSummarised, RunRemembered};
use weir_core::governance::label::Label;
use weir_core::ids::TurnId;
use weir_core::input::Answer;
use weir_core::memory::MemorySource;
use weir_core::message::{Block, Message};
use weir_core::model::{ModelRequest, Reply, ReplyBlock, Thinking, Usage};
use weir_core::session::SessionConfig;
use weir_core::session::condense::{CondenseWork, read_summary};

use crate::memory;
use crate::ports::{HookMoment, MediaMap, SignalSink};
use crate::workers::{Desk, Outcome};

/// How long a helper may take for one answer.
const HELPER_WAIT: Duration = Duration::from_secs(180);

/// What a helper said and what it used.
pub(crate) struct Helped {
    pub(crate) text: Result<String, String>,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

impl Desk {
    /// Window of the model that summarises, in tokens.
    pub(crate) fn condenser_window(&self) -> u64 {
        self.condenser.info().window
    }

    /// Tells the hooks, and gets the summary that is needed, if one is.
    pub(crate) async fn condense(
        self,
        work: CondenseWork,
        config: Arc<SessionConfig>,
        label: Label,
    ) -> Outcome {
        let trigger = match work.reason {
            CondenseReason::Asked => "manual",
            CondenseReason::Threshold | CondenseReason::Overflow => "auto",
        };
        self.notify(HookMoment::PreCompact, &config, json!({ "trigger": trigger })).await;
        let Some((system, question)) = work.ask else {
            return Outcome::Answer(Answer::Summarised(nothing_needed()));
        };
        let Helped { text, usage, cost_usd } = self.help(&system, question).await;
        let mut fact = ContextSummarised { usage, cost_usd, ..nothing_needed() };
        match text {
            Ok(answer) => {
                let source = self.source("condensing");
                fact.memories =
                    memory::keep_found(&self.parts, &config, &answer, source, &label).await;
                match read_summary(&answer) {
                    Ok(summary) => {
                        let clean = weir_core::governance::filter::redact_text(
                            &summary,
                            &self.parts.secrets,
                        );
                        fact.summary = Some(clean.into_owned());
                    }
                    Err(why) => fact.failed = Some(why),
                }
            }
            Err(why) => fact.failed = Some(why),
        }
        Outcome::Answer(Answer::Summarised(fact))
    }

    /// Looks a finished run through for facts worth keeping.
    pub(crate) async fn remember_run(
        self,
        (system, question): (String, String),
        config: Arc<SessionConfig>,
        label: Label,
    ) -> Outcome {
        let Helped { text, usage, cost_usd } = self.help(&system, question).await;
        let (memories, failed) = match text {
            Ok(answer) => {
                let source = self.source("run");
                (memory::keep_found(&self.parts, &config, &answer, source, &label).await, None)
            }
            Err(why) => (Vec::new(), Some(why)),
        };
        let fact = RunRemembered { memories, failed, usage, cost_usd };
        Outcome::Answer(Answer::Remembered(fact))
    }

    fn source(&self, by: &str) -> MemorySource {
        let session = Some(self.session.clone());
        MemorySource { by: by.into(), session, ..MemorySource::default() }
    }

    /// One question to the helper model. What it used counts, also when it failed half-way and said
    /// so.
    async fn help(&self, system: &str, question: String) -> Helped {
        let info = self.condenser.info();
        let request = ModelRequest {
            session: self.session.clone(),
            turn: TurnId(1),
            model: info.clone(),
            system: Arc::from(system),
            tools: Arc::new(Vec::new()),
            history: Arc::new(vec![Arc::new(Message::user(vec![Block::text(question)]))]),
            tail: None,
            thinking: Thinking::Off,
        };
        let mut conversation = self.condenser.converse();
        conversation.prepare(&request, &MediaMap::new());
        let silent = SignalSink::none();
        let reply = tokio::time::timeout(HELPER_WAIT, conversation.send(&silent)).await;
        let failed =
            |why: String| Helped { text: Err(why), usage: Usage::default(), cost_usd: None };
        match reply {
            Err(_) => failed(format!("the helper took longer than {HELPER_WAIT:?}")),
            Ok(Reply::Failed { message, .. }) => failed(format!("the helper failed: {message}")),
            Ok(Reply::Whole { blocks, usage, .. }) => {
                let said = blocks.iter().filter_map(|block| match block {
                    ReplyBlock::Said(Block::Text { text, .. }) => Some(text.as_str()),
                    ReplyBlock::Said(_) | ReplyBlock::Call(_) | ReplyBlock::Image { .. } => None,
                });
                let text = Ok(said.collect::<Vec<_>>().join("\n"));
                Helped { text, usage, cost_usd: info.cost(&usage) }
            }
        }
    }
}

fn nothing_needed() -> ContextSummarised {
    ContextSummarised {
        summary: None,
        failed: None,
        memories: Vec::new(),
        usage: Usage::default(),
        cost_usd: None,
    }
}
