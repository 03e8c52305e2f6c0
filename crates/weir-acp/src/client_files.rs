//! The files of the editor, as the guarded workspace asks for them: `fs/read_text_file` and
//! `fs/write_text_file`. Whatever the editor answers is bounded and only text; where it fails, the disk counts,
//! and the person is told once. Not here: which files may be read or written at all, which the workspace
//! decides before it asks.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use weir_core::ids::SessionId;
use weir_core::view::told::one_line;
use weir_engine::workspace::EditorFiles;

use crate::rpc::{EditorPeer, NOT_FOUND, RpcError};
use crate::wire::ClientFs;

/// How long an editor may take to read or save a file.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How much longer whoever waits without the runtime waits.
const HAND_OVER_WAIT: Duration = Duration::from_secs(1);
/// Lines for the person that may wait.
pub(crate) const FILE_WARNINGS_MAX: usize = 16;

/// The files of an editor, for one session.
#[derive(Debug)]
pub(crate) struct ClientFiles {
    peer: EditorPeer,
    session: SessionId,
    able: ClientFs,
    runtime: Handle,
    warnings: mpsc::Sender<String>,
    /// It did not answer once: it is not waited for again.
    is_silent: AtomicBool,
    has_said_why: AtomicBool,
}

impl ClientFiles {
    /// Those of an editor that can do `able`; `None`: it does not read files. Lines for the person go to
    /// `warnings`.
    pub(crate) fn new(
        peer: EditorPeer,
        session: SessionId,
        able: ClientFs,
        warnings: mpsc::Sender<String>,
    ) -> Option<ClientFiles> {
        able.read_text_file.then(|| ClientFiles {
            peer,
            session,
            able,
            runtime: Handle::current(),
            warnings,
            is_silent: AtomicBool::new(false),
            has_said_why: AtomicBool::new(false),
        })
    }

    /// Asks from a thread that may block.
    fn ask(&self, method: &'static str, params: Value) -> Result<Value, RpcError> {
        if self.is_silent.load(Ordering::Acquire) {
            return Err(RpcError::internal_error("it does not answer"));
        }
        let (done, answer) = sync_channel(1);
        let peer = self.peer.clone();
        self.runtime.spawn(async move {
            // Whoever asked may have given up.
            let _ = done.send(peer.ask_within(ANSWER_WAIT, method, &params).await);
        });
        match answer.recv_timeout(ANSWER_WAIT + HAND_OVER_WAIT) {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => {
                self.is_silent.store(true, Ordering::Release);
                self.warn(
                    "the editor does not answer about its files: from now on what is saved on the \
                           disk is read, and what is written goes there",
                );
                Err(RpcError::internal_error("it does not answer"))
            }
        }
    }

    fn params(&self, path: &Path) -> Option<Value> {
        Some(json!({ "sessionId": self.session.as_str(), "path": path.to_str()? }))
    }

    /// Says once why an editor did not do what it was asked for.
    fn warn_of(&self, path: &Path, error: &RpcError) {
        // A file that it does not have is no failure.
        let is_known = self.is_silent.load(Ordering::Acquire) || error.code == NOT_FOUND;
        if !is_known && !self.has_said_why.swap(true, Ordering::AcqRel) {
            let (path, why) = (one_line(&path.display().to_string()), one_line(&error.message));
            self.warn(&format!(
                "the editor did not give or take {path} ({why}): what is on the disk counts"
            ));
        }
    }

    fn warn(&self, words: &str) {
        // Of more than can wait the person knows enough.
        let _ = self.warnings.try_send(words.to_owned());
    }
}

impl EditorFiles for ClientFiles {
    fn read_text(&self, path: &Path, bytes_max: u64) -> Option<String> {
        let answer = self.ask("fs/read_text_file", self.params(path)?);
        let content = match answer {
            Ok(Value::Object(mut answer)) => answer.remove("content"),
            Ok(_) => None,
            Err(error) => {
                self.warn_of(path, &error);
                return None;
            }
        };
        match content {
            Some(Value::String(text)) if text.len() as u64 <= bytes_max => Some(text),
            _ => {
                let why = "its answer is no text, or too long";
                self.warn_of(path, &RpcError::internal_error(why));
                None
            }
        }
    }

    fn write_text(&self, path: &Path, text: &str) -> bool {
        let Some(mut params) = self.params(path).filter(|_| self.able.write_text_file) else {
            return false;
        };
        params["content"] = text.into();
        match self.ask("fs/write_text_file", params) {
            Ok(_) => true,
            Err(error) => {
                self.warn_of(path, &error);
                false
            }
        }
    }

    fn note_difference(&self, path: &Path) {
        self.warn(&format!(
            "{} is another in the editor than on the disk, where it was changed just now: look at both before \
             you save",
            one_line(&path.display().to_string())
        ));
    }
}
