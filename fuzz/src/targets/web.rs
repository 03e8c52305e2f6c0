//! Addresses of the network.

use std::net::IpAddr;
use std::sync::LazyLock;

use weir_engine::ports::Web;
use weir_web::{GuardedWeb, WebOptions, judge_ip};

use crate::input::text;
use crate::seeds;

pub(super) const ADDRESS_WORDS: &[&str] = &[
    "http://",
    "https://",
    "file://",
    "//",
    "@",
    ":",
    "#",
    "?",
    "/../",
    "%2e%2e",
    "%00",
    "\\",
    "[",
    "]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "127.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "2130706433",
    "localhost",
    "LOCALHOST.",
    "169.254.169.254",
    "%31%32%37.0.0.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "xn--",
    "ß",
    "example.org",
    ".",
    ":80",
    ":443",
    ":65536",
    "fe80::1%25eth0",
];

static WEB: LazyLock<GuardedWeb> = LazyLock::new(|| client(&[]));
static LISTED: LazyLock<GuardedWeb> = LazyLock::new(|| client(&["127.0.0.1", "intranet.example"]));

fn client(hosts: &[&str]) -> GuardedWeb {
    let allow_hosts = hosts.iter().map(ToString::to_string).collect();
    let options = WebOptions { allow_hosts, ..WebOptions::default() };
    GuardedWeb::new(options).expect("hosts that can be listed")
}

/// One form that is its own form; never a closed address by any spelling; what a list opens is
/// exactly what is listed.
pub(super) fn address(data: &[u8]) {
    let text = text(data);
    if let Ok(found) = WEB.check_url(&text) {
        assert_eq!(WEB.check_url(&found.url).as_ref(), Ok(&found), "its form has another form");
        let rest = found.url.strip_prefix("https://").or(found.url.strip_prefix("http://"));
        let rest = rest.expect("http and https only");
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let authority = &rest[..end];
        assert!(!authority.contains('@') && !found.url.contains('#'), "{}", found.url);
        let host = &found.host;
        assert!(host.is_ascii() && !host.is_empty(), "{host:?}");
        assert_eq!(*host, host.to_ascii_lowercase());
        assert!(authority.contains(host.as_str()), "{authority} is not {host}");
        assert!(host != "localhost" && !host.ends_with(".localhost"), "{host}");
        if let Ok(ip) = host.parse::<IpAddr>() {
            assert_eq!(judge_ip(ip), Ok(()), "{host}");
        }
    }
    if let Ok(found) = LISTED.check_url(&text)
        && WEB.check_url(&text).is_err()
    {
        assert_eq!(found.host, "127.0.0.1", "opened without being listed");
    }
}

pub(super) fn address_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "https://docs.rs/serde/latest/serde/?search=x#top",
        "http://user:pass@example.org:8080/a/../b",
        "https://münchen.example/straße?q=ä",
        "http://127.0.0.1/",
        "http://[2606:2800:220:1:248:1893:25c8:1946]/x",
        "HTTPS://EXAMPLE.ORG.:443/%7Efoo",
        "http://0x7f.0.0.1:80/",
    ])
}
