//! The head of a proxy request: strict, so that two readers never see two requests in it. Pure.

use url::{Host, Position, Url};

use super::hosts::host_and_port;
use crate::address::parse_host;
use crate::secret::split_port;

const HEADERS_MAX: usize = 100;
/// Headers that are for the proxy, or for one connection alone. Framing and host are written anew.
const DROPPED: &[&str] = &[
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "host",
];

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: Host<String>,
    pub(super) port: u16,
    pub(super) wants: ProxyRequestKind,
    /// What follows `Proxy-Authorization: Basic`.
    pub(super) credentials: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequestKind {
    /// A pipe.
    Tunnel,
    /// One request of plain HTTP: the head to send, and the body that follows it.
    Plain { head: String, body: BodyFraming },
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    None,
    Length(u64),
    Chunked,
}

struct HeaderLines<'a>(Vec<(&'a str, &'a str)>);

/// Understands a head that ends with an empty line.
///
/// # Errors
/// The sentence for whoever sent it.
pub(super) fn parse_request_head(bytes: &[u8]) -> Result<ProxyRequest, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the request is not plain text")?;
    let text = text.strip_suffix("\r\n\r\n").ok_or("the request does not end")?;
    let mut lines = text.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = first[..] else {
        return Err("the first line is no request of HTTP/1.1".into());
    };
    if !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err("the first line is no request of HTTP/1.1".into());
    }
    if target.is_empty() || !target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("the address is not plain ASCII".into());
    }
    let headers = HeaderLines::parse(lines)?;
    let credentials = headers.single_value("proxy-authorization")?.and_then(|value| {
        let (scheme, rest) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("basic").then(|| rest.trim().to_owned())
    });
    let (host, port, wants) = if method == "CONNECT" {
        let (host, port) = parse_authority(target)?;
        headers.check_host_header(&host, port, port)?;
        (host, port, ProxyRequestKind::Tunnel)
    } else {
        parse_plain_request(method, target, &headers)?
    };
    Ok(ProxyRequest { host, port, wants, credentials })
}

/// `host:port` of a tunnel.
fn parse_authority(target: &str) -> Result<(Host<String>, u16), String> {
    let wrong = || format!("CONNECT needs a host and a port, not {target:?}");
    if target.contains(['/', '?', '#', '@', '\\']) {
        return Err(wrong());
    }
    match split_port(target) {
        Ok((host, Some(port))) => Ok((parse_host(host).map_err(|_| wrong())?, port)),
        Ok((_, None)) | Err(_) => Err(wrong()),
    }
}

