//! Says of a path which list or built-in rule names it (G6, Z3), and nothing about what it holds.
//!
//! Built-in rules come first and no list lifts them. Of a list, the deepest file and the last
//! line that match decide, and nothing below an ignored folder can be taken out again, as in git.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Stat;
use unicode_normalization::UnicodeNormalization;

use super::credentials::{self, CredentialTable, TABLES, line_for};
use super::lists::{IGNORE_LIST, ListCache, ListVerdict, PROTECT_LIST, PathList};
use super::tree::FolderTree;
use super::twins::ClosedInodes;

/// Names of temporary files begin so; the process id and a number follow.
pub(super) const TEMPORARY_PREFIX: &str = ".weir-tmp-";

/// Why a path outside a bounded workspace is closed.
const OUTSIDE: &str = "it lies outside your folder, and your account works in that alone";

/// A path as the guard sees it: real, without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathSpot {
    /// The root it lies in.
    pub(super) root: Option<usize>,
    /// Below that root, or below `/` when it lies in none; NFC, `/` between parts, empty for the
    /// root itself.
    pub(super) rel: String,
    /// Absolute, with the names as the disk has them.
    pub(super) real: PathBuf,
}

/// What is known about the kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Folder,
    File,
    Missing,
}

/// Why a path is closed, for each of the three ways in which it can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PathVerdict {
    pub(super) ignored: Option<String>,
    pub(super) protected: Option<String>,
    pub(super) sensitive: Option<String>,
}

impl PathVerdict {
    fn closed_because(why: &str) -> PathVerdict {
        PathVerdict {
            ignored: Some(why.to_owned()),
            protected: Some(why.to_owned()),
            sensitive: None,
        }
    }
    /// Adds what `other` has and this has not.
    pub(super) fn join(&mut self, other: PathVerdict) {
        self.ignored = self.ignored.take().or(other.ignored);
        self.protected = self.protected.take().or(other.protected);
        self.sensitive = self.sensitive.take().or(other.sensitive);
    }
}

#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    pub(super) real: PathBuf,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct WorkspacePathGuard {
    pub(super) roots: Vec<WorkspaceRoot>,
    /// Weir's own folders, as text and as they are.
    own: Vec<String>,
    own_real: Vec<PathBuf>,
    /// Nothing outside the roots is for tools, whoever allows it (S9).
    bounded: bool,
    home: Option<PathBuf>,
    pub(super) lists: ListCache,
    pub(super) tree: FolderTree,
    twins: ClosedInodes,
}

impl WorkspacePathGuard {
    /// `roots` and `own` are real paths.
    pub(super) fn new(roots: Vec<PathBuf>, own: Vec<PathBuf>) -> WorkspacePathGuard {
        WorkspacePathGuard {
            roots: roots
                .into_iter()
                .map(|real| WorkspaceRoot { text: nfc_text(&real), real })
                .collect(),
            own: own.iter().map(|folder| nfc_text(folder)).collect(),
            own_real: own,
            bounded: false,
            home: std::env::home_dir(),
            lists: ListCache::default(),
            tree: FolderTree::default(),
            twins: ClosedInodes::default(),
        }
    }
    /// Whether an opened file with several names is a closed file under another name.
    pub(super) fn is_closed_twin(&self, stat: &Stat) -> bool {
        let is_closed =
            |device, inode| self.twins.is_closed(device, inode, self.home(), &self.own_real);
        stat.st_nlink > 1 && is_closed(stat.st_dev, stat.st_ino)
    }
    /// Weir's own folders.
    pub(super) fn own_folders(&self) -> &[PathBuf] {
        &self.own_real
    }
    /// Closes everything outside the roots.
    pub(super) fn close_outside(&mut self) {
        self.bounded = true;
    }
    /// Whether everything outside the roots is closed.
    pub(super) fn is_bounded(&self) -> bool {
        self.bounded
    }
    pub(super) fn set_home(&mut self, home: PathBuf) {
        self.home = Some(home);
    }
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where a real path lies.
    pub(super) fn spot_of(&self, real: PathBuf) -> PathSpot {
        let root = (0..self.roots.len())
            .filter(|i| real.starts_with(&self.roots[*i].real))
            .max_by_key(|i| self.roots[*i].real.as_os_str().len());
        let below = match root {
            Some(i) => real.strip_prefix(&self.roots[i].real).unwrap_or(&real),
            None => real.strip_prefix("/").unwrap_or(&real),
        };
        let rel = nfc_text(below);
        PathSpot { root, rel, real }
    }

    /// The path as models, people and journals see it.
    pub(super) fn shown_path(&self, spot: &PathSpot) -> String {
        match spot.root {
            Some(0) if spot.rel.is_empty() => ".".to_owned(),
            // A folder that is called `~` is not the home.
            Some(0) if spot.rel == "~" || spot.rel.starts_with("~/") => format!("./{}", spot.rel),
            Some(0) => spot.rel.clone(),
            Some(_) | None => absolute_text(self, spot),
        }
    }

