//! What goes over the WebSocket (C7), one JSON object a frame.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::input::ApprovalAnswer;
use weir_engine::hub::WireUpdate;

use crate::api::sessions::InputBlock;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::ProblemDetails;

/// In which form a session is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionView {
    /// Events (C6).
    #[default]
    Events,
    /// Changes of the chat page.
    Html,
}

/// What a client sends.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientFrame {
    /// Listen to a session from the fact after `after` on.
    Subscribe {
        session: SessionId,
        #[serde(default)]
        after: Seq,
        #[serde(default)]
        view: SessionView,
    },
    /// Listen no more.
    Unsubscribe { session: SessionId },
    /// Is anybody there?
    Ping {
        #[serde(default)]
        client_id: Option<String>,
    },
    /// Anything that a session is told.
    #[serde(untagged)]
    Command(ClientCommand),
}

/// What changes something. `client_id` comes back with the answer.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientCommand {
    /// Say something; the same `client_id` is said once.
    Say { session: SessionId, client_id: String, content: Vec<InputBlock> },
    /// Answer an approval.
    Decide {
        #[serde(flatten)]
        answer: ApprovalAnswer,
        #[serde(default)]
        client_id: Option<String>,
    },
    /// Answer a question.
    Answer {
        question: String,
        answer: String,
        #[serde(default)]
        client_id: Option<String>,
    },
    /// End the run.
    Cancel {
        session: SessionId,
        #[serde(default)]
        client_id: Option<String>,
    },
    /// Take back an input that waits.
    Withdraw {
        session: SessionId,
        input: InputId,
        #[serde(default)]
        client_id: Option<String>,
    },
}

impl ClientCommand {
    /// By which the client knows its answer.
    pub(super) fn client_id(&self) -> Option<String> {
        match self {
            ClientCommand::Say { client_id, .. } => Some(client_id.clone()),
            ClientCommand::Decide { client_id, .. }
            | ClientCommand::Answer { client_id, .. }
            | ClientCommand::Cancel { client_id, .. }
            | ClientCommand::Withdraw { client_id, .. } => client_id.clone(),
        }
    }
}

/// The `client_id` of a frame that cannot be read otherwise.
pub(super) fn client_id(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("client_id").and_then(Value::as_str).map(|id| id.chars().take(128).collect())
}

/// The first frame.
pub(super) fn hello_frame(app: &App, caller: &Caller) -> Value {
    json!({
        "type": "hello",
        "version": app.installation.version(),
        "person": { "id": caller.person.id, "name": caller.person.name },
        "time": app.current_time(),
    })
}

/// What happened in a session. It is written at once, with no tree between: most of it is streamed text,
/// thousands of pieces a second.
pub(super) fn event_frame(event: WireUpdate<'_>) -> String {
    #[derive(Serialize)]
    struct EventFrame<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        event: WireUpdate<'a>,
    }
    // Strings and numbers: there is nothing in it that JSON cannot say.
    serde_json::to_string(&EventFrame { kind: "event", event }).unwrap_or_default()
}

/// What went wrong.
pub(super) fn error_frame(problem: &ProblemDetails, client_id: Option<&str>) -> Value {
    let message = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    json!({
        "type": "error",
        "code": problem.code,
        "message": message,
        "client_id": client_id,
        "retry_after": problem.retry_after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_every_frame_of_the_contract_is_read() {
        for text in [
            r#"{"type":"subscribe","session":"s1","after":3}"#,
            r#"{"type":"subscribe","session":"s1","after":0,"view":"html"}"#,
            r#"{"type":"unsubscribe","session":"s1"}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"say","session":"s1","client_id":"u1","content":[{"type":"text","text":"hi"}]}"#,
            r#"{"type":"decide","approval":"s1-a1","decision":"deny","reason":"no"}"#,
            r#"{"type":"decide","approval":"s1-a1","decision":"session","terms":{"uses":3},"client_id":"u2"}"#,
            r#"{"type":"answer","question":"s1-q1","answer":"blue"}"#,
            r#"{"type":"cancel","session":"s1"}"#,
            r#"{"type":"withdraw","session":"s1","input":"i1"}"#,
        ] {
            serde_json::from_str::<ClientFrame>(text)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        for text in [
            r#"{"type":"say","session":"s1","content":[]}"#,
            r#"{"type":"say","session":"s1","client_id":"u1","content":[{"type":"thinking","text":"x"}]}"#,
            r#"{"type":"shout"}"#,
            r#"{"type":"subscribe","after":1}"#,
            "[]",
            "3",
        ] {
            serde_json::from_str::<ClientFrame>(text).expect_err(text);
        }
        assert_eq!(client_id(r#"{"type":"shout","client_id":"u9"}"#).as_deref(), Some("u9"));
    }
}
