//! Mediated sockets: what a command may bind, listen at and connect to without a network. Everything
//! is done here with the caller's own socket; nothing is left to the kernel, because what it would
//! read could be another address by then. Not here: which sockets can be made at all (seccomp).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, fcntl_getfl, fstat, openat, statx};
use rustix::io::Errno;
use rustix::net::sockopt::{ipv6_v6only, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, getsockname, listen};
use weir_seccomp_notify::{CallAnswer, CallListener};

use super::judge::EntryAccess;
use super::target::{FolderEntry, WaitingThread};
use super::{MediationOutcome, Mediator};

/// Connections that wait for a server at the same time.
const WAITING_MAX: usize = 64;

/// The clock of files may be so much behind.
const CLOCK_SLACK_NS: i128 = 50_000_000;

/// Ports below are for the machine's own services.
const FIRST_PORT: u16 = 1024;

const REFUSED: Errno = Errno::ACCESS;

/// One call of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketCall {
    Bind { socket: u64, address: u64, length: u64 },
    Connect { socket: u64, address: u64, length: u64 },
    Listen { socket: u64, backlog: u64 },
}

impl SocketCall {
    pub(super) fn from_call(number: i64, a: [u64; 6]) -> Option<SocketCall> {
        let (socket, address, length) = (a[0], a[1], a[2]);
        match number {
            libc::SYS_bind => Some(SocketCall::Bind { socket, address, length }),
            libc::SYS_connect => Some(SocketCall::Connect { socket, address, length }),
            libc::SYS_listen => Some(SocketCall::Listen { socket, backlog: a[1] }),
            _ => None,
        }
    }
}

/// A file of a socket, and no other file ever: numbers are used again, times are not.
type BoundSocketId = (u32, u32, u64, i64, u32);

/// What the command's own servers are.
#[derive(Debug, Default)]
pub(super) struct CommandServers {
    bound: HashSet<BoundSocketId>,
    listening: HashSet<u64>,
    waiting: Arc<AtomicUsize>,
}

impl Mediator {
    /// Does it or refuses it.
    pub(super) fn handle_socket_call(
        &mut self,
        id: u64,
        target: WaitingThread,
        call: SocketCall,
    ) -> MediationOutcome {
        let done = match call {
            SocketCall::Bind { socket, address, length } => target
                .read_address(address, length)
                .and_then(|address| Some((target.share_file(socket)?, address)))
                .and_then(|(socket, address)| self.bind(id, target, &socket, &address)),
            SocketCall::Connect { socket, address, length } => target
                .read_address(address, length)
                .and_then(|address| Some((target.share_file(socket)?, address)))
                .and_then(|(socket, address)| self.connect(id, target, socket, &address)),
            SocketCall::Listen { socket, backlog } => {
                target.share_file(socket).and_then(|socket| self.listen(id, &socket, backlog))
            }
        };
        done.unwrap_or(MediationOutcome::Failed(REFUSED))
    }

    fn bind(
        &mut self,
        id: u64,
        target: WaitingThread,
        socket: &OwnedFd,
        at: &[u8],
    ) -> Option<MediationOutcome> {
        match address_of(socket, at)? {
            SocketAddress::Unix(path) => {
                let place =
                    FolderEntry::find_entry(target.open_folder(libc::AT_FDCWD as u64)?, path)?;
                let free = !place.slash && self.guard.allows(&place.path, EntryAccess::MakeNode);
                free.then_some(())?;
                self.adopt_umask(id, target)?;
                Some(self.bind_unix(socket, &place).into())
            }
            SocketAddress::Internet(address) => {
                let address = bindable_address(address, ipv6_v6only(socket) == Ok(true))?;
                self.confirm_waiting(id)?;
                Some(bind(socket, &address).into())
            }
        }
    }

