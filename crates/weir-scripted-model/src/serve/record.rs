//! Writes every exchange to a file, one JSON object a line, for judges to read. Secrets are left
//! out: the file may be shown to anyone.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};
use serde_json::{Map, Value, json};

/// Bytes of an answer that are kept.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Headers that hold keys.
const SECRET_HEADERS: &[&str] =
    &["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"];

pub(super) struct ExchangeRecorder(Mutex<File>);

impl ExchangeRecorder {
    pub(super) fn open(path: &Path) -> io::Result<ExchangeRecorder> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{} cannot be opened: {error}", path.display()))
        })?;
        Ok(ExchangeRecorder(Mutex::new(file)))
    }

    fn write_line(&self, line: &Value) {
        let mut text = line.to_string();
        text.push('\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One write for a line, so that lines never mix. A full disk must not break the exchange.
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "an exchange could not be recorded");
        }
    }
}

/// One exchange. Written when it is dropped, so that a broken one is recorded too.
pub(super) struct RecordedExchange {
    recorder: Arc<ExchangeRecorder>,
    request: Value,
    /// Absent until an answer began.
    status: Option<u16>,
    answer: Vec<u8>,
}

impl RecordedExchange {
    pub(super) fn begin(
        recorder: Arc<ExchangeRecorder>,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> RecordedExchange {
        let headers: Map<String, Value> = headers
            .iter()
            .filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()))
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned().into())
            })
            .collect();
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body)
                .unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into())
        };
        let request = json!({"m": method.as_str(), "path": redacted_address(uri), "h": headers, "body": body});
        RecordedExchange { recorder, request, status: None, answer: Vec::new() }
    }

    pub(super) fn record_answer(&mut self, status: u16, bytes: &[u8]) {
        self.status = Some(status);
        self.record_bytes(bytes);
    }

    pub(super) fn record_bytes(&mut self, bytes: &[u8]) {
        let room = ANSWER_BYTES_MAX.saturating_sub(self.answer.len());
        self.answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Drop for RecordedExchange {
    fn drop(&mut self) {
        self.request["status"] = self.status.into();
        self.request["resp"] = String::from_utf8_lossy(&self.answer).into_owned().into();
        self.recorder.write_line(&self.request);
    }
}

/// Path and query, a key in the query starred out.
fn redacted_address(uri: &Uri) -> String {
    let Some(query) = uri.query() else { return uri.path().to_owned() };
    let query: Vec<&str> = query
        .split('&')
        .map(|pair| if pair.starts_with("key=") { "key=***" } else { pair })
        .collect();
    format!("{}?{}", uri.path(), query.join("&"))
}
