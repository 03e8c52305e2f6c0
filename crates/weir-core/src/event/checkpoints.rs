//! Facts about files as they were saved and put back, and taken over from a copy (G7, R7). Not here: what
//! is saved, which the store of checkpoints has.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, CheckpointId};

/// Files were saved before a call changes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CheckpointTaken {
    /// Id of the checkpoint.
    pub checkpoint: CheckpointId,
    /// Before which call.
    pub call: CallId,
    /// The paths that were saved.
    pub paths: Vec<String>,
}

/// A person took changes back (or an undo back).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CheckpointRestored {
    /// The snapshot of what was there before the restore: restoring it undoes the undo.
    pub checkpoint: CheckpointId,
    /// The call whose changes were taken back, when it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Paths that were changed back.
    pub paths: Vec<String>,
    /// Paths that somebody else changed since and that were left alone.
    #[serde(default)]
    pub conflicts: Vec<String>,
    /// Name of the person who restored the files.
    pub by: String,
}

/// A person took the changes of a session that works in a copy of a project over into that project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct WorkspaceMerged {
    /// The snapshot of what was there before, in the project: restoring it undoes the merge.
    pub checkpoint: CheckpointId,
    /// Absolute path of the project.
    pub into: String,
    /// Paths that were changed there, relative to it.
    pub paths: Vec<String>,
    /// Name of the person who merged.
    pub by: String,
}
