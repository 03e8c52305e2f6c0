//! `create_base`: a new Obsidian base.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::base::parse_base;
use weir_notes::properties::yaml_text;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};

pub(crate) struct CreateBase;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path of the new `.base` file.
    path: String,
    /// filters, formulas, properties, summaries and views, as Obsidian's YAML has them. Needs a view:
    /// {"views": [{"type": "table", "name": "All", "order": ["file.name"]}]}
    definition: Map<String, Value>,
}

#[async_trait]
impl EditTool for CreateBase {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            deferred: true,
            ..tool_spec(
                "create_base",
                ToolGroup::Edit,
                "Creates an Obsidian .base file from its definition. What Obsidian does not know \
                 is refused and named.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_create(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        format!("Created {path}; query_base shows its rows")
    }
}

fn plan_create(input: &Input, workspace: &Workspace) -> CallPlan {
    let (at, before) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let summary = format!("Create the base {path}");
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    match &before {
        Ok(FileContent::Absent) => {}
        Ok(_) => {
            let why = format!("{path} exists already; change it with update_base");
            return draft.into_failing_plan(summary, why);
        }
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    }
    if !weir_notes::index::has_ending(&path, "base") {
        return draft.into_failing_plan(summary, format!("{path} must end in .base"));
    }
    let yaml = yaml_text(&Value::Object(input.definition.clone()));
    match parse_base(&yaml) {
        Ok(base) if base.views.is_empty() => {
            draft.into_failing_plan(summary, "the base needs a view: give views")
        }
        Ok(_) => {
            let after = draft::file_content(yaml.into_bytes(), &FileContent::Absent);
            draft.add_change(at, &FileContent::Absent, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, why.to_string()),
    }
}
