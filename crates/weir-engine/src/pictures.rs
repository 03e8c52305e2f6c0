//! Pictures in what a model replied: told by their content, kept beside the journal, and saved as files
//! of the workspace where people and programs find them (K13). Not here: pictures that a tool has
//! another model make (`picture_model`), and who shows them.
//!
//! A file of Weir's own, under a name that nobody else chose and below a folder where no tool may
//! write, as results are that are too long for the window: so no gate judges it, and it is the same in
//! every mode. The blob is the durable copy.

use std::sync::Arc;

use weir_core::ids::TurnId;
use weir_core::message::StoredMedia;
use weir_core::model::{ModelReply, ReplyBlock};

use crate::blocking::run_blocking;
use crate::ports::Blobs as _;
use crate::sniff;
use crate::worker_context::WorkerContext;

/// Where they are saved, relative to the workspace: a folder for each session.
const FOLDER: &str = ".weir/pictures";
/// Most files of one reply; what is beyond stands in the journal alone.
const FILES_MAX: usize = 50;

/// Keeps the pictures of a reply, in their order; or says why one is none.
pub(crate) async fn keep_reply_pictures(
    context: &WorkerContext,
    turn: TurnId,
    reply: &ModelReply,
) -> Vec<Result<StoredMedia, String>> {
    let ModelReply::Whole { blocks, .. } = reply else { return Vec::new() };
    let mut kept = Vec::new();
    for block in blocks {
        if let ReplyBlock::Image { data, .. } = block {
            let name = format!("{}/{turn}-{}", context.session, kept.len() + 1);
            let file = (kept.len() < FILES_MAX).then_some(name);
            kept.push(keep_picture(context, data, file).await);
        }
    }
    kept
}

/// Keeps one picture, and saves it as the file `name`, which gets the ending of what it is.
async fn keep_picture(
    context: &WorkerContext,
    data: &[u8],
    name: Option<String>,
) -> Result<StoredMedia, String> {
    // What the vendor calls it is not asked: a page of HTML shown as a picture would be one.
    let media_type = sniff::image_media_type(data)?;
    let bytes: Arc<[u8]> = Arc::from(data);
    let blob = context.blobs.put(&context.session, bytes.clone());
    let path = name.map(|name| format!("{FOLDER}/{name}.{}", sniff::image_ending(media_type)));
    let path = match path {
        Some(path) => save_own_file(context, path, bytes).await,
        None => None,
    };
    Ok(StoredMedia {
        media_type: media_type.to_owned(),
        blob,
        bytes: data.len() as u64,
        name: path,
    })
}

/// The path, where the file could be written. A workspace where nothing can be is no reason to lose
/// a reply.
async fn save_own_file(context: &WorkerContext, path: String, bytes: Arc<[u8]>) -> Option<String> {
    let workspace = context.workspace.clone();
    let write = move || match workspace.write_own_bytes(&path, &bytes) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "a picture of a reply could not be saved as a file");
            None
        }
    };
    run_blocking(write).await.unwrap_or(None)
}
