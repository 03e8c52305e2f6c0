//! What a server answers, as a result of ours: bounded, its pictures kept as blobs, everything
//! else as text. Its label comes from the call's effects. Not here: cutting results for the prompt.

use std::sync::Arc;

use base64::Engine as _;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use weir_core::governance::frame::frame_mark;
use weir_core::message::{MessageBlock, StoredMedia};
use weir_core::tool::RawResult;
use weir_engine::ports::ToolContext;

/// Most text of one answer, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Most pictures of one answer.
const PICTURES_MAX: usize = 10;
/// Largest picture.
const PICTURE_BYTES_MAX: usize = 8 << 20;
/// Most parts of one answer.
const PARTS_MAX: usize = 10_000;

/// Collects an answer.
pub(crate) struct ResultBuilder<'a> {
    cx: &'a ToolContext,
    text: String,
    blocks: Vec<MessageBlock>,
    pictures: usize,
    bytes: u64,
    cut: bool,
}

impl<'a> ResultBuilder<'a> {
    pub(crate) fn new(cx: &'a ToolContext) -> ResultBuilder<'a> {
        let (text, blocks) = (String::new(), Vec::new());
        ResultBuilder { cx, text, blocks, pictures: 0, bytes: 0, cut: false }
    }

    /// A paragraph of text.
    pub(crate) fn push_text(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
        if text.len() > room {
            self.cut = true;
            let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.text.push_str(&text[..end]);
            return;
        }
        self.text.push_str(text);
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.blocks.push(MessageBlock::text(text));
        }
    }

    /// A picture in base64; what is none is told.
    pub(crate) fn push_picture(&mut self, data: &str, said_type: &str) {
        let engine = &base64::engine::general_purpose::STANDARD;
        self.bytes += data.len() as u64;
        if self.pictures >= PICTURES_MAX || data.len() / 4 * 3 > PICTURE_BYTES_MAX {
            return self.push_text("[a picture was left out: too many, or too large]");
        }
        let Ok(bytes) = engine.decode(data.trim()) else {
            return self.push_text("[a picture was left out: it is no base64]");
        };
        let Some(media_type) = picture_type(&bytes) else {
            return self.push_text(&format!(
                "[{} bytes were left out: {} is no picture that can be shown]",
                bytes.len(),
                crate::text::visible_text(said_type, 60)
            ));
        };
        self.pictures += 1;
        let size = bytes.len() as u64;
        let blob = self.cx.blobs.put(&self.cx.session, Arc::from(bytes));
        self.flush();
        let media = StoredMedia { media_type: media_type.into(), blob, bytes: size, name: None };
        self.blocks.push(MessageBlock::Image { media });
    }

    /// A resource that stands in the answer.
    pub(crate) fn push_resource(&mut self, resource: &ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                let mark = frame_mark(&self.cx.session, &self.cx.call.to_string());
                let uri = crate::text::visible_text(uri, 500);
                self.push_text(&format!("[resource {uri}, up to {mark}:]"));
                self.push_text(text);
                self.push_text(&format!("[{mark}: end of the resource]"));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                self.push_text(&format!("[resource {}]", crate::text::visible_text(uri, 500)));
                let said = mime_type.as_deref().unwrap_or("something without a type");
                self.push_picture(blob, said);
            }
            _ => self.push_text("[a resource of an unknown kind was left out]"),
        }
    }

    pub(crate) fn push_content(&mut self, part: &ContentBlock) {
        match part {
            ContentBlock::Text(text) => self.push_text(&text.text),
            ContentBlock::Image(image) => self.push_picture(&image.data, &image.mime_type),
            ContentBlock::Audio(audio) => {
                let kind = crate::text::visible_text(&audio.mime_type, 60);
                let bytes = audio.data.len() / 4 * 3;
                self.push_text(&format!("[a sound of about {bytes} bytes ({kind}) was left out]"));
            }
            ContentBlock::Resource(embedded) => self.push_resource(&embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let about = link.description.as_deref().unwrap_or(&link.name);
                self.push_text(&format!(
                    "[resource {}: {}; read_mcp_tool reads it]",
                    crate::text::visible_text(&link.uri, 500),
                    crate::text::visible_text(about, 300)
                ));
            }
            _ => self.push_text("[a part of an unknown kind was left out]"),
        }
    }

    /// The result.
    pub(crate) fn finish(mut self, ok: bool) -> RawResult {
        if self.cut {
            self.text.push_str("\n[the rest was left out: the answer is too long]\n");
        }
        self.flush();
        if self.blocks.is_empty() {
            self.blocks.push(MessageBlock::text("(no content)"));
        }
        let mut raw = if ok { RawResult::ok("") } else { RawResult::error("") };
        raw.blocks = self.blocks;
        raw.full_bytes = self.cut.then_some(self.bytes);
        raw
    }
}

/// The result of a call.
pub(crate) fn of_call(result: &CallToolResult, cx: &ToolContext) -> RawResult {
    let mut answer = ResultBuilder::new(cx);
    for part in result.content.iter().take(PARTS_MAX) {
        answer.push_content(part);
    }
    if result.content.len() > PARTS_MAX {
        answer.cut = true;
    }
    // Most servers give the same twice, once as text.
    if let Some(structured) = &result.structured_content
        && !says_the_same(result, structured)
    {
        answer.push_text(&structured.to_string());
    }
    let structured = value_of(result);
    RawResult { structured, ..answer.finish(result.is_error != Some(true)) }
}

/// The answer as one value: what the server gives as one, else its texts if there are several and each of
/// them is JSON. Most servers give a list so.
fn value_of(result: &CallToolResult) -> Option<Value> {
    if result.structured_content.is_some() {
        return result.structured_content.clone();
    }
    let value = |part: &ContentBlock| match part {
        ContentBlock::Text(text) => serde_json::from_str::<Value>(&text.text).ok(),
        _ => None,
    };
    let parts = result.content.get(..PARTS_MAX).unwrap_or(&result.content);
    // One text is read by whoever keeps it as a handle.
    if parts.len() < 2 {
        return None;
    }
    Some(Value::Array(parts.iter().map(value).collect::<Option<Vec<Value>>>()?))
}

/// Whether the server labels its answer as one that everybody may read: `_meta.ifc.confidentiality`.
pub(crate) fn says_public(result: &CallToolResult) -> bool {
    let said = result.meta.as_ref().and_then(|meta| meta.0.get("ifc")?.get("confidentiality"));
    said.is_some_and(|said| *said == json!("public") || *said == json!(["public"]))
}

fn says_the_same(result: &CallToolResult, structured: &Value) -> bool {
    result.content.iter().any(|part| match part {
        ContentBlock::Text(text) => {
            serde_json::from_str::<Value>(&text.text).is_ok_and(|value| value == *structured)
        }
        _ => false,
    })
}

fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
