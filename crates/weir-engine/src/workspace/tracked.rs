//! Hidden files that git keeps a copy of (A13): who can read the objects of a repository reads what
//! the ignore list, the rules and the table of keys hide in its folder.
//!
//! Told from the index alone: what is in an old commit only is not known here. Not here: which
//! command may read objects all the same.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::governance::rules::RuleSet;

use super::Workspace;
use super::credentials::is_fixture;
use super::guard::{Seen, Spot, said_of};
use super::lists::{IGNORE_LIST, List};
use super::repositories::{Meets, meets_history, runs_programs};
use super::survey::{Stamp, file_time, stamp_of};
use crate::git_index;

/// Largest index that is read. A larger one counts as holding what is hidden.
const INDEX_BYTES_MAX: u64 = 512 << 20;
/// Largest `.git` that is a file, or `commondir`.
const POINTER_BYTES_MAX: usize = 4096;
/// Indexes of which is kept what they hide.
const INDEXES_KEPT_MAX: usize = 64;
/// Parts of an index that is split.
const SHARED_INDEX: &str = "sharedindex.";

/// A repository that keeps hidden files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keeping {
    /// The folder of its objects.
    pub(super) objects: PathBuf,
    /// The hidden files, as models and people see them.
    pub(super) hidden: Vec<String>,
    /// The command runs git, as far as its words tell.
    pub(super) git: bool,
}

/// Whether a folder is closed as a whole, and the lists that hold in it.
struct Folder {
    closed: bool,
    hiding: Vec<(usize, Arc<List>)>,
    /// Its own.
    own: Option<Arc<List>>,
}

/// What the repository whose `.git` lies in `folder` keeps of what is hidden, if anything and if
/// the command could read more of it than names.
pub(super) fn keeping(workspace: &Workspace, folder: &Path, command: &str) -> Option<Keeping> {
    let git = internals(&folder.join(".git"))?;
    let common = common_of(&git);
    let meets = meets_history(command, runs_programs(&common));
    if meets == Meets::Names {
        return None;
    }
    let mut hidden: Vec<String> = Vec::new();
    for index in indexes(&git) {
        if index.symlink_metadata().is_ok_and(|meta| meta.len() > INDEX_BYTES_MAX) {
            hidden.push(format!("{} is too large to look", workspace.shown_at(&index)));
            continue;
        }
        hidden.extend(workspace.tracked.hidden(workspace, folder, &index).iter().cloned());
    }
    hidden.sort();
    hidden.dedup();
    let objects = common.join("objects");
    (!hidden.is_empty()).then_some(Keeping { objects, hidden, git: meets == Meets::Contents })
}

/// What indexes were found to track of what is hidden, as long as index, lists and rules are the same.
#[derive(Debug, Default)]
pub(super) struct Tracked(Mutex<HashMap<PathBuf, Known>>);

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    rules: Option<Arc<RuleSet>>,
    /// The folders of the files, with the list of each.
    lists: Vec<(PathBuf, Option<Arc<List>>)>,
    hidden: Arc<[String]>,
}

