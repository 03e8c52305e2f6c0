//! Which system calls a confined command may not make (Z4). A list of what is refused: what the
//! kernel adds later is reached by nothing here, so new calls with power belong on it.
//!
//! Pure but for [`apply_filters`]; what files and hosts are reached is decided elsewhere.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use weir_seccomp_notify::FilterInstruction;

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketPolicy {
    /// In a network namespace of its own: Unix, TCP (there is nothing but its own loopback), and
    /// the questions that list interfaces.
    Namespace,
    /// In the machine's network, by a mediator that decides what they reach: Unix and TCP streams.
    Mediated,
    /// In the machine's network, without a grant: none but pairs.
    Pairs,
}

/// Refused with "not permitted", whatever the arguments.
const REFUSED: &[i64] = &[
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Large parts of the kernel that a command does not need.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files past their path.
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Newer than the table of numbers; the same on every architecture.
const OPEN_TREE_ATTR: i64 = 467;

/// `fchmodat2`, which the table lacks for ARM; the same on every architecture.
const FCHMODAT2: i64 = 452;

/// `kexec_file_load`, which the table lacks for musl on ARM. x86-64 counts by itself, the others together
/// (`arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h` of the kernel).
const KEXEC_FILE_LOAD: i64 = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// Refused as if the kernel did not have them, because their arguments lie in memory, where no
/// filter can look; programs then use the older calls.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// `CLONE_NEW*`: namespaces.
const NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// Puts characters into a terminal's input, drives its console, changes its discipline.
const TERMINAL_REQUESTS: [u64; 3] = [0x5412, 0x541c, 0x5423];

/// Requests to a file system that make, remove or seal by a handle that was opened to read, by kind and
/// number: subvolumes and snapshots of btrfs, and verity. Landlock is not asked about them; a mount that is
/// read-only refuses them.
const FILE_SYSTEM_REQUESTS: [u64; 9] =
    [0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x941a, 0x9425, 0x943f, 0x6685];

/// Set-user-id and set-group-id.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// Calls that take a mode, and which argument it is.
const WITH_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    (libc::SYS_mkdirat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
];

const UNIX: u64 = 1;
const INET: u64 = 2;
const INET6: u64 = 10;
const NETLINK: u64 = 16;

/// Every kind of socket but a stream.
const NO_STREAM: [u64; 6] = [2, 3, 4, 5, 6, 10];

/// Packets with a connection.
const SEQUENCED: u64 = 5;

/// Sends with the first packet, past the check of the address.
const FAST_OPEN: u64 = 0x2000_0000;

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters, for [`apply_filters`] or for a program that installs them.
///
/// # Errors
/// For a processor that has none.
pub(crate) fn filter_programs(sockets: SocketPolicy) -> Result<Vec<BpfProgram>, String> {
    let rules = refused_rules(sockets).map_err(|error| format!("the list of calls: {error}"))?;
    let absent: SyscallRules = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs =
        vec![compile_rules(rules, libc::EPERM)?, compile_rules(absent, libc::ENOSYS)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

/// Installs the filters on the calling thread. Never undone.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn apply_filters(programs: &[BpfProgram]) -> Result<(), String> {
    programs.iter().try_for_each(|program| {
        seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))
    })
}

/// Which opening of files waits for the mediator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediatedOpenings {
    /// What writes.
    Writing,
    /// All, programs included: new files could not be read otherwise.
    All,
}

/// Calls that wait for the mediator, whatever their arguments.
const MEDIATED: &[i64] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];

/// Calls that open, and which argument is their flags; the next one is the mode.
const OPENING: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// The filter after which calls wait for the mediator. What another filter refuses stays refused: the
/// stricter answer counts.
///
/// # Errors
/// For a processor that has none.
pub(crate) fn mediated_filter(
    openings: MediatedOpenings,
) -> Result<Vec<FilterInstruction>, String> {
    const RETURN: u16 = 0x06;
    const TRACE: u32 = 0x7ff0_0000;
    const WAIT: u32 = 0x7fc0_0000;
    let rules = waiting_rules(openings).map_err(|error| format!("the list of calls: {error}"))?;
    let program = compiled_as(rules, SeccompAction::Trace(0))?;
    let line = |line: &sock_filter| FilterInstruction {
        code: line.code,
        jump_true: line.jt,
        jump_false: line.jf,
        // The library has no word for waiting: another one that is used nowhere stands for it.
        value: if line.code == RETURN && line.k == TRACE { WAIT } else { line.k },
    };
    Ok(program.iter().map(line).collect())
}

