//! The way out of a sandbox (Z4): for each command that was granted hosts, a small HTTP proxy that
//! lets through those hosts and nothing else. It judges addresses as the client does and keeps
//! nothing of what passes.
//!
//! It does not decide which hosts are granted, and does not look into encrypted traffic beyond the
//! name that its first message asks for.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::{JoinHandle, JoinSet};
use weir_engine::ports::{Egress, EgressLine};

use crate::address::canonical_host;
use crate::lookup::{HostLookup, SystemLookup};
use crate::pin::AddressGuard;

use folder::SocketFolder;
use hosts::HostList;

mod folder;
mod head;
mod hello;
mod hosts;
mod relay;
mod serve;

/// Most refused hosts that are remembered.
const REFUSED_MAX: usize = 32;
/// Pause after the system could not give a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How lines are opened.
#[derive(Debug, Clone)]
pub struct EgressOptions {
    /// The folder below which each line has a folder of its own, for its owner alone.
    pub dir: PathBuf,
    /// Hosts (exact names or addresses) that may be private ones, where a line names them.
    pub allow_hosts: Vec<String>,
    /// Bounds of each line.
    pub bounds: EgressBounds,
}

/// Bounds of one line.
#[derive(Debug, Clone)]
pub struct EgressBounds {
    /// Connections at once; further ones wait.
    pub connections_max: usize,
    /// Bytes of the head of a request.
    pub head_bytes_max: usize,
    /// Wall time for the head of a request, or the first message of TLS.
    pub head_timeout: Duration,
    /// Wall time for the name servers.
    pub lookup_timeout: Duration,
    /// Wall time until a host takes the connection.
    pub connect_timeout: Duration,
    /// Wall time without a byte in either direction.
    pub idle_timeout: Duration,
    /// Bytes in both directions over the line's life.
    pub bytes_max: Option<u64>,
}

impl Default for EgressBounds {
    fn default() -> EgressBounds {
        EgressBounds {
            connections_max: 64,
            head_bytes_max: 32 * 1024,
            head_timeout: Duration::from_secs(15),
            lookup_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(300),
            bytes_max: None,
        }
    }
}

/// Opens lines. Cheap to make: nothing listens before the first line.
pub struct LocalEgress {
    options: EgressOptions,
    /// `allow_hosts` in canonical form.
    allowed: Arc<[String]>,
    lookup: Arc<dyn HostLookup>,
}

impl LocalEgress {
    /// Lines that ask the system's resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host.
    pub fn new(options: EgressOptions) -> Result<LocalEgress, String> {
        LocalEgress::with_lookup(options, Arc::new(SystemLookup))
    }

    /// The same with another resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host.
    pub fn with_lookup(
        options: EgressOptions,
        lookup: Arc<dyn HostLookup>,
    ) -> Result<LocalEgress, String> {
        let allowed = options
            .allow_hosts
            .iter()
            .map(|host| canonical_host(host))
            .collect::<Result<_, _>>()?;
        Ok(LocalEgress { options, allowed, lookup })
    }
}

#[async_trait]
impl Egress for LocalEgress {
    async fn open(&self, hosts: &[String]) -> Result<Box<dyn EgressLine>, String> {
        let hosts = HostList::parse(hosts)?;
        let failed = |what: &str, why: &dyn std::fmt::Display| {
            format!("the proxy for the command's network could not be opened: {what}: {why}")
        };
        let (name, word) = (random_word()?, random_word()?);
        let dir = self.options.dir.clone();
        let folder =
            tokio::task::spawn_blocking(move || SocketFolder::create_in(&dir, &name[..12]))
                .await
                .map_err(|why| failed("its folder", &why))?
                .map_err(|why| failed("its folder", &why))?;
        let socket = folder.socket_path();
        let unix = UnixListener::bind(&socket)
            .map_err(|why| failed(&format!("the socket {}", socket.display()), &why))?;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(|why| failed("a port of this machine", &why))?;
        let port = tcp.local_addr().map_err(|why| failed("its port", &why))?.port();
        let shared = Arc::new(EgressState {
            allowed: Arc::clone(&self.allowed),
            lookup: Arc::clone(&self.lookup),
            bounds: self.options.bounds.clone(),
            hosts,
            word: word.clone(),
            refused: Mutex::default(),
            spent: AtomicU64::new(0),
        });
        let task = tokio::spawn(accept_connections(unix, tcp, Arc::clone(&shared)));
        Ok(Box::new(LocalEgressLine { port, word, socket, shared, task, _folder: folder }))
    }
}

