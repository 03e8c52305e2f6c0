//! Questions to the person by forms and pages. Not here: what they ask (`crate::elicitation`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ElicitationParams {
    /// Which session.
    pub(crate) session_id: String,
    /// The call that asks.
    pub(crate) tool_call_id: String,
    /// What is asked.
    pub(crate) message: String,
    /// How.
    #[serde(flatten)]
    pub(crate) mode: ElicitationMode,
}

/// How something is asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub(crate) enum ElicitationMode {
    /// By a form.
    #[serde(rename_all = "camelCase")]
    Form {
        /// Its fields.
        requested_schema: Value,
    },
    /// By a page that the person opens.
    #[serde(rename_all = "camelCase")]
    Url {
        /// Its name in `elicitation/complete`.
        elicitation_id: String,
        /// The address.
        url: String,
    },
}

/// The answer to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum ElicitationResult {
    /// The person filled it in, or opened the page.
    Accept {
        /// What the fields hold.
        #[serde(default)]
        content: Option<Map<String, Value>>,
    },
    /// The person does not want to.
    Decline,
    /// The person closed it.
    Cancel,
}
