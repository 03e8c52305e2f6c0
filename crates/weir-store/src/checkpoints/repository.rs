//! One shadow repository on disk: made, locked, its refs read and written, its files made durable.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use git2::{Config, ErrorClass, Odb, Oid, Repository};
use rustix::fs::FlockOperation;
use weir_engine::ports::StoreError;

use super::log::CheckpointLog;
use super::names::ref_name;
use super::objects::{ObjectDatabase, git_error, loose_file};
use crate::filesystem::{io_error, private_folder, sync_folder};

/// Threads that wait for the disk together; the file system then syncs for all at once.
const SYNC_THREADS: usize = 8;

/// The whole configuration: nothing of the user's may change how objects are named or read.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n\
    \tlogallrefupdates = false\n\tautocrlf = false\n\tprotectNTFS = false\n\tprotectHFS = false\n\
    \thooksPath = /dev/null\n[gc]\n\tauto = 0\n";

/// The configuration for taking checkpoints: there is no time to look for similar objects. That is
/// done when checkpoints are collected.
const CONFIG_TAKE: &str = "[core]\n\tbigFileThreshold = 1\n";

/// A shadow repository, opened when it is first used.
pub(super) struct ShadowRepository {
    pub(super) path: PathBuf,
    workspace: PathBuf,
    repository: Option<Repository>,
    /// Single objects can be written to it.
    loose: bool,
    /// What makes small checkpoints durable.
    pub(super) log: CheckpointLog,
    /// This process looked whether a power cut may have taken what the log has.
    pub(super) is_healed: bool,
    /// The folder of packs as it was when this process last had the lock.
    packs: Option<FolderStamp>,
}

/// What is another one once files came into a folder or went.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FolderStamp {
    inode: u64,
    changed: i64,
    changed_ns: i64,
}

/// How packs are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PackMode {
    /// Compressed object by object.
    Fast,
    /// Similar objects stored as their difference.
    Small,
}

impl ShadowRepository {
    pub(super) fn new(path: PathBuf, workspace: PathBuf) -> ShadowRepository {
        let log = CheckpointLog::new(&path);
        ShadowRepository {
            path,
            workspace,
            repository: None,
            loose: true,
            log,
            is_healed: false,
            packs: None,
        }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.join("HEAD").exists()
    }

