//! The `.git` of a command that stores history: a folder of its own, laid over the real one (A1).
//!
//! A mount cannot say which names may come to exist in a folder, and each name that git reads
//! (`commondir`, `config.worktree`, a rebase to go on with) would run programs outside. So the command
//! gets another folder in its place: what stores history in folders is the real one, what stores it
//! in files is a copy, all else is there read-only. Afterwards the files whose names are known are
//! carried over under git's own locks, and nothing else is: it never was in `.git`.
//!
//! Notes of what was there lie beside it, so that whoever finds the record of a supervisor that was
//! killed carries over in its place. Not here: which commands get one, and the mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Component::Normal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::places::ConfinedPlaces;
use crate::record::remove_tree;

mod hidden;

pub(crate) use hidden::ignore_list;

/// What stores history in folders of `.git`: the command writes the real ones.
pub(crate) const FOLDERS: [&str; 3] = ["objects", "refs", "logs"];

/// What stores it in files, in the order in which it is carried over: nothing is named before it is
/// there.
const FILES: [&str; 17] = [
    PACKED_REFS,
    "shallow",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "HEAD",
    "index",
];

const PACKED_REFS: &str = "packed-refs";
/// Why a file is not carried over.
const CHANGED: &str = "somebody else changed it meanwhile";

/// Parts of an index that is split.
const SHARED_INDEX: &str = "sharedindex.";
/// A lock is carried neither way, but a command sees that there is one.
const LOCK: &str = ".lock";
/// What git leaves behind for itself, without meaning for anybody later.
const PASSING: [&str; 3] = ["gc.pid", "gc.log", "fsmonitor--daemon.ipc"];

/// Where a rebase keeps what it goes on with, and the name in it of what it put aside.
const REBASES: [&str; 2] = ["rebase-merge", "rebase-apply"];
const PUT_ASIDE: &str = "autostash";
/// Where a bisect keeps from where it began, and the refs that it goes by.
const BISECT: &str = "BISECT_START";
const BISECT_REFS: &str = "refs/bisect";

/// What still is carried over when git stopped half-way: what names commits, and where nobody is.
const BESIDE_A_HALF: [&str; 3] = [PACKED_REFS, "shallow", "FETCH_HEAD"];
/// What git goes on with in a later command, by the beginning of its name.
const GOES_ON: [&str; 5] = ["BISECT_", "modules", "rebase-", "sequencer", "worktrees"];

/// Largest file that is copied.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Entries of `.git` itself: with more it stays as it is.
const ENTRIES_MAX: usize = 200;
/// Repositories of one command; the others stay as they are.
const REPOSITORIES_MAX: usize = 8;
/// Entries below `refs` and `logs` among which links are looked for.
const REFS_MAX: usize = 500_000;
/// So long somebody else may hold a lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Names that are told.
const NAMES_TOLD: usize = 10;

/// What tells whether a file is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn from_metadata(meta: &fs::Metadata) -> FileStamp {
        FileStamp {
            inode: meta.ino(),
            bytes: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    fn read_stamp(path: &Path) -> Option<FileStamp> {
        path.symlink_metadata().ok().map(|meta| FileStamp::from_metadata(&meta))
    }
}

/// One file of which the command has a copy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct CopiedFile {
    real: FileStamp,
    copy: FileStamp,
}

/// One `.git` that a command sees another way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GitHistory {
    /// The real one.
    pub(crate) git: PathBuf,
    /// What the command sees in its place.
    pub(crate) seen: PathBuf,
    /// Names in it that are the real ones: to be written, and read-only.
    pub(crate) open: Vec<PathBuf>,
    pub(crate) shown: Vec<PathBuf>,
    copied: BTreeMap<String, CopiedFile>,
    /// All names that were there.
    names: BTreeSet<String>,
    /// Links below `refs` and `logs`: git writes through them, so no new ones stay.
    links: BTreeSet<PathBuf>,
    /// Hidden files that its copy of the index leaves alone.
    #[serde(default)]
    alone: Vec<String>,
}

/// All of one command. Carried over when dropped.
#[derive(Debug, Default)]
pub(super) struct GitHistories {
    pub(super) all: Vec<GitHistory>,
    notes: Option<PathBuf>,
}

