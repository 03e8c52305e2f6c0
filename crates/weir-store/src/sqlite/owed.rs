//! Leases that could not be given back because the disk refused. This process lives, so without
//! them it would hold those sessions from itself and everybody else until it ends. They are of the
//! process and not of a store: one that is closed and opened again still owes them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_engine::ports::Lease;

static OWED: Mutex<Vec<(PathBuf, Lease)>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<(PathBuf, Lease)>> {
    OWED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn note(database: &Path, lease: &Lease) {
    all().push((database.to_owned(), lease.clone()));
}

/// Those of a database.
pub(super) fn of(database: &Path) -> Vec<Lease> {
    let all = all();
    all.iter().filter(|(of, _)| of == database).map(|(_, lease)| lease.clone()).collect()
}

/// Whether there are any.
pub(super) fn any(database: &Path) -> bool {
    all().iter().any(|(of, _)| of == database)
}

/// One was given back.
pub(super) fn settled(database: &Path, lease: &Lease) {
    all().retain(|(of, owed)| of != database || owed != lease);
}
