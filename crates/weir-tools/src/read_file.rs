//! `read_file`: pages of text with line numbers; images and PDFs as attachments.

use std::io::{BufRead, BufReader, Read};

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::attach::{Attachment, FILE_BYTES_MAX};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::sniff::{self, FileKind, SNIFF_BYTES};
use weir_engine::workspace::{EntryKind, FileError, Workspace};

use crate::built::{ActionTool, tool_spec};
use crate::draft::{plan_blocking, reading_plan};
use crate::{pager, result_file, run_blocking, text};

pub(crate) struct ReadFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path in the workspace.
    pub(crate) path: String,
    /// First line, from 1.
    #[serde(default)]
    pub(crate) offset: Option<usize>,
    /// Most lines; default 2000.
    #[serde(default)]
    pub(crate) limit: Option<usize>,
}

/// What was found in the file.
enum FileReading {
    Text(String),
    Media(Vec<u8>),
}

#[async_trait]
impl ActionTool for ReadFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            keeps_result: true,
            ..tool_spec(
                "read_file",
                ToolGroup::Read,
                "Reads a text file with line numbers (number, tab, line): at most 2000 lines or \
                 50000 characters a page; the last line says how to go on. Attaches PNG, JPEG, \
                 GIF, WebP and PDF (32 MB). Read a file before you edit it.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let lines = match (input.offset, input.limit) {
            (None, None) => String::new(),
            (offset, None) => format!(" from line {}", offset.unwrap_or(1)),
            (offset, Some(limit)) => {
                let first = offset.unwrap_or(1);
                format!(" lines {first}-{}", first.saturating_add(limit - limit.min(1)))
            }
        };
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let mut at = workspace.resolve(&input.path, PathAccess::Read);
            let fails = unreadable_reason(&workspace, &at);
            if at.sensitive.is_none() && fails.is_none() {
                at.sensitive = workspace.key_inside(&at);
            }
            let summary = format!("Read {}{lines}", at.path);
            reading_plan(at, summary, fails)
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let (path, workspace, cancel) = (at.path.clone(), cx.workspace.clone(), cx.cancel.clone());
        let found = run_blocking(move || {
            if let Some(text) = workspace.unsaved_text(&at) {
                let mut reader = &text[..];
                return read_content(&mut reader, &input, &at.path, text.len() as u64, &cancel);
            }
            let file = workspace.open_file(&at).map_err(|why| why.to_string())?;
            let bytes = file.metadata().map_err(|why| format!("read {}: {why}", at.path))?.len();
            let mut reader = BufReader::with_capacity(SNIFF_BYTES, file);
            read_content(&mut reader, &input, &at.path, bytes, &cancel)
        })
        .await;
        match found {
            Ok(Ok(FileReading::Text(text))) => {
                let shown = text.lines().filter(|line| line.contains('\t')).count();
                RawResult::ok(text)
                    .with_summary(format!("{path}: {}", text::count_noun(shown, "line")))
            }
            Ok(Ok(FileReading::Media(bytes))) => attach_media(cx, &path, bytes).await,
            Ok(Err(message)) | Err(message) => RawResult::error(message),
        }
    }
}

/// Why `at` cannot be read as a file; `None`: it can be tried.
fn unreadable_reason(workspace: &Workspace, at: &PathEffect) -> Option<String> {
    let path = &at.path;
    match workspace.stat_entry(at) {
        Ok(entry) => match entry.kind {
            EntryKind::File | EntryKind::Link => None,
            EntryKind::Folder => {
                Some(format!("{path} is a folder; list_files shows what is in it"))
            }
            EntryKind::Other => Some(format!("{path} is a device, socket or pipe, not a file")),
        },
        Err(why) => Some(absent_reason(path, &why)),
    }
}

/// Why nothing is at `path`, and what to do instead where that is known.
pub(crate) fn absent_reason(path: &str, why: &FileError) -> String {
    let gone = || {
        matches!(why, FileError::NotFound { .. }).then(|| result_file::missing_result_advice(path))
    };
    gone().flatten().unwrap_or_else(|| why.to_string())
}

fn read_content(
    reader: &mut dyn BufRead,
    input: &Input,
    path: &str,
    bytes: u64,
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<FileReading, String> {
    let failed = |why: std::io::Error| format!("read {path}: {why}");
    let kind = sniff::detect_file_kind(reader.fill_buf().map_err(failed)?);
    match kind {
        FileKind::Text => {
            let offset = input.offset.unwrap_or(1).max(1);
            let limit = input.limit.unwrap_or(pager::PAGE_LINES).max(1);
            let page = pager::read_stored_page(reader, offset, limit, cancel).map_err(failed)?;
            return pager::render_page(&page, path, bytes, offset).map(FileReading::Text);
        }
        FileKind::Binary(name) => {
            let size = text::size_text(bytes);
            let how = if is_document(path) {
                "find_tool loads read_document, which reads it"
            } else {
                "look at it with a program through run_shell"
            };
            return Err(format!("{path} is {name} of {size}, not text; {how}"));
        }
        FileKind::Image(_) | FileKind::Pdf => {}
    }
    let max = FILE_BYTES_MAX;
    let mut content = Vec::new();
    reader.take(max + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > max {
        return Err(format!(
            "{path} has {}; at most {} can be attached. Make it smaller first",
            text::size_text(bytes.max(max + 1)),
            text::size_text(max)
        ));
    }
    Ok(FileReading::Media(content))
}

/// Whether a file has the name of a document that `read_document` reads.
fn is_document(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    ["docx", "docm", "pptx", "pptm", "xlsx", "xlsm", "odt", "ods", "odp", "epub"]
        .contains(&ending.as_str())
}

/// An image or PDF, looked at as every attachment is (X5).
pub(crate) async fn attach_media(cx: &ToolContext, path: &str, bytes: Vec<u8>) -> RawResult {
    let found = Attachment::of_bytes(cx.documents.as_ref(), path, bytes.into()).await;
    let attachment = match found {
        Ok(attachment) => attachment,
        Err(why) => return RawResult::error(why.to_string()),
    };
    let put = |bytes| cx.blobs.put(&cx.session, bytes);
    let Some(block) = attachment.media_block(put) else {
        return RawResult::error(format!("{path} is text; read it again"));
    };
    let mut line = format!("{path}: {}, attached", attachment.describe_kind());
    if let Some(note) = attachment.note() {
        line.push_str("; ");
        line.push_str(note);
    }
    let mut raw = RawResult::ok(line.clone()).with_summary(line);
    raw.blocks.push(block);
    raw
}
