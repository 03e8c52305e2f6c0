//! Asks the helper model that condensing and remembering need (X2, M4). Nothing is decided here:
//! what is asked and what comes of the answer is the session's business.

use weir_core::event::{ContextSummarised, RunRemembered};
use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::input::EffectAnswer;
use weir_core::memory::MemorySource;
use weir_core::model::Usage;
use weir_core::session::SessionConfig;
use weir_core::session::condense::{CondenseWork, read_summary};

use crate::helper::{self, HelperReply};
use crate::memory;
use crate::ports::Model;
use crate::worker_context::WorkerContext;

/// What the helper is asked about a finished run.
pub(crate) struct RunReview {
    /// The system prompt of the helper model.
    pub(crate) system: String,
    pub(crate) question: String,
    /// What stands in the question: what is remembered of it has this label.
    pub(crate) label: Label,
}

/// Gets the summary that is needed, if one is.
pub(crate) async fn summarise_context(
    context: &WorkerContext,
    model: &dyn Model,
    work: CondenseWork,
    config: &SessionConfig,
    label: &Label,
) -> EffectAnswer {
    let Some((system, question)) = work.ask else {
        return EffectAnswer::Summarised(nothing_needed());
    };
    let asked = helper::ask_in_time(model, &context.session, &system, question);
    let HelperReply { text, usage, cost_usd } = asked.await;
    let mut fact = ContextSummarised { usage, cost_usd, ..nothing_needed() };
    match text {
        Ok(answer) => {
            let source = source_of(context, "condensing");
            fact.memories =
                memory::keep_found(&context.parts, config, &answer, source, label).await;
            match read_summary(&answer) {
                Ok(summary) => {
                    let clean = redact_text(&summary, &context.parts.secrets);
                    fact.summary = Some(clean.into_owned());
                }
                Err(why) => fact.failed = Some(why),
            }
        }
        Err(why) => fact.failed = Some(why),
    }
    EffectAnswer::Summarised(fact)
}

/// Looks a finished run through for facts worth keeping.
pub(crate) async fn remember_run(
    context: &WorkerContext,
    model: &dyn Model,
    review: RunReview,
    config: &SessionConfig,
) -> EffectAnswer {
    let RunReview { system, question, label } = review;
    let asked = helper::ask_in_time(model, &context.session, &system, question);
    let HelperReply { text, usage, cost_usd } = asked.await;
    let (memories, failed) = match text {
        Ok(answer) => {
            let source = source_of(context, "run");
            (memory::keep_found(&context.parts, config, &answer, source, &label).await, None)
        }
        Err(why) => (Vec::new(), Some(why)),
    };
    EffectAnswer::Remembered(RunRemembered { memories, failed, usage, cost_usd })
}

fn source_of(context: &WorkerContext, by: &str) -> MemorySource {
    let session = Some(context.session.clone());
    MemorySource { by: by.into(), session, ..MemorySource::default() }
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
