//! Foreign words that stand beside the context of a session (U6), as the fact that ends their call keeps them.
//! Not here: what the model sees in their place (`governance::filter`).

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// Foreign words that a call brought and that stand beside the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HandleWords {
    /// The words, redacted. With `json`: the value that the answer is, as JSON.
    pub text: String,
    /// The answer is one value with fields.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
    /// Whose words they are, and how private.
    pub label: Label,
    /// Members of sets that the service keeps, which stand in it in fields that are declared so (U3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}
