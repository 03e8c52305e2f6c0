//! Trust of a workspace (C5): whether its own files may define hooks, MCP servers, scripts, allow
//! rules, endpoints and everything else that widens.
//!
//! A person gives it with `weir trust`, for the governed files as they are then; when one of them
//! changes, it is gone until they are asked again. Everything that is unclear means no. Not here:
//! what a workspace without trust may not set (`config/narrow.rs`), and the command itself.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably;
use weir_core::view::plain::visible_text;

mod governed;
mod offers;
mod store;

pub use governed::{FileSnapshot, find_governed_files, snapshot_files};
pub use offers::{OfferKind, TrustOffer, collect_trust_offers, offer_row, summarize_offers};
pub use store::{TrustRecord, TrustStore};

/// Changed files that one line names.
const NAMED_MAX: usize = 3;

/// Whether a workspace is trusted, and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// A person trusted it, and its files are as they were then.
    Trusted {
        /// When it was trusted, in microseconds since 1970 (UTC).
        since: Timestamp,
        /// Name of the person or schedule on whose behalf it was done.
        by: String,
    },
    /// Nobody ever did.
    Never,
    /// Somebody did, and its files changed since.
    Changed {
        /// What changed.
        files: Vec<GovernedFileChange>,
    },
    /// It cannot be told, which is a no.
    Unclear {
        /// Why, and what to do.
        reason: String,
    },
}

/// How a governed file differs from the one that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GovernedFileChange {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// What happened to it.
    pub change: ChangeKind,
}

/// What happened to a governed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It says something else.
    Changed,
    /// It has gone.
    Removed,
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => "removed",
        })
    }
}

impl WorkspaceTrust {
    /// Whether the workspace's own files may widen what the person allowed.
    pub fn is_trusted(&self) -> bool {
        matches!(self, WorkspaceTrust::Trusted { .. })
    }

    /// The state as one word, for programs.
    pub fn state_word(&self) -> &'static str {
        match self {
            WorkspaceTrust::Trusted { .. } => "trusted",
            WorkspaceTrust::Never => "never",
            WorkspaceTrust::Changed { .. } => "changed",
            WorkspaceTrust::Unclear { .. } => "unclear",
        }
    }

    /// What changed since it was trusted.
    pub fn file_changes(&self) -> &[GovernedFileChange] {
        match self {
            WorkspaceTrust::Changed { files } => files,
            WorkspaceTrust::Trusted { .. }
            | WorkspaceTrust::Never
            | WorkspaceTrust::Unclear { .. } => &[],
        }
    }
}

/// One line for a person, without the workspace's name.
impl fmt::Display for WorkspaceTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkspaceTrust::Trusted { since, by } => {
                write!(f, "trusted since {since} by {}", visible_text(by))
            }
            WorkspaceTrust::Never => f.write_str("not trusted"),
            WorkspaceTrust::Changed { files } => {
                let named = files.iter().take(NAMED_MAX);
                let named: Vec<String> = named
                    .map(|file| format!("{} {}", visible_text(&file.path), file.change))
                    .collect();
                write!(f, "not trusted any more, because {}", named.join(", "))?;
                match files.len().saturating_sub(NAMED_MAX) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            WorkspaceTrust::Unclear { reason } => {
                write!(f, "not trusted: {}", visible_text(reason))
            }
        }
    }
}

/// Looks up whether `workspace` (without links) is trusted in the store of the `state` folder.
/// Its files are read only if it once was.
pub fn judge_workspace(state: &Path, workspace: &Path) -> WorkspaceTrust {
    match TrustStore::read_from_state(state) {
        Err(reason) => WorkspaceTrust::Unclear { reason },
        Ok(store) => match store.record(workspace) {
            None => WorkspaceTrust::Never,
            Some(record) => judge_record(record, workspace),
        },
    }
}

/// The same of a copy of `project` that a session of its own works in: the project is trusted as it is
/// now, and the copy has the very files that were trusted. What an agent changes in the copy ends it.
pub fn judge_copy(state: &Path, project: &Path, copy: &Path) -> WorkspaceTrust {
    let of_project = judge_workspace(state, project);
    if !of_project.is_trusted() {
        return of_project;
    }
    match TrustStore::read_from_state(state) {
        Err(reason) => WorkspaceTrust::Unclear { reason },
        Ok(store) => match store.record(project) {
            None => WorkspaceTrust::Never,
            Some(record) => judge_record(record, copy),
        },
    }
}

