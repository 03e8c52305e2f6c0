//! `read_checkpoint`: a file as a snapshot holds it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};

use crate::built::{Act, spec};
use crate::{blocking, checkpoint, pager, text};

pub(crate) struct ReadCheckpoint;

#[derive(Debug, Deserialize, JsonSchema)]
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
impl Act for ReadCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            keeps_result: true,
            ..spec::<Input>(
                "read_checkpoint",
                Group::Read,
                "Reads a file as it was before (or after) a checkpointed change, in pages like \
                 read_file.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let summary = format!("Read {} as of checkpoint {}", input.path, input.checkpoint);
        checkpoint::reads(&[&input.path], summary, cx)
    }

    async fn act(input: Input, effects: &Effects, cx: &ToolContext) -> Raw {
        let Some(at) = effects.paths.first() else {
            return Raw::error("the call has no path");
        };
        let content = match checkpoint::load(&input.checkpoint, cx).await {
            Ok(loaded) => match checkpoint::entry(&loaded, at) {
                Ok(entry) if input.after => entry.after.clone(),
                Ok(entry) => entry.before.clone(),
                Err(why) => return Raw::error(why),
            },
            Err(why) => return Raw::error(why),
        };
        let when = if input.after { "after" } else { "before" };
        let name = format!("{} {when} {}", at.path, text::head(&input.checkpoint, 10));
        let bytes = match content {
            Content::File { bytes, .. } => bytes,
            Content::Absent => return Raw::ok(format!("{name}: it did not exist")),
            Content::Folder => return Raw::ok(format!("{name}: a folder")),
            Content::Link { target } => return Raw::ok(format!("{name}: a link to {target}")),
        };
        let cancel = cx.cancel.clone();
        let shown = blocking(move || {
            let (offset, limit) = (input.offset.unwrap_or(1), input.limit);
            let limit = limit.unwrap_or(pager::PAGE_LINES).max(1);
            let mut reader = bytes.as_ref();
            let page = pager::page(&mut reader, offset.max(1), limit, &cancel)
                .map_err(|why| format!("read {name}: {why}"))?;
            pager::render(&page, &name, bytes.len() as u64, offset.max(1))
        });
        match shown.await {
            Ok(Ok(text)) => Raw::ok(text),
            Ok(Err(why)) | Err(why) => Raw::error(why),
        }
    }
}
