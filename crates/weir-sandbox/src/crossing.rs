//! Connections that cross the border of a sandbox with a network of its own: to the proxy, to ports of
//! this machine's loopback that a command may reach, and from this machine to ports at which it serves.
//!
//! Whoever accepts a connection hands it over, with its port, on the socket that supervisor and first
//! process share; the other side connects to what that port stands for where it is, and carries. The
//! command never has that socket. Not here: which ports were granted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};

/// Connections at once; more are closed.
const CONNECTIONS_MAX: usize = 128;

/// How long a server may take to accept on loopback.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// What a port stands for on the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PortDestination {
    /// The same port of loopback.
    Port,
    /// A socket in the file system.
    Socket(PathBuf),
}

/// Listens at a port of loopback, in both families where there are two.
///
/// # Errors
/// When somebody else listens there.
pub(crate) fn listen_on_loopback(port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = vec![TcpListener::bind((Ipv4Addr::LOCALHOST, port))?];
    // A machine without IPv6 is none the worse.
    listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)));
    Ok(listeners)
}

/// Hands over each connection that is made there, for as long as this process lives.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn hand_over(listener: TcpListener, control: UnixStream) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    std::thread::Builder::new().name("hand-over".into()).spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            // Nobody is there any more.
            if send_stream(&control, port, &stream).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Carries each connection that the other side hands over to where its port leads from here.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn take_over(
    control: UnixStream,
    ways: BTreeMap<u16, PortDestination>,
) -> io::Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new().name("take-over".into()).spawn(move || {
        while let Ok((port, stream)) = receive_stream(&control) {
            let Some(to) = ways.get(&port).cloned() else { continue };
            if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let counted = Arc::clone(&open);
            let carried = std::thread::Builder::new().name("connection".into()).spawn(move || {
                if let Ok(here) = connect_to(port, &to) {
                    carry_both_ways(&File::from(stream), &File::from(here));
                }
                counted.fetch_sub(1, Ordering::AcqRel);
            });
            if carried.is_err() {
                open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    })?;
    Ok(())
}

fn connect_to(port: u16, to: &PortDestination) -> io::Result<OwnedFd> {
    let at = |ip: IpAddr| TcpStream::connect_timeout(&SocketAddr::new(ip, port), CONNECT_PATIENCE);
    match to {
        PortDestination::Port => {
            let connected = at(Ipv4Addr::LOCALHOST.into());
            connected.or_else(|_| at(Ipv6Addr::LOCALHOST.into())).map(OwnedFd::from)
        }
        PortDestination::Socket(path) => UnixStream::connect(path).map(OwnedFd::from),
    }
}

/// Both ways, until both are over.
fn carry_both_ways(one: &File, other: &File) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::copy(&mut &*one, &mut &*other);
            let _ = shutdown(other, Shutdown::Write);
        });
        let _ = io::copy(&mut &*other, &mut &*one);
        let _ = shutdown(one, Shutdown::Write);
    });
}

fn send_stream(control: &UnixStream, port: u16, stream: &TcpStream) -> io::Result<()> {
    let handles = [stream.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut sent = SendAncillaryBuffer::new(&mut space);
    sent.push(SendAncillaryMessage::ScmRights(&handles));
    let word = port.to_ne_bytes();
    sendmsg(control, &[IoSlice::new(&word)], &mut sent, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive_stream(control: &UnixStream) -> io::Result<(u16, OwnedFd)> {
    let mut word = [0; 2];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut received = RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        let mut slices = [IoSliceMut::new(&mut word)];
        match recvmsg(control, &mut slices, &mut received, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?.bytes,
        }
    };
    let handle = received.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    });
    match handle.filter(|_| count == word.len()) {
        Some(handle) => Ok((u16::from_ne_bytes(word), handle)),
        None => Err(io::Error::other("the other side is gone")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn u1_a_connection_is_carried_to_the_same_port_and_to_no_other() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = server.local_addr().expect("it has one").port();
        let (here, there) = UnixStream::pair().expect("a pair");
        take_over(there, BTreeMap::from([(port, PortDestination::Port)])).expect("a thread");
        // As it comes out of another network: accepted elsewhere, told with its port.
        let accept = |port: u16| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let at = listener.local_addr().expect("it has one");
            let client = TcpStream::connect(at).expect("it listens");
            let (accepted, _) = listener.accept().expect("somebody came");
            send_stream(&here, port, &accepted).expect("it is taken");
            client
        };
        let mut refused = accept(port.wrapping_add(1));
        let mut client = accept(port);
        let (mut served, _) = server.accept().expect("it was carried");
        client.write_all(b"ping").expect("it is open");
        client.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut text = String::new();
        served.read_to_string(&mut text).expect("it ends");
        assert_eq!(text, "ping");
        drop(served);
        assert_eq!(client.read(&mut [0; 4]).expect("it ends"), 0);
        assert_eq!(refused.read(&mut [0; 4]).unwrap_or(0), 0, "closed, not carried");
    }
}