fn waiting_rules(openings: MediatedOpenings) -> Result<SyscallRules, seccompiler::BackendError> {
    let writes = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC]
        .map(|bit| u64::from(bit.unsigned_abs()));
    let mut rules: SyscallRules = MEDIATED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, flags) in OPENING {
        let which = match openings {
            MediatedOpenings::Writing => any_bit(*flags, &writes)?,
            MediatedOpenings::All => Vec::new(),
        };
        rules.insert(*call, which);
    }
    if openings == MediatedOpenings::All {
        rules.extend([libc::SYS_execve, libc::SYS_execveat].map(|call| (call, Vec::new())));
    }
    Ok(rules)
}

/// As the bytes that the kernel's structure has, for a program that reads them from a file.
pub(crate) fn program_bytes(program: &BpfProgram) -> Vec<u8> {
    let instruction = |line: &sock_filter| {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&line.code.to_ne_bytes());
        bytes[2] = line.jt;
        bytes[3] = line.jf;
        bytes[4..].copy_from_slice(&line.k.to_ne_bytes());
        bytes
    };
    program.iter().flat_map(instruction).collect()
}

fn compile_rules(rules: SyscallRules, errno: i32) -> Result<BpfProgram, String> {
    compiled_as(rules, SeccompAction::Errno(errno.unsigned_abs()))
}

fn compiled_as(rules: SyscallRules, action: SeccompAction) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|error| format!("there is no filter for this processor: {error}"))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
    filter
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the filter cannot be made: {error}"))
}

