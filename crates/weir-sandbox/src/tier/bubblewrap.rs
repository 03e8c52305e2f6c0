//! The tier for machines where only the program bubblewrap may build namespaces (Z4).
//!
//! Here is what it is told: the mounts, and the filters. Not here: who starts it, which mounts
//! (`mounts`), and what runs inside (`inside`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mounts::Mount;
use super::seccomp::{self, SocketPolicy};

/// Where the helper is seen inside.
pub(crate) const HELPER: &str = "/run/weir/inside";

/// A system without its own table of mounts does not take more of them from one command.
const ARGUMENTS_MAX: usize = 8_900;

/// Arguments, and the descriptors that they name: those must be open in the program.
pub(crate) struct BubblewrapPlan {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) handles: Vec<OwnedFd>,
}

/// The program, as an absolute path: the first on the search path that a command could not have
/// put there.
///
/// # Errors
/// That there is none, or why what is there is not used.
pub(crate) fn find_program(search_path: &OsStr) -> Result<PathBuf, String> {
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
/// What is too much.
pub(crate) fn plan_arguments(mounts: &[Mount], cwd: &Path) -> Result<BubblewrapPlan, String> {
    let mut told = BubblewrapArguments::default();
    told.add_flags();
    mounts.iter().for_each(|mount| told.add_mount(mount));
    told.add_arguments(&[OsStr::new("--chdir"), cwd.as_os_str()]);
    let mut handles = Vec::new();
    let mut arguments = Vec::new();
    let mut count = told.0.len();
    let mut list = Vec::new();
    for argument in told.0 {
        list.extend(argument.into_vec());
        list.push(0);
    }
    let mut pass = |flag: &str, bytes: &[u8]| -> Result<(), String> {
        let handle = unnamed_file(bytes).map_err(|error| format!("a file in memory: {error}"))?;
        arguments.push(flag.into());
        arguments.push(handle.as_raw_fd().to_string().into());
        handles.push(handle);
        count += 2;
        Ok(())
    };
    pass("--args", &list)?;
    for program in seccomp::filter_programs(SocketPolicy::Namespace)? {
        pass("--add-seccomp-fd", &seccomp::program_bytes(&program))?;
    }
    if count > ARGUMENTS_MAX {
        return Err(format!(
            "{count} arguments for bubblewrap, and it takes {ARGUMENTS_MAX}; put what is ignored \
             or protected into fewer folders"
        ));
    }
    Ok(BubblewrapPlan { arguments, handles })
}

/// A file that has no name, open in the program that is started next.
fn unnamed_file(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let handle = rustix::fs::memfd_create("weir", rustix::fs::MemfdFlags::empty())?;
    let mut file = File::from(handle);
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(OwnedFd::from(file))
}

#[derive(Default)]
struct BubblewrapArguments(Vec<OsString>);

impl BubblewrapArguments {
    fn add_arguments(&mut self, arguments: &[&OsStr]) {
        self.0.extend(arguments.iter().map(|argument| argument.to_os_string()));
    }

    /// The same for every command.
    fn add_flags(&mut self) {
        const FLAGS: [&str; 14] = [
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
            "TMPDIR",
            "/tmp",
        ];
        self.add_arguments(&FLAGS.map(OsStr::new));
    }

    fn add_mount(&mut self, mount: &Mount) {
        match mount {
            Mount::Bind { from, to } => {
                self.add_arguments(&["--bind".as_ref(), from.as_ref(), to.as_ref()])
            }
            Mount::ReadOnly { from, to } => {
                self.add_arguments(&["--ro-bind".as_ref(), from.as_ref(), to.as_ref()]);
            }
            Mount::Memory { at, bytes } => {
                if let Some(bytes) = bytes {
                    self.add_arguments(&["--size".as_ref(), bytes.to_string().as_ref()]);
                }
                self.add_arguments(&["--tmpfs".as_ref(), at.as_ref()]);
            }
            Mount::Devices { at } => self.add_arguments(&["--dev".as_ref(), at.as_ref()]),
            Mount::Processes { at } => self.add_arguments(&["--proc".as_ref(), at.as_ref()]),
            Mount::Link { at, to } => {
                self.add_arguments(&["--symlink".as_ref(), to.as_ref(), at.as_ref()])
            }
            Mount::Seal { at } => self.add_arguments(&["--remount-ro".as_ref(), at.as_ref()]),
        }
    }
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
        let why = find_program(home.path().as_os_str()).expect_err("anybody can write it");
        assert!(why.contains("can be changed by your user"), "{why}");
        assert!(find_program(OsStr::new(".")).is_err_and(|why| why.contains("no bwrap on PATH")));
    }
}
