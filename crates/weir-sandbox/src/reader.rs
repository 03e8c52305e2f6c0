//! Confinement of a process that only reads untrusted bytes and answers on a pipe it has already:
//! parsers of images and PDFs (X5). It gets no files, no network, no programs, and so much time and
//! memory. Not here: who starts it, and what it reads.

use std::collections::BTreeMap;
use std::io;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// What a reader may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Address space, in bytes; the program itself is in it.
    pub memory_bytes: u64,
    /// Processor time, in seconds.
    pub cpu_seconds: u64,
}

/// All that a reader may still ask the kernel for: memory, the time, its open pipes, its end. What
/// is not on the list is "not permitted".
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpid,
    libc::SYS_gettid,
    // How a program that runs out of memory or stack ends itself.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    // How musl's `abort` does it: without this call the end would look like a crash.
    libc::SYS_tkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Confines the calling process, which must have one thread. Never undone.
///
/// # Errors
/// A limit or the filter of system calls cannot be set: then nothing untrusted may be read.
pub fn confine_reader(limits: ReaderLimits) -> io::Result<()> {
    limit_reader(limits)?;
    set_limit(Resource::Nproc, 0)?;
    close_in()
}

/// Bounds memory and processor time of the calling process and lets it write no file. It may still
/// start threads, open files and connect: for work on what this program wrote itself, and for the
/// time before a question was read. Never undone; saying it twice changes nothing.
///
/// # Errors
/// A limit cannot be set: then nothing may be done that has none of its own.
pub fn limit_reader(limits: ReaderLimits) -> io::Result<()> {
    set_limit(Resource::Core, 0)?;
    set_limit(Resource::Fsize, 0)?;
    set_limit(Resource::Memlock, 0)?;
    set_limit(Resource::As, limits.memory_bytes)?;
    set_limit(Resource::Cpu, limits.cpu_seconds)
}

fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Closes the calling thread in.
fn close_in() -> io::Result<()> {
    crate::tier::drop_capabilities().map_err(io::Error::other)?;
    rustix::thread::set_no_new_privs(true)?;
    let filter = reader_filter().map_err(io::Error::other)?;
    // A second wall: the filter allows no call that opens anything.
    if let Err(error) = no_files() {
        tracing::debug!(error, "no Landlock for a reader");
    }
    seccompiler::apply_filter(&filter).map_err(io::Error::other)
}

fn reader_filter() -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let rules: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch)
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())
}

/// Rules that allow nothing.
fn no_files() -> Result<(), String> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V4)))
        .and_then(Ruleset::create);
    let restricted = ruleset.and_then(landlock::RulesetCreated::restrict_self);
    restricted.map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_a_reader_opens_nothing_and_starts_nothing() {
        let tried = std::thread::spawn(|| {
            close_in().expect("confined");
            // Large enough to be asked of the kernel.
            let memory = vec![1_u8; 8 << 20];
            let kinds = [
                std::fs::File::open("/etc/hostname").map(drop),
                std::fs::read_dir("/").map(drop),
                std::fs::File::create("/tmp/weir-reader-test").map(drop),
                std::net::UdpSocket::bind("127.0.0.1:0").map(drop),
                std::net::TcpListener::bind("127.0.0.1:0").map(drop),
                std::process::Command::new("/bin/true").spawn().map(drop),
                std::thread::Builder::new().spawn(|| ()).map(drop),
            ]
            .map(|tried| tried.err().map(|error| error.kind()));
            (memory.len(), kinds)
        });
        let (length, kinds) = tried.join().expect("it ends by itself");
        assert_eq!(length, 8 << 20);
        assert!(
            kinds.iter().all(|kind| *kind == Some(io::ErrorKind::PermissionDenied)),
            "{kinds:?}"
        );
    }

    #[test]
    fn x5_the_filter_of_a_reader_compiles() {
        let filter = reader_filter().expect("this processor has one");
        assert!(filter.len() < 4096, "{}", filter.len());
        for call in [libc::SYS_openat, libc::SYS_socket, libc::SYS_execve, libc::SYS_clone] {
            assert!(!ALLOWED.contains(&call));
        }
    }
}
