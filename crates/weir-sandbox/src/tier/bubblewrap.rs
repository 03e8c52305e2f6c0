//! The strongest tier: the program bubblewrap builds namespaces around a command (Z4).
//!
//! Here is what it is told: which mounts, in which order, and which filters. Not here: who starts
//! it, and what runs inside (`inside`).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::kernel;
use super::places::Places;
use super::seccomp::{self, Sockets};
use crate::supervise::history::History;

/// Replaced as a whole: what others put there is not for commands, sockets above all.
const REPLACED: [&str; 5] = ["/tmp", "/run", "/var/run", "/dev", "/proc"];

/// Under `/run`, but programs and no sockets.
const KEPT: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// Where the helper and the way out are seen inside.
pub(crate) const HELPER: &str = "/run/weir/inside";
/// See [`HELPER`].
pub(crate) const SOCKET: &str = "/run/weir/proxy";

/// Memory that the temporary folder may take.
const TMP_BYTES: u64 = 2 << 30;

/// Sockets of other programs that are hidden one by one.
const SOCKETS_MAX: usize = 500;

/// A system without its own table of mounts does not take more of them from one command.
const ARGUMENTS_MAX: usize = 8_900;

/// Things that lie outside and are shown or bound inside.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    /// An empty folder and an empty file that nobody may read.
    pub(crate) veil: Veil,
    /// The program that runs inside.
    pub(crate) helper: Option<PathBuf>,
    /// Where the proxy listens.
    pub(crate) socket: Option<PathBuf>,
    /// What stands in the place of a `.git`.
    pub(crate) histories: Vec<History>,
}

/// What is laid over what is not to be seen.
#[derive(Debug, Clone)]
pub(crate) struct Veil {
    pub(crate) folder: PathBuf,
    pub(crate) file: PathBuf,
}

/// Arguments, and the descriptors that they name: those must be open in the program.
pub(crate) struct Plan {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) handles: Vec<OwnedFd>,
}

/// One mount, later ones over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// As it is, read-only.
    Shown,
    /// As it is.
    Open,
    /// Read-only inside what is open.
    Guarded,
    /// Not to be seen.
    Hidden,
}

/// The program, as an absolute path: the first on the search path that a command could not have
/// put there.
///
/// # Errors
/// That there is none, or why what is there is not used.
pub(crate) fn find(search_path: &OsStr) -> Result<PathBuf, String> {
    let mut refused = None;
    for folder in std::env::split_paths(search_path).filter(|folder| folder.is_absolute()) {
        let program = folder.join("bwrap");
        let Ok(meta) = program.metadata() else { continue };
        let own = rustix::process::geteuid();
        let foreign = meta.uid() == 0 || (!own.is_root() && meta.uid() != own.as_raw());
        if meta.is_file() && foreign && meta.mode() & 0o022 == 0 && program.to_str().is_some() {
            return Ok(program);
        }
        refused = Some(program);
    }
    Err(match refused {
        Some(program) => format!(
            "{} can be changed by your user, so a command could replace it",
            program.display()
        ),
        None => "there is no bwrap on PATH".into(),
    })
}

/// Everything up to the program that runs inside.
///
/// # Errors
/// What is too much, or cannot be looked at.
pub(crate) fn plan(places: &Places, outside: &Outside) -> Result<Plan, String> {
    let mut mounts = Arguments::default();
    mounts.flags();
    let places = with_sockets_hidden(places);
    mounts.places(&places, outside)?;
    mounts.add(&[OsStr::new("--chdir"), places.cwd.as_os_str()]);
    let mut handles = Vec::new();
    let mut arguments = Vec::new();
    let mut count = mounts.0.len();
    let mut list = Vec::new();
    for argument in mounts.0 {
        list.extend(argument.into_vec());
        list.push(0);
    }
    let mut pass = |flag: &str, bytes: &[u8]| -> Result<(), String> {
        let handle = passed(bytes).map_err(|error| format!("a file in memory: {error}"))?;
        arguments.push(flag.into());
        arguments.push(handle.as_raw_fd().to_string().into());
        handles.push(handle);
        count += 2;
        Ok(())
    };
    pass("--args", &list)?;
    for program in seccomp::programs(Sockets::Namespace)? {
        pass("--add-seccomp-fd", &seccomp::bytes(&program))?;
    }
    if count > ARGUMENTS_MAX {
        return Err(format!(
            "{count} arguments for bubblewrap, and it takes {ARGUMENTS_MAX}; put what is ignored \
             or protected into fewer folders"
        ));
    }
    Ok(Plan { arguments, handles })
}

