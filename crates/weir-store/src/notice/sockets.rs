//! Sockets of processes that listen for what is rare and concerns every run: the kill switch (L14) and
//! letters (G4). Whoever announces it sends a byte to each. Not here: what is announced.
//!
//! A watch of a file would do the same, but the kernel ends one only after 15 to 50 ms, and a program does
//! not exit before (Q2). A byte says nothing: whoever could send one without cause makes others look once
//! more. Nobody else can reach the folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram as StdDatagram;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::UnixDatagram;

use crate::filesystem::private_folder;

/// So many names are tried for a socket: two processes begin in the same nanosecond.
const TRIES: u32 = 16;

/// Where those listen who want to hear of one thing.
pub(super) struct NoticeSockets {
    folder: PathBuf,
    /// What their names begin with.
    name: &'static str,
}

impl NoticeSockets {
    pub(super) fn new(folder: PathBuf, name: &'static str) -> NoticeSockets {
        NoticeSockets { folder, name }
    }

    /// Tells everyone who listens.
    pub(super) fn announce(&self) -> io::Result<()> {
        let folder = match File::open(&self.folder) {
            Ok(folder) => folder,
            // Nobody ever listened.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let sender = StdDatagram::unbound()?;
        sender.set_nonblocking(true)?;
        let mut failed = None;
        for path in self.all_paths()? {
            match sender.send_to(&[0], reachable(&folder, &path)) {
                Ok(_) => (),
                Err(error) => match error.kind() {
                    // It has something to hear already.
                    io::ErrorKind::WouldBlock => (),
                    // It ended just now; else no socket is reached from here, and nobody was told.
                    io::ErrorKind::NotFound if fs::symlink_metadata(&path).is_err() => (),
                    io::ErrorKind::ConnectionRefused => remove_left_over(&path),
                    _ => failed = Some(error),
                },
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Listens from now on; `None` where the file system or the machine has no sockets.
    pub(super) fn listen(&self) -> Option<NoticeSocket> {
        private_folder(&self.folder).ok()?;
        let folder = File::open(&self.folder).ok()?;
        self.sweep(&folder);
        for _ in 0..TRIES {
            // A name is never used again: what is swept is nobody's.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let path = self.folder.join(format!("{}.{}.{now}", self.name, std::process::id()));
            let socket = match StdDatagram::bind(reachable(&folder, &path)) {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => continue,
                Err(_) => return None,
            };
            let listening =
                socket.set_nonblocking(true).and_then(|()| UnixDatagram::from_std(socket));
            return match listening {
                Ok(socket) => Some(NoticeSocket { socket, path }),
                Err(_) => {
                    remove_left_over(&path);
                    None
                }
            };
        }
        None
    }

    /// Removes what killed processes left.
    fn sweep(&self, folder: &File) {
        let Ok(asking) = StdDatagram::unbound() else { return };
        for path in self.all_paths().unwrap_or_default() {
            let answer = asking.connect(reachable(folder, &path));
            if answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                remove_left_over(&path);
            }
        }
    }

    fn all_paths(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if self.is_one(&entry.file_name()) {
                paths.push(entry.path());
            }
        }
        Ok(paths)
    }

    fn is_one(&self, name: &OsStr) -> bool {
        let rest = name.to_str().and_then(|name| name.strip_prefix(self.name));
        rest.is_some_and(|rest| rest.starts_with('.'))
    }
}

/// One that listens; removed with it.
pub(super) struct NoticeSocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl NoticeSocket {
    /// Resolves when something was announced.
    ///
    /// # Errors
    /// Its runtime ended.
    pub(super) async fn hear(&self) -> io::Result<()> {
        loop {
            self.socket.readable().await?;
            let mut heard = false;
            while self.socket.try_recv(&mut [0; 8]).is_ok() {
                heard = true;
            }
            if heard {
                return Ok(());
            }
        }
    }

    /// Whether nobody can reach it any more.
    pub(super) fn is_gone(&self) -> bool {
        fs::symlink_metadata(&self.path).is_err()
    }
}

impl Drop for NoticeSocket {
    fn drop(&mut self) {
        remove_left_over(&self.path);
    }
}

/// The same file by a path that is short enough for a socket's address, however deep the folder lies.
fn reachable(folder: &File, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name)
}

fn remove_left_over(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(%error, path = %path.display(), "a socket that nobody uses stays");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn heard(socket: &NoticeSocket) -> bool {
        tokio::time::timeout(Duration::from_millis(200), socket.hear()).await.is_ok()
    }

    #[tokio::test]
    async fn l14_everyone_who_listens_hears_and_nobody_else_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        // Deeper than the address of a socket may be long.
        let deep = folder.path().join("d".repeat(200));
        let pause = NoticeSockets::new(deep.clone(), "pause");
        let mail = NoticeSockets::new(deep.clone(), "mail");
        pause.announce().expect("nobody listens yet");
        let (one, two) = (pause.listen().expect("bound"), pause.listen().expect("bound"));
        let other = mail.listen().expect("bound");
        // What was announced often is heard once, and fills nothing up.
        for _ in 0..2000 {
            pause.announce().expect("told");
        }
        assert!(heard(&one).await && heard(&two).await && !heard(&other).await);
        assert!(!heard(&one).await);
        mail.announce().expect("told");
        assert!(heard(&other).await && !heard(&two).await);
        assert!(!one.is_gone());
        drop((one, two, other));
        assert_eq!(fs::read_dir(&deep).expect("a folder").count(), 0);
    }

    #[tokio::test]
    async fn l14_what_killed_processes_left_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let sockets = NoticeSockets::new(folder.path().to_owned(), "pause");
        let leave = |name: &str| {
            // A socket whose process ended: the file stays when it is closed.
            drop(StdDatagram::bind(folder.path().join(name)).expect("bound"));
        };
        let left = || fs::read_dir(folder.path()).expect("a folder").count();
        leave("pause.1.1");
        let one = sockets.listen().expect("bound");
        assert_eq!(left(), 1, "swept when somebody begins to listen");
        leave("pause.1.2");
        sockets.announce().expect("told");
        assert_eq!(left(), 1, "and when something is announced");
        assert!(heard(&one).await);
        fs::remove_file(&one.path).expect("removed");
        assert!(one.is_gone());
    }
}
