//! Where processes are known by their ids, and how the holder of a lease is told. Not here: naming a
//! process and asking whether it lives (`weir_engine::lease_owner`).

use std::fs;

use weir_engine::lease_owner::boot_id;
pub(crate) use weir_engine::lease_owner::is_alive;
pub use weir_engine::lease_owner::this_process;
use weir_engine::ports::LeaseOwner;

/// Where process ids mean the same as here: two containers on one machine have one boot id and
/// different processes.
pub(crate) fn machine_id() -> String {
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot_id(), space.display())
}

/// `process 4711 (weir run)`.
pub(crate) fn describe_owner(owner: &LeaseOwner) -> String {
    format!("process {} ({})", owner.pid, owner.label)
}

/// What is said when nobody holds a lease that someone tried to use.
pub(crate) const NOBODY: &str =
    "nobody: this lease was given back, or the session was deleted (take a new lease)";
