//! `read_checkpoint`: a file as a snapshot holds it.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::{checkpoint, pager, run_blocking, text};

pub(crate) struct ReadCheckpoint;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name, or the beginning of it.
    checkpoint: String,
    /// File in it.
    path: String,
    /// As the call left it instead of as it was before.
    #[serde(default)]
    after: bool,
    /// First line, from 1.
    #[serde(default)]
    offset: Option<usize>,
    /// Most lines; default 2000.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for ReadCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            keeps_result: true,
            ..tool_spec(
                "read_checkpoint",
                ToolGroup::Read,
                "Reads a file as it was before (or after) a checkpointed change, in pages like \
                 read_file.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Read {} as of checkpoint {}", input.path, input.checkpoint);
        checkpoint::plan_reading(&[&input.path], summary, cx)
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first() else {
            return RawResult::error("the call has no path");
        };
        let content = match checkpoint::load_checkpoint(&input.checkpoint, cx).await {
            Ok(loaded) => match checkpoint::find_entry(&loaded, at, &cx.workspace) {
                Ok(entry) if input.after => entry.after.clone(),
                Ok(entry) => entry.before.clone(),
                Err(why) => return RawResult::error(why),
            },
            Err(why) => return RawResult::error(why),
        };
        let when = if input.after { "after" } else { "before" };
        let name = format!("{} {when} {}", at.path, text::first_chars(&input.checkpoint, 10));
        let bytes = match content {
            FileContent::File { bytes, .. } => bytes,
            FileContent::Absent => return RawResult::ok(format!("{name}: it did not exist")),
            FileContent::Folder => return RawResult::ok(format!("{name}: a folder")),
            FileContent::Link { target } => {
                return RawResult::ok(format!("{name}: a link to {target}"));
            }
        };
        let cancel = cx.cancel.clone();
        let shown = run_blocking(move || {
            let (offset, limit) = (input.offset.unwrap_or(1), input.limit);
            let limit = limit.unwrap_or(pager::PAGE_LINES).max(1);
            let mut reader = bytes.as_ref();
            let page = pager::read_stored_page(&mut reader, offset.max(1), limit, &cancel)
                .map_err(|why| format!("read {name}: {why}"))?;
            pager::render_page(&page, &name, bytes.len() as u64, offset.max(1))
        });
        match shown.await {
            Ok(Ok(text)) => RawResult::ok(text),
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}
