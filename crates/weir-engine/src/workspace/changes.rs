//! Makes a set of changes: checks all of them first, then all or none (G7, Z6, D4).
//!
//! Order: what must make room, then folders and files from the top down, then removals from the
//! bottom up. Single steps and how each is taken back are in `steps`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::record::sha256_hex;
use weir_core::tool::{FileState, PathEffect, PlannedChange};

use super::guard::PathKind;
use super::steps::{self, DoneSteps};
use super::{FileError, LocatedPath, Workspace, resolve};

/// One change, found and checked.
pub(super) struct ChangeStep<'a> {
    pub(super) at: LocatedPath,
    pub(super) before: &'a FileState,
    pub(super) after: &'a FileState,
    /// New content, when it is a file that is written.
    pub(super) bytes: Option<Arc<[u8]>>,
    /// The step whose file comes here instead.
    pub(super) source: Option<usize>,
    /// Its file goes to another step.
    pub(super) is_source: bool,
}

impl ChangeStep<'_> {
    fn has_change(&self) -> bool {
        self.before != self.after
    }
    /// A folder gives way to something else, or something else to a folder.
    fn makes_room(&self) -> bool {
        let folder = |image: &FileState| matches!(image, FileState::Folder);
        let absent = |image: &FileState| matches!(image, FileState::Absent);
        !absent(self.before) && !absent(self.after) && folder(self.before) != folder(self.after)
    }
}

/// Whether `changes` lie within the effects that were judged.
pub(super) fn check_within_effects(
    changes: &[PlannedChange],
    judged: &[PathEffect],
) -> Result<(), FileError> {
    let writes: Vec<&PathEffect> = judged.iter().filter(|at| at.access.is_write()).collect();
    for change in changes {
        let path = Path::new(&change.path);
        let is_covered = writes.iter().any(|at| {
            at.path == change.path
                || (at.recursive && (at.path == "." || path.starts_with(&at.path)))
                // Folders on the way to a judged path come into being with it.
                || (change.after == FileState::Folder && Path::new(&at.path).starts_with(path))
        });
        if !is_covered && change.before != change.after {
            let why = "the change is not among the effects that were judged".to_owned();
            return Err(FileError::Refused { path: change.path.clone(), why });
        }
    }
    Ok(())
}

/// As [`apply_changes`], where an editor may have text of these files that is not saved yet.
pub(super) fn apply_in_editor(
    workspace: &Workspace,
    changes: &[PlannedChange],
    contents: &BTreeMap<String, Arc<[u8]>>,
    label: &str,
) -> Result<Vec<String>, FileError> {
    workspace.save_what_was_judged(changes)?;
    let changed = apply_changes(workspace, changes, contents, label)?;
    workspace.follow_in_editor(changes, contents);
    Ok(changed)
}

/// Makes all `changes` or none. `label` names them in the trash.
pub(super) fn apply_changes(
    workspace: &Workspace,
    changes: &[PlannedChange],
    contents: &BTreeMap<String, Arc<[u8]>>,
    label: &str,
) -> Result<Vec<String>, FileError> {
    let steps = prepare_steps(workspace, changes, contents)?;
    let mut done = DoneSteps::default();
    match perform_steps(workspace, &steps, &mut done) {
        Ok(()) => {
            done.dispose_held(workspace, label);
            Ok(steps.iter().filter(|s| s.has_change()).map(|s| s.at.shown.clone()).collect())
        }
        Err(error) => Err(done.roll_back(workspace, error)),
    }
}

fn prepare_steps<'a>(
    workspace: &Workspace,
    changes: &'a [PlannedChange],
    contents: &BTreeMap<String, Arc<[u8]>>,
) -> Result<Vec<ChangeStep<'a>>, FileError> {
    let mut steps = Vec::with_capacity(changes.len());
    let mut named = BTreeSet::new();
    let cleared = cleared_ways(changes);
    for change in changes {
        let at = workspace.locate(&change.path)?;
        let is_cleared = change.before == FileState::Absent
            && Path::new(&change.path).ancestors().skip(1).any(|above| cleared.contains(above));
        let refuse = |why: String| FileError::Refused { path: at.shown.clone(), why };
        if at.rel.as_os_str().is_empty() {
            return Err(refuse("it is the root of the workspace".to_owned()));
        }
        if !named.insert((at.spot.root, at.rel.clone())) {
            return Err(refuse("it is changed twice by one call; make it one change".to_owned()));
        }
        let found = match is_cleared {
            true => PathKind::Missing,
            false => resolve::kind_of_path(&at.spot.real),
        };
        let seen = match found {
            PathKind::Missing if change.after == FileState::Folder => PathKind::Folder,
            seen => seen,
        };
        let verdict = workspace.guard.judge(&at.spot, seen);
        if let Some(why) = verdict.ignored.or(verdict.protected) {
            return Err(refuse(why));
        }
        let found = match is_cleared {
            true => workspace.image_by_name(&at)?,
            false => workspace.image_of(&at)?,
        };
        if found != change.before {
            return Err(FileError::Changed { path: at.shown });
        }
        let bytes = contents.get(&change.path).cloned();
        let (before, after) = (&change.before, &change.after);
        steps.push(ChangeStep { at, before, after, bytes, source: None, is_source: false });
    }
    find_moves(&mut steps);
    steps.iter().try_for_each(check_content)?;
    Ok(steps)
}