/// Compares what was trusted with what is there.
pub fn judge_record(record: &TrustRecord, workspace: &Path) -> WorkspaceTrust {
    match find_governed_files(workspace).and_then(|found| snapshot_files(&found)) {
        Err(reason) => WorkspaceTrust::Unclear { reason },
        Ok(now) => {
            let files = compare_snapshots(&record.files, &now);
            if files.is_empty() {
                WorkspaceTrust::Trusted { since: record.trusted_at, by: record.by.clone() }
            } else {
                WorkspaceTrust::Changed { files }
            }
        }
    }
}

/// What is different in `now`, ordered by path.
fn compare_snapshots(before: &FileSnapshot, now: &FileSnapshot) -> Vec<GovernedFileChange> {
    let change = |path: &String, change| GovernedFileChange { path: path.clone(), change };
    let mut changes: Vec<GovernedFileChange> = now
        .iter()
        .filter_map(|(path, hash)| match before.get(path) {
            None => Some(change(path, ChangeKind::Added)),
            Some(old) if old != hash => Some(change(path, ChangeKind::Changed)),
            Some(_) => None,
        })
        .collect();
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    changes.extend(gone.map(|path| change(path, ChangeKind::Removed)));
    sort_stably(&mut changes, |a, b| a.path.cmp(&b.path));
    changes
}

/// The one line for whoever uses a workspace that is not trusted although its files hold something
/// that trust would switch on; `None`: there is nothing to say.
pub fn untrusted_notice(
    trust: &WorkspaceTrust,
    offers: &Result<Vec<TrustOffer>, String>,
) -> Option<String> {
    if trust.is_trusted() {
        return None;
    }
    let left_out = match offers {
        Ok(offers) => match summarize_offers(offers) {
            (_, 0) if !matches!(trust, WorkspaceTrust::Unclear { .. }) => return None,
            (_, 0) => return Some(format!("this workspace is {trust}")),
            (text, 1) => format!("{text} is not loaded"),
            (text, _) => format!("{text} are not loaded"),
        },
        // The same reason twice says no more.
        Err(_) if matches!(trust, WorkspaceTrust::Unclear { .. }) => {
            "what only trust lets in is not loaded".to_owned()
        }
        Err(why) => format!("what only trust lets in is not loaded ({})", visible_text(why)),
    };
    Some(format!("this workspace is {trust}; {left_out}: `weir trust` shows more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> FileSnapshot {
        pairs.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect()
    }

    #[test]
    fn c5_added_changed_and_removed_files_are_told_apart() {
        let before = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = files(&[("b", "2"), ("c", "1"), ("d", "1")]);
        let told: Vec<String> = compare_snapshots(&before, &now)
            .iter()
            .map(|c| format!("{} {}", c.path, c.change))
            .collect();
        assert_eq!(told, ["a removed", "b changed", "d added"]);
        assert_eq!(compare_snapshots(&before, &before), []);
    }

    #[test]
    fn c5_a_long_list_of_changes_stays_one_line() {
        let file =
            |n: usize| GovernedFileChange { path: format!("f{n}\n"), change: ChangeKind::Added };
        let trust = WorkspaceTrust::Changed { files: (0..9).map(file).collect() };
        let line = trust.to_string();
        assert!(line.ends_with("and 6 more") && line.lines().count() == 1, "{line}");
    }

    #[test]
    fn c5_nothing_to_switch_on_is_nothing_to_say() {
        assert_eq!(untrusted_notice(&WorkspaceTrust::Never, &Ok(Vec::new())), None);
        let unclear = WorkspaceTrust::Unclear { reason: "trust.json is damaged".into() };
        assert!(
            untrusted_notice(&unclear, &Ok(Vec::new()))
                .is_some_and(|line| line.contains("damaged"))
        );
        assert!(
            untrusted_notice(&WorkspaceTrust::Never, &Err("bad".into()))
                .is_some_and(|line| line.contains("bad"))
        );
    }
}
