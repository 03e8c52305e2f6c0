//! The record of a call on disk: `<state>/jobs/<session>/<call>/` with `started.json`, `output`
//! and `end.json`. It is what an engine finds after a crash.
//!
//! `started.json` is made exactly once per call, before the command starts. It is not synced to
//! disk: a killed engine does not lose it, only a power cut does. What makes "it never started" a
//! safe answer after that too is `boots`, one line per session and boot, durable before the first
//! command: where the machine was started again since, a missing record proves nothing. So only
//! the first command of a session waits for the disk. Not here: what to conclude from a record.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, SessionId};
use weir_core::record::sha256_hex;

use crate::process_tree::ProcessEntry;
use crate::wire::{CommandEnding, CommandRequest, REQUEST_BYTES_MAX};

/// Records older than this are removed by [`sweep_records`].
const KEEP_RECORDS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// An `end.json` larger than this is not ours.
const ENDING_BYTES_MAX: u64 = 64 << 20;

const STARTED: &str = "started.json";
const ENDED: &str = "end.json";
const OUTPUT: &str = "output";
const BOOTS: &str = "boots";

/// `boots` grows by a line each time a session goes on after the machine was started again.
const BOOTS_BYTES_MAX: u64 = 1 << 20;

/// Content of `started.json`: who began, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartRecord {
    /// The supervisor.
    pub(crate) pid: i32,
    /// When the supervisor started, in clock ticks since boot: ids are used again.
    pub(crate) start_ticks: u64,
    /// Where `pid` means anything: see [`machine_id`].
    pub(crate) machine: String,
    /// What was asked.
    pub(crate) request: CommandRequest,
}

/// One file of a record.
#[derive(Debug)]
pub(crate) enum RecordFile<T> {
    /// Not there.
    Absent,
    /// There and readable.
    Whole(T),
    /// There, but it does not say what it should: why.
    Damaged(String),
}

/// Whether what was written must survive a power cut by the time the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncLevel {
    /// The journal will have it; this copy serves a crash of the engine only.
    Cache,
    /// This is the only copy.
    Disk,
}

/// The folder of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandRecord {
    dir: PathBuf,
}

impl CommandRecord {
    /// The record of `call`, which need not exist.
    pub(crate) fn for_call(state_dir: &Path, session: &SessionId, call: CallId) -> CommandRecord {
        CommandRecord { dir: session_dir(state_dir, session).join(call.to_string()) }
    }

    /// The record in this folder.
    pub(crate) fn in_folder(dir: PathBuf) -> CommandRecord {
        CommandRecord { dir }
    }

    /// Its folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// All output, up to a bound.
    pub(crate) fn output_file(&self) -> PathBuf {
        self.dir.join(OUTPUT)
    }