fn parse_plain_request(
    method: &str,
    target: &str,
    headers: &HeaderLines<'_>,
) -> Result<(Host<String>, u16, ProxyRequestKind), String> {
    let url = Url::parse(target).map_err(
        |_| "this is a proxy: it takes CONNECT, and whole addresses such as http://example.org/",
    )?;
    if url.scheme() != "http" {
        return Err(format!("{}: addresses go through CONNECT here", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address contains a user name or password".into());
    }
    let host = url.host_str().ok_or("the address names no host")?;
    let host = parse_host(host.trim_start_matches('[').trim_end_matches(']'))
        .map_err(|why| format!("the address names no usable host: {why}"))?;
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or("port 0 is none")?;
    headers.check_host_header(&host, port, 80)?;
    let body = headers.body_framing()?;
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: ");
    let place = host_and_port(&host, port);
    head.push_str(place.strip_suffix(":80").unwrap_or(&place));
    head.push_str("\r\n");
    let for_one_hop = headers.connection_names();
    for (name, value) in &headers.0 {
        let is_dropped = DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
            || for_one_hop.iter().any(|named| name.eq_ignore_ascii_case(named));
        if !is_dropped {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    match body {
        BodyFraming::None => {}
        BodyFraming::Length(length) => head.push_str(&format!("content-length: {length}\r\n")),
        BodyFraming::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
    }
    // One request for one connection: nothing can follow it to another name on the same server.
    head.push_str("connection: close\r\n\r\n");
    Ok((host, port, ProxyRequestKind::Plain { head, body }))
}

impl<'a> HeaderLines<'a> {
    fn parse(lines: impl Iterator<Item = &'a str>) -> Result<HeaderLines<'a>, String> {
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("a header without a colon")?;
            if !is_token(name) {
                return Err("a header whose name is none".into());
            }
            if value.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
                return Err("a header with control characters".into());
            }
            if headers.len() == HEADERS_MAX {
                return Err(format!("more than {HEADERS_MAX} headers"));
            }
            headers.push((name, value.trim_matches([' ', '\t'])));
        }
        Ok(HeaderLines(headers))
    }

    fn header_values<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'a str> + 'h {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn single_value(&self, name: &str) -> Result<Option<&'a str>, String> {
        let mut found = self.header_values(name);
        match (found.next(), found.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(format!("{name} stands there twice")),
        }
    }

    /// The host header says what the address says, or is not there.
    fn check_host_header(
        &self,
        host: &Host<String>,
        port: u16,
        default: u16,
    ) -> Result<(), String> {
        let Some(named) = self.single_value("host")? else { return Ok(()) };
        let same = split_port(named).ok().is_some_and(|(name, named)| {
            parse_host(name).as_ref() == Ok(host) && named.unwrap_or(default) == port
        });
        if same {
            return Ok(());
        }
        Err(format!(
            "the Host header names {named:?}, the address names {}",
            host_and_port(host, port)
        ))
    }

    fn body_framing(&self) -> Result<BodyFraming, String> {
        match (self.single_value("transfer-encoding")?, self.single_value("content-length")?) {
            (None, None) => Ok(BodyFraming::None),
            (None, Some(length))
                if !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()) =>
            {
                length
                    .parse()
                    .map(BodyFraming::Length)
                    .map_err(|_| "an impossible Content-Length".into())
            }
            (None, Some(_)) => Err("an impossible Content-Length".into()),
            (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => {
                Ok(BodyFraming::Chunked)
            }
            (Some(_), None) => Err("a Transfer-Encoding other than chunked".into()),
            (Some(_), Some(_)) => Err("both Content-Length and Transfer-Encoding".into()),
        }
    }

    fn connection_names(&self) -> Vec<&'a str> {
        self.header_values("connection").flat_map(|value| value.split(',')).map(str::trim).collect()
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<ProxyRequest, String> {
        parse_request_head(text.replace('\n', "\r\n").as_bytes())
    }

    fn sent(text: &str) -> (String, BodyFraming) {
        match head(text).unwrap().wants {
            ProxyRequestKind::Plain { head, body } => (head.replace("\r\n", "\n"), body),
            ProxyRequestKind::Tunnel => panic!("a tunnel"),
        }
    }

    #[test]
    fn z4_a_tunnel_names_host_and_port() {
        let request = head(
            "CONNECT Docs.Example.ORG.:443 HTTP/1.1\nHost: docs.example.org:443\n\
             Proxy-Authorization: basic YWJj\n\n",
        )
        .unwrap();
        assert_eq!((request.host, request.port), (Host::Domain("docs.example.org".into()), 443));
        assert_eq!(
            (request.wants, request.credentials.as_deref()),
            (ProxyRequestKind::Tunnel, Some("YWJj"))
        );
        let six = head("CONNECT [::FFFF:1.2.3.4]:8443 HTTP/1.1\n\n").unwrap();
        assert_eq!(host_and_port(&six.host, six.port), "[::ffff:1.2.3.4]:8443");
        let hex = head("CONNECT 0x7f.1:80 HTTP/1.0\n\n").unwrap();
        assert_eq!(host_and_port(&hex.host, hex.port), "127.0.0.1:80");
        for target in [
            "example.org",
            "example.org:",
            "example.org:0",
            "http://a.b/",
            "u@a.b:1",
            ":443",
            "a b:1",
            "::1:443",
        ] {
            assert!(head(&format!("CONNECT {target} HTTP/1.1\n\n")).is_err(), "{target}");
        }
        assert!(head("CONNECT a.b:443 HTTP/1.1\nHost: c.d:443\n\n").is_err());
    }

    #[test]
    fn z4_a_plain_request_is_written_anew() {
        let (head, body) = sent(
            "POST http://Example.org:8080/a/../b?q#f HTTP/1.1\nHost: example.ORG:8080\n\
             Connection: close, X-Hop\nX-Hop: 1\nKeep-Alive: 5\nProxy-Connection: keep-alive\n\
             Proxy-Authorization: Basic eA==\nUpgrade: h2c\nTE: trailers\nX-Kept: a  b \n\
             Content-Length: 12\n\n",
        );
        assert_eq!(
            head,
            "POST /b?q HTTP/1.1\nhost: example.org:8080\nX-Kept: a  b\ncontent-length: 12\n\
             connection: close\n\n"
        );
        assert_eq!(body, BodyFraming::Length(12));
        let (head, body) = sent("GET http://example.org HTTP/1.0\n\n");
        assert_eq!(head, "GET / HTTP/1.1\nhost: example.org\nconnection: close\n\n");
        assert_eq!(body, BodyFraming::None);
        let (head, body) = sent("PUT http://[::1]/ HTTP/1.1\nTransfer-Encoding: Chunked\n\n");
        assert!(head.contains("host: [::1]\ntransfer-encoding: chunked\n"), "{head}");
        assert_eq!(body, BodyFraming::Chunked);
    }

    #[test]
    fn z4_what_could_be_read_in_two_ways_is_refused() {
        for (text, why) in [
            ("GET http://a.b/ HTTP/1.1\nHost: c.d\n\n", "the Host header names"),
            ("GET http://a.b/ HTTP/1.1\nHost: a.b:81\n\n", "the Host header names"),
            ("GET http://a.b/ HTTP/1.1\nHost: a.b\nHost: c.d\n\n", "twice"),
            ("GET http://a.b/ HTTP/1.1\nContent-Length: 1\nContent-Length: 1\n\n", "twice"),
            ("GET http://a.b/ HTTP/1.1\nContent-Length: 1\nTransfer-Encoding: chunked\n\n", "both"),
            (
                "GET http://a.b/ HTTP/1.1\nTransfer-Encoding: gzip, chunked\n\n",
                "other than chunked",
            ),
            ("GET http://a.b/ HTTP/1.1\nContent-Length: +1\n\n", "impossible"),
            ("GET http://a.b/ HTTP/1.1\nContent-Length: 99999999999999999999\n\n", "impossible"),
            ("GET http://a.b/ HTTP/1.1\nX : y\n\n", "name is none"),
            ("GET http://a.b/ HTTP/1.1\n folded: y\n\n", "name is none"),
            ("GET http://a.b/ HTTP/1.1\nno colon\n\n", "without a colon"),
            ("GET http://a.b/ HTTP/1.1\nX: a\0b\n\n", "control characters"),
            ("GET  http://a.b/ HTTP/1.1\n\n", "first line"),
            ("GET http://a.b/ HTTP/2\n\n", "first line"),
            ("GE(T http://a.b/ HTTP/1.1\n\n", "first line"),
            ("GET /path HTTP/1.1\nHost: a.b\n\n", "this is a proxy"),
            ("GET https://a.b/ HTTP/1.1\n\n", "go through CONNECT"),
            ("GET http://u:p@a.b/ HTTP/1.1\n\n", "user name"),
            ("GET http://a.b:0/ HTTP/1.1\n\n", "port 0"),
            ("GET http://ä.b/ HTTP/1.1\n\n", "plain ASCII"),
        ] {
            let error = head(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        // A bare line feed ends no line.
        assert!(parse_request_head(b"GET http://a.b/ HTTP/1.1\nX: y\r\n\r\n").is_err());
        assert!(
            parse_request_head(b"GET http://a.b/ HTTP/1.1\r\nX: y\nHost: c.d\r\n\r\n").is_err()
        );
        assert!(parse_request_head(b"\xff\xfe\r\n\r\n").is_err());
        assert!(parse_request_head(b"").is_err());
        let many = format!("GET http://a.b/ HTTP/1.1\n{}\n", "x: y\n".repeat(101));
        assert!(head(&many).unwrap_err().contains("more than 100"));
    }
}
