//! What of the hard floor is about the inside of `.git` (Z3): what changes it past git. Not here: the rows
//! (`floor_table`), and what git itself stores.

use super::floor::FloorCommand;
use super::floor_table::writes_inside;
use crate::governance::rules::{WRITERS, resolve_path};
use crate::governance::shell;

pub(super) fn writes_git_internals(scene: &FloorCommand<'_>) -> bool {
    let is_internal = |path: &str| path.split('/').any(|part| part == ".git");
    // A hook, a setting: whoever is asked about this very command outside the sandbox sees it whole.
    // What takes a repository away stays on the floor.
    let takes_away = |words: &[shell::ShellWord]| {
        matches!(
            shell::head_name(&words[0]),
            "rm" | "unlink" | "rmdir" | "mv" | "shred" | "truncate"
        )
    };
    if scene.effect.outside_sandbox && !scene.commands().any(|(_, words)| takes_away(words)) {
        return false;
    }
    // A lock may be taken away, and nothing else be done to it.
    let is_removal = scene.parts().all(|(_, part)| part.redirections.iter().all(|r| !r.writes()))
        && scene.commands().all(|(_, words)| {
            !WRITERS.contains(&shell::head_name(&words[0])) || is_remove_command(words)
        });
    if is_removal && removes_git_lock(scene) {
        return writes_inside(scene, ".git/", |path| {
            path.split('/').any(|part| part == ".git") && !is_git_lock(path)
        });
    }
    writes_inside(scene, ".git/", is_internal)
}

fn is_remove_command(words: &[shell::ShellWord]) -> bool {
    matches!(shell::head_name(&words[0]), "rm" | "unlink")
}

/// Whether a path of the workspace is the lock of a file of git's.
fn is_git_lock(path: &str) -> bool {
    path.split('/').any(|part| part == ".git") && path.ends_with(".lock")
}

pub(super) fn removes_git_lock(scene: &FloorCommand<'_>) -> bool {
    scene.commands().filter(|(_, words)| is_remove_command(words)).any(|(folder, words)| {
        words[1..].iter().any(|word| {
            let at = resolve_path(scene.rules, folder.unwrap_or("."), &word.text);
            at.is_some_and(|at| at.inside && is_git_lock(&at.path))
        })
    })
}
