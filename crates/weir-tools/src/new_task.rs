//! `new_task`: gives a piece of work to an agent of its own and waits for its answer (M6).
//!
//! It only says which agent; what that agent may do is computed from the session that starts it,
//! and each of its calls is judged like any other. Not here: taking over what it did in a copy of
//! the workspace (`merge_agent`).

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{AgentTask, CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

/// Longest task, in characters.
const TASK_CHARACTERS_MAX: usize = 20_000;
/// Characters of it that a person is shown.
const SHOWN_CHARACTERS_MAX: usize = 120;
/// Wall time of the call: what bounds an agent is its own limits, and those of the run it works for.
const TIMEOUT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

pub(crate) struct NewTask;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// All it must know.
    task: String,
    /// Else yours.
    #[serde(default)]
    profile: Option<String>,
    /// Work in a git worktree, for merge_agent.
    #[serde(default)]
    worktree: bool,
}

impl From<Input> for AgentTask {
    fn from(input: Input) -> AgentTask {
        let Input { task, profile, worktree } = input;
        let profile = profile.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        AgentTask { task, profile, worktree }
    }
}

#[async_trait]
impl ActionTool for NewTask {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            timeout_ms: Some(TIMEOUT_MS),
            ..tool_spec(
                "new_task",
                ToolGroup::Agent,
                "Gives an agent a task; several in one reply run at once.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let characters = input.task.trim().chars().count();
        let first = one_line(&input.task);
        if !(1..=TASK_CHARACTERS_MAX).contains(&characters) {
            let why = format!("task must have 1 to {TASK_CHARACTERS_MAX} characters");
            return empty_plan("Start an agent").with_failure(why);
        }
        match cx.agents.plan_spawn(&input.into()).await {
            Err(why) => empty_plan(format!("Start an agent: {first}")).with_failure(why),
            Ok(spawn) => {
                let place = if spawn.worktree { " in a copy of the workspace" } else { "" };
                let summary = format!("Start the agent {}{place}: {first}", spawn.profile);
                let effects = Effects { spawns: Some(spawn), ..Effects::default() };
                CallPlan::new(EffectClass::Keyed, effects, summary)
            }
        }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        cx.agents.run(input.into(), cx).await
    }
}

/// The beginning of a task, on one line.
fn one_line(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = flat.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if cut.len() < flat.len() { format!("{cut}…") } else { cut }
}
