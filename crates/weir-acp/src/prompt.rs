//! What an editor sends with a prompt, as what a session is told: words, and what goes along. Not here:
//! reading attachments and judging them (the engine's `attach`), which is the same for every face.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use weir_core::view::told::one_line;
use weir_tui::link::MessageAttachment;

use crate::rpc::RpcError;
use crate::wire::{ContentBlock, ResourceContents};

/// Largest file that is compared with what the editor sent of it, in bytes.
const COMPARED_BYTES_MAX: u64 = 1 << 20;

/// What a session is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PromptMessage {
    /// The words.
    pub(crate) text: String,
    /// What goes along.
    pub(crate) attached: Vec<MessageAttachment>,
}

impl PromptMessage {
    /// What these blocks say. Looks at the files that they name.
    ///
    /// # Errors
    /// Something in it is not understood: what.
    pub(crate) async fn of_blocks(
        blocks: Vec<ContentBlock>,
        root: &Path,
    ) -> Result<PromptMessage, RpcError> {
        let mut message = PromptMessage::default();
        let mut images = 0;
        for block in blocks {
            match block {
                ContentBlock::Text { text } => message.text.push_str(&text),
                ContentBlock::Image { data, mime_type } => {
                    images += 1;
                    let bytes = decode_bytes(&data)?;
                    let ending = mime_type.rsplit('/').next().unwrap_or("png");
                    let ending = if is_ending(ending) { ending } else { "png" };
                    let name = format!("image-{images}.{ending}");
                    message.attached.push(MessageAttachment::Bytes { name, bytes });
                }
                ContentBlock::Audio {} => {
                    return Err(RpcError::invalid_params("sound cannot be attached"));
                }
                ContentBlock::ResourceLink { uri, name, .. } => {
                    message.add_link(&uri, &name, root).await;
                }
                ContentBlock::Resource { resource } => message.add_resource(resource, root).await?,
            }
        }
        if message.text.trim().is_empty() && message.attached.is_empty() {
            return Err(RpcError::invalid_params("the prompt is empty"));
        }
        Ok(message)
    }

    /// A file by its address: attached where it is a file of this machine, else only named.
    async fn add_link(&mut self, uri: &str, name: &str, root: &Path) {
        let Some(path) = file_path(uri) else {
            self.text.push_str(&format!("{} ({})", one_line(name), one_line(uri)));
            return;
        };
        self.text.push_str(&shown_path(&path, root));
        let is_file = tokio::fs::metadata(&path).await.is_ok_and(|found| found.is_file());
        if is_file {
            self.attach_path(&path);
        }
    }

    /// An editor may name a file and send it too: it goes along once.
    fn attach_path(&mut self, path: &Path) {
        let path = MessageAttachment::Path(path.display().to_string());
        if !self.attached.contains(&path) {
            self.attached.push(path);
        }
    }

    /// A file with its content. What stands on the disk just so is the file itself; else what the editor sent
    /// is attached: it may not be saved yet.
    async fn add_resource(
        &mut self,
        resource: ResourceContents,
        root: &Path,
    ) -> Result<(), RpcError> {
        let (uri, bytes): (String, Arc<[u8]>) = match resource {
            ResourceContents::Text { uri, text } => (uri, text.into_bytes().into()),
            ResourceContents::Blob { uri, blob } => (uri, decode_bytes(&blob)?),
        };
        let path = file_path(&uri);
        if let Some(path) = &path
            && stands_on_disk(path, &bytes).await
        {
            self.attach_path(path);
            return Ok(());
        }
        let name = match &path {
            Some(path) => shown_path(path, root),
            None => uri.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        let name = one_line(&name);
        let name = if name.is_empty() { "attachment.txt".to_owned() } else { name };
        self.attached.push(MessageAttachment::Bytes { name, bytes });
        Ok(())
    }
}

/// The end of a file's name, as a media type has it: a few letters and digits.
fn is_ending(text: &str) -> bool {
    !text.is_empty() && text.len() <= 8 && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn decode_bytes(data: &str) -> Result<Arc<[u8]>, RpcError> {
    let bytes = STANDARD.decode(data);
    bytes.map(Arc::from).map_err(|_| RpcError::invalid_params("what is attached is not base64"))
}

/// The file that an address names, without lines or columns.
fn file_path(uri: &str) -> Option<PathBuf> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    url.to_file_path().ok()
}

/// A path as a person would write it in this folder.
fn shown_path(path: &Path, root: &Path) -> String {
    one_line(&path.strip_prefix(root).unwrap_or(path).display().to_string())
}

async fn stands_on_disk(path: &Path, bytes: &[u8]) -> bool {
    let found = tokio::fs::metadata(path).await;
    let is_alike = found.is_ok_and(|found| {
        found.is_file() && found.len() == bytes.len() as u64 && found.len() <= COMPARED_BYTES_MAX
    });
    is_alike && tokio::fs::read(path).await.is_ok_and(|found| found == bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_test_kit::TestFolder;

    use super::*;

    async fn message_of(folder: &TestFolder, blocks: Value) -> Result<PromptMessage, RpcError> {
        let blocks = serde_json::from_value(blocks).expect("blocks");
        PromptMessage::of_blocks(blocks, folder.path()).await
    }

    fn bytes_of(name: &str, bytes: &[u8]) -> MessageAttachment {
        MessageAttachment::Bytes { name: name.into(), bytes: bytes.into() }
    }

    #[tokio::test]
    async fn r1_text_images_files_and_links_are_taken_along() {
        let folder = TestFolder::with_files(&[("src/a.rs", "fn a() {}\n")]);
        let uri = |path: &str| Url::from_file_path(folder.at(path)).expect("absolute").to_string();
        let path = MessageAttachment::Path(folder.at("src/a.rs").display().to_string());
        let message = message_of(
            &folder,
            json!([
                {"type": "text", "text": "Look at "},
                {"type": "resource_link", "name": "a.rs", "uri": uri("src/a.rs") + "#L1", "size": 10},
                {"type": "text", "text": " and "},
                {"type": "resource_link", "name": "src", "uri": uri("src")},
                {"type": "text", "text": ", "},
                {"type": "resource_link", "name": "page", "uri": "https://example.org/x"},
                {"type": "image", "data": "AAEC", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": uri("src/a.rs"), "text": "fn a() {}\n", "mimeType": "x"}},
                {"type": "resource", "resource": {"uri": uri("src/a.rs"), "text": "unsaved"}},
                {"type": "resource", "resource": {"uri": "zed:///x/notes", "blob": "AAEC"}},
            ]),
        );
        let message = message.await.expect("it is understood");
        assert_eq!(message.text, "Look at src/a.rs and src, page (https://example.org/x)");
        let expected = [
            path,
            bytes_of("image-1.png", &[0, 1, 2]),
            bytes_of("src/a.rs", b"unsaved"),
            bytes_of("notes", &[0, 1, 2]),
        ];
        assert_eq!(message.attached, expected);
    }

    #[tokio::test]
    async fn r1_what_cannot_be_said_is_refused() {
        let folder = TestFolder::new();
        for blocks in [
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}]),
            json!([{"type": "image", "data": "%", "mimeType": "image/png"}]),
        ] {
            let refused = message_of(&folder, blocks.clone()).await;
            assert!(refused.is_err(), "{blocks}: {refused:?}");
        }
    }
}
