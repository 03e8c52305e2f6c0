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
use super::guard::{PathKind, PathSpot, said_of};
use super::lists::{IGNORE_LIST, PathList};
use super::repositories::{HistoryAccess, meets_history, runs_programs};
use super::survey::{SurveyedFileStamp, file_time, stamp_of};
use crate::git_index;
use crate::regular_file::{open_regular_file, read_regular_file};

/// Largest index that is read. A larger one counts as holding what is hidden.
const INDEX_BYTES_MAX: u64 = 512 << 20;
/// Largest `.git` that is a file, or `commondir`.
const POINTER_BYTES_MAX: u64 = 4096;
/// Indexes of which is kept what they hide.
const INDEXES_KEPT_MAX: usize = 64;
/// Parts of an index that is split.
const SHARED_INDEX: &str = "sharedindex.";

/// A repository that keeps hidden files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HiddenInHistory {
    /// The folder of its objects.
    pub(super) objects: PathBuf,
    /// The hidden files, as models and people see them.
    pub(super) hidden: Vec<String>,
    /// The command runs git, as far as its words tell.
    pub(super) git: bool,
}

/// Whether a folder is closed as a whole, and the lists that hold in it.
struct FolderRules {
    closed: bool,
    hiding: Vec<(usize, Arc<PathList>)>,
    /// Its own.
    own: Option<Arc<PathList>>,
}

/// What the repository whose `.git` lies in `folder` keeps of what is hidden, if anything and if
/// the command could read more of it than names.
pub(super) fn hidden_in_history(
    workspace: &Workspace,
    folder: &Path,
    command: &str,
) -> Option<HiddenInHistory> {
    let git = git_folder(&folder.join(".git"))?;
    let common = common_of(&git);
    let meets = meets_history(command, runs_programs(&common));
    if meets == HistoryAccess::Names {
        return None;
    }
    let mut hidden: Vec<String> = Vec::new();
    for index in index_files(&git) {
        if index.symlink_metadata().is_ok_and(|meta| meta.len() > INDEX_BYTES_MAX) {
            hidden.push(format!("{} is too large to look", workspace.shown_at(&index)));
            continue;
        }
        hidden.extend(workspace.tracked.hidden_files(workspace, folder, &index).iter().cloned());
    }
    hidden.sort();
    hidden.dedup();
    let objects = common.join("objects");
    (!hidden.is_empty()).then_some(HiddenInHistory {
        objects,
        hidden,
        git: meets == HistoryAccess::Contents,
    })
}

/// What indexes were found to track of what is hidden, as long as index, lists and rules are the same.
#[derive(Debug, Default)]
pub(super) struct TrackedCache(Mutex<HashMap<PathBuf, CachedIndex>>);

#[derive(Debug)]
struct CachedIndex {
    stamp: SurveyedFileStamp,
    rules: Option<Arc<RuleSet>>,
    /// The folders of the files, with the list of each.
    lists: Vec<(PathBuf, Option<Arc<PathList>>)>,
    hidden: Arc<[String]>,
}

