//! What a command made that is told by its name (A1, A5, D1), and what becomes of it: it is set aside or
//! named. Blocks. Not here: what else changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::baseline::{Base, Opening};
use super::compare::{Delta, Window, compare};
use super::history::{self, History};
use super::listed;
use crate::ports::{Content, SnapshotEntry};
use crate::workspace::Workspace;

/// Whose changes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// A command that ended.
    Command,
    /// A background job: what a person does meanwhile looks the same.
    Job,
}

/// What a comparison came to.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) delta: Delta,
    /// To be said of what is told by its name.
    pub(super) said: Option<String>,
    /// What later runs or instructs and was set aside, with all that lay in it.
    pub(super) aside: Vec<String>,
    /// What git ignores and was written under foreign words (A7): not kept, and marked as a whole.
    pub(super) written: Vec<String>,
    /// What there is now of what is told by its name.
    pub(super) governed: Option<Vec<String>>,
    /// What of the changed files in the work tree is as the repository had it before: nothing of the
    /// model's.
    pub(super) followed: BTreeSet<String>,
    /// What history has now of what later runs or instructs.
    pub(super) history: Option<History>,
}

/// What is different, and what is to be said of what is told by its name.
pub(super) fn compared(
    base: &mut Base,
    workspace: &Workspace,
    opening: &Opening,
    window: Window,
    of: Of,
) -> Result<Compared, String> {
    let mut delta = compare(base, workspace, window)?;
    let Some(before) = opening.governed.as_deref() else {
        return Ok(Compared { delta, ..Compared::default() });
    };
    // What was there and only came into view, because git does not ignore it any more, is not new.
    let known: HashSet<String> =
        before.iter().map(|path| workspace.shown_at(Path::new(path))).collect();
    let is_new = |entry: &SnapshotEntry| entry.before == Content::Absent;
    delta.entries.retain(|entry| !(is_new(entry) && known.contains(&entry.path)));
    let governed = workspace.governed();
    let (made, mut now) = (governed.made_since(before), governed.paths());
    // What is taken back is new when it comes again. The rest was met now: a job may be at work.
    let mut gone: HashSet<String> = HashSet::new();
    let mut said = Vec::new();
    let (lists, kept): (Vec<PathBuf>, Vec<PathBuf>) = made.lists.into_iter().partition(|path| {
        // At the top a list only closes more.
        !opening.approved && (of == Of::Command || !workspace.is_at_top(path))
    });
    let why = "only a person makes the lists of what is closed";
    said.extend(set_aside(workspace, &lists, &mut delta, why));
    gone.extend(lists.iter().map(|path| path.to_string_lossy().into_owned()));
    said.extend(named(workspace, &kept, why));
    said.extend(repositories(workspace, opening, &made.repositories, &mut delta, &mut gone));
    let changed = instructing(workspace, &delta, &made.instructs);
    let found = history::compared(workspace, opening, of, &governed, &changed);
    let history::Found { stored, followed, history } = found;
    base.history = history.clone().or_else(|| base.history.take());
    said.extend(told(&stored, &followed));
    let mut aside = Vec::new();
    if opening.takes_back() && of == Of::Command {
        let all = made.instructs.iter().flatten();
        let all = all.filter(|path| !followed.contains(&workspace.shown_at(path)));
        gone.extend(all.map(|path| path.to_string_lossy().into_owned()));
        let others = to_set_aside(workspace, made.instructs, &delta, &followed);
        aside = shown(workspace, &others);
        let why = "it would later run or instruct, and foreign words stand in the context";
        said.extend(set_aside(workspace, &others, &mut delta, why));
    }
    now.retain(|path| !gone.contains(path));
    let said = (!said.is_empty()).then(|| said.join("\n"));
    let mut written = match opening.foreign || opening.carries {
        true => written(workspace, &delta.ignored, window.from),
        false => Vec::new(),
    };
    written.extend(stored);
    Ok(Compared { delta, said, aside, written, governed: Some(now), followed, history })
}

/// What becomes of repositories that a command made.
fn repositories(
    workspace: &Workspace,
    opening: &Opening,
    made: &[PathBuf],
    delta: &mut Delta,
    gone: &mut HashSet<String>,
) -> Option<String> {
    if !opening.takes_back() {
        let why = "git takes it for a repository, and whoever uses git there runs the programs that \
                   its configuration names";
        return named(workspace, made, why);
    }
    let why = "git would take it for a repository and run the programs that its configuration names, \
               and foreign words stand in the context";
    gone.extend(made.iter().map(|path| path.to_string_lossy().into_owned()));
    set_aside(workspace, made, delta, why)
}