/// A file that has no name, open in the program that is started next.
fn passed(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let handle = rustix::fs::memfd_create("weir", rustix::fs::MemfdFlags::empty())?;
    let mut file = File::from(handle);
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(OwnedFd::from(file))
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add(&mut self, arguments: &[&OsStr]) {
        self.0.extend(arguments.iter().map(|argument| argument.to_os_string()));
    }

    fn mount(&mut self, flag: &str, from: &Path, to: &Path) {
        self.add(&[OsStr::new(flag), from.as_os_str(), to.as_os_str()]);
    }

    /// The same for every command.
    fn flags(&mut self) {
        const FLAGS: [&str; 12] = [
            "--unshare-user-try",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-net",
            "--unshare-cgroup-try",
            // What runs inside is the first process: when it ends, all of them end.
            "--as-pid-1",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--setenv",
        ];
        self.add(&FLAGS.map(OsStr::new));
        self.add(&["TMPDIR", "/tmp", "--ro-bind", "/", "/", "--dev", "/dev"].map(OsStr::new));
        self.add(&["--proc", "/proc"].map(OsStr::new));
        for settings in kernel::settings() {
            self.mount("--ro-bind", &settings, &settings);
        }
        self.add(&["--size"].map(OsStr::new));
        self.add(&[TMP_BYTES.to_string().as_ref(), "--tmpfs".as_ref(), "/tmp".as_ref()]);
        for folder in ["/run", "/var/run"] {
            if Path::new(folder).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                self.add(&["--tmpfs", folder].map(OsStr::new));
            }
        }
        for folder in KEPT {
            self.add(&["--ro-bind-try", folder, folder].map(OsStr::new));
        }
    }

    fn places(&mut self, places: &Places, outside: &Outside) -> Result<(), String> {
        let mut mounts: BTreeSet<(usize, Kind, &Path)> = BTreeSet::new();
        let depth = |path: &Path| path.components().count();
        let shown = shown(places);
        let between = places.between();
        let siblings = siblings(&places.links)?;
        let visible = |path: &Path| {
            !is_replaced(path) || shown.iter().chain(places.opened()).any(|at| path.starts_with(at))
        };
        let folders = siblings.iter().filter_map(|path| path.parent());
        mounts.extend(shown.iter().map(|path| (depth(path), Kind::Shown, path.as_path())));
        let readable = places.readable.iter().filter(|path| !places.is_writable(path));
        mounts.extend(readable.map(|path| (depth(path), Kind::Shown, path.as_path())));
        mounts.extend(places.writable.iter().map(|path| (depth(path), Kind::Open, path.as_path())));
        mounts.extend(between.iter().map(|path| (depth(path), Kind::Open, path.as_path())));
        mounts.extend(folders.map(|path| (depth(path), Kind::Guarded, path)));
        mounts.extend(siblings.iter().map(|path| (depth(path), Kind::Open, path.as_path())));
        for (kind, paths) in [(Kind::Guarded, &places.protected), (Kind::Hidden, &places.masked)] {
            let paths = paths.iter().filter(|path| visible(path));
            mounts.extend(paths.map(|path| (depth(path), kind, path.as_path())));
        }
        let mut sealed = Vec::new();
        for (_, kind, path) in mounts {
            match kind {
                Kind::Shown | Kind::Guarded => self.mount("--ro-bind", path, path),
                Kind::Open => self.mount("--bind", path, path),
                Kind::Hidden if !path.is_dir() => {
                    self.mount("--ro-bind", &outside.veil.file, path);
                }
                // Something in it is shown: it needs room for that.
                Kind::Hidden if places.opened().any(|root| root.starts_with(path)) => {
                    self.add(&[OsStr::new("--tmpfs"), path.as_os_str()]);
                    sealed.push(path);
                }
                Kind::Hidden => self.mount("--ro-bind", &outside.veil.folder, path),
            }
        }
        for history in &outside.histories {
            self.mount("--bind", &history.seen, &history.git);
            for (flag, names) in [("--bind", &history.open), ("--ro-bind", &history.shown)] {
                for name in names {
                    let path = history.git.join(name);
                    self.mount(flag, &path, &path);
                }
            }
        }
        for (way, real) in &places.ways {
            let is_hidden = is_replaced(way) || sealed.iter().any(|path| way.starts_with(path));
            if is_hidden && !places.opened().any(|open| way.starts_with(open)) {
                self.mount("--symlink", real, way);
            }
        }
        for path in sealed {
            self.add(&[OsStr::new("--remount-ro"), path.as_os_str()]);
        }
        let inside = [(&outside.helper, HELPER), (&outside.socket, SOCKET)];
        for (from, to) in inside {
            if let Some(from) = from {
                self.mount("--ro-bind", from, Path::new(to));
            }
        }
        self.add(&["--remount-ro", "/run"].map(OsStr::new));
        Ok(())
    }
}

fn is_replaced(path: &Path) -> bool {
    REPLACED.iter().any(|folder| path.starts_with(folder))
}

/// The command's folder where it would be hidden, with what is around it.
fn shown(places: &Places) -> Vec<PathBuf> {
    let cwd = &places.cwd;
    if !is_replaced(cwd) || places.opened().any(|root| cwd.starts_with(root)) {
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
fn siblings(links: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, String> {
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

/// The same places, with the sockets at which programs of this machine listen hidden too: reading
/// them is not needed to speak to a program that does not sit in a sandbox.
fn with_sockets_hidden(places: &Places) -> Places {
    let mut places = places.clone();
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let listed = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'/')?;
        Some(PathBuf::from(OsString::from_vec(line[at..].to_vec())))
    });
    let sockets: BTreeSet<PathBuf> = listed
        .filter(|path| path.metadata().is_ok_and(|meta| meta.file_type().is_socket()))
        .take(SOCKETS_MAX)
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !places.masked.iter().any(|masked| path.starts_with(masked)))
        .collect();
    places.masked.extend(sockets);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_a_program_that_the_user_could_replace_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a folder");
        let program = home.path().join("bwrap");
        std::fs::write(&program, "#!/bin/sh\n").expect("a file");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o777)).expect("mode");
        let why = find(home.path().as_os_str()).expect_err("anybody can write it");
        assert!(why.contains("can be changed by your user"), "{why}");
        assert!(find(OsStr::new(".")).is_err_and(|why| why.contains("no bwrap on PATH")));
    }
}
