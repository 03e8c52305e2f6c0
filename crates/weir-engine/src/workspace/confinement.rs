//! What a confined command may touch. Not here: how that is worked out (`confine`), and who enforces
//! it (`weir-sandbox`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_core::tool::Tier;

/// What a command may touch (Z4). A tier that is not there when the command starts is an error,
/// never a weaker tier.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandConfinement {
    /// How strongly: what the gate judged.
    pub tier: Tier,
    /// Absolute folders and files that it may write; everything else is read-only. It always has a
    /// temporary folder of its own.
    pub writable: Vec<PathBuf>,
    /// Absolute paths inside those that stay read-only: `.git` internals, protected files, Weir's
    /// configuration. May not exist yet: then they must not come to exist.
    pub protected: Vec<PathBuf>,
    /// Absolute folders inside those that are the `.git` of a repository: history may be stored
    /// there, and nothing else comes to be there (A1).
    #[serde(default)]
    pub histories: Vec<PathBuf>,
    /// Absolute paths that are invisible: ignored files, keys, Weir's own state.
    pub masked: Vec<PathBuf>,
    /// Absolute paths inside those that are seen all the same, read-only.
    #[serde(default)]
    pub readable: Vec<PathBuf>,
    /// Hosts that it may reach, through the proxy; empty: no network at all.
    pub hosts: Vec<String>,
    /// Ports of this machine's loopback that it may reach.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// Ports of this machine's loopback at which what it starts can be reached.
    #[serde(default)]
    pub serves: Vec<u16>,
    /// Absolute paths of sockets of other programs that it may speak to.
    #[serde(default)]
    pub sockets: Vec<PathBuf>,
}

impl CommandConfinement {
    /// Ports at which it is reached, if it has no other way out or in and its sandbox has a network of its
    /// own, so that nobody else can be met there. Else none.
    pub fn ports_served_only(&self) -> Vec<u16> {
        let only = self.tier.has_own_view()
            && self.hosts.is_empty()
            && self.ports.is_empty()
            && self.sockets.is_empty();
        if only { self.serves.clone() } else { Vec::new() }
    }

    /// Where a command reaches outside; `None`: nowhere. Empty: everywhere, since nothing confines it.
    pub fn outside_reach(&self) -> Option<Vec<String>> {
        match self.tier {
            Tier::None => Some(Vec::new()),
            Tier::Landlock | Tier::Bubblewrap | Tier::Namespaces => {
                let ports = self.ports.iter().chain(&self.serves);
                let ports = ports.map(|port| format!("localhost:{port}"));
                let sockets = self.sockets.iter().map(|path| path.display().to_string());
                let all = self.hosts.iter().cloned().chain(ports).chain(sockets);
                Some(all.collect::<Vec<_>>()).filter(|all| !all.is_empty())
            }
        }
    }
}
