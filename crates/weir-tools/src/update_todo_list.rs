//! `update_todo_list`: replaces the task list that the model and the person see.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Control, EffectClass, Effects, Group, PlanItem, PlanStatus, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};

use crate::built::{Act, nothing, spec};

const ITEMS_MAX: usize = 50;
const ITEM_CHARACTERS_MAX: usize = 300;

pub(crate) struct UpdateTodoList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The whole list, in order.
    items: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    text: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Done,
}

#[async_trait]
impl Act for UpdateTodoList {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "update_todo_list",
                Group::Agent,
                "Replaces your task list, which you are shown at every turn. Use it for work of \
                 three or more steps; keep one item in_progress; mark items done as soon as they \
                 are.",
            )
        }
    }

    async fn plan(input: Input, _: &ToolContext) -> Plan {
        let summary = format!("Update the task list ({} items)", input.items.len());
        if let Some(why) = unusable(&input.items) {
            return nothing(summary).failing(why);
        }
        let items = input.items.into_iter().map(|item| PlanItem {
            text: item.text,
            status: match item.status {
                Status::Pending => PlanStatus::Pending,
                Status::InProgress => PlanStatus::InProgress,
                Status::Done => PlanStatus::Done,
            },
        });
        let control = Some(Control::Plan { items: items.collect() });
        Plan::new(EffectClass::Read, Effects { control, ..Effects::default() }, summary)
    }

    async fn act(input: Input, _: &Effects, _: &ToolContext) -> Raw {
        let mut counts = [0; 3];
        for item in &input.items {
            counts[item.status as usize] += 1;
        }
        let [pending, in_progress, done] = counts;
        let text = format!("Task list: {done} done, {in_progress} in progress, {pending} pending");
        Raw::ok(text.clone()).with_summary(text)
    }
}

fn unusable(items: &[Item]) -> Option<String> {
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
