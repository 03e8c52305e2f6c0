//! The strongest tier: Weir builds the namespaces of a command itself (Z4), wherever the kernel lets
//! an ordinary process do so.
//!
//! Two processes do it, both this program. The one *outside* makes the namespaces and stays there as
//! the parent; the first process *within* sees only them, lays out what the command sees, and gives up
//! every power before it starts anything. Not here: which mounts (`mounts`), which system calls
//! (`seccomp`), and what the first process does afterwards (`inside`).

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::sched::CloneFlags;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::mounts::Mount;
use super::seccomp::{self, SocketPolicy};
use crate::inside_orders::SandboxStage;

/// What the first process lays out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxLayout {
    pub(crate) mounts: Vec<Mount>,
    /// Where the command runs.
    pub(crate) cwd: PathBuf,
    /// Nothing is to be run: it is tried whether this works.
    pub(crate) only_tried: bool,
}

/// How it ends when it was only tried, and works.
pub(crate) const WORKS: u8 = 42;

/// Makes the namespaces, and starts `command` as the first process in them. Lasts as long as that.
///
/// # Errors
/// What the kernel refuses.
pub(crate) fn enter_namespaces(
    command: impl FnOnce(SandboxStage) -> Command,
) -> Result<ExitCode, String> {
    end_with_parent()?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let spaces = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWNET;
    nix::sched::unshare(spaces).map_err(|error| format!("namespaces: {error}"))?;
    // Not every kernel has them, and nothing rests on them.
    let _ = nix::sched::unshare(CloneFlags::CLONE_NEWCGROUP);
    // As root inside: a terminal's file system wants one.
    map_ids(0, user, 0, group)?;
    // Opened before the first process changes the root of both.
    let null = fs::File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| format!("/dev/null: {error}"))?;
    let mut child = command(SandboxStage::Within { user, group })
        .spawn()
        .map_err(|error| format!("the first process: {error}"))?;
    // Nothing of the command's is held open here.
    rustix::stdio::dup2_stdin(&null)
        .and_then(|()| rustix::stdio::dup2_stdout(&null))
        .and_then(|()| rustix::stdio::dup2_stderr(&null))
        .map_err(|error| format!("its streams: {error}"))?;
    let ended = child.wait().map_err(|error| format!("the first process: {error}"))?;
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// In the first process: everything up to the point where it may start the command.
///
/// # Errors
/// What the kernel refuses. Nothing may run then.
pub(crate) fn lay_out(layout: &SandboxLayout, user: u32, group: u32) -> Result<(), String> {
    end_with_parent()?;
    let said = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what}: {error}")
    };
    // A terminal of somebody else is not to be its own.
    rustix::process::setsid().map_err(|error| format!("a session of its own: {error}"))?;
    raise_loopback().map_err(said("loopback"))?;
    RootTrees::open().map_err(said("the machine's files"))?.mount_all(&layout.mounts)?;
    std::env::set_current_dir(&layout.cwd)
        .map_err(|error| format!("{}: {error}", layout.cwd.display()))?;
    // From here on this process has no power over its own mounts either.
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|error| format!("a second user namespace: {error}"))?;
    map_ids(user, 0, group, 0)?;
    super::drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    seccomp::apply_filters(&seccomp::filter_programs(SocketPolicy::Namespace)?)
}

fn end_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the end with its parent: {error}"))
}

/// Says who this process is: one user, one group, and no other.
fn map_ids(user: u32, user_outside: u32, group: u32, group_outside: u32) -> Result<(), String> {
    let write = |file: &str, text: &str| {
        let path = Path::new("/proc/self").join(file);
        let opened = fs::OpenOptions::new().write(true).open(&path);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    write("setgroups", "deny")?;
    write("gid_map", &format!("{group} {group_outside} 1\n"))?;
    write("uid_map", &format!("{user} {user_outside} 1\n"))
}

/// Loopback is up, with its addresses.
fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    /// `RTM_NEWLINK`, as a request that wants an answer.
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    /// `IFF_UP`.
    const UP: u32 = 1;
    /// The loopback device is the first of every network namespace.
    const LOOPBACK: i32 = 1;
    const BYTES: u32 = 32;
    let mut message = Vec::with_capacity(BYTES as usize);
    message.extend(BYTES.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Number of the message, and of the sender.
    message.extend([0; 8]);
    // Family and kind: any.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // What routes and links are asked of.
        None,
    )?;
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 1024];
    let (count, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // After its head of 16 bytes: zero, or a negative error number.
    match answer.get(16..20).filter(|_| count >= 20).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => match i32::from_ne_bytes(bytes) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        None => Err(io::Error::other("the kernel's answer is too short")),
    }
}

/// Where the machine's files are seen while the command's are laid out.
const OLD: &str = "/old";
/// What becomes the command's root.
const NEW: &str = "/new";

