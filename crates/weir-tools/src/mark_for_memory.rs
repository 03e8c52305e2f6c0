//! `mark_for_memory`: puts a fact into the memory or the inbox. What is kept without asking, and
//! whose words it counts as, is decided by the engine, never here.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::governance::label::Label;
use weir_core::ids::MemoryId;
use weir_core::memory::{self, MemoryKind, MemoryNote, MemoryStatus};
use weir_core::tool::{EffectClass, Effects, RawResult, ResultEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, MemoryRequest, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

const SUMMARY_CHARACTERS_MAX: usize = 80;

pub(crate) struct MarkForMemory;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// One or two sentences.
    text: String,
    kind: MemoryFactKind,
    /// 1 (may be lost) to 5 (always told); default 3.
    #[serde(default)]
    importance: Option<u8>,
    #[serde(default)]
    topics: Vec<String>,
    /// Id of the fact that it corrects.
    #[serde(default)]
    replaces: Option<String>,
}

// The kinds of `MemoryKind`, without descriptions: every byte is sent with each request, and a doc
// comment here would be.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryFactKind {
    Identity,
    Preference,
    Project,
    Event,
    Lesson,
}

impl From<MemoryFactKind> for MemoryKind {
    fn from(kind: MemoryFactKind) -> MemoryKind {
        match kind {
            MemoryFactKind::Identity => MemoryKind::Identity,
            MemoryFactKind::Preference => MemoryKind::Preference,
            MemoryFactKind::Project => MemoryKind::Project,
            MemoryFactKind::Event => MemoryKind::Event,
            MemoryFactKind::Lesson => MemoryKind::Lesson,
        }
    }
}

#[async_trait]
impl ActionTool for MarkForMemory {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "mark_for_memory",
                ToolGroup::Agent,
                "Keeps a fact for later sessions about the person, their wishes, this workspace or \
                 what was learned. Nothing that files say anyway, no secrets.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let shown = text::one_line(&input.text, SUMMARY_CHARACTERS_MAX);
        let summary = format!("Remember: {shown}");
        match memory_request(input) {
            Err(why) => empty_plan(summary).with_failure(why),
            Ok(wish) => {
                let effects = Effects { remembers: vec![wish.text], ..Effects::default() };
                // The store knows a fact by session and call: said twice it is said once.
                CallPlan::new(EffectClass::Keyed, effects, summary)
            }
        }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let wish = match memory_request(input) {
            Ok(wish) => wish,
            Err(why) => return RawResult::error(why),
        };
        match cx.knows.remember_fact(cx.call, wish).await {
            Ok(note) => describe_note(note),
            Err(why) => RawResult::error(why),
        }
    }
}

fn memory_request(input: Input) -> Result<MemoryRequest, String> {
    // Checked here and kept as they are: in lower case a secret would not be known as one, and the
    // engine takes secrets out before it makes them lower case.
    memory::fact_topics(&input.topics)?;
    Ok(MemoryRequest {
        text: memory::fact_text(&input.text)?,
        kind: input.kind.into(),
        topics: input.topics,
        importance: memory::fact_importance(
            input.importance.unwrap_or(memory::IMPORTANCE_DEFAULT),
        )?,
        file: None,
        replaces: input.replaces.map(|id| MemoryId::new(id.trim())),
        label: Label::default(),
    })
}

fn describe_note(note: MemoryNote) -> RawResult {
    let (id, fact) = (&note.memory, &note.text);
    let (text, summary) = match note.status {
        MemoryStatus::Kept => (format!("Kept as {id}: {fact}"), "Kept"),
        MemoryStatus::Proposed => (
            format!(
                "{id} waits in the inbox for the person, and counts once they accept it: {fact}"
            ),
            "Waits in the inbox",
        ),
        MemoryStatus::Rejected => {
            return RawResult::error(format!(
                "Not kept: a person said no to this fact before ({id}). Do not propose it again."
            ));
        }
        MemoryStatus::Forgotten | MemoryStatus::Superseded => {
            return RawResult::error(format!(
                "Not kept: a newer fact took the place of this one ({id}). If it holds again, say \
                 so with `replaces`: the id of the newer one (recall_memory shows it)."
            ));
        }
    };
    let raw = RawResult::ok(text).with_summary(summary);
    RawResult { news: vec![ResultEffect::Remembered { note }], ..raw }
}
