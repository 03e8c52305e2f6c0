//! `create_folder`: an empty folder.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Effects, Group, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, planning};

pub(crate) struct CreateFolder;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Folder to create.
    path: String,
}

#[async_trait]
impl Edit for CreateFolder {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "create_folder",
                Group::Edit,
                "Creates an empty folder and its parents. Not needed before write_file.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        if effects.changes.is_empty() {
            format!("{path} exists already")
        } else {
            format!("Created the folder {path}")
        }
    }
}

fn plan(input: &Input, workspace: &Workspace) -> Plan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let mut draft = Draft::default();
    draft.touch(at.clone());
    let summary = format!("Create the folder {path}");
    match content {
        Ok(before @ (Content::Absent | Content::Folder)) => {
            draft.change(at, &before, &Content::Folder);
            draft.plan(summary)
        }
        Ok(before) => draft.fail(summary, draft::not_a_file(&path, &before)),
        Err(why) => draft.fail(summary, why.to_string()),
    }
}
