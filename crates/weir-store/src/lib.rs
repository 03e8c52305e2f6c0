//! What Weir remembers: journal, blobs, audit, letters, marks of files, facts beyond one session and
//! the kill switch in a [`Store`], files as they were in [`Checkpoints`](weir_engine::ports::Checkpoints).
//!
//! Three stores keep one contract, and one test suite runs against each (D1): [`SqliteStore`],
//! [`PostgresStore`] and [`MemoryStore`]; [`GitCheckpoints`] and [`MemoryCheckpoints`] likewise. Nothing here knows what
//! a fact means.
//!
//! # A session is opened, written and read
//!
//! ```
//! use weir_core::ids::{SessionId, Timestamp};
//! use weir_core::record::{GENESIS, Record, VERSION};
//! use weir_engine::ports::{Append, SessionMeta};
//! use weir_store::{open_store, this_process};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = open_store("memory:")?;
//! let session = SessionId::new("s1");
//! let now = Timestamp(1_700_000_000_000_000);
//!
//! // One writer at a time.
//! let lease = store.acquire_lease(&session, &this_process("example")).await?;
//! let mut fact = Record {
//!     session: session.clone(),
//!     seq: 1,
//!     ts: now,
//!     kind: "input.accepted".into(),
//!     v: VERSION,
//!     payload: r#"{"input":"i1","content":[],"by":"ann"}"#.into(),
//!     hash: String::new(),
//! };
//! fact.hash = fact.hash_after(GENESIS);
//! let meta = SessionMeta {
//!     id: session.clone(),
//!     workspace: "/work".into(),
//!     title: "Hello".into(),
//!     model: "script/hello".into(),
//!     profile: "agent".into(),
//!     status: "idle".into(),
//!     created: now,
//!     updated: now,
//!     facts: 1,
//!     parent: None,
//! };
//! store
//!     .append(Append::of_records(lease.clone(), 0, vec![fact.clone()], meta))
//!     .await?;
//! store.release_lease(&lease).await?;
//!
//! assert_eq!(store.read_records(&session, 1, 100).await?, [fact]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use weir_engine::ports::{Store, StoreError};

mod audit;
mod checkpoints;
mod filesystem;
mod follow;
mod foreign;
mod journal;
mod memory;
mod notice;
mod owner;
mod postgres;
mod records;
mod sql;
mod sqlite;
mod tables;
mod usage;
mod words;
mod worktrees;

pub use audit::{AuditFault, AuditReport, check_audit_writable, verify_audit};
pub use checkpoints::{GitCheckpoints, MemoryCheckpoints};
pub use filesystem::filesystem_warning;
pub use foreign::{
    ForeignBounds, ForeignDatabase, ForeignDatabaseError, ForeignRow, ForeignRows, ForeignValue,
};
pub use memory::MemoryStore;
pub use owner::this_process;
pub use postgres::{PostgresOptions, PostgresStore, PostgresStores};
pub use records::{MemoryRecords, SqliteRecords, open_records};
pub use sqlite::{SqliteOptions, SqliteStore, StoreStats, copy_sqlite};
pub use worktrees::{GitWorktrees, ORPHAN_AGE, SESSION_COPY};

/// Opens the store that `location` names: `memory:`, or `sqlite:FOLDER` for the state folder
/// FOLDER (the path of its `weir.db` will do too).
///
/// # Errors
/// When the place is unknown or cannot be used.
pub fn open_store(location: &str) -> Result<Arc<dyn Store>, StoreError> {
    let refused = |why: &str| StoreError::Io {
        doing: format!("opening the store {location:?}"),
        why: why.to_string(),
    };
    match location.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new())),
        Some(("sqlite", "")) => Err(refused("name the folder: sqlite:FOLDER")),
        Some(("sqlite", path)) => {
            let path = Path::new(path);
            let folder = if path.ends_with("weir.db") { path.parent() } else { None };
            Ok(Arc::new(SqliteStore::open(folder.unwrap_or(path))?))
        }
        Some(("postgres" | "postgresql", _)) => Err(refused(
            "PostgreSQL comes with the server (weir serve); use sqlite:FOLDER or memory: here",
        )),
        _ => Err(refused("unknown kind of store: use sqlite:FOLDER or memory:")),
    }
}
