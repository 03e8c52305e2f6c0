//! What a confined command may touch in this workspace (Z4): the same lists that guard the file
//! tools, turned into paths for the sandbox. Whether a command may run is not decided here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::governance::rules::RuleSet;
use weir_core::tool::{CommandEffect, Effects};

use super::guard::{PathKind, PathSpot, WorkspacePathGuard};
use super::home::VisibleHome;
use super::parallel::{spread_work, threads_for};
use super::repositories::{is_following, repository_around as around_of, stores_history};
use super::tree::{EntryQuestion, QuestionAsker, fact, said};
use super::{CommandConfinement, FileError, Workspace, closed_by, tracked};

/// Entries of the home folder that are looked at for keys.
const HOME_ENTRIES_MAX: usize = 20_000;
/// How deep below a hidden folder of the home keys are looked for.
const HOME_DEPTH_MAX: usize = 4;
/// Hidden on the machine whatever the home: what exists of it is masked.
const MACHINE: [&str; 8] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/var/lib/sss",
];
/// What of the machine's top folder a command of a bounded workspace sees: programs and their
/// settings, and what every sandbox lays over anyway. New names are hidden until they stand here.
const SYSTEM: [&str; 15] = [
    "bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "nix", "opt", "dev", "proc",
    "run", "sys", "tmp",
];
/// What of a repository without work tree runs programs.
const GIT_RUNS: [&str; 5] = ["hooks", "config", "config.worktree", "info", "commondir"];

/// What [`Workspace::confine_command`] does.
pub(super) fn confine_command(
    workspace: &Workspace,
    command: &CommandEffect,
    effects: &Effects,
    foreign: bool,
) -> Result<CommandConfinement, FileError> {
    let guard = &workspace.guard;
    if guard.is_bounded() && !command.tier.has_own_view() {
        return Err(FileError::Refused {
            path: workspace.root().display().to_string(),
            why: "commands of this account run only where bubblewrap can hide everything outside \
                  its folder, and it cannot here"
                .to_owned(),
        });
    }
    // Where nothing is writable, no history is.
    let inside = Path::new(&command.cwd).components().any(|part| part.as_os_str() == ".git");
    let git = stores_history(&command.command) && !command.read_only && !inside;
    // What follows the repository is compared afterwards: git that meets a file it may not write stops
    // halfway (D1).
    let closes = foreign && !is_following(&command.command);
    let mut found = ConfineFindings { git, foreign: closes, ..ConfineFindings::default() };
    for root in 0..guard.roots.len() {
        find_closed_entries(workspace, root, &mut found);
    }
    let roots = guard.roots.iter().map(|root| root.real.clone());
    let mut writable: Vec<PathBuf> = Vec::new();
    if !command.read_only {
        writable.extend(roots.clone());
    }
    // Paths that the call names beside its folder were judged one by one.
    let mut opened: BTreeSet<PathBuf> = BTreeSet::new();
    for path in effects.paths.iter().filter(|path| path.ignored.is_none()) {
        let absolute = workspace.absolute_path(&path.path);
        if path.access.is_write() && path.protected.is_none() && !command.read_only {
            writable.push(absolute.clone());
        }
        opened.insert(absolute);
    }
    for root in roots {
        guard_root(workspace, command, &root, &mut found);
    }
    for holder in std::mem::take(&mut found.holders) {
        hide_history(workspace, &holder, command, &mut found);
    }
    close_hidden_histories(&mut found);
    let mut masked: Vec<PathBuf> =
        found.masked.into_iter().filter(|path| !opened.contains(path)).collect();
    masked.extend(guard.own_folders().iter().cloned());
    masked.extend(MACHINE.iter().map(PathBuf::from).filter(|path| path.exists()));
    let mut readable = Vec::new();
    if guard.is_bounded() {
        masked.extend(everything_else());
        masked.extend(guard.roots.iter().filter_map(|root| folder_around_root(&root.real)));
        // They lie in what is hidden now.
        readable.extend(guard.roots.iter().map(|root| root.real.clone()));
    }
    hide_home(guard, &opened, &writable, &mut readable, &mut masked);
    masked.sort();
    masked.dedup();
    writable.dedup();
    Ok(CommandConfinement {
        tier: command.tier,
        writable,
        protected: found.protected.into_iter().collect(),
        histories: found.histories.into_iter().collect(),
        masked,
        readable,
        hosts: command.hosts.clone(),
        ports: command.ports.clone(),
        serves: command.serves.clone(),
        sockets: command.sockets.iter().map(PathBuf::from).collect(),
    })
}

/// What is guarded of a root itself, and of the repository that it lies in.
fn guard_root(
    workspace: &Workspace,
    command: &CommandEffect,
    root: &Path,
    found: &mut ConfineFindings,
) {
    let above = root.parent().filter(|_| !root.join(".git").exists()).and_then(around_of);
    if let Some(above) = above {
        hide_history(workspace, &above, command, found);
    }
    // An empty folder means nothing to git, so its place can be held. What else is not there yet is
    // compared afterwards.
    found.protected.insert(root.join(".weir"));
    let others = [".weirignore", ".weirprotected"].into_iter();
    let others = others.chain(found.foreign.then_some(".envrc")).map(|name| root.join(name));
    found.protected.extend(others.filter(|path| path.symlink_metadata().is_ok()));
}

