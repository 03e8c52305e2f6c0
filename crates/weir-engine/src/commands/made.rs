//! What a command made that is told by its name (A1, A5, D1), and what becomes of it: it is set aside or
//! named. Blocks. Not here: what else changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::baseline::{CommandOpening, WorkspaceBaseline};
use super::compare::{TimeWindow, WorkspaceDelta, compare_workspace};
use super::history::{self, CommandGitHistory};
use super::list_paths_text;
use crate::ports::{FileContent, SnapshotEntry};
use crate::workspace::Workspace;
use crate::workspace::governed::GovernedPaths;

/// Whose changes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeSource {
    /// A command that ended.
    Command,
    /// A background job: what a person does meanwhile looks the same.
    Job,
}

/// What a comparison came to.
#[derive(Default)]
pub(super) struct CommandComparison {
    pub(super) delta: WorkspaceDelta,
    /// To be said of what is told by its name.
    pub(super) said: Option<String>,
    /// What later runs or instructs and was set aside, with all that lay in it.
    pub(super) aside: Vec<String>,
    /// What is not kept and was written under foreign words (A7), and is marked: what git ignores, as a
    /// whole; histories of git; what has no name or kind that is kept; what lies beyond what is looked at.
    pub(super) written: Vec<String>,
    /// The governed paths that are there now, by their names.
    pub(super) governed: Option<Vec<String>>,
    /// What of the changed files in the work tree is as the repository had it before: nothing of the
    /// model's.
    pub(super) followed: BTreeSet<String>,
    /// What history has now of what later runs or instructs.
    pub(super) history: Option<CommandGitHistory>,
}

/// What is different, and what is to be said of what is told by its name.
pub(super) fn compare_command(
    base: &mut WorkspaceBaseline,
    workspace: &Workspace,
    opening: &CommandOpening,
    window: TimeWindow,
    of: ChangeSource,
) -> Result<CommandComparison, String> {
    let mut delta = compare_workspace(base, workspace, window)?;
    let Some(before) = opening.governed.as_deref() else {
        return Ok(CommandComparison { delta, ..CommandComparison::default() });
    };
    // What was there and only came into view, because git does not ignore it any more, is not new.
    let known: HashSet<String> =
        before.iter().map(|path| workspace.shown_at(Path::new(path))).collect();
    let is_new = |entry: &SnapshotEntry| entry.before == FileContent::Absent;
    delta.entries.retain(|entry| !(is_new(entry) && known.contains(&entry.path)));
    let governed = workspace.find_governed();
    let (made, mut now) = (governed.made_since(before), governed.paths());
    // What is taken back is new when it comes again. The rest was met now: a job may be at work.
    let mut gone: HashSet<String> = HashSet::new();
    let mut said = Vec::new();
    let (lists, kept): (Vec<PathBuf>, Vec<PathBuf>) = made.lists.into_iter().partition(|path| {
        // At the top a list only closes more.
        !opening.approved && (of == ChangeSource::Command || !workspace.is_at_top(path))
    });
    let why = "only a person makes the lists of what is closed";
    said.extend(set_aside(workspace, &lists, &mut delta, why));
    gone.extend(lists.iter().map(|path| path.to_string_lossy().into_owned()));
    said.extend(describe_new_paths(workspace, &kept, why));
    said.extend(handle_made_repositories(
        workspace,
        opening,
        &made.repositories,
        &mut delta,
        &mut gone,
    ));
    let changed = changed_instructing_files(workspace, &delta, &made.instructs);
    let found = history::compare_git_history(workspace, opening, of, &governed, &changed);
    let history::HistoryFindings { stored, followed, history } = found;
    base.history = history.clone().or_else(|| base.history.take());
    said.extend(describe_git_changes(&stored, &followed));
    let mut aside = Vec::new();
    if opening.takes_back() && of == ChangeSource::Command {
        let all = made.instructs.iter().flatten();
        let all = all.filter(|path| !followed.contains(&workspace.shown_at(path)));
        gone.extend(all.map(|path| path.to_string_lossy().into_owned()));
        let others = to_set_aside(workspace, made.instructs, &delta, &followed);
        aside = shown_paths(workspace, &others);
        let why = "it would later run or instruct, and foreign words stand in the context";
        said.extend(set_aside(workspace, &others, &mut delta, why));
    }
    now.retain(|path| !gone.contains(path));
    let said = (!said.is_empty()).then(|| said.join("\n"));
    let mut written = match opening.foreign || opening.carries {
        true => unheld_paths_written(workspace, &delta, &governed, window.from),
        false => Vec::new(),
    };
    written.extend(stored);
    Ok(CommandComparison { delta, said, aside, written, governed: Some(now), followed, history })
}

/// What becomes of repositories that a command made.
fn handle_made_repositories(
    workspace: &Workspace,
    opening: &CommandOpening,
    made: &[PathBuf],
    delta: &mut WorkspaceDelta,
    gone: &mut HashSet<String>,
) -> Option<String> {
    if !opening.takes_back() {
        let why = "git takes it for a repository, and whoever uses git there runs the programs that \
                   its configuration names";
        return describe_new_paths(workspace, made, why);
    }
    let why = "git would take it for a repository and run the programs that its configuration names, \
               and foreign words stand in the context";
    gone.extend(made.iter().map(|path| path.to_string_lossy().into_owned()));
    set_aside(workspace, made, delta, why)
}