    /// In the folder itself: a path to it could lead elsewhere by now, and could be too long.
    fn bind_unix(&mut self, socket: &OwnedFd, place: &FolderEntry) -> Result<(), Errno> {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| REFUSED)?;
        let began = i128::try_from(began.as_nanos()).map_err(|_| REFUSED)?;
        let address = SocketAddrUnix::new(&*place.name)?;
        rustix::process::fchdir(&place.parent)?;
        let bound = bind(socket, &address);
        let _ = rustix::process::chdir("/");
        bound?;
        // Somebody may have put another program's socket in its place: that one is older.
        if let Some(made) = bound_at(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW)
            && i128::from(made.3) * 1_000_000_000 + i128::from(made.4) >= began - CLOCK_SLACK_NS
        {
            self.servers.bound.insert(made);
        }
        Ok(())
    }

    fn listen(&mut self, id: u64, socket: &OwnedFd, backlog: u64) -> Option<MediationOutcome> {
        let own = getsockname(socket).ok()?;
        // What is not bound would be bound to every address of the machine.
        match socket_domain(socket).ok()? {
            AddressFamily::UNIX => {
                let address = SocketAddrUnix::try_from(own).ok()?;
                address.path_bytes().is_some_and(|path| !path.is_empty()).then_some(())?;
            }
            AddressFamily::INET | AddressFamily::INET6 => {
                let address = SocketAddr::try_from(own).ok()?;
                (address.port() != 0 && is_loopback(address.ip())).then_some(())?;
            }
            _ => return None,
        }
        self.confirm_waiting(id)?;
        let number = fstat(socket).ok()?.st_ino;
        let listening = listen(socket, (backlog & 0x7fff) as i32);
        if listening.is_ok() {
            self.servers.listening.insert(number);
        }
        Some(listening.into())
    }

    fn connect(
        &mut self,
        id: u64,
        target: WaitingThread,
        socket: OwnedFd,
        at: &[u8],
    ) -> Option<MediationOutcome> {
        let reach = match address_of(&socket, at)? {
            SocketAddress::Unix(path) => {
                let place = FolderEntry::follow(target.open_folder(libc::AT_FDCWD as u64)?, path)?;
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let server = match openat(&place.parent, &place.name, flags, Mode::empty()) {
                    Ok(server) => server,
                    Err(error) => return Some(MediationOutcome::Failed(error)),
                };
                let made = bound_at(&server, OsStr::new(""), AtFlags::EMPTY_PATH)?;
                let granted = self.granted.sockets.contains(&place.path);
                (granted || self.servers.bound.contains(&made)).then_some(())?;
                ConnectTarget::Unix(server)
            }
            SocketAddress::Internet(address) => {
                let address = reachable_address(address)?;
                let proxy = self.granted.proxy == Some(address.port())
                    && canonical_ip(address.ip()) == IpAddr::V4(Ipv4Addr::LOCALHOST);
                let granted = self.granted.ports.contains(&address.port());
                if !proxy
                    && !granted
                    && let Err(error) = self.servers.check_own_port(address.port())
                {
                    return Some(MediationOutcome::Failed(error));
                }
                ConnectTarget::Internet(address)
            }
        };
        self.confirm_waiting(id)?;
        let waits = fcntl_getfl(&socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        if !waits {
            return Some(reach.connect(&socket).into());
        }
        Some(self.connect_later(id, socket, reach))
    }

    /// A server may be slow to accept: the others are not to wait for it.
    fn connect_later(&self, id: u64, socket: OwnedFd, reach: ConnectTarget) -> MediationOutcome {
        let waiting = Arc::clone(&self.servers.waiting);
        if waiting.fetch_add(1, Ordering::SeqCst) >= WAITING_MAX {
            waiting.fetch_sub(1, Ordering::SeqCst);
            return MediationOutcome::Failed(Errno::AGAIN);
        }
        let listener: Arc<CallListener> = Arc::clone(&self.listener);
        let started = std::thread::Builder::new().name("connect".into()).spawn({
            let waiting = Arc::clone(&waiting);
            move || {
                let answer = match reach.connect(&socket) {
                    Ok(()) => CallAnswer::Done(0),
                    Err(error) => CallAnswer::Failed(error.raw_os_error()),
                };
                // Whoever was killed meanwhile hears nothing.
                let _ = listener.answer_call(id, answer);
                waiting.fetch_sub(1, Ordering::SeqCst);
            }
        });
        match started {
            Ok(_) => MediationOutcome::Later,
            Err(_) => {
                waiting.fetch_sub(1, Ordering::SeqCst);
                MediationOutcome::Failed(Errno::AGAIN)
            }
        }
    }
}

impl CommandServers {
    /// That whoever listens at a port is the command itself.
    fn check_own_port(&self, port: u16) -> Result<(), Errno> {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let texts = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
        let mut found = Err(Errno::CONNREFUSED);
        for number in texts.iter().flat_map(|text| listeners_at(text, port)) {
            if !self.listening.contains(&number) {
                return Err(REFUSED);
            }
            found = Ok(());
        }
        found
    }
}

/// Numbers of the sockets that listen at a port, by the kernel's table.
fn listeners_at(table: &str, port: u16) -> impl Iterator<Item = u64> {
    const LISTENING: &str = "0A";
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, at) = fields.get(1)?.rsplit_once(':')?;
        let here = u16::from_str_radix(at, 16).ok()? == port && *fields.get(3)? == LISTENING;
        here.then(|| fields.get(9)?.parse().ok())?
    })
}