/// What is to be said of what git has now, and of what the work tree has of it.
fn told(stored: &[String], followed: &BTreeSet<String>) -> Vec<String> {
    let mut said = Vec::new();
    if !stored.is_empty() {
        said.push(format!(
            "[Now in git, in its index or in a commit: {}: it later runs or instructs, and foreign words \
             stand in the context. Show the person what you stored.]",
            listed(stored)
        ));
    }
    if !followed.is_empty() {
        let named: Vec<String> = followed.iter().cloned().collect();
        said.push(format!(
            "[Changed as the repository has it: {}: it later runs or instructs.]",
            listed(&named)
        ));
    }
    said
}

/// The topmost of each group that neither the checkpoint takes back nor follows the repository.
fn to_set_aside(
    workspace: &Workspace,
    groups: Vec<Vec<PathBuf>>,
    delta: &Delta,
    followed: &BTreeSet<String>,
) -> Vec<PathBuf> {
    let kept: HashSet<&str> = delta.entries.iter().map(|entry| entry.path.as_str()).collect();
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let others = groups.into_iter().filter(|group| {
        let follows = |path: &PathBuf| followed.contains(&workspace.shown_at(path));
        let holds = group.iter().any(follows);
        let is_done = |path: &PathBuf| {
            kept.contains(workspace.shown_at(path).as_str())
                || follows(path)
                || (holds && is_folder(path))
        };
        !group.iter().all(is_done)
    });
    others.filter_map(|group| group.into_iter().next()).collect()
}

/// What of the work tree changed that later runs or instructs, by path: what is there now, nothing where
/// there is no file.
fn instructing(
    workspace: &Workspace,
    delta: &Delta,
    made: &[Vec<PathBuf>],
) -> BTreeMap<String, Option<PathBuf>> {
    let file =
        |path: PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file()).then_some(path);
    let changed = delta.entries.iter().filter(|entry| workspace.instructs(&entry.path).is_some());
    let changed =
        changed.filter(|entry| !matches!(entry.after, Content::Folder | Content::Link { .. }));
    let changed = changed.map(|entry| (entry.path.clone(), file(workspace.on_disk(&entry.path))));
    let made = made
        .iter()
        .flatten()
        .filter_map(|path| Some((workspace.shown_at(path), Some(file(path.clone())?))));
    changed.chain(made).collect()
}

impl Compared {
    /// Whether a path went with something that was set aside.
    pub(super) fn is_aside(aside: &[String], path: &str) -> bool {
        let below = |above: &String| {
            path.strip_prefix(above.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        aside.iter().any(below)
    }
}

/// What of this was written since, folders with a stroke at the end. What is marked stays so.
fn written(workspace: &Workspace, ignored: &[PathBuf], from: i64) -> Vec<String> {
    let named = |path: &PathBuf| {
        let folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let shown = workspace.shown_at(path);
        // The empty path stands for everything.
        if shown == "." {
            String::new()
        } else {
            format!("{shown}{}", if folder { "/" } else { "" })
        }
    };
    let unmarked: Vec<&PathBuf> =
        ignored.iter().filter(|path| !workspace.is_marked(&named(path))).collect();
    workspace.written_since(&unmarked, from).into_iter().map(named).collect()
}

fn shown(workspace: &Workspace, paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| workspace.shown_at(path)).collect()
}

fn named(workspace: &Workspace, paths: &[PathBuf], why: &str) -> Option<String> {
    let paths = shown(workspace, paths);
    (!paths.is_empty()).then(|| format!("[New: {}: {why}.]", listed(&paths)))
}

fn set_aside(
    workspace: &Workspace,
    paths: &[PathBuf],
    delta: &mut Delta,
    why: &str,
) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let shown = shown(workspace, paths);
    let aside = |path: &PathBuf| workspace.set_aside(path).err();
    let failed: Vec<String> = paths.iter().filter_map(aside).collect();
    let named = listed(&shown);
    Some(match failed.first() {
        None => {
            delta.unsaved.retain(|path, _| !shown.contains(path));
            format!(
                "[Taken back: {named}: {why}. It lies beside, its name ends in .taken-back. Show the \
                 person what you propose.]"
            )
        }
        Some(error) => format!("[{named} should not have been made: {why}. {error}]"),
    })
}