    /// Everything that speaks about `spot`.
    pub(super) fn judge(&self, spot: &PathSpot, seen: PathKind) -> PathVerdict {
        let mut verdict = self.built_in(spot, seen);
        if verdict.ignored.is_none() {
            verdict.ignored = self.list_says(IGNORE_LIST, spot, seen);
        }
        if verdict.protected.is_none() {
            verdict.protected = self.list_says(PROTECT_LIST, spot, seen);
        }
        verdict
    }

    /// What no list can change.
    pub(super) fn built_in(&self, spot: &PathSpot, seen: PathKind) -> PathVerdict {
        let text = absolute_text(self, spot);
        if self.own.iter().any(|own| is_below(&text, own)) {
            return PathVerdict::closed_because("Weir's own state and settings are not for tools");
        }
        if self.bounded && spot.root.is_none() {
            return PathVerdict::closed_because(OUTSIDE);
        }
        let mut verdict = names_say(&spot.rel);
        let is_folder = seen != PathKind::File;
        let tables = &*TABLES;
        let from_top = text.trim_start_matches('/');
        let from_home = self.home.as_deref().and_then(|home| {
            spot.real.strip_prefix(home).ok().map(nfc_text).filter(|below| !below.is_empty())
        });
        // Inside a root the tables see the path below it; what is anchored at home or at the
        // machine sees all of it, so that a root chosen inside a key folder opens nothing.
        let is_fixture = seen != PathKind::Folder && is_fixture(spot);
        let closes = |line: &&str| !(is_fixture && credentials::names_a_key_file(line));
        let key = line_for(&tables.hidden, &spot.rel, is_folder)
            .filter(closes)
            .or_else(|| line_for(&tables.hidden_on_machine, from_top, is_folder))
            .or_else(|| line_for(&tables.hidden_at_home, from_home.as_deref()?, is_folder))
            .or_else(|| line_for(&tables.hidden, from_home.as_deref()?, is_folder).filter(closes));
        if let Some(line) = key {
            verdict.join(PathVerdict::closed_because(&format!("key or credential file ({line})")));
        } else if is_fixture && line_for(&tables.hidden, &spot.rel, is_folder).is_some() {
            verdict.sensitive =
                Some("it looks like a key, although it lies among tests".to_owned());
        }
        if let Some(line) = line_for(&tables.sensitive, &spot.rel, is_folder) {
            verdict.sensitive = Some(format!("it may hold secrets ({line})"));
        }
        verdict
    }

    /// The same as `built_in(..).ignored.is_some()` for an entry of a folder that is itself open:
    /// nothing above its own name is looked at, so that large trees are quick.
    pub(super) fn hides_entry(&self, spot: &PathSpot, seen: PathKind) -> bool {
        let name = spot.rel.rsplit('/').next().unwrap_or(&spot.rel);
        if names_say(name).ignored.is_some() || (self.bounded && spot.root.is_none()) {
            return true;
        }
        let text = absolute_text(self, spot);
        if self.own.iter().any(|own| is_below(&text, own)) {
            return true;
        }
        let tables = &*TABLES;
        let is_folder = seen != PathKind::File;
        let names =
            |table: &CredentialTable, path: &str| credentials::is_named_by(table, path, is_folder);
        let from_home = self.home.as_deref().and_then(|home| spot.real.strip_prefix(home).ok());
        let is_fixture = seen != PathKind::Folder && is_fixture(spot);
        let is_key = |path: &str| {
            credentials::line_of(&tables.hidden, path, is_folder)
                .is_some_and(|line| !(is_fixture && credentials::names_a_key_file(line)))
        };
        is_key(&spot.rel)
            || names(&tables.hidden_on_machine, text.trim_start_matches('/'))
            || from_home
                .map(nfc_text)
                .is_some_and(|below| names(&tables.hidden_at_home, &below) || is_key(&below))
    }

    /// An entry of a folder.
    pub(super) fn spot_inside(&self, folder: &PathSpot, name: &OsStr) -> PathSpot {
        let text = nfc_text(Path::new(name));
        let rel = if folder.rel.is_empty() { text } else { format!("{}/{text}", folder.rel) };
        PathSpot { root: folder.root, rel, real: folder.real.join(name) }
    }

    /// The same as `built_in(..).sensitive.is_some()` for an entry of a folder that is not.
    pub(super) fn may_hold_secrets(&self, spot: &PathSpot, seen: PathKind) -> bool {
        let is_folder = seen != PathKind::File;
        credentials::is_named_by(&TABLES.sensitive, &spot.rel, is_folder)
            || (is_fixture(spot)
                && !is_folder
                && credentials::is_named_by(&TABLES.hidden, &spot.rel, is_folder))
    }

    /// The same as `built_in(..).protected.is_some()` for an entry of a folder that is not, and that
    /// is not hidden.
    pub(super) fn protects_entry(&self, spot: &PathSpot) -> bool {
        names_say(spot.rel.rsplit('/').next().unwrap_or(&spot.rel)).protected.is_some()
    }

