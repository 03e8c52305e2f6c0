//! `create_folder`: an empty folder.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};

pub(crate) struct CreateFolder;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Folder to create.
    path: String,
}

#[async_trait]
impl EditTool for CreateFolder {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "create_folder",
                ToolGroup::Edit,
                "Creates an empty folder and its parents. Not needed before write_file.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_create_folder(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        if effects.changes.is_empty() {
            format!("{path} exists already")
        } else {
            format!("Created the folder {path}")
        }
    }
}

fn plan_create_folder(input: &Input, workspace: &Workspace) -> CallPlan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let summary = format!("Create the folder {path}");
    match content {
        Ok(before @ (FileContent::Absent | FileContent::Folder)) => {
            draft.add_change(at, &before, &FileContent::Folder);
            draft.into_plan(summary)
        }
        Ok(before) => draft.into_failing_plan(summary, draft::not_a_file(&path, &before)),
        Err(why) => draft.into_failing_plan(summary, why.to_string()),
    }
}
