//! What a command asks to reach beyond its sandbox: hosts, ports of this machine, sockets of other
//! programs. Not here: whether it may (the gate), and how it gets there.

use weir_core::tool::HostEffect;
use weir_engine::ports::ToolContext;
use weir_engine::workspace::Workspace;

use crate::run_shell::{place_and_port, reached};

/// One entry of `network`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Host(HostEffect),
    Port(u16),
    Socket(String),
}

/// All of a call.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    pub(crate) hosts: Vec<HostEffect>,
    pub(crate) ports: Vec<u16>,
    pub(crate) sockets: Vec<String>,
    /// What cannot be reached, and why.
    pub(crate) fails: Option<String>,
}

/// Reads what a call names in `network`.
pub(crate) fn asked(cx: &ToolContext, named: &[String]) -> Reach {
    let mut reach = Reach::default();
    for text in named {
        match entry(cx, text.trim()) {
            Ok(Entry::Host(host)) => reach.hosts.push(host),
            Ok(Entry::Port(port)) => reach.ports.push(port),
            Ok(Entry::Socket(path)) => reach.sockets.push(path),
            Err(why) => reach.fails = reach.fails.or(Some(format!("network: {why}"))),
        }
    }
    reach
}

/// Ports at which a call wants to be found.
///
/// # Errors
/// Why not.
pub(crate) fn served(workspace: &Workspace, ports: &[u16]) -> Result<(), String> {
    if ports.is_empty() {
        return Ok(());
    }
    // A server's own ports are not an account's to take.
    if workspace.keeps_commands_inside() {
        return Err("serve: commands of this account have a network of their own only".into());
    }
    match ports.iter().find(|port| **port < 1024) {
        Some(port) => Err(format!("serve: {port} is a port of the system; choose one above 1023")),
        None => Ok(()),
    }
}

fn entry(cx: &ToolContext, text: &str) -> Result<Entry, String> {
    let own_only = |what: &str| match cx.workspace.keeps_commands_inside() {
        true => Err(format!("{text:?} is {what}, which commands of this account do not reach")),
        false => Ok(()),
    };
    if text.starts_with('/') {
        own_only("a socket of this machine")?;
        return cx.workspace.socket(text).map(Entry::Socket);
    }
    let Ok((place, port)) = place_and_port(text) else {
        return reached(cx, text).map(Entry::Host);
    };
    if !is_loopback(&place) {
        return reached(cx, text).map(Entry::Host);
    }
    own_only("this machine")?;
    port.map(Entry::Port).ok_or_else(|| {
        format!("{text:?} is this machine; name the port as well, as in localhost:5432")
    })
}

fn is_loopback(place: &str) -> bool {
    place == "localhost" || place == "[::1]" || place.starts_with("127.")
}
