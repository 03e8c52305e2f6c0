//! `write_file`: the whole content of a new or existing file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, EDIT_BYTES_MAX, planning, reading};
use crate::text;

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File to write.
    path: String,
    /// Its whole new content.
    content: String,
}

#[async_trait]
impl Edit for WriteFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "write_file",
                Group::Edit,
                "Creates a file (and its folders) or replaces its whole content. To change a part \
                 of a file use edit_file.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(input, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let lines = text::count(input.content.lines().count(), "line");
        let Some(at) = effects.paths.first() else { return "Nothing was written".into() };
        let path = &at.path;
        match (effects.changes.is_empty(), at.access) {
            (true, _) => format!("{path} has exactly this content already"),
            (false, Access::Create) => format!("Created {path} with {lines}"),
            (false, _) => format!("Wrote {path}, {lines}"),
        }
    }
}

fn plan(input: Input, workspace: &Workspace) -> Plan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let (path, create) = (at.path.clone(), at.access == Access::Create);
    let mut draft = Draft::default();
    draft.touch(at.clone());
    let verb = if create { "Create" } else { "Replace the content of" };
    let summary = format!("{verb} {path}");
    let before = match content {
        Ok(before) => before,
        Err(why) => return draft.fail(summary, why.to_string()),
    };
    if !matches!(before, Content::Absent | Content::File { .. }) {
        return draft.fail(summary, draft::not_a_file(&path, &before));
    }
    let bytes = input.content.into_bytes();
    if bytes.len() as u64 > EDIT_BYTES_MAX {
        let (size, max) = (text::size(bytes.len() as u64), text::size(EDIT_BYTES_MAX));
        return draft
            .fail(summary, format!("the content has {size}; at most {max} can be written"));
    }
    let after = draft::file(bytes, &before);
    // What is there already is not written: the call tells no more than reading the file would, and
    // is judged as that.
    if after == before {
        let at = workspace.resolve(&path, Access::Read);
        return reading(at, format!("{path} has this content already"), None);
    }
    draft.change(at, &before, &after);
    draft.plan(summary)
}
