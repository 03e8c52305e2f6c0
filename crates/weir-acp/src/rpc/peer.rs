//! What goes to the editor: answers, notifications, and requests of ours with their answers. Clones are
//! the same editor. Not here: what is sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use super::{RequestId, RpcError};

/// Lines that may wait to be written; past it, whoever sends waits.
const LINES_MAX: usize = 256;
/// Requests of ours that may be open at once.
const OPEN_REQUESTS_MAX: usize = 1_024;

/// Writes lines until nobody sends any more, or the editor reads none.
pub(crate) async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<String>,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.write_all(b"\n").await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the editor reads no more");
            break;
        }
    }
}

/// Requests of ours that are not answered yet.
#[derive(Debug, Default)]
struct OpenRequests {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
}

/// The editor.
#[derive(Debug, Clone)]
pub(crate) struct EditorPeer {
    lines: mpsc::Sender<String>,
    open: Arc<Mutex<OpenRequests>>,
}

/// A request of ours. Dropped: its answer is thrown away.
#[derive(Debug)]
pub(crate) struct PeerRequest {
    /// Its name.
    pub(crate) id: u64,
    answer: oneshot::Receiver<Result<Value, RpcError>>,
    open: Arc<Mutex<OpenRequests>>,
}

impl Drop for PeerRequest {
    fn drop(&mut self) {
        lock_open(&self.open).waiting.remove(&self.id);
    }
}

impl PeerRequest {
    /// Waits for the answer.
    pub(crate) async fn wait_for_answer(mut self) -> Result<Value, RpcError> {
        let gone = || Err(RpcError::internal_error("the editor has gone"));
        (&mut self.answer).await.unwrap_or_else(|_| gone())
    }
}

fn lock_open(open: &Mutex<OpenRequests>) -> MutexGuard<'_, OpenRequests> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EditorPeer {
    /// One to whom lines go by the channel that comes back.
    pub(crate) fn new() -> (EditorPeer, mpsc::Receiver<String>) {
        let (lines, written) = mpsc::channel(LINES_MAX);
        (EditorPeer { lines, open: Arc::default() }, written)
    }

    /// Waits until the editor reads no more.
    pub(crate) async fn wait_until_gone(&self) {
        self.lines.closed().await;
    }

    /// An editor that has gone is known by its end of the stream.
    async fn send_json(&self, message: &Value) {
        let _ = self.lines.send(message.to_string()).await;
    }

    /// Tells something.
    pub(crate) async fn send_notification(&self, method: &str, params: &impl Serialize) {
        let params = to_value(params);
        self.send_json(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Answers a request.
    pub(crate) async fn send_answer<T: Serialize>(
        &self,
        id: &RequestId,
        outcome: Result<T, RpcError>,
    ) {
        let answer = match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": to_value(&result) }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_json() }),
        };
        self.send_json(&answer).await;
    }

    /// Asks something.
    ///
    /// # Errors
    /// Too much is open already.
    pub(crate) async fn send_request(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<PeerRequest, RpcError> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut open = lock_open(&self.open);
            if open.waiting.len() >= OPEN_REQUESTS_MAX {
                return Err(RpcError::internal_error("too many questions are open already"));
            }
            open.next += 1;
            let id = open.next;
            open.waiting.insert(id, sender);
            id
        };
        let params = to_value(params);
        self.send_json(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        Ok(PeerRequest { id, answer, open: self.open.clone() })
    }

    /// Asks something and waits so long for the answer; `None`: it takes longer.
    pub(crate) async fn ask_within(
        &self,
        wait: Duration,
        method: &str,
        params: &impl Serialize,
    ) -> Option<Result<Value, RpcError>> {
        let asked = async {
            let request = self.send_request(method, params).await?;
            request.wait_for_answer().await
        };
        tokio::time::timeout(wait, asked).await.ok()
    }

    /// Gives an answer to whoever waits for it. One that nobody waits for is ignored.
    pub(crate) fn deliver_answer(&self, id: &RequestId, outcome: Result<Value, RpcError>) {
        let waiting = id.as_number().and_then(|id| lock_open(&self.open).waiting.remove(&id));
        if let Some(waiting) = waiting {
            // Whoever waited may have gone.
            let _ = waiting.send(outcome);
        }
    }
}

/// Types of the wire have text keys and numbers that are finite: a value that has not is told as null.
fn to_value(params: &impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_else(|error| {
        tracing::error!(%error, "a message of the protocol could not be written");
        Value::Null
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn r1_an_answer_finds_its_request_and_another_one_is_ignored() {
        let (peer, mut lines) = EditorPeer::new();
        let asked = peer.send_request("x", &json!({})).await.expect("there is room");
        let line = lines.recv().await.expect("it was sent");
        assert_eq!(line, r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{}}"#);
        let other = RequestId::null_id();
        peer.deliver_answer(&other, Ok(json!(1)));
        let id = RequestId::of_value(&json!(asked.id)).expect("a number");
        peer.deliver_answer(&id, Ok(json!(2)));
        peer.deliver_answer(&id, Ok(json!(3)));
        assert_eq!(asked.wait_for_answer().await, Ok(json!(2)));
        let dropped = peer.send_request("y", &json!({})).await.expect("there is room");
        drop(dropped);
        assert!(lock_open(&peer.open).waiting.is_empty());
    }
}
