//! `update_base`: parts of an Obsidian base, without touching the others.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::base::parse_base;
use weir_notes::properties::{PropertyChange, PropertyError, change_properties, parse_properties};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};

pub(crate) struct UpdateBase;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The `.base` file.
    path: String,
    /// Whole parts with their new values: filters, formulas, properties, summaries, views.
    #[serde(default)]
    set: Map<String, Value>,
    /// Parts to take away.
    #[serde(default)]
    remove: Vec<String>,
    /// Views to put in place of those of the same name; others are added at the end.
    #[serde(default)]
    views: Vec<Value>,
    /// Names of views to take away.
    #[serde(default)]
    remove_views: Vec<String>,
}

#[async_trait]
impl EditTool for UpdateBase {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            deferred: true,
            ..tool_spec(
                "update_base",
                ToolGroup::Edit,
                "Changes parts of an Obsidian .base file; parts that are not named stay to the \
                 byte. The outcome is checked as create_base does.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_update(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        match effects.changes.is_empty() {
            true => format!("{path} is so already"),
            false => format!("Changed {path}; query_base shows its rows"),
        }
    }
}

fn plan_update(input: &Input, workspace: &Workspace) -> CallPlan {
    let at = workspace.resolve(&input.path, PathAccess::Write);
    let summary = format!("Change the base {}", at.path);
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let (before, yaml) = match draft::read_text_to_change(workspace, &at) {
        Ok(found) => found,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    match change_base(&yaml, input) {
        Ok(yaml) => {
            let after = draft::file_content(yaml.into_bytes(), &before);
            draft.add_change(at, &before, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, why),
    }
}

fn change_base(yaml: &str, input: &Input) -> Result<String, String> {
    let mut changes: Vec<PropertyChange> =
        input.remove.iter().map(|name| PropertyChange::Remove { name: name.clone() }).collect();
    for (name, value) in &input.set {
        changes.push(PropertyChange::Set { name: name.clone(), value: value.clone() });
    }
    if !input.views.is_empty() || !input.remove_views.is_empty() {
        let there = match input.set.get("views") {
            Some(views) => Some(views.clone()),
            None => parse_properties(yaml)?.get("views").cloned(),
        };
        let views = change_views(there, input)?;
        changes.push(PropertyChange::Set { name: "views".into(), value: Value::Array(views) });
    }
    if changes.is_empty() {
        return Err("nothing to change: give set, remove, views or remove_views".into());
    }
    // A base is a table like the properties of a note, without the lines of strokes.
    let gap = if yaml.is_empty() || yaml.ends_with('\n') { "" } else { "\n" };
    let wrapped = format!("---\n{yaml}{gap}---\n");
    let changed = change_properties(&wrapped, &changes).map_err(describe_failure)?;
    let inner = changed.strip_prefix("---\n").and_then(|rest| rest.strip_suffix("---\n"));
    let inner = inner.unwrap_or_default();
    let base = parse_base(inner).map_err(|why| format!("it would not be a base: {why}"))?;
    match base.views.is_empty() {
        true => Err("the base would have no view".into()),
        false => Ok(inner.to_owned()),
    }
}

/// Why a part cannot be changed, said of a base.
fn describe_failure(why: PropertyError) -> String {
    match why {
        PropertyError::Missing { name, there } if there.is_empty() => {
            format!("the base has no {name}; it is empty")
        }
        PropertyError::Missing { name, there } => {
            format!("the base has no {name}; it has {}", there.join(", "))
        }
        PropertyError::Taken { name } => format!("the base has {name} already"),
        PropertyError::Unreadable { why } => {
            format!("the base cannot be read: {why}; repair it with edit_file first")
        }
    }
}

fn view_name(view: &Value) -> &str {
    view.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn change_views(there: Option<Value>, input: &Input) -> Result<Vec<Value>, String> {
    let mut views = match there {
        Some(Value::Array(views)) => views,
        _ => Vec::new(),
    };
    for name in &input.remove_views {
        let count = views.len();
        views.retain(|view| view_name(view) != name);
        if views.len() == count {
            return Err(format!("there is no view {name}"));
        }
    }
    for view in &input.views {
        let name = view_name(view);
        if name.is_empty() {
            return Err("views: a view needs a name".into());
        }
        match views.iter().position(|other| view_name(other) == name) {
            Some(at) => views[at] = view.clone(),
            None => views.push(view.clone()),
        }
    }
    Ok(views)
}
