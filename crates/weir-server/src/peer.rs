//! From where a request comes. What proxies say of it is believed only of those that were declared.

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;

use crate::problem::ProblemDetails;

/// Where a request comes from. An argument that any handler may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress {
    /// Whose address it is.
    pub(crate) ip: IpAddr,
    /// Whether it came by TLS, here or at the proxy.
    pub(crate) secure: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ClientAddress, ProblemDetails> {
        let known = parts.extensions.get::<ClientAddress>().copied();
        known.ok_or_else(|| ProblemDetails::internal_failure("a request without an address"))
    }
}

impl ClientAddress {
    /// The address that asks over a connection from `peer`.
    pub(crate) fn from_peer(
        peer: SocketAddr,
        tls: bool,
        proxies: &[IpAddr],
        headers: &HeaderMap,
    ) -> ClientAddress {
        let ip = peer.ip().to_canonical();
        if !is_proxy(ip, proxies) {
            return ClientAddress { ip, secure: tls };
        }
        let secure = tls
            || last_header_part(headers, "x-forwarded-proto").is_some_and(|word| word == "https");
        // Each proxy adds the address that it saw at the end: the last that is not a proxy asks.
        let said = header_parts(headers, "x-forwarded-for");
        let mut named = said.iter().rev().map_while(|text| parse_proxy_address(text));
        let asks = named.find(|ip| !is_proxy(*ip, proxies));
        ClientAddress { ip: asks.unwrap_or(ip), secure }
    }
}

fn is_proxy(ip: IpAddr, proxies: &[IpAddr]) -> bool {
    proxies.iter().any(|proxy| proxy.to_canonical() == ip)
}

/// The parts of a header that may come several times.
fn header_parts<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|text| text.split(',')).map(str::trim).collect()
}

fn last_header_part<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    header_parts(headers, name).last().copied()
}

/// An address as proxies write it, some with a port.
fn parse_proxy_address(text: &str) -> Option<IpAddr> {
    let text = text.trim_matches('"');
    let plain = text.trim_start_matches('[').trim_end_matches(']');
    let ip = plain.parse::<IpAddr>().ok();
    let ip = ip.or_else(|| text.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()));
    ip.map(|ip| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(peer: &str, lines: &[(&'static str, &str)]) -> (String, bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().expect("a header"));
        }
        let proxies = ["127.0.0.1".parse().expect("one"), "10.0.0.9".parse().expect("one")];
        let peer = SocketAddr::new(peer.parse().expect("an address"), 4711);
        let found = ClientAddress::from_peer(peer, false, &proxies, &headers);
        (found.ip.to_string(), found.secure)
    }

    #[test]
    fn s1_only_a_declared_proxy_is_believed() {
        let lie = [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")];
        assert_eq!(asked("198.51.100.1", &lie), ("198.51.100.1".into(), false));
        assert_eq!(asked("127.0.0.1", &lie), ("192.0.2.7".into(), true));
        assert_eq!(asked("::ffff:127.0.0.1", &lie), ("192.0.2.7".into(), true));
    }

    #[test]
    fn s1_what_a_client_adds_in_front_of_the_proxys_word_counts_for_nothing() {
        let two = [("x-forwarded-for", "203.0.113.66, 192.0.2.7, 10.0.0.9")];
        assert_eq!(asked("127.0.0.1", &two), ("192.0.2.7".into(), false));
        let lines = [("x-forwarded-for", "203.0.113.66"), ("x-forwarded-for", "192.0.2.7:5000")];
        assert_eq!(asked("127.0.0.1", &lines), ("192.0.2.7".into(), false));
        let nonsense = [("x-forwarded-for", "192.0.2.7, unknown")];
        assert_eq!(asked("127.0.0.1", &nonsense), ("127.0.0.1".into(), false));
        assert_eq!(asked("127.0.0.1", &[("x-forwarded-for", "[2001:db8::5]:80")]).0, "2001:db8::5");
    }

    #[test]
    fn s1_the_last_proxys_word_about_tls_counts() {
        let two = [("x-forwarded-proto", "https, http"), ("x-forwarded-for", "192.0.2.7")];
        assert_eq!(asked("127.0.0.1", &two), ("192.0.2.7".into(), false));
    }
}
