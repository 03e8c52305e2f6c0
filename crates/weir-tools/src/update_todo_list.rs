//! `update_todo_list`: replaces the task list that the model and the person see.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{
    AgentControl, EffectClass, Effects, PlanItem, PlanStatus, RawResult, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

const ITEMS_MAX: usize = 50;
const ITEM_CHARACTERS_MAX: usize = 300;

pub(crate) struct UpdateTodoList;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The whole list, in order.
    items: Vec<TodoInput>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct TodoInput {
    text: String,
    status: TodoStatus,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum TodoStatus {
    Pending,
    InProgress,
    Done,
}

#[async_trait]
impl ActionTool for UpdateTodoList {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "update_todo_list",
                ToolGroup::Agent,
                "Replaces your task list, which you are shown at every turn. Use it for work of \
                 three or more steps; keep one item in_progress; mark items done as soon as they \
                 are.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let summary = format!("Update the task list ({} items)", input.items.len());
        if let Some(why) = list_problem(&input.items) {
            return empty_plan(summary).with_failure(why);
        }
        let items = input.items.into_iter().map(|item| PlanItem {
            text: item.text,
            status: match item.status {
                TodoStatus::Pending => PlanStatus::Pending,
                TodoStatus::InProgress => PlanStatus::InProgress,
                TodoStatus::Done => PlanStatus::Done,
            },
        });
        let control = Some(AgentControl::Plan { items: items.collect() });
        CallPlan::new(EffectClass::Read, Effects { control, ..Effects::default() }, summary)
    }

    async fn run_call(input: Input, _: &Effects, _: &ToolContext) -> RawResult {
        let mut counts = [0; 3];
        for item in &input.items {
            counts[item.status as usize] += 1;
        }
        let [pending, in_progress, done] = counts;
        let text = format!("Task list: {done} done, {in_progress} in progress, {pending} pending");
        RawResult::ok(text.clone()).with_summary(text)
    }
}

fn list_problem(items: &[TodoInput]) -> Option<String> {
    if items.len() > ITEMS_MAX {
        return Some(format!(
            "the list has {} items; at most {ITEMS_MAX}: merge some",
            items.len()
        ));
    }
    let at = items.iter().position(|item| {
        item.text.trim().is_empty() || item.text.chars().count() > ITEM_CHARACTERS_MAX
    })?;
    Some(format!("item {} must have 1 to {ITEM_CHARACTERS_MAX} characters of text", at + 1))
}
