//! Judges addresses: their form, and whether an IP address belongs to the open internet. Pure.

use std::net::Ipv6Addr;

use url::{Host, Url};
pub use weir_core::address::{AddressRefusal, judge_ip};
use weir_engine::ports::WebAddress;

/// Longest address that is looked at, in bytes.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Names under which clouds hand out a machine's credentials. They lead to closed addresses anyway;
/// this way no name server is asked for them.
const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "metadata.packet.net",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Domains that exist inside one network only, or must never be asked of name servers.
const PRIVATE_DOMAINS: &[&str] = &["internal", "local", "localdomain", "home.arpa", "onion"];

/// Ports of services that are no web servers and could take a request for their own commands: the
/// "bad ports" of the Fetch standard.
const OTHER_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// A host in the one form that it has: lower-case ASCII, addresses in their shortest form.
pub(crate) fn parse_host(text: &str) -> Result<Host<String>, String> {
    let trimmed = text.trim().trim_end_matches('.');
    let host = trimmed.parse::<Ipv6Addr>().map(Host::<String>::Ipv6);
    match host.or_else(|_| Host::parse(trimmed)).map_err(|e| e.to_string())? {
        Host::Domain(name) if name.trim_end_matches('.').is_empty() => {
            Err("it is empty".to_owned())
        }
        Host::Domain(name) => Ok(Host::Domain(name.trim_end_matches('.').to_ascii_lowercase())),
        host @ (Host::Ipv4(_) | Host::Ipv6(_)) => Ok(host),
    }
}

/// An entry of `web.allow_hosts` in its one form, addresses without brackets.
///
/// # Errors
/// It is no host; what it has to be.
pub fn canonical_host(text: &str) -> Result<String, String> {
    let host = parse_host(text).map_err(|why| {
        format!(
            "`{text}` in web.allow_hosts is no host ({why}); write a name or an IP address, \
             without scheme, port or path"
        )
    })?;
    Ok(host_text(&host))
}

/// The text of a host, addresses without brackets.
pub(crate) fn host_text<S: AsRef<str>>(host: &Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => ip.to_string(),
    }
}

/// The canonical form of an address, and the parsed one. No network is touched.
pub(crate) fn check_address(text: &str, allowed: &[String]) -> Result<(WebAddress, Url), String> {
    let text = text.trim();
    if text.len() > URL_BYTES_MAX {
        return Err(format!("the address is longer than {URL_BYTES_MAX} bytes"));
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("the address contains spaces or control characters; encode them (%20)".into());
    }
    let mut url = Url::parse(text).map_err(|e| {
        format!("`{text}` is not a whole address ({e}); write it like https://example.org/page")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(format!("`{scheme}:` addresses cannot be fetched; only http and https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address contains a user name or password; leave them out".to_owned());
    }
    url.set_fragment(None);
    let host = match url.host() {
        Some(host) => host_text(&host),
        None => return Err(format!("`{text}` names no host")),
    };
    if host.is_empty() {
        return Err(format!("`{text}` names no host"));
    }
    if let Some(Host::Domain(name)) = url.host()
        && name.ends_with('.')
    {
        url.set_host(Some(&host)).map_err(|e| format!("`{text}` names no usable host ({e})"))?;
    }
    if url.as_str().len() > URL_BYTES_MAX {
        return Err(format!("the address is longer than {URL_BYTES_MAX} bytes once it is encoded"));
    }
    if !allowed.contains(&host)
        && let Some(host) = url.host()
    {
        judge_host(&host)?;
    }
    Ok((WebAddress { url: url.to_string(), host }, url))
}

/// What can be told of a host that is not listed without asking anybody.
///
/// # Errors
/// The sentence that refuses it.
pub(crate) fn judge_host<S: AsRef<str>>(host: &Host<S>) -> Result<(), String> {
    let text = host_text(host);
    let is_below = |domain: &str| {
        text.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let closed = match host {
        Host::Ipv4(ip) => judge_ip((*ip).into()),
        Host::Ipv6(ip) => judge_ip((*ip).into()),
        Host::Domain(_) if is_below("localhost") => Err(AddressRefusal::Loopback),
        Host::Domain(_) if METADATA_NAMES.contains(&text.as_str()) => Err(AddressRefusal::Metadata),
        // A name without a dot means whatever this network says it means.
        Host::Domain(_) if !text.contains('.') || PRIVATE_DOMAINS.iter().any(|d| is_below(d)) => {
            Err(AddressRefusal::Private)
        }
        Host::Domain(_) => Ok(()),
    };
    closed.map_err(|closed| refusal_text(&text, closed))
}

/// Whether a web server may be looked for at this port.
///
/// # Errors
/// The sentence that refuses it.
pub(crate) fn judge_port(url: &Url) -> Result<(), String> {
    match url.port() {
        Some(port) if OTHER_PORTS.contains(&port) => Err(format!(
            "port {port} belongs to another service than the web, which tools do not reach"
        )),
        _ => Ok(()),
    }
}

/// The sentence for a host that is not reached.
pub(crate) fn refusal_text(host: &str, closed: AddressRefusal) -> String {
    format!("{host} is {closed}, which tools do not reach; a person can list it in web.allow_hosts")
}

#[cfg(test)]
mod tests;
