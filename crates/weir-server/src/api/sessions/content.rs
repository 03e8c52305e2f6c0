//! What a session holds: pictures and documents, full results of calls, how full the model's window is, the
//! whole as a file; and files that wait to be said.

use std::ops::ControlFlow;

use axum::Json;
use axum::extract::{Multipart, Path, Query};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::event::Event;
use weir_core::ids::{BlobId, CallId, SessionId};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::session::meter::ContextMeter;
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::engine::visit_records;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;
use weir_install::sessions::ExportFormat;

use crate::live::fold;
use crate::live::uploads::{self, UploadedFile};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;
/// Files of one upload.
const FILES_MAX: usize = 20;
/// Bytes of one upload, with what is around the files.
const UPLOAD_BYTES_MAX: usize = (FILE_BYTES_MAX as usize) * 2 + (1 << 20);
/// Pictures that a page may show; everything else is taken along as a file.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The routes of this file.
pub(crate) fn session_content_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions/{id}/blobs/{blob}", get_blob)
            .summary("Bytes that the session's journal names")
            .gives_as::<Value>(200, "application/octet-stream"),
        Route::get("/api/v1/sessions/{id}/calls/{call}", get_call_result)
            .summary("One call with its full result")
            .gives_json::<CallResult>(200),
        Route::get("/api/v1/sessions/{id}/context", get_context)
            .summary("What the next request is made of, in tokens")
            .gives_json::<ContextMeter>(200),
        Route::get("/api/v1/sessions/{id}/export", export_session)
            .summary("The whole session as a file")
            .query::<ExportQuery>()
            .gives_as::<Value>(200, "application/x-ndjson"),
        Route::post("/api/v1/attachments", upload_attachments)
            .summary("Upload files to be said with an input; kept for a day")
            .body_as::<Value>("multipart/form-data")
            .body_max(UPLOAD_BYTES_MAX)
            .gives_json::<Vec<UploadedFile>>(201),
        Route::delete("/api/v1/attachments/{id}", forget_attachment)
            .summary("Forget an uploaded file")
            .gives_nothing(204),
    ]
}

/// In which form.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ExportQuery {
    /// `jsonl` (default), `markdown` or `html`.
    format: Option<String>,
}

/// A call and what came of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CallResult {
    /// Its name.
    call: CallId,
    /// Tool.
    tool: String,
    /// Whether it succeeded.
    ok: bool,
    /// One line.
    summary: String,
    /// The full text of its result.
    text: String,
    /// Bytes of the full result.
    bytes: u64,
    /// Wall time in milliseconds.
    duration_ms: u64,
}

/// Goes through the facts of these kinds in a journal until `look` finds something. The others, which may
/// be most of it, are not taken apart.
async fn find_in_journal<T>(
    store: &dyn Store,
    id: &SessionId,
    kinds: &[&str],
    mut look: impl FnMut(&Event) -> Option<T>,
) -> HandlerResult<Option<T>> {
    let found = visit_records(store, id, 1, |record| {
        if !kinds.contains(&record.kind.as_str()) {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(match look(fact_of(record)?.event.as_ref()) {
            Some(found) => ControlFlow::Break(found),
            None => ControlFlow::Continue(()),
        })
    });
    Ok(found.await?)
}

/// Kinds of facts that name a blob with its media type.
const BLOB_KINDS: &[&str] = &["input.accepted", "model.replied", "image.produced", "call.finished"];

/// Media type and name of a blob that a fact names: one of [`BLOB_KINDS`].
fn blob_media_and_name(event: &Event, blob: &BlobId) -> Option<(String, Option<String>)> {
    match event {
        Event::InputAccepted(f) => of_blocks(&f.content, blob),
        Event::ModelReplied(f) => of_blocks(&f.content, blob),
        Event::ImageProduced(f) if f.blob == *blob => Some((f.media_type.clone(), None)),
        Event::CallFinished(f) if f.full.as_ref() == Some(blob) => {
            Some(("text/plain; charset=utf-8".into(), Some(format!("{}.txt", f.call))))
        }
        Event::CallFinished(f) => of_blocks(&f.result, blob),
        _ => None,
    }
}

fn of_blocks(blocks: &[MessageBlock], blob: &BlobId) -> Option<(String, Option<String>)> {
    blocks.iter().find_map(|block| match block {
        MessageBlock::Image { media } | MessageBlock::Document { media } if media.blob == *blob => {
            Some((media.media_type.clone(), media.name.clone()))
        }
        MessageBlock::Result { blocks, .. } => of_blocks(blocks, blob),
        _ => None,
    })
}

/// The name of a file as a header may carry it: other signs become `_`.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    name.chars().map(plain).take(120).collect()
}

