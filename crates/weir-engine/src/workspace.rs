//! The guarded workspace: the only way in which tools reach files (Z6, G6).
//!
//! Paths that a model wrote enter through [`Workspace::resolve`] and are a [`PathEffect`] from
//! then on. Every later access goes through the effect that was judged and resolves it again
//! beneath the root with `openat2`, so a link swapped in between does not lead out. Everything
//! here blocks: call it on a blocking thread.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustix::fs::FileType;
use rustix::io::Errno;
use weir_core::governance::Permit;
use weir_core::governance::rules::{PathUse, RuleSet, Ruling};
use weir_core::tool::{FileState, PathAccess, PathEffect, PathPlace, PlannedChange};

pub use self::confinement::CommandConfinement;
pub use self::content::FileContent;
pub use self::credentials::{holds_private_key, is_fixture};
pub use self::derived::DerivedFile;
pub use self::editor::EditorFiles;
pub use self::found::{FoundFile, FoundFiles};
use self::guard::{PathKind, PathSpot, WorkspacePathGuard};
use self::handles::FolderHandle;
pub use self::hint::edit_distance;
pub(crate) use self::hint::nearest_name;
pub use self::mixed_lines::HISTORY_RULE;
pub use self::readable::{ReadableChanges, ReadableTree};

mod beneath;
mod changes;
mod command_lines;
mod confine;
mod confinement;
mod content;
mod credentials;
mod derived;
mod editor;
mod found;
mod git_config;
mod git_words;
pub(crate) mod governed;
mod guard;
mod handles;
mod hint;
mod histories;
mod home;
mod hooks;
mod index_files;
mod lists;
pub(crate) mod look;
pub(crate) mod mark_sources;
mod mixed_lines;
mod named_grants;
mod own;
mod own_commit;
mod parallel;
mod permitted;
mod plain_git;
mod readable;
mod reads;
mod repositories;
mod repository_writes;
mod resolve;
mod steps;
pub(crate) mod survey;
mod temporary;
mod tracked;
mod trash;
mod tree;
mod twins;
mod walk;
pub(crate) mod watch;

/// Most entries that are looked at when a change covers everything below a folder.
pub const BELOW_ENTRIES_MAX: usize = 200_000;

/// How a workspace is opened.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// Its root: an existing folder.
    pub root: PathBuf,
    /// Folders that count as inside beside the root.
    pub extra_roots: Vec<PathBuf>,
    /// Weir's own folders (state, user config): invisible and never written by tools.
    pub own_folders: Vec<PathBuf>,
}

/// Why a file operation failed: what, why, what to do. Text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Nothing there.
    #[error("{path} does not exist{hint}")]
    NotFound {
        /// The path that was asked for.
        path: String,
        /// `; did you mean src/main.rs?` or empty.
        hint: String,
    },
    /// It is there, but not what was expected (a folder for a file, a device, …).
    #[error("{path} is {found}, not {expected}")]
    WrongKind {
        /// The path, relative to the workspace where it lies in it.
        path: String,
        /// Kind of the entry that is there: a folder, a link.
        found: String,
        /// Kind of the entry that was wanted.
        expected: &'static str,
    },
    /// Larger than the operation takes.
    #[error("{path} has {bytes} bytes; at most {max} can be handled here")]
    TooLarge {
        /// The path, relative to the workspace where it lies in it.
        path: String,
        /// Size of the file in bytes.
        bytes: u64,
        /// The bound.
        max: u64,
    },
    /// The guard says no: ignored, protected, or leading out of the workspace.
    #[error("{path} cannot be used: {why}")]
    Refused {
        /// The path, relative to the workspace where it lies in it.
        path: String,
        /// The reason, as the end of the sentence that the error says.
        why: String,
    },
    /// The disk does not hold what the call was judged on.
    #[error("{path} changed since this call was judged; read it again and repeat the change")]
    Changed {
        /// The path, relative to the workspace where it lies in it.
        path: String,
    },
    /// The operating system refused.
    #[error("{doing} {path}: {why}")]
    Io {
        /// `read`, `write`, …
        doing: &'static str,
        /// The path, relative to the workspace where it lies in it.
        path: String,
        /// The message of the system.
        why: String,
    },
}

