//! What a person should see, as it stands in the journal. Not here: who sees it first (the gates, the filters,
//! the client of foreign servers), and how it is shown (`view`).

use serde::{Deserialize, Serialize};

use crate::open_name::open_names;

open_names! {
    /// What a protection saw.
    pub enum AlertName {
        /// A word of the prompt was about to leave: the run ends.
        Canary = "canary",
        /// A result gave the model orders and was withheld (G8 `screen`).
        Injection = "injection",
        /// A server counted far less than it was sent: it cut the rest off without a word (R6).
        SilentCut = "silent_cut",
        /// A foreign server offers other tools than a person approved (R3).
        ToolsChanged = "tools_changed",
    }
}

/// Something that a person should see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AlertRaised {
    /// What kind.
    pub alert: AlertName,
    /// What happened.
    pub detail: String,
}
