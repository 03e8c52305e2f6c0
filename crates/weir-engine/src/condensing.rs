//! Asks the helper model that condensing and remembering need (X2, M4). Nothing is decided here:
//! what is asked and what comes of the answer is the session's business.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_core::event::{CondenseReason, ContextSummarised, RunRemembered};
use weir_core::governance::label::Label;
use weir_core::input::Answer;
use weir_core::memory::MemorySource;
use weir_core::model::Usage;
use weir_core::session::SessionConfig;
use weir_core::session::condense::{CondenseWork, Keep, read_summary};

use crate::helper;
use crate::memory;
use crate::ports::{HookMoment, Model};
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
        let wanted = work.keep.as_ref().map_or("", Keep::as_str);
        let told = json!({ "trigger": trigger, "custom_instructions": wanted });
        self.notify(HookMoment::PreCompact, &config, told).await;
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
        self.help_by(self.condenser.as_ref(), system, question).await
    }

    /// The same to this model.
    pub(crate) async fn help_by(
        &self,
        model: &dyn Model,
        system: &str,
        question: String,
    ) -> Helped {
        let asked = helper::ask(model, &self.session, system, question);
        let (text, usage) = match tokio::time::timeout(HELPER_WAIT, asked).await {
            Ok(Ok((text, usage))) => (Ok(text), usage),
            Ok(Err(why)) => (Err(format!("the helper failed: {why}")), Usage::default()),
            Err(_) => {
                let why = format!("the helper took longer than {HELPER_WAIT:?}");
                (Err(why), Usage::default())
            }
        };
        let cost_usd = if text.is_ok() { model.info().cost(&usage) } else { None };
        Helped { text, usage, cost_usd }
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