/// Where to, held so that nothing can be put in its place.
enum ConnectTarget {
    Unix(OwnedFd),
    Internet(SocketAddr),
}

impl ConnectTarget {
    fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        match self {
            ConnectTarget::Unix(server) => {
                let way = format!("/proc/self/fd/{}", server.as_raw_fd());
                connect(socket, &SocketAddrUnix::new(way)?)
            }
            ConnectTarget::Internet(address) => connect(socket, address),
        }
    }
}

enum SocketAddress<'a> {
    Unix(&'a OsStr),
    Internet(SocketAddr),
}

/// What an address says, if it is one of the socket's kind and that is one that commands may have.
fn address_of<'a>(socket: &OwnedFd, bytes: &'a [u8]) -> Option<SocketAddress<'a>> {
    let (domain, kind) = (socket_domain(socket).ok()?, socket_type(socket).ok()?);
    let family = AddressFamily::from_raw(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    (family == domain).then_some(())?;
    if family == AddressFamily::UNIX {
        [SocketType::STREAM, SocketType::SEQPACKET].contains(&kind).then_some(())?;
        let path = bytes.get(2..)?.split(|byte| *byte == 0).next()?;
        // Without one it is in no folder, and seen by every program of the machine.
        return (!path.is_empty()).then_some(SocketAddress::Unix(OsStr::from_bytes(path)));
    }
    (kind == SocketType::STREAM).then_some(())?;
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    if family == AddressFamily::INET {
        let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
        return Some(SocketAddress::Internet(SocketAddrV4::new(Ipv4Addr::from(ip), port).into()));
    }
    (family == AddressFamily::INET6).then_some(())?;
    let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
    Some(SocketAddress::Internet(SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, 0).into()))
}

fn canonical_ip(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

fn is_loopback(ip: IpAddr) -> bool {
    canonical_ip(ip).is_loopback()
}

/// Where a server may be: at the loopback, also where it asked for every address.
fn bindable_address(mut address: SocketAddr, only_v6: bool) -> Option<SocketAddr> {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) if only_v6 => Ipv6Addr::LOCALHOST.into(),
            // Such a server is asked by the older address as well, and that is what is more usual.
            IpAddr::V6(_) => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
        });
    }
    let free = address.port() == 0 || address.port() >= FIRST_PORT;
    (free && is_loopback(address.ip())).then_some(address)
}

/// What a client may ask: the loopback.
fn reachable_address(mut address: SocketAddr) -> Option<SocketAddr> {
    // The kernel takes "any" for the loopback.
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    is_loopback(address.ip()).then_some(address)
}

/// Which socket's file an entry is.
fn bound_at(folder: &OwnedFd, name: &OsStr, flags: AtFlags) -> Option<BoundSocketId> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = statx(folder, name, flags, wanted).ok()?;
    let kind = FileType::from_raw_mode(stat.stx_mode.into());
    // A file system without that time cannot tell one from another.
    let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0 && kind == FileType::Socket;
    let time = stat.stx_btime;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    known.then_some((device.0, device.1, stat.stx_ino, time.tv_sec, time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_servers_are_at_the_loopback_only() {
        let parsed = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for (asked, only_v6, given) in [
            ("127.0.0.1:8000", false, Some("127.0.0.1:8000")),
            ("127.3.4.5:0", false, Some("127.3.4.5:0")),
            ("0.0.0.0:8000", false, Some("127.0.0.1:8000")),
            ("[::]:8000", true, Some("[::1]:8000")),
            ("[::]:8000", false, Some("[::ffff:127.0.0.1]:8000")),
            ("[::ffff:127.0.0.1]:8000", false, Some("[::ffff:127.0.0.1]:8000")),
            ("127.0.0.1:80", false, None),
            ("192.168.0.1:8000", false, None),
            ("[::ffff:192.168.0.1]:8000", false, None),
            ("[fe80::1]:8000", false, None),
        ] {
            assert_eq!(bindable_address(parsed(asked), only_v6), given.map(parsed), "{asked}");
        }
        assert_eq!(reachable_address(parsed("0.0.0.0:8000")), Some(parsed("127.0.0.1:8000")));
        assert_eq!(reachable_address(parsed("192.0.2.1:80")), None);
        assert_eq!(reachable_address(parsed("[2001:db8::1]:80")), None);
    }

    #[test]
    fn z4_whose_a_port_is_stands_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0\n\
             1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0\n";
        assert_eq!(listeners_at(table, 8080).collect::<Vec<_>>(), [4711]);
        assert_eq!(listeners_at(table, 8081).count(), 0);
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let number = port.local_addr().expect("bound").port();
        assert_eq!(
            CommandServers::default().check_own_port(number),
            Err(REFUSED),
            "another program's"
        );
    }
}
