//! `list_checkpoints`: the snapshots taken before file changes.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
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
            ..tool_spec::<Input>(
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

fn describe_checkpoints(list: &[CheckpointInfo], workspace: &Workspace) -> String {
    let mut text = String::new();
    for info in list {
        let call = info.call.map_or("restore".into(), |call| call.to_string());
        let name = checkpoint::short_checkpoint_id(info);
        let _ = writeln!(text, "{name}  {}  {} {call}  {}", info.ts, info.run, info.label);
        let visible: Vec<String> = info
            .changes
            .iter()
            .filter(|change| workspace.resolve(&change.path, PathAccess::Read).ignored.is_none())
            .map(describe_change)
            .collect();
        let _ = writeln!(text, "{}", text::bullet_list(&visible, PATHS_SHOWN));
    }
    text.trim_end().to_owned()
}

fn describe_change(change: &PlannedChange) -> String {
    let what = match (&change.before, &change.after) {
        (FileState::Absent, _) => "created",
        (_, FileState::Absent) => "deleted",
        (_, _) => "changed",
    };
    format!("{what} {}", change.path)
}
