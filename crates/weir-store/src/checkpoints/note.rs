//! What a checkpoint's commit message says: a line for people, then one JSON object.

use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_core::tool::PlannedChange;
use weir_engine::ports::{CheckpointInfo, Snapshot};

/// Characters of the readable line.
const TITLE_CHARS: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckpointNote {
    /// The name that was announced before the changes were known; otherwise it is the commit's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<CheckpointId>,
    session: SessionId,
    run: String,
    call: Option<CallId>,
    ts: Timestamp,
    label: String,
    changes: Vec<PlannedChange>,
}

impl CheckpointNote {
    pub(super) fn from_snapshot(
        snapshot: &Snapshot,
        announced: Option<&CheckpointId>,
    ) -> CheckpointNote {
        let changes = snapshot.entries.iter().map(|entry| PlannedChange {
            path: entry.path.clone(),
            before: entry.before.image(),
            after: entry.after.image(),
        });
        CheckpointNote {
            id: announced.cloned(),
            session: snapshot.session.clone(),
            run: snapshot.run.clone(),
            call: snapshot.call,
            ts: snapshot.ts,
            label: snapshot.label.clone(),
            changes: changes.collect(),
        }
    }

    pub(super) fn commit_message(&self) -> Result<String, serde_json::Error> {
        Ok(format!("{}\n\n{}\n", commit_title(&self.label), serde_json::to_string(self)?))
    }

    /// Reads a message. `None`: it is not a checkpoint's.
    pub(super) fn parse(message: &str) -> Option<CheckpointNote> {
        serde_json::from_str(message.split_once("\n\n")?.1).ok()
    }

    /// As it is listed; `commit` names its commit.
    pub(super) fn into_info(self, commit: CheckpointId) -> CheckpointInfo {
        CheckpointInfo {
            id: self.id.unwrap_or(commit),
            session: self.session,
            run: self.run,
            call: self.call,
            ts: self.ts,
            label: self.label,
            changes: self.changes,
        }
    }
}

pub(super) fn commit_title(label: &str) -> String {
    let line: String =
        label.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TITLE_CHARS).collect();
    match line.trim() {
        "" => "checkpoint".to_string(),
        line => line.to_string(),
    }
}
