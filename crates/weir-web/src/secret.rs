//! Secrets that the client puts into requests by name (Z7): for which hosts, in which header, and
//! the check that nothing else gets them. Where a value is kept is not known here.

use reqwest::header::{HeaderName, HeaderValue};
use url::{Host, Url};
use weir_core::secret::Secret;

use crate::address::{host_text, parse_host};

/// Where the value stands in a format.
const PLACE: &str = "{}";
/// Shortest value: what is shorter could not be told from ordinary words when it is looked for in
/// results.
const VALUE_BYTES_MIN: usize = 8;
const VALUE_BYTES_MAX: usize = 8 * 1024;
/// Headers that say where a request goes or how long it is.
const STRUCTURE: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "accept",
    "user-agent",
];

/// A secret that tools may name.
#[derive(Debug, Clone)]
pub struct WebSecret {
    /// The name by which tools ask for it.
    pub name: String,
    /// Hosts that it may be sent to, exactly these: `api.github.com`, or with a port.
    pub hosts: Vec<String>,
    /// The header that it is sent in.
    pub header: String,
    /// The header's value, with `{}` where the secret stands.
    pub format: String,
    /// The value, or why there is none.
    pub value: Result<Secret, String>,
}

impl WebSecret {
    /// Whether everything but the value can be used.
    ///
    /// # Errors
    /// The field that is wrong and what is wrong with it. Never quotes the value.
    pub fn check_declaration(&self) -> Result<(), (&'static str, String)> {
        if self.hosts.is_empty() {
            let why =
                "names no host; write the hosts that it may be sent to: [\"api.example.org\"]";
            return Err(("hosts", why.into()));
        }
        for host in &self.hosts {
            SecretHost::parse(host).map_err(|why| ("hosts", why))?;
        }
        let header = &self.header;
        if HeaderName::from_bytes(header.as_bytes()).is_err() {
            return Err(("header", format!("is {header:?}, which is no name of a header")));
        }
        if STRUCTURE.iter().any(|name| header.eq_ignore_ascii_case(name)) {
            return Err(("header", format!("is {header:?}, which belongs to the request itself")));
        }
        let format = &self.format;
        let is_plain = format.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        if format.matches(PLACE).count() != 1 || !is_plain {
            return Err((
                "format",
                format!(
                    "is {format:?}; write {PLACE} once where the value stands: \"Bearer {PLACE}\""
                ),
            ));
        }
        Ok(())
    }
}

/// One host of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretHost {
    host: Host<String>,
    port: Option<u16>,
}

impl SecretHost {
    fn parse(text: &str) -> Result<SecretHost, String> {
        let wrong = |why: &str| {
            format!("has {text:?}, which is no host ({why}); write a name, or a name and a port")
        };
        if text.contains('*') {
            return Err(wrong("a secret is not sent to a whole domain"));
        }
        let (host, port) = split_port(text).map_err(wrong)?;
        Ok(SecretHost { host: parse_host(host).map_err(|why| wrong(&why))?, port })
    }

    fn admits_url(&self, url: &Url) -> bool {
        let is_host = url.host().is_some_and(|host| host.to_owned() == self.host);
        match self.port {
            Some(port) => is_host && url.port_or_known_default() == Some(port),
            // `port` is none for the scheme's own.
            None => is_host && url.port().is_none(),
        }
    }

    fn to_text(&self) -> String {
        match (&self.host, self.port) {
            (Host::Ipv6(ip), Some(port)) => format!("[{ip}]:{port}"),
            (host, Some(port)) => format!("{}:{port}", host_text(host)),
            (host, None) => host_text(host),
        }
    }
}

/// `host`, `host:port`, `[v6]:port`, or an IPv6 address alone, as its parts.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let text = text.trim();
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok((text, None));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if host.contains(':') && !is_bracketed {
        return Err("an IPv6 address with a port needs brackets");
    }
    match port {
        None => Ok((host, None)),
        Some(port) if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) => {
            Err("its port is no number")
        }
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => Err("its port is not between 1 and 65535"),
            Ok(port) => Ok((host, Some(port))),
        },
    }
}

/// A secret that is ready to be sent.
#[derive(Debug)]
pub(crate) struct ReadySecret {
    pub(crate) name: String,
    places: Vec<SecretHost>,
    header: HeaderName,
    value: Result<(Secret, HeaderValue), String>,
}

impl ReadySecret {
    /// Takes what [`WebSecret::check_declaration`] finds in order.
    pub(crate) fn new(secret: &WebSecret) -> Result<ReadySecret, String> {
        let name = secret.name.clone();
        secret
            .check_declaration()
            .map_err(|(field, why)| format!("secrets.{name}.{field} {why}"))?;
        let places =
            secret.hosts.iter().map(|host| SecretHost::parse(host)).collect::<Result<_, _>>()?;
        let header = HeaderName::from_bytes(secret.header.as_bytes())
            .map_err(|_| format!("secrets.{name}.header is no name of a header"))?;
        let value = match &secret.value {
            Ok(value) => header_value(value, &secret.format).map(|full| (value.clone(), full)),
            Err(why) => Err(why.clone()),
        };
        Ok(ReadySecret { name, places, header, value })
    }

    /// Its hosts, in their one form.
    pub(crate) fn host_texts(&self) -> Vec<String> {
        self.places.iter().map(SecretHost::to_text).collect()
    }

