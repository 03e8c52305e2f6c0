//! What a command asks to reach beyond its sandbox: hosts, ports of this machine, sockets of other
//! programs. Not here: whether it may (the gate), and how it gets there.

// The type of an address and no socket: `core` has none.
use core::net::Ipv6Addr;

use weir_core::tool::HostEffect;
use weir_engine::ports::ToolContext;
use weir_engine::workspace::Workspace;

/// One entry of `network`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NetworkEntry {
    Host(HostEffect),
    Port(u16),
    Socket(String),
}

/// All of a call.
#[derive(Debug, Default)]
pub(crate) struct NetworkReach {
    pub(crate) hosts: Vec<HostEffect>,
    pub(crate) ports: Vec<u16>,
    pub(crate) sockets: Vec<String>,
    /// What cannot be reached, and why.
    pub(crate) fails: Option<String>,
}

/// Reads what a call names in `network`.
pub(crate) fn parse_reach(cx: &ToolContext, named: &[String]) -> NetworkReach {
    let mut reach = NetworkReach::default();
    for text in named {
        match parse_entry(cx, text.trim()) {
            Ok(NetworkEntry::Host(host)) => reach.hosts.push(host),
            Ok(NetworkEntry::Port(port)) => reach.ports.push(port),
            Ok(NetworkEntry::Socket(path)) => reach.sockets.push(path),
            Err(why) => reach.fails = reach.fails.or(Some(format!("network: {why}"))),
        }
    }
    reach
}

/// Those of `ports` at which a job of the session that runs now is met, and which its sandbox holds.
pub(crate) async fn ports_of_own_jobs(cx: &ToolContext, ports: &[u16]) -> Vec<u16> {
    if ports.is_empty() {
        return Vec::new();
    }
    let jobs = cx.processes.jobs(&cx.session).await;
    let serves =
        |port: &u16| jobs.iter().any(|job| job.end.is_none() && job.serves_only.contains(port));
    ports.iter().copied().filter(|port| serves(port)).collect()
}

/// Ports at which a call wants to be found.
///
/// # Errors
/// Why not.
pub(crate) fn check_served_ports(workspace: &Workspace, ports: &[u16]) -> Result<(), String> {
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

fn parse_entry(cx: &ToolContext, text: &str) -> Result<NetworkEntry, String> {
    let own_only = |what: &str| match cx.workspace.keeps_commands_inside() {
        true => Err(format!("{text:?} is {what}, which commands of this account do not reach")),
        false => Ok(()),
    };
    if text.starts_with('/') {
        own_only("a socket of this machine")?;
        return cx.workspace.resolve_socket(text).map(NetworkEntry::Socket);
    }
    let Ok((place, port)) = place_and_port(text) else {
        return resolve_host(cx, text).map(NetworkEntry::Host);
    };
    if !is_loopback(&place) {
        return resolve_host(cx, text).map(NetworkEntry::Host);
    }
    own_only("this machine")?;
    port.map(NetworkEntry::Port).ok_or_else(|| {
        format!("{text:?} is this machine; name the port as well, as in localhost:5432")
    })
}

fn is_loopback(place: &str) -> bool {
    place == "localhost" || place == "[::1]" || place.starts_with("127.")
}

/// The way to a host that the command asks for.
fn resolve_host(cx: &ToolContext, host: &str) -> Result<HostEffect, String> {
    let bad = |why: &str| format!("{host:?} {why}; write it as example.org");
    let (place, port) = place_and_port(host.trim()).map_err(|why| bad(&why))?;
    let checked = cx.web.check_url(&format!("https://{place}/")).map_err(|why| bad(&why))?;
    let name = checked.host;
    // An address of IPv6 is told from its port by its brackets.
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let shown = if bare.contains(':') { format!("[{bare}]") } else { name.clone() };
    let url = match port.filter(|port| *port != 443) {
        Some(port) => format!("{shown}:{port}"),
        None => shown,
    };
    Ok(HostEffect { method: "CONNECT".into(), host: name, url, secret: None })
}

/// What stands before and after the colon of a host: IPv6 comes back in brackets, with or without
/// which it may be written as long as no port follows.
fn place_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let no_host = || "is not a host".to_owned();
    let port = |text: &str| match text.parse::<u16>() {
        Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(Some(port)),
        Ok(_) | Err(_) => Err(format!("has the port {text:?}, which is none")),
    };
    if text.is_empty() || text.contains(['/', '@', '*', ' ', '?', '#', '\\', '%']) {
        return Err(no_host());
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok((format!("[{address}]"), None));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or_else(no_host)?;
        let address: Ipv6Addr = address.parse().map_err(|_| no_host())?;
        let found = match after.strip_prefix(':') {
            Some(text) => port(text)?,
            None if after.is_empty() => None,
            None => return Err(no_host()),
        };
        return Ok((format!("[{address}]"), found));
    }
    match text.split_once(':') {
        None => Ok((text.to_owned(), None)),
        Some(("", _)) => Err(no_host()),
        Some((_, after)) if after.contains(':') => {
            Err("is not a host; an address of IPv6 with a port is written [2001:db8::1]:8443"
                .to_owned())
        }
        Some((name, after)) => Ok((name.to_owned(), port(after)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::place_and_port;

    #[test]
    fn z4_hosts_with_and_without_ports_are_told_apart() {
        for (text, place, port) in [
            ("example.org", "example.org", None),
            ("example.org:443", "example.org", Some(443)),
            ("example.org:8080", "example.org", Some(8080)),
            ("192.0.2.7:22", "192.0.2.7", Some(22)),
            ("2001:db8::1", "[2001:db8::1]", None),
            ("[2001:db8::1]", "[2001:db8::1]", None),
            ("[2001:DB8:0::1]:8443", "[2001:db8::1]", Some(8443)),
            ("::1", "[::1]", None),
        ] {
            assert_eq!(place_and_port(text), Ok((place.to_owned(), port)), "{text}");
        }
    }

    #[test]
    fn z4_what_is_no_host_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "is not a host"),
            (":80", "is not a host"),
            ("https://example.org", "is not a host"),
            ("person@example.org", "is not a host"),
            ("[2001:db8::1", "is not a host"),
            ("[example.org]:80", "is not a host"),
            ("[::1]80", "is not a host"),
            ("[fe80::1%eth0]", "is not a host"),
            ("2001:db8::1:2:3:4:5:6:70000", "[2001:db8::1]:8443"),
            ("example.org:", "has the port"),
            ("example.org:0", "has the port"),
            ("example.org:+80", "has the port"),
            ("example.org:70000", "has the port"),
        ] {
            let said = place_and_port(text).expect_err(text);
            assert!(said.contains(why), "{text:?} -> {said}");
        }
    }
}
