//! `update_frontmatter`: properties of a note, without touching anything else in it.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::properties::{PropertyChange, change_properties};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};
use crate::get_frontmatter::note_effect;
use crate::text;

pub(crate) struct UpdateFrontmatter;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The note; `.md` may be left out.
    path: String,
    /// Properties by name with their new values. A list replaces the whole list.
    #[serde(default)]
    set: Map<String, Value>,
    /// Names of properties to take away.
    #[serde(default)]
    remove: Vec<String>,
    /// Old names with new names.
    #[serde(default)]
    rename: Map<String, Value>,
}

#[async_trait]
impl EditTool for UpdateFrontmatter {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "update_frontmatter",
                ToolGroup::Edit,
                "Sets, removes and renames properties of a note: all of it or nothing. Everything \
                 else stays to the byte, comments and order included. Texts that are links are \
                 written as \"[[Note]]\", dates as 2026-01-31.",
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
            true => format!("{path} has these properties already"),
            false => format!("Changed {} of {path}", property_count(input)),
        }
    }
}

fn property_count(input: &Input) -> String {
    let count = input.set.len() + input.remove.len() + input.rename.len();
    text::count_noun(count, "property").replace("propertys", "properties")
}

fn plan_update(input: &Input, workspace: &Workspace) -> CallPlan {
    let (at, fails) = note_effect(workspace, &input.path, PathAccess::Write);
    let summary = format!("Change {} of {}", property_count(input), at.path);
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    if let Some(why) = fails {
        return draft.into_failing_plan(summary, why);
    }
    let changes = match property_changes(input) {
        Ok(changes) => changes,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    let (before, old) = match draft::read_text_to_change(workspace, &at) {
        Ok(found) => found,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    match change_properties(&old, &changes) {
        Ok(new) => {
            let after = draft::file_content(new.into_bytes(), &before);
            draft.add_change(at, &before, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, format!("{}: {why}", at.path)),
    }
}

fn property_changes(input: &Input) -> Result<Vec<PropertyChange>, String> {
    let mut changes = Vec::new();
    for (name, to) in &input.rename {
        let Some(to) = to.as_str().filter(|to| !to.trim().is_empty()) else {
            return Err(format!("rename: the new name of {name} must be a text"));
        };
        changes.push(PropertyChange::Rename { name: name.clone(), to: to.to_owned() });
    }
    changes.extend(input.remove.iter().map(|name| PropertyChange::Remove { name: name.clone() }));
    for (name, value) in &input.set {
        if name.trim().is_empty() {
            return Err("set: a property needs a name".into());
        }
        changes.push(PropertyChange::Set { name: name.clone(), value: value.clone() });
    }
    match changes.is_empty() {
        true => Err("nothing to change: give set, remove or rename".into()),
        false => Ok(changes),
    }
}
