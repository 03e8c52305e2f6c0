//! How a run ended: one word for journals, schedules and exit codes. Not here: what ends one.

use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The task was done, or the agent says so.
    Completed,
    /// A person is needed.
    NeedsInput,
    /// A denial under `--strict`.
    Denied,
    /// A limit ended it.
    Limit,
    /// A budget ended it.
    Budget,
    /// Somebody cancelled it.
    Cancelled,
    /// The kill switch ended it.
    Paused,
    /// The program died and the run was not taken up again.
    Interrupted,
    /// Provider or engine error.
    Failed,
}