/// Bytes with the headers that keep a browser from making anything else of them.
pub(crate) fn blob_response(bytes: Vec<u8>, media: &str, name: Option<&str>) -> Response {
    let is_shown = SHOWN.contains(&media);
    let kind = HeaderValue::from_str(media).ok();
    let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let way = if is_shown { "inline" } else { "attachment" };
    let disposition = match name {
        Some(name) => format!("{way}; filename=\"{}\"", file_name(name)),
        None => way.to_owned(),
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// What an address names besides the session.
#[derive(Debug, Deserialize)]
struct BlobPath {
    blob: String,
}

async fn get_blob(
    CallerSession { owner, id, .. }: CallerSession,
    Path(BlobPath { blob }): Path<BlobPath>,
) -> HandlerResult<Response> {
    blob_of(&owner, &id, &BlobId::new(blob)).await
}

/// A blob, if the session's journal names it.
///
/// # Errors
/// It does not.
pub(crate) async fn blob_of(
    owner: &CallerSpace,
    id: &SessionId,
    blob: &BlobId,
) -> HandlerResult<Response> {
    let CallerSpace { space, .. } = owner;
    let store = space.store();
    let found =
        find_in_journal(store.as_ref(), id, BLOB_KINDS, |event| blob_media_and_name(event, blob))
            .await?;
    let (media, name) = found.ok_or_else(|| ProblemDetails::not_found(format!("blob {blob}")))?;
    let bytes = store.read_blob(blob).await?;
    Ok(blob_response(bytes.to_vec(), &media, name.as_deref()))
}

/// What an address names besides the session.
#[derive(Debug, Deserialize)]
struct CallPath {
    call: String,
}

async fn get_call_result(
    CallerSession { owner, id, .. }: CallerSession,
    Path(CallPath { call }): Path<CallPath>,
) -> HandlerResult<Json<CallResult>> {
    let CallerSpace { space, .. } = &owner;
    let missing = || ProblemDetails::not_found(format!("a result of call {call}"));
    let call: CallId = call.parse().map_err(|_| missing())?;
    let store = space.store();
    let found = find_in_journal(store.as_ref(), &id, &["call.finished"], |event| match event {
        Event::CallFinished(f) if f.call == call => Some(f.clone()),
        _ => None,
    });
    let found = found.await?.ok_or_else(missing)?;
    let text = match &found.full {
        Some(full) => String::from_utf8_lossy(&store.read_blob(full).await?).into_owned(),
        None => plain_text(&found.blocks_for_person()),
    };
    Ok(Json(CallResult {
        call: found.call,
        tool: found.tool,
        ok: found.ok,
        summary: found.summary,
        text,
        bytes: found.bytes,
        duration_ms: found.duration_ms,
    }))
}

async fn get_context(
    CallerSession { owner, id, .. }: CallerSession,
) -> HandlerResult<Json<ContextMeter>> {
    let CallerSpace { space, .. } = &owner;
    let folded = fold::load_session_fold(space.store().as_ref(), &id).await?;
    Ok(Json(folded.session.meter()))
}

async fn export_session(
    CallerSession { owner, id, .. }: CallerSession,
    Query(query): Query<ExportQuery>,
) -> HandlerResult<Response> {
    let CallerSpace { space, .. } = &owner;
    let (format, media, ending) = match query.format.as_deref().unwrap_or("jsonl") {
        "jsonl" => (ExportFormat::Jsonl, "application/x-ndjson", "jsonl"),
        "markdown" => (ExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        // As a file: whatever stands in it is no page of this server.
        "html" => (ExportFormat::Html, "text/html; charset=utf-8", "html"),
        other => {
            return Err(ProblemDetails::bad_request(format!(
                "{other:?} is no form: jsonl, markdown or html"
            )));
        }
    };
    let bytes = space.export_session(&id, format).await?;
    Ok(blob_response(bytes, media, Some(&format!("{id}.{ending}"))))
}

async fn upload_attachments(
    CallerSpace { app, space, .. }: CallerSpace,
    mut parts: Multipart,
) -> HandlerResult<(StatusCode, Json<Vec<UploadedFile>>)> {
    let mut done = Vec::new();
    let broken = |error: axum::extract::multipart::MultipartError| {
        ProblemDetails::bad_request(error.body_text())
    };
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        let Some(name) = part.file_name().map(str::to_owned) else { continue };
        if done.len() >= FILES_MAX {
            return Err(ProblemDetails::bad_request(format!(
                "at most {FILES_MAX} files are uploaded at once"
            )));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            if bytes.len() as u64 + chunk.len() as u64 > FILE_BYTES_MAX {
                let most = FILE_BYTES_MAX >> 20;
                return Err(ProblemDetails::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too_large",
                    format!("a file may have at most {most} MB"),
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
        done.push(uploads::store_upload(&app, space.as_ref(), &name, bytes.into()).await?);
    }
    if done.is_empty() {
        return Err(ProblemDetails::bad_request("there is no file in it: send a form with files"));
    }
    Ok((StatusCode::CREATED, Json(done)))
}

async fn forget_attachment(
    CallerSpace { app, space, .. }: CallerSpace,
    Path(id): Path<String>,
) -> HandlerResult<StatusCode> {
    match uploads::forget_upload(&app, space.as_ref(), &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ProblemDetails::not_found(format!("attachment {id}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z10_a_name_in_a_header_says_only_a_name() {
        assert_eq!(file_name("a\"; x=\r\nb/ü.png"), "a__ x___b__.png");
        let response = blob_response(b"<script>".to_vec(), "text/html", Some("x.html"));
        let way = response.headers()[header::CONTENT_DISPOSITION].to_str().expect("plain");
        assert_eq!(way, "attachment; filename=\"x.html\"");
        assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        let shown = blob_response(vec![1], "image/png", None);
        assert_eq!(shown.headers()[header::CONTENT_DISPOSITION], "inline");
        let svg = blob_response(vec![1], "image/svg+xml", None);
        assert_eq!(svg.headers()[header::CONTENT_DISPOSITION], "attachment");
    }
}