impl Known {
    fn holds(&self, workspace: &Workspace, stamp: Stamp) -> bool {
        let same_list = |(folder, list): &(PathBuf, Option<Arc<List>>)| match (
            list,
            workspace.guard.lists.load(folder, IGNORE_LIST),
        ) {
            (None, None) => true,
            (Some(known), Some(now)) => Arc::ptr_eq(known, &now),
            (Some(_), None) | (None, Some(_)) => false,
        };
        let same_rules = match (&self.rules, workspace.rules_here()) {
            (None, None) => true,
            (Some(known), Some(now)) => Arc::ptr_eq(known, &now),
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.stamp == stamp && same_rules && self.lists.iter().all(same_list)
    }
}

impl Tracked {
    /// The hidden files of an index of the repository in `top`.
    fn hidden(&self, workspace: &Workspace, top: &Path, index: &Path) -> Arc<[String]> {
        let now = file_time();
        let Some(stamp) = std::fs::File::open(index).ok().as_ref().and_then(stamp_of) else {
            return Arc::default();
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(index).filter(|known| known.holds(workspace, stamp)) {
            return known.hidden.clone();
        }
        let rules = workspace.rules_here();
        let Ok(bytes) = std::fs::read(index) else { return Arc::default() };
        let (hidden, lists) = match git_index::entries(&bytes) {
            Some(entries) => among(workspace, top, &entries),
            None => {
                let said = format!("{} is not understood", workspace.shown_at(index));
                (vec![said], Vec::new())
            }
        };
        let hidden: Arc<[String]> = hidden.into();
        if !stamp.is_racy(now) {
            if kept.len() >= INDEXES_KEPT_MAX {
                kept.clear();
            }
            let known = Known { stamp, rules, lists, hidden: hidden.clone() };
            kept.insert(index.to_path_buf(), known);
        }
        hidden
    }
}

type Lists = Vec<(PathBuf, Option<Arc<List>>)>;

/// Those of the tracked files that are hidden, and the lists that were asked.
fn among(
    workspace: &Workspace,
    top: &Path,
    entries: &[git_index::Tracked],
) -> (Vec<String>, Lists) {
    let mut folders: BTreeMap<PathBuf, Folder> = BTreeMap::new();
    let mut hidden = Vec::new();
    for entry in entries {
        let text = entry.text();
        let real = top.join(text.as_ref());
        let Some(parent) = real.parent() else { continue };
        let spot = workspace.guard.spot(real.clone());
        let folder = enter(workspace, parent, &mut folders);
        let shown = workspace.guard.shown(&spot);
        let built_in = || workspace.guard.hides_entry(&spot, Seen::File) && !is_fixture(&shown);
        let closed = folder.closed
            || built_in()
            || (workspace.guard.may_hold_secrets(&spot, Seen::File) && !is_fixture(&shown))
            || workspace.closed_by_rule(&shown).is_some()
            || said_of(&folder.hiding, &spot.rel, false).is_some();
        // A rule of the person's that names it says that it is no secret from this agent.
        if closed && !workspace.opened_by_rule(&shown) {
            hidden.push(shown);
        }
    }
    let lists = folders.into_iter().map(|(path, folder)| (path, folder.own)).collect();
    (hidden, lists)
}

/// What holds in a folder, from what holds in those above it: each is looked at once.
fn enter<'a>(
    workspace: &Workspace,
    at: &Path,
    folders: &'a mut BTreeMap<PathBuf, Folder>,
) -> &'a Folder {
    if !folders.contains_key(at) {
        let spot = workspace.guard.spot(at.to_path_buf());
        let above = at.parent().filter(|_| spot.root.is_some() && !spot.rel.is_empty());
        let (mut closed, mut hiding) = match above {
            Some(above) => {
                let above = enter(workspace, above, folders);
                (above.closed, above.hiding.clone())
            }
            None => (workspace.guard.built_in(&spot, Seen::Folder).ignored.is_some(), Vec::new()),
        };
        closed |= !spot.rel.is_empty()
            && (is_closed(workspace, &spot, Seen::Folder)
                || said_of(&hiding, &spot.rel, true).is_some());
        let begin = if spot.rel.is_empty() { 0 } else { spot.rel.len() + 1 };
        let own = workspace.guard.lists.load(at, IGNORE_LIST);
        hiding.extend(own.clone().map(|list| (begin, list)));
        folders.insert(at.to_path_buf(), Folder { closed, hiding, own });
    }
    &folders[at]
}

fn is_closed(workspace: &Workspace, spot: &Spot, seen: Seen) -> bool {
    workspace.guard.hides_entry(spot, seen) || is_closed_beside(workspace, spot, seen)
}

/// What closes an entry beside the tables of keys and the lists.
fn is_closed_beside(workspace: &Workspace, spot: &Spot, seen: Seen) -> bool {
    workspace.guard.may_hold_secrets(spot, seen)
        || workspace.closed_by_rule(&workspace.guard.shown(spot)).is_some()
}

/// The folder that `.git` is, or names.
pub(super) fn internals(git: &Path) -> Option<PathBuf> {
    let meta = git.symlink_metadata().ok()?;
    if meta.is_dir() {
        return Some(git.to_path_buf());
    }
    let to = pointer(git)?;
    Some(git.parent()?.join(to.strip_prefix("gitdir:").unwrap_or(&to).trim()))
}

/// The folder that keeps the objects and branches of a repository, which a work tree shares.
pub(super) fn common_of(git: &Path) -> PathBuf {
    pointer(&git.join("commondir")).map_or_else(|| git.to_path_buf(), |to| git.join(to))
}

/// What a small file of git names.
pub(super) fn pointer(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.len() <= POINTER_BYTES_MAX)?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn indexes(git: &Path) -> Vec<PathBuf> {
    let shared = git.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_shared = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SHARED_INDEX))
    };
    std::iter::once(git.join("index")).chain(shared.filter(is_shared)).collect()
}
