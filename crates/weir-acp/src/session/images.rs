//! Images that the person sent once: the editor is given them again where it is told the words beside them.
//! Not here: which updates name one (`crate::render`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::EditorSession;
use crate::render::{NamedImage, RenderedFact};
use crate::wire::{ContentBlock, SessionUpdate};

/// Bytes of one image that are told; of a larger one its name is.
const IMAGE_BYTES_MAX: u64 = 8 << 20;

impl EditorSession {
    /// Puts images where updates name them. What cannot be read stays named.
    pub(super) async fn put_images(&self, rendered: &mut RenderedFact) {
        for image in std::mem::take(&mut rendered.images) {
            let Some(content) = self.read_image(&image).await else { continue };
            if let Some(SessionUpdate::UserMessageChunk(chunk)) = rendered.updates.get_mut(image.at)
            {
                chunk.content = content;
            }
        }
    }

    async fn read_image(&self, image: &NamedImage) -> Option<ContentBlock> {
        let media = &image.media;
        let is_shown = media.bytes <= IMAGE_BYTES_MAX && media.media_type.starts_with("image/");
        let store = self.store.as_ref().filter(|_| is_shown)?;
        let bytes = store.read_blob(&media.blob).await.ok()?;
        Some(ContentBlock::Image {
            data: STANDARD.encode(&bytes),
            mime_type: media.media_type.clone(),
        })
    }
}