/// An entry of a listing or walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceEntry {
    /// As in [`PathEffect::path`].
    pub path: String,
    /// Whether it is a file, a folder or a link.
    pub kind: EntryKind,
    /// Size in bytes (files).
    pub bytes: u64,
    /// Last change, in seconds since 1970.
    pub modified: i64,
    /// Last change of content, name or rights, in nanoseconds since 1970: nobody can set it.
    pub changed_ns: i64,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Regular file.
    File,
    /// Folder.
    Folder,
    /// Symbolic link (never followed in a walk).
    Link,
    /// Device, socket, pipe.
    Other,
}

/// How to walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkOptions {
    /// Go below the first level.
    pub recursive: bool,
    /// Leave out what `.gitignore` names (what `.weirignore` names is never there).
    pub respect_gitignore: bool,
    /// Show names that begin with a dot.
    pub hidden: bool,
    /// Stop after so many entries.
    pub max_entries: usize,
}

/// A walk's entries in a stable order (by path), and whether it was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceWalk {
    /// The entries.
    pub entries: Vec<WorkspaceEntry>,
    /// There were more.
    pub truncated: bool,
}

/// The guarded folder of one session.
#[derive(Debug)]
pub struct Workspace {
    guard: WorkspacePathGuard,
    /// A handle for each root, opened once; other sessions may hold the same.
    anchors: Vec<Arc<FolderHandle>>,
    /// `/`, for paths outside that a person allowed.
    top: Arc<FolderHandle>,
    /// Roots as they were given: a path written with them counts as written inside.
    given: Vec<PathBuf>,
    trash: Option<PathBuf>,
    /// Folders already cleaned of temporary files that a killed process left.
    swept: Mutex<BTreeSet<PathBuf>>,
    /// Rules of the session: what they close is passed over by calls that read many files.
    rules: RwLock<Arc<RuleSet>>,
    /// Files with foreign words in them, by path, with where those came from (Z1).
    marks: RwLock<BTreeMap<String, String>>,
    /// Where those of its folders are kept.
    mark_sources: RwLock<Arc<[mark_sources::MarkSources]>>,
    /// Folders whose files git runs, as of the last walk; none: there was no walk yet.
    hooks: RwLock<Option<Arc<hooks::HookFolders>>>,
    /// What git keeps of what is hidden.
    tracked: tracked::TrackedCache,
    /// What was computed from its files.
    derived: derived::DerivedState,
    /// Who may have unsaved text of its files.
    editor: Option<Arc<dyn EditorFiles>>,
    /// Sessions that have a command or a job running: no editor is believed meanwhile.
    running: Arc<editor::RunningSessions>,
}

/// Where an access goes: a handle, and plain names below it.
#[derive(Debug)]
struct LocatedPath {
    spot: PathSpot,
    /// Below the handle, names as on the disk.
    rel: PathBuf,
    shown: String,
}