/// What is to be said of what git has now, and of what the work tree has of it.
fn describe_git_changes(stored: &[String], followed: &BTreeSet<String>) -> Vec<String> {
    let mut said = Vec::new();
    if !stored.is_empty() {
        said.push(format!(
            "[Now in git, in its index or in a commit: {}: it later runs or instructs, and foreign words \
             stand in the context. Show the person what you stored.]",
            list_paths_text(stored)
        ));
    }
    if !followed.is_empty() {
        let named: Vec<String> = followed.iter().cloned().collect();
        said.push(format!(
            "[Changed as the repository has it: {}: it later runs or instructs.]",
            list_paths_text(&named)
        ));
    }
    said
}

/// The topmost of each group that neither the checkpoint takes back nor follows the repository.
fn to_set_aside(
    workspace: &Workspace,
    groups: Vec<Vec<PathBuf>>,
    delta: &WorkspaceDelta,
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
fn changed_instructing_files(
    workspace: &Workspace,
    delta: &WorkspaceDelta,
    made: &[Vec<PathBuf>],
) -> BTreeMap<String, Option<PathBuf>> {
    let file =
        |path: PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file()).then_some(path);
    let changed =
        delta.entries.iter().filter(|entry| workspace.instructing_reason(&entry.path).is_some());
    let changed = changed
        .filter(|entry| !matches!(entry.after, FileContent::Folder | FileContent::Link { .. }));
    // What lay in a folder that is a link now is gone, whatever lies behind the link.
    let there = |entry: &SnapshotEntry| {
        let is_file = matches!(entry.after, FileContent::File { .. });
        is_file.then(|| file(workspace.on_disk(&entry.path))).flatten()
    };
    let changed = changed.map(|entry| (entry.path.clone(), there(entry)));
    let made = made
        .iter()
        .flatten()
        .filter_map(|path| Some((workspace.shown_at(path), Some(file(path.clone())?))));
    changed.chain(made).collect()
}

impl CommandComparison {
    /// Whether a path went with something that was set aside.
    pub(super) fn is_aside(aside: &[String], path: &str) -> bool {
        let below = |above: &String| {
            path.strip_prefix(above.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        aside.iter().any(below)
    }
}

/// What of a history a command writes that says something in its own words: names and messages.
const SAYING: [&str; 13] = [
    "HEAD",
    "packed-refs",
    "refs",
    "reftable",
    "logs",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    // Messages of commits that somebody makes later.
    "MERGE_MSG",
    "SQUASH_MSG",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];

/// What was written since of all that is not kept, and so is in no difference.
fn unheld_paths_written(
    workspace: &Workspace,
    delta: &WorkspaceDelta,
    governed: &GovernedPaths,
    from: i64,
) -> Vec<String> {
    let mut written = paths_written_since(workspace, &delta.ignored, from);
    written.extend(paths_written_since(workspace, &delta.odd, from));
    if delta.truncated {
        written.extend(paths_written_since(workspace, &workspace.top_entries(), from));
    }
    for (_, git) in workspace.git_histories(governed) {
        // Work trees of one repository share it, and so its mark, wherever the session works.
        let mark = workspace.history_mark(&git);
        let common = workspace.common_of(&git);
        let in_both = |name: &&str| [git.join(name), common.join(name)];
        let saying: Vec<PathBuf> = SAYING.iter().flat_map(in_both).collect();
        let is_new = !workspace.is_marked(&mark) && !written.contains(&mark);
        if is_new && !workspace.written_since(&saying.iter().collect::<Vec<_>>(), from).is_empty() {
            written.push(mark);
        }
    }
    written
}

/// What of this was written since, folders with a stroke at the end. What is marked stays so.
fn paths_written_since(workspace: &Workspace, paths: &[PathBuf], from: i64) -> Vec<String> {
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
        paths.iter().filter(|path| !workspace.is_marked(&named(path))).collect();
    workspace.written_since(&unmarked, from).into_iter().map(named).collect()
}

fn shown_paths(workspace: &Workspace, paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| workspace.shown_at(path)).collect()
}

fn describe_new_paths(workspace: &Workspace, paths: &[PathBuf], why: &str) -> Option<String> {
    let paths = shown_paths(workspace, paths);
    (!paths.is_empty()).then(|| format!("[New: {}: {why}.]", list_paths_text(&paths)))
}

fn set_aside(
    workspace: &Workspace,
    paths: &[PathBuf],
    delta: &mut WorkspaceDelta,
    why: &str,
) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let shown = shown_paths(workspace, paths);
    let aside = |path: &PathBuf| workspace.set_aside(path).err();
    let failed: Vec<String> = paths.iter().filter_map(aside).collect();
    let named = list_paths_text(&shown);
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
