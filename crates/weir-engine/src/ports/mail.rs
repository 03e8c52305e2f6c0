//! Letters to a session from another process: how any face answers what another one asked (G4).

use serde::{Deserialize, Serialize};
use weir_core::event::{Added, Decision};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId, Timestamp};
use weir_core::message::Block;

/// What somebody wants of a session that another process may be running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum Letter {
    /// Answer an approval.
    Decide {
        /// Which.
        approval: ApprovalId,
        /// How.
        decision: Decision,
        /// Their words.
        reason: Option<String>,
        /// How far an approval for the session reaches.
        terms: Option<LeaseTerms>,
    },
    /// Answer a question.
    Reply {
        /// Which.
        question: QuestionId,
        /// With what.
        answer: String,
    },
    /// Take a lease back.
    Revoke {
        /// Which.
        lease: u32,
    },
    /// End the run.
    Cancel,
    /// Say something.
    Say(Box<SaidLetter>),
    /// Take back a queued input.
    Withdraw {
        /// Which.
        input: InputId,
    },
    /// Give the session back if it is at rest: another process wants it.
    Yield,
}

/// Something that is said by letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaidLetter {
    /// What, with what its attachments say.
    pub content: Vec<Block>,
    /// The words of attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Added>,
    /// Its name: however often it is read, it is said once.
    pub client_id: String,
    /// Bytes that `content` mentions, in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<String>,
}

/// A letter with its envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// Its number in the store, given when it is posted; 0 before.
    pub id: u64,
    /// To which session.
    pub session: SessionId,
    /// From whom.
    pub by: String,
    /// When.
    pub ts: Timestamp,
    /// What.
    pub letter: Letter,
}
