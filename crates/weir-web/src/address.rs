//! Judges addresses: their form, and whether an IP address belongs to the open internet. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};
use weir_engine::ports::Address;

/// Longest address that is looked at, in bytes.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Why an IP address is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// This machine.
    Loopback,
    /// A private or unique-local network, or one shared behind a carrier's translation.
    Private,
    /// Only on this link; also where clouds keep a machine's credentials.
    LinkLocal,
    /// A cloud's metadata or control service.
    Metadata,
    /// No single machine.
    Multicast,
    /// Not assigned, for documentation, for measurements, or the unspecified address.
    Reserved,
    /// An IPv6 form that carries an IPv4 address past the rules for those.
    Embedded,
}

impl Closed {
    /// Whether listing a host's *name* opens such an address. The others must be listed as such.
    pub(crate) fn opens_by_name(self) -> bool {
        match self {
            Closed::Loopback | Closed::Private => true,
            Closed::LinkLocal
            | Closed::Metadata
            | Closed::Multicast
            | Closed::Reserved
            | Closed::Embedded => false,
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Closed::Loopback => "this machine itself",
            Closed::Private => "a private network",
            Closed::LinkLocal => "a link-local address",
            Closed::Metadata => "a cloud's metadata service",
            Closed::Multicast => "a multicast address",
            Closed::Reserved => "a reserved address",
            Closed::Embedded => "an IPv4 address inside an IPv6 one",
        })
    }
}

/// Whether `ip` is an ordinary address of the open internet.
///
/// # Errors
/// What it is instead.
pub fn judge_ip(ip: IpAddr) -> Result<(), Closed> {
    match ip {
        IpAddr::V4(ip) => judge_v4(ip),
        IpAddr::V6(ip) => judge_v6(ip),
    }
}

fn judge_v4(ip: Ipv4Addr) -> Result<(), Closed> {
    match ip.octets() {
        [127, ..] => Err(Closed::Loopback),
        [168, 63, 129, 16] | [169, 254, 169, 254] | [100, 100, 100, 200] => Err(Closed::Metadata),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            Err(Closed::Private)
        }
        [169, 254, ..] => Err(Closed::LinkLocal),
        [224..=239, ..] => Err(Closed::Multicast),
        [0, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Err(Closed::Reserved),
        _ => Ok(()),
    }
}

fn judge_v6(ip: Ipv6Addr) -> Result<(), Closed> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Err(Closed::Reserved),
        [0, 0, 0, 0, 0, 0, 0, 1] => Err(Closed::Loopback),
        // Compatible, mapped, translated, NAT64, Teredo, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..] => Err(Closed::Embedded),
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => Err(Closed::Metadata),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Err(Closed::Private),
        [0xfe80..=0xfebf, ..] => Err(Closed::LinkLocal),
        [0xff00..=0xffff, ..] => Err(Closed::Multicast),
        // Special assignments, documentation.
        [0x2001, 0x1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Err(Closed::Reserved),
        // Only this part is given out as global unicast.
        [0x2000..=0x3fff, ..] => Ok(()),
        _ => Err(Closed::Reserved),
    }
}

/// One form for one host: lower-case ASCII, addresses in their shortest form without brackets.
pub(crate) fn canonical_host(text: &str) -> Result<String, String> {
    let trimmed = text.trim().trim_end_matches('.');
    let host = trimmed
        .parse::<Ipv6Addr>()
        .map(Host::<String>::Ipv6)
        .or_else(|_| Host::parse(trimmed))
        .map_err(|e| {
            format!(
                "`{text}` in web.allow_hosts is no host ({e}); write a name or an IP address, \
                 without scheme, port or path"
            )
        })?;
    Ok(host_text(&host))
}

fn host_text<S: AsRef<str>>(host: &Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => ip.to_string(),
    }
}

/// The canonical form of an address, and the parsed one. No network is touched.
pub(crate) fn check(text: &str, allowed: &[String]) -> Result<(Address, Url), String> {
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
    if !allowed.contains(&host) {
        refuse_form(&url, &host)?;
    }
    Ok((Address { url: url.to_string(), host }, url))
}

/// What can be told of a host without asking anybody.
fn refuse_form(url: &Url, host: &str) -> Result<(), String> {
    let closed = match url.host() {
        Some(Host::Ipv4(ip)) => judge_v4(ip),
        Some(Host::Ipv6(ip)) => judge_v6(ip),
        Some(Host::Domain(_)) if host == "localhost" || host.ends_with(".localhost") => {
            Err(Closed::Loopback)
        }
        Some(Host::Domain(_)) | None => Ok(()),
    };
    closed.map_err(|closed| refusal(host, closed))
}

