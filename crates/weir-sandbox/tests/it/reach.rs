//! Commands that reach for what is not theirs beside files: network, sockets, processes, the kernel
//! (Z4). What they try is tried for real. Not here: files (`attack`).

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command};

use weir_core::tool::Tier;

use crate::attack::{Cage, SECRET};

under_confining_tiers!(
    z4_what_is_open_in_the_engine_is_not_open_in_a_command,
    z4_nothing_of_the_network_is_reached,
    z4_sockets_of_other_programs_are_not_reached,
    z4_other_processes_are_left_alone,
    z4_no_way_into_the_kernel,
);

async fn z4_nothing_of_the_network_is_reached(tier: Tier) {
    let cage = Cage::new(tier);
    let tcp = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    tcp.set_nonblocking(true).expect("a listener");
    let udp = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    udp.set_nonblocking(true).expect("a socket");
    let (tcp_port, udp_port) =
        (tcp.local_addr().expect("bound").port(), udp.local_addr().expect("bound").port());
    let script = format!(
        "import socket as s
def tries(name, f):
    try: f(); print(name, 'WORKED')
    except OSError as e: print(name, e.errno)
tries('tcp', lambda: s.create_connection(('127.0.0.1', {tcp_port}), 2))
tries('udp', lambda: s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp_port})))
tries('dns', lambda: s.getaddrinfo('example.org', 80))
tries('raw', lambda: s.socket(s.AF_INET, s.SOCK_RAW, 1))
tries('ping', lambda: s.socket(s.AF_INET, s.SOCK_DGRAM, 1))
tries('packet', lambda: s.socket(17, s.SOCK_RAW))
tries('vsock', lambda: s.socket(40, s.SOCK_STREAM))
tries('alg', lambda: s.socket(38, s.SOCK_SEQPACKET))
tries('netlink', lambda: s.socket(16, s.SOCK_RAW, 12))
tries('mptcp', lambda: s.socket(s.AF_INET, s.SOCK_STREAM, 262))
tries('sctp', lambda: s.socket(s.AF_INET, s.SOCK_STREAM, 132))
tries('far', lambda: s.create_connection(('192.0.2.1', 80), 2))"
    );
    let command = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{tcp_port}) && echo bash WORKED; python3 -c \"{script}\""
    );
    let outcome = cage.run(&command).await;
    assert!(outcome.output.contains("far "), "{outcome:?}");
    assert!(!outcome.output.contains("WORKED"), "{outcome:?}");
    assert!(tcp.accept().is_err() && udp.recv(&mut [0; 9]).is_err(), "{outcome:?}");
    for refused in ["raw 1\n", "packet 1\n", "vsock 1\n", "alg 1\n", "mptcp 1\n", "udp 1\n"] {
        assert!(outcome.output.contains(refused), "{refused:?}: {outcome:?}");
    }
}

async fn z4_sockets_of_other_programs_are_not_reached(tier: Tier) {
    let cage = Cage::new(tier);
    let tmp = tempfile::tempdir().expect("a folder below /tmp");
    let places = [
        tmp.path().join("agent"),
        cage.root.join("outside/docker.sock"),
        cage.ws.join("src/server.sock"),
    ];
    let bind = |path: &PathBuf| UnixListener::bind(path).expect("a socket");
    let mut listeners: Vec<UnixListener> = places.iter().map(bind).collect();
    let name = cage.root.display().to_string();
    let name = SocketAddr::from_abstract_name(&name).expect("a short name");
    listeners.push(UnixListener::bind_addr(&name).expect("a socket"));
    let script = "import socket, sys
for name in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(name.replace('@', chr(0)))
        print('CONNECTED', name)
    except OSError as e: print(e.errno, name)";
    let names: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    let command = format!(
        "python3 -c \"{script}\" {} @$R /run/docker.sock; python3 -c \"{script}\" src/../src/server.sock",
        names.join(" ")
    );
    let outcome = cage.run(&command).await;
    assert!(outcome.output.contains("docker.sock"), "{outcome:?}");
    assert!(!outcome.output.contains("CONNECTED"), "{outcome:?}");
    for listener in listeners {
        listener.set_nonblocking(true).expect("a listener");
        assert!(listener.accept().is_err(), "{outcome:?}");
    }
}