/// What all connections of a line share.
struct EgressState {
    allowed: Arc<[String]>,
    lookup: Arc<dyn HostLookup>,
    bounds: EgressBounds,
    hosts: HostList,
    word: String,
    /// Each once, in the order of their first refusal.
    refused: Mutex<Vec<String>>,
    /// Bytes in both directions so far.
    spent: AtomicU64,
}

impl EgressState {
    fn address_guard(&self) -> AddressGuard<'_> {
        AddressGuard {
            allowed: &self.allowed,
            lookup: &*self.lookup,
            timeout: self.bounds.lookup_timeout,
        }
    }

    fn record_refused_host(&self, place: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_MAX && !refused.iter().any(|known| known == place) {
            refused.push(place.to_owned());
        }
    }

    /// Counts bytes; whether they still fit.
    fn spend_bytes(&self, bytes: u64) -> bool {
        let before = self.spent.fetch_add(bytes, Ordering::Relaxed);
        self.bounds.bytes_max.is_none_or(|max| before.saturating_add(bytes) <= max)
    }

    fn is_spent(&self) -> bool {
        self.bounds.bytes_max.is_some_and(|max| self.spent.load(Ordering::Relaxed) >= max)
    }
}

/// One command's way out. Dropping it ends every connection and removes the socket.
struct LocalEgressLine {
    port: u16,
    word: String,
    socket: PathBuf,
    shared: Arc<EgressState>,
    /// Owns the tasks of all connections.
    task: JoinHandle<()>,
    _folder: SocketFolder,
}

impl EgressLine for LocalEgressLine {
    fn socket(&self) -> &Path {
        &self.socket
    }
    fn loopback(&self) -> (u16, &str) {
        (self.port, &self.word)
    }
    fn refused_hosts(&self) -> Vec<String> {
        self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for LocalEgressLine {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes connections until it is aborted; the connections end with it.
async fn accept_connections(unix: UnixListener, tcp: TcpListener, shared: Arc<EgressState>) {
    let mut open: JoinSet<()> = JoinSet::new();
    loop {
        // Over the bound, newcomers wait in the system's queue.
        let has_room = open.len() < shared.bounds.connections_max;
        let failed = tokio::select! {
            Some(_) = open.join_next() => false,
            arrived = unix.accept(), if has_room => match arrived {
                Ok((stream, _)) => {
                    open.spawn(serve::serve_connection(stream, serve::ConnectionSource::Unix, Arc::clone(&shared)));
                    false
                }
                Err(_) => true,
            },
            arrived = tcp.accept(), if has_room => match arrived {
                Ok((stream, from)) if is_ours(from) => {
                    open.spawn(serve::serve_connection(stream, serve::ConnectionSource::Tcp, Arc::clone(&shared)));
                    false
                }
                Ok(_) => false,
                Err(_) => true,
            },
        };
        if failed {
            // Out of file descriptors, most likely: not a reason to spin or to end the line.
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

fn is_ours(from: SocketAddr) -> bool {
    from.ip().is_loopback()
}

/// 32 hex digits that nobody can guess.
fn random_word() -> Result<String, String> {
    let mut bytes = [0_u8; 16];
    let provider = rustls::crypto::ring::default_provider();
    provider
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| "the system gives no random numbers for the proxy's word".to_owned())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
