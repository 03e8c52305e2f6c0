//! The folders of one session, and the commands that work on them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::disk::SmallDisk;
use super::plan::WorkPlace;
use super::syncs::{self, Syncs};
use super::work::Work;
use crate::served::person::PASSWORD;

/// A command that a kill interrupted is an error to the model, and many kills in a row would end the
/// run before its work is done; so could the number of requests that a run may make.
/// A client's calls count as the person's own: whose words they are is not what is proven here.
const CONFIG: &str = "[limits]\nconsecutive_mistake_limit = 0\nmax_iterations = 500\n[mcp_server]\ntrust = \"own\"\n";
/// A server's own model, and no quota of requests: whoever comes back again and again is no attack.
const SERVER_CONFIG: &str = "[server]\nrequests_per_minute = 10000000\n";
/// The first person of a server.
pub(super) const ADMIN: &str = "admin";

/// A session's place. Everything in `inner` is named by the engine and all that it starts.
pub(super) struct House {
    binary: PathBuf,
    pub(super) folder: PathBuf,
    /// Names the processes that belong to the session.
    pub(super) inner: PathBuf,
    pub(super) workspace: PathBuf,
    pub(super) witness: PathBuf,
    state: PathBuf,
    script: PathBuf,
    server: Option<Server>,
    disk: Option<SmallDisk>,
    pub(super) full: bool,
    pub(super) place: WorkPlace,
}

struct Server {
    child: Mutex<Child>,
    address: String,
}

impl Server {
    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child();
        // It may have ended by itself; then there is nothing to do.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Where commands write, in the session's folder.
pub(super) fn witness(folder: &Path) -> PathBuf {
    folder.join("witness/log")
}

impl House {
    pub(super) fn build(
        binary: &Path,
        folder: PathBuf,
        work: &Work,
        full: bool,
    ) -> anyhow::Result<House> {
        let inner = folder.join("in");
        let house = House {
            binary: binary.to_path_buf(),
            workspace: inner.join("workspace"),
            state: inner.join("state"),
            witness: witness(&folder),
            script: folder.join("model.script"),
            server: None,
            disk: None,
            inner,
            folder,
            full,
            place: WorkPlace::Project,
        };
        for folder in
            [&house.workspace, &house.inner.join("config/weir"), &house.folder.join("witness")]
        {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        for (path, text) in &work.files {
            let path = house.workspace.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        fs::write(house.inner.join("config/weir/config.toml"), CONFIG)?;
        fs::write(&house.script, &work.script)?;
        fs::write(&house.witness, "")?;
        Ok(house)
    }

    /// Makes the project a repository, in copies of which runs do their work from now on.
    ///
    /// # Errors
    /// There is no git, or it refuses.
    pub(super) fn use_worktrees(&mut self) -> anyhow::Result<()> {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let commit = [&who[..], &["commit", "-q", "-m", "first"]].concat();
        for words in [&["init", "-q", "-b", "main"][..], &["add", "."], &commit[..]] {
            let status = Command::new("git")
                .args(words)
                .current_dir(&self.workspace)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .status()
                .context("starting git")?;
            ensure!(status.success(), "git {words:?} ended with {status}");
        }
        self.place = WorkPlace::Worktree;
        Ok(())
    }

    /// What a run that begins a session is given before its words.
    pub(super) fn begin_flags(&self) -> &'static [&'static str] {
        match self.place {
            WorkPlace::Project => &[],
            WorkPlace::Worktree => &["--worktree"],
        }
    }

    /// The folder in which a session works, by its journal.
    pub(super) fn work_folder(&self, journal: &[Value]) -> PathBuf {
        let opened = journal.iter().find(|fact| fact["kind"] == "session.opened");
        let folder = opened.and_then(|fact| fact["workspace"].as_str()).map(PathBuf::from);
        match self.place {
            WorkPlace::Project => self.workspace.clone(),
            WorkPlace::Worktree => folder.unwrap_or_else(|| self.workspace.clone()),
        }
    }

    /// Keeps the state on a disk that can be full.
    ///
    /// # Errors
    /// None can be mounted here.
    pub(super) fn mount_disk(&mut self) -> anyhow::Result<()> {
        self.disk = Some(SmallDisk::mount(&self.state)?);
        Ok(())
    }

    /// Fills that disk, if there is one.
    ///
    /// # Errors
    /// It cannot be written at all.
    pub(super) fn fill_disk(&self) -> anyhow::Result<()> {
        self.disk.as_ref().map_or(Ok(()), SmallDisk::fill)
    }

    /// Makes room on it again.
    ///
    /// # Errors
    /// What fills it cannot be removed.
    pub(super) fn make_room(&self) -> anyhow::Result<()> {
        self.disk.as_ref().map_or(Ok(()), SmallDisk::make_room)
    }

    /// Serves the script over HTTP from a process of its own.
    pub(super) fn serve(&mut self) -> anyhow::Result<()> {
        let mut child = Command::new(&self.binary)
            .args(["script", "serve"])
            .arg(&self.script)
            .args(["--bind", "127.0.0.1:0"])
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.folder.join("server.log"))?)
            .spawn()
            .context("starting weir script serve")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let found = line.split_whitespace().find(|word| word.starts_with("http://"));
        let address = found.map(ToOwned::to_owned);
        let Some(address) = address else {
            // The server is told to end by being dropped here too.
            drop(Server { child: Mutex::new(child), address: String::new() });
            bail!("weir script serve did not print its address but {line:?}");
        };
        self.server = Some(Server { child: Mutex::new(child), address });
        Ok(())
    }