impl Workspace {
    /// Opens it.
    ///
    /// # Errors
    /// A sentence that names the folder and says why it cannot be used.
    pub fn open(options: WorkspaceOptions) -> Result<Workspace, String> {
        let given: Vec<PathBuf> =
            std::iter::once(options.root).chain(options.extra_roots).collect();
        let mut roots = Vec::new();
        let mut anchors = Vec::new();
        let top = open_folder(Path::new("/"))?;
        for folder in &given {
            let real =
                std::fs::canonicalize(folder).map_err(|e| unusable_folder_text(folder, &e))?;
            anchors.push(open_folder(&real)?);
            roots.push(real);
        }
        // An own folder that does not exist yet is closed under the name it will have.
        let own: Vec<PathBuf> =
            options.own_folders.iter().map(|folder| resolve::real_form(folder)).collect();
        let running = editor::RunningSessions::in_folders(roots.clone());
        let guard = WorkspacePathGuard::new(roots, own);
        let swept = Mutex::new(BTreeSet::new());
        let rules = RwLock::default();
        let (marks, mark_sources) = (RwLock::default(), RwLock::default());
        let (trash, hooks, tracked) = (None, RwLock::default(), tracked::TrackedCache::default());
        let derived = derived::DerivedState::default();
        Ok(Workspace {
            guard,
            anchors,
            top,
            given,
            trash,
            swept,
            rules,
            marks,
            mark_sources,
            hooks,
            tracked,
            derived,
            editor: None,
            running,
        })
    }
    /// The same guards over another folder: a copy of this one that an agent works in. Its files
    /// are its own; what is closed here is closed there.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_sibling(&self, folder: &Path) -> Result<Workspace, String> {
        let own_folders = self.guard.own_folders().to_vec();
        let options =
            WorkspaceOptions { root: folder.to_path_buf(), extra_roots: Vec::new(), own_folders };
        let mut sibling = Workspace::open(options)?;
        if let Some(home) = self.guard.home() {
            sibling.guard.set_home(home.to_path_buf());
        }
        sibling.trash.clone_from(&self.trash);
        if self.guard.is_bounded() {
            sibling.guard.close_outside();
        }
        Ok(sibling)
    }
    /// Closes everything outside its roots for every tool, in every mode and whatever a rule or a
    /// person allows; commands see their folder and the programs of the system, and run only where
    /// the sandbox can hide the rest (S9).
    #[must_use]
    pub fn into_bounded(mut self) -> Workspace {
        self.guard.close_outside();
        self
    }
    /// Whether commands here run in the sandbox or not at all: the workspace belongs to an account
    /// of a server.
    pub fn keeps_commands_inside(&self) -> bool {
        self.guard.is_bounded()
    }
    /// Keeps deleted files below `folder` (in the state directory) instead of removing them.
    #[must_use]
    pub fn with_trash(mut self, folder: PathBuf) -> Workspace {
        self.trash = Some(folder);
        self
    }
    /// Takes `folder` for `~` and for the credential files of a home, instead of the user's own.
    #[must_use]
    pub fn with_home(mut self, folder: impl AsRef<Path>) -> Workspace {
        self.guard.set_home(resolve::real_form(folder.as_ref()));
        self
    }
    /// Takes the session's rules: a file that they deny or ask about is `sensitive` when
    /// [`Workspace::effect_of_entry`] looks at it, so a search does not read what a read may not (C3).
    pub fn hold_rules(&self, rules: Arc<RuleSet>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }
    /// Takes the marked files of this workspace, in place of those it had (Z1).
    pub fn hold_marks(&self, marks: impl IntoIterator<Item = (String, String)>) {
        *self.marks.write().unwrap_or_else(PoisonError::into_inner) = marks.into_iter().collect();
    }
    /// Marks these files.
    pub fn mark(&self, paths: &[String], origin: &str) {
        let mut marks = self.marks.write().unwrap_or_else(PoisonError::into_inner);
        marks.extend(paths.iter().map(|path| (path.clone(), origin.to_string())));
    }
    /// Where the foreign words at `path` came from; of a folder that is listed or searched: those
    /// of anything below it.
    fn mark_origin(&self, path: &str, access: PathAccess) -> Option<String> {
        let marks = self.marks.read().unwrap_or_else(PoisonError::into_inner);
        if marks.is_empty() {
            return None;
        }
        // The empty path stands for everything: the list could not be read.
        if let Some(origin) = marks.get(path).or_else(|| marks.get("")) {
            return Some(origin.clone());
        }
        // What git ignores is marked as a folder, with a stroke at its end (A7).
        let above = path.match_indices('/').find_map(|(at, _)| marks.get(&path[..=at]));
        if let Some(origin) = above {
            return Some(origin.clone());
        }
        let prefix =
            if path.is_empty() || path == "." { String::new() } else { format!("{path}/") };
        let below =
            |marked: &&String| marked.starts_with(&prefix) && reads::is_listed(marked, &prefix);
        let found = marks.keys().find(|marked| access == PathAccess::List && below(marked))?;
        marks.get(found).cloned()
    }
    /// The marks of what lies below a folder.
    fn marks_below(&self, path: &str) -> impl Iterator<Item = (String, String)> + use<> {
        let marks = self.marks.read().unwrap_or_else(PoisonError::into_inner);
        let prefix =
            if path.is_empty() || path == "." { String::new() } else { format!("{path}/") };
        let below = marks.iter().filter(|(marked, _)| marked.starts_with(&prefix));
        let below: Vec<(String, String)> = below.map(|(a, b)| (a.clone(), b.clone())).collect();
        below.into_iter()
    }
    /// A path of an effect as the disk has it.
    fn absolute_path(&self, path: &str) -> PathBuf {
        if path == "." { self.root().to_path_buf() } else { self.root().join(path) }
    }
    /// Its root, absolute and without links.
    pub fn root(&self) -> &Path {
        &self.guard.roots[0].real
    }
    /// The folders that count as inside beside the root: absolute, without links, as they stand in the
    /// paths of effects.
    pub fn added_folders(&self) -> impl Iterator<Item = &str> {
        self.guard.roots.iter().skip(1).map(|root| root.text.as_str())
    }
    /// Where `path`, as a model or person wrote it, leads, and which list names it. Total: a path
    /// that cannot be used is an effect that the gate refuses.
    pub fn resolve(&self, path: &str, access: PathAccess) -> PathEffect {
        resolve::resolve_path(self, path, access)
    }
    /// The same for an access that covers everything below `path`. For a change it also looks at
    /// what is there: a folder that holds a closed path is closed itself.
    pub fn resolve_tree(&self, path: &str, access: PathAccess) -> PathEffect {
        resolve::with_below(self, self.resolve(path, access))
    }
    /// The effect of reading an entry that [`Workspace::walk`] found, without resolving it anew.
    /// Whoever reads many files for one call must pass over those that are `sensitive`: they ask
    /// a person, by name.
    pub fn effect_of_entry(&self, entry: &WorkspaceEntry) -> PathEffect {
        let verdict = self.locate(&entry.path).map(|located| {
            let seen =
                if entry.kind == EntryKind::Folder { PathKind::Folder } else { PathKind::File };
            self.guard.built_in(&located.spot, seen)
        });
        let verdict = verdict.unwrap_or_default();
        let outside =
            Path::new(&entry.path).is_absolute() && !self.is_under_root(entry.path.as_ref());
        PathEffect {
            path: entry.path.clone(),
            access: PathAccess::Read,
            place: if outside { PathPlace::Outside } else { PathPlace::Inside },
            recursive: false,
            ignored: verdict.ignored,
            protected: verdict.protected,
            sensitive: verdict.sensitive.or_else(|| self.closed_by_rule(&entry.path)),
            marked: self.mark_origin(&entry.path, PathAccess::Read),
        }
    }
    /// The rules of the session, if there are any.
    fn rules_here(&self) -> Option<Arc<RuleSet>> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner).clone();
        (!rules.is_empty()).then_some(rules)
    }
    fn closed_by_rule(&self, path: &str) -> Option<String> {
        closed_by(&*self.rules_here()?, path)
    }
    /// Whether a rule that names it lets a path be read.
    fn opened_by_rule(&self, path: &str) -> bool {
        let allows = |rules: Arc<RuleSet>| {
            matches!(rules.rule_path_use(path, PathUse::Read), Ruling::Allow(_))
        };
        self.rules_here().is_some_and(allows)
    }
    /// The list, line and pattern that decide about `path`: for `weir permissions explain`.
    pub fn explain(&self, path: &str, access: PathAccess) -> String {
        explain_effect(&self.resolve(path, access), access)
    }
    /// What is there, with its content. Files larger than `max` are refused.
    pub fn read(&self, at: &PathEffect, max: u64) -> Result<FileContent, FileError> {
        self.read_located(&self.open_way(at)?, max)
    }
    fn read_located(&self, located: &LocatedPath, max: u64) -> Result<FileContent, FileError> {
        let (handle, stat) = match beneath::probe_path(self.anchor_fd(located), &located.rel) {
            Ok(found) => found,
            Err(e) if is_absence(e) => return Ok(FileContent::Absent),
            Err(e) => return Err(self.file_error("read", located, e)),
        };
        match beneath::kind_of(&stat) {
            FileType::Directory => Ok(FileContent::Folder),
            FileType::Symlink => beneath::read_link(handle.as_fd())
                .map(|target| FileContent::Link { target })
                .map_err(|e| self.file_error("read", located, e)),
            FileType::RegularFile => {
                let (file, stat) = self.open_regular(located)?;
                let bytes = read_bounded(located, file, max)?;
                Ok(FileContent::File { bytes: bytes.into(), mode: beneath::mode_of(&stat) })
            }
            other => Err(wrong_kind(located, other, "a file")),
        }
    }
    /// What is there, without reading it whole into memory (files are hashed in pieces).
    pub fn path_image(&self, at: &PathEffect) -> Result<FileState, FileError> {
        let located = self.open_way(at)?;
        self.image_of(&located)
    }
    /// What is there under this very name: a canonical path, as a snapshot has it. No link is
    /// followed, and behind one that stands in its way there is nothing.
    pub(crate) fn read_by_name(&self, path: &str, max: u64) -> Result<FileContent, FileError> {
        let located = self.locate(path)?;
        let seen = resolve::kind_of_path(&located.spot.real);
        if let Some(why) = self.guard.judge(&located.spot, seen).ignored {
            return Err(FileError::Refused { path: located.shown, why });
        }
        match beneath::probe_path(self.anchor_fd(&located), &located.rel) {
            Err(e) if is_absence_by_name(e) => Ok(FileContent::Absent),
            Ok(_) | Err(_) => self.read_located(&located, max),
        }
    }
    /// The same as an image.
    fn image_by_name(&self, located: &LocatedPath) -> Result<FileState, FileError> {
        match beneath::probe_path(self.anchor_fd(located), &located.rel) {
            Err(e) if is_absence_by_name(e) => Ok(FileState::Absent),
            Ok(_) | Err(_) => self.image_of(located),
        }
    }
    /// Whether something that is no folder stands where a path has a folder, and which path that is.
    pub(crate) fn in_the_way(&self, path: &str) -> Option<String> {
        let located = self.locate(path).ok()?;
        let above: Vec<&Path> = located.rel.ancestors().skip(1).collect();
        let reals: Vec<&Path> = located.spot.real.ancestors().skip(1).collect();
        let mut ways = above.into_iter().zip(reals).rev();
        let blocks = |rel: &Path| match beneath::probe_path(self.anchor_fd(&located), rel) {
            Ok((_, stat)) => beneath::kind_of(&stat) != FileType::Directory,
            Err(error) => error == Errno::LOOP,
        };
        let blocked = ways.find(|(rel, _)| !rel.as_os_str().is_empty() && blocks(rel));
        blocked.map(|(_, real)| self.guard.shown_path(&self.guard.spot_of(real.to_path_buf())))
    }
    /// What is there, without looking into it. `NotFound` when there is nothing.
    pub fn stat_entry(&self, at: &PathEffect) -> Result<WorkspaceEntry, FileError> {
        let located = self.open_way(at)?;
        let (_, stat) = beneath::probe_path(self.anchor_fd(&located), &located.rel)
            .map_err(|e| self.file_error("look at", &located, e))?;
        Ok(walk::entry_from_stat(located.shown, &stat))
    }
    /// The file itself, opened for reading: for tools that read in pieces.
    pub fn open_file(&self, at: &PathEffect) -> Result<std::fs::File, FileError> {
        let located = self.open_way(at)?;
        self.open_regular(&located).map(|(file, _)| file)
    }
    /// The entries in (and below) a folder, visible ones only.
    pub fn walk(&self, at: &PathEffect, options: WalkOptions) -> Result<WorkspaceWalk, FileError> {
        self.walk_towards(at, &[], options)
    }
    /// The same, where only what lies on the way through these folders, and below the last of them, is
    /// wanted: nothing beside it is looked at.
    pub fn walk_towards(
        &self,
        at: &PathEffect,
        way: &[&str],
        options: WalkOptions,
    ) -> Result<WorkspaceWalk, FileError> {
        let located = self.open_way(at)?;
        walk::walk_folder(self, &located, way, options)
    }
    /// Makes the changes that `permit` was given for, after checking that every path still holds
    /// what it held when the call was judged. Files are written to a temporary file beside the
    /// target, synced, renamed; mode bits are kept; parents are created. A deleted file goes
    /// to the trash in the state directory by way of the checkpoint that was taken before.
    /// `contents` has the new bytes of every changed file by path; a file that only moves needs
    /// none. Returns the changed paths.
    ///
    /// # Errors
    /// Nothing was changed when the check failed. When a later step fails, what was already done
    /// is put back before the error is returned.
    pub fn apply_permitted_changes(
        &self,
        permit: &Permit,
        contents: &BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Vec<String>, FileError> {
        let effects = permit.effects();
        changes::check_within_effects(&effects.changes, &effects.paths)?;
        let label = format!("{}-{}", permit.session(), permit.call());
        changes::apply_in_editor(self, &effects.changes, contents, &label)
    }
    /// The same for the engine's own restores and roll-forwards, which have no permit: each change
    /// is made only where the disk holds `before`.
    pub fn apply_changes(
        &self,
        changes: &[PlannedChange],
        contents: &BTreeMap<String, Arc<[u8]>>,
    ) -> Result<Vec<String>, FileError> {
        changes::apply_changes(self, changes, contents, "restored")
    }
    /// Whether none of `changes` stands on the disk: they failed, and all of it was put back.
    pub(crate) fn holds_none_of(&self, changes: &[PlannedChange]) -> bool {
        let stands = |change: &PlannedChange| {
            let found = self.locate(&change.path).and_then(|at| self.image_by_name(&at));
            found.map_or(true, |found| found == change.after)
        };
        !changes.iter().any(|change| change.before != change.after && stands(change))
    }
    /// Removes what a killed process left beside these paths while it made the changes.
    pub fn sweep_leftovers(&self, changes: &[PlannedChange]) {
        for located in changes.iter().filter_map(|change| self.locate(&change.path).ok()) {
            let above = located.rel.ancestors().zip(located.spot.real.ancestors()).skip(1);
            for (folder, real) in above {
                if let Ok(handle) = beneath::open_folder(self.anchor_fd(&located), folder) {
                    temporary::sweep_folder(self, handle.as_fd(), real);
                }
            }
        }
    }
    /// Writes one of Weir's own files below `.weir/` (externalised results): not for tools.
    pub fn write_own(&self, path: &str, text: &str) -> Result<(), FileError> {
        own::write_own_file(self, path, text.as_bytes())
    }
    /// The same of any bytes.
    pub fn write_own_bytes(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        own::write_own_file(self, path, bytes)
    }
    /// Removes a folder below `.weir/tmp/`: not for tools.
    pub fn remove_own(&self, path: &str) -> Result<(), FileError> {
        own::remove(self, path)
    }

    fn is_under_root(&self, path: &Path) -> bool {
        let roots = self.guard.roots.iter().map(|root| root.real.as_path());
        roots.chain(self.given.iter().map(PathBuf::as_path)).any(|root| path.starts_with(root))
    }
    fn anchor_fd(&self, located: &LocatedPath) -> BorrowedFd<'_> {
        self.anchor_of(located.spot.root)
    }
    fn anchor_of(&self, root: Option<usize>) -> BorrowedFd<'_> {
        root.map_or(self.top.as_fd(), |i| self.anchors[i].as_fd())
    }
    /// Where a canonical path, as [`PathEffect::path`] has it, is reached.
    fn locate(&self, path: &str) -> Result<LocatedPath, FileError> {
        let refuse = |why: &str| FileError::Refused { path: path.to_owned(), why: why.to_owned() };
        let plain = |text: &str| {
            beneath::plain_parts(text).ok_or_else(|| refuse("it was not resolved before"))
        };
        if path.contains('\0') {
            return Err(refuse("it contains a NUL byte"));
        }
        let (root, below) = match path.strip_prefix('/') {
            None => (Some(0), path),
            Some(from_top) => {
                let rest_in = |text: &str| {
                    let text = text.trim_end_matches('/');
                    path.strip_prefix(text).filter(|r| r.is_empty() || r.starts_with('/'))
                };
                let best = (0..self.guard.roots.len())
                    .filter_map(|i| Some((i, rest_in(&self.guard.roots[i].text)?)))
                    .min_by_key(|(_, rest)| rest.len());
                best.map_or((None, from_top), |(i, rest)| (Some(i), rest.trim_start_matches('/')))
            }
        };
        let canonical = plain(below)?;
        let base = root.map_or(Path::new("/"), |i| self.guard.roots[i].real.as_path());
        let rel = resolve::real_names(base, &canonical);
        let spot = PathSpot { root, rel: guard::nfc_text(&rel), real: base.join(&rel) };
        let shown = self.guard.shown_path(&spot);
        Ok(LocatedPath { spot, rel, shown })
    }
    /// The same for an effect that was judged; closed paths are refused again.
    fn open_way(&self, at: &PathEffect) -> Result<LocatedPath, FileError> {
        if let Some(why) = &at.ignored {
            return Err(FileError::Refused { path: at.path.clone(), why: why.clone() });
        }
        let located = self.locate(&at.path)?;
        if located.spot.root.is_none() && at.place == PathPlace::Inside {
            let why = "it lies outside the workspace".to_owned();
            return Err(FileError::Refused { path: at.path.clone(), why });
        }
        let seen = resolve::kind_of_path(&located.spot.real);
        match self.guard.judge(&located.spot, seen).ignored {
            Some(why) => Err(FileError::Refused { path: located.shown, why }),
            None => Ok(located),
        }
    }
    fn open_regular(
        &self,
        located: &LocatedPath,
    ) -> Result<(std::fs::File, rustix::fs::Stat), FileError> {
        let opened = beneath::open_regular(self.anchor_fd(located), &located.rel);
        let (file, stat) = opened.map_err(|e| match e {
            Ok(kind) => wrong_kind(located, kind, "a file"),
            Err(e) => self.file_error("read", located, e),
        })?;
        if self.guard.is_closed_twin(&stat) {
            let why = "it is a hard link to a key file or to Weir's own state".to_owned();
            return Err(FileError::Refused { path: located.shown.clone(), why });
        }
        Ok((file, stat))
    }
    fn image_of(&self, located: &LocatedPath) -> Result<FileState, FileError> {
        let (handle, stat) = match beneath::probe_path(self.anchor_fd(located), &located.rel) {
            Ok(found) => found,
            Err(e) if is_absence(e) => return Ok(FileState::Absent),
            Err(e) => return Err(self.file_error("read", located, e)),
        };
        match beneath::kind_of(&stat) {
            FileType::Directory => Ok(FileState::Folder),
            FileType::Symlink => beneath::read_link(handle.as_fd())
                .map(|target| FileState::Link { target })
                .map_err(|e| self.file_error("read", located, e)),
            FileType::RegularFile => {
                let (mut file, stat) = self.open_regular(located)?;
                let (bytes, sha256) =
                    beneath::hash(&mut file).map_err(|e| io_error("read", &located.shown, &e))?;
                Ok(FileState::File { sha256, bytes, mode: beneath::mode_of(&stat) })
            }
            other => Err(wrong_kind(located, other, "a file")),
        }
    }
    /// What an error of the system means for the model.
    fn file_error(&self, doing: &'static str, located: &LocatedPath, error: Errno) -> FileError {
        let path = located.shown.clone();
        match error {
            Errno::NOENT | Errno::NOTDIR => {
                FileError::NotFound { path, hint: hint::not_found_hint(self, located) }
            }
            Errno::LOOP | Errno::XDEV => FileError::Refused {
                path,
                why: "a symbolic link was put in its way; resolve it again".to_owned(),
            },
            other => io_error(doing, &path, &other.into()),
        }
    }
}