/// Hides the home, and shows in it what programs are made of (A14).
fn hide_home(
    guard: &WorkspacePathGuard,
    opened: &BTreeSet<PathBuf>,
    writable: &[PathBuf],
    readable: &mut Vec<PathBuf>,
    masked: &mut Vec<PathBuf>,
) {
    let home = guard.home().and_then(|home| home.canonicalize().ok());
    let Some(home) = home.filter(|home| home.parent().is_some() && !guard.is_bounded()) else {
        return;
    };
    let around = |path: &PathBuf| home.starts_with(path);
    if guard.roots.iter().any(|root| around(&root.real)) || opened.iter().any(around) {
        // It is seen as a whole: then without its keys.
        masked.extend(keys_at_home(guard));
        return;
    }
    let found = VisibleHome::look_up(guard, &home, |name| std::env::var_os(name));
    masked.extend(found.masked);
    readable.extend(found.seen);
    readable.extend(guard.roots.iter().map(|root| root.real.clone()));
    readable.extend(opened.iter().filter(|path| path.starts_with(&home)).cloned());
    readable.sort();
    readable.dedup();
    // What lies in what is hidden need not be hidden once more.
    let is_open =
        |path: &PathBuf| readable.iter().chain(writable).any(|open| path.starts_with(open));
    masked.retain(|path| !path.starts_with(&home) || is_open(path));
    masked.push(home);
}

/// Everything at the top of the machine that is neither programs nor what a sandbox replaces.
fn everything_else() -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir("/") else { return Vec::new() };
    let is_system = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        SYSTEM.contains(&name)
    };
    // What a link leads to lies below another name of the top, and is hidden or shown there.
    let plain = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    let entries = listed.flatten().filter(plain).map(|entry| entry.path());
    entries.filter(|path| !is_system(path)).collect()
}

/// The folder around a root below a folder of the system: the second folder from the top, or the
/// first where the root is that one.
fn folder_around_root(root: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = root.ancestors().skip(1).collect();
    // The top itself is never hidden.
    above.pop();
    let at = above.len().checked_sub(2).unwrap_or(above.len().checked_sub(1)?);
    above.get(at).map(|path| path.to_path_buf())
}

#[derive(Default)]
struct ConfineFindings {
    masked: BTreeSet<PathBuf>,
    protected: BTreeSet<PathBuf>,
    histories: BTreeSet<PathBuf>,
    /// Folders that hold a `.git`.
    holders: Vec<PathBuf>,
    /// The command stores history, and does nothing else.
    git: bool,
    /// Foreign words stand in the context, so what later runs or instructs is read-only.
    foreign: bool,
}

impl ConfineFindings {
    fn join(&mut self, part: ConfineFindings) {
        self.masked.extend(part.masked);
        self.protected.extend(part.protected);
        self.histories.extend(part.histories);
        self.holders.extend(part.holders);
    }
}

/// A folder that is looked at, with the lists that hold there.
struct GuardedFolder {
    spot: Arc<PathSpot>,
    question: EntryQuestion,
    /// It is guarded as a whole.
    guarded: bool,
}

/// Closed and protected entries below a root, the topmost of each, however many there are.
fn find_closed_entries(workspace: &Workspace, root: usize, found: &mut ConfineFindings) {
    let guard = &workspace.guard;
    let spot =
        PathSpot { root: Some(root), rel: String::new(), real: guard.roots[root].real.clone() };
    // A root that was chosen inside a key folder opens nothing.
    let is_closed = guard.built_in(&spot, PathKind::Folder).ignored.is_some();
    let question = EntryQuestion {
        rules: workspace.rules_here(),
        ..EntryQuestion::of_asker(QuestionAsker::Command)
    };
    let first = vec![GuardedFolder { spot: Arc::new(spot), question, guarded: false }];
    let (git, foreign) = (found.git, found.foreign);
    let threads = threads_for(guard.tree.name_count());
    let parts = spread_work(threads, first, |folder, part: &mut ConfineFindings| {
        (part.git, part.foreign) = (git, foreign);
        look_in(workspace, folder, is_closed, part)
    });
    parts.into_iter().for_each(|part| found.join(part));
}

