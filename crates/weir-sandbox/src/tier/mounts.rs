//! What a command sees, as a list of mounts in their order (Z4): the same list for namespaces that
//! Weir builds itself and for those that bubblewrap builds. Not here: who performs it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{kernel, listeners};
use crate::history::GitHistory;
use crate::places::ConfinedPlaces;

/// Replaced as a whole: what others put there is not for commands, sockets above all.
const REPLACED: [&str; 5] = ["/tmp", "/run", "/var/run", "/dev", "/proc"];

/// Under `/run`, but programs and no sockets.
const KEPT: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// Memory that the temporary folder may take.
const TMP_BYTES: u64 = 2 << 30;

/// One of them. Paths are real: nothing on the way to them is a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mount {
    /// What lies at `from`, at `to`.
    Bind { from: PathBuf, to: PathBuf },
    /// The same, not to be written, with all that is mounted below.
    ReadOnly { from: PathBuf, to: PathBuf },
    /// An empty folder in memory.
    Memory { at: PathBuf, bytes: Option<u64> },
    /// The devices that every program may use, terminals of its own among them.
    Devices { at: PathBuf },
    /// The processes of the command.
    Processes { at: PathBuf },
    /// A link.
    Link { at: PathBuf, to: PathBuf },
    /// Nothing can be made in the folder in memory any more.
    Seal { at: PathBuf },
}

/// Things that lie outside and are shown or bound inside.
#[derive(Debug, Clone)]
pub(crate) struct OutsideFiles {
    /// An empty folder and an empty file that nobody may read.
    pub(crate) veil: MountVeil,
    /// Files that are shown elsewhere than they lie: where they lie, and where they are seen.
    pub(crate) shown: Vec<(PathBuf, PathBuf)>,
    /// What stands in the place of a `.git`.
    pub(crate) histories: Vec<GitHistory>,
}

/// What is laid over what is not to be seen.
#[derive(Debug, Clone)]
pub(crate) struct MountVeil {
    pub(crate) folder: PathBuf,
    pub(crate) file: PathBuf,
}

/// How something is seen; of the same depth, later ones lie over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountKind {
    /// As it is, read-only.
    Shown,
    /// As it is.
    Open,
    /// Read-only inside what is open.
    Guarded,
    /// Not to be seen.
    Hidden,
}

/// All of them, later ones over earlier ones.
///
/// # Errors
/// What cannot be looked at.
pub(crate) fn list_mounts(
    places: &ConfinedPlaces,
    outside: &OutsideFiles,
) -> Result<Vec<Mount>, String> {
    mounts_around(&with_sockets_hidden(places)?, outside)
}

/// The same where sockets of other programs are hidden already, or are none of the question.
///
/// # Errors
/// As [`list_mounts`].
pub(crate) fn mounts_around(
    places: &ConfinedPlaces,
    outside: &OutsideFiles,
) -> Result<Vec<Mount>, String> {
    let mut list = machine_mounts();
    list.extend(of_places(places, outside)?);
    for (from, to) in &outside.shown {
        list.push(read_only(from, to));
    }
    list.push(Mount::Seal { at: "/run".into() });
    Ok(list)
}

fn bind_in_place(path: &Path) -> Mount {
    Mount::Bind { from: path.into(), to: path.into() }
}

fn read_only(from: &Path, to: &Path) -> Mount {
    Mount::ReadOnly { from: from.into(), to: to.into() }
}

/// The same for every command.
fn machine_mounts() -> Vec<Mount> {
    let mut list = vec![
        read_only(Path::new("/"), Path::new("/")),
        Mount::Devices { at: "/dev".into() },
        Mount::Processes { at: "/proc".into() },
    ];
    list.extend(
        kernel::kernel_setting_paths().iter().map(|settings| read_only(settings, settings)),
    );
    list.push(Mount::Memory { at: "/tmp".into(), bytes: Some(TMP_BYTES) });
    for folder in ["/run", "/var/run"] {
        if Path::new(folder).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            list.push(Mount::Memory { at: folder.into(), bytes: None });
        }
    }
    for folder in KEPT.map(Path::new) {
        list.extend(folder.canonicalize().ok().map(|real| read_only(&real, folder)));
    }
    list
}