    /// Makes the folder, for its owner only, and notes durably that this session starts commands
    /// in this boot from this call on.
    pub(crate) fn create(&self, call: CallId) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let here = machine_id()?;
        let noted =
            self.boot_lines().iter().any(|(first, machine)| *first <= call && *machine == here);
        if noted {
            return Ok(());
        }
        let path = self.session_dir().join(BOOTS);
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        // A newline first: what a power cut left half written must not swallow this line.
        file.write_all(format!("\n{call} {here}\n").as_bytes())?;
        file.sync_all()?;
        // And the folders that were made for it: session, `jobs`, and the state folder's own entry.
        for folder in self.session_dir().ancestors().take(3) {
            sync_dir(folder)?;
        }
        Ok(())
    }

    /// The machine and boot in which `call` must have been started if it was; `None` when it
    /// cannot have been.
    pub(crate) fn boot_of(&self, call: CallId) -> Option<String> {
        let boots = self.boot_lines();
        let last = boots.into_iter().rfind(|(first, _)| *first <= call);
        last.map(|(_, machine)| machine)
    }

    fn boot_lines(&self) -> Vec<(CallId, String)> {
        let Ok(file) = File::open(self.session_dir().join(BOOTS)) else { return Vec::new() };
        let mut bytes = Vec::new();
        // What cannot be read is no line; a machine that is not noted is noted again.
        let _ = file.take(BOOTS_BYTES_MAX).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.filter_map(|(call, machine)| Some((call.parse().ok()?, machine.into()))).collect()
    }

    /// Where locks of placeholders are kept, for all sessions.
    pub(crate) fn placeholder_folder(&self) -> PathBuf {
        let session = self.session_dir();
        session.parent().unwrap_or(session).join(".placeholders")
    }

    fn session_dir(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    /// Makes `started.json`: from now on this call counts as started.
    ///
    /// # Errors
    /// `AlreadyExists` when it was claimed before, by whomever.
    pub(crate) fn claim(&self, request: &CommandRequest) -> io::Result<()> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let process = ProcessEntry::read_pid(own)
            .ok_or_else(|| io::Error::other("/proc does not show this process; is it mounted?"))?;
        let started = StartRecord {
            pid: own,
            start_ticks: process.start_ticks,
            machine: machine_id()?,
            request: request.clone(),
        };
        let path = self.dir.join(STARTED);
        let mut file = private_file(&path)?;
        let bytes = serde_json::to_vec(&started)?;
        file.write_all(&bytes).inspect_err(|_| {
            // Nothing started yet, so nothing is lost by taking the claim back; where even that
            // fails, recovery says "unknown".
            let _ = fs::remove_file(&path);
        })
    }

    /// Creates the file for all output.
    pub(crate) fn create_output(&self) -> io::Result<File> {
        private_file(&self.output_file())
    }

    /// Who claimed it.
    pub(crate) fn read_start(&self) -> RecordFile<StartRecord> {
        // The request in it is bounded; the rest is a few words.
        read_json(&self.dir.join(STARTED), 2 * REQUEST_BYTES_MAX as u64)
    }

    /// How it ended.
    pub(crate) fn read_ending(&self) -> RecordFile<CommandEnding> {
        read_json(&self.dir.join(ENDED), ENDING_BYTES_MAX)
    }

    /// Writes how it ended, all or nothing.
    pub(crate) fn write_ending(&self, ending: &CommandEnding, sync: SyncLevel) -> io::Result<()> {
        let own = rustix::process::getpid().as_raw_nonzero();
        let temporary = self.dir.join(format!("{ENDED}.{own}"));
        let mut file = private_file(&temporary)?;
        file.write_all(&serde_json::to_vec(ending)?)?;
        if sync == SyncLevel::Disk {
            file.sync_all()?;
        }
        fs::rename(&temporary, self.dir.join(ENDED))?;
        if sync == SyncLevel::Disk { sync_dir(&self.dir) } else { Ok(()) }
    }

    /// Makes an ending written before durable.
    pub(crate) fn sync_ending(&self) -> io::Result<()> {
        File::open(self.dir.join(ENDED))?.sync_all()?;
        sync_dir(&self.dir)
    }
}

/// What [`sweep_records`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Records that were removed because they are old.
    pub removed: usize,
    /// Records that stay.
    pub kept: usize,
}

/// Removes the records of calls that ended, or were left behind, more than seven days ago. For the
/// owner of a store, at start-up; records that recovery may still need stay.
///
/// What cannot be read or removed is left and counted as kept: a record too many does no harm.
pub fn sweep_records(state_dir: &Path) -> SweepReport {
    let mut swept = SweepReport::default();
    let now = SystemTime::now();
    for session in list_folders(&state_dir.join("jobs")) {
        for call in list_folders(&session) {
            if is_old(&call, now) && !is_running(&call) && remove_tree(&call).is_ok() {
                swept.removed += 1;
            } else {
                swept.kept += 1;
            }
        }
        if list_folders(&session).is_empty() {
            let _ = fs::remove_file(session.join(BOOTS));
            // Refused while there is something in it, and that is the point.
            let _ = fs::remove_dir(&session);
        }
    }
    swept
}

/// Removes all records of a session (D9). Its jobs must have ended.
///
/// # Errors
/// When a folder cannot be removed; that there is none is no error.
pub fn remove_session_records(state_dir: &Path, session: &SessionId) -> io::Result<()> {
    match remove_tree(&session_dir(state_dir, session)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a folder with all that a command left in it, however deep and whatever its modes. What lies in a
/// folder of it comes up into it first: no level needs a stack, an open file or a longer path. Nothing of the
/// command may live.
///
/// # Errors
/// When something cannot be removed.
pub(crate) fn remove_tree(top: &Path) -> io::Result<()> {
    let mut lifted = 0_u64;
    let mut next_place = || {
        loop {
            lifted += 1;
            let place = top.join(format!(".lifted-{lifted}"));
            if place.symlink_metadata().is_err() {
                return place;
            }
        }
    };
    let mut has_folders = true;
    while has_folders {
        has_folders = false;
        for entry in list_opened(top)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                unless_gone(fs::remove_file(entry.path()))?;
                continue;
            }
            has_folders = true;
            let Ok(listing) = list_opened(&entry.path()) else {
                unless_gone(fs::remove_dir(entry.path()))?;
                continue;
            };
            for inner in listing {
                let inner = inner?;
                if !inner.file_type()?.is_dir() {
                    unless_gone(fs::remove_file(inner.path()))?;
                    continue;
                }
                // One that is not to be written cannot be moved either.
                let _ = fs::set_permissions(inner.path(), Permissions::from_mode(0o700));
                unless_gone(fs::rename(inner.path(), next_place()))?;
            }
            unless_gone(fs::remove_dir(entry.path()))?;
        }
    }
    fs::remove_dir(top)
}

