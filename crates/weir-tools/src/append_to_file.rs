//! `append_to_file`: text after the end of a file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, planning};
use crate::text;

pub(crate) struct AppendToFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File to extend; created when it does not exist.
    path: String,
    /// Text to add.
    content: String,
}

#[async_trait]
impl Edit for AppendToFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "append_to_file",
                Group::Edit,
                "Adds text at the end of a file, beginning on a line of its own.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let lines = text::count(input.content.lines().count(), "line");
        match effects.paths.first() {
            Some(at) if at.access == Access::Create => {
                format!("Created {} with {lines}", at.path)
            }
            Some(at) => format!("Appended {lines} to {}", at.path),
            None => "Nothing was appended".into(),
        }
    }
}

fn plan(input: &Input, workspace: &Workspace) -> Plan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let mut draft = Draft::default();
    draft.touch(at.clone());
    let summary =
        format!("Append {} to {path}", text::count(input.content.lines().count(), "line"));
    let before = match content {
        Ok(before) => before,
        Err(why) => return draft.fail(summary, why.to_string()),
    };
    if input.content.is_empty() {
        return draft.fail(summary, "content is empty: there is nothing to append");
    }
    let old: &[u8] = match &before {
        Content::Absent => b"",
        Content::File { bytes, .. } if draft::is_binary(bytes) => {
            return draft
                .fail(summary, format!("{path} is a binary file; text cannot be appended"));
        }
        Content::File { bytes, .. } => bytes,
        Content::Folder | Content::Link { .. } => {
            return draft.fail(summary, draft::not_a_file(&path, &before));
        }
    };
    let after = draft::file(extended(old, &input.content), &before);
    draft.change(at, &before, &after);
    draft.plan(summary)
}

/// `old`, a line end where it has none, and `text` with the file's own line ends.
fn extended(old: &[u8], text: &str) -> Vec<u8> {
    let crlf = old.windows(2).any(|pair| pair == b"\r\n");
    let mut bytes = old.to_vec();
    if !old.is_empty() && !old.ends_with(b"\n") {
        bytes.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
    }
    if crlf {
        let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        bytes.extend_from_slice(text.as_bytes());
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}