    /// Whether it may ever be sent to `url`.
    ///
    /// # Errors
    /// The sentence that refuses it.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), String> {
        let name = &self.name;
        if !self.places.iter().any(|place| place.admits_url(url)) {
            let hosts = self.host_texts().join(", ");
            return Err(format!("the secret {name} is not for {url}: it is declared for {hosts}"));
        }
        self.value.as_ref().map(|_| ()).map_err(|why| {
            format!("the secret {name} has no usable value: {why}; a person has to set it")
        })
    }

    /// The header for one request to `url`, asked again before each one.
    ///
    /// # Errors
    /// The sentence that refuses it.
    pub(crate) fn header_for(
        &self,
        url: &Url,
        is_private: bool,
    ) -> Result<(HeaderName, HeaderValue), String> {
        self.check_url(url)?;
        if url.scheme() != "https" && !is_private {
            return Err(format!(
                "the secret {} is sent over https only, or over http to a private host that a \
                 person listed in web.allow_hosts; {url} is neither",
                self.name
            ));
        }
        let (_, value) = self.value.as_ref().map_err(Clone::clone)?;
        Ok((self.header.clone(), value.clone()))
    }

    /// `text` without the value, for messages that quote what a server said.
    pub(crate) fn scrub(&self, text: &str) -> String {
        match &self.value {
            Ok((secret, _)) => secret.scrub(text),
            Err(_) => text.to_owned(),
        }
    }
}

/// Whether a value can be kept out of sight and put into a header.
///
/// # Errors
/// What is wrong, never quoting it.
pub fn check_value(value: &Secret) -> Result<(), String> {
    let text = value.reveal();
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.len() < VALUE_BYTES_MIN {
        return Err(format!(
            "it is shorter than {VALUE_BYTES_MIN} bytes and could not be kept out of results"
        ));
    }
    if text.len() > VALUE_BYTES_MAX {
        return Err(format!("it is longer than {VALUE_BYTES_MAX} bytes"));
    }
    if !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Err("it is not one line of ASCII text".into());
    }
    Ok(())
}

fn header_value(secret: &Secret, format: &str) -> Result<HeaderValue, String> {
    check_value(secret)?;
    let mut value = HeaderValue::from_str(&format.replacen(PLACE, secret.reveal(), 1))
        .map_err(|_| "it cannot stand in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(hosts: &[&str], header: &str, format: &str, value: &str) -> WebSecret {
        WebSecret {
            name: "github".into(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            header: header.into(),
            format: format.into(),
            value: Ok(Secret::new(value)),
        }
    }

    fn kept(hosts: &[&str]) -> ReadySecret {
        ReadySecret::new(&secret(hosts, "authorization", "Bearer {}", "marker-value-1")).unwrap()
    }

    #[test]
    fn z7_a_secret_is_for_its_hosts_and_ports_alone() {
        let one = kept(&["API.example.org.", "nas.example:8443", "[::1]:8080", "bücher.example"]);
        for url in [
            "https://api.example.org/x",
            "https://api.example.org:443/",
            "https://nas.example:8443/",
            "http://[::1]:8080/",
            "https://xn--bcher-kva.example/",
        ] {
            assert_eq!(one.check_url(&Url::parse(url).unwrap()), Ok(()), "{url}");
        }
        for url in [
            "https://example.org/",
            "https://x.api.example.org/",
            "https://api.example.org.evil.example/",
            "https://api-example.org/",
            "https://аpi.example.org/",
            "https://api.example.org:8443/",
            "https://nas.example/",
            "https://nas.example:443/",
            "http://[::1]/",
            "https://bucher.example/",
        ] {
            let error = one.check_url(&Url::parse(url).unwrap()).unwrap_err();
            assert!(error.contains("is not for") && !error.contains("marker"), "{url}: {error}");
        }
    }

    #[test]
    fn z7_plain_http_carries_no_secret_but_to_a_private_host() {
        let one = kept(&["api.example.org"]);
        let plain = Url::parse("http://api.example.org/").unwrap();
        assert!(one.header_for(&plain, false).unwrap_err().contains("https only"));
        assert!(one.header_for(&plain, true).is_ok());
        let (name, value) =
            one.header_for(&Url::parse("https://api.example.org/").unwrap(), false).unwrap();
        assert_eq!(
            (name.as_str(), value.as_bytes()),
            ("authorization", &b"Bearer marker-value-1"[..])
        );
        assert!(value.is_sensitive() && !format!("{one:?} {value:?}").contains("marker"));
    }

    #[test]
    fn z7_what_cannot_be_kept_is_refused_without_its_value() {
        let field = |s: WebSecret| s.check_declaration().unwrap_err().0;
        assert_eq!(field(secret(&[], "x-key", "{}", "v")), "hosts");
        for host in ["*", "*.example.org", "https://a.b", "a.b/c", "a.b:0", "a.b:x", "::1:80:x", ""]
        {
            assert_eq!(field(secret(&[host], "x-key", "{}", "v")), "hosts", "{host}");
        }
        for header in ["", "a b", "Host", "content-length", "x:y"] {
            assert_eq!(field(secret(&["a.b"], header, "{}", "v")), "header", "{header}");
        }
        for format in ["", "Bearer", "{}{}", "Bearer {}\r\nx: y"] {
            assert_eq!(field(secret(&["a.b"], "x-key", format, "v")), "format", "{format}");
        }
        for value in ["", "tiny-1", "two\nlines-of-it", "h\u{e4}hnchen-suppe"] {
            let why = check_value(&Secret::new(value)).unwrap_err();
            assert!(value.is_empty() || !why.contains(value), "{why}");
        }
        assert_eq!(check_value(&Secret::new("marker-value-1\n")), Ok(()));
    }
}