/// One mount of the machine: where, and what cannot be taken from it in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MachineMount {
    at: PathBuf,
    flags: MountFlags,
}

/// The two trees, and the table of the first.
struct RootTrees {
    machine: Vec<MachineMount>,
}

impl RootTrees {
    /// Makes a root of its own in memory, with the machine's below [`OLD`] and an empty one at [`NEW`].
    fn open() -> io::Result<RootTrees> {
        let machine = parse_mount_table(&fs::read("/proc/self/mountinfo")?);
        let all = MountPropagationFlags::REC;
        // What is unmounted outside goes here too; nothing goes the other way.
        rustix::mount::mount_change("/", all | MountPropagationFlags::DOWNSTREAM)?;
        let base = ["/tmp", "/run", "/proc"].map(Path::new);
        let base = base.iter().find(|base| base.is_dir());
        let base = base.ok_or_else(|| io::Error::other("no folder can be mounted on"))?;
        let plain = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("tmpfs", *base, "tmpfs", plain, c"mode=0755")?;
        std::env::set_current_dir(base)?;
        fs::create_dir("old")?;
        fs::create_dir("new")?;
        // What becomes a root must be a mount.
        rustix::mount::mount_bind("new", "new")?;
        rustix::process::pivot_root(".", "old")?;
        std::env::set_current_dir("/")?;
        Ok(RootTrees { machine })
    }

    /// Mounts everything, and leaves nothing else of the machine.
    fn mount_all(self, mounts: &[Mount]) -> Result<(), String> {
        for mount in mounts {
            self.perform_mount(mount).map_err(|error| format!("{mount:?}: {error}"))?;
        }
        leave_machine().map_err(|error| format!("the machine's files stay: {error}"))
    }

