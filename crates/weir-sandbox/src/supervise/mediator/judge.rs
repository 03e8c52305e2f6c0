//! What a mediated call may do, by where it really is. Pure: real paths in, yes or no out.
//!
//! A no refuses nothing by itself: the kernel then does the call under Landlock, which denies what it
//! does not know. Not here: finding out real paths, and doing anything.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::history::{FOLDERS, is_kept};
use crate::places::ConfinedPlaces;

/// What is to be done with one entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryAccess {
    /// Opening it to read.
    Read,
    /// Opening it to write, making it, cutting it.
    Write,
    /// Making a folder.
    MakeFolder,
    /// Making a pipe or a socket.
    MakeNode,
    /// Making a symbolic link.
    MakeLink,
    /// Removing it, or an empty folder.
    Remove,
    /// Taking it away to another name.
    MoveFrom,
    /// Putting something in its place.
    MoveTo,
    /// Giving what it is another name.
    LinkFrom,
    /// Becoming that other name.
    LinkTo,
}

/// The places of a command, as the judge needs them.
#[derive(Debug, Clone, Default)]
pub(super) struct PathGuard {
    roots: BTreeSet<PathBuf>,
    closed: BTreeSet<PathBuf>,
    masked: BTreeSet<PathBuf>,
    histories: BTreeSet<PathBuf>,
    between: BTreeSet<PathBuf>,
    tmp: PathBuf,
}

impl PathGuard {
    pub(super) fn new(places: &ConfinedPlaces, tmp: &Path) -> PathGuard {
        let closed = places.protected.iter().chain(&places.masked).chain(&places.links);
        let mut roots = places.writable.clone();
        roots.insert(tmp.to_path_buf());
        PathGuard {
            roots,
            closed: closed.cloned().collect(),
            masked: places.masked.clone(),
            histories: places.histories.clone(),
            between: places.paths_between(),
            tmp: tmp.to_path_buf(),
        }
    }

    /// Whether Landlock allows all of it already.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        path.starts_with(&self.tmp)
    }

    /// Whether the entry at this real path may be treated so.
    pub(super) fn allows(&self, path: &Path, act: EntryAccess) -> bool {
        let plain = |part| matches!(part, Component::Normal(_) | Component::RootDir);
        if !path.is_absolute() || !path.components().all(plain) {
            return false;
        }
        let closed = if act == EntryAccess::Read { &self.masked } else { &self.closed };
        // The root itself is not an entry of what may be written.
        let Some(root) = path.ancestors().skip(1).find(|above| self.roots.contains(*above)) else {
            return false;
        };
        // The nearest one decides: a root may lie in what is closed.
        let nearest = path.ancestors().find(|above| closed.contains(*above));
        if nearest.is_some_and(|closed| !(root.starts_with(closed) && root != closed)) {
            return false;
        }
        match act {
            EntryAccess::Read => return true,
            EntryAccess::Remove | EntryAccess::MoveFrom | EntryAccess::MoveTo
                if self.between.contains(path) =>
            {
                return false;
            }
            EntryAccess::Write
            | EntryAccess::MakeFolder
            | EntryAccess::MakeNode
            | EntryAccess::MakeLink
            | EntryAccess::Remove
            | EntryAccess::MoveFrom
            | EntryAccess::MoveTo
            | EntryAccess::LinkFrom
            | EntryAccess::LinkTo => {}
        }
        match self.history_of(path).and_then(|git| path.strip_prefix(git).ok()) {
            Some(within) => history_allows(within, act),
            None => true,
        }
    }

    /// Whether one entry may become the other. What comes into a history was one before: a link that
    /// git would write through can be made nowhere in it.
    pub(super) fn allows_both(
        &self,
        old: &Path,
        from: EntryAccess,
        new: &Path,
        to: EntryAccess,
    ) -> bool {
        self.allows(old, from)
            && self.allows(new, to)
            && self.history_of(old) == self.history_of(new)
    }

    fn history_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors().find(|above| self.histories.contains(*above))
    }
}

/// Of a `.git` only what stores history.
fn history_allows(within: &Path, act: EntryAccess) -> bool {
    let mut parts = within.components().filter_map(|part| part.as_os_str().to_str());
    let Some(first) = parts.next() else { return false };
    if parts.next().is_some() {
        return FOLDERS.contains(&first)
            && !matches!(act, EntryAccess::MakeLink | EntryAccess::MakeNode);
    }
    match act {
        EntryAccess::Read => true,
        EntryAccess::Write | EntryAccess::MoveTo => is_kept(first) || is_passing(first),
        // Without them there is no repository.
        EntryAccess::Remove => {
            is_passing(first) || (is_kept(first) && !["HEAD", "index"].contains(&first))
        }
        EntryAccess::MoveFrom => is_passing(first),
        EntryAccess::MakeFolder => FOLDERS.contains(&first),
        EntryAccess::MakeNode
        | EntryAccess::MakeLink
        | EntryAccess::LinkFrom
        | EntryAccess::LinkTo => false,
    }
}

