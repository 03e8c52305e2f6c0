//! The session's model, for a foreign server that asks it something while its call runs (R3). Not here: how
//! long its questions may be, and the question's way to the model, which is a tool of the session.

use async_trait::async_trait;
use serde_json::Value;

/// Has a server's question to the model judged, answered and journaled.
#[async_trait]
pub trait ModelPrompter: Send + Sync {
    /// Makes the question a call of `tool` with this input, which the gates judge, a person may be asked about,
    /// and the journal keeps with its answer. The time in which a person is waited for does not count as that
    /// of the call which runs.
    ///
    /// # Errors
    /// There is no answer: a sentence for the server, which tells nothing of rules or of what failed.
    async fn ask_model(&self, tool: &str, input: Value) -> Result<String, String>;
}

/// No model can be asked from here.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModelPrompter;

#[async_trait]
impl ModelPrompter for NoModelPrompter {
    async fn ask_model(&self, _: &str, _: Value) -> Result<String, String> {
        Err("the model cannot be asked from here".into())
    }
}