    fn perform_mount(&self, mount: &Mount) -> io::Result<()> {
        let plain = MountFlags::NOSUID | MountFlags::NODEV;
        match mount {
            Mount::Bind { from, to } => self.bind_mount(from, to, plain),
            Mount::ReadOnly { from, to } => self.bind_mount(from, to, plain | MountFlags::RDONLY),
            Mount::Memory { at, bytes } => {
                let at = make_mount_point(at, MountPointKind::Folder)?;
                let at = way_to(&at);
                let options = match bytes {
                    Some(bytes) => format!("mode=0755,size={bytes}"),
                    None => "mode=0755".into(),
                };
                let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
                Ok(rustix::mount::mount("tmpfs", &at, "tmpfs", plain, options.as_c_str())?)
            }
            Mount::Devices { at } => self.mount_devices(at),
            Mount::Processes { at } => {
                let (at, flags) =
                    (make_mount_point(at, MountPointKind::Folder)?, plain | MountFlags::NOEXEC);
                Ok(rustix::mount::mount("proc", way_to(&at), "proc", flags, None)?)
            }
            Mount::Link { at, to } => {
                let at = path_in_tree(NEW, at);
                at.parent().map_or(Ok(()), create_folders)?;
                match symlink(to, &at) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => Ok(()),
                }
            }
            Mount::Seal { at } => {
                let flags = MountFlags::BIND | plain | MountFlags::RDONLY;
                let at = hold_path(&path_in_tree(NEW, at))?;
                Ok(rustix::mount::mount_remount(way_to(&at), flags, "")?)
            }
        }
    }

    /// With everything that is mounted below. What the kernel keeps of a mount is kept.
    fn bind_mount(&self, from: &Path, to: &Path, flags: MountFlags) -> io::Result<()> {
        let source = hold_path(&path_in_tree(OLD, from))?;
        let is_folder = FileType::from_raw_mode(fstat(&source)?.st_mode) == FileType::Directory;
        let under = make_mount_point(
            to,
            if is_folder { MountPointKind::Folder } else { MountPointKind::File },
        )?;
        rustix::mount::mount_bind_recursive(way_to(&source), way_to(&under))?;
        let at = path_in_tree(NEW, to);
        // What lies there now is the mount.
        self.remount(from, &way_to(&hold_path(&at)?), flags)?;
        for below in self.machine.iter().filter(|mounted| mounted.at != *from) {
            let Ok(rest) = below.at.strip_prefix(from) else { continue };
            match self.remount(&below.at, &at.join(rest), flags) {
                // What cannot be reached, or is covered by another mount, cannot be written either.
                Err(error) if is_out_of_reach(&error) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn remount(&self, from: &Path, at: &Path, flags: MountFlags) -> io::Result<()> {
        let kept = self.machine.iter().rev().filter(|mounted| from.starts_with(&mounted.at));
        let kept = kept.max_by_key(|mounted| mounted.at.components().count());
        let kept = kept.map_or(MountFlags::empty(), |mounted| mounted.flags);
        Ok(rustix::mount::mount_remount(at, MountFlags::BIND | kept | flags, "")?)
    }

    fn mount_devices(&self, at: &Path) -> io::Result<()> {
        const SHOWN: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
        const LINKS: [(&str, &str); 6] = [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("core", "/proc/kcore"),
            ("ptmx", "pts/ptmx"),
        ];
        let under = make_mount_point(at, MountPointKind::Folder)?;
        let plain = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("tmpfs", way_to(&under), "tmpfs", plain, c"mode=0755")?;
        let folder = path_in_tree(NEW, at);
        for name in SHOWN {
            let at = at.join(name);
            self.bind_mount(&at, &at, MountFlags::NOSUID)?;
        }
        for (name, to) in LINKS {
            symlink(to, folder.join(name))?;
        }
        fs::DirBuilder::new().mode(0o755).create(folder.join("shm"))?;
        let terminals = folder.join("pts");
        fs::DirBuilder::new().mode(0o755).create(&terminals)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        Ok(rustix::mount::mount("devpts", &terminals, "devpts", flags, options)?)
    }
}

/// Puts the command's root in the place of the room.
fn leave_machine() -> io::Result<()> {
    rustix::mount::unmount(OLD, UnmountFlags::DETACH)?;
    std::env::set_current_dir(NEW)?;
    // One root upon the other, and the lower one goes.
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountPointKind {
    Folder,
    File,
}

fn is_out_of_reach(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied};
    let unreachable = [InvalidInput, NotADirectory, NotFound].contains(&error.kind());
    // Not "operation not permitted", which is of the same kind and a real refusal.
    unreachable
        || (error.kind() == PermissionDenied
            && error.raw_os_error() == Some(rustix::io::Errno::ACCESS.raw_os_error()))
}

/// A path of the machine in one of the two trees.
fn path_in_tree(tree: &str, path: &Path) -> PathBuf {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
    Path::new(tree).join(parts.collect::<PathBuf>())
}

/// What lies at a path of which no part is a link, held: another command may put one there at any
/// moment, and a mount would follow it.
fn hold_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// The way to what is held, for calls that take paths.
fn way_to(held: &OwnedFd) -> PathBuf {
    path_in_tree(OLD, Path::new("/proc/self/fd")).join(held.as_raw_fd().to_string())
}

/// The place of a mount in the new tree, made where it is missing.
fn make_mount_point(path: &Path, kind: MountPointKind) -> io::Result<OwnedFd> {
    let at = path_in_tree(NEW, path);
    match hold_path(&at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        there => return there,
    }
    match kind {
        MountPointKind::Folder => create_folders(&at)?,
        MountPointKind::File => {
            at.parent().map_or(Ok(()), create_folders)?;
            fs::File::create_new(&at)?;
        }
    }
    hold_path(&at)
}

fn create_folders(at: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).recursive(true).create(at)
}

/// The table of mounts, as `/proc/self/mountinfo` tells it.
fn parse_mount_table(table: &[u8]) -> Vec<MachineMount> {
    use std::os::unix::ffi::OsStringExt as _;
    let line = |line: &[u8]| {
        // 36 35 98:0 /root /mount/point rw,noatime …
        let mut words = line.split(|byte| *byte == b' ').skip(4);
        let at = PathBuf::from(std::ffi::OsString::from_vec(unescape_octal(words.next()?)));
        let mut flags = MountFlags::empty();
        for word in words.next()?.split(|byte| *byte == b',') {
            flags |= match word {
                b"ro" => MountFlags::RDONLY,
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"nosymfollow" => MountFlags::NOSYMFOLLOW,
                // Times stay as they are where nothing is said of them.
                _ => MountFlags::empty(),
            };
        }
        Some(MachineMount { at, flags })
    };
    table.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// `\040` and the like as the bytes that they stand for.
fn unescape_octal(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_a_link_that_came_to_lie_there_is_not_followed() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it exists");
        fs::create_dir(root.join("real")).expect("a folder");
        fs::write(root.join("real/file"), "").expect("a file");
        assert!(hold_path(&root.join("real/file")).is_ok());
        symlink(root.join("real"), root.join("way")).expect("a link");
        for through in ["way", "way/file"] {
            assert!(hold_path(&root.join(through)).is_err(), "{through}");
        }
    }

    #[test]
    fn z4_the_table_of_mounts_is_read_with_what_a_namespace_must_keep() {
        let table = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            30 22 0:26 / /mnt/with\\040space ro,nosuid,nodev,noexec - tmpfs tmpfs rw\nbroken\n";
        let found = parse_mount_table(table);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], MachineMount { at: "/".into(), flags: MountFlags::empty() });
        assert_eq!(found[1].at, Path::new("/mnt/with space"));
        let kept = [MountFlags::RDONLY, MountFlags::NOSUID, MountFlags::NODEV, MountFlags::NOEXEC];
        assert_eq!(found[1].flags, kept.into_iter().collect());
        assert_eq!(unescape_octal(b"a\\134b\\9"), b"a\\b\\9");
    }
}