/// The rule that closes a path to reads.
fn closed_by(rules: &RuleSet, path: &str) -> Option<String> {
    match rules.rule_path_use(path, PathUse::Read) {
        Ruling::Deny(rule) | Ruling::Ask(rule) => Some(rule.to_string()),
        Ruling::Allow(_) | Ruling::Silent => None,
    }
}

fn explain_effect(effect: &PathEffect, access: PathAccess) -> String {
    let place = match effect.place {
        PathPlace::Inside => "in the workspace",
        PathPlace::Outside => "outside the workspace",
        PathPlace::Escapes => "outside the workspace, reached through a link",
    };
    let mut text = format!("{} ({place}): ", effect.path);
    match (&effect.ignored, &effect.protected, &effect.sensitive) {
        (Some(why), _, _) => text.push_str(&format!("ignored, so never used: {why}")),
        (None, Some(why), _) if access.is_write() => {
            text.push_str(&format!("protected, so never written: {why}"));
        }
        (None, _, Some(why)) => text.push_str(&format!("asks a person: {why}")),
        (None, Some(why), None) => {
            text.push_str(&format!("may be read; protected from writes: {why}"));
        }
        (None, None, None) => text.push_str("no list names it; rules and mode decide"),
    }
    text
}

fn open_folder(folder: &Path) -> Result<Arc<FolderHandle>, String> {
    FolderHandle::open(folder).map_err(|e| unusable_folder_text(folder, &e.into()))
}

