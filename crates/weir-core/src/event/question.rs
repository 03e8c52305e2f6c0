//! Questions to the person, and what became of them (L13, R3).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, InputId, QuestionId};

/// The name that stands in `by` when a server no longer waited for the answer to its question.
pub const SERVER: &str = "the server";

/// The agent, or a server whose call runs, asks the person something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct QuestionAsked {
    /// Id of the question.
    pub question: QuestionId,
    /// The call it came with.
    pub call: CallId,
    /// Text of the question, as the person reads it.
    pub text: String,
    /// Answers to choose from; empty: free text.
    pub options: Vec<String>,
    /// Several may be chosen.
    pub multiple: bool,
    /// The foreign server that asks, while the call runs: its words are foreign, and the answer goes
    /// to it. Absent: the agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the answer is for, where a face can offer more than the text and the options say. Everything that a
    /// person needs stands in these too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<QuestionField>>,
}

/// What the answer to a question of a foreign server is for. Its words are foreign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuestionField {
    /// A field of a form.
    Value {
        /// It may not be left out.
        required: bool,
        /// What fits: a JSON Schema of one plain value, with title, description and default.
        schema: Value,
    },
    /// That the person opened a page.
    Page {
        /// Address of the page.
        url: String,
    },
}

/// A question was settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct QuestionAnswered {
    /// Id of the question.
    pub question: QuestionId,
    /// The answer; absent when there was none: the run was cancelled first, or a server asked and
    /// nobody attends.
    pub answer: Option<String>,
    /// Name of the person who answered.
    pub by: String,
    /// The input that was the answer, when it came as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
}
