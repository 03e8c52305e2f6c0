//! The audit chain (G10): one line per decision and effect, each with the hash of the line before,
//! in the store and in one file per day.
//!
//! The table is the truth and is written with the facts. The files are written from it: first their
//! space is reserved, then the transaction commits, then the lines go out in one write. What a
//! crash kept from a file is written by the next append or when the store is opened; what is known
//! to have stood in a file (`audit_exported`) is never written again, so that a file cut short by
//! hand shows. Nothing here decides what is audited.

use serde::Deserialize;
use serde_json::value::RawValue;
use weir_core::ids::Timestamp;
use weir_core::record::{GENESIS, sha256_hex};
use weir_engine::ports::{AuditEntry, AuditLine, StoreError};

mod file;
mod verify;

pub(crate) use file::AuditFolder;
pub use file::check_audit_writable;
pub(crate) use verify::ChainVerifier;
pub use verify::{AuditFault, AuditReport, verify_audit};

use crate::sql::SqlRow;

/// One line as it is stored: the text of its entry is never printed anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLine {
    pub(crate) n: u64,
    pub(crate) ts: Timestamp,
    pub(crate) session: String,
    pub(crate) entry: String,
    pub(crate) prev: String,
    pub(crate) hash: String,
}

impl StoredLine {
    /// The line that follows number `n` with hash `prev`.
    pub(crate) fn next_in_chain(
        n: u64,
        prev: &str,
        entry: &AuditEntry,
    ) -> Result<StoredLine, StoreError> {
        let text = serde_json::to_string(entry).map_err(|e| StoreError::Damaged {
            what: format!("an audit entry of session {}", entry.session),
            why: e.to_string(),
        })?;
        let n = n.checked_add(1).ok_or_else(|| StoreError::Damaged {
            what: "the audit chain".to_string(),
            why: format!("its last line has the number {n}: restore the database from a backup"),
        })?;
        Ok(StoredLine {
            n,
            ts: entry.ts,
            session: entry.session.as_str().to_string(),
            hash: line_hash(prev, n, &text),
            prev: prev.to_string(),
            entry: text,
        })
    }

    /// The line in the six columns of a row; the last is the hash of the line before.
    pub(crate) fn read_row(row: &impl SqlRow) -> Result<StoredLine, StoreError> {
        Ok(StoredLine {
            n: row.number(0)?,
            ts: row.timestamp(1)?,
            session: row.text(2)?,
            entry: row.text(3)?,
            hash: row.text(4)?,
            prev: row.optional_text(5)?.unwrap_or_else(|| GENESIS.to_string()),
        })
    }

    /// The line as it stands in a file, with its line break.
    pub(crate) fn render_json_line(&self) -> String {
        format!(
            "{{\"n\":{},\"prev\":\"{}\",\"hash\":\"{}\",\"entry\":{}}}\n",
            self.n, self.prev, self.hash, self.entry
        )
    }

    /// The line as the port shows it.
    pub(crate) fn to_line(&self) -> Result<AuditLine, StoreError> {
        let entry = serde_json::from_str(&self.entry).map_err(|e| StoreError::Damaged {
            what: format!("audit line {}", self.n),
            why: e.to_string(),
        })?;
        Ok(AuditLine { n: self.n, entry, hash: self.hash.clone() })
    }
}

/// Place and hash of the last line of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    pub(crate) n: u64,
    pub(crate) hash: String,
}

impl ChainEnd {
    /// Before the first line.
    pub(crate) fn genesis_end() -> ChainEnd {
        ChainEnd { n: 0, hash: GENESIS.to_string() }
    }

    /// Chains `entries` to this end and moves it.
    pub(crate) fn extend(
        &mut self,
        entries: &[AuditEntry],
        lines: &mut Vec<StoredLine>,
    ) -> Result<(), StoreError> {
        let kept = lines.len();
        let before = self.clone();
        for entry in entries {
            match StoredLine::next_in_chain(self.n, &self.hash, entry) {
                Ok(line) => {
                    self.n = line.n;
                    self.hash.clone_from(&line.hash);
                    lines.push(line);
                }
                Err(error) => {
                    lines.truncate(kept);
                    *self = before;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// SHA-256 over the hash of the line before, the number, and the text of the entry.
pub(crate) fn line_hash(prev: &str, n: u64, entry: &str) -> String {
    sha256_hex(format!("{prev}\n{n}\n{entry}").as_bytes())
}

/// A line as it is read from a file.
#[derive(Debug, Deserialize)]
pub(crate) struct FileLine<'a> {
    pub(crate) n: u64,
    pub(crate) prev: String,
    pub(crate) hash: String,
    #[serde(borrow)]
    pub(crate) entry: &'a RawValue,
}