fn unusable_folder_text(folder: &Path, error: &std::io::Error) -> String {
    let folder = folder.display();
    let remedy = match error.kind() {
        std::io::ErrorKind::NotFound => "create it, or name one that exists",
        std::io::ErrorKind::NotADirectory => "name the folder, not a file in it",
        std::io::ErrorKind::PermissionDenied => "make it readable for this user",
        _ => "name another folder",
    };
    format!("the workspace {folder} cannot be used: {error}; {remedy}")
}

fn is_absence(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR)
}

/// Whether nothing is there under this very name: also where a link stands in its way, whatever lies
/// behind that.
fn is_absence_by_name(error: Errno) -> bool {
    is_absence(error) || error == Errno::LOOP
}

fn io_error(doing: &'static str, path: &str, error: &std::io::Error) -> FileError {
    FileError::Io { doing, path: path.to_owned(), why: error.to_string() }
}

fn wrong_kind(located: &LocatedPath, found: FileType, expected: &'static str) -> FileError {
    let found = match found {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    };
    FileError::WrongKind { path: located.shown.clone(), found: found.to_owned(), expected }
}

fn read_bounded(
    located: &LocatedPath,
    file: std::fs::File,
    max: u64,
) -> Result<Vec<u8>, FileError> {
    let io = |e: std::io::Error| io_error("read", &located.shown, &e);
    let too_large = |bytes| FileError::TooLarge { path: located.shown.clone(), bytes, max };
    let bytes = file.metadata().map_err(io)?.len();
    if bytes > max {
        return Err(too_large(bytes));
    }
    // It may grow while it is read, and some files say 0 whatever they hold.
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.take(max.saturating_add(1)).read_to_end(&mut content).map_err(io)?;
    if content.len() as u64 > max {
        return Err(too_large(content.len() as u64));
    }
    Ok(content)
}
