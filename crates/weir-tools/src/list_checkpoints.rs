//! `list_checkpoints`: the snapshots taken before file changes.

use std::fmt::Write as _;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Change, Effects, Group, Image, Raw, ToolSpec};
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, Plan, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{Act, nothing, spec};
use crate::{blocking, checkpoint, text};

const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 200;
const PATHS_SHOWN: usize = 5;

pub(crate) struct ListCheckpoints;

#[derive(Debug, Deserialize, JsonSchema)]
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
impl Act for ListCheckpoints {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..spec::<Input>(
                "list_checkpoints",
                Group::Read,
                "Lists the snapshots taken before file changes: name, time, call and paths.",
            )
        }
    }

    async fn plan(_: Input, _: &ToolContext) -> Plan {
        nothing("List checkpoints")
    }

    async fn act(input: Input, _: &Effects, cx: &ToolContext) -> Raw {
        let filter = CheckpointFilter {
            session: (!input.all_sessions).then(|| cx.session.clone()),
            limit: Some(input.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX)),
        };
        let list = match cx.checkpoints.list(cx.workspace.root(), &filter).await {
            Ok(list) => list,
            Err(why) => return Raw::error(format!("the checkpoints cannot be listed: {why}")),
        };
        if list.is_empty() {
            return Raw::ok("No checkpoint yet: one is taken before each change of files.");
        }
        let summary = text::count(list.len(), "checkpoint");
        let workspace = cx.workspace.clone();
        match blocking(move || describe(&list, &workspace)).await {
            Ok(text) => Raw::ok(text).with_summary(summary),
            Err(why) => Raw::error(why),
        }
    }
}

fn describe(list: &[CheckpointInfo], workspace: &Workspace) -> String {
    let mut text = String::new();
    for info in list {
        let call = info.call.map_or("restore".into(), |call| call.to_string());
        let name = checkpoint::short(info);
        let _ = writeln!(text, "{name}  {}  {} {call}  {}", info.ts, info.run, info.label);
        let visible: Vec<String> = info
            .changes
            .iter()
            .filter(|change| workspace.resolve(&change.path, Access::Read).ignored.is_none())
            .map(line)
            .collect();
        let _ = writeln!(text, "{}", text::bullets(&visible, PATHS_SHOWN));
    }
    text.trim_end().to_owned()
}

fn line(change: &Change) -> String {
    let what = match (&change.before, &change.after) {
        (Image::Absent, _) => "created",
        (_, Image::Absent) => "deleted",
        (_, _) => "changed",
    };
    format!("{what} {}", change.path)
}