    /// How the script's server ended, when it did before its time.
    pub(super) fn server_ended(&self) -> Option<ExitStatus> {
        self.server.as_ref().and_then(|server| server.child().try_wait().ok().flatten())
    }

    /// `weir` with these words, on this session's folders.
    pub(super) fn weir(&self, words: &[&str]) -> Command {
        self.weir_with(Syncs::Sound, words)
    }

    /// The same with such syncs.
    fn weir_with(&self, syncs: Syncs, words: &[&str]) -> Command {
        let mut prefix = match &self.disk {
            Some(disk) => disk.command_prefix(&self.workspace),
            None => Vec::new(),
        };
        prefix.extend(syncs.command_prefix(&self.sync_log()));
        let mut command = match prefix.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        command
            .args(words)
            .arg("-C")
            .arg(&self.workspace)
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.inner)
            .env("XDG_CONFIG_HOME", self.inner.join("config"))
            // By the variable: a run may be killed before it kept anything, and is looked for all the same.
            .env("WEIR_STATE_DIR", &self.state)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null());
        if let Some(server) = &self.server {
            command.env("ANTHROPIC_BASE_URL", &server.address).env("ANTHROPIC_API_KEY", "no-key");
        }
        command
    }

    /// Waits until a process is the binary, whatever stands before it.
    pub(super) fn wait_until_begun(&self, pid: u32) {
        syncs::wait_until_begun(pid, &self.binary);
    }

    /// Where it is noted what became of the syncs of the last process.
    pub(super) fn sync_log(&self) -> PathBuf {
        self.folder.join("syncs.log")
    }

    /// `weir run` with these words.
    pub(super) fn run(&self, syncs: Syncs, words: &[&str]) -> Command {
        let mut command =
            self.with_model(syncs, &["run", "--output", "jsonl", "--max-iterations", "500"]);
        command.args(words);
        command
    }

    /// `weir mcp`, as another agent's program starts it.
    pub(super) fn serve_client(&self, syncs: Syncs) -> Command {
        self.weir_with(syncs, &["mcp", "--permission", "full", "--approvals", "deny"])
    }

    /// What brings a session to its end whose program is gone, without a word of anybody's.
    pub(super) fn settle(&self, session: &str) -> Command {
        self.weir(&["run", "--output", "jsonl", "--resume", session])
    }

    /// `weir serve`, over this database or files of its own.
    ///
    /// # Errors
    /// Its settings cannot be written.
    pub(super) fn serve_people(
        &self,
        syncs: Syncs,
        database: Option<&str>,
    ) -> anyhow::Result<Command> {
        let model = format!("model = \"{}\"\n", self.model());
        let config = self.inner.join("config/weir/config.toml");
        let settings = format!("{model}{CONFIG}{SERVER_CONFIG}");
        // A server that has them already must not find the file empty for a moment.
        if fs::read_to_string(&config).ok().as_ref() != Some(&settings) {
            fs::write(&config, settings)?;
        }
        let password = self.inner.join("password");
        fs::write(&password, PASSWORD)?;
        let words = ["serve", "--bind", "127.0.0.1:0", "--first-admin", ADMIN];
        let mut command = self.weir_with(syncs, &words);
        command.arg("--password-file").arg(password);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        Ok(command)
    }

    /// `weir` on a terminal, with this session or with one that begins.
    pub(super) fn show_terminal(&self, syncs: Syncs, session: Option<&str>) -> Command {
        let mut command = self.with_model(syncs, &[]);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        if let Some(session) = session {
            command.args(["--resume", session]);
        }
        command
    }

    /// `weir acp`, as an editor starts it.
    pub(super) fn serve_editor(&self, syncs: Syncs) -> Command {
        self.with_model(syncs, &["acp"])
    }

    fn with_model(&self, syncs: Syncs, words: &[&str]) -> Command {
        let mut command = self.weir_with(syncs, words);
        command.args(["--permission", if self.full { "full" } else { "auto-edit" }]);
        command.args(["-m", &self.model()]);
        command
    }

    fn model(&self) -> String {
        match &self.server {
            Some(_) => "anthropic/claude-sonnet-4-5".to_owned(),
            None => format!("script:{}", self.script.display()),
        }
    }
}