/// What is a link or a file now and becomes a folder: what is new below it has a free path then,
/// whatever lies behind a link.
fn cleared_ways(changes: &[PlannedChange]) -> BTreeSet<&Path> {
    let gives_way = |change: &&PlannedChange| {
        change.after == FileState::Folder
            && matches!(change.before, FileState::Link { .. } | FileState::File { .. })
    };
    changes.iter().filter(gives_way).map(|change| Path::new(&change.path)).collect()
}

/// Pairs each file that vanishes with an equal one that appears: that file is renamed, so that it
/// keeps its identity and its size does not matter.
fn find_moves(steps: &mut [ChangeStep<'_>]) {
    let rooms: Vec<PathBuf> =
        steps.iter().filter(|s| s.makes_room()).map(|s| s.at.rel.clone()).collect();
    let in_the_way = |step: &ChangeStep<'_>| rooms.iter().any(|room| step.at.rel.starts_with(room));
    let mut leaving: BTreeMap<(Option<usize>, &str, u32), Vec<usize>> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate().rev() {
        if let (FileState::File { sha256, mode, .. }, FileState::Absent) = (step.before, step.after)
            && !in_the_way(step)
        {
            leaving.entry((step.at.spot.root, sha256, *mode)).or_default().push(index);
        }
    }
    let mut pairs = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let (FileState::Absent, FileState::File { sha256, mode, .. }) = (step.before, step.after)
            && let Some(from) =
                leaving.get_mut(&(step.at.spot.root, sha256.as_str(), *mode)).and_then(Vec::pop)
        {
            pairs.push((index, from));
        }
    }
    for (to, from) in pairs {
        steps[to].source = Some(from);
        steps[from].is_source = true;
    }
}

/// What is written must be what was judged.
fn check_content(step: &ChangeStep<'_>) -> Result<(), FileError> {
    let FileState::File { sha256, bytes: length, .. } = step.after else { return Ok(()) };
    if !step.has_change() || step.source.is_some() {
        return Ok(());
    }
    let fits = match (&step.bytes, step.before) {
        (Some(bytes), _) => bytes.len() as u64 == *length && sha256_hex(bytes) == *sha256,
        // Only the mode changes.
        (None, FileState::File { sha256: before, .. }) => before == sha256,
        (None, FileState::Absent | FileState::Folder | FileState::Link { .. }) => false,
    };
    if fits {
        return Ok(());
    }
    let why = "its new content is not the one that was judged; make the call again".to_owned();
    Err(FileError::Refused { path: step.at.shown.clone(), why })
}

fn perform_steps(
    workspace: &Workspace,
    steps: &[ChangeStep<'_>],
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let mut order: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].has_change()).collect();
    order.sort_by(|a, b| steps[*a].at.rel.cmp(&steps[*b].at.rel));
    let rooms: Vec<&Path> = order
        .iter()
        .filter(|i| steps[**i].makes_room())
        .map(|i| steps[*i].at.rel.as_path())
        .collect();
    let leaves = |i: &usize| {
        let step = &steps[*i];
        step.makes_room() || (step.after == &FileState::Absent && !step.is_source)
    };
    let is_early = |i: &usize| rooms.iter().any(|room| steps[*i].at.rel.starts_with(room));
    let leaving_folders: BTreeSet<&Path> = order
        .iter()
        .filter(|i| {
            steps[**i].before == &FileState::Folder && steps[**i].after != &FileState::Folder
        })
        .map(|i| steps[*i].at.rel.as_path())
        .collect();
    for i in order.iter().rev().filter(|i| leaves(i) && is_early(i)) {
        steps::remove(workspace, &steps[*i], &leaving_folders, done)?;
    }
    for i in order.iter().filter(|i| steps[**i].after != &FileState::Absent) {
        let source = steps[*i].source.map(|from| &steps[from]);
        steps::put_in_place(workspace, &steps[*i], source, done)?;
    }
    for i in order.iter().rev().filter(|i| leaves(i) && !is_early(i)) {
        steps::remove(workspace, &steps[*i], &leaving_folders, done)?;
    }
    done.sync(workspace)
}

#[cfg(test)]
mod tests {
    use weir_core::tool::{PathAccess, PathPlace};

    use super::*;

    #[test]
    fn g1_changes_beyond_the_judged_effects_are_refused() {
        let judged = |path: &str, access, recursive| PathEffect {
            recursive,
            ..PathEffect::new(path, access, PathPlace::Inside)
        };
        let effects = [
            judged("src/new/a.rs", PathAccess::Create, false),
            judged("old", PathAccess::Delete, true),
            judged("notes.md", PathAccess::Read, false),
        ];
        let change =
            |path: &str, before, after| PlannedChange { path: path.to_owned(), before, after };
        let removed = |path: &str| change(path, FileState::Folder, FileState::Absent);
        let made = |path: &str| change(path, FileState::Absent, FileState::Folder);
        for fine in [removed("old"), removed("old/x/y"), made("src/new"), made("src/new/a.rs")] {
            assert_eq!(check_within_effects(&[fine], &effects), Ok(()));
        }
        for beyond in
            [removed("src/new"), removed("older"), removed("notes.md"), made("lib"), removed(".")]
        {
            assert!(
                check_within_effects(std::slice::from_ref(&beyond), &effects).is_err(),
                "{beyond:?}"
            );
        }
    }
}