impl GitHistories {
    /// Lays them out below the record's folder.
    ///
    /// # Errors
    /// What cannot be copied or written.
    pub(super) fn lay_out(places: &ConfinedPlaces, record: &Path) -> io::Result<GitHistories> {
        let mut all = Vec::new();
        for (index, git) in places.histories.iter().take(REPOSITORIES_MAX).enumerate() {
            let seen = record.join(format!("git.{index}"));
            if seen.exists() {
                // Of an attempt to build the sandbox that failed.
                remove_tree(&seen)?;
            }
            let tree = git.parent().unwrap_or(git);
            let below = |path: &PathBuf| path.strip_prefix(tree).map(Path::to_path_buf).ok();
            let hidden: Vec<PathBuf> = places.masked.iter().filter_map(below).collect();
            all.extend(GitHistory::lay_out(git, seen, &hidden)?);
        }
        if all.is_empty() {
            return Ok(GitHistories::default());
        }
        let notes = notes_path(record);
        fs::write(&notes, serde_json::to_vec(&all)?)?;
        Ok(GitHistories { all, notes: Some(notes) })
    }

    /// Carries over what the command stored. Says what was not, in words for its output.
    pub(super) fn carry_over(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        for history in std::mem::take(&mut self.all) {
            told.extend(history.carry_over());
            // What is left goes with the record.
            let _ = remove_tree(&history.seen);
        }
        if let Some(notes) = self.notes.take() {
            let _ = fs::remove_file(notes);
        }
        told
    }
}

impl Drop for GitHistories {
    fn drop(&mut self) {
        self.carry_over();
    }
}

