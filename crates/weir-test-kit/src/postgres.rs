//! A PostgreSQL server of a test's own, in a temporary folder, reached by a socket alone: to be
//! stopped and started as the test wants. Not here: a database in whichever server there is
//! (`database`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long the server may take to start or stop.
const WAIT: Duration = Duration::from_secs(120);

/// One server. It ends with this, and with the test program at the latest.
pub struct PrivatePostgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    child: Mutex<Option<Child>>,
}

impl PrivatePostgres {
    /// Makes and starts one; `Err`: why there can be none.
    pub fn start() -> Result<PrivatePostgres, String> {
        let programs =
            programs().ok_or("the programs of PostgreSQL (initdb, postgres) are not installed")?;
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        if rustix::process::geteuid().is_root() {
            let nobody = Some(65_534);
            std::os::unix::fs::chown(folder.path(), nobody, nobody).map_err(|e| e.to_string())?;
        }
        let server = PrivatePostgres { folder, programs, child: Mutex::new(None) };
        let data = server.folder.path().join("data");
        let made = unprivileged(&server.programs.join("initdb"))
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .map_err(|e| e.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        server.go_on();
        Ok(server)
    }

    /// Starts it again, if it does not run, and waits until it answers.
    pub fn go_on(&self) {
        let mut child = self.child.lock().expect("no test panics with it");
        if child.is_none() {
            let data = self.folder.path().join("data");
            let started = unprivileged(&self.programs.join("postgres"))
                .arg("-D")
                .arg(&data)
                .args(["-c", "listen_addresses=", "-c", "max_connections=60", "-k"])
                .arg(self.folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            *child = Some(started.expect("it was there a moment ago"));
        }
        drop(child);
        let until = Instant::now() + WAIT;
        let ready = || {
            let status = Command::new(self.programs.join("pg_isready"))
                .arg("-q")
                .arg("-h")
                .arg(self.folder.path())
                .status();
            status.is_ok_and(|status| status.success())
        };
        while !ready() {
            assert!(Instant::now() < until, "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it at once, as a loss of power would.
    pub fn pull_the_plug(&self) {
        let child = self.child.lock().expect("no test panics with it").take();
        if let Some(mut child) = child {
            // Immediate shutdown: no clean-up, recovery at the next start.
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::QUIT).expect("our child");
            child.wait().expect("our child");
        }
    }

    /// It goes on existing and does nothing: its lines stay open, and nobody answers.
    pub fn freeze(&self) {
        self.signal_all(rustix::process::Signal::STOP);
    }

    /// It works again, after [`PrivatePostgres::freeze`], at what it had begun too.
    pub fn thaw(&self) {
        self.signal_all(rustix::process::Signal::CONT);
    }

    /// To the server, and then to everything that it has started.
    fn signal_all(&self, signal: rustix::process::Signal) {
        let child = self.child.lock().expect("no test panics with it");
        let Some(child) = child.as_ref() else { return };
        let server = rustix::process::Pid::from_child(child);
        // One that has just ended hears nothing.
        let _ = rustix::process::kill_process(server, signal);
        let mut told = BTreeSet::new();
        // One that was being started while the others were looked for is found the next time.
        loop {
            let fresh: Vec<i32> =
                children_of(server).into_iter().filter(|pid| told.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            for pid in fresh.into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }

    /// How to reach one of its databases.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@localhost/{database}?host={folder}")
    }
}

/// Processes that a process has started and that are still there.
fn children_of(parent: rustix::process::Pid) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("it is Linux").flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // Behind the name, which may hold anything: state, parent.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let its_parent = behind.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        if its_parent == Some(parent.as_raw_nonzero().get()) {
            found.extend(entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
        }
    }
    found
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        self.thaw();
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

/// The program as a user that PostgreSQL agrees to run as; it ends with whoever started it.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.arg("--pdeathsig=QUIT").arg("--").arg(program);
    command
}
