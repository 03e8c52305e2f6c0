//! What a run is told: the prompt and what is attached to it (C2, X5).

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;

use weir_core::message::{Block, Media};
use weir_core::tool::{Access, PathEffect};
use weir_engine::engine::SessionHandle;
use weir_engine::ports::Content;
use weir_engine::workspace::Workspace;

use crate::failure::usage;
use crate::options::RunArgs;

/// Largest prompt from standard input, in bytes.
const PROMPT_BYTES_MAX: u64 = 10 << 20;
/// Largest image, in bytes: what every vendor takes.
const IMAGE_BYTES_MAX: u64 = 5 << 20;
/// Largest PDF, in bytes.
const PDF_BYTES_MAX: u64 = 20 << 20;
/// Largest text file, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Something that goes with a prompt.
pub(super) enum Attachment {
    /// An image or PDF.
    Media { name: String, media_type: &'static str, bytes: Arc<[u8]> },
    /// Text.
    Text { name: String, text: String },
}

/// The prompt, which must be there.
pub(super) fn required(args: &RunArgs) -> anyhow::Result<String> {
    let from_pipe = args.prompt.is_none() && !std::io::stdin().is_terminal();
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(from_stdin()?),
        None if from_pipe => Some(from_stdin()?),
        prompt => prompt.map(str::to_string),
    };
    prompt.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
        usage("there is no task: weir run \"your task\", or pipe it in (weir run -)")
    })
}

/// The prompt of a session that exists already: it may go on without one.
pub(super) fn optional(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(from_stdin()?),
        prompt => prompt.map(str::to_string),
    };
    Ok(prompt.filter(|text| !text.trim().is_empty()))
}

fn from_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PROMPT_BYTES_MAX {
        return Err(usage(format!(
            "the prompt on standard input is larger than {PROMPT_BYTES_MAX} bytes; put it into a \
             file of the workspace and name the file"
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What `--attach` and `@path` words of the prompt name.
pub(super) fn attachments(
    args: &RunArgs,
    prompt: &str,
    workspace: &Workspace,
) -> anyhow::Result<Vec<Attachment>> {
    let mut found = Vec::new();
    for path in &args.attach {
        // A person may attach what lies anywhere; what is invisible stays so (G6).
        let shown = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let at = workspace.resolve(&shown.to_string_lossy(), Access::Read);
        found.push(attachment(workspace, &at, path)?);
    }
    for word in prompt.split_whitespace() {
        let Some(name) = word.strip_prefix('@').filter(|name| !name.is_empty()) else { continue };
        let name = name.trim_end_matches([',', '.', ';', ':', '?', '!', ')']);
        let at = workspace.resolve(name, Access::Read);
        let is_file = workspace
            .entry(&at)
            .is_ok_and(|entry| entry.kind == weir_engine::workspace::EntryKind::File);
        if is_file {
            found.push(attachment(workspace, &at, Path::new(name))?);
        }
    }
    Ok(found)
}

fn attachment(workspace: &Workspace, at: &PathEffect, path: &Path) -> anyhow::Result<Attachment> {
    let shown = path.display();
    let wrong = |why: String| usage(format!("{shown} cannot be attached: {why}"));
    if let Some(why) = &at.ignored {
        return Err(wrong(format!("it is invisible ({why})")));
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    let (media_type, max) = match extension.as_deref() {
        Some("png") => (Some("image/png"), IMAGE_BYTES_MAX),
        Some("jpg" | "jpeg") => (Some("image/jpeg"), IMAGE_BYTES_MAX),
        Some("gif") => (Some("image/gif"), IMAGE_BYTES_MAX),
        Some("webp") => (Some("image/webp"), IMAGE_BYTES_MAX),
        Some("pdf") => (Some("application/pdf"), PDF_BYTES_MAX),
        _ => (None, TEXT_BYTES_MAX),
    };
    let content = workspace.read(at, max).map_err(|error| wrong(error.to_string()))?;
    let Content::File { bytes, .. } = content else {
        return Err(wrong("it is not a file".into()));
    };
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(media_type) = media_type {
        return Ok(Attachment::Media { name, media_type, bytes });
    }
    match String::from_utf8(bytes.to_vec()) {
        Ok(text) if !text.contains('\0') => Ok(Attachment::Text { name, text }),
        _ => Err(wrong("it is neither text, nor PNG, JPEG, GIF, WebP or PDF".into())),
    }
}

/// Prompt and attachments as one input.
pub(super) fn content(
    handle: &SessionHandle,
    prompt: String,
    attachments: Vec<Attachment>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for attachment in attachments {
        match attachment {
            Attachment::Text { name, text } => {
                blocks.push(Block::text(format!("Attached file {name}:\n{text}")));
            }
            Attachment::Media { name, media_type, bytes } => {
                let length = bytes.len() as u64;
                let blob = handle.blobs().put(handle.id(), bytes);
                let media =
                    Media { media_type: media_type.into(), blob, bytes: length, name: Some(name) };
                blocks.push(match media_type {
                    "application/pdf" => Block::Document { media },
                    _ => Block::Image { media },
                });
            }
        }
    }
    if !prompt.is_empty() {
        blocks.push(Block::text(prompt));
    }
    blocks
}
