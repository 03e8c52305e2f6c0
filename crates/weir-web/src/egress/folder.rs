//! The folder of a line's socket: for its owner alone, gone with the line. What a killed program
//! left is removed by the next one.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Longest path of a socket, in bytes: the system takes 108 with the zero at the end.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// The socket's name in its folder.
const SOCKET: &str = "proxy";
/// Younger folders may belong to a line that is being opened.
const LEFT_OVER_AGE: Duration = Duration::from_secs(60);
/// Most folders that are looked at for left-overs.
const LOOKED_AT_MAX: usize = 1_000;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct SocketFolder(PathBuf);

impl SocketFolder {
    /// Makes `dir` if need be, and `name` in it.
    ///
    /// # Errors
    /// What could not be made and why.
    pub(super) fn create_in(dir: &Path, name: &str) -> Result<SocketFolder, String> {
        let failed = |path: &Path, why: &std::io::Error| format!("{}: {why}", path.display());
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        builder.recursive(true).create(dir).map_err(|why| failed(dir, &why))?;
        let found = std::fs::symlink_metadata(dir).map_err(|why| failed(dir, &why))?;
        if !found.is_dir() || found.mode() & 0o022 != 0 {
            return Err(format!("{} is no folder that only you can write", dir.display()));
        }
        remove_stale_folders(dir);
        let folder = dir.join(name);
        let socket = folder.join(SOCKET);
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(format!(
                "the path {} is too long for a socket; use a shorter --state-dir",
                socket.display()
            ));
        }
        builder.recursive(false).create(&folder).map_err(|why| failed(&folder, &why))?;
        Ok(SocketFolder(folder))
    }

    /// Where the socket belongs.
    pub(super) fn socket_path(&self) -> PathBuf {
        self.0.join(SOCKET)
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Nothing else is ever in it; what is not as expected stays.
fn remove(folder: &Path) {
    let _ = std::fs::remove_file(folder.join(SOCKET));
    let _ = std::fs::remove_dir(folder);
}

/// Removes folders whose socket nobody listens at.
fn remove_stale_folders(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().take(LOOKED_AT_MAX) {
        let folder = entry.path();
        let Ok(found) = std::fs::symlink_metadata(&folder) else { continue };
        let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        let is_old = age.is_some_and(|age| age > LEFT_OVER_AGE);
        if found.is_dir() && is_old && UnixStream::connect(folder.join(SOCKET)).is_err() {
            remove(&folder);
        }
    }
}
