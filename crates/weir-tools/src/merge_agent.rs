//! `merge_agent`: takes over what a sub-agent did in its copy of the workspace (M6).
//!
//! An edit like any other: its plan lists the exact changes, a person sees the difference, and a
//! checkpoint is taken. A file that changed here meanwhile is merged line by line; where both
//! changed the same lines nothing is changed at all.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::divergence::{DivergenceConflict, merge_divergence};
use weir_engine::ports::{CallPlan, Divergence, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, empty_plan, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft, plan_blocking};
use crate::text;

pub(crate) struct MergeAgent;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The agent's session, as its result names it.
    agent: String,
}

#[async_trait]
impl EditTool for MergeAgent {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "merge_agent",
                ToolGroup::Edit,
                "Takes over the changes that an agent of new_task left in its worktree, then \
                 removes the worktree.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Take over the changes of the agent {}", input.agent);
        let left = match cx.agents.worktree_changes(&input.agent).await {
            Ok(left) => left,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        let label = match cx.agents.worktree_label(&input.agent).await {
            Ok(label) => label,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        let workspace = cx.workspace.clone();
        let mut plan = plan_blocking(move || plan_merge(summary, &left, &workspace)).await;
        plan.effects.gives.join(&label);
        plan
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let lines: Vec<String> = effects.changes.iter().map(|change| change.path.clone()).collect();
        let count = text::count_noun(lines.len(), "file");
        format!("Took over {count} of {}\n{}", input.agent, text::bullet_list(&lines, usize::MAX))
    }

    async fn clean_up(input: Input, cx: &ToolContext) {
        cx.agents.discard_worktree(&input.agent).await;
    }
}

fn plan_merge(summary: String, left: &[Divergence], workspace: &Workspace) -> CallPlan {
    let mut draft = PlanDraft::default();
    let mut conflicts = Vec::new();
    for file in left {
        match merge_file(file, workspace) {
            Ok(Some((before, after))) => {
                let access = match (&before, &after) {
                    (FileContent::Absent, _) => PathAccess::Create,
                    (_, FileContent::Absent) => PathAccess::Delete,
                    (_, _) => PathAccess::Write,
                };
                draft.add_change(workspace.resolve(&file.path, access), &before, &after);
            }
            Ok(None) => (),
            Err(why) => {
                draft.touch(workspace.resolve(&file.path, PathAccess::Write));
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
        return draft.into_failing_plan(summary, why);
    }
    if draft.is_empty() {
        return draft.into_failing_plan(
            summary,
            "Its changes are all here already; there is nothing to do",
        );
    }
    draft.into_plan(summary)
}

/// What is there and what it becomes; `None`: it is so already.
fn merge_file(
    file: &Divergence,
    workspace: &Workspace,
) -> Result<Option<(FileContent, FileContent)>, String> {
    let path = &file.path;
    let at = workspace.resolve(path, PathAccess::Write);
    let now = workspace.read(&at, EDIT_BYTES_MAX).map_err(|why| why.to_string())?;
    match merge_divergence(file, &now) {
        Ok(after) => Ok(after.map(|after| (now, after))),
        Err(DivergenceConflict::NoFile) => Err(draft::not_a_file(path, &now)),
        Err(DivergenceConflict::Obstacle(why)) => Err(format!("{path} in its copy: {why}")),
        Err(DivergenceConflict::SamePlace) => {
            Err(format!("{path} was changed here and by the agent, in the same place"))
        }
    }
}