/// What somebody else removed meanwhile, such as a supervisor that ends, is removed.
fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Lists a folder, whatever its mode was.
fn list_opened(folder: &Path) -> io::Result<fs::ReadDir> {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    fs::read_dir(folder)
}

/// Names the boot and the process namespace: a process id of another one means nothing here.
pub(crate) fn machine_id() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    Ok(format!("{} {}", boot.trim(), namespace.display()))
}

fn session_dir(state_dir: &Path, session: &SessionId) -> PathBuf {
    state_dir.join("jobs").join(folder_name(session.as_str()))
}

/// Session ids are opaque: one that could mean a path, or is too long for one, goes by its hash.
fn folder_name(session: &str) -> String {
    const PLAIN_BYTES_MAX: usize = 100;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_plain = (1..=PLAIN_BYTES_MAX).contains(&session.len()) && session.bytes().all(plain);
    if is_plain { session.to_string() } else { format!("~{}", sha256_hex(session.as_bytes())) }
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn read_json<T: DeserializeOwned>(path: &Path, bytes_max: u64) -> RecordFile<T> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or("the file");
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return RecordFile::Absent,
        Err(error) => return RecordFile::Damaged(format!("{name} cannot be opened: {error}")),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(bytes_max).read_to_end(&mut bytes) {
        return RecordFile::Damaged(format!("{name} cannot be read: {error}"));
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => RecordFile::Whole(value),
        Err(error) => {
            RecordFile::Damaged(format!("{name} is not what a supervisor writes: {error}"))
        }
    }
}

fn list_folders(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn is_old(dir: &Path, now: SystemTime) -> bool {
    let modified = fs::metadata(dir).and_then(|meta| meta.modified());
    // A folder from the future is as old as one from now.
    let age = modified.map(|then| now.duration_since(then).unwrap_or_default());
    age.is_ok_and(|age| age > KEEP_RECORDS)
}

fn is_running(dir: &Path) -> bool {
    let record = CommandRecord::in_folder(dir.to_path_buf());
    let RecordFile::Whole(started) = record.read_start() else { return false };
    started.find_supervisor().is_some()
}

impl StartRecord {
    /// The supervisor, while it lives.
    pub(crate) fn find_supervisor(&self) -> Option<ProcessEntry> {
        if !self.is_here() {
            return None;
        }
        let process = ProcessEntry::read_pid(self.pid)?;
        (process.start_ticks == self.start_ticks && process.is_alive()).then_some(process)
    }

    /// It was started since this machine booted, in this process namespace.
    pub(crate) fn is_here(&self) -> bool {
        machine_id().is_ok_and(|here| here == self.machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_session_id_never_becomes_a_path() {
        assert_eq!(folder_name("0198-abc_D"), "0198-abc_D");
        for id in ["", "..", "a/b", ".", "a\0b", &"x".repeat(101), "\u{00e4}"] {
            let name = folder_name(id);
            assert!(name.starts_with('~') && name.len() == 65, "{id:?} became {name:?}");
        }
    }
    #[test]
    fn g12_a_tree_is_removed_however_deep_and_whatever_its_modes() {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let home = tempfile::tempdir().expect("a folder");
        let top = home.path().join("top");
        for folder in ["shut/inner", "deep", ".lifted-1/a/b", ".lifted-2"] {
            fs::create_dir_all(top.join(folder)).expect("a folder");
        }
        fs::write(top.join("shut/inner/file"), "x").expect("a file");
        fs::write(home.path().join("kept"), "x").expect("a file");
        std::os::unix::fs::symlink(home.path(), top.join("deep/link")).expect("a link");
        for folder in ["shut/inner", "shut"] {
            fs::set_permissions(top.join(folder), Permissions::from_mode(0o000)).expect("a mode");
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, top.join("deep"), flags, Mode::empty()).expect("a folder");
        // More than a process may usually have open, and longer than a path may be.
        for _ in 0..3_000 {
            mkdirat(&at, "d", Mode::RWXU).expect("a folder");
            at = openat(&at, "d", flags, Mode::empty()).expect("a folder");
        }
        remove_tree(&top).expect("it can be removed");
        assert!(!top.exists() && home.path().join("kept").exists());
        let again = remove_tree(&top).expect_err("it is gone");
        assert_eq!(again.kind(), io::ErrorKind::NotFound);
    }
}
