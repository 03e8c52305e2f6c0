//! Sockets of other programs, as files that a sandbox with its own view hides one by one (Z4, R9): buses
//! of the desktop, agents that keep keys, container engines. They are looked up in the kernel's table
//! before each command. Not here: sockets without a file, which a network of its own keeps away, and
//! folders that are replaced as a whole (`mounts`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The kernel's table of Unix sockets, of this network.
const TABLE: &str = "/proc/self/net/unix";

/// Fields before the name: address, references, protocol, flags, type, state, number.
const FIELDS_BEFORE: usize = 7;

/// Sockets that are hidden one by one. Each is a mount.
const SOCKETS_MAX: usize = 500;

/// Entries among which a moved socket is looked for.
const ENTRIES_MAX: usize = 1_000_000;

/// The real paths of all sockets of the machine for which `is_seen` holds. A command can move folders in
/// `open_roots`, with the sockets in them.
///
/// # Errors
/// The table cannot be read, or there are so many that some would stay open.
pub(super) fn visible_sockets(
    open_roots: &[&Path],
    is_seen: impl Fn(&Path) -> bool,
) -> Result<BTreeSet<PathBuf>, String> {
    let table = fs::read(TABLE)
        .map_err(|error| format!("{TABLE}, where sockets of other programs stand: {error}"))?;
    let (whole, relative): (Vec<PathBuf>, Vec<PathBuf>) =
        names_in(&table).into_iter().partition(|name| name.is_absolute());
    let mut found = BTreeSet::new();
    let mut searched = BTreeSet::new();
    for name in whole {
        match real_socket(&name) {
            Some(real) => drop(found.insert(real)),
            None => searched.extend(places_of_lost(&name, open_roots)),
        }
    }
    let mut left = ENTRIES_MAX;
    for place in &searched {
        if is_seen(&place.folder) {
            search_sockets(place, &mut left, &mut found)?;
        }
    }
    if !relative.is_empty() {
        // Bound from the folder in which its program runs.
        let folders = working_folders();
        let places = relative.iter().flat_map(|name| folders.iter().map(move |at| at.join(name)));
        found.extend(places.filter_map(|path| real_socket(&path)));
    }
    found.retain(|path| is_seen(path));
    match found.len() {
        0..=SOCKETS_MAX => Ok(found),
        count => Err(format!(
            "{count} sockets of other programs lie where a command would see them, and {SOCKETS_MAX} \
             is the most that is hidden; end some of those programs or name fewer folders"
        )),
    }
}

/// A folder in which a socket may lie under another name than the kernel knows it by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SearchedFolder {
    folder: PathBuf,
    with_folders_below: bool,
}

/// Where a socket is when nothing has its name any more: beside it, as some programs bind another name first
/// and then move it to the one at which they are asked (ssh); or, where a command could move a folder with
/// all in it, anywhere that it could move it to.
fn places_of_lost(name: &Path, open_roots: &[&Path]) -> Vec<SearchedFolder> {
    let beside = name.parent().and_then(|folder| folder.canonicalize().ok());
    let there = name.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    let could_be_moved =
        there.is_some_and(|there| open_roots.iter().any(|root| there.starts_with(root)));
    let everywhere = open_roots
        .iter()
        .filter(|_| could_be_moved)
        .map(|root| SearchedFolder { folder: root.to_path_buf(), with_folders_below: true });
    let beside = beside.map(|folder| SearchedFolder { folder, with_folders_below: false });
    everywhere.chain(beside).collect()
}

/// Finds all sockets in a folder. What cannot be read by us cannot be by a command.
fn search_sockets(
    place: &SearchedFolder,
    left: &mut usize,
    found: &mut BTreeSet<PathBuf>,
) -> Result<(), String> {
    let mut folders = vec![place.folder.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1).ok_or_else(|| {
                format!(
                    "a socket of another program was moved, and {} has more than {ENTRIES_MAX} \
                     entries among which it may be; end that program",
                    place.folder.display()
                )
            })?;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_socket() {
                found.insert(entry.path());
            } else if kind.is_dir() && place.with_folders_below {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

fn real_socket(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    real.metadata().is_ok_and(|meta| meta.file_type().is_socket()).then_some(real)
}

/// Names in the table that are in the file system, each once: a connection has the name of the socket
/// that accepted it.
fn names_in(table: &[u8]) -> BTreeSet<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n').skip(1);
    let names = lines.filter_map(name_in_line).filter(|name| !name.starts_with(b"@"));
    names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))).collect()
}

/// What stands after the fields and one space.
fn name_in_line(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..FIELDS_BEFORE {
        let begin = rest.iter().position(|byte| *byte != b' ')?;
        let length = rest[begin..].iter().position(|byte| *byte == b' ')?;
        rest = &rest[begin + length..];
    }
    rest.get(1..).filter(|name| !name.is_empty())
}

/// Folders in which programs of this user run.
fn working_folders() -> BTreeSet<PathBuf> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    // Only those of processes are there; of other users' none can be read.
    listed.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn z4_names_of_sockets_are_read_as_the_kernel_writes_them() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            ffff: 00000002 00000000 00010000 0001 01   345 /run/user/1/bus\n\
            ffff: 00000003 00000000 00000000 0001 03 12345 /run/user/1/bus\n\
            ffff: 00000002 00000000 00010000 0001 01 12345 @/tmp/dbus-1\n\
            ffff: 00000002 00000000 00010000 0001 01 12345 S.agent\n\
            ffff: 00000002 00000000 00010000 0001 01 12345 /with a space/s \n\
            ffff: 00000003 00000000 00000000 0001 03 12345\n\
            ffff: 0000\n\n";
        let names = ["/run/user/1/bus", "/with a space/s ", "S.agent"].map(PathBuf::from);
        assert_eq!(names_in(table), BTreeSet::from(names));
        assert!(names_in(b"").is_empty() && names_in(b"Num\n   \n").is_empty());
    }

    #[test]
    fn z4_a_socket_is_found_also_where_it_was_moved_and_where_nothing_else_is_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it exists");
        let listeners =
            ["plain", "first"].map(|name| UnixListener::bind(at.join(name)).expect("a socket"));
        fs::rename(at.join("first"), at.join("moved")).expect("moved");
        fs::write(at.join("file"), "").expect("a file");
        let found = visible_sockets(&[], |path| path.starts_with(&at)).expect("few");
        assert_eq!(found, BTreeSet::from(["plain", "moved"].map(|name| at.join(name))));
        assert_eq!(visible_sockets(&[], |_| false), Ok(BTreeSet::new()));
        drop(listeners);
    }

    #[test]
    fn z4_a_socket_is_found_where_its_folder_was_moved_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it exists");
        fs::create_dir_all(at.join("src/deep")).expect("a folder");
        fs::create_dir(at.join("other")).expect("a folder");
        let listener = UnixListener::bind(at.join("src/deep/bus")).expect("a socket");
        fs::rename(at.join("src"), at.join("other/src2")).expect("moved");
        let found = visible_sockets(&[&at], |path| path.starts_with(&at)).expect("few");
        assert_eq!(found, BTreeSet::from([at.join("other/src2/deep/bus")]));
        drop(listener);
    }

    #[test]
    fn z4_more_sockets_than_can_be_hidden_are_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it exists");
        let bind = |name: usize| UnixListener::bind(at.join(name.to_string())).expect("a socket");
        let held: Vec<UnixListener> = (0..=SOCKETS_MAX).map(bind).collect();
        let why = visible_sockets(&[], |path| path.starts_with(&at)).expect_err("one too many");
        assert!(why.contains("501 sockets"), "{why}");
        drop(held);
    }
}
