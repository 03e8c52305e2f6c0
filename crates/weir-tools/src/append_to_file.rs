//! `append_to_file`: text after the end of a file.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};
use crate::stored_text::{StoredText, has_crlf, with_crlf};
use crate::text;

pub(crate) struct AppendToFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File to extend; created when it does not exist.
    path: String,
    /// Text to add.
    content: String,
}

#[async_trait]
impl EditTool for AppendToFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "append_to_file",
                ToolGroup::Edit,
                "Adds text at the end of a file, beginning on a line of its own.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_append(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let lines = text::count_noun(input.content.lines().count(), "line");
        match effects.paths.first() {
            Some(at) if at.access == PathAccess::Create => {
                format!("Created {} with {lines}", at.path)
            }
            Some(at) => format!("Appended {lines} to {}", at.path),
            None => "Nothing was appended".into(),
        }
    }
}

fn plan_append(input: &Input, workspace: &Workspace) -> CallPlan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let summary =
        format!("Append {} to {path}", text::count_noun(input.content.lines().count(), "line"));
    let before = match content {
        Ok(before) => before,
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    if input.content.is_empty() {
        return draft.into_failing_plan(summary, "content is empty: there is nothing to append");
    }
    let old: &[u8] = match &before {
        FileContent::Absent => b"",
        FileContent::File { bytes, .. } => bytes,
        FileContent::Folder | FileContent::Link { .. } => {
            return draft.into_failing_plan(summary, draft::not_a_file(&path, &before));
        }
    };
    match extended_file(old, &input.content, &path) {
        Ok(new) => {
            let after = draft::file_content(new, &before);
            draft.add_change(at, &before, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, why),
    }
}

/// The bytes of a file with more text, or why it cannot have more.
fn extended_file(old: &[u8], text: &str, path: &str) -> Result<Vec<u8>, String> {
    let stored = StoredText::of_file(old);
    let stored = stored.map_err(|why| format!("{path} cannot be changed here: {why}"))?;
    if stored.is_binary() {
        return Err(format!("{path} is a binary file; text cannot be appended"));
    }
    stored.store(append_text(stored.plain(), text))
}

/// `old`, a line end where it has none, and `text` with the file's own line ends.
fn append_text(old: &[u8], text: &str) -> Vec<u8> {
    let crlf = has_crlf(&String::from_utf8_lossy(old));
    let mut bytes = old.to_vec();
    if !old.is_empty() && !old.ends_with(b"\n") {
        bytes.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
    }
    if crlf {
        bytes.extend_from_slice(with_crlf(text).as_bytes());
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}