/// What git is told there: refs are not packed by the way. Their files would be gone for the person
/// until the packed ones are carried over.
pub(super) fn git_environment() -> impl Iterator<Item = (String, String)> {
    const SETTINGS: [(&str, &str); 3] =
        [("gc.auto", "0"), ("gc.packRefs", "false"), ("maintenance.auto", "false")];
    let settings = SETTINGS.into_iter().enumerate().flat_map(|(index, (name, value))| {
        [
            (format!("GIT_CONFIG_KEY_{index}"), name.to_owned()),
            (format!("GIT_CONFIG_VALUE_{index}"), value.to_owned()),
        ]
    });
    settings.chain([("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string())])
}

/// Carries over what a supervisor that was killed could not. Nothing of its command may live.
pub(crate) fn carry_over_of(record: &Path) {
    let notes = notes_path(record);
    let all = fs::read(&notes).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(all) = all {
        drop(GitHistories { all, notes: Some(notes) });
    }
}

fn notes_path(record: &Path) -> PathBuf {
    record.join("git.json")
}

/// Whether a file of `.git` stores history.
pub(crate) fn is_kept(name: &str) -> bool {
    FILES.contains(&name) || name.starts_with(SHARED_INDEX)
}

impl GitHistory {
    /// `None`: it is no repository that is understood here, and stays read-only.
    fn lay_out(git: &Path, seen: PathBuf, hidden: &[PathBuf]) -> io::Result<Option<GitHistory>> {
        let is_folder =
            |name: &str| git.join(name).symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if !is_folder("objects") || !is_folder("refs") {
            return Ok(None);
        }
        if git.join("logs").symlink_metadata().is_err() {
            // Git makes it with the first commit.
            fs::create_dir(git.join("logs"))?;
        }
        fs::DirBuilder::new().mode(0o755).create(&seen)?;
        let mut history = GitHistory {
            git: git.to_path_buf(),
            seen,
            open: Vec::new(),
            shown: Vec::new(),
            copied: BTreeMap::new(),
            names: BTreeSet::new(),
            links: BTreeSet::new(),
            alone: Vec::new(),
        };
        for (count, entry) in git.read_dir()?.enumerate() {
            if count >= ENTRIES_MAX {
                return Ok(None);
            }
            // What is not UTF-8 is nothing of git's.
            if let Ok(name) = entry?.file_name().into_string() {
                history.show_entry(&name, hidden)?;
                history.names.insert(name);
            }
        }
        if history.names.contains("index") {
            history.leave_alone(hidden)?;
        }
        history.links = history.links_now();
        Ok(Some(history))
    }

    fn leave_alone(&mut self, hidden: &[PathBuf]) -> io::Result<()> {
        let index = self.seen.join("index");
        self.alone = hidden::leave_alone(&index, hidden)?;
        if let (Some(copied), Some(stamp)) =
            (self.copied.get_mut("index"), FileStamp::read_stamp(&index))
        {
            copied.copy = stamp;
        }
        Ok(())
    }

    /// Gives the command one entry of the real folder.
    fn show_entry(&mut self, name: &str, hidden: &[PathBuf]) -> io::Result<()> {
        let (real, seen) = (self.git.join(name), self.seen.join(name));
        // It may be gone by now.
        let Ok(meta) = real.symlink_metadata() else { return Ok(()) };
        if meta.is_dir() && name == "info" && !hidden.is_empty() {
            hidden::copy_with_excludes(&real, &seen, hidden)?;
        } else if meta.is_dir() {
            fs::create_dir(&seen)?;
            let list = if FOLDERS.contains(&name) { &mut self.open } else { &mut self.shown };
            list.push(name.into());
        } else if meta.is_symlink() {
            symlink(fs::read_link(&real)?, &seen)?;
        } else if !meta.is_file() {
            // A socket or pipe is for who made it.
        } else if name.ends_with(LOCK) {
            File::create_new(&seen)?;
        } else if is_kept(name) && meta.len() <= FILE_BYTES_MAX {
            if let Some(copied) = copy_file(&real, &seen)? {
                self.copied.insert(name.into(), copied);
            }
        } else {
            File::create_new(&seen)?;
            self.shown.push(name.into());
        }
        Ok(())
    }

    fn links_now(&self) -> BTreeSet<PathBuf> {
        let mut links = BTreeSet::new();
        let mut open = vec![self.git.join("refs"), self.git.join("logs")];
        let mut entries = 0;
        while let Some(folder) = open.pop() {
            let Ok(listed) = folder.read_dir() else { continue };
            for entry in listed.flatten() {
                entries += 1;
                match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => drop(links.insert(entry.path())),
                    Ok(kind) if kind.is_dir() && entries < REFS_MAX => open.push(entry.path()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        links
    }

    fn carry_over(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        for link in self.links_now().difference(&self.links) {
            let _ = fs::remove_file(link);
            let name = link.strip_prefix(&self.git).unwrap_or(link);
            left_out.push(name.display().to_string());
        }
        let mut names: Vec<String> = match self.seen.read_dir() {
            Ok(listed) => {
                listed.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            // Nothing was laid out, or all was carried over.
            Err(_) => return Vec::new(),
        };
        if let Some(begun) = self.half_done(&names) {
            // Without what it goes on with, its HEAD and index would leave a broken repository.
            for name in names.iter().filter(|name| BESIDE_A_HALF.contains(&name.as_str())) {
                let _ = self.carry_file(name);
            }
            return vec![self.told_of_half(begun)];
        }
        let order = |name: &String| FILES.iter().position(|known| known == name);
        names.sort_by_key(|name| (order(name), name.clone()));
        for name in &names {
            if is_kept(name) {
                if let Err(why) = self.carry_file(name) {
                    left_out.push(format!("{name} ({why})"));
                }
            } else if !self.names.contains(name)
                && !name.ends_with(LOCK)
                && !PASSING.contains(&name.as_str())
            {
                left_out.push(name.clone());
            }
        }
        let gone = |(name, _): &(&String, &CopiedFile)| !names.contains(name);
        for (name, copied) in self.copied.iter().filter(gone) {
            if let Err(why) = self.take_away(name, *copied) {
                left_out.push(format!("{name} ({why})"));
            }
        }
        self.describe_left_out(&left_out)
    }

    /// A rebase or a bisect that the command began and did not end: git has left the branch.
    fn half_done(&self, names: &[String]) -> Option<&'static str> {
        let is_new =
            |name: &&str| names.iter().any(|seen| seen == name) && !self.names.contains(*name);
        let head = |folder: &Path| fs::read(folder.join("HEAD")).ok();
        let begun = REBASES.into_iter().chain([BISECT]).find(is_new)?;
        (head(&self.seen) != head(&self.git)).then_some(begun)
    }

    fn told_of_half(&self, begun: &str) -> String {
        const KEEPS: &str = "stopped half-way, and the sandbox keeps nothing that a later command could \
                             go on with: branch and index are as they were before it, and `git restore .` \
                             brings the files back";
        if begun == BISECT {
            // They mean nothing without the rest. What cannot be taken away is in nobody's way.
            let _ = fs::remove_dir_all(self.git.join(BISECT_REFS));
            return format!(
                "the bisect {KEEPS}. Run all of it as one command with outside_sandbox: true: `git bisect \
                 start BAD GOOD && git bisect run PROGRAM`"
            );
        }
        let put_aside = self.seen.join(begun).join(PUT_ASIDE);
        let id = fs::read_to_string(put_aside).unwrap_or_default();
        let id = id.trim();
        let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let aside = match is_id {
            true => format!("; what it had put aside comes back with `git stash apply {id}`"),
            false => String::new(),
        };
        format!(
            "the rebase {KEEPS}{aside}. A rebase that may stop runs as a command with outside_sandbox: \
             true"
        )
    }

    fn describe_left_out(&self, left_out: &[String]) -> Vec<String> {
        if left_out.is_empty() {
            return Vec::new();
        }
        let named = left_out.iter().take(NAMES_TOLD).cloned().collect::<Vec<_>>().join(", ");
        let goes_on = |name: &String| GOES_ON.iter().any(|known| name.starts_with(known));
        let way = match left_out.iter().any(goes_on) {
            true => ". What a later command is to go on with is made with outside_sandbox: true",
            false => "",
        };
        vec![format!(
            "not kept in {}: {named}; a command stores history there, and nothing that git acts on \
             later{way}",
            self.git.display()
        )]
    }

    /// Carries one file over, if the command wrote it and nobody else did.
    fn carry_file(&self, name: &str) -> Result<(), String> {
        let (real, seen) = (self.git.join(name), self.seen.join(name));
        let known = self.copied.get(name);
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(no_follow())
            .open(&seen)
            .map_err(|_| "it is no file")?;
        let meta = file.metadata().map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err("it is no file".into());
        }
        if known.is_some_and(|known| known.copy == FileStamp::from_metadata(&meta)) {
            return Ok(());
        }
        if name == "index" {
            hidden::look_again(&seen, &self.alone).map_err(|error| error.to_string())?;
        }
        if meta.len() > FILE_BYTES_MAX {
            return Err("it is too large".into());
        }
        let lock = GitLock::take(&real)?;
        if FileStamp::read_stamp(&real) != known.map(|known| known.real) {
            if name == PACKED_REFS {
                self.unpack_refs(&mut file, &real)?;
            }
            return Err(CHANGED.into());
        }
        lock.become_copy(&mut file, &meta).map_err(|error| error.to_string())
    }

    /// Two packed refs at the same time: those that are in no other place any more get files of
    /// their own, so that no commit is lost.
    fn unpack_refs(&self, packed: &mut File, real: &Path) -> Result<(), String> {
        let read = |file: &mut File| {
            let mut text = String::new();
            file.take(FILE_BYTES_MAX).read_to_string(&mut text).map(|_| text)
        };
        let text = read(packed).map_err(|error| error.to_string())?;
        let there = File::open(real).and_then(|mut file| read(&mut file)).unwrap_or_default();
        let refs = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            let plain = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let inside = Path::new(name).components().all(|part| matches!(part, Normal(_)));
            (plain && inside && name.starts_with("refs/")).then(|| (id.to_owned(), name.to_owned()))
        };
        let known: BTreeSet<String> =
            there.lines().filter_map(refs).map(|(_, name)| name).collect();
        for (id, name) in text.lines().filter_map(refs).filter(|(_, name)| !known.contains(name)) {
            let path = self.git.join(&name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                match File::create_new(&path) {
                    Ok(mut file) => file.write_all(format!("{id}\n").as_bytes()),
                    // It is there.
                    Err(_) => Ok(()),
                }
            });
            made.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    /// The command took a file away.
    fn take_away(&self, name: &str, copied: CopiedFile) -> Result<(), String> {
        // Without them there is no repository.
        if ["HEAD", "index"].contains(&name) {
            return Err("it stays".into());
        }
        let real = self.git.join(name);
        let _lock = GitLock::take(&real)?;
        match FileStamp::read_stamp(&real) {
            None => Ok(()),
            Some(now) if now == copied.real => {
                fs::remove_file(&real).map_err(|error| error.to_string())
            }
            Some(_) => Err(CHANGED.into()),
        }
    }
}

/// Copies a file with its time, by which git tells what may have changed unseen. `None`: it is gone.
fn copy_file(real: &Path, seen: &Path) -> io::Result<Option<CopiedFile>> {
    const ATTEMPTS_MAX: usize = 5;
    for _ in 0..ATTEMPTS_MAX {
        let Ok(mut from) = OpenOptions::new().read(true).custom_flags(no_follow()).open(real)
        else {
            return Ok(None);
        };
        let meta = from.metadata()?;
        let _ = fs::remove_file(seen);
        let mut to = File::create_new(seen)?;
        fill_copy(&mut from, &mut to, &meta)?;
        // Git replaces files, but not all of them.
        if FileStamp::from_metadata(&from.metadata()?) == FileStamp::from_metadata(&meta) {
            let copy = FileStamp::from_metadata(&to.metadata()?);
            return Ok(Some(CopiedFile { real: FileStamp::from_metadata(&meta), copy }));
        }
    }
    Err(io::Error::other(format!("{} changes all the time", real.display())))
}

fn fill_copy(from: &mut File, to: &mut File, meta: &fs::Metadata) -> io::Result<()> {
    io::copy(from, to)?;
    to.set_permissions(Permissions::from_mode(meta.mode() & 0o777))?;
    to.set_times(FileTimes::new().set_modified(meta.modified()?))
}

fn no_follow() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

/// Git's own lock of a file. Given up when dropped.
struct GitLock {
    real: PathBuf,
    path: PathBuf,
    file: Option<File>,
}

impl GitLock {
    fn take(real: &Path) -> Result<GitLock, String> {
        let name = real.file_name().unwrap_or(OsStr::new(""));
        let mut lock = name.to_os_string();
        lock.push(LOCK);
        let path = real.with_file_name(lock);
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match File::create_new(&path) {
                Ok(file) => {
                    return Ok(GitLock { real: real.to_path_buf(), path, file: Some(file) });
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error.to_string());
                }
                Err(_) if Instant::now() >= until => {
                    return Err("somebody else holds its lock".into());
                }
                Err(_) => std::thread::sleep(LOCK_PAUSE),
            }
        }
    }

    fn become_copy(mut self, from: &mut File, meta: &fs::Metadata) -> io::Result<()> {
        if let Some(mut to) = self.file.take() {
            let filled = fill_copy(from, &mut to, meta).and_then(|()| to.sync_data());
            let renamed = filled.and_then(|()| fs::rename(&self.path, &self.real));
            if renamed.is_err() {
                let _ = fs::remove_file(&self.path);
            }
            return renamed;
        }
        Ok(())
    }
}

impl Drop for GitLock {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_what_a_killed_supervisor_left_is_carried_over_and_nothing_else() {
        let top = tempfile::tempdir().expect("a folder");
        let (git, record) = (top.path().join(".git"), top.path().join("record"));
        for folder in [".git/objects", ".git/refs", "record"] {
            fs::create_dir_all(top.path().join(folder)).expect("folders");
        }
        for (name, text) in
            [("HEAD", "old"), ("index", "old"), ("config", "mine"), ("ORIG_HEAD", "x")]
        {
            fs::write(git.join(name), text).expect("a file");
        }
        let places = ConfinedPlaces {
            histories: BTreeSet::from([git.clone()]),
            ..ConfinedPlaces::default()
        };
        let laid_out = GitHistories::lay_out(&places, &record).expect("it can be laid out");
        let seen = laid_out.all[0].seen.clone();
        for (name, text) in [("HEAD", "new"), ("commondir", "x"), ("config", "theirs")] {
            fs::write(seen.join(name), text).expect("a file");
        }
        fs::write(seen.join("index.lock"), "new").expect("a file");
        fs::rename(seen.join("index.lock"), seen.join("index")).expect("it is renamed");
        fs::remove_file(seen.join("ORIG_HEAD")).expect("it is there");
        // Killed.
        std::mem::forget(laid_out);
        carry_over_of(&record);
        let text = |name: &str| fs::read_to_string(git.join(name)).ok();
        assert_eq!(text("HEAD").as_deref(), Some("new"));
        assert_eq!(text("index").as_deref(), Some("new"));
        assert_eq!(text("config").as_deref(), Some("mine"));
        assert_eq!((text("ORIG_HEAD"), text("commondir")), (None, None));
        assert!(!seen.exists(), "and once only");
        carry_over_of(&record);
    }
}