    /// Runs `work` while no other process works on this repository, which is made if it is missing.
    pub(super) fn with_file_lock<T>(
        &mut self,
        work: impl FnOnce(&mut ShadowRepository) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let doing = || format!("opening the checkpoints in {}", self.path.display());
        private_folder(&self.path)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path.join("weir.lock"))
            .map_err(|e| io_error(doing(), &e))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|e| io_error(doing(), &e.into()))?;
        if !self.exists() {
            self.repository = None;
            create_repository(&self.path, &self.workspace).map_err(|e| io_error(doing(), &e))?;
        }
        self.notice_packs()?;
        self.ready_log()?;
        // The lock ends with its file.
        let done = work(self);
        // What failed on its way may have left the name of a pack that is not durable.
        self.packs = if done.is_ok() { self.stamp_packs() } else { None };
        done
    }

    /// Looks whether somebody else changed the packs. Libgit2 goes on believing in those that are
    /// gone; and who was killed may not have made the names of new ones durable, on which we rely.
    fn notice_packs(&mut self) -> Result<(), StoreError> {
        let found = self.stamp_packs();
        if found.is_some() && found != self.packs {
            self.close();
            sync_folder(&self.pack_folder())
                .map_err(|e| io_error("looking at the packs of checkpoints", &e))?;
            self.packs = found;
        }
        Ok(())
    }

    fn stamp_packs(&self) -> Option<FolderStamp> {
        let found = fs::metadata(self.pack_folder()).ok()?;
        let (inode, changed, changed_ns) = (found.ino(), found.mtime(), found.mtime_nsec());
        Some(FolderStamp { inode, changed, changed_ns })
    }

    pub(super) fn open_repository(&mut self) -> Result<&Repository, StoreError> {
        if self.repository.is_none() {
            let (repository, loose) = self.open_anew(PackMode::Fast)?;
            self.repository = Some(repository);
            self.loose = loose;
        }
        self.repository.as_ref().ok_or_else(|| StoreError::Io {
            doing: "opening checkpoints".to_string(),
            why: "no repository".to_string(),
        })
    }

    /// A repository of its own, for work that must not stay in the shared one.
    ///
    /// Libgit2 reads the user's configuration when it opens a repository, and refuses to when that
    /// is broken. Then the objects alone are opened (second value `false`): they can be read, and
    /// packs can be added.
    pub(super) fn open_anew(&self, pack: PackMode) -> Result<(Repository, bool), StoreError> {
        let config = match pack {
            PackMode::Fast => self.path.join("weir-take.config"),
            PackMode::Small => self.path.join("config"),
        };
        let open = || match Repository::open_bare(&self.path) {
            Ok(repository) => {
                repository.set_config(&Config::open(&config)?)?;
                Ok((repository, true))
            }
            Err(e) if e.class() == ErrorClass::Config => {
                let odb = Odb::new()?;
                let objects = self.path.join("objects");
                let objects = objects.to_str().ok_or_else(|| {
                    git2::Error::from_str("the state folder's path is not valid UTF-8")
                })?;
                odb.add_disk_alternate(objects)?;
                let repository = Repository::from_odb(odb)?;
                repository.set_config(&Config::open(&config)?)?;
                Ok((repository, false))
            }
            Err(e) => Err(e),
        };
        open().map_err(|e: git2::Error| git_error("opening checkpoints", &e))
    }

    /// Whether single objects can be written.
    pub(super) fn writes_loose(&mut self) -> Result<bool, StoreError> {
        self.open_repository()?;
        Ok(self.loose)
    }

    /// Forgets what is open: packs were replaced.
    pub(super) fn close(&mut self) {
        self.repository = None;
    }

    pub(super) fn object_database(&mut self) -> Result<ObjectDatabase<'_>, StoreError> {
        let folder = self.path.clone();
        let odb = self.open_repository()?.odb();
        Ok(ObjectDatabase::new(odb.map_err(|e| git_error("opening checkpoints", &e))?, &folder))
    }

    pub(super) fn refs_folder(&self) -> PathBuf {
        self.path.join("refs/weir")
    }

    /// Where a person's `git gc` puts refs.
    pub(super) fn packed_refs(&self) -> PathBuf {
        self.path.join("packed-refs")
    }

    /// The newest commit of a session.
    pub(super) fn session_tip(&self, session: &str) -> Result<Option<Oid>, StoreError> {
        Ok(self.session_tips()?.remove(&ref_name(session)))
    }

    /// The newest commit of each session, by ref name.
    pub(super) fn session_tips(&self) -> Result<BTreeMap<String, Oid>, StoreError> {
        let failed = |e: &io::Error| io_error("reading the checkpoints' refs", e);
        let mut tips = self.packed_tips()?;
        let entries = match self.refs_folder().read_dir() {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(tips),
            Err(e) => return Err(failed(&e)),
        };
        for entry in entries {
            let entry = entry.map_err(|e| failed(&e))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.ends_with(".new") {
                // A power cut may have left anything in it.
                continue;
            }
            let text = fs::read_to_string(entry.path()).map_err(|e| failed(&e))?;
            let id = text.trim().parse().map_err(|_| StoreError::Damaged {
                what: format!("checkpoint ref {}", entry.path().display()),
                why: "it names no commit".to_string(),
            })?;
            tips.insert(name, id);
        }
        Ok(tips)
    }

    /// The newest commits as a person's `git gc` may have moved them into one file.
    pub(super) fn packed_tips(&self) -> Result<BTreeMap<String, Oid>, StoreError> {
        let text = read_if_there(&self.packed_refs())
            .map_err(|e| io_error("reading the checkpoints' refs", &e))?;
        let named = text.lines().filter_map(|line| {
            let (id, name) = line.split_once(" refs/weir/")?;
            Some((name.trim().to_string(), id.parse::<Oid>().ok()?))
        });
        Ok(named.collect())
    }

    /// Points a ref at `id`. The log is what makes that durable.
    pub(super) fn write_tip(&self, name: &str, id: Oid) -> Result<(), StoreError> {
        let write = || -> io::Result<()> {
            let folder = self.refs_folder();
            if !folder.is_dir() {
                // A backup of packed refs has none.
                fs::create_dir_all(&folder)?;
                sync_folder(&self.path.join("refs"))?;
                sync_folder(&self.path)?;
            }
            let path = folder.join(name);
            let (_, new) = write_beside(&path, &format!("{id}\n"))?;
            fs::rename(new, path)
        };
        write().map_err(|e| io_error("writing a checkpoint's ref", &e))
    }

    /// Takes away the refs of these names.
    pub(super) fn remove_tips(&self, names: &BTreeSet<String>) -> Result<(), StoreError> {
        let failed = |e: &io::Error| io_error("removing checkpoints", e);
        let packed = self.packed_refs();
        let text = read_if_there(&packed).map_err(|e| failed(&e))?;
        if !text.is_empty() {
            let kept: String = text
                .lines()
                .filter(|line| {
                    line.split_once(" refs/weir/").is_none_or(|(_, n)| !names.contains(n.trim()))
                })
                .flat_map(|line| [line, "\n"])
                .collect();
            replace_file(&packed, &kept).map_err(|e| failed(&e))?;
        }
        for name in names {
            match fs::remove_file(self.refs_folder().join(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(&e)),
                Ok(()) | Err(_) => {}
            }
        }
        if self.refs_folder().is_dir() {
            sync_folder(&self.refs_folder()).map_err(|e| failed(&e))?;
        }
        Ok(())
    }

    /// Commits whose parents were collected: git's own list of them.
    pub(super) fn shallow_commits(&self) -> Result<BTreeSet<Oid>, StoreError> {
        let text = read_if_there(&self.path.join("shallow"));
        let text = text.map_err(|e| io_error("reading checkpoints", &e))?;
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }

    pub(super) fn set_shallow(&self, ids: &BTreeSet<Oid>) -> Result<(), StoreError> {
        let path = self.path.join("shallow");
        let result = if ids.is_empty() {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                Ok(()) | Err(_) => Ok(()),
            }
        } else {
            replace_file(&path, &ids.iter().map(|id| format!("{id}\n")).collect::<String>())
        };
        result.map_err(|e| io_error("collecting checkpoints", &e))
    }

    /// Makes loose objects durable, with the names of their files.
    pub(super) fn sync_objects(&self, ids: &[Oid]) -> Result<(), StoreError> {
        let mut paths = BTreeSet::new();
        for id in ids {
            let file = self.loose_file(*id);
            // What is not there lies in a pack, and was made durable with it.
            if file.exists() {
                // Its folder, and the folder of those.
                paths.extend(file.ancestors().skip(1).take(2).map(Path::to_path_buf));
                paths.insert(file);
            }
        }
        sync_all(&paths.into_iter().collect::<Vec<_>>())
            .map_err(|e| io_error("making a checkpoint durable", &e))
    }

    /// Where an object lies that lies by itself.
    pub(super) fn loose_file(&self, id: Oid) -> PathBuf {
        loose_file(&self.path, id)
    }

    pub(super) fn pack_folder(&self) -> PathBuf {
        self.path.join("objects/pack")
    }

    /// Where a pack lies until it is durable.
    pub(super) fn unfinished_folder(&self) -> PathBuf {
        self.path.join("weir-unfinished")
    }

    /// Removes what a killed process left of a pack.
    pub(super) fn remove_unfinished(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.unfinished_folder()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// What is in a folder; nothing where there is none, as where a backup was restored.
pub(super) fn files_if_there(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// Syncs files or folders, several at a time.
pub(super) fn sync_all(paths: &[PathBuf]) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            File::open(path)?.sync_all()?;
        }
        Ok(())
    };
    if paths.len() < 2 {
        return work();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..paths.len().min(SYNC_THREADS)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a syncing thread panicked")))
        })
    })
}

/// Replaces a small file, durably: the old text or the new, never half.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let (file, new) = write_beside(path, text)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// The file that is to take the place of a small one, and where it is until then.
fn write_beside(path: &Path, text: &str) -> io::Result<(File, PathBuf)> {
    let mut name = path.as_os_str().to_os_string();
    name.push(".new");
    let new = PathBuf::from(name);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    Ok((file, new))
}

fn read_if_there(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}

/// Lays out an empty bare repository. `HEAD` comes last: with it the repository exists.
fn create_repository(path: &Path, workspace: &Path) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/weir"] {
        fs::create_dir_all(path.join(folder))?;
    }
    fs::write(path.join("config"), CONFIG)?;
    fs::write(path.join("weir-take.config"), CONFIG_TAKE)?;
    fs::write(
        path.join("description"),
        format!("Weir's checkpoints of {}\n", workspace.display()),
    )?;
    let made = ["config", "weir-take.config", "description", "objects"];
    sync_all(&made.map(|name| path.join(name)))?;
    replace_file(&path.join("HEAD"), "ref: refs/heads/none\n")?;
    sync_folder(&path.join("refs"))?;
    path.parent().map_or(Ok(()), sync_folder)
}
