//! Which folder is a copy of a project that a session of its own works in, by its path (R7). Not here:
//! making one, and what becomes of it (`worktrees`).

use std::path::{Path, PathBuf};

use weir_store::SESSION_COPY;

/// Where copies are, below the root of the project.
const COPIES: &str = "/.weir/worktrees/";

/// The project of a copy: what stands before `/.weir/worktrees/`, where the copy is one of ours and whole.
pub fn project_of_copy(folder: &Path) -> Option<PathBuf> {
    let (project, name) = split_copy(folder)?;
    let base = format!("{project}{COPIES}{name}.base");
    Path::new(&base).is_file().then(|| PathBuf::from(project))
}

/// The project of a copy for sessions that was taken away: nothing stands in its place, and the project is
/// there. So much the letters of the path say, which a session's journal has; whose settings hold in a
/// folder they do not decide.
pub fn project_of_removed_copy(folder: &Path) -> Option<PathBuf> {
    let (project, _) = split_copy(folder)?;
    let is_gone = std::fs::symlink_metadata(folder).is_err();
    Some(PathBuf::from(project)).filter(|project| is_gone && project.is_dir())
}

/// The project of a copy for sessions and the name that git has for it, by the letters of the path.
pub(crate) fn split_copy(folder: &Path) -> Option<(&str, &str)> {
    let (project, below) = folder.to_str()?.rsplit_once(COPIES)?;
    let name = below.split('/').next().filter(|name| name.starts_with(SESSION_COPY))?;
    Some((project, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_only_the_copies_of_sessions_have_the_settings_of_their_project() {
        let folder = tempfile::tempdir().expect("a folder");
        let copies = folder.path().join(".weir/worktrees");
        for name in ["weir-worktree-fix/sub", "0198.c1"] {
            std::fs::create_dir_all(copies.join(name)).expect("made");
        }
        let copy = copies.join("weir-worktree-fix");
        assert_eq!(project_of_copy(&copy), None, "one that is not whole");
        for base in ["weir-worktree-fix.base", "0198.c1.base"] {
            std::fs::write(copies.join(base), "c0ffee").expect("written");
        }
        let project = Some(folder.path().to_path_buf());
        assert_eq!(project_of_copy(&copy), project);
        assert_eq!(project_of_copy(&copy.join("sub")), project);
        assert_eq!(project_of_copy(&copies.join("0198.c1")), None, "a copy of a sub-agent");
        assert_eq!(project_of_copy(folder.path()), None);
        // One that was dropped leads to its project, and only that.
        assert_eq!(project_of_removed_copy(&copy), None, "it is there");
        std::fs::remove_dir_all(&copy).expect("removed");
        assert_eq!(project_of_removed_copy(&copy), project);
        assert_eq!(project_of_removed_copy(&copies.join("0198.c2")), None, "of a sub-agent");
        assert_eq!(project_of_removed_copy(&folder.path().join("gone")), None);
        let nowhere = folder.path().join("gone/.weir/worktrees/weir-worktree-fix");
        assert_eq!(project_of_removed_copy(&nowhere), None, "its project is gone too");
    }
}
