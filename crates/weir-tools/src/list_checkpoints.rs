//! `list_checkpoints`: the snapshots taken before file changes.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::governance::label::{Integrity, Label};
use weir_core::ids::SessionId;
use weir_core::tool::{
    Effects, FileState, PathAccess, PlannedChange, RawResult, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, CheckpointFilter, CheckpointInfo, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::{checkpoint, run_blocking, text};

const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 200;
const PATHS_SHOWN: usize = 5;

pub(crate) struct ListCheckpoints;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Those of other sessions in this workspace too.
    #[serde(default)]
    all_sessions: bool,
    /// Most checkpoints, newest first; default 20.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for ListCheckpoints {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..tool_spec(
                "list_checkpoints",
                ToolGroup::Read,
                "Lists the snapshots taken before file changes: name, time, call and paths.",
            )
        }
    }

    async fn plan_call(_: Input, _: &ToolContext) -> CallPlan {
        empty_plan("List checkpoints")
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let filter = CheckpointFilter {
            session: (!input.all_sessions).then(|| cx.session.clone()),
            limit: Some(input.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX)),
        };
        let list = match cx.checkpoints.list(cx.workspace.root(), &filter).await {
            Ok(list) => list,
            Err(why) => {
                return RawResult::error(format!("the checkpoints cannot be listed: {why}"));
            }
        };
        if list.is_empty() {
            return RawResult::ok("No checkpoint yet: one is taken before each change of files.");
        }
        let summary = text::count_noun(list.len(), "checkpoint");
        let (session, workspace) = (cx.session.clone(), cx.workspace.clone());
        match run_blocking(move || describe_checkpoints(&list, &session, &workspace)).await {
            Ok((text, label)) => {
                let mut raw = RawResult::ok(text).with_summary(summary);
                raw.label.join(&label);
                raw
            }
            Err(why) => RawResult::error(why),
        }
    }
}

/// What is told of these checkpoints, and whose words that is: a name is as private as a list of the
/// folder, and as foreign as the file (Z1). What a call of another session was is not told: its command
/// line may be the words of a page that only that one has read.
fn describe_checkpoints(
    list: &[CheckpointInfo],
    session: &SessionId,
    workspace: &Workspace,
) -> (String, Label) {
    let mut text = String::new();
    let mut label = Label::private(Integrity::Workspace, "workspace");
    for info in list {
        let call = info.call.map_or("restore".into(), |call| call.to_string());
        let name = checkpoint::short_checkpoint_id(info);
        let mut visible = Vec::new();
        for change in &info.changes {
            let at = workspace.resolve(&change.path, PathAccess::Read);
            if at.ignored.is_some() {
                continue;
            }
            if let Some(origin) = at.marked {
                label.join(&Label::external(origin));
            }
            visible.push(describe_change(change));
        }
        let about = if info.session == *session { info.label.as_str() } else { "another session" };
        let _ = writeln!(text, "{name}  {}  {} {call}  {about}", info.ts, info.run);
        let _ = writeln!(text, "{}", text::bullet_list(&visible, PATHS_SHOWN));
    }
    (text.trim_end().to_owned(), label)
}

fn describe_change(change: &PlannedChange) -> String {
    let what = match (&change.before, &change.after) {
        (FileState::Absent, _) => "created",
        (_, FileState::Absent) => "deleted",
        (_, _) => "changed",
    };
    format!("{what} {}", change.path)
}
