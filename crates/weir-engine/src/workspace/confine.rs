//! What a confined command may touch in this workspace (Z4): the same lists that guard the file
//! tools, turned into paths for the sandbox. Whether a command may run is not decided here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_core::governance::flow;
use weir_core::governance::shell::Part;
use weir_core::tool::{CommandEffect, Effects, Tier};

use super::guard::{Guard, Seen};
use super::{FileError, Workspace};
use crate::ports::Confine;

/// Entries of the workspace that are looked at for hidden files. What has more cannot be confined
/// honestly in bearable time, and the command is refused.
const ENTRIES_MAX: usize = 300_000;
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
/// What of `.git` runs programs: read-only also for commands of git.
const GIT_RUNS: [&str; 5] = ["hooks", "config", "config.worktree", "info", "modules"];

/// What [`Workspace::confine`] does.
pub(super) fn confine(
    workspace: &Workspace,
    command: &CommandEffect,
    effects: &Effects,
    foreign: bool,
) -> Result<Confine, FileError> {
    let guard = &workspace.guard;
    if guard.is_bounded() && command.tier != Tier::Bubblewrap {
        return Err(FileError::Refused {
            path: workspace.root().display().to_string(),
            why: "commands of this account run only where bubblewrap can hide everything outside \
                  its folder, and it cannot here"
                .to_owned(),
        });
    }
    let mut found = Found { git: uses_git(&command.command), foreign, ..Found::default() };
    for root in &guard.roots {
        look(workspace, &root.real, &mut found)?;
    }
    let roots = guard.roots.iter().map(|root| root.real.clone());
    let mut writable: Vec<PathBuf> = Vec::new();
    if !command.read_only {
        writable.extend(roots.clone());
    }
    // Paths that the call names beside its folder were judged one by one.
    let mut opened: BTreeSet<PathBuf> = BTreeSet::new();
    for path in effects.paths.iter().filter(|path| path.ignored.is_none()) {
        let absolute = workspace.absolute(&path.path);
        if path.access.is_write() && path.protected.is_none() && !command.read_only {
            writable.push(absolute.clone());
        }
        opened.insert(absolute);
    }
    for root in roots {
        protect_git(&root, found.git, &mut found.protected);
        for name in [".weir", ".weirignore", ".weirprotected"] {
            found.protected.insert(root.join(name));
        }
        if foreign {
            // It runs by itself, and like all that may hold secrets it is not kept before a command:
            // it could not be taken back.
            found.protected.insert(root.join(".envrc"));
        }
    }
    let mut masked: Vec<PathBuf> =
        found.masked.into_iter().filter(|path| !opened.contains(path)).collect();
    masked.extend(guard.own_folders().iter().cloned());
    masked.extend(MACHINE.iter().map(PathBuf::from).filter(|path| path.exists()));
    let mut readable = Vec::new();
    if guard.is_bounded() {
        masked.extend(everything_else());
        masked.extend(guard.roots.iter().filter_map(|root| around(&root.real)));
        // They lie in what is hidden now.
        readable.extend(guard.roots.iter().map(|root| root.real.clone()));
    }
    masked.extend(keys_at_home(guard));
    masked.sort();
    masked.dedup();
    writable.dedup();
    Ok(Confine {
        tier: command.tier,
        writable,
        protected: found.protected.into_iter().collect(),
        masked,
        readable,
        hosts: command.hosts.clone(),
    })
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

/// What lies around a root below a folder of the system: the second folder from the top, or the
/// first where the root is that one.
fn around(root: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = root.ancestors().skip(1).collect();
    // The top itself is never hidden.
    above.pop();
    let at = above.len().checked_sub(2).unwrap_or(above.len().checked_sub(1)?);
    above.get(at).map(|path| path.to_path_buf())
}

#[derive(Default)]
struct Found {
    masked: BTreeSet<PathBuf>,
    protected: BTreeSet<PathBuf>,
    entries: usize,
    /// A part of the command is a command of git.
    git: bool,
    /// Foreign words stand in the context.
    foreign: bool,
}

/// Closed and protected entries below `folder`, the topmost of each.
fn look(workspace: &Workspace, folder: &Path, found: &mut Found) -> Result<(), FileError> {
    let guard = &workspace.guard;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            found.entries += 1;
            if found.entries > ENTRIES_MAX {
                return Err(FileError::Refused {
                    path: folder.display().to_string(),
                    why: format!(
                        "the workspace has more than {ENTRIES_MAX} entries, too many to hide the \
                         closed ones from a command; open a smaller folder as the workspace"
                    ),
                });
            }
            let path = entry.path();
            if entry.file_name() == ".git" {
                // Repositories inside the workspace are guarded as the one at its top is.
                protect_git(&folder, found.git, &mut found.protected);
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let seen = if is_folder { Seen::Folder } else { Seen::File };
            let spot = guard.spot(path.clone());
            let verdict = guard.judge(&spot, seen);
            // What a rule closes for reading is closed for commands too (C3).
            let closed = || workspace.closed_by_rule(&guard.shown(&spot)).is_some();
            if verdict.ignored.is_some() || verdict.sensitive.is_some() || closed() {
                found.masked.insert(path);
                continue;
            }
            let instructs = || flow::instructs(&guard.shown(&spot)).is_some();
            if verdict.protected.is_some() || (found.foreign && instructs()) {
                found.protected.insert(path.clone());
            }
            if is_folder {
                open.push(path);
            }
        }
    }
    Ok(())
}

/// `.git` stays readable. Commands of git may write history and index, nothing that runs programs.
fn protect_git(root: &Path, git: bool, protected: &mut BTreeSet<PathBuf>) {
    let internals = root.join(".git");
    if git && internals.is_dir() {
        protected.extend(GIT_RUNS.iter().map(|name| internals.join(name)));
    } else {
        protected.insert(internals);
    }
}

/// Whether a plain part of the command is a command of git.
fn uses_git(command: &str) -> bool {
    let parts = weir_core::governance::shell::parse(command).parts;
    let first = |part: &Part| part.words.first().is_some_and(|w| w.text == "git" && !w.expands);
    parts.iter().any(first)
}

/// Key files below hidden folders of the home, and in the home itself.
fn keys_at_home(guard: &Guard) -> Vec<PathBuf> {
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
            let seen = if is_folder { Seen::Folder } else { Seen::File };
            if guard.built_in(&guard.spot(path.clone()), seen).ignored.is_some() {
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
