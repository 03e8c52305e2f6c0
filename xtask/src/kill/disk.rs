//! A small disk below the state of a session, which can be full: a tmpfs in a mount namespace that a process
//! of the harness holds, gone with it. Programs run in that namespace; the harness reaches in by `/proc`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};

/// Its size in megabytes: room for a session with its checkpoints, and soon full.
const MEGABYTES: u32 = 24;
/// Bytes written at once while it is filled.
const PIECE: usize = 64 * 1024;
/// What fills it.
const FILLER: &str = "filler";

/// A disk that is mounted at a folder, for whoever is in its namespace.
pub(super) struct SmallDisk {
    holder: Child,
    at: PathBuf,
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The namespace goes with the last process in it. It may have ended already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Root needs a namespace of mounts only; anybody else one of users as well.
fn namespaces() -> &'static [&'static str] {
    match rustix::process::geteuid().is_root() {
        true => &["--mount"],
        false => &["--mount", "--user"],
    }
}

impl SmallDisk {
    /// Mounts one.
    ///
    /// # Errors
    /// That cannot be done here: a container may not let anybody mount.
    pub(super) fn mount(at: &Path) -> anyhow::Result<SmallDisk> {
        std::fs::create_dir_all(at)?;
        let script = format!(
            "mount -t tmpfs -o size={MEGABYTES}m,mode=700 none \"$0\" && echo ready && exec cat"
        );
        let mut command = Command::new("unshare");
        command.args(namespaces());
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        let mut holder = command
            .args(["sh", "-c", &script])
            .arg(at)
            // It ends when this end of the pipe is gone, whatever becomes of the harness.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting unshare (util-linux)")?;
        let mut said = String::new();
        if let Some(out) = holder.stdout.take() {
            BufReader::new(out).read_line(&mut said)?;
        }
        if said != "ready\n" {
            let mut why = String::new();
            if let Some(mut errors) = holder.stderr.take() {
                errors.read_to_string(&mut why)?;
            }
            holder.wait()?;
            bail!("a small disk cannot be mounted here, so none can be full: {}", why.trim());
        }
        Ok(SmallDisk { holder, at: at.to_path_buf() })
    }

    /// What stands before a command that runs with this disk, in `folder`.
    pub(super) fn command_prefix(&self, folder: &Path) -> Vec<String> {
        let mut words = vec!["nsenter".to_owned(), "--target".to_owned()];
        words.push(self.holder.id().to_string());
        words.extend(namespaces().iter().map(|&word| word.to_owned()));
        if !rustix::process::geteuid().is_root() {
            words.push("--preserve-credentials".to_owned());
        }
        words.extend(["sh", "-c", "cd \"$0\" && exec \"$@\""].map(str::to_owned));
        words.push(folder.display().to_string());
        words
    }

    fn filler(&self) -> PathBuf {
        let at = self.at.strip_prefix("/").unwrap_or(&self.at);
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(at).join(FILLER)
    }

    /// Fills it.
    ///
    /// # Errors
    /// Nothing can be made on it.
    pub(super) fn fill(&self) -> anyhow::Result<()> {
        let mut file = File::options().append(true).create(true).open(self.filler())?;
        for bytes in [PIECE, 512] {
            while file.write_all(&[0x5a; PIECE][..bytes]).is_ok() {}
        }
        Ok(())
    }

    /// Makes room again.
    ///
    /// # Errors
    /// What fills it cannot be removed.
    pub(super) fn make_room(&self) -> anyhow::Result<()> {
        match std::fs::remove_file(self.filler()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("making room on the small disk")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_small_disk_is_full_and_has_room_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("state");
        // Where nobody may mount, the harness says so and ends; here there is nothing to look at then.
        let Ok(disk) = SmallDisk::mount(&at) else { return };
        let writes = || {
            let prefix = disk.command_prefix(folder.path());
            let mut command = Command::new(&prefix[0]);
            command.args(&prefix[1..]).args(["sh", "-c", "echo 1234567890 > state/file && sync"]);
            command.stderr(Stdio::null()).status().expect("it starts").success()
        };
        assert!(writes());
        disk.fill().expect("it can be filled");
        std::fs::remove_file(disk.filler().with_file_name("file")).expect("it is there");
        disk.fill().expect("it can be filled");
        assert!(!writes(), "there is no room");
        disk.make_room().expect("it was filled");
        assert!(writes());
        assert!(!at.join("file").exists(), "nobody else sees it");
    }
}
