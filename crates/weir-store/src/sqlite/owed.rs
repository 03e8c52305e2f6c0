//! Leases that could not be given back because the disk refused. This process lives, so without
//! them it would hold those sessions from itself and everybody else until it ends. They are of the
//! process and not of a store: one that is closed and opened again still owes them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_engine::ports::Lease;

static OWED: Mutex<Vec<(PathBuf, Lease)>> = Mutex::new(Vec::new());

fn lock_owed_leases() -> MutexGuard<'static, Vec<(PathBuf, Lease)>> {
    OWED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn note_owed_lease(database: &Path, lease: &Lease) {
    lock_owed_leases().push((database.to_owned(), lease.clone()));
}

/// Those of a database.
pub(super) fn owed_leases(database: &Path) -> Vec<Lease> {
    let all = lock_owed_leases();
    all.iter().filter(|(of, _)| of == database).map(|(_, lease)| lease.clone()).collect()
}

/// Whether there are any.
pub(super) fn has_owed_leases(database: &Path) -> bool {
    lock_owed_leases().iter().any(|(of, _)| of == database)
}

/// One was given back.
pub(super) fn clear_owed_lease(database: &Path, lease: &Lease) {
    lock_owed_leases().retain(|(of, owed)| of != database || owed != lease);
}
