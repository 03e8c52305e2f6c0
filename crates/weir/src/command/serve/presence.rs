//! How other commands of this machine find the server of an installation: a file in its state folder that
//! the server holds locked for as long as it lives. A file that nobody holds says nothing: so nobody is led
//! to an address where another program listens by now. Not here: what the server does.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

const FILE: &str = "serve.json";
/// Bytes that are read of it.
const BYTES_MAX: u64 = 4_096;
/// Tries at the lock: whoever reads holds it for a moment.
const TRIES_MAX: usize = 50;
const TRY_EVERY: Duration = Duration::from_millis(10);

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::command) struct ServerPresence {
    /// Where it listens.
    pub(in crate::command) address: SocketAddr,
    /// The address by which people reach it.
    pub(in crate::command) public_url: Option<String>,
    /// It speaks TLS itself.
    pub(in crate::command) tls: bool,
    /// Where it keeps its data, as [`named_everywhere`] writes it: whoever acts on the server's data without
    /// the server finds it so. `None`: one of an earlier version, which does not say.
    #[serde(default)]
    pub(in crate::command) database: Option<String>,
    /// SHA-256 of its certificate, where no authority vouches for it.
    #[serde(default)]
    pub(in crate::command) fingerprint: Option<String>,
}

/// The name of a database so that it means the same in every folder.
pub(in crate::command) fn named_everywhere(database: &str) -> String {
    let path = database.strip_prefix("sqlite:").and_then(|path| std::path::absolute(path).ok());
    path.map_or_else(|| database.to_owned(), |path| format!("sqlite:{}", path.display()))
}

/// Says that a server is there, as long as it is kept. `None`: another one of this folder says so already.
pub(in crate::command) fn announce_presence(
    state: &Path,
    presence: &ServerPresence,
) -> anyhow::Result<Option<File>> {
    let path = state.join(FILE);
    let doing = || format!("writing {}", path.display());
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .with_context(doing)?;
    for _ in 0..TRIES_MAX {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            file.set_len(0).with_context(doing)?;
            file.write_all(&serde_json::to_vec(presence)?).with_context(doing)?;
            return Ok(Some(file));
        }
        std::thread::sleep(TRY_EVERY);
    }
    Ok(None)
}

/// The server of this state folder that runs now on this machine.
pub(in crate::command) fn find_presence(state: &Path) -> anyhow::Result<Option<ServerPresence>> {
    let path = state.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    // Nobody holds it: the server has ended, however it did.
    if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return Ok(None);
    }
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .with_context(|| format!("reading {}", path.display()))?;
    // One that is being written stands there in a moment.
    Ok(serde_json::from_str(&text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_a_server_is_found_only_while_it_lives() {
        let folder = tempfile::tempdir().expect("a folder");
        let presence = ServerPresence {
            address: "127.0.0.1:7717".parse().expect("an address"),
            public_url: None,
            tls: false,
            database: Some(named_everywhere("sqlite:data")),
            fingerprint: None,
        };
        let found = || find_presence(folder.path()).expect("readable");
        assert_eq!(found(), None);
        let kept = announce_presence(folder.path(), &presence).expect("writable");
        assert!(kept.is_some());
        assert_eq!(found(), Some(presence.clone()));
        let second = announce_presence(folder.path(), &presence).expect("readable");
        assert!(second.is_none(), "one of them speaks for the folder");
        drop(kept);
        assert_eq!(found(), None, "a file that nobody holds");
    }

    #[test]
    fn r5_a_database_is_named_so_that_it_is_the_same_from_every_folder() {
        let here = std::env::current_dir().expect("a folder");
        let named = format!("sqlite:{}", here.join("data").display());
        assert_eq!(named_everywhere("sqlite:data"), named);
        for whole in ["", "sqlite:/var/lib/weir", "postgres://localhost/weir"] {
            assert_eq!(named_everywhere(whole), whole);
        }
    }

    #[test]
    fn r5_a_server_of_an_earlier_version_is_found_too() {
        let text = r#"{ "address": "127.0.0.1:7717", "public_url": null, "tls": false }"#;
        let presence: ServerPresence = serde_json::from_str(text).expect("readable");
        assert_eq!((presence.database, presence.fingerprint), (None, None));
    }
}
