//! `write_file`: the whole content of a new or existing file.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft, plan_blocking, reading_plan};
use crate::stored_text::{describe_kept_form, rewrite_text};
use crate::{run_blocking, text};

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File to write.
    path: String,
    /// Its whole new content.
    content: String,
}

#[async_trait]
impl EditTool for WriteFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "write_file",
                ToolGroup::Edit,
                "Creates a file (and its folders) or replaces its whole content. To change a part \
                 of a file use edit_file.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_write(input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let lines = text::count_noun(input.content.lines().count(), "line");
        let Some(at) = effects.paths.first() else { return "Nothing was written".into() };
        let path = &at.path;
        match (effects.changes.is_empty(), at.access) {
            (true, _) => format!("{path} has exactly this content already"),
            (false, PathAccess::Create) => format!("Created {path} with {lines}"),
            (false, _) => format!("Wrote {path}, {lines}"),
        }
    }

    /// Where the form of the old file was kept: what was given is not what stands there.
    async fn describe_aftermath(input: Input, effects: &Effects, cx: &ToolContext) -> String {
        let Some(at) = effects.paths.first().cloned() else { return String::new() };
        if let Some(bytes) = cx.contents.get(&at.path) {
            return describe_kept_form(bytes, &input.content);
        }
        // Nothing was written, because the file has this text in its own form.
        let workspace = cx.workspace.clone();
        let now = run_blocking(move || workspace.read_current(&at, EDIT_BYTES_MAX)).await;
        let Ok(Ok(FileContent::File { bytes, .. })) = now else { return String::new() };
        describe_kept_form(&bytes, &input.content)
    }
}

fn plan_write(input: Input, workspace: &Workspace) -> CallPlan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let (path, create) = (at.path.clone(), at.access == PathAccess::Create);
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let verb = if create { "Create" } else { "Replace the content of" };
    let summary = format!("{verb} {path}");
    let before = match content {
        Ok(before) => before,
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    if !matches!(before, FileContent::Absent | FileContent::File { .. }) {
        return draft.into_failing_plan(summary, draft::not_a_file(&path, &before));
    }
    let bytes = match &before {
        FileContent::File { bytes, .. } => rewrite_text(bytes, input.content),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => {
            input.content.into_bytes()
        }
    };
    if bytes.len() as u64 > EDIT_BYTES_MAX {
        let (size, max) = (text::size_text(bytes.len() as u64), text::size_text(EDIT_BYTES_MAX));
        return draft.into_failing_plan(
            summary,
            format!("the content has {size}; at most {max} can be written"),
        );
    }
    let after = draft::file_content(bytes, &before);
    // What is there already is not written: the call tells no more than reading the file would, and
    // is judged as that.
    if after == before {
        let at = workspace.resolve(&path, PathAccess::Read);
        return reading_plan(at, format!("{path} has this content already"), None);
    }
    draft.add_change(at, &before, &after);
    draft.into_plan(summary)
}
