//! A PostgreSQL server of a proof's own, from the installed programs: it can be ended in the middle of
//! its work. Not here: what a loss of power would lose, and a server that somebody else started, which
//! nobody may restart.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::{DatabaseServer, ask};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Whom PostgreSQL agrees to run as where root starts it.
const NOBODY: u32 = 65_534;

/// What becomes of the syncs of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSyncs {
    /// They are waited for: what it takes is measured.
    Real,
    /// There are none. A signal leaves the page cache alone: what waits for a disk proves nothing more then.
    None,
}

/// A server on a port of this machine. Dropping it ends it and removes what it kept.
pub(crate) struct OwnServer {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    syncs: ServerSyncs,
    child: Option<Child>,
}

impl OwnServer {
    /// Makes and starts one; `None`: its programs are not installed.
    ///
    /// # Errors
    /// It cannot be made or does not answer.
    fn start(syncs: ServerSyncs) -> anyhow::Result<Option<OwnServer>> {
        let Some(programs) = programs() else { return Ok(None) };
        let folder = tempfile::tempdir()?;
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let made = unprivileged(&programs.join("initdb"), folder.path())
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(folder.path().join("data"))
            .stderr(Stdio::piped())
            .output()
            .context("starting initdb by setpriv (util-linux)")?;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "initdb: {}", said.trim());
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = OwnServer { folder, programs, port, syncs, child: None };
        server.go_on()?;
        Ok(Some(server))
    }

    /// The server that the variable names, else one of the proof's own, else one that is there.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn start_or_find(
        syncs: ServerSyncs,
    ) -> anyhow::Result<(Option<OwnServer>, DatabaseServer)> {
        if let Some(named) = DatabaseServer::named()? {
            return Ok((None, named));
        }
        match OwnServer::start(syncs)? {
            Some(own) => {
                let server = own.server();
                Ok((Some(own), server))
            }
            None => Ok((None, DatabaseServer::find()?)),
        }
    }

    /// How to reach it.
    fn server(&self) -> DatabaseServer {
        DatabaseServer { url: format!("postgres://postgres@127.0.0.1:{}/postgres", self.port) }
    }

    /// What `pg_ctl restart -m immediate` does: nothing is tidied up, and it recovers when it starts.
    ///
    /// # Errors
    /// It does not come back.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.pull_the_plug();
        self.go_on()
    }

    /// Called by the thread that lives as long as the server is wanted: it ends with that thread.
    fn go_on(&mut self) -> anyhow::Result<()> {
        let folder = self.folder.path();
        let fsync = match self.syncs {
            ServerSyncs::Real => "fsync=on",
            ServerSyncs::None => "fsync=off",
        };
        let child = unprivileged(&self.programs.join("postgres"), folder)
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"])
            .args(["-c", fsync, "-k"])
            .arg(folder)
            .args(["-p", &self.port.to_string()])
            .spawn()
            .context("starting postgres")?;
        self.child = Some(child);
        let url = self.server().url;
        let until = Instant::now() + PATIENCE;
        while let Err(error) = ask(&url, "SELECT 1") {
            ensure!(Instant::now() < until, "postgres does not start: {error:#}");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn pull_the_plug(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself: then there is nobody to be told.
            let _ = kill_process(Pid::from_child(&child), Signal::QUIT);
            let _ = child.wait();
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.pull_the_plug();
    }
}

/// The newest installation.
fn programs() -> Option<PathBuf> {
    let has = |folder: &Path| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> =
        installed.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.into_iter().rev().chain(std::env::split_paths(&path)).find(|folder| has(folder))
}

/// The program as a user that PostgreSQL agrees to run as.
fn unprivileged(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
        command.args([user.as_str(), group.as_str(), "--clear-groups"]);
    }
    command.arg("--pdeathsig=QUIT").arg("--").arg(program);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