fn refused_rules(sockets: SocketPolicy) -> Result<SyscallRules, seccompiler::BackendError> {
    let mut rules: SyscallRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, any_bit(0, &NAMESPACES)?);
    for (call, argument) in WITH_MODE {
        rules.insert(*call, any_bit(*argument, &SET_ID_BITS)?);
    }
    for (call, flags) in OPENING {
        rules.insert(*call, opened_with_mode(*flags)?);
    }
    let requests =
        TERMINAL_REQUESTS.iter().map(|request| syscall_rule(&[(1, SeccompCmpOp::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    let mut pairs = vec![syscall_rule(&[(0, SeccompCmpOp::Ne, UNIX)])?];
    if sockets != SocketPolicy::Namespace {
        // One that sends packets could send to any socket of the machine that has a name, and what is
        // made as "raw" is such a one to the kernel.
        for kind in NO_STREAM.iter().filter(|kind| **kind != SEQUENCED) {
            pairs.push(syscall_rule(&[(1, SeccompCmpOp::MaskedEq(0xf), *kind)])?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    if sockets == SocketPolicy::Pairs {
        rules.insert(libc::SYS_listen, Vec::new());
    }
    if sockets != SocketPolicy::Namespace {
        for (call, argument) in
            [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
        {
            rules.insert(call, any_bit(argument, &[FAST_OPEN])?);
        }
        rules.insert(libc::SYS_prlimit64, vec![limits_of_others()?]);
        let requests = FILE_SYSTEM_REQUESTS
            .map(|request| syscall_rule(&[(1, SeccompCmpOp::MaskedEq(0xffff), request)]));
        let requests: Vec<_> = requests.into_iter().collect::<Result<_, _>>()?;
        rules.entry(libc::SYS_ioctl).or_default().extend(requests);
    }
    Ok(rules)
}

/// A mode counts where a file is made. Elsewhere whoever calls need not set it, as musl does not: what stands
/// in its place is whatever was left there.
fn opened_with_mode(flags: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    use SeccompCmpOp::MaskedEq;
    let makes = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY]
        .map(|bit| u64::from(bit.unsigned_abs()));
    let pairs = makes.iter().flat_map(|make| SET_ID_BITS.iter().map(move |bit| (*make, *bit)));
    pairs
        .map(|(make, bit)| {
            syscall_rule(&[(flags, MaskedEq(make), make), (flags + 1, MaskedEq(bit), bit)])
        })
        .collect()
}

/// Setting the limits of a process by its number, which asks for the same user and nothing else: one that
/// gets no time or no files any more is as good as killed. To read them, and to set one's own, is free.
fn limits_of_others() -> Result<SeccompRule, seccompiler::BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    SeccompRule::new(vec![
        SeccompCondition::new(0, Dword, SeccompCmpOp::Ne, 0)?,
        // An address: its lower half can be zero.
        SeccompCondition::new(2, Qword, SeccompCmpOp::Ne, 0)?,
    ])
}

/// An empty list refuses always.
fn socket_rules(sockets: SocketPolicy) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let families: &[u64] = match sockets {
        SocketPolicy::Pairs => return Ok(Vec::new()),
        SocketPolicy::Mediated => &[UNIX, INET, INET6],
        SocketPolicy::Namespace => &[UNIX, INET, INET6, NETLINK],
    };
    let others: Vec<_> = families.iter().map(|family| (0, Ne, *family)).collect();
    let mut rules = vec![syscall_rule(&others)?, syscall_rule(&[(0, Eq, NETLINK), (2, Ne, 0)])?];
    if sockets == SocketPolicy::Mediated {
        // Packets carry addresses of their own, which nobody could judge.
        for kind in NO_STREAM.iter().filter(|kind| **kind != SEQUENCED) {
            rules.push(syscall_rule(&[(0, Eq, UNIX), (1, MaskedEq(0xf), *kind)])?);
        }
    }
    for family in [INET, INET6] {
        for kind in NO_STREAM {
            rules.push(syscall_rule(&[(0, Eq, family), (1, MaskedEq(0xf), kind)])?);
        }
        // Zero or TCP itself: what else is a stream (MPTCP, SCTP) is not seen by Landlock.
        rules.push(syscall_rule(&[(0, Eq, family), (2, Ne, 0), (2, Ne, 6)])?);
    }
    Ok(rules)
}

fn any_bit(argument: u8, bits: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    bits.iter().map(|bit| syscall_rule(&[(argument, SeccompCmpOp::MaskedEq(*bit), *bit)])).collect()
}

fn syscall_rule(
    conditions: &[(u8, SeccompCmpOp, u64)],
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// The second table of calls of a 64-bit processor has the same mark of architecture and other
/// numbers: all of it is absent.
fn no_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    const X32_BIT: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_GREATER_OR_EQUAL, 0, 1, X32_BIT),
        line(RETURN, 0, 0, ERRNO | libc::ENOSYS.unsigned_abs()),
        line(RETURN, 0, 0, ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that stand here are those that the table has where it has them.
    #[cfg(target_env = "gnu")]
    #[test]
    fn z4_numbers_of_calls_are_those_of_the_table() {
        assert_eq!(KEXEC_FILE_LOAD, libc::SYS_kexec_file_load);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(FCHMODAT2, libc::SYS_fchmodat2);
    }

    #[test]
    fn z4_filters_compile_and_stay_within_what_the_kernel_takes() {
        for sockets in [SocketPolicy::Namespace, SocketPolicy::Mediated, SocketPolicy::Pairs] {
            let programs = filter_programs(sockets).expect("this processor has one");
            for program in &programs {
                assert!(program.len() < 4096, "{sockets:?}: {}", program.len());
                assert_eq!(program_bytes(program).len(), program.len() * 8);
            }
        }
        for openings in [MediatedOpenings::Writing, MediatedOpenings::All] {
            let program = mediated_filter(openings).expect("this processor has one");
            let waits = program.iter().filter(|line| line.value == 0x7fc0_0000).count();
            assert!(waits > 0 && program.len() < 4096, "{openings:?}: {}", program.len());
        }
    }
}
