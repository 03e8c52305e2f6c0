//! The hosts of a grant: names with their subdomains, addresses, ports. Pure.

use std::net::IpAddr;

use url::Host;

use crate::address::{host_text, parse_host};
use crate::secret::split_port;

/// Most entries of one grant.
const ENTRIES_MAX: usize = 256;
/// Ports of an entry that names none.
const WEB_PORTS: [u16; 2] = [80, 443];

/// What a line lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostList {
    entries: Vec<HostEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HostEntry {
    pattern: GrantPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GrantPattern {
    /// Every name; addresses are named one by one.
    All,
    /// The name and its subdomains.
    Domain(String),
    /// Its subdomains alone.
    Below(String),
    Address(IpAddr),
}

/// How far a grant goes for one host and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostGrant {
    None,
    /// For the web.
    Web,
    /// An entry names this very port.
    Port,
}

impl HostList {
    /// Understands the entries of a grant.
    ///
    /// # Errors
    /// Names the entry that is no host.
    pub(super) fn parse(texts: &[String]) -> Result<HostList, String> {
        if texts.len() > ENTRIES_MAX {
            return Err(format!("more than {ENTRIES_MAX} hosts were named for one command"));
        }
        let entries = texts.iter().map(|text| {
            parse_host_entry(text).map_err(|why| {
                format!(
                    "{text:?} is no host that a command can be granted: {why}; write a name such \
                     as docs.rs, which covers its subdomains, or a name and a port"
                )
            })
        });
        Ok(HostList { entries: entries.collect::<Result<_, _>>()? })
    }

    /// Whether this host and port are granted.
    pub(super) fn grant_for(&self, host: &Host<String>, port: u16) -> HostGrant {
        let names = |entry: &&HostEntry| entry.pattern.covers_host(host);
        let mut named = self.entries.iter().filter(names).map(|entry| entry.port);
        let is_web = WEB_PORTS.contains(&port);
        named.by_ref().fold(HostGrant::None, |best, entry| match entry {
            Some(named) if named == port => HostGrant::Port,
            None if is_web && best == HostGrant::None => HostGrant::Web,
            Some(_) | None => best,
        })
    }
}

impl GrantPattern {
    fn covers_host(&self, host: &Host<String>) -> bool {
        let below = |domain: &str, name: &str| {
            name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        };
        match (self, host) {
            (GrantPattern::All, Host::Domain(_)) => true,
            (GrantPattern::Domain(domain), Host::Domain(name)) => {
                name == domain || below(domain, name)
            }
            (GrantPattern::Below(domain), Host::Domain(name)) => below(domain, name),
            (GrantPattern::Address(ip), Host::Ipv4(host)) => *ip == IpAddr::V4(*host),
            (GrantPattern::Address(ip), Host::Ipv6(host)) => *ip == IpAddr::V6(*host),
            (GrantPattern::All | GrantPattern::Domain(_) | GrantPattern::Below(_), _)
            | (GrantPattern::Address(_), Host::Domain(_)) => false,
        }
    }
}

fn parse_host_entry(text: &str) -> Result<HostEntry, String> {
    let (host, port) = split_port(text)?;
    if host == "*" {
        return Ok(HostEntry { pattern: GrantPattern::All, port });
    }
    let (is_below, host) = match host.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, host),
    };
    let pattern = match parse_host(host)? {
        Host::Ipv4(_) | Host::Ipv6(_) if is_below => {
            return Err("an address has no subdomains".into());
        }
        Host::Ipv4(ip) => GrantPattern::Address(IpAddr::V4(ip)),
        Host::Ipv6(ip) => GrantPattern::Address(IpAddr::V6(ip)),
        Host::Domain(name) if name.contains('*') => return Err("it has a * inside".into()),
        Host::Domain(name) if is_below => GrantPattern::Below(name),
        Host::Domain(name) => GrantPattern::Domain(name),
    };
    Ok(HostEntry { pattern, port })
}

/// `host:port`, with brackets around an IPv6 address.
pub(super) fn host_and_port(host: &Host<String>, port: u16) -> String {
    match host {
        Host::Ipv6(ip) => format!("[{ip}]:{port}"),
        Host::Domain(_) | Host::Ipv4(_) => format!("{}:{port}", host_text(host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> HostList {
        let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
        HostList::parse(&entries).unwrap()
    }

    fn grant(list: &HostList, host: &str, port: u16) -> HostGrant {
        list.grant_for(&parse_host(host).unwrap(), port)
    }

    #[test]
    fn z4_a_name_covers_its_subdomains_and_no_look_alike() {
        let list = list(&["Example.ORG.", "*.only.test", "bücher.example", "git.test:22"]);
        for (host, port, expected) in [
            ("example.org", 443, HostGrant::Web),
            ("EXAMPLE.org.", 80, HostGrant::Web),
            ("a.b.example.org", 443, HostGrant::Web),
            ("example.org", 8443, HostGrant::None),
            ("badexample.org", 443, HostGrant::None),
            ("example.org.evil.test", 443, HostGrant::None),
            ("example.com", 443, HostGrant::None),
            ("ехample.org", 443, HostGrant::None),
            ("only.test", 443, HostGrant::None),
            ("a.only.test", 443, HostGrant::Web),
            (".only.test", 443, HostGrant::None),
            ("xn--bcher-kva.example", 443, HostGrant::Web),
            ("git.test", 22, HostGrant::Port),
            ("x.git.test", 22, HostGrant::Port),
            ("git.test", 443, HostGrant::None),
        ] {
            assert_eq!(grant(&list, host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn z4_addresses_are_named_one_by_one_in_any_spelling() {
        let all = list(&["*"]);
        assert_eq!(grant(&all, "anything.test", 443), HostGrant::Web);
        assert_eq!(grant(&all, "93.184.216.34", 443), HostGrant::None);
        let named = list(&["0x5db8d822", "[2606:4700::1]:8443"]);
        assert_eq!(grant(&named, "93.184.216.34", 80), HostGrant::Web);
        assert_eq!(grant(&named, "93.184.216.35", 80), HostGrant::None);
        assert_eq!(grant(&named, "[2606:4700:0:0::1]", 8443), HostGrant::Port);
        assert_eq!(grant(&list(&["2606:4700::1"]), "2606:4700::1", 443), HostGrant::Web);
        // The narrower entry decides what kind of grant it is.
        let both = list(&["example.org", "example.org:80"]);
        assert_eq!(grant(&both, "example.org", 80), HostGrant::Port);
        assert_eq!(
            grant(&list(&["example.org:80", "example.org"]), "example.org", 80),
            HostGrant::Port
        );
        assert_eq!(grant(&list(&[]), "example.org", 443), HostGrant::None);
    }

    #[test]
    fn z4_entries_that_are_no_hosts_are_named() {
        for wrong in [
            "",
            "https://a.b",
            "a.b/c",
            "a b",
            "a.b:0",
            "a.b:99999",
            "a.b:x",
            "*.1.2.3.4",
            "a.*.b",
            "u@a.b",
        ] {
            let error = HostList::parse(&[wrong.to_owned()]).unwrap_err();
            assert!(error.contains("is no host"), "{wrong}: {error}");
        }
        assert!(HostList::parse(&vec!["a.b".to_owned(); 257]).is_err());
    }
}
