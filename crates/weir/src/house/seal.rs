//! The key by which secrets in the database are sealed: a file of its own, for the owner alone (Z7).

use std::path::Path;

use anyhow::Context;
use ring::rand::{SecureRandom, SystemRandom};
use weir_install::files;

use crate::failure::usage;

/// The file's name in the state folder.
const FILE: &str = "server.key";

/// Reads the key; the first time it is made.
///
/// # Errors
/// The file cannot be read or written, or is no key.
pub(super) fn key(state: &Path) -> anyhow::Result<[u8; 32]> {
    let path = state.join(FILE);
    let no_key = || usage(format!("{} is no key: it must have 32 bytes", path.display()));
    match std::fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| no_key()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut key = [0_u8; 32];
            SystemRandom::new()
                .fill(&mut key)
                .map_err(|_| usage("the system gives no random bytes"))?;
            // Of two that start at once one makes it, and both have that one.
            let made = files::create(&path, &key, 0o600)?;
            let bytes = match made {
                true => key.to_vec(),
                false => {
                    std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?
                }
            };
            bytes.try_into().map_err(|_| no_key())
        }
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}