/// What git makes on the way to a file that it keeps, and takes away again.
fn is_passing(name: &str) -> bool {
    let numbered = |start: &str| {
        let rest = name.strip_suffix(".lock").unwrap_or(name).strip_prefix(start);
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name.strip_suffix(".lock").is_some_and(is_kept)
        || ["packed-refs.new", "gc.pid", "gc.pid.lock"].contains(&name)
        || numbered("index.stash.")
        || numbered("next-index-")
}

#[cfg(test)]
mod tests {
    use super::EntryAccess::*;
    use super::*;

    fn guard() -> PathGuard {
        let set = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        let places = ConfinedPlaces {
            writable: set(&["/ws", "/ws/hidden/open", "/other/file"]),
            protected: set(&["/ws/.weir", "/ws/a/b/locked"]),
            histories: set(&["/ws/.git"]),
            links: set(&["/ws/link"]),
            masked: set(&["/ws/.env", "/ws/hidden", "/home"]),
            ..ConfinedPlaces::default()
        };
        PathGuard::new(&places, Path::new("/home/tmp"))
    }

    #[test]
    fn z4_what_is_guarded_is_not_touched_and_the_rest_is_free() {
        let every =
            [Write, MakeFolder, MakeNode, MakeLink, Remove, MoveFrom, MoveTo, LinkFrom, LinkTo];
        let cases = [
            ("/ws/new", &every[..], true),
            ("/ws/a/new", &every, true),
            ("/ws/hidden/open/x", &every, true),
            ("/home/tmp/x", &every, true),
            ("/ws", &every, false),
            ("/ws2/new", &every, false),
            ("/etc/passwd", &every, false),
            ("/other/file", &every, false),
            ("/ws/.weir", &every, false),
            ("/ws/.weir/config.toml", &every, false),
            ("/ws/.env", &every, false),
            ("/ws/hidden/x", &every, false),
            ("/ws/hidden/open", &every, false),
            ("/ws/link", &every, false),
            ("/ws/a/b/locked", &every, false),
            ("/ws/a/../.env", &every, false),
            ("ws/new", &every, false),
            ("/ws/a", &[Remove, MoveFrom, MoveTo], false),
            ("/ws/a/b", &[Remove, MoveFrom, MoveTo], false),
            ("/ws/.git", &every, false),
        ];
        for (path, acts, expected) in cases {
            for act in acts {
                assert_eq!(guard().allows(Path::new(path), *act), expected, "{path} {act:?}");
            }
        }
    }

    #[test]
    fn z4_reading_is_closed_by_masks_only() {
        for (path, expected) in [
            ("/ws/new", true),
            ("/ws/.weir/x", true),
            ("/ws/.git/config", true),
            ("/ws/.env", false),
            ("/ws/hidden/x", false),
            ("/ws/hidden/open/x", true),
            ("/etc/passwd", false),
        ] {
            assert_eq!(guard().allows(Path::new(path), Read), expected, "{path}");
        }
    }

    #[test]
    fn a1_of_git_only_what_stores_history() {
        let cases = [
            ("index.lock", Write, true),
            ("HEAD", MoveTo, true),
            ("HEAD", MoveFrom, false),
            ("HEAD", Remove, false),
            ("index", Remove, false),
            ("MERGE_HEAD", Remove, true),
            ("index.lock", MoveFrom, true),
            ("index.stash.123.lock", Write, true),
            ("index.stash.x", Write, false),
            ("packed-refs.new", Write, true),
            ("objects/ab/tmp_obj_x", Write, true),
            ("refs/heads/main.lock", MoveFrom, true),
            ("refs/heads/x", MakeLink, false),
            ("logs/HEAD", MakeNode, false),
            ("logs", MakeFolder, true),
            ("logs", MoveFrom, false),
            ("objects", Remove, false),
            ("HEAD", MakeLink, false),
            ("index", LinkFrom, false),
            ("config", Write, false),
            ("config.lock", Write, false),
            ("commondir", Write, false),
            ("config.worktree", MoveTo, false),
            ("hooks/pre-commit", Write, false),
            ("info/attributes", Write, false),
            ("rebase-merge", MakeFolder, false),
            ("modules/x/config", Write, false),
        ];
        for (name, act, expected) in cases {
            let path = Path::new("/ws/.git").join(name);
            assert_eq!(guard().allows(&path, act), expected, "{name} {act:?}");
        }
        let both = |old: &str, new: &str| {
            guard().allows_both(Path::new(old), MoveFrom, Path::new(new), MoveTo)
        };
        assert!(both("/ws/.git/index.lock", "/ws/.git/index"));
        assert!(both("/ws/x", "/ws/y"));
        assert!(!both("/ws/x", "/ws/.git/index"), "it may be a link");
        assert!(!both("/ws/x", "/ws/.git/refs/heads/x"));
        assert!(!both("/ws/.git/index.lock", "/ws/x"));
    }
}