/// The same of what lies in one folder. Returns the folders in it that are open.
fn look_in(
    workspace: &Workspace,
    mut folder: GuardedFolder,
    is_closed: bool,
    found: &mut ConfineFindings,
) -> Vec<GuardedFolder> {
    let guard = &workspace.guard;
    let Some(listing) = guard.tree.list(guard, &folder.spot) else { return Vec::new() };
    folder.question.enter_folder(guard, &folder.spot, &listing);
    let closed = |rules: &RuleSet, path: &str| closed_by(rules, path).is_some();
    let answers = listing.entry_answers(guard, &folder.spot, &folder.question, &closed);
    let by_hooks = found.foreign && workspace.hooks_concern(&folder.spot.real);
    let mut inner = Vec::new();
    for (index, child) in listing.children.iter().enumerate() {
        let said = answers.as_ref().map_or(0, |answers| answers[index]);
        if !child.is_folder && child.facts == 0 && said == 0 && !is_closed && !by_hooks {
            continue;
        }
        if child.name == ".git" {
            // Repositories inside the workspace are guarded as the one at its top is.
            protect_git(&folder.spot.real, found);
            found.holders.push(folder.spot.real.clone());
            continue;
        }
        if child.name == "HEAD" {
            protect_bare(&folder.spot.real, &mut found.protected);
        }
        let spot = listing.child_spot(guard, &folder.spot, child);
        let hidden = child.facts & (fact::HIDDEN | fact::SECRET) != 0;
        // What a rule closes for reading is closed for commands too (C3).
        if is_closed || hidden || said & (said::IGNORED | said::CLOSED) != 0 {
            found.masked.insert(spot.real.clone());
            continue;
        }
        let instructs =
            || child.facts & fact::INSTRUCTS != 0 || (by_hooks && workspace.is_hook(&spot.real));
        let guarded = folder.guarded
            || child.facts & fact::PROTECTED != 0
            || said & said::GUARDED != 0
            || (found.foreign && instructs());
        if guarded && !folder.guarded {
            found.protected.insert(spot.real.clone());
        }
        // Another root is looked at by itself.
        if child.is_folder && !guard.roots.iter().any(|other| other.real == spot.real) {
            inner.push(GuardedFolder { spot, question: folder.question.clone(), guarded });
        }
    }
    inner
}

/// Hides the objects of a repository that keeps hidden files. Who runs the command was asked about
/// what it may read there, by name (A13).
fn hide_history(
    workspace: &Workspace,
    folder: &Path,
    command: &CommandEffect,
    found: &mut ConfineFindings,
) {
    let keeping = tracked::hidden_in_history(workspace, folder, &command.command);
    let is_judged = |path: &String| command.uncovers.contains(path);
    if let Some(keeping) = keeping.filter(|keeping| !keeping.hidden.iter().all(is_judged)) {
        found.masked.insert(keeping.objects);
    }
}

/// `.git` stays readable. Commands that store history may do that there, and nothing else (A1).
fn protect_git(root: &Path, found: &mut ConfineFindings) {
    let internals = root.join(".git");
    if found.git && internals.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        found.histories.insert(internals);
    } else if internals.symlink_metadata().is_ok() {
        found.protected.insert(internals);
    }
}

/// Where objects are hidden nothing is stored: a folder of its own for `.git` would show them again.
fn close_hidden_histories(found: &mut ConfineFindings) {
    let hides = |git: &PathBuf| found.masked.iter().any(|path| path.starts_with(git));
    let (closed, open) = std::mem::take(&mut found.histories).into_iter().partition(hides);
    let closed: BTreeSet<PathBuf> = closed;
    found.histories = open;
    found.protected.extend(closed);
}

/// A repository among the files of a workspace is pushed to, and what runs stays what it is.
fn protect_bare(folder: &Path, protected: &mut BTreeSet<PathBuf>) {
    if folder.join("objects").is_dir() && folder.join("refs").is_dir() {
        let there = GIT_RUNS.iter().map(|name| folder.join(name));
        protected.extend(there.filter(|path| path.symlink_metadata().is_ok()));
    }
}

/// Key files below hidden folders of the home, and in the home itself.
fn keys_at_home(guard: &WorkspacePathGuard) -> Vec<PathBuf> {
    let Some(home) = guard.home().map(Path::to_path_buf) else { return Vec::new() };
    let mut keys = Vec::new();
    let mut open = vec![(home, 0)];
    let mut entries = 0;
    while let Some((folder, depth)) = open.pop() {
        let Ok(listed) = std::fs::read_dir(&folder) else { continue };
        for entry in listed.flatten() {
            entries += 1;
            if entries > HOME_ENTRIES_MAX {
                return keys;
            }
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let seen = if is_folder { PathKind::Folder } else { PathKind::File };
            if guard.built_in(&guard.spot_of(path.clone()), seen).ignored.is_some() {
                keys.push(path);
                continue;
            }
            let hidden = entry.file_name().as_encoded_bytes().first() == Some(&b'.');
            if is_folder && (depth > 0 || hidden) && depth < HOME_DEPTH_MAX && !is_bulk(&path) {
                open.push((path, depth + 1));
            }
        }
    }
    keys
}

/// Folders of a home that hold much and no keys.
fn is_bulk(path: &Path) -> bool {
    const BULK: [&str; 9] = [
        "registry",
        "toolchains",
        "cache",
        ".cache",
        "node_modules",
        "versions",
        ".npm",
        "git",
        "pkg",
    ];
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| BULK.contains(&name))
}