/// The sentence for a host that is not reached.
pub(crate) fn refusal(host: &str, closed: Closed) -> String {
    format!("{host} is {closed}, which tools do not reach; a person can list it in web.allow_hosts")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &[(&str, Closed)] = &[
        ("127.0.0.1", Closed::Loopback),
        ("127.255.255.254", Closed::Loopback),
        ("0.0.0.0", Closed::Reserved),
        ("0.1.2.3", Closed::Reserved),
        ("10.0.0.1", Closed::Private),
        ("172.16.0.1", Closed::Private),
        ("172.31.255.255", Closed::Private),
        ("192.168.1.1", Closed::Private),
        ("100.64.0.1", Closed::Private),
        ("100.127.255.255", Closed::Private),
        ("100.100.100.200", Closed::Metadata),
        ("169.254.169.254", Closed::Metadata),
        ("168.63.129.16", Closed::Metadata),
        ("169.254.0.1", Closed::LinkLocal),
        ("192.0.0.192", Closed::Reserved),
        ("192.0.2.1", Closed::Reserved),
        ("198.18.0.1", Closed::Reserved),
        ("198.19.255.255", Closed::Reserved),
        ("198.51.100.7", Closed::Reserved),
        ("203.0.113.9", Closed::Reserved),
        ("192.88.99.1", Closed::Reserved),
        ("224.0.0.1", Closed::Multicast),
        ("239.255.255.255", Closed::Multicast),
        ("240.0.0.1", Closed::Reserved),
        ("255.255.255.255", Closed::Reserved),
        ("::", Closed::Reserved),
        ("::1", Closed::Loopback),
        ("::127.0.0.1", Closed::Embedded),
        ("::ffff:127.0.0.1", Closed::Embedded),
        ("::ffff:93.184.216.34", Closed::Embedded),
        ("::ffff:0:127.0.0.1", Closed::Embedded),
        ("64:ff9b::7f00:1", Closed::Embedded),
        ("64:ff9b:1::1", Closed::Embedded),
        ("2002:7f00:1::", Closed::Embedded),
        ("2001:0:4136:e378::1", Closed::Embedded),
        ("fc00::1", Closed::Private),
        ("fd12:3456::1", Closed::Private),
        ("fd00:ec2::254", Closed::Metadata),
        ("fd20:ce::254", Closed::Metadata),
        ("fec0::1", Closed::Private),
        ("fe80::1", Closed::LinkLocal),
        ("ff02::1", Closed::Multicast),
        ("2001:db8::1", Closed::Reserved),
        ("2001:2::1", Closed::Reserved),
        ("2001:20::1", Closed::Reserved),
        ("3fff::1", Closed::Reserved),
        ("100::1", Closed::Reserved),
        ("4000::1", Closed::Reserved),
        ("1::1", Closed::Reserved),
    ];

    #[test]
    fn z5_closed_addresses() {
        for (ip, closed) in CLOSED {
            assert_eq!(judge_ip(ip.parse().unwrap()), Err(*closed), "{ip}");
        }
        for ip in [
            "93.184.216.34",
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2001:200::1",
            "2001:4860:4860::8888",
        ] {
            assert_eq!(judge_ip(ip.parse().unwrap()), Ok(()), "{ip}");
        }
    }

    #[test]
    fn z5_every_way_to_write_this_machine_is_seen() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "017700000001",
            "0177.0.0.1",
            "127.0.1",
            "0",
            "0x0",
            "localhost",
            "LOCALHOST.",
            "x.localhost",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::]",
            "１２７.０.０.１",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
        ] {
            let error = check(&format!("http://{host}/x"), &[]).unwrap_err();
            assert!(error.contains("which tools do not reach"), "{host}: {error}");
        }
        let listed = [canonical_host("127.0.0.1").unwrap()];
        assert!(check("http://0x7f.1:8080/x", &listed).is_ok());
        assert!(check("http://127.0.0.2/x", &listed).is_err());
        assert!(check("http://localhost/x", &listed).is_err());
    }

    #[test]
    fn z5_one_address_has_one_form() {
        let cases = [
            ("HTTPS://Example.ORG:443/a/../b?q#p", "https://example.org/b?q", "example.org"),
            ("http://example.org.", "http://example.org/", "example.org"),
            ("http://example.org:80", "http://example.org/", "example.org"),
            ("http://example.org:8080/x", "http://example.org:8080/x", "example.org"),
            ("https://bücher.test/", "https://xn--bcher-kva.test/", "xn--bcher-kva.test"),
            ("https://[2606:4700:0::1]/", "https://[2606:4700::1]/", "2606:4700::1"),
            ("  https://example.org/ ", "https://example.org/", "example.org"),
        ];
        for (written, url, host) in cases {
            let (address, _) = check(written, &[]).unwrap();
            assert_eq!((address.url.as_str(), address.host.as_str()), (url, host), "{written}");
        }
    }

    #[test]
    fn z5_addresses_that_are_never_fetched() {
        let long = format!("https://example.org/{}", "x".repeat(10_000));
        let cases = [
            ("file:///etc/passwd", "only http and https"),
            ("ftp://example.org/", "only http and https"),
            ("data:text/plain,x", "only http and https"),
            ("javascript:alert(1)", "only http and https"),
            ("https://user@example.org/", "user name or password"),
            ("https://user:pw@example.org/", "user name or password"),
            ("https://:pw@example.org/", "user name or password"),
            ("example.org/page", "not a whole address"),
            ("", "not a whole address"),
            ("https://", "not a whole address"),
            ("https://exa mple.org/", "spaces or control"),
            ("https://example.org/\r\nHost: x", "spaces or control"),
            ("http://256.256.256.256/", "not a whole address"),
            ("http://example.org:99999/", "not a whole address"),
            (&long, "longer than"),
        ];
        for (written, why) in cases {
            let error = check(written, &[]).unwrap_err();
            assert!(error.contains(why), "{written}: {error}");
        }
    }

    #[test]
    fn z5_listed_hosts_have_one_form_too() {
        for (written, form) in [
            ("Intranet.Example.", "intranet.example"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("0x7f.1", "127.0.0.1"),
            (" nas ", "nas"),
        ] {
            assert_eq!(canonical_host(written).as_deref(), Ok(form));
        }
        for wrong in ["http://x", "a/b", "", "host:80", "a b"] {
            assert!(canonical_host(wrong).unwrap_err().contains("web.allow_hosts"), "{wrong}");
        }
    }
}
