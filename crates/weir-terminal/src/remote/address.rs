//! The address of a server as a person writes it: where it is, and which session they mean. Pure.

use std::fmt;

use url::Url;
use weir_core::ids::SessionId;

/// Longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 2_000;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    base: Url,
    /// The session that the address names: `…/chats/ID`.
    pub(super) session: Option<SessionId>,
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

impl ServerAddress {
    /// Reads an address: of a server, of a folder on one, or of a chat's page.
    ///
    /// # Errors
    /// It is none, or what is said over it could be read by others: a sentence.
    pub fn parse_address(text: &str) -> Result<ServerAddress, String> {
        const FORM: &str = "write it like http://127.0.0.1:7717 or https://weir.example.org";
        let text = text.trim();
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(format!("this address is too long; {FORM}"));
        }
        if !text.contains("://") {
            return Err(format!("{text:?} is no address of a server; {FORM}"));
        }
        let mut url = Url::parse(text)
            .map_err(|error| format!("{text:?} is no address ({error}); {FORM}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a name or password does not belong into an address, where lists of \
                        programs show it; you are asked for them"
                .to_owned());
        }
        match url.scheme() {
            "https" => (),
            "http" if is_here(&url) => (),
            "http" => {
                return Err(format!(
                    "{text} is not encrypted: whoever is on the way could read and change what is \
                     said. Only a server on this machine is reached by http; use https, or a \
                     tunnel (ssh -L 7717:127.0.0.1:7717 HOST, then http://127.0.0.1:7717)"
                ));
            }
            other => return Err(format!("{other}: is no way to reach a server; {FORM}")),
        }
        url.set_query(None);
        url.set_fragment(None);
        let session = take_session(&mut url);
        Ok(ServerAddress { base: url, session })
    }

    /// The address of something on the server: the parts of its path, each as it is.
    pub(super) fn endpoint_url(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        // An address with a host always has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v1"]).extend(parts);
        }
        url
    }

    /// What a page of this server says of itself: `https://weir.example.org`.
    pub(super) fn origin_text(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// What is said to it is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// The server is on this machine.
    pub(super) fn is_here(&self) -> bool {
        is_here(&self.base)
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The session of a chat's page; what stays is the address of the server.
fn take_session(url: &mut Url) -> Option<SessionId> {
    let parts: Vec<String> = url.path_segments()?.map(str::to_owned).collect();
    let kept: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let (before, session) = match kept.as_slice() {
        [before @ .., "chats", id] => (before, Some(SessionId::new(*id))),
        [before @ .., "chats"] => (before, None),
        before => (before, None),
    };
    url.set_path(&before.iter().fold("/".to_owned(), |path, part| path + part + "/"));
    session
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_an_address_names_a_server_and_perhaps_a_session() {
        for (text, shown, session, events) in [
            ("http://127.0.0.1:7717", "http://127.0.0.1:7717", None, "/api/v1/x"),
            (" http://localhost:1/ ", "http://localhost:1", None, "/api/v1/x"),
            ("http://[::1]:2/chats/s-1", "http://[::1]:2", Some("s-1"), "/api/v1/x"),
            ("https://a.example", "https://a.example", None, "/api/v1/x"),
            ("https://a.example/weir/", "https://a.example/weir", None, "/weir/api/v1/x"),
            (
                "https://a.example/weir/chats/7/?q#f",
                "https://a.example/weir",
                Some("7"),
                "/weir/api/v1/x",
            ),
            ("https://a.example/chats", "https://a.example", None, "/api/v1/x"),
        ] {
            let address =
                ServerAddress::parse_address(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(address.session, session.map(SessionId::new), "{text}");
            assert_eq!(address.endpoint_url(&["x"]).path(), events, "{text}");
        }
        let address = ServerAddress::parse_address("https://a.example").expect("an address");
        assert_eq!(
            address.endpoint_url(&["sessions", "../x y?", "input"]).path(),
            "/api/v1/sessions/..%2Fx%20y%3F/input"
        );
        assert_eq!(address.origin_text(), "https://a.example");
        assert!(!address.is_here());
    }

    #[test]
    fn f1_attach_an_address_that_would_tell_others_is_refused() {
        for (text, words) in [
            ("", "no address"),
            ("127.0.0.1:7717", "no address"),
            ("http://", "no address"),
            ("http://weir.example.org", "not encrypted"),
            ("http://10.0.0.1:7717", "not encrypted"),
            ("http://127.0.0.1.example.org", "not encrypted"),
            ("https://ann:secret@a.example", "password"),
            ("ftp://a.example", "no way"),
            ("file:///etc/passwd", "no way"),
        ] {
            let why = ServerAddress::parse_address(text).expect_err(text);
            assert!(why.contains(words), "{text}: {why}");
            assert!(!why.contains("secret"), "{why}");
        }
        ServerAddress::parse_address(&format!("https://a/{}", "x".repeat(3_000)))
            .expect_err("too long");
    }
}
