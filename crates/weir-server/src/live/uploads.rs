//! Files that wait to be said with something: kept in the database, so that any replica can take the
//! words that name them. They end by themselves after a day.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_engine::attach::{Attachment, FILE_BYTES_MAX};
use weir_engine::ports::RecordEntry;
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::auth::secret;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of these entries.
const KIND: &str = "upload";
/// How long one waits, in milliseconds.
const WAIT_MS: u64 = 24 * 3_600_000;
/// Most files of one person that wait.
const WAITING_MAX: usize = 100;
/// Most bytes of one person that wait.
const WAITING_BYTES_MAX: u64 = 256 << 20;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 200;

/// A file that waits.
pub(crate) struct PendingUpload {
    /// Its name, for people.
    pub(crate) name: String,
    /// Its content.
    pub(crate) bytes: Arc<[u8]>,
}

/// What whoever uploaded a file is told.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UploadedFile {
    /// By which it is said: `attachment`.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its size, in bytes.
    pub(crate) bytes: u64,
    /// The media type, by its content.
    pub(crate) kind: String,
    /// What the model is told about it, where there is something to tell.
    pub(crate) note: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredUpload {
    name: String,
    bytes: u64,
    data: String,
}

fn entry_name(space: &UserSpace, id: &str) -> String {
    format!("{}/{id}", space.person())
}

/// Keeps a file, after it was looked at: what cannot be attached is refused here.
///
/// # Errors
/// What is wrong with it and what to do; too many wait.
pub(crate) async fn store_upload(
    app: &App,
    space: &UserSpace,
    name: &str,
    bytes: Arc<[u8]>,
) -> HandlerResult<UploadedFile> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let most = FILE_BYTES_MAX >> 20;
        let why = format!("a file may have at most {most} MB");
        return Err(ProblemDetails::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why));
    }
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    let engine = space.engine().await?;
    let documents = engine.parts().documents.as_ref();
    let looked = Attachment::of_bytes(documents, &name, bytes.clone()).await;
    let looked = looked.map_err(|error| ProblemDetails::bad_request(error.to_string()))?;
    let waiting = app.records.list(KIND, Some(space.person().as_str()), app.current_time()).await?;
    let kept = |entry: &RecordEntry| {
        serde_json::from_str::<StoredUpload>(&entry.text).map_or(0, |k| k.bytes)
    };
    let total: u64 = waiting.iter().map(kept).sum();
    if waiting.len() >= WAITING_MAX || total + bytes.len() as u64 > WAITING_BYTES_MAX {
        let why = "too many uploaded files wait to be said; say or forget some first";
        return Err(ProblemDetails::too_many(60, why));
    }
    let id = secret::random_name()?;
    let size = bytes.len() as u64;
    let kept = StoredUpload { name: name.clone(), bytes: size, data: STANDARD.encode(&bytes) };
    let entry = RecordEntry {
        kind: KIND.into(),
        name: entry_name(space, &id),
        owner: space.person().0.clone(),
        text: serde_json::to_string(&kept).map_err(ProblemDetails::internal_failure)?,
        version: 0,
        expires: Some(app.current_time().plus_ms(WAIT_MS)),
        ts: app.current_time(),
    };
    app.records.put(&entry, Some(0)).await?;
    let (kind, note) = (looked.describe_kind(), looked.note().map(str::to_owned));
    Ok(UploadedFile { id, name, bytes: size, kind, note })
}

/// A file of this person that waits.
///
/// # Errors
/// There is none, or it has ended.
pub(crate) async fn get(app: &App, space: &UserSpace, id: &str) -> HandlerResult<PendingUpload> {
    let missing = || ProblemDetails::not_found(format!("attachment {id}"));
    let entry = app.records.get(KIND, &entry_name(space, id), app.current_time()).await?;
    let entry = entry.filter(|entry| entry.owner == space.person().as_str()).ok_or_else(missing)?;
    let kept: StoredUpload =
        serde_json::from_str(&entry.text).map_err(ProblemDetails::internal_failure)?;
    let bytes = STANDARD.decode(kept.data).map_err(ProblemDetails::internal_failure)?;
    Ok(PendingUpload { name: kept.name, bytes: bytes.into() })
}

/// Forgets a file. Whether there was one.
///
/// # Errors
/// The database refuses.
pub(crate) async fn forget_upload(app: &App, space: &UserSpace, id: &str) -> HandlerResult<bool> {
    Ok(app.records.remove(KIND, &entry_name(space, id)).await?)
}