fn of_places(places: &ConfinedPlaces, outside: &OutsideFiles) -> Result<Vec<Mount>, String> {
    let (shown, between) = (shown_folders(places), places.paths_between());
    let around = MountSurroundings { shown, between, siblings: link_siblings(&places.links)? };
    let mut sealed: Vec<&Path> = Vec::new();
    let mut list = Vec::new();
    for (_, kind, path) in in_order(places, &around) {
        list.push(match kind {
            MountKind::Shown | MountKind::Guarded => read_only(path, path),
            MountKind::Open => bind_in_place(path),
            MountKind::Hidden if !path.is_dir() => read_only(&outside.veil.file, path),
            // Something in it is shown: it needs room for that.
            MountKind::Hidden if places.open_roots().any(|root| root.starts_with(path)) => {
                sealed.push(path);
                Mount::Memory { at: path.into(), bytes: None }
            }
            MountKind::Hidden => read_only(&outside.veil.folder, path),
        });
    }
    for history in &outside.histories {
        list.push(Mount::Bind { from: history.seen.clone(), to: history.git.clone() });
        list.extend(history.open.iter().map(|name| bind_in_place(&history.git.join(name))));
        let real = history.shown.iter().map(|name| history.git.join(name));
        list.extend(real.map(|path| read_only(&path, &path)));
    }
    for (way, real) in &places.ways {
        let is_hidden = is_replaced(way) || sealed.iter().any(|path| way.starts_with(path));
        if is_hidden && !places.open_roots().any(|open| way.starts_with(open)) {
            list.push(Mount::Link { at: way.clone(), to: real.clone() });
        }
    }
    list.extend(places.sockets.iter().map(|socket| bind_in_place(socket)));
    list.extend(sealed.into_iter().map(|path| Mount::Seal { at: path.into() }));
    Ok(list)
}

/// What is looked up around the places of a command.
struct MountSurroundings {
    /// Its folder, where it would be hidden.
    shown: Vec<PathBuf>,
    /// Between a writable root and what is guarded in it.
    between: BTreeSet<PathBuf>,
    /// Beside links that must stay.
    siblings: BTreeSet<PathBuf>,
}

/// By depth, so that what lies in something is mounted after it.
fn in_order<'a>(
    places: &'a ConfinedPlaces,
    around: &'a MountSurroundings,
) -> BTreeSet<(usize, MountKind, &'a Path)> {
    let visible = |path: &&PathBuf| stays_there(places, &around.shown, path);
    let readable = places.readable.iter().filter(|path| !places.is_writable(path));
    let open = places.writable.iter().chain(&around.between).chain(&around.siblings);
    let guarded = places.protected.iter().filter(visible).map(PathBuf::as_path);
    let folders = around.siblings.iter().filter_map(|path| path.parent());
    let hidden = places.masked.iter().filter(visible);
    let all = around.shown.iter().chain(readable).map(|path| (MountKind::Shown, path.as_path()));
    let all = all.chain(open.map(|path| (MountKind::Open, path.as_path())));
    let all = all.chain(guarded.chain(folders).map(|path| (MountKind::Guarded, path)));
    let all = all.chain(hidden.map(|path| (MountKind::Hidden, path.as_path())));
    all.map(|(kind, path)| (path.components().count(), kind, path)).collect()
}

/// Whether it is not replaced as a whole, or lies in what is shown all the same.
fn stays_there(places: &ConfinedPlaces, shown: &[PathBuf], path: &Path) -> bool {
    !is_replaced(path) || shown.iter().chain(places.open_roots()).any(|root| path.starts_with(root))
}

fn is_replaced(path: &Path) -> bool {
    REPLACED.iter().any(|folder| path.starts_with(folder))
}

/// The command's folder where it would be hidden, with what is around it.
fn shown_folders(places: &ConfinedPlaces) -> Vec<PathBuf> {
    let cwd = &places.cwd;
    if !is_replaced(cwd) || places.open_roots().any(|root| cwd.starts_with(root)) {
        return Vec::new();
    }
    let top = REPLACED.iter().find_map(|folder| {
        let below = cwd.strip_prefix(folder).ok()?.components().next()?;
        Some(Path::new(folder).join(below))
    });
    top.into_iter().collect()
}

/// What lies beside links that must stay: a mount cannot hold a link in its place, so their folder
/// takes no new entries and what is in it is opened one by one.
fn link_siblings(links: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, String> {
    let mut siblings = BTreeSet::new();
    for folder in links.iter().filter_map(|link| link.parent()) {
        let entries =
            folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.filter_map(Result::ok) {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                siblings.insert(entry.path());
            }
        }
    }
    Ok(siblings)
}

/// The same places, with the sockets of programs of this machine hidden too: reading them is not needed
/// to speak to a program that does not sit in a sandbox.
fn with_sockets_hidden(places: &ConfinedPlaces) -> Result<ConfinedPlaces, String> {
    let mut hidden = places.clone();
    let shown = shown_folders(places);
    // The nearest one decides: a workspace lies in a home that is hidden.
    let is_masked = |path: &Path| {
        let masks = places.masked.iter().filter(|masked| path.starts_with(masked));
        masks.max().is_some_and(|masked| {
            let inside = |root: &PathBuf| root.starts_with(masked) && root != masked;
            !places.open_roots().any(|root| path.starts_with(root) && inside(root))
        })
    };
    let is_seen = |path: &Path| stays_there(places, &shown, path) && !is_masked(path);
    let open: Vec<&Path> = places.open_roots().map(PathBuf::as_path).collect();
    let found = listeners::visible_sockets(&open, is_seen)?;
    hidden.masked.extend(found.into_iter().filter(|path| !places.sockets.contains(path)));
    Ok(hidden)
}