    /// The lists called `name` that speak about entries of `folder`, which is reached through no link, each
    /// with where paths below it begin. `None`: it lies in no root.
    pub(super) fn lists_for_entries(
        &self,
        name: &str,
        folder: &PathSpot,
    ) -> Option<Vec<(usize, Arc<PathList>)>> {
        let root = &self.roots[folder.root?];
        let below = folder.real.strip_prefix(&root.real).ok()?;
        let (mut at, mut begin) = (root.real.clone(), 0);
        let mut lists = Vec::new();
        for part in below.components() {
            lists.extend(self.lists.load(&at, name).map(|list| (begin, list)));
            at.push(part);
            let rest = folder.rel.get(begin..)?;
            begin += rest.find('/').unwrap_or(rest.len()) + 1;
        }
        lists.extend(self.lists.load(&at, name).map(|list| (begin, list)));
        Some(lists)
    }

    /// What the lists called `name` on the way from the root to `spot` say: file, line, pattern.
    fn list_says(&self, name: &str, spot: &PathSpot, seen: PathKind) -> Option<String> {
        let root = &self.roots[spot.root?];
        let mut folder = root.real.clone();
        let mut lists: Vec<(usize, Arc<PathList>)> = Vec::new();
        let mut begin = 0;
        let real_below = spot.real.strip_prefix(&root.real).ok()?;
        for part in real_below.components() {
            if let Some(list) = self.lists.load(&folder, name)
                && !is_behind_link(&root.real, &folder)
            {
                lists.push((begin, list));
            }
            let end = spot.rel[begin..].find('/').map_or(spot.rel.len(), |at| begin + at);
            let is_last = end == spot.rel.len();
            let is_folder = !is_last || seen != PathKind::File;
            // What does not exist yet may become either, so it must pass as both.
            let may_be_file = is_last && seen != PathKind::Folder;
            let path = &spot.rel[..end];
            let said =
                said_of(&lists, path, is_folder).or_else(|| said_of(&lists, path, !may_be_file));
            if let Some((list_at, said)) = said {
                return Some(format!("{}{name}:{said}", &spot.rel[..list_at]));
            }
            folder.push(part);
            begin = (end + 1).min(spot.rel.len());
        }
        None
    }
}

/// Whether a link stands between a root and a folder: what lies behind it is no list of that folder's,
/// and nothing is ever reached through it.
fn is_behind_link(root: &Path, folder: &Path) -> bool {
    folder.ancestors().take_while(|at| *at != root).any(Path::is_symlink)
}

/// The first list, deepest first, that has an opinion: where it lies, and what it says when that
/// is not an exception.
pub(super) fn said_of(
    lists: &[(usize, Arc<PathList>)],
    path: &str,
    is_folder: bool,
) -> Option<(usize, String)> {
    // A list that cannot be understood closes all below it; no deeper list takes that back.
    let deepest_first = lists.iter().rev();
    let broken = lists.iter().filter(|(_, list)| list.is_broken());
    for (at, list) in broken.chain(deepest_first) {
        match list.match_path(&path[*at..], is_folder) {
            ListVerdict::Nothing => {}
            ListVerdict::Excepted => return None,
            ListVerdict::Named(said) => return Some((*at, said)),
        }
    }
    None
}

fn names_say(rel: &str) -> PathVerdict {
    let mut verdict = PathVerdict::default();
    for part in rel.split('/') {
        if part.eq_ignore_ascii_case(".git") {
            verdict.join(PathVerdict::closed_because("the internals of .git are not for tools"));
        } else if part.starts_with(TEMPORARY_PREFIX) {
            verdict.join(PathVerdict::closed_because("it is the temporary file of a write"));
        } else if part.eq_ignore_ascii_case(".weir") {
            let why = "only a person changes the configuration in .weir".to_owned();
            verdict.protected.get_or_insert(why);
        } else if part.eq_ignore_ascii_case(IGNORE_LIST) || part.eq_ignore_ascii_case(PROTECT_LIST)
        {
            let why = "only a person changes the ignore and protect lists".to_owned();
            verdict.protected.get_or_insert(why);
        }
    }
    verdict
}

/// The whole path as text.
fn absolute_text(guard: &WorkspacePathGuard, spot: &PathSpot) -> String {
    let base = spot.root.map_or("", |i| guard.roots[i].text.trim_end_matches('/'));
    if spot.rel.is_empty() && !base.is_empty() {
        return base.to_owned();
    }
    format!("{base}/{}", spot.rel)
}

/// Whether it lies among the tests of a workspace.
fn is_fixture(spot: &PathSpot) -> bool {
    spot.root.is_some() && credentials::is_fixture(&spot.rel)
}

fn is_below(text: &str, folder: &str) -> bool {
    text.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Text of a path in NFC; what is not UTF-8 becomes replacement characters.
pub(super) fn nfc_text(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_ascii() { text.into_owned() } else { text.nfc().collect() }
}
