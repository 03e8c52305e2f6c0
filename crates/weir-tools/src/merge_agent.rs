//! `merge_agent`: takes over what a sub-agent did in its copy of the workspace (M6).
//!
//! An edit like any other: its plan lists the exact changes, a person sees the difference, and a
//! checkpoint is taken. A file that changed here meanwhile is merged line by line; where both
//! changed the same lines nothing is changed at all.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, ToolSpec};
use weir_engine::ports::{Content, Divergence, Plan, ToolContext};
use weir_engine::undo::{Merge, merge};
use weir_engine::workspace::Workspace;

use crate::built::{Contents, Edit, nothing, spec};
use crate::draft::{self, Draft, EDIT_BYTES_MAX, planning};
use crate::text;

pub(crate) struct MergeAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The agent's session, as its result names it.
    agent: String,
}

#[async_trait]
impl Edit for MergeAgent {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..spec::<Input>(
                "merge_agent",
                Group::Edit,
                "Takes over the changes that an agent of new_task left in its worktree, then \
                 removes the worktree.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let summary = format!("Take over the changes of the agent {}", input.agent);
        let left = match cx.agents.left(&input.agent).await {
            Ok(left) => left,
            Err(why) => return nothing(summary).failing(why),
        };
        let workspace = cx.workspace.clone();
        planning(move || plan(summary, &left, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let lines: Vec<String> = effects.changes.iter().map(|change| change.path.clone()).collect();
        let count = text::count(lines.len(), "file");
        format!("Took over {count} of {}\n{}", input.agent, text::bullets(&lines, usize::MAX))
    }

    async fn after(input: Input, cx: &ToolContext) {
        cx.agents.merged(&input.agent).await;
    }
}

fn plan(summary: String, left: &[Divergence], workspace: &Workspace) -> Plan {
    let mut draft = Draft::default();
    let mut conflicts = Vec::new();
    for file in left {
        match merged(file, workspace) {
            Ok(Some((before, after))) => {
                let access = match (&before, &after) {
                    (Content::Absent, _) => Access::Create,
                    (_, Content::Absent) => Access::Delete,
                    (_, _) => Access::Write,
                };
                draft.change(workspace.resolve(&file.path, access), &before, &after);
            }
            Ok(None) => (),
            Err(why) => {
                draft.touch(workspace.resolve(&file.path, Access::Write));
                conflicts.push(why);
            }
        }
    }
    if !conflicts.is_empty() {
        let why = format!(
            "Nothing was changed: {}. Do these by hand from its result, or have an agent do the \
             task again",
            conflicts.join("; ")
        );
        return draft.fail(summary, why);
    }
    if draft.is_empty() {
        return draft.fail(summary, "Its changes are all here already; there is nothing to do");
    }
    draft.plan(summary)
}

/// What is there and what it becomes; `None`: it is so already.
fn merged(file: &Divergence, workspace: &Workspace) -> Result<Option<(Content, Content)>, String> {
    let path = &file.path;
    let at = workspace.resolve(path, Access::Write);
    let now = workspace.read(&at, EDIT_BYTES_MAX).map_err(|why| why.to_string())?;
    if matches!(now, Content::Folder | Content::Link { .. }) {
        return Err(draft::not_a_file(path, &now));
    }
    let content = |side: &Option<Vec<u8>>| match side {
        None => Content::Absent,
        Some(bytes) => draft::file(bytes.clone(), &now),
    };
    let (base, theirs) = (content(&file.base), content(&file.theirs));
    if now == theirs {
        return Ok(None);
    }
    if now == base {
        return Ok(Some((now, theirs)));
    }
    match merge(&base, &now, &theirs) {
        Some(Merge::Clean(text)) => {
            let after = draft::file(text.into_bytes(), &now);
            Ok(Some((now, after)))
        }
        Some(Merge::Marked(_)) | None => {
            Err(format!("{path} was changed here and by the agent, in the same place"))
        }
    }
}