impl CachedIndex {
    fn is_current(&self, workspace: &Workspace, stamp: SurveyedFileStamp) -> bool {
        let same_list = |(folder, list): &(PathBuf, Option<Arc<PathList>>)| match (
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

impl TrackedCache {
    /// The hidden files of an index of the repository in `top`.
    fn hidden_files(&self, workspace: &Workspace, top: &Path, index: &Path) -> Arc<[String]> {
        let now = file_time();
        let Some(stamp) = open_regular_file(index).ok().as_ref().and_then(stamp_of) else {
            return Arc::default();
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(index).filter(|known| known.is_current(workspace, stamp)) {
            return known.hidden.clone();
        }
        let rules = workspace.rules_here();
        let Ok(bytes) = read_regular_file(index, INDEX_BYTES_MAX) else { return Arc::default() };
        let (hidden, lists) = match git_index::parse_index_entries(&bytes) {
            Some(entries) => hidden_among(workspace, top, &entries),
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
            let known = CachedIndex { stamp, rules, lists, hidden: hidden.clone() };
            kept.insert(index.to_path_buf(), known);
        }
        hidden
    }
}

type ListsByFolder = Vec<(PathBuf, Option<Arc<PathList>>)>;

/// Those of the tracked files that are hidden, and the lists that were asked.
fn hidden_among(
    workspace: &Workspace,
    top: &Path,
    entries: &[git_index::IndexEntry],
) -> (Vec<String>, ListsByFolder) {
    let mut folders: BTreeMap<PathBuf, FolderRules> = BTreeMap::new();
    let mut hidden = Vec::new();
    for entry in entries {
        let text = entry.path_text();
        let real = top.join(text.as_ref());
        let Some(parent) = real.parent() else { continue };
        let spot = workspace.guard.spot_of(real.clone());
        let folder = enter_folder(workspace, parent, &mut folders);
        let shown = workspace.guard.shown_path(&spot);
        let built_in = || workspace.guard.hides_entry(&spot, PathKind::File) && !is_fixture(&shown);
        let closed = folder.closed
            || built_in()
            || (workspace.guard.may_hold_secrets(&spot, PathKind::File) && !is_fixture(&shown))
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
fn enter_folder<'a>(
    workspace: &Workspace,
    at: &Path,
    folders: &'a mut BTreeMap<PathBuf, FolderRules>,
) -> &'a FolderRules {
    if !folders.contains_key(at) {
        let spot = workspace.guard.spot_of(at.to_path_buf());
        let above = at.parent().filter(|_| spot.root.is_some() && !spot.rel.is_empty());
        let (mut closed, mut hiding) = match above {
            Some(above) => {
                let above = enter_folder(workspace, above, folders);
                (above.closed, above.hiding.clone())
            }
            None => {
                (workspace.guard.built_in(&spot, PathKind::Folder).ignored.is_some(), Vec::new())
            }
        };
        closed |= !spot.rel.is_empty()
            && (is_closed(workspace, &spot, PathKind::Folder)
                || said_of(&hiding, &spot.rel, true).is_some());
        let begin = if spot.rel.is_empty() { 0 } else { spot.rel.len() + 1 };
        let own = workspace.guard.lists.load(at, IGNORE_LIST);
        hiding.extend(own.clone().map(|list| (begin, list)));
        folders.insert(at.to_path_buf(), FolderRules { closed, hiding, own });
    }
    &folders[at]
}

fn is_closed(workspace: &Workspace, spot: &PathSpot, seen: PathKind) -> bool {
    workspace.guard.hides_entry(spot, seen) || is_closed_beside(workspace, spot, seen)
}

/// What closes an entry beside the tables of keys and the lists.
fn is_closed_beside(workspace: &Workspace, spot: &PathSpot, seen: PathKind) -> bool {
    workspace.guard.may_hold_secrets(spot, seen)
        || workspace.closed_by_rule(&workspace.guard.shown_path(spot)).is_some()
}

/// The folder that `.git` is, or names.
pub(super) fn git_folder(git: &Path) -> Option<PathBuf> {
    let meta = git.symlink_metadata().ok()?;
    if meta.is_dir() {
        return Some(git.to_path_buf());
    }
    let to = read_pointer(git)?;
    Some(git.parent()?.join(to.strip_prefix("gitdir:").unwrap_or(&to).trim()))
}

/// The folder that keeps the objects and branches of a repository, which a work tree shares.
pub(super) fn common_of(git: &Path) -> PathBuf {
    read_pointer(&git.join("commondir")).map_or_else(|| git.to_path_buf(), |to| git.join(to))
}

/// What a small file of git names.
pub(super) fn read_pointer(path: &Path) -> Option<String> {
    let bytes = read_regular_file(path, POINTER_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn index_files(git: &Path) -> Vec<PathBuf> {
    let shared = git.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_shared = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SHARED_INDEX))
    };
    std::iter::once(git.join("index")).chain(shared.filter(is_shared)).collect()
}
