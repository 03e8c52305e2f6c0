//! What a person can tell a session: one type, whichever way it goes. A handle passes it on inside
//! the process, a letter carries it to another process, a browser or the terminal sends it.
//!
//! Who said it stands beside it, never in it. Not here: how it reaches a session (the engine's
//! `host`), and what it means for one (`session::handle`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SessionCommand;
use crate::config::SessionConfig;
use crate::event::KeepRequest;
use crate::event::{Decision, InputAddition};
use crate::governance::lease::LeaseTerms;
use crate::ids::{ApprovalId, InputId, QuestionId};
use crate::message::MessageBlock;

/// What a person can tell a session.
///
/// The serialized form lies in databases as the text of letters. The tag and the names of what
/// letters carried from the first version on (say, decide, reply, cancel, withdraw, revoke, yield)
/// therefore stay as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum PersonCommand {
    /// Say something. While a run is on it is queued (L12).
    Say(Box<PersonMessage>),
    /// Answer an approval.
    Decide(ApprovalAnswer),
    /// Answer a question.
    Reply {
        /// Id of the question.
        question: QuestionId,
        /// The words, or the option that was chosen.
        answer: String,
    },
    /// End the run now.
    Cancel,
    /// Pause the run: what is under way is finished, nothing new begins (R5).
    Pause,
    /// Let a run go on that was paused.
    Resume,
    /// Take back a queued input.
    Withdraw {
        /// The input.
        input: InputId,
    },
    /// Take a lease back.
    Revoke {
        /// The number of the lease.
        lease: u32,
    },
    /// Make the context shorter now. Only between runs.
    Condense {
        /// What the summary must keep, in the person's own words.
        keep: Option<KeepRequest>,
    },
    /// Take the last condensing back. Only between runs.
    Uncondense,
    /// Change settings. Between runs all of them; while a run is on, only whether anybody can be
    /// asked, and the permission mode (not to `plan` and not from it).
    Configure {
        /// What changes, in words.
        reason: String,
        /// All settings from now on.
        config: Arc<SessionConfig>,
    },
    /// Give the session back if it is at rest: another process wants it. No fact follows from it.
    Yield,
}

/// Something that is said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PersonMessage {
    /// The words, and what is attached.
    pub content: Vec<MessageBlock>,
    /// What the model is told with it and the person did not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<InputAddition>,
    /// The name under which it is sent. However often it comes, it is said once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Bytes that `content` mentions, in base64: whoever sends it from another process has no other
    /// way to bring them. The engine keeps them before the session is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<String>,
}

/// A person's answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// The approval.
    pub approval: ApprovalId,
    /// How it is answered.
    pub decision: Decision,
    /// The person's words.
    pub reason: Option<String>,
    /// How far an approval for the session reaches.
    pub terms: Option<LeaseTerms>,
}

impl PersonCommand {
    /// The command as the session takes it in, from this person.
    pub fn sent_by(self, by: impl Into<String>) -> SessionCommand {
        SessionCommand::From { by: by.into(), command: self }
    }
}

impl From<PersonMessage> for PersonCommand {
    fn from(message: PersonMessage) -> PersonCommand {
        PersonCommand::Say(Box::new(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of earlier versions lie in databases.
    #[test]
    fn g4_letters_of_earlier_versions_are_read_and_written_alike() {
        for text in [
            r#"{"letter":"decide","approval":"s-a1","decision":"session","reason":"yes","terms":{"uses":5}}"#,
            r#"{"letter":"decide","approval":"s-a1","decision":"once","reason":null,"terms":null}"#,
            r#"{"letter":"reply","question":"s-q1","answer":"blue"}"#,
            r#"{"letter":"revoke","lease":3}"#,
            r#"{"letter":"cancel"}"#,
            r#"{"letter":"pause"}"#,
            r#"{"letter":"resume"}"#,
            r#"{"letter":"say","content":[{"type":"text","text":"hi"}],"client_id":"m1"}"#,
            r#"{"letter":"say","content":[],"added":[{"source":"a.md","text":"x"}],"client_id":"m1","blobs":["AAEC"]}"#,
            r#"{"letter":"withdraw","input":"i2"}"#,
            r#"{"letter":"yield"}"#,
        ] {
            let command: PersonCommand = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&command).expect("plain data"), text);
        }
    }
}