/// Ends with the test.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn z4_other_processes_are_left_alone(tier: Tier) {
    let cage = Cage::new(tier);
    let mut sleep = Command::new("sleep");
    sleep.arg("1000").env("MARK", SECRET);
    let mut victim = Victim(sleep.spawn().expect("it starts"));
    let (pid, own) = (victim.0.id(), std::process::id());
    let script = format!(
        "import ctypes, os, resource, sys
l = ctypes.CDLL(None, use_errno=True)
above = int(sys.argv[1])
for pid in ({pid}, {own}, above):
    for signal in (15, 9, 19):
        try: os.kill(pid, signal); print('said' if pid == 1 else 'KILLED')
        except OSError: pass
    if l.ptrace(16, pid, 0, 0) == 0: print('TRACED')
    # What it has already: nothing is changed where this is let through.
    try: resource.prlimit(pid, 4, resource.prlimit(pid, 4)); pid == 1 or print('LIMITED', pid)
    except OSError: pass
    for name in ('environ', 'mem', 'maps', 'root/etc/hostname', 'fd/0'):
        try:
            open('/proc/%d/%s' % (pid, name), 'rb').read(1); print('READ', pid, name)
        except OSError: pass
b = ctypes.create_string_buffer(64)
print(l.process_vm_readv({own}, b, 0, b, 0, 0), ctypes.get_errno())
resource.setrlimit(4, (0, 0)); print('own', resource.prlimit(os.getpid(), 4))"
    );
    let outcome =
        cage.run(&format!("python3 -c \"{script}\" $PPID; cat /proc/{pid}/environ")).await;
    for told in ["KILLED", "TRACED", "LIMITED", "READ", SECRET] {
        assert!(!outcome.output.contains(told), "{outcome:?}");
    }
    assert!(outcome.output.contains("-1 1\nown (0, 0)\n"), "{outcome:?}");
    assert!(victim.0.try_wait().expect("our child").is_none(), "{outcome:?}");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    assert!(!stat.contains(") T "), "{stat}");
}

async fn z4_no_way_into_the_kernel(tier: Tier) {
    let cage = Cage::new(tier);
    let script = "import ctypes, platform
l = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == 'x86_64'
calls = [('mount',165,40),('umount2',166,39),('unshare',272,97),('setns',308,268),('ptrace',101,117),
('bpf',321,280),('perf_event_open',298,241),('keyctl',250,219),('add_key',248,217),('kexec_load',246,104),
('init_module',175,105),('userfaultfd',323,282),('open_by_handle_at',304,265),('pidfd_getfd',438,438),
('io_uring_setup',425,425),('clone3',435,435),('chroot',161,51),('pivot_root',155,41),('fsopen',430,430),
('move_mount',429,429),('reboot',169,142)]
for name, a, b in calls:
    r = l.syscall(a if x86 else b, 0, 0, 0, 0, 0)
    print(name, r, ctypes.get_errno())
print('clone', l.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())
print('tiocsti', l.ioctl(0, 0x5412, b'x'), ctypes.get_errno())
print('high', l.ioctl(0, ctypes.c_ulong(0x100005412), b'x'), ctypes.get_errno())
if x86: print('x32', l.syscall(0x40000000 + 39), ctypes.get_errno())";
    let outcome = cage
        .run(&format!(
            "python3 -c \"{script}\"; unshare -U true && echo GOT; unshare -m true && echo GOT; \
             unshare -n true && echo GOT; mount -t tmpfs x src && echo GOT; \
             mknod src/disk b 8 0 && echo GOT; mknod src/null c 1 3 && echo GOT; \
             nsenter -t 1 -m true && echo GOT; grep -E '^Cap(Eff|Prm|Amb|Bnd)' /proc/self/status"
        ))
        .await;
    let lines: Vec<&str> = outcome.output.lines().collect();
    let refused = |line: &&&str| line.ends_with("-1 1") || line.ends_with("-1 38");
    assert!(lines.iter().filter(refused).count() >= 24, "{outcome:?}");
    assert!(!outcome.output.contains("GOT"), "{outcome:?}");
    let capabilities = lines.iter().filter(|line| line.starts_with("Cap"));
    for line in capabilities.filter(|line| !line.starts_with("CapBnd") || is_root()) {
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

async fn z4_what_is_open_in_the_engine_is_not_open_in_a_command(tier: Tier) {
    let cage = Cage::new(tier);
    let folder = std::fs::File::open(cage.root.join("outside")).expect("a folder");
    // As a shell leaves it that started the engine.
    rustix::io::fcntl_setfd(&folder, rustix::io::FdFlags::empty()).expect("an open file");
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let outcome = cage
        .run(&format!("ls -l /proc/self/fd; cat /proc/self/fd/{number}/file; echo kept: $0"))
        .await;
    assert!(!outcome.output.contains("as it was"), "{outcome:?}");
    assert!(!outcome.output.contains("/outside"), "{outcome:?}");
    assert!(outcome.output.ends_with("sh\n"), "{outcome:?}");
}
