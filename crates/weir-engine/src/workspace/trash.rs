//! The trash in the state directory: where deleted files go after the checkpoint (C3).
//!
//! Nothing is read back from here by Weir: undo uses checkpoints. It is for people.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::{Workspace, beneath};

/// Most files of one name in one call's trash.
const SAME_NAME_MAX: u32 = 1000;

/// Moves the held file `rel` to the trash as `shown`, or removes it when there is no trash.
pub(super) fn put_in_trash(
    workspace: &Workspace,
    root: Option<usize>,
    rel: &Path,
    label: &str,
    shown: &str,
) {
    let base = workspace.anchor_of(root);
    let Ok((folder, name)) = beneath::open_parent(base, rel) else { return };
    if let Some(trash) = &workspace.trash {
        let kept = trash_place(trash, label, shown).and_then(|to| {
            match rustix::fs::renameat(&folder, &name, CWD, &to) {
                Err(Errno::XDEV) => copy_to_trash(workspace, root, rel, &to),
                moved => moved.map_err(std::io::Error::from),
            }
        });
        match kept {
            Ok(()) => {}
            Err(e) => tracing::warn!(path = shown, error = %e, "deleted file not kept in trash"),
        }
    }
    // The checkpoint holds the content. Gone already when it was moved.
    let _ = rustix::fs::unlinkat(&folder, &name, AtFlags::empty());
}

fn trash_place(trash: &Path, label: &str, shown: &str) -> std::io::Result<PathBuf> {
    let below: PathBuf = Path::new(shown)
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            Component::RootDir => Some("outside".as_ref()),
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    let wanted = trash.join(label.replace('/', "_")).join(below);
    if let Some(folder) = wanted.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let is_free = |path: &Path| std::fs::symlink_metadata(path).is_err();
    if is_free(&wanted) {
        return Ok(wanted);
    }
    let numbered = |number: u32| {
        let mut name = wanted.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    (2..SAME_NAME_MAX).map(numbered).find(|path| is_free(path)).ok_or_else(|| {
        std::io::Error::new(std::io::ErrorKind::AlreadyExists, "too many files of this name")
    })
}

fn copy_to_trash(
    workspace: &Workspace,
    root: Option<usize>,
    rel: &Path,
    to: &Path,
) -> std::io::Result<()> {
    let base = workspace.anchor_of(root);
    match beneath::open_regular(base, rel) {
        Ok((mut from, _)) => {
            let mut kept = std::fs::OpenOptions::new().write(true).create_new(true).open(to)?;
            std::io::copy(&mut from, &mut kept).map(|_| ())
        }
        Err(Ok(FileType::Symlink)) => {
            let (link, _) = beneath::probe_path(base, rel)?;
            let target = beneath::read_link(std::os::fd::AsFd::as_fd(&link))?;
            std::os::unix::fs::symlink(target, to)
        }
        Err(Ok(_)) => Err(std::io::Error::other("it is neither a file nor a link")),
        Err(Err(e)) => Err(e.into()),
    }
}
