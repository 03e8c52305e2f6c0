//! A disk of a test's own: small, in a mount namespace that a process of the test holds, so that it
//! works as root and for anybody, and is gone with the test. The program runs in that namespace; the
//! test reaches in through `/proc`. Not here: what is tried on it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::installation::TestInstallation;
use crate::skip::skip_test;

/// Bytes written at once while the disk is filled.
const PIECE: usize = 64 * 1024;

/// A disk that is mounted where an installation keeps its state.
pub struct SmallDisk {
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

impl SmallDisk {
    /// Mounts one over the state folder of `installation`. `None`: that cannot be done here, and it
    /// was said. In CI it must work.
    pub fn under(installation: &TestInstallation, megabytes: u32) -> Option<SmallDisk> {
        let at = installation.at("state");
        std::fs::create_dir_all(&at).expect("writable");
        let script = format!(
            "mount -t tmpfs -o size={megabytes}m,mode=700 none \"$0\" && echo ready && exec cat"
        );
        let holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .arg(&at)
            // It ends when the test's end of this pipe is gone, whatever becomes of the test.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut why = match &holder {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        if let Ok(mut holder) = holder {
            let mut said = String::new();
            let mut out = BufReader::new(holder.stdout.take().expect("it was piped"));
            out.read_line(&mut said).expect("readable");
            if said == "ready\n" {
                return Some(SmallDisk { holder, at });
            }
            let end = holder.wait_with_output().expect("it ends");
            why = String::from_utf8_lossy(&end.stderr).into_owned();
        }
        skip_test(format!("a small disk cannot be mounted here: {why}"));
        None
    }

    /// What stands before a command that runs with this disk, in `folder`.
    pub fn command_prefix(&self, folder: &Path) -> Vec<String> {
        let pid = self.holder.id().to_string();
        let cd = "cd \"$0\" && exec \"$@\"";
        let words = ["nsenter", "--target", &pid, "--user", "--mount", "--preserve-credentials"];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        words.extend(["sh", "-c", cd].map(str::to_owned));
        words.push(folder.display().to_string());
        words
    }

    /// A path on it, as the test reaches it.
    pub fn path(&self, path: &str) -> PathBuf {
        let at = self.at.strip_prefix("/").expect("it is absolute");
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(at).join(path)
    }

    /// Fills it, so that about `left` bytes are free.
    pub fn fill(&self, left: u64) {
        let path = self.path("filler");
        // What fills it already stays: there is no moment with room.
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.expect("there is room for a name");
        while file.write_all(&[0x5a; PIECE]).is_ok() {}
        let size = file.metadata().expect("it is there").len();
        file.set_len(size.saturating_sub(left)).expect("it shrinks");
    }

    /// Makes room again.
    pub fn empty(&self) {
        std::fs::remove_file(self.path("filler")).expect("it was filled");
    }

    /// Makes the state folder read-only for whoever opens something in it from now on.
    pub fn make_read_only(&self) {
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
        self.run_inside(script);
    }

    /// Takes that back.
    pub fn make_writable(&self) {
        self.run_inside("umount -l \"$0\"");
    }

    fn run_inside(&self, script: &str) {
        let prefix = self.command_prefix(Path::new("/"));
        let done = Command::new(&prefix[0])
            .args(&prefix[1..])
            .args(["sh", "-c", script])
            .arg(&self.at)
            .output()
            .expect("nsenter runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
